"""The pictures of answers: the drawing and the sentences that print(), notebooks and `--svg` show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..checks.check import plan_or_conflict
from ..checks.limits import MAX_RANK, validate_request
from ..messages import CheckAnswer, CheckRequest, Comparison, TranslateAnswer
from ..messages.facts import Warned
from ..messages.validation import validate
from ..messages.why import WhyAnswer
from ..wire.problems import Problem
from ..words.conflicts import conflict_text
from ..words.hints import hint_text
from ..words.names import Names
from ..words.warnings import square_text
from .drawing import Drawing, describe_drawing
from .drawing_svg import drawing_block, drawing_rows
from .drawing_text import drawing_as_text
from .scenes import letter_of
from .summary import summary_of
from .svg_document import Block, Paragraph, svg_document
from .terminal_text import (
    axis_size_lines,
    check_as_text,
    hints_of,
    is_product,
    join_conditions,
    result_shapes_text,
    translation_as_text,
    why_as_text,
)

_LETTERS = Names([letter_of(number) for number in range(26)])
"""The names of the inputs in a picture."""
_MAX_CONDITION = 40
"""The maximum length of a condition in a headline."""


def answer_as_text(request: Any, answer: CheckAnswer | Comparison | TranslateAnswer | WhyAnswer) -> str:
    """Return the drawing and the sentences of an answer as text for a terminal."""
    if isinstance(answer, WhyAnswer):
        return why_as_text(answer)
    diagram = getattr(answer, "diagram", None)
    if diagram is None and (drawing := drawing_of(request)) is not None:
        diagram = drawing_as_text(drawing)
    if isinstance(answer, TranslateAnswer):
        return "\n".join([*([diagram, ""] if diagram else []), translation_as_text(answer)])
    return check_as_text(answer, diagram)


def answer_as_svg(request: Any, answer: CheckAnswer | Comparison | TranslateAnswer | WhyAnswer) -> str:
    """Return the drawing and the sentences of an answer as an SVG document."""
    if isinstance(answer, WhyAnswer):
        explained = Paragraph(answer.message)
        if answer.check is None:
            return svg_document(answer.message, [explained])
        drawn = _drawn(drawing_of({"op": answer.op, "inputs": answer.inputs}))
        return svg_document(answer.message, [*_fix_boxes(answer.check), explained, *drawn])
    drawing = drawing_of(request)
    if isinstance(answer, TranslateAnswer):
        title = f"Translated to {answer.steps[-1].op.name if answer.steps else 'nothing'}"
        below = [Paragraph(answer.code.text.strip(), "mono"), *_warnings(answer.warnings)]
        return svg_document(title, [Paragraph(title, "head"), *_drawn(drawing), *below])
    verdict, message = verdict_of(answer), _message(answer, drawing)
    below = [Paragraph(line, "maybe") for line in axis_size_lines(answer)]
    below += _warnings(warning for warning in answer.warnings if warning.code != "square" or drawing is None)
    parts = [verdict, *_fix_boxes(answer), Paragraph(message), *_drawn(drawing), *below]
    return svg_document(verdict.text, parts)


def _drawn(drawing: Drawing | None) -> list[Paragraph | Block]:
    """Return the summary of a drawing and the drawing as parts of an SVG document."""
    return [] if drawing is None else [Paragraph(summary_of(drawing), "soft"), drawing_block(drawing)]


def _warnings(warnings: Iterable[Warned]) -> list[Paragraph]:
    return [Paragraph(warning.message, "maybe") for warning in warnings]


def drawing_for_page(request: Any, answer: CheckAnswer) -> dict[str, Any]:
    """Return the headline of an answer, the summary of its drawing, and the rows of the drawing as SVG documents."""
    drawing, verdict = drawing_of(request), verdict_of(answer)
    kind = verdict.kind.removeprefix("head ")
    facts: dict[str, Any] = {"verdict": verdict.text, "kind": kind, "message": _message(answer, drawing)}
    facts["fixes"] = _fixes(answer)
    if drawing is not None:
        facts["summary"] = summary_of(drawing)
        facts["rows"] = [[block.as_svg() for block in row] for row in drawing_rows(drawing)]
    return facts


def drawing_of(request: Any) -> Drawing | None:
    """Return the description of the drawing, or None if the op is unknown or the rank is too high."""
    try:
        if request is None or isinstance(request, Mapping):
            request = validate(CheckRequest, request)
        size = validate_request(request.op, tuple(request.inputs))
        drawn = size.rank <= MAX_RANK
        return describe_drawing(size.op, size.shapes, plan_or_conflict(size, request.assume)) if drawn else None
    except Problem:
        return None  # a newer service accepted the request


def verdict_of(answer: CheckAnswer | Comparison) -> Paragraph:
    """Return the headline for a check. It warns if the shapes form an accidental outer product."""
    shapes = result_shapes_text(answer)
    to = f" to {shapes}" if shapes else ""
    if answer.conflict is not None:
        return Paragraph("✗ Does not broadcast", "head no")
    if any(warning.code == "square" for warning in answer.warnings):
        return Paragraph(f"⚠ Broadcasts{to}: probably not what you want", "head maybe")
    if answer.compatible is None:
        only = join_conditions(answer.conditions)
        when = f"only if {only}" if len(only) <= _MAX_CONDITION else "for some sizes"
        return Paragraph(f"Broadcasts{to} {when}", "head maybe")
    return Paragraph(f"✓ Fits: the result is {shapes}" if is_product(answer) else f"✓ Broadcasts{to}", "head yes")


def _message(answer: CheckAnswer | Comparison, drawing: Drawing | None) -> str:
    """Return the sentence about a conflict, an accidental outer product or long conditions, or "" if there is none."""
    if drawing is not None and drawing.conflict is not None:
        return conflict_text(drawing.conflict, _LETTERS)
    if answer.conflict is not None:
        return answer.conflict.message
    for warning in answer.warnings:
        if warning.code == "square" and drawing is not None:
            return square_text(warning.model_dump(mode="json"), drawing.shapes, answer.outputs[0].shape, _LETTERS)
    only = join_conditions(answer.conditions)
    return f"The shapes broadcast only if {only}." if len(only) > _MAX_CONDITION else ""


def _fixes(answer: CheckAnswer | Comparison) -> list[str]:
    """Return the sentences about the hints of a conflict, or about the hints of warnings and conditions."""
    hints = [*hints_of(answer), *(warning.hint for warning in answer.warnings if answer.conflict is None)]
    return [hint_text(hint.model_dump(mode="json"), _LETTERS) for hint in hints if hint]


def _fix_boxes(answer: CheckAnswer | Comparison) -> list[Paragraph]:
    return [Paragraph(f"Fix: {fix}", "fix") for fix in _fixes(answer)]
