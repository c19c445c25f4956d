"""A search for sizes that are within given bounds and divide each other as required.

A chain of sizes that divide each other can be long, and a size can have many divisors. Therefore, the search tries a
limited number of sizes. Beyond the limit, it assumes that the sizes exist. Every result for small sizes is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm

from ..wire.shapes import MAX_SIZE

MAX_TRIED_SIZES = 1000
"""The maximum number of sizes that one search tries. Trying all of them takes about half a millisecond."""


@dataclass(frozen=True, slots=True)
class Span:
    """The possible values of a size: a range, a number that divides the size, and whether the size can be 1."""

    low: int
    high: int
    divisor: int = 1
    is_not_one: bool = False

    def values(self) -> range:
        """Return the multiples of the divisor in the range. The value 1 is included even if the size cannot be 1."""
        return range(self.low + -self.low % self.divisor, self.high + 1, self.divisor)


Pair = tuple[int, int]
"""A pair of variables. The size of the second variable divides the size of the first variable."""


def is_satisfiable(pairs: Sequence[Pair], spans: Mapping[int, Span]) -> bool:
    """Return whether values exist within the spans so that the second size of each pair divides the first size."""
    zeros = _zeros(pairs, spans)
    pairs = [(whole, part) for whole, part in pairs if whole not in zeros]  # any size divides 0
    found = _narrowed(pairs, {number: spans[number] for pair in pairs for number in pair})
    if found is None:
        return False
    # A size without an upper bound can always be a common multiple of the sizes that must divide it.
    bounded = [(whole, part) for whole, part in pairs if found[whole].high < MAX_SIZE]
    return _search(bounded, {number: found[number] for pair in bounded for number in pair})


def _zeros(pairs: Sequence[Pair], spans: Mapping[int, Span]) -> set[int]:
    """Return the sizes that can be 0 together with all their multiples. The search tries no other values for them."""
    zeros = {number for number, span in spans.items() if span.low == 0}
    while wrong := {part for whole, part in pairs if part in zeros and whole not in zeros}:
        zeros -= wrong
    return zeros


def _narrowed(pairs: Sequence[Pair], spans: dict[int, Span]) -> dict[int, Span] | None:
    """Return the spans without values that are 0, too small or too large. Return None if a span is then empty."""
    found = {number: replace(span, low=max(span.low, 1)) for number, span in spans.items()}
    for _ in range(len(found)):  # the bounds of a size affect its multiples and divisors, in turn
        for whole, part in pairs:
            one, other = found[whole], found[part]
            not_one = one.is_not_one or other.is_not_one or other.low > 1
            found[whole] = Span(max(one.low, other.low), one.high, lcm(one.divisor, other.divisor), not_one)
            found[part] = replace(other, high=min(other.high, one.high))
    return found if all(span.low + -span.low % span.divisor <= span.high for span in found.values()) else None


def _search(pairs: Sequence[Pair], spans: Mapping[int, Span]) -> bool:
    """Try the values of each size in turn, starting with the size that has the fewest possible values."""
    order = sorted(spans, key=lambda number: spans[number].high - spans[number].low)
    chosen: dict[int, int] = {}
    tried = 0

    def fits() -> bool:
        known = ((chosen[whole], chosen[part]) for whole, part in pairs if whole in chosen and part in chosen)
        return all(whole % part == 0 for whole, part in known)

    def extends(depth: int) -> bool:
        nonlocal tried
        if depth == len(order):
            return True
        number = order[depth]
        for value in spans[number].values():
            tried += 1
            if tried > MAX_TRIED_SIZES:
                return True
            if value == 1 and spans[number].is_not_one:
                continue
            chosen[number] = value
            if fits() and extends(depth + 1):
                return True
        chosen.pop(number, None)
        return False

    return extends(0)
