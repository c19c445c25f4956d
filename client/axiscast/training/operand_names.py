"""The names of operands in the user's source code, for the findings of a watch."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType

from ..explanation.failing_expression import expression_at
from ..words.names import as_primary


def operand_names(frame: FrameType, shapes: Sequence[tuple[int, ...]]) -> list[str]:
    """Return the source code of the operands of the call that a frame is executing, or "" for each unknown name.

    At most one of the operands may have an unknown shape, so that their order is known.
    """
    unknown = [""] * len(shapes)
    try:
        expression = expression_at(frame)
    except RecursionError:  # the expression is nested too deeply
        return unknown
    if expression is None or len(expression.operands) != len(shapes):
        return unknown
    known = [
        operand.array.shape == shape
        for operand, shape in zip(expression.operands, shapes, strict=True)
        if operand.array
    ]
    if not all(known) or len(known) < len(shapes) - 1:
        return unknown
    return [as_primary(name) for name, _ in expression.operands]
