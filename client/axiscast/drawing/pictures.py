"""The pictures of answers: the drawing and the sentences that print(), notebooks and `--svg` show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..checks.check import plan_or_conflict
from ..checks.limits import MAX_RANK, validate_request
from ..messages import CheckAnswer, CheckRequest, Comparison, TranslateAnswer
from ..messages.validation import validate
from ..messages.why import WhyAnswer
from ..wire.problems import Problem
from .drawing import Drawing, describe_drawing
from .drawing_svg import drawing_block, drawing_rows
from .drawing_text import drawing_as_text
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
)

Part = Paragraph | Block | None
"""A block of a picture, which is the drawing or a paragraph."""
_MAX_LISTED = 20
"""The maximum number of conditions that are listed."""
_MAX_CONDITION = 40
"""The maximum length of a condition in a headline."""


def answer_as_text(request: Any, answer: CheckAnswer | Comparison | TranslateAnswer | WhyAnswer) -> str:
    """Return the drawing and the sentences of an answer as text for a terminal."""
    if isinstance(answer, WhyAnswer):
        from ..explanation.answers import why_as_text  # slow, because it loads tables of error messages

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
        parts: list[Part] = [Paragraph(answer.message)]
        if answer.check is not None:
            parts = [*_fixes(answer.check), *parts, _block({"op": answer.op, "inputs": answer.inputs})]
        return svg_document(answer.message, parts)
    if isinstance(answer, TranslateAnswer):
        title = f"Translated to {answer.steps[-1].op.name if answer.steps else 'nothing'}"
        warnings = [Paragraph(warning.message, "maybe") for warning in answer.warnings]
        parts = [Paragraph(title, "head"), _block(request), Paragraph(answer.code.text.strip(), "mono"), *warnings]
        return svg_document(title, parts)
    verdict = verdict_of(answer)
    message = [Paragraph(answer.conflict.message)] if answer.conflict else []
    below = [Paragraph(f"if {condition.message}", "maybe") for condition in answer.conditions[:_MAX_LISTED]]
    below += [Paragraph(line, "maybe") for line in axis_size_lines(answer)]
    below += [Paragraph(warning.message, "maybe") for warning in answer.warnings]
    drawing = drawing_of(request)
    drawn: list[Part] = [] if drawing is None else [Paragraph(summary_of(drawing), "soft"), drawing_block(drawing)]
    return svg_document(verdict.text, [verdict, *_fixes(answer), *message, *drawn, *below])


def drawing_for_page(request: Any, answer: CheckAnswer) -> dict[str, Any]:
    """Return the headline of an answer, the summary of its drawing, and the rows of the drawing as SVG documents."""
    drawing, verdict = drawing_of(request), verdict_of(answer)
    facts: dict[str, Any] = {"verdict": verdict.text, "kind": verdict.kind.removeprefix("head ")}
    if drawing is not None:
        facts["summary"] = summary_of(drawing)
        facts["rows"] = [[block.as_svg() for block in row] for row in drawing_rows(drawing)]
    return facts


def _block(request: Any) -> Block | None:
    """Return the drawing as a part of an SVG document."""
    drawing = drawing_of(request)
    return None if drawing is None else drawing_block(drawing)


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


def _fixes(answer: CheckAnswer | Comparison) -> list[Part]:
    hints = [*hints_of(answer), *(warning.hint for warning in answer.warnings if answer.conflict is None)]
    return [Paragraph(f"Fix: {hint.message}", "fix") for hint in hints if hint is not None]
