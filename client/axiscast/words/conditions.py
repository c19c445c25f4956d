"""The sentences about conditions on symbolic sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..messages.conditions import DimensionPlace, Equation, Side
from .names import UNNAMED, Names


def condition_text(
    equations: Sequence[Equation], names: Names = UNNAMED, size_names: Mapping[str, str] | None = None
) -> str:
    """Return a condition, which is met if one of the equations is true. `size_names` replaces the names of sizes."""
    texts = []
    for equation in equations:
        one, other = (_side_text(side, names, size_names or {}) for side in equation.divides or equation.equal or ())
        texts.append(f"{one} {'divides' if equation.divides else '=='} {other}")
    return " or ".join(texts)


def _side_text(side: Side, names: Names, size_names: Mapping[str, str]) -> str:
    if not isinstance(side, DimensionPlace):
        return size_names.get(str(side), str(side))
    if side.input is None:
        return f"{names.target}.shape[{side.axis}]" if names.target else f"{side.attribute}[{side.axis}]"
    return f"{names.array(side.input)}.shape[{side.axis}]"
