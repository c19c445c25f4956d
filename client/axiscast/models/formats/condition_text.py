"""Functions that describe the conditions under which an operation broadcasts."""

from __future__ import annotations

from collections.abc import Iterator

from ...answers.terminal_text import join_conditions
from ...messages.conditions import Condition, DimensionPlace, Side
from ...wire.shapes import format_shape
from ..finding import Finding, SizeOrName, is_placeholder
from .operation_code import known_shapes, name_and_shape, operand_name, operation_code, shown_sizes
from .trial_text import pin_equations

_EXAMPLE_SIZES = (13, 17, 19, 23)
"""The example sizes that messages propose to the user. These sizes are rare in models."""

OperandAxis = tuple[int, int]
"""The index of an operand, and the index of one of its axes."""


def common_need(finding: Finding) -> str:
    """Return the predicate of a sentence that says what several nodes need, such as "need N == 12 or N == 1"."""
    if finding.conditions:
        return f"need {conditions_text(finding)}"
    if finding.pins:
        return f"need {pin_equations(finding)}"
    needs = finding.tried.needs if finding.tried else ""
    return f"need {needs}" if needs else "fit for some of the tried sizes"


def conditions_text(finding: Finding) -> str:
    """Return the conditions that the sizes must satisfy, as one clause."""
    equal_axes: set[int] = set()
    others: list[Condition] = []
    for condition, named in zip(_conditions_of(finding), named_conditions(finding), strict=True):
        axes = _equal_axes(finding, condition)
        equal_axes |= axes
        if not axes:
            others.append(named)
    clauses = []
    if equal_axes:
        *first, last = map(str, sorted(equal_axes))
        listed = f"axes {', '.join(first)} and {last}" if first else f"axis {last}"
        clauses.append(f"the sizes on {listed} are equal, or 1")
    if others:
        text = join_conditions(others)
        clauses.append(f"({text})" if equal_axes and len(others) == 1 and " or " in text else text)
    return ", and ".join(clauses)


def named_conditions(finding: Finding) -> list[Condition]:
    """Return the conditions of a finding, with the names of the operands in their texts."""
    conditions = []
    for condition in _conditions_of(finding):
        texts = [
            " divides ".join(_side_text(finding, side) for side in equation.divides)
            if equation.divides
            else " == ".join(_side_text(finding, side) for side in equation.equal or ())
            for equation in condition.any
        ]
        conditions.append(condition.model_copy(update={"text": " or ".join(texts)}))
    return conditions


def condition_sentence(finding: Finding) -> str:
    """Return a sentence that says for which sizes an operation broadcasts."""
    if unknown := _unknown_operand(finding):
        number, sizes = unknown
        others = [other for other in range(len(finding.operands)) if other != number]
        return (
            f"{operation_code(finding, with_shapes=others)} fits only if {name_and_shape(finding, number)} is "
            f"{format_shape(sizes)}; onnx could not infer it."
        )
    ending = "; onnx could not infer these sizes" if finding.has_local_conditions else ""
    return f"{operation_code(finding)} fits only if {conditions_text(finding)}{ending}."


def assume_advice(finding: Finding) -> Iterator[str]:
    """If onnx could not infer some sizes, yield a sentence that recommends the --assume option."""
    if not finding.has_local_conditions or not finding.assumable:
        return
    equations = [equation for condition in _conditions_of(finding) for equation in condition.any]
    sides = {str(side) for equation in equations for side in (*(equation.equal or ()), *(equation.divides or ()))}
    names = [name for name in finding.assumable if name in sides] or finding.assumable
    yield "Try " + " ".join(f"--assume {name}={size}" for name, size in zip(names, _EXAMPLE_SIZES, strict=False))


def _conditions_of(finding: Finding) -> list[Condition]:
    return finding.answer.conditions if finding.answer else []


def _side_text(finding: Finding, side: Side) -> str:
    """Return one side of an equation as code. An unnamed size is written as an expression such as "x.shape[0]"."""
    locations = _locations(finding, side)
    if not locations:
        return str(side)
    number, axis = locations[0]
    attribute = "" if finding.operands[number].role == "target" else ".shape"
    return f"{operand_name(finding, number)}{attribute}[{axis}]"


def _equal_axes(finding: Finding, condition: Condition) -> set[int]:
    """Return the axes on which, by a condition, the sizes of two operands must be equal or 1.

    Axes are counted from the last one. The set is empty if the condition has another form or has only named sizes.
    """
    pairs = [equation.equal for equation in condition.any if equation.equal is not None]
    if len(condition.any) != 3 or len(pairs) != 3:
        return set()
    one, other = pairs[0]
    if pairs[1:] != [(one, 1), (other, 1)]:
        return set()
    ranks = [len(shape) for shape in known_shapes(finding)]
    axes = [{axis - ranks[number] for number, axis in _locations(finding, side)} for side in (one, other)]
    if all(axes):
        return axes[0] & axes[1]
    known = axes[0] or axes[1]
    return known if len(known) == 1 else set()


def _unknown_operand(finding: Finding) -> tuple[int, list[SizeOrName]] | None:
    """Return the only operand with unknown sizes in the conditions, and the sizes that this operand must have.

    Return None if the conditions contain unknown sizes of several operands.
    """
    needed: dict[OperandAxis, list[str]] = {}
    for condition in _conditions_of(finding):
        for equation in condition.any:
            sides = equation.equal or ()
            unknown = [locations[0] for side in sides if (locations := _locations(finding, side))]
            known = [str(side) for side in sides if not _locations(finding, side)]
            if not unknown and known[1:] == ["1"]:  # if the other operand has size 1, any size fits
                continue
            if len(unknown) != 1:
                return None
            needed.setdefault(unknown[0], []).extend(known)
    numbers = {number for number, _ in needed}
    if len(numbers) != 1 or len(needed) != len(finding.conditions):
        return None
    (number,) = numbers
    shape = shown_sizes(finding.operands[number].shape or ())
    return number, [" or ".join(needed.get((number, axis), [str(size)])) for axis, size in enumerate(shape)]


def _locations(finding: Finding, side: Side) -> list[OperandAxis]:
    """Return all operands and axes that have a given unnamed size.

    If the size is an integer or has a name, return an empty list.
    """
    if isinstance(side, DimensionPlace):
        role = "target" if side.input is None else f"input {side.input}"
        return [(number, side.axis) for number, operand in enumerate(finding.operands) if operand.role == role]
    if isinstance(side, int) or not is_placeholder(side):
        return []
    shapes = enumerate(known_shapes(finding))
    return [(number, axis) for number, shape in shapes for axis, size in enumerate(shape) if size == side]
