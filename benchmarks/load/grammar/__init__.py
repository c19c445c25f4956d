"""Random requests that are short but may have long responses, and mutations of requests.

There is a function for each kind of request, which takes a size. All depend on a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .case import Case, Rng
from .checks import (
    attributes,
    chains,
    columns,
    comparisons,
    divides,
    einops,
    faults,
    hinted,
    integers,
    rows,
    symbols,
    targets,
    translations,
    xarray,
)
from .first import known, large
from .mutations import mutated
from .tensors import answers, gradients, lists, outputs, overlaps, permuted, streams, windows
from .wire import chunked, heads, links, packed, pipelined, text

__all__ = ["KINDS", "Case", "draw", "known", "large", "mutated"]

Kind = Callable[[Rng, int], Case]
_KINDS: list[Kind] = [
    symbols, chains, divides, targets, hinted, integers, einops, xarray, attributes, faults, rows, columns,
    overlaps, permuted, streams, outputs, lists, answers, windows, gradients, translations, comparisons, text,
    packed, links, heads, chunked, pipelined,
]  # fmt: skip
KINDS = {make.__name__: make for make in _KINDS}
"""By name, in the order in which a seed draws them."""


def draw(rng: Rng, most: int, kinds: list[str] | None = None) -> Case:
    """A request of one of the kinds, of up to `most` bytes."""
    for _ in range(50):
        size = int(most ** rng.uniform(0.55, 1)) if rng.random() < 0.6 else most
        try:
            case = KINDS[rng.choice(kinds or list(KINDS))](rng, max(size, 200))
        except OverflowError:  # MessagePack has no such integers
            continue
        if case.nbytes <= most:
            return case if case.nbytes < 2**20 else replace(case, value=None)  # some hundred MiB of objects
    return next(known())
