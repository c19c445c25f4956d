"""The lists that compare() and check_batch() return, as text for print() and as an SVG document for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..messages import CheckAnswer, CompareAnswer, Comparison, SkippedOp
from ..messages.base import drawn_by
from .answer_picture import Picture
from .terminal_text import ComparisonGroup, comparison_groups, distinct_warnings, result_line, warning_lines

_MAX_LISTED = 20
"""The maximum number of answers that are listed."""


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
        return "\n".join([*lines, *warning_lines(distinct_warnings(self))])

    def _repr_svg_(self) -> str:
        from .svg_document import Paragraph, svg_document  # only notebooks need it

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
