"""The message for a finding: one line that names the operands, states the sizes, and proposes a fix."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ...checks.hints import outer_products
from ...checks.hints.hints import is_small
from ...checks.hints.outer_products import InputReshape
from ...checks.symbolic.symbolic import lower_symbolic
from ...checks.two_sided import TwoSidedBroadcast
from ...messages import CheckRequest
from ...messages.conditions import Condition, DimensionPlace, Side
from ...messages.facts import Hint
from ...messages.validation import validate
from ...plan.alignment import Alignment, ShapeMismatch
from ...wire.shapes import format_shape
from ...words.hints import hint_text, reshape_code
from ...words.names import Names, capitalized
from ...words.warnings import all_pairs_text
from ..display import printable
from ..finding import Finding, Quantity, ReportKind, SizeRule, Unchecked
from .operation_code import is_call, known_shapes, name_and_shape, op_name, operand_name, operation_code, shown_sizes

_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*")
_UNCHECKED: dict[str, str] = {
    "unknown-rank": "the rank of {} is unknown",
    "other-opset": "this function is for another opset than the model",
    "input-count": "{} takes {} inputs, but this node has {}",
    "undefined": "opset {} does not define {}, or defines it with a different rule",
    "unknown-units": "before opset 7, the rule depends on which sizes of the second input are 1, which is not known",
    "negative-axis": "before opset 7, the meaning of a negative axis is undefined",
    "unit-expands": "before opset 7, the rule does not expand a size of 1, although models rely on it",
    "refused": "onnx can't infer its output from these inputs",
    "unsolved": "it fails at the tried sizes, and the search for sizes at which it runs reached its limit",
    "limit": "{}",
}
"""The sentence for each reason why an operation is unchecked, with places for its details."""


_MUST = {"multiple": "a multiple of ", "at-most": "at most "}


def describe_finding(finding: Finding, kind: ReportKind | None = None) -> str:
    """Return the message for a finding. If `kind` is given, return only the part of the message about this kind."""
    kinds = finding.kinds if kind is None else (kind,)
    sentences = [_SENTENCES[each](finding) for each in kinds] or [f"{_result(finding)}."]
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
                hint = warning["hint"]
                hint |= {"shape": inputs[square.fix.input], "input": square.fix.input}
                hint["request"] = {**hint["request"], "inputs": inputs}
                hint["message"] = f"Write {_changed_code(finding, square.fix)}."
    for condition, known in zip(
        plain.get("conditions", ()), answer.conditions if answer is not None else (), strict=True
    ):
        condition["message"] = _condition_text(finding, known)
    if answer is not None and answer.conflict is not None:
        conflict = plain["conflict"]
        conflict["message"] = _conflict(finding)
        for sent, hint in zip(conflict.get("hints", ()), answer.conflict.hints, strict=True):
            sent["message"] = _hint_text(finding, hint)
    return {**fields, "message": describe_finding(finding)}


def needs_text(finding: Finding) -> str:
    """Return what an operation needs, such as "seq = 12" or "h to be a multiple of 32", or "" if nothing is known."""
    if finding.failure is not None:
        return printable(" and ".join(map(_rule_text, finding.failure.rules)))
    conditions = finding.answer.conditions if finding.answer is not None else []
    texts = [_condition_text(finding, condition) for condition in conditions]
    return " and ".join(f"({text})" if " or " in text and len(texts) > 1 else text for text in texts)


def unchecked_text(reason: Unchecked) -> str:
    """Return the reason why an operation is unchecked."""
    details = reason.details if reason.code != "unknown-rank" else (", ".join(reason.details),)
    return printable(_UNCHECKED[reason.code].format(*details))


def _rule_text(rule: SizeRule) -> str:
    """Return a rule, such as "total = past + seq", in a form that fits after "needs" and "only with"."""
    if rule.kind == "multiple":
        return f"{rule.name} to be a multiple of {rule.size}"
    if rule.kind != "equal":
        return f"{rule.name} to be {rule.kind.replace('-', ' ')} {rule.size}"
    parts = [
        f"{'-' if factor < 0 else '+'} {'' if abs(factor) == 1 else f'{abs(factor)} * '}{name}"
        for name, factor in rule.terms
    ]
    if rule.size or not parts:
        parts.append(f"{'-' if rule.size < 0 else '+'} {abs(rule.size)}")
    return f"{rule.name} = {' '.join(parts).removeprefix('+ ')}{' or 1' if rule.or_one else ''}"


def _condition_text(finding: Finding, condition: Condition) -> str:
    """Return a condition on named sizes, in which an unnamed size is written as code, such as x.shape[0]."""
    equations = []
    for equation in condition.any:
        one, other = (_side_text(finding, side) for side in equation.divides or equation.equal or ("?", "?"))
        equations.append(f"{one} {'divides' if equation.divides else '=='} {other}")
    return " or ".join(equations)


def _side_text(finding: Finding, side: Side) -> str:
    if not isinstance(side, DimensionPlace):
        return str(side)
    role = "target" if side.input is None else f"input {side.input}"
    number = next((number for number, each in enumerate(finding.operands) if each.role == role), None)
    return f"shape[{side.axis}]" if number is None else f"{operand_name(finding, number)}.shape[{side.axis}]"


def _result(finding: Finding) -> str:
    """Return a clause that contains the operation and the shape to which its operands broadcast."""
    if finding.output is None and finding.answer is None:
        return f"{_code_or_name(finding)} runs"
    output = format_shape(shown_sizes(finding.output)) if finding.output is not None else "an unknown shape"
    verb = "broadcasts to" if is_call(finding) and "square" in finding.kinds else "gives"
    return f"{operation_code(finding)} {verb} {output}"


def _incompatible(finding: Finding) -> str:
    if finding.answer is not None and finding.answer.conflict is not None:
        hints = [_hint_text(finding, hint) for hint in finding.answer.conflict.hints[:1]]
        return " ".join([_conflict(finding), *hints])
    if finding.failure is not None and finding.failure.sizes:
        return f"{_code_or_name(finding)} runs at none of the sizes that were tried. {_failure_text(finding)}"
    return f"{_code_or_name(finding)} fails. {_failure_text(finding)}"


def _conflict(finding: Finding) -> str:
    """Return the sizes that conflict for all values of the named sizes."""
    conflict = finding.answer.conflict if finding.answer is not None else None
    if conflict is None or not conflict.sizes:
        return f"{operation_code(finding)} does not broadcast."
    # An output axis is counted from the last axis, so that it has the same index in all operands.
    rank = max(map(len, known_shapes(finding)))
    axes = conflict.axes or [(conflict.axis or 0) - rank] * len(conflict.sizes)
    owners = ["the target" if each is None else operand_name(finding, each) for each in conflict.inputs]
    same_axis = len(set(axes)) == 1
    sides = [
        f"{size} in {owner}" if same_axis else f"{size} on axis {axis} of {owner}"
        for size, owner, axis in zip(conflict.sizes, owners, axes, strict=True)
    ]
    listed = sides[:3] + ([f"{len(sides) - 3} other sizes"] if len(sides) > 3 else [])
    text = f"{', '.join(listed[:-1])} and {listed[-1]}" if len(listed) > 1 else listed[0]
    subject = f"axis {axes[0]} is" if same_axis else "the sizes are"
    return f"{operation_code(finding)} does not broadcast: {subject} {text}."


def _failure_text(finding: Finding) -> str:
    """Return a sentence with the numbers in the failure of an operation."""
    failure = finding.failure
    if failure is None:
        return ""
    sizes = printable(", ".join(f"{name}={size}" for name, size in failure.sizes.items()))
    at_sizes = f"With {sizes}, " if sizes else ""
    if failure.requirement is None:
        return f"{at_sizes}onnx refuses it." if at_sizes else "onnx refuses it."
    kind, left, right = failure.requirement
    if left.input is None and right.input is not None:
        left, right = right, left
    name = _quantity_name(finding, right)
    verb = f"but {name} is {right.value}" if name else f"but must be {_MUST.get(kind, '')}{right.value}"
    return f"{at_sizes}{_quantity_name(finding, left) or 'a number'} is {left.value}, {verb}."


def _quantity_name(finding: Finding, quantity: Quantity) -> str:
    """Return an integer of a requirement as code, such as "pos.shape[1]", or "" for a constant."""
    if quantity.input is None or quantity.input >= len(finding.operands):
        return ""
    name = operand_name(finding, quantity.input)
    suffix = {"elements": ".size", "rank": ".ndim"}.get(quantity.what, "")
    place = "" if quantity.axis is None else f"[{quantity.axis}]"
    return f"{name}{suffix or ('.shape' if quantity.what == 'size' and place else '')}{place}"


def _pinned(finding: Finding) -> str:
    rules = finding.failure.rules if finding.failure else ()
    names = printable(" and ".join(rule.name for rule in rules))
    return (
        f"{_code_or_name(finding)} runs only with {needs_text(finding)}, although the file declares {names} as "
        f"dynamic. {_failure_text(finding)} Take the size from the input in the exported code, or export it as fixed."
    )


def _needs(finding: Finding) -> str:
    return f"{_code_or_name(finding)} needs {needs_text(finding)}. {_failure_text(finding)}".rstrip()


def _contradicted(finding: Finding) -> str:
    known = finding.contradiction
    if known is None:
        return ""
    stated, inferred = (f"({', '.join('?' if size is None else str(size) for size in shape)})" for shape in known[1:])
    return printable(f"The file states shape {stated} for {known.value}, but its inputs give {inferred}.")


def _unchecked(finding: Finding) -> str:
    reason = unchecked_text(finding.unchecked) if finding.unchecked else ""
    return f"{_code_or_name(finding)} could not be checked: {reason}."


def _hint_text(finding: Finding, hint: Hint) -> str:
    """Return a hint as a sentence with the names of the operands, as code if only one operand changes."""
    inputs = [number for number, operand in enumerate(finding.operands) if operand.role != "target"]
    old = [[*(finding.operands[number].shape or ())] for number in inputs]
    if hint.input is not None and hint.shape and (code := reshape_code(old[hint.input], hint.shape)):
        return f"Write {operation_code(finding, {inputs[hint.input]: code}, ())}."
    names = Names([operand_name(finding, number) for number in inputs])
    return f"{capitalized(hint_text(hint.model_dump(mode='json'), old, names))}."


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
    one, other = (operand_name(finding, number) for number in sorted(broadcast.inputs))
    return all_pairs_text(broadcast.axes, max(map(len, known_shapes(finding))), one, other)


def _changed_code(finding: Finding, change: InputReshape) -> str:
    code = reshape_code(finding.operands[change.input].shape or (), change.shape)
    return operation_code(finding, {change.input: code}, ())


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
    warnings = finding.answer.warnings if finding.answer is not None else []
    return next(warning.message for warning in warnings if warning.code == code)


def _rank_promotion(finding: Finding) -> str:
    ranks = [*map(len, known_shapes(finding))]
    longest = ranks.index(max(ranks))
    shorter = [name_and_shape(finding, number) for number, rank in enumerate(ranks) if 0 < rank < ranks[longest]]
    verb = "gets" if len(shorter) == 1 else "get"
    return f"{' and '.join(shorter)} {verb} new axes on the left to match {name_and_shape(finding, longest)}."


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
    "needs": _needs,
}
