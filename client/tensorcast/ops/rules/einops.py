"""einops: repeat."""

from __future__ import annotations

from itertools import accumulate
from math import prod

from ...plan.alignment import Alignment, Axis, Incompatible, Output, Relation, Term, is_known, meet, mismatch
from ...plan.plan import Plan, Shape
from ...schema.shapes import format_shape
from .. import Op, einops
from ..einops import ELLIPSIS, MERGED_ELLIPSIS, Groups, is_fixed, length_of
from .rule import Outcome, Rule


def repeat(op: einops.repeat, shapes: tuple[Shape, ...]) -> Alignment:
    """Every name of the right is an axis; parentheses split the input's axes, and merge the output's."""
    (shape,) = shapes
    for name, length in op.axes_lengths.items():
        if length < 0:
            raise Incompatible("invalid-dimension", f"axes_lengths gives {name!r} the length {length}: 0 is the least.")
    left, right = _expanded(op, shape)
    sizes: dict[str, int] = {}
    asked: list[Axis] = []  # what the pattern asks of sizes that are not known here: on no output axis
    for axis, group in enumerate(left):
        lengths, wanted = _split(op, group, axis, shape)
        sizes |= lengths
        asked += wanted
    placed = tuple(name for group in left for name in group)
    names = [name for group in right for name in group]
    new = {name: length_of(name) if is_fixed(name) else op.axes_lengths.get(name, 0) for name in names}
    axes = tuple(
        Axis(Relation.EQUAL, (Term(0, placed.index(name), sizes[name]),))
        if name in sizes
        else Axis(Relation.EQUAL, (Term(None, None, new[name]),))
        for name in names
    )
    merges = tuple(len(group) for group in right)
    output = Output(
        0,
        tuple(names.index(name) for name in placed),
        range(len(axes)),
        placed_shape=tuple(sizes[name] for name in placed),
        merges=None if set(merges) <= {1} else merges,
    )
    return Alignment(shapes, None, (*axes, *asked), (output,))


def _expanded(op: einops.repeat, shape: Shape) -> tuple[Groups, Groups]:
    """Both sides, with ... replaced by as many names as the input has axes left for it."""
    left, right = op.sides()
    named = len(left) - ((ELLIPSIS,) in left)
    rest = len(shape) - named
    if rest < 0 or (rest > 0 and (ELLIPSIS,) not in left):
        raise Incompatible(
            "rank-mismatch",
            f"Input 0 of shape {format_shape(shape)} has {len(shape)} axes, and the left side of {op.pattern!r} "
            f"names {named}{' or more' if (ELLIPSIS,) in left else ''}.",
        )
    others = tuple(f"...{number}" for number in range(rest))

    def spelled(group: tuple[str, ...]) -> list[tuple[str, ...]]:
        if group == (ELLIPSIS,):
            return [(name,) for name in others]
        return [tuple(other for name in group for other in (others if name == MERGED_ELLIPSIS else (name,)))]

    return (
        tuple(group for whole in left for group in spelled(whole)),
        tuple(group for whole in right for group in spelled(whole)),
    )


def _split(op: einops.repeat, group: tuple[str, ...], axis: int, shape: Shape) -> tuple[dict[str, int], list[Axis]]:
    """The length of each name that makes up one input axis, and what that asks of a size that is not known here."""
    size = shape[axis]
    known = {name: op.axes_lengths[name] for name in group if name in op.axes_lengths}
    product, rest = prod(known.values()), [name for name in group if name not in known]
    if len(group) == len(rest) == 1:
        return {rest[0]: size}, []
    if rest:
        said = f"the pattern splits ({' '.join(group)}) by {product}, which does not divide it"
    else:
        said = f"the pattern wants {' * '.join(f'{name}={length}' for name, length in known.items()) or '1'}"
    asked = Axis(Relation.MULTIPLE if rest else Relation.EQUAL, (Term(0, axis, size), Term(None, None, product)), said)
    alone = Alignment((shape,), None, (asked,), ())
    if rest and product == 0:
        raise mismatch(alone, 0, asked, asked.terms)
    if is_known(size):
        meet(alone, 0, asked)
    if rest:
        known[rest[0]] = size // product
    elif len(group) == 1:
        known[group[0]] = size
    return known, [] if is_known(size) else [asked]


def _differs(op: einops.repeat, shapes: tuple[Shape, ...], outcome: Outcome) -> str | None:
    if any(length == -1 for length in op.axes_lengths.values()):
        return "einops 0.8 does not check a length of -1: NumPy then refuses it, and PyTorch keeps size 1."
    return None


_WRITTEN = 10**6
"""Lengths below this stand in the pattern itself, whose length is bounded; others in axes_lengths."""


def raise_repeat(plan: Plan) -> einops.repeat | None:
    """a0, a1, ... for the axes of the input, 1 for those to be stretched, and lengths for the new ones."""
    output = plan.outputs[0]
    groups = _grouped(output.input_shape, plan.input_shapes[output.input])
    if groups is None:
        return None
    lengths: dict[str, int] = {}
    left = []
    for group in groups:
        filling = [axis for axis in group if output.input_shape[axis] == output.output_shape[output.output_axes[axis]]]
        left.append(_together([f"a{axis}" for axis in filling]))
        # The length of one need not be said: of that of size 0, which divides nothing.
        told = sorted(filling, key=lambda axis: output.input_shape[axis] != 0)[1:]
        lengths |= {f"a{axis}": output.input_shape[axis] for axis in sorted(told)}
    names = {axis: f"a{number}" for number, axis in enumerate(output.output_axes) if axis not in output.broadcast_axes}
    right = []
    merges = (1,) * len(output.output_shape) if output.merges is None else output.merges
    for end, count in zip(accumulate(merges), merges, strict=True):
        for axis in range(end - count, end):
            size = output.output_shape[axis]
            if axis not in names and (1 if count == 1 else 2) <= size < _WRITTEN:
                names[axis] = str(size)
            elif axis not in names:
                names[axis] = f"n{axis}"
                lengths[names[axis]] = size
        right.append(_together([names[axis] for axis in range(end - count, end)]))
    return einops.repeat(pattern=f"{' '.join(left)} -> {' '.join(right)}".strip(), axes_lengths=lengths)


def _together(names: list[str]) -> str:
    """One axis of a pattern."""
    return " ".join(names or ["1"]) if len(names) < 2 else f"({' '.join(names)})"


def _grouped(factors: Shape, shape: Shape) -> list[range] | None:
    """For each axis of `shape` those of `factors`, in order, whose product it is; None where there is no such way."""
    if factors == shape:
        return [range(axis, axis + 1) for axis in range(len(shape))]
    # By the number of factors used: how many of them the axes so far may have, each with the place before.
    ways: list[dict[int, int]] = [{0: 0}]
    for size in shape:
        reached: dict[int, int] = {}
        for start in ways[-1]:
            for end in range(start, len(factors) + 1):
                if prod(factors[start:end]) == size:
                    reached.setdefault(end, start)
        ways.append(reached)
    groups, end = [], len(factors)
    for way in reversed(ways[1:]):
        if end not in way:
            return None
        groups.append(range(way[end], end))
        end = way[end]
    return groups[::-1] if end == 0 else None


RULES: dict[type[Op], Rule] = {
    einops.repeat: Rule(
        repeat,
        link="https://einops.rocks/api/repeat/",
        reference=("einops", "0.8.2"),
        example=(einops.repeat(pattern="h w -> (h 2) w c", axes_lengths={"c": 3}), ((2, 3),)),
        raise_=raise_repeat,
        release_differs=_differs,
    ),
}
