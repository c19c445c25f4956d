"""The message for a finding: one line that names the operands, states the sizes, and proposes a fix."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..messages.facts import Hint, Warned
from ..messages.findings import Finding, Quantity, ReportKind, SizeRule, Unchecked
from ..wire.shapes import format_shape
from ..wire.wording import printable
from .conditions import condition_text
from .hints import hint_text
from .names import Names, capitalized, joined
from .operation_code import (
    is_call,
    known_shapes,
    name_and_shape,
    op_name,
    operand_name,
    operation_code,
    shown_size,
    shown_sizes,
)
from .warnings import all_pairs_text

_UNCHECKED: dict[str, str] = {
    "unknown-rank": "the number of axes is unknown for {}",
    "other-opset": "it is in a function that imports a different opset version than the model",
    "input-count": "{} takes {} inputs, but this node has {}",
    "undefined": "opset {} either has no {} or defines it differently",
    "refused": "onnx can't infer its output from these inputs",
    "unsolved": "the search for sizes at which it runs reached its limit",
    "limit": "{}",
}
"""The sentence for each reason why an operation is unchecked, with places for its details."""


_MUST = {"multiple": "a multiple of ", "at-most": "at most "}


def finding_text(finding: Finding, kind: ReportKind | None = None) -> str:
    """Return the message for a finding. If `kind` is given, return only the part of the message about this kind."""
    kinds = finding.kinds if kind is None else (kind,)
    return " ".join([_SENTENCES[each](finding) for each in kinds] or [f"{_result(finding)}."])


def needs_text(finding: Finding) -> str:
    """Return what an operation needs, such as "seq = 12" or "h to be a multiple of 32", or "" if nothing is known."""
    if finding.failure is not None:
        return printable(" and ".join(_rule_text(finding, rule) for rule in finding.failure.rules))
    conditions = finding.answer.conditions if finding.answer is not None else []
    texts = [condition_text(condition.any, names_of(finding), finding.size_expressions) for condition in conditions]
    return " and ".join(f"({text})" if " or " in text and len(texts) > 1 else text for text in texts)


def group_text(group: Sequence[Finding]) -> str:
    """Return a summary of several similar findings, such as "3 nodes need N == 12 or N == 1"."""
    if group[0].verdict == "unchecked":
        return f"{len(group)} nodes could not be checked"
    verb = "run only with" if group[0].verdict == "pinned" else "need"
    return f"{len(group)} nodes {verb} {needs_text(group[0])}"


def unchecked_text(reason: Unchecked) -> str:
    """Return the reason why an operation is unchecked."""
    details = reason.details if reason.code != "unknown-rank" else (joined(reason.details),)
    return printable(_UNCHECKED[reason.code].format(*details))


def _rule_text(finding: Finding, rule: SizeRule) -> str:
    """Return a rule, such as "total = past + seq", in a form that fits after "needs" and "only with"."""
    name = shown_size(finding, rule.name)
    if rule.kind == "multiple":
        return f"{name} to be a multiple of {rule.size}"
    if rule.kind != "equal":
        return f"{name} to be {rule.kind.replace('-', ' ')} {rule.size}"
    parts = [
        f"{'-' if factor < 0 else '+'} {'' if abs(factor) == 1 else f'{abs(factor)} * '}{shown_size(finding, term)}"
        for term, factor in rule.terms
    ]
    if rule.size or not parts:
        parts.append(f"{'-' if rule.size < 0 else '+'} {abs(rule.size)}")
    return f"{name} = {' '.join(parts).removeprefix('+ ')}{' or 1' if rule.or_one else ''}"


def names_of(finding: Finding) -> Names:
    """Return the names of the operands, in the order of the inputs of the check request."""
    named = [(operand.role == "target", operand_name(finding, n)) for n, operand in enumerate(finding.operands)]
    inputs = [name for is_target, name in named if not is_target]
    return Names(inputs, next((name for is_target, name in named if is_target), "the target"))


def _result(finding: Finding) -> str:
    """Return a clause that contains the operation and the shape to which its operands broadcast."""
    if finding.output is None and finding.answer is None:
        return f"{_code_or_name(finding)} runs"
    output = format_shape(shown_sizes(finding, finding.output)) if finding.output is not None else "an unknown shape"
    verb = "broadcasts to" if is_call(finding) and "square" in finding.kinds else "gives"
    return f"{operation_code(finding)} {verb} {output}"


def _incompatible(finding: Finding) -> str:
    if finding.answer is not None and finding.answer.conflict is not None:
        hints = [_hint_text(finding, hint) for hint in finding.answer.conflict.hints[:1]]
        return " ".join([_conflict(finding), *hints])
    if finding.failure is not None and finding.failure.sizes:
        return f"No sizes were found at which {_code_or_name(finding)} runs. {_failure_text(finding)}"
    return f"{_code_or_name(finding)} fails. {_failure_text(finding)}"


def _conflict(finding: Finding) -> str:
    """Return the sizes that conflict for all values of the named sizes."""
    conflict = finding.answer.conflict if finding.answer is not None else None
    if conflict is None or not conflict.sizes:
        return " ".join([f"{operation_code(finding)} does not broadcast.", *([conflict.message] if conflict else [])])
    # An output axis is counted from the last axis, so that it has the same index in all operands.
    rank = max(map(len, known_shapes(finding)))
    axes = conflict.axes or [(conflict.axis or 0) - rank] * len(conflict.sizes)
    names = names_of(finding)
    owners = ["the target" if each is None else names.input(each) for each in conflict.inputs]
    sizes = [shown_size(finding, size) for size in conflict.sizes]
    if len(set(axes)) > 1:
        placed = zip(axes, owners, sizes, strict=True)
        sides = [f"axis {axis} of {owner} has size {size}" for axis, owner, size in placed]
        return f"{operation_code(finding)} does not fit: {', but '.join(sides)}."
    sides = [f"{size} in {owner}" for size, owner in zip(sizes, owners, strict=True)]
    listed = sides[:3] + ([f"{len(sides) - 3} other sizes"] if len(sides) > 3 else [])
    return f"{operation_code(finding)} does not broadcast: axis {axes[0]} has size {joined(listed)}."


def _failure_text(finding: Finding) -> str:
    """Return a sentence with the numbers in the failure of an operation."""
    failure = finding.failure
    if failure is None:
        return ""
    sizes = printable(joined([f"{name} = {size}" for name, size in failure.sizes.items()]))
    at_sizes = f"It fails, for example, if {sizes}: " if sizes else ""
    if failure.requirement is None:
        return f"{at_sizes}onnx reports an error."
    kind, left, right = failure.requirement
    if left.input is None and right.input is not None:
        left, right = right, left
    name = _quantity_name(finding, right)
    subject = f"{'the value of ' if left.what == 'value' else ''}{_quantity_name(finding, left) or 'a number'}"
    verb = f"but {name} is {right.value}" if name else f"but must be {_MUST.get(kind, '')}{right.value}"
    return f"{at_sizes}{subject} is {left.value}, {verb}."


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
        f"dynamic. {_failure_text(finding)} Perhaps the model's code has a constant in place of {names}. Read the size "
        f"from the shape of the input, or export {names} with a fixed size."
    )


def _needs(finding: Finding) -> str:
    return f"{_code_or_name(finding)} needs {needs_text(finding)}. {_failure_text(finding)}".rstrip()


def _contradicted(finding: Finding) -> str:
    known = finding.contradiction
    assert known is not None
    stated, inferred = (f"({', '.join('?' if size is None else str(size) for size in shape)})" for shape in known[1:])
    return printable(f"The file states shape {stated} for {known.value}, but the inputs of this node give {inferred}.")


def _unchecked(finding: Finding) -> str:
    reason = unchecked_text(finding.unchecked) if finding.unchecked else ""
    return f"{_code_or_name(finding)} could not be checked: {reason}."


def _hint_text(finding: Finding, hint: Hint) -> str:
    """Return a hint as a sentence with the names of the operands, as code if only one operand changes."""
    if hint.suffix:
        return f"Write `{_changed_code(finding, hint)}`."
    return f"{capitalized(hint_text(hint.model_dump(mode='json'), names_of(finding)))}."


def _changed_code(finding: Finding, hint: Hint) -> str:
    """Return the operation as code in which one operand is changed."""
    inputs = [number for number, operand in enumerate(finding.operands) if operand.role != "target"]
    return operation_code(finding, {inputs[hint.input or 0]: hint.suffix or ""}, ())


def _square(finding: Finding) -> str:
    warning = _warning(finding, "square")
    remedy = "Give all operands the same shape." if warning.hint is None else _hint_text(finding, warning.hint)
    pairs = ""
    if warning.all_pairs is not None:
        shape = format_shape(shown_sizes(finding, finding.output or warning.all_pairs.output or ()))
        pairs = f" If shape {shape} is intended, write `{_changed_code(finding, warning.all_pairs)}`."
    return f"{_result(finding)}: {_pairs(finding, warning)}. {remedy}{pairs}"


def _pairs(finding: Finding, warning: Warned) -> str:
    """Return a clause about the pairs of elements that two operands form."""
    expanding = sorted(zip(warning.inputs, warning.axes, strict=True))
    names = [operand_name(finding, number) for number, _ in expanding]
    return all_pairs_text(names, [axis for _, axis in expanding], max(map(len, known_shapes(finding))))


def _mutual_stretch(finding: Finding) -> str:
    pairs = _pairs(finding, _warning(finding, "mutual-stretch"))
    return f"{_result(finding)}: {pairs}. If this is not intended, check whether one of them lacks an axis."


def _warning(finding: Finding, code: str) -> Warned:
    """Return the warning with this code in the answer to the check."""
    warnings = finding.answer.warnings if finding.answer is not None else []
    return next(warning for warning in warnings if warning.code == code)


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
