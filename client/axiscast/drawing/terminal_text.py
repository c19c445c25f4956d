"""Functions that format responses as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..messages import CheckAnswer, Comparison, SkippedOp, TranslateAnswer
from ..messages.check_answer import Verdict
from ..messages.conditions import Condition
from ..messages.facts import Hint, Warned
from ..messages.why import WhyAnswer
from ..ops import OPS
from ..wire.dimensions import Symbol
from ..wire.shapes import format_shape

_MAX_CONDITIONS = 20
"""The maximum number of conditions that are listed in a text for the terminal."""

MAX_WIDTH = 100
"""The maximum length of a line in the text of a comparison, unless a terminal has another width."""


Paint = Callable[[str, str], str]
"""A function that colors text of a kind: "diagram", "yes", "if", "no", "hint" or "warning"."""


def plain(text: str, kind: str) -> str:
    """Return text without a color."""
    return text


def check_as_text(answer: CheckAnswer | Comparison, diagram: str | None = None, paint: Paint = plain) -> str:
    """Return the text of a check: the result, the hints, the warnings and, if it was requested, the diagram."""
    diagram = diagram or getattr(answer, "diagram", None)
    verdict = {True: "yes", None: "if", False: "no"}[answer.compatible]
    lines = [*([paint(diagram, "diagram"), ""] if diagram else []), paint(result_line(answer), verdict)]
    lines += axis_size_lines(answer)
    lines += hint_lines(hints_of(answer), paint)
    return "\n".join([*lines, *warning_lines(answer.warnings, paint)])


def why_as_text(answer: WhyAnswer, paint: Paint = plain) -> str:
    """Return an answer as text for a terminal: the explanation, the diagram and the hints."""
    lines = [answer.message]
    if answer.check is not None:
        if answer.check.diagram:
            lines += ["", paint(answer.check.diagram, "diagram")]
        hints = hints_of(answer.check)
        lines += ["", *hint_lines(hints, paint)] if hints else []
    return "\n".join(lines)


def hint_lines(hints: Iterable[Hint], paint: Paint = plain) -> list[str]:
    """Return a line for each hint."""
    return [paint(f"hint: {hint.message}", "hint") for hint in hints]


def axis_size_lines(answer: CheckAnswer | Comparison) -> list[str]:
    """Return a line for each output axis whose size is explained."""
    return [f"output axis {size.axis} has size {size.message}" for size in getattr(answer, "axis_sizes", [])]


def hints_of(answer: CheckAnswer | Comparison) -> Sequence[Hint]:
    """Return the hints of a conflict, or the hints for shapes that broadcast only for some sizes."""
    return answer.hints if answer.conflict is None else answer.conflict.hints


def result_line(answer: CheckAnswer | Comparison) -> str:
    """Return the result of a check as one line: the shape of the result, or the conflict."""
    if answer.conflict is not None:
        return f"incompatible ({answer.conflict.code}): {answer.conflict.message}"
    shapes = result_shapes_text(answer)
    verdict = "compatible" if answer.compatible else f"compatible if {join_conditions(answer.conditions)}"
    return f"{verdict}: {shapes}" if shapes else verdict


class ComparisonGroup(NamedTuple):
    """The ops that have the same verdict in a comparison."""

    verdict: str
    """One of "yes", "if" and "no", or "-" for ops that were skipped."""
    details: str
    """The output shapes, the conditions, the conflict, or the reason why the ops were skipped."""
    ops: str
    hint: str | None = None
    """The first hint that all ops of the group share."""

    def as_text(self, width: int = MAX_WIDTH) -> str:
        """Return the group as lines of at most `width` characters."""
        parts = [self.details, *([f"hint: {self.hint}"] if self.hint else []), self.ops]
        lines = [line for part in parts for line in textwrap.wrap(part, width - 5, break_on_hyphens=False) or [""]]
        return f"{self.verdict:5}" + "\n     ".join(lines)


def comparison_groups(
    results: Iterable[Comparison], left_out: Sequence[str], skipped: Sequence[SkippedOp] = ()
) -> list[ComparisonGroup]:
    """Return a group for each distinct verdict of a comparison. Matrix products and skipped ops come last."""
    groups: dict[tuple[bool, str, str], list[Comparison]] = {}
    for result in sorted(results, key=lambda result: (is_product(result), _ORDER[result.compatible])):
        groups.setdefault((is_product(result), *_verdict(result)), []).append(result)
    found = [
        ComparisonGroup(
            verdict,
            f"matrix product: {details}" if multiplies else details,
            "; ".join(map(_ops_text, members)),
            _shared_hint(members),
        )
        for (multiplies, verdict, details), members in groups.items()
    ]
    reasons: dict[str, list[str]] = {}
    for each in skipped:
        reasons.setdefault(each.reason, []).append(_op_text(each.op))
    if left_out:
        found.append(ComparisonGroup("-", "skipped, because they support integer sizes only", "; ".join(left_out)))
    return found + [ComparisonGroup("-", f"skipped: {reason}", "; ".join(ops)) for reason, ops in reasons.items()]


_ORDER = {True: 0, None: 1, False: 2}


def is_product(answer: Verdict[Any]) -> bool:
    """Return whether the op of an answer sums over axes, as a matrix product does."""
    name = answer.op["name"] if isinstance(answer.op, Mapping) else getattr(answer.op, "name", "")
    kind = OPS.get(str(name))
    return kind is not None and not kind.has_common_output_axes


def _shared_hint(results: Sequence[Comparison]) -> str | None:
    """Return the first hint whose change all these results contain, or None if they share no change."""
    first, *others = (hints_of(result) for result in results)
    changes = [[_change(hint) for hint in hints] for hints in others]
    return next((hint.message for hint in first if all(_change(hint) in each for each in changes)), None)


def _change(hint: Hint) -> dict[str, Any]:
    """Return the facts of a hint that do not depend on the op, unless the hint names another op."""
    own = set() if hint.code == "other-op" else {"request"}
    return hint.model_dump(exclude={"message", "output", "suffix", *own})


def _verdict(result: Comparison) -> tuple[str, str]:
    """Return two strings: whether the shapes broadcast, and the output shapes, the conditions or the conflict."""
    if result.conflict is not None:
        return "no", result.conflict.message
    shapes = result_shapes_text(result) or "True"  # only poputil.canBroadcastToMatch has no outputs
    if result.compatible:
        return "yes", shapes
    return "if", f"{join_conditions(result.conditions)}: {shapes}"


def _ops_text(result: Comparison) -> str:
    """Return the names of the ops with this result. The name of a module is written once: numpy.add, broadcast_to."""
    texts, module = [], ""
    for op in (result.op, *result.also):
        texts.append(_op_text(op).removeprefix(module))
        module = str(op["name"]).rpartition(".")[0] + "."
    return ", ".join(texts)


def _op_text(op: Mapping[str, Any]) -> str:
    return str(op["name"]) + (f" ({op['mode']})" if "mode" in op else "")


def translation_as_text(answer: TranslateAnswer, paint: Paint = plain) -> str:
    """Return the text of a translation, which has one line per step, the source code, and the warnings."""
    lines = []
    for number, step in enumerate(answer.steps, 1):
        fields = step.op.model_dump(exclude={"name"}, exclude_none=True).items()
        attributes = ", ".join(f"{name}={_attribute(value)}" for name, value in fields if value != {})
        taken = "" if step.input is None else f"input {step.input}: "
        name = getattr(step.op, "alias", None) or step.op.name
        lines.append(f"{number}. {taken}{name}({attributes})")
    warnings = warning_lines(answer.warnings, paint)
    return "\n".join([*lines, "", answer.code.text, *([""] if warnings else []), *warnings])


def _attribute(value: Any) -> str:
    """Return an attribute as text, in which the names of sizes have no quotes."""
    return format_shape(value) if isinstance(value, tuple) and Symbol in map(type, value) else str(value)


def result_shapes_text(answer: CheckAnswer | Comparison) -> str:
    """Return the distinct shapes of the outputs as text."""
    return ", ".join(dict.fromkeys(format_shape(output.shape) for output in answer.outputs))


def warning_lines(warnings: Iterable[Warned], paint: Paint = plain) -> list[str]:
    """Return a line for each warning, without the warning's hint, because the message already contains the hint."""
    return [paint(f"warning ({warning.code}): {warning.message}", "warning") for warning in warnings]


def distinct_warnings(results: Iterable[Comparison]) -> list[Warned]:
    """Return the warnings of a comparison. Of warnings about the same inputs and axes, only the first is returned."""
    found: dict[object, Warned] = {}
    for warning in (warning for result in results for warning in result.warnings):
        found.setdefault((warning.code, warning.inputs, warning.axes) if warning.inputs else warning.message, warning)
    return [*found.values()]


def join_conditions(conditions: Sequence[Condition]) -> str:
    """Return the conditions as one sentence. If there are several, alternatives are enclosed in parentheses."""
    texts = []
    for condition in conditions[:_MAX_CONDITIONS]:
        has_alternatives = len(conditions) > 1 < len(condition.any)
        texts.append(f"({condition.message})" if has_alternatives else condition.message)
    if len(conditions) > len(texts):
        texts.append(f"{len(conditions) - len(texts)} more conditions")
    return " and ".join(texts)
