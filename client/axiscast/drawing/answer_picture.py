"""The picture of an answer. It is drawn when print() or a notebook shows the answer, so few programs load the code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..messages import CheckRequest


class Picture(NamedTuple):
    """The drawing that shows the answer to `request`: a CheckRequest, or a map with its fields."""

    request: CheckRequest | Mapping[str, Any] | None = None

    def text(self, answer: Any) -> str:
        """Return the drawing and the sentences of an answer as text for a terminal."""
        from .pictures import answer_as_text

        return answer_as_text(self.request, answer)

    def svg(self, answer: Any) -> str:
        """Return the drawing and the sentences of an answer as an SVG document."""
        from .pictures import answer_as_svg

        return answer_as_svg(self.request, answer)
