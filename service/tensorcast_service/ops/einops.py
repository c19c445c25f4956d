"""einops: repeat."""

from __future__ import annotations

from math import prod

from tensorcast.schema.ops import Op, einops
from tensorcast.schema.ops.einops import ELLIPSIS, MERGED_ELLIPSIS, Groups, is_fixed, length_of
from tensorcast.schema.problems import Problem
from tensorcast.schema.shapes import format_shape

from ..alignment import Alignment, Axis, Incompatible, Output, Relation, Term, is_known
from ..plan import Shape
from .rule import Outcome, Rule


def repeat(op: einops.repeat, shapes: tuple[Shape, ...]) -> Alignment:
    """Every name of the right is an axis; parentheses split the input's axes, and merge the output's."""
    (shape,) = shapes
    for name, length in op.axes_lengths.items():
        if length < 0:
            raise Incompatible("invalid-dimension", f"axes_lengths gives {name!r} the length {length}: 0 is the least.")
    left, right = _expanded(op, shape)
    sizes: dict[str, int] = {}
    given: list[Axis] = []  # the symbols that the pattern gives a length: on no output axis
    for axis, (group, size) in enumerate(zip(left, shape, strict=True)):
        split = _split(op, group, axis, size, shape)
        sizes |= split
        if not is_known(size) and is_known(*split.values()):
            given.append(Axis(Relation.EQUAL, (Term(0, axis, size), Term(None, None, prod(split.values())))))
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
    return Alignment(shapes, None, (*axes, *given), (output,))


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


def _split(op: einops.repeat, group: tuple[str, ...], axis: int, size: int, shape: Shape) -> dict[str, int]:
    """The length of each name that makes up one input axis."""
    where = f"axis {axis} of input 0 of shape {format_shape(shape)} has size {size}"
    known = {name: op.axes_lengths[name] for name in group if name in op.axes_lengths}
    product, rest = prod(known.values()), [name for name in group if name not in known]
    if not rest:
        if is_known(size) and product != size:
            told = " * ".join(f"{name}={length}" for name, length in known.items()) or "1"
            raise Incompatible("size-mismatch", f"The pattern wants {told} where {where}.", inputs=(0,), sizes=(size,))
        return known
    if len(group) == 1:
        return {rest[0]: size}
    if not is_known(size):
        raise Problem(
            "invalid-request",
            f"inputs/0/{axis}: a size that is not known can't be split: write an integer, or name the axis alone",
            pointer=f"/inputs/0/{axis}",
        )
    if product == 0 or size % product:
        raise Incompatible(
            "size-mismatch",
            f"The pattern splits ({' '.join(group)}) by {product}, which does not divide: {where}.",
            inputs=(0,),
            sizes=(size,),
        )
    return known | {rest[0]: size // product}


def _differs(op: einops.repeat, shapes: tuple[Shape, ...], outcome: Outcome) -> str | None:
    if any(length == -1 for length in op.axes_lengths.values()):
        return "einops 0.8 does not check a length of -1: NumPy then refuses it, and PyTorch keeps size 1."
    return None


RULES: dict[type[Op], Rule] = {
    einops.repeat: Rule(
        repeat,
        link="https://einops.rocks/api/repeat/",
        reference=("einops", "0.8.2"),
        example=(einops.repeat(pattern="h w -> (h 2) w c", axes_lengths={"c": 3}), ((2, 3),)),
        release_differs=_differs,
    ),
}
