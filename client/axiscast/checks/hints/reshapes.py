"""Changed requests in which one input has other axes of size 1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from ...ops import Op
from ...plan.plan import Shape
from .equation_hints import Candidate, reshape_candidate

Alternatives = Iterator[Iterable[Candidate]]
"""Lists of changed requests. From each list, only the first request that broadcasts becomes a hint."""


def squeezed_candidates(op: Op, shapes: tuple[Shape, ...], number: int, target: Shape | None) -> Iterator[Candidate]:
    """Yield requests in which an input lacks an axis of size 1, and has the shape of another input or of the target."""
    shape, others = shapes[number], {*shapes[:number], *shapes[number + 1 :], target}
    if op.names_axis(number, range(len(shape)), len(shape)):
        return
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1 and (changed := shape[:axis] + shape[axis + 1 :]) in others:
            yield reshape_candidate(op, shapes, number, changed)


def reshaped_candidates(op: Op, shapes: tuple[Shape, ...], numbers: Sequence[int]) -> Alternatives:
    """Yield requests in which an input in `numbers` has new axes of size 1, or lacks its leading axes of size 1."""
    ranks = [len(shape) for shape in shapes]
    room = max([*ranks, len(getattr(op, op.target) or ()) if op.target else 0])
    for number in sorted(numbers, key=ranks.__getitem__):
        shape = shapes[number]
        for rank in range(len(shape) + 1, room + 1 if shape else 0):
            yield _widened(op, shapes, number, rank)
        if shape[:1] == (1,) and not op.names_axis(number, range(len(shape)), len(shape)):
            ones = next((axis for axis, size in enumerate(shape) if size != 1), len(shape))
            yield (reshape_candidate(op, shapes, number, shape[count:]) for count in range(1, ones + 1))


def _widened(op: Op, shapes: tuple[Shape, ...], number: int, rank: int) -> Iterator[Candidate]:
    """Yield requests in which an input has new axes of size 1 up to this rank.

    A new axis before axis 0 changes nothing. The last axes stay last if they fit there, as those of a mask.
    """
    shape = shapes[number]
    for own in reversed([*combinations(range(1, rank), len(shape) - 1)]):
        sizes, places = [1] * rank, (0, *own)
        for new, size in zip(places, shape, strict=True):
            sizes[new] = size
        if op.named_axes and op.names_axis(
            number, [axis for axis, new in enumerate(places) if axis != new], len(shape)
        ):
            continue
        yield reshape_candidate(op, shapes, number, tuple(sizes))
