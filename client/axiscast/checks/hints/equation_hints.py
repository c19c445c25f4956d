"""Hints for einsum: changed equations and reshaped operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

from ...ops import Op, op_to_dict
from ...ops.einsum import LabeledProduct
from ...ops.equation import ELLIPSIS, Labels, ParsedEquation
from ...plan.alignment import Conflict, ShapeMismatch
from ...plan.plan import Shape


class Candidate(NamedTuple):
    """A possible hint: the change, and the op and the shapes of the changed request."""

    code: str
    op: Op
    inputs: tuple[Shape, ...]
    facts: Mapping[str, Any]
    """The other fields of messages.Hint, such as the changed input."""


def reshape_candidate(
    op: Op, shapes: tuple[Shape, ...], number: int, shape: Shape, code: str = "reshape", **facts: Any
) -> Candidate:
    """Return the candidate in which input `number` has a new shape."""
    inputs = (*shapes[:number], shape, *shapes[number + 1 :])
    return Candidate(code, op, inputs, {"input": number, **facts, "shape": list(shape)})


def changed_attributes(op: Op, other: Op) -> dict[str, Any]:
    """Return the attributes of `other` that differ from those of `op`, which has the same class, as plain values."""
    return {name: value for name, value in op_to_dict(other).items() if getattr(op, name) != getattr(other, name)}


MAX_HINT_CHARACTERS = 200
"""The maximum length of an equation for which hints are searched. The search parses an equation for each hint."""


def equation_candidates(
    op: LabeledProduct, shapes: tuple[Shape, ...], conflict: Conflict | None
) -> Iterator[Candidate]:
    """Yield changed requests, such as requests with other letters, an ellipsis or a new axis."""
    if len(op.text) > MAX_HINT_CHARACTERS:
        return
    try:
        equation = op.split()
    except ShapeMismatch:  # the equation has a syntax error, so its labels are unknown
        return
    if len(equation.operands) != len(shapes):
        return
    operands = [*zip(shapes, equation.operands, strict=True)]
    differences = [len(shape) - len(labels) + (ELLIPSIS in labels) for shape, labels in operands]
    if min(differences) < 0 or any(len(shape) > len(labels) for shape, labels in operands if ELLIPSIS not in labels):
        changed = _with_fitting_ranks(equation, differences)
    elif conflict is not None and conflict.code == "size-mismatch":
        changed = _with_exchanged_labels(equation, conflict)
    else:
        changed = _with_other_results(equation)
    for other in map(op.with_labels, changed):
        yield Candidate("attributes", other, shapes, {"attributes": changed_attributes(op, other)})
    for number, (shape, difference) in enumerate(zip(shapes, differences, strict=True)):
        if difference == -1:
            for axis in range(len(shape) + 1):
                yield reshape_candidate(op, shapes, number, (*shape[:axis], 1, *shape[axis:]))


def _with_fitting_ranks(equation: ParsedEquation, differences: Sequence[int]) -> Iterator[ParsedEquation]:
    """Yield equations in which an ellipsis replaces missing letters, or from which a superfluous letter is removed."""
    operands, result = equation
    if max(differences) > 0:
        wider = tuple(
            (ELLIPSIS, *labels) if difference > 0 and ELLIPSIS not in labels else labels
            for labels, difference in zip(operands, differences, strict=True)
        )
        yield ParsedEquation(wider, result if ELLIPSIS in result else (ELLIPSIS, *result))
    for number, difference in enumerate(differences):
        if difference == -1:
            for place, label in enumerate(operands[number]):
                if label != ELLIPSIS:
                    shorter = (*operands[number][:place], *operands[number][place + 1 :])
                    yield ParsedEquation(_replaced(operands, number, shorter), result)


def _with_exchanged_labels(equation: ParsedEquation, conflict: Conflict) -> Iterator[ParsedEquation]:
    """Yield equations in which two letters of an operand are swapped or the conflicting letter is replaced."""
    operands, result = equation
    numbers = list(dict.fromkeys(one for one in conflict.inputs if one is not None))[::-1]
    for number in numbers:
        labels = operands[number]
        for first, second in combinations(range(len(labels)), 2):
            swapped = list(labels)
            swapped[first], swapped[second] = labels[second], labels[first]
            yield ParsedEquation(_replaced(operands, number, tuple(swapped)), result)
    named = [*chain.from_iterable(operands), *result]
    for owner, place in zip(conflict.inputs, conflict.axes, strict=True):
        if owner is None or place is None or ELLIPSIS in operands[owner]:
            continue
        labels = operands[owner]
        if named.count(labels[place]) > 2:  # otherwise the replaced letter would remain in only one place
            for label in dict.fromkeys(named):
                if label not in labels and label != ELLIPSIS:
                    yield ParsedEquation(
                        _replaced(operands, owner, (*labels[:place], label, *labels[place + 1 :])), result
                    )


def _with_other_results(equation: ParsedEquation) -> Iterator[ParsedEquation]:
    """Yield equations with a changed output: an ellipsis is added, or an invalid letter is replaced or removed."""
    operands, result = equation
    named = [label for label in chain.from_iterable(operands) if label != ELLIPSIS]
    known = sorted(dict.fromkeys(named), key=named.count)  # users rarely intend to sum over a letter that occurs once
    if ELLIPSIS not in result and any(ELLIPSIS in labels for labels in operands):
        result = (ELLIPSIS, *result)
        yield ParsedEquation(operands, result)
    wrong = [place for place, label in enumerate(result) if label not in (*known, ELLIPSIS) or label in result[:place]]
    for place in wrong[:1]:
        for label in known:
            if label not in result:
                yield ParsedEquation(operands, (*result[:place], label, *result[place + 1 :]))
        yield ParsedEquation(operands, (*result[:place], *result[place + 1 :]))


def _replaced(operands: tuple[Labels, ...], number: int, labels: Labels) -> tuple[Labels, ...]:
    return (*operands[:number], labels, *operands[number + 1 :])
