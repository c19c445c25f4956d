"""Functions that format responses as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..messages import CheckAnswer, Comparison, Condition, TranslateAnswer, Warned
from ..wire.shapes import format_shape

_MAX_CONDITIONS = 20
"""The maximum number of conditions that a text lists."""


def check_as_text(answer: CheckAnswer) -> str:
    """Return the text of a check: the diagram if it was requested, the result, the hints and the warnings."""
    lines = [answer.diagram, ""] if answer.diagram else []
    if answer.conflict is None:
        shapes = result_shapes_text(answer)
        verdict = "compatible" if answer.compatible else f"compatible if {join_conditions(answer.conditions)}"
        lines.append(f"{verdict}: {shapes}" if shapes else verdict)
    else:
        lines.append(f"incompatible ({answer.conflict.code}): {answer.conflict.message}")
        lines += [f"hint: {hint.text}" for hint in answer.conflict.hints]
    return "\n".join([*lines, *warning_lines(answer.warnings)])


def translation_as_text(answer: TranslateAnswer) -> str:
    """Return the text of a translation: one line for each step, then the code, then the warnings."""
    lines = []
    for number, step in enumerate(answer.steps, 1):
        fields = step.op.model_dump(exclude={"name"}, exclude_none=True).items()
        attributes = ", ".join(f"{name}={value}" for name, value in fields if value != {})
        taken = ""
        if step.inputs:
            taken = f"inputs {', '.join(map(str, step.inputs))}: "
        elif step.input is not None:
            taken = f"input {step.input}: "
        lines.append(f"{number}. {taken}{step.op.name}({attributes})")
    warnings = warning_lines(answer.warnings)
    return "\n".join([*lines, "", answer.code.text, *([""] if warnings else []), *warnings])


def result_shapes_text(answer: CheckAnswer | Comparison) -> str:
    """Return the shape of the result as text. If there is no result, return the distinct shapes of the outputs."""
    shapes = [answer.result.shape] if answer.result else [output.shape for output in answer.outputs]
    return ", ".join(dict.fromkeys(map(format_shape, shapes)))


def warning_lines(warnings: Iterable[Warned]) -> list[str]:
    """Return a line for each warning. The warning's hint is omitted, because the message already contains it."""
    return [f"warning ({warning.code}): {warning.message}" for warning in warnings]


def join_conditions(conditions: Sequence[Condition]) -> str:
    """Return the conditions as one sentence. If there are several conditions, alternatives are in parentheses."""
    texts = [condition.text for condition in conditions[:_MAX_CONDITIONS]]
    if len(conditions) > 1:
        texts = [f"({text})" if " or " in text else text for text in texts]
    if len(conditions) > len(texts):
        texts.append(f"{len(conditions) - len(texts)} more conditions")
    return " and ".join(texts)
