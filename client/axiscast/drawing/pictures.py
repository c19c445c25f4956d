"""The pictures of answers: the drawing and the sentences that print(), notebooks and `--svg` show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..checks.check import plan_or_conflict
from ..checks.limits import MAX_RANK, validate_request
from ..messages import CheckAnswer, CheckRequest, CompareAnswer, Comparison, SkippedOp, TranslateAnswer
from ..messages.base import drawn_by
from ..messages.validation import validate
from ..messages.why import WhyAnswer
from ..wire.problems import Problem
from .drawing import Drawing, describe_drawing
from .drawing_svg import drawing_block
from .drawing_text import drawing_as_text
from .svg_document import Block, Paragraph, svg_document
from .terminal_text import (
    ComparisonGroup,
    axis_size_lines,
    check_as_text,
    comparison_groups,
    hints_of,
    is_product,
    result_line,
    result_shapes_text,
    translation_as_text,
    warning_lines,
)

Part = Paragraph | Block | None
"""A block of a picture, which is the drawing or a paragraph."""
_MAX_LISTED = 20
"""The maximum number of answers that are listed in the text for a batch."""


class Picture(NamedTuple):
    """The drawing that shows the answer to `request`. The request may be a map with the fields of a CheckRequest."""

    request: CheckRequest | Mapping[str, Any] | None = None

    def text(self, answer: CheckAnswer | Comparison | TranslateAnswer | WhyAnswer) -> str:
        """Return the drawing and the sentences of an answer as text for a terminal."""
        if isinstance(answer, WhyAnswer):
            from ..explanation.diagnosis import why_as_text  # slow, because it loads tables of error messages

            return why_as_text(answer)
        diagram = getattr(answer, "diagram", None)
        if diagram is None and (drawing := self.drawing()) is not None:
            diagram = drawing_as_text(drawing)
        if isinstance(answer, TranslateAnswer):
            return "\n".join([*([diagram, ""] if diagram else []), translation_as_text(answer)])
        return check_as_text(answer, diagram)

    def svg(self, answer: CheckAnswer | Comparison | TranslateAnswer | WhyAnswer) -> str:
        """Return the drawing and the sentences of an answer as an SVG document."""
        if isinstance(answer, WhyAnswer):
            parts: list[Part] = [Paragraph(answer.message)]
            if answer.check is not None:
                drawing = Picture({"op": answer.op, "inputs": answer.inputs}).block()
                parts = [*_fixes(answer.check), *parts, drawing]
            return svg_document(answer.message, parts)
        if isinstance(answer, TranslateAnswer):
            title = f"Translated to {answer.steps[-1].op.name if answer.steps else 'nothing'}"
            warnings = [Paragraph(warning.message, "maybe") for warning in answer.warnings]
            parts = [Paragraph(title, "head"), self.block(), Paragraph(answer.code.text.strip(), "mono"), *warnings]
            return svg_document(title, parts)
        verdict = verdict_of(answer)
        message = [Paragraph(answer.conflict.message)] if answer.conflict else []
        below = [Paragraph(f"if {condition.message}", "maybe") for condition in answer.conditions[:_MAX_LISTED]]
        below += [Paragraph(line, "maybe") for line in axis_size_lines(answer)]
        below += [Paragraph(warning.message, "maybe") for warning in answer.warnings]
        return svg_document(verdict.text, [verdict, *_fixes(answer), *message, self.block(), *below])

    def block(self) -> Block | None:
        """Return the drawing as a part of an SVG document."""
        drawing = self.drawing()
        return None if drawing is None else drawing_block(drawing)

    def drawing(self) -> Drawing | None:
        """Return the description of the drawing, or None if the op is unknown or the rank is too high."""
        try:
            request = self.request
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
        return Paragraph(f"Broadcasts{to} for some sizes", "head maybe")
    return Paragraph(f"✓ Fits: the result is {shapes}" if is_product(answer) else f"✓ Broadcasts{to}", "head yes")


def _fixes(answer: CheckAnswer | Comparison) -> list[Part]:
    hints = [*hints_of(answer), *(warning.hint for warning in answer.warnings if answer.conflict is None)]
    return [Paragraph(f"Fix: {hint.message}", "fix") for hint in hints if hint is not None]


class Comparisons(list[Comparison]):
    """The return value of `compare`: a list, which print() shows with one line per verdict."""

    left_out: Sequence[str] = ()
    """The ops that the comparison skips because they need integers, as in CompareAnswer."""
    skipped: Sequence[SkippedOp] = ()
    """The other requested ops that the comparison skips, as in CompareAnswer."""

    @classmethod
    def of(cls, answer: CompareAnswer, request: Mapping[str, Any]) -> Comparisons:
        """Return the comparison for a request with these fields. Each result can also be drawn separately."""
        own = {name: request[name] for name in ("inputs", "assume") if name in request}
        results = cls(drawn_by(Picture({"op": result.op, **own}), result) for result in answer.results)
        results.left_out, results.skipped = answer.left_out, answer.skipped
        return results

    def groups(self) -> list[ComparisonGroup]:
        """Return a group for each distinct verdict."""
        return comparison_groups(self, self.left_out, self.skipped)

    def __str__(self) -> str:
        lines = [group.as_text() for group in self.groups()]
        warnings = {warning.message: warning for answer in self for warning in answer.warnings}
        return "\n".join([*lines, *warning_lines(warnings.values())])

    def _repr_svg_(self) -> str:
        title = f"The results of {sum(1 + len(result.also) for result in self)} ops"
        marks = {"yes": ("✓", "yes"), "no": ("✗", "no"), "if": ("if", "maybe"), "-": ("-", "soft")}
        parts = [Paragraph(title, "head")]
        for verdict, details, ops, hint in self.groups()[:_MAX_LISTED]:
            mark, kind = marks[verdict]
            fix = [Paragraph(f"Fix: {hint}", "fix")] if hint else []
            parts += [Paragraph(f"{mark} {details}", kind), *fix, Paragraph(ops, "soft")]
        return svg_document(title, parts)


class BatchAnswers(list[Any]):
    """The return value of `check_batch`: a list, which print() shows with one line per check."""

    def __str__(self) -> str:
        lines = [
            f"{number}: {result_line(answer) if isinstance(answer, CheckAnswer) else f'invalid: {answer}'}"
            for number, answer in enumerate(self[:_MAX_LISTED])
        ]
        more = [f"and {len(self) - _MAX_LISTED} more"] if len(self) > _MAX_LISTED else []
        return "\n".join([*lines, *more]) or "[]"
