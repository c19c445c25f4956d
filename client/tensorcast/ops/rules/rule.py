"""What an op file says of each of its ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...plan.alignment import Alignment, Conflict
from ...plan.plan import Plan, Shape
from .. import Op

Outcome = Plan | Conflict


@dataclass(frozen=True)
class Rule:
    """One op: its rule, where the rule is written down, and the release that it was held against."""

    align: Callable[[Any, tuple[Shape, ...]], Alignment]
    """(op, input shapes) -> alignment; raises Incompatible for what the framework raises on."""
    link: str
    reference: tuple[str, str]
    """Package and version."""
    example: tuple[Op, tuple[Shape, ...]]
    raise_: Callable[[Plan], Op | None] = lambda plan: None
    """(plan of one output or more, from as many inputs as the op takes) -> the one op that could lower to it, or None;
    ops.raise_ holds it against the rule."""
    max_rank: int | None = None
    """The largest rank that the framework's own rule admits."""
    limited_rank: Callable[[Any, tuple[Shape, ...]], int] = lambda op, shapes: op.highest_rank(shapes)
    """The rank that `max_rank` is about."""
    release_differs: Callable[[Any, tuple[Shape, ...], Outcome], str | None] = lambda op, shapes, outcome: None
    """What a released version does otherwise with this request, as a sentence; None where it does the same."""
    warned: Callable[[Any], tuple[str, str] | None] = lambda op: None
    """The code and the sentence of a warning, where attributes are legal but often a mistake."""
    weighs_sizes: Callable[[Any], bool] = lambda op: False
    """Whether the rule reads sizes itself to tell which axis is to blame: of columns that is then found row by row."""
    output_dims: Callable[[Any], list[list[str]]] | None = None
    """The names of each output's dimensions, where the framework names them."""
