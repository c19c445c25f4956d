"""Alignments of ops that repeat an input along its axes, so that its copies lie one after another, like tiles."""

from __future__ import annotations

from math import prod

from ..wire.shapes import MAX_SIZE
from .alignment import Alignment, Axis, Output, Term, are_integers, invalid_size
from .plan import Shape
from .relations import Relation


def align_copies(shape: Shape, counts: Shape, attribute: str, is_left_aligned: bool = False) -> Alignment:
    """Align one input with `counts`, which contains the number of copies along each axis.

    The shorter of `shape` and `counts` gets leading entries of 1. If `is_left_aligned` is true, these entries are added
    at the end. Each output axis merges an axis for the copies with the input's axis. Raises ShapeMismatch if a count is
    negative, or if a size of the output exceeds 2^63-1.
    """
    rank = max(len(shape), len(counts))
    new, uncounted = (0, 0) if is_left_aligned else (rank - len(shape), rank - len(counts))
    axes: list[Axis] = []
    output_axes: list[int] = []
    merges: list[int] = []
    for axis in range(rank):
        own = [Term(0, axis - new, shape[axis - new])] if 0 <= axis - new < len(shape) else []
        has_count = 0 <= axis - uncounted < len(counts)
        copies = [Term(None, axis - uncounted, counts[axis - uncounted])] if has_count else []
        _check(copies, own, axis, counts, attribute)
        first = len(axes)
        axes += _factors(copies, own)
        output_axes += [len(axes) - 1] * len(own)
        merges.append(len(axes) - first)
    output = Output(0, tuple(output_axes), range(len(axes)), merges=None if set(merges) <= {1} else tuple(merges))
    return Alignment((shape,), None, tuple(axes), (output,))


def _factors(copies: list[Term], own: list[Term]) -> list[Axis]:
    """Return the axes that are merged into one output axis: an axis for the copies, and then the input's axis.

    One axis is enough if there is one copy, or if the input's axis has size 1 and expands to the number of copies.
    """
    (count, size) = (terms[0].size if terms else 1 for terms in (copies, own))
    if are_integers(count) and count == 1:
        return [Axis(Relation.EQUAL, tuple(own or copies))]
    if are_integers(size) and size == 1:
        return [Axis(Relation.BROADCAST_TO, (*own, *copies))]
    return [Axis(Relation.EQUAL, tuple(copies)), Axis(Relation.EQUAL, tuple(own))]


def _check(copies: list[Term], own: list[Term], axis: int, counts: Shape, attribute: str) -> None:
    if not copies or not are_integers(count := copies[0].size):
        return
    if count < 0:
        raise invalid_size("negative-count", attribute, counts, count, axis)
    size = prod(term.size for term in own if are_integers(term.size))
    if count * size > MAX_SIZE:
        raise invalid_size("too-many-copies", attribute, counts, count, axis, size, count * size)


def align_tiles(shapes: tuple[Shape, ...], number: int, like: int) -> Alignment:
    """Align input `number` with the shape of input `like`. Each size of `like` must be a multiple of the input's size.

    Both shapes are left-aligned, and missing axes have size 1. The only output is made of copies of input `number`. If
    all sizes are integers that fit, an output axis merges its copies and the input's axis.
    """
    rank = max(len(shapes[number]), len(shapes[like]))
    whole = []
    for axis in range(rank):
        sizes = ((each, shapes[each][axis] if axis < len(shapes[each]) else 1) for each in (number, like))
        whole.append(Axis(Relation.TILES, tuple(Term(each, axis, size) for each, size in sizes)))
    every = tuple(range(len(shapes[number])))
    if not all(are_integers(*(term.size for term in axis.terms)) and _fits(axis) for axis in whole):
        return Alignment(shapes, None, tuple(whole), (Output(number, every, range(rank)),))
    axes = list(whole)
    output_axes: list[int] = []
    merges: list[int] = []
    for own_axis, (_, terms, _) in enumerate(whole):
        size, target = (term.size for term in terms)
        own = [terms[0]] if own_axis < len(every) else []
        copies = [Term(None, None, target // size if size else 1)]
        factors = _factors(copies, own)
        axes += factors
        output_axes += [len(axes) - rank - 1] * len(own)
        merges.append(len(factors))
    output = Output(
        number, tuple(output_axes), range(rank, len(axes)), merges=None if set(merges) <= {1} else tuple(merges)
    )
    return Alignment(shapes, None, tuple(axes), (output,))


def _fits(axis: Axis) -> bool:
    size, target = (term.size for term in axis.terms)
    fits: bool = axis.relation.holds(size, target)
    return fits
