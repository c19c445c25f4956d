"""The message for a finding. The message is one line that contains the names of the operands and proposes a fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ...answers import outer_products
from ...answers.hints import is_small
from ...answers.outer_products import InputReshape
from ...answers.symbolic import lower_symbolic
from ...answers.two_sided import TwoSidedBroadcast
from ...answers.warnings import all_pairs_text
from ...messages import CheckRequest, Hint
from ...messages.validation import validate
from ...plan.alignment import Alignment, ShapeMismatch
from ...plan.relations import Relation
from ...wire.shapes import format_shape
from ..display import printable
from ..finding import Finding, ReportKind
from .condition_text import assume_advice, condition_sentence, named_conditions
from .operation_code import (
    is_call,
    known_shapes,
    name_and_shape,
    op_name,
    operand_name,
    operation_code,
    reshape_code,
    shown_sizes,
)
from .trial_text import failing_sizes, partial_failure_text, pin_predicate, trial_sentences

_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*")


def describe_finding(finding: Finding, kind: ReportKind | None = None) -> str:
    """Return the message for a finding. If `kind` is given, return only the part of the message about this kind."""
    kinds = finding.kinds if kind is None else (kind,)
    sentences = [_SENTENCES[each](finding) for each in kinds] or [f"{_result(finding)}."]
    sentences += _by_file(finding)
    if "depends" in kinds and finding.tried is None:
        sentences += assume_advice(finding)
    return with_expressions(finding, " ".join(sentences))


def with_expressions(finding: Finding, text: str) -> str:
    """Replace the size names in a string by the expressions that they stand for, such as Min(512, seq)."""
    shown = finding.size_expressions
    return _IDENTIFIER.sub(lambda match: shown.get(match[0], match[0]), text) if shown else text


def finding_as_json(finding: Finding) -> dict[str, Any]:
    """Return a finding, with its message, as a plain map that can be encoded as JSON.

    The texts in the answer to the check contain the names of the operands.
    """
    fields = finding.as_json()
    answer, plain = finding.answer, fields.get("answer", {})
    for warning in plain.get("warnings", ()):
        if warning["code"] == "square":
            warning["message"] = describe_finding(finding, "square")
            if (square := _square_of(finding)) and square.fix:
                inputs = [[size if isinstance(size, int) else str(size) for size in row] for row in square.fix.inputs]
                warning["hint"] |= {"text": f"Write {_changed_code(finding, square.fix)}.", "inputs": inputs}
    for condition, named in zip(plain.get("conditions", ()), named_conditions(finding), strict=True):
        condition["text"] = named.text
    if answer is not None and answer.conflict is not None:
        conflict = plain["conflict"]
        conflict["message"] = describe_finding(finding, "incompatible")
        for sent, hint in zip(conflict.get("hints", ()), answer.conflict.hints, strict=True):
            sent["text"] = _hint_text(finding, hint)
    return {**fields, "message": describe_finding(finding)}


def _result(finding: Finding) -> str:
    """Return a clause that contains the operation and the shape to which its operands broadcast."""
    output = format_shape(shown_sizes(finding.output)) if finding.output is not None else "an unknown shape"
    verb = "broadcasts to" if is_call(finding) and "square" in finding.kinds else "gives"
    return f"{operation_code(finding)} {verb} {output}"


def _by_file(finding: Finding) -> Iterator[str]:
    """If some shapes are only stated in the model file, yield a sentence that says so."""
    names = [operand_name(finding, number) for number, operand in enumerate(finding.operands) if operand.by_file]
    if names and finding.answer is not None:
        subject, verb = ("shape", "is") if len(names) == 1 else ("shapes", "are")
        yield f"The {subject} of {' and '.join(dict.fromkeys(names))} {verb} known only from the file."


def _incompatible(finding: Finding) -> str:
    conflict = finding.answer.conflict if finding.answer else None
    if conflict is None:
        return ""
    message = _with_names(finding, conflict.message)
    if Relation.BROADCAST.requirement in conflict.message and conflict.axis is not None and None not in conflict.inputs:
        owners = [operand_name(finding, number or 0) for number in conflict.inputs]
        sides = [f"{size} in {owner}" for size, owner in zip(conflict.sizes, owners, strict=True)]
        listed = sides[:3] + ([f"{len(sides) - 3} other sizes"] if len(sides) > 3 else [])
        # The axis is counted from the last axis, so that it has the same index in all operands.
        axis = conflict.axis - max(map(len, known_shapes(finding)))
        at_sizes = f" for {failing_sizes(finding)}" if finding.tried else ""
        sizes = f"{', '.join(listed[:-1])} and {listed[-1]}"
        message = f"{operation_code(finding)} does not broadcast{at_sizes}: axis {axis} is {sizes}."
    elif finding.tried:
        message = f"For {failing_sizes(finding)}: {message}"
    if finding.tried is None:
        return " ".join([message, *(_hint_text(finding, hint) for hint in conflict.hints[:1])])
    # Hints are left out, because they would contain the integers that were tried for the named sizes.
    pinned = [f"It {pin_predicate(finding)}."] if finding.pins else []
    return " ".join([message, *trial_sentences(finding), *pinned])


def _hint_text(finding: Finding, hint: Hint) -> str:
    """Return a hint as a sentence with the names of the operands, and with code if only one operand changes."""
    inputs = [number for number, operand in enumerate(finding.operands) if operand.role != "target"]
    old = {number: [*map(str, finding.operands[number].shape or ())] for number in inputs}
    new = {number: [*map(str, shape)] for number, shape in zip(inputs, hint.inputs, strict=False)}
    changed = [number for number in new if old[number] != new[number]]
    if len(changed) == 1 and (code := reshape_code(old[changed[0]], new[changed[0]])):
        return f"Write {operation_code(finding, {changed[0]: code}, ())}."
    text = _with_names(finding, hint.text)
    return f"{text[:1].upper()}{text[1:]}."


def _with_names(finding: Finding, message: str) -> str:
    """Replace "input 0", "input 1" and so on in a message by the names of the operands."""
    numbers = {operand.role: number for number, operand in enumerate(finding.operands)}

    def name(match: re.Match[str]) -> str:
        number = numbers.get(f"input {match[1]}")
        if number is None:
            return match[0]
        return name_and_shape(finding, number) if match[2] else operand_name(finding, number)

    return re.sub(r"[Ii]nput ([0-9]+)( of shape \([^)]*\))?", name, message)


class _Square(NamedTuple):
    """An accidental outer product, and two ways to change the operands."""

    broadcast: TwoSidedBroadcast
    fix: InputReshape | None
    """The reshape that combines the operands element by element."""
    explicit: InputReshape | None
    """The reshape that makes the outer product explicit."""


def _square_of(finding: Finding) -> _Square | None:
    """Return the accidental outer product of a finding, or None if only assumed sizes make it an outer product."""
    shapes, alignment = _aligned(finding)
    found = alignment and outer_products.outer_product_of(alignment)
    if not alignment or not found:
        return None
    op = CheckRequest.model_fields["op"].default
    if not is_small(op, shapes):
        return _Square(found, None, None)
    lower_here = partial(lower_symbolic, assume={})
    # The last fix removes an axis. The code is shorter than code that adds an axis, and leaves no axis of size 1.
    arguments = (op, shapes, alignment, found, lower_here)
    fix = next(iter([*outer_products.elementwise_fixes(*arguments)][::-1]), None)
    return _Square(found, fix, outer_products.explicit_all_pairs(*arguments))


def _square(finding: Finding) -> str:
    square = _square_of(finding)
    if square is None:
        return _warning_message(finding, "square")
    remedy = f"Write {_changed_code(finding, square.fix)}." if square.fix else "Give all operands the same axes."
    sentences = [f"{_result(finding)}: {_pairs(finding, square.broadcast)}.", remedy]
    if square.explicit:
        sentences.append(f"If you want all pairs, write {_changed_code(finding, square.explicit)}.")
    return " ".join(sentences)


def _pairs(finding: Finding, broadcast: TwoSidedBroadcast) -> str:
    """Return a clause about the pairs of elements that two operands form."""
    rank = max(map(len, known_shapes(finding)))
    if rank != 2:
        return all_pairs_text(broadcast.axes, rank)
    one, other = (operand_name(finding, number) for number in sorted(broadcast.inputs))
    return f"every element of {one} is combined with every element of {other}"


def _changed_code(finding: Finding, change: InputReshape) -> str:
    return operation_code(finding, {change.input: change.code}, ())


def _aligned(finding: Finding) -> tuple[tuple[Any, ...], Alignment | None]:
    """Return the shapes of the operands, with names converted to symbols, and the alignment of these shapes.

    The alignment is None if the shapes do not broadcast or are not right-aligned.
    """
    request = validate(CheckRequest, {"inputs": [[*shape] for shape in known_shapes(finding)]})
    shapes = tuple(request.inputs)
    try:
        return shapes, lower_symbolic(request.op, shapes, {}).apart
    except ShapeMismatch:
        return shapes, None


def _mutual_stretch(finding: Finding) -> str:
    _, alignment = _aligned(finding)
    found = alignment and outer_products.two_sided_of(alignment)
    if not found:
        return _warning_message(finding, "mutual-stretch")
    sentence = f"{_result(finding)}: {_pairs(finding, found)}."
    return f"{sentence} If only one of them should expand, the other input lacks an axis."


def _warning_message(finding: Finding, code: str) -> str:
    """Return the message of the warning with this code in the answer to the check."""
    warnings = finding.answer.warnings if finding.answer else []
    return next(warning.message for warning in warnings if warning.code == code)


def _rank_promotion(finding: Finding) -> str:
    return _with_names(finding, _warning_message(finding, "rank-promotion"))


def _depends(finding: Finding) -> str:
    if finding.tried is None:
        return condition_sentence(finding)
    if finding.conditions:
        return f"{condition_sentence(finding)} It {partial_failure_text(finding)}."
    return f"{_code_or_name(finding)} {partial_failure_text(finding)}."


def _pinned(finding: Finding) -> str:
    return f"{_code_or_name(finding)} {pin_predicate(finding)}."


def _contradicted(finding: Finding) -> str:
    return f"{printable(finding.contradiction[:1].upper() + finding.contradiction[1:])}."


def _unchecked(finding: Finding) -> str:
    at_sizes = f" for {failing_sizes(finding)}" if finding.tried else ""
    message = f"{_code_or_name(finding)} could not be checked{at_sizes}: {printable(finding.reason)}"
    return " ".join([message if finding.tried is None else f"{message.rstrip('.')}.", *trial_sentences(finding)])


def _code_or_name(finding: Finding) -> str:
    """Return the operation as code, or only its name if nothing is known about its operands."""
    return operation_code(finding) if finding.operands else op_name(finding)


_SENTENCES: dict[ReportKind, Callable[[Finding], str]] = {
    "incompatible": _incompatible,
    "unchecked": _unchecked,
    "square": _square,
    "mutual-stretch": _mutual_stretch,
    "rank-promotion": _rank_promotion,
    "contradicted": _contradicted,
    "pinned": _pinned,
    "depends": _depends,
}
