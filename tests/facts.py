"""Short notations for the facts of an answer, so that tests assert facts and not sentences."""

from __future__ import annotations

from collections.abc import Sequence

from axiscast.messages.conditions import Condition, DimensionPlace, Side


def side_of(side: Side) -> str:
    """Return a size, a name, or the location of a size: inputs[0][1] or shape[1]."""
    if not isinstance(side, DimensionPlace):
        return str(side)
    return f"{side.attribute or f'inputs[{side.input}]'}[{side.axis}]"


def formulas(conditions: Sequence[Condition]) -> list[str]:
    """Return the equations of each condition, such as "N == M or M == 1" or "3 divides N"."""
    found = []
    for condition in conditions:
        texts = []
        for equation in condition.any:
            one, other = map(side_of, equation.equal or equation.divides or ())
            texts.append(f"{one} == {other}" if equation.equal else f"{one} divides {other}")
        found.append(" or ".join(texts))
    return found
