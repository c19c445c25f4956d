"""Alignment: which sizes meet on which output axis, and by which relation. Its resolution is a plan.

A framework's rule aligns axes by ranks and attributes alone. relations.py states when the sizes on one axis fit. A size
may be an integer, a symbolic size or a Column, so a rule compares sizes only if `are_integers` is true for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from ..wire.shapes import format_shape, shorten
from .column import Column
from .plan import Placement, Plan, Shape
from .relations import Relation


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why shapes do not broadcast. `code` is one of the contract's; `inputs[i]` (None: the target) has `sizes[i]`.

    If the sizes do not meet on an output axis, `axis` is None and `axes[i]` is the axis of `inputs[i]`.
    """

    code: str
    message: str
    axis: int | None = None
    inputs: tuple[int | None, ...] = ()
    sizes: tuple[int | str, ...] = ()
    axes: tuple[int | None, ...] = ()


class ShapeMismatch(Exception):
    """These shapes do not broadcast under this op: an answer, not an error."""

    def __init__(self, code: str, message: str, **where: object) -> None:
        super().__init__(message)
        self.conflict = Conflict(code, message, **where)  # type: ignore[arg-type]


class Term(NamedTuple):
    """One size on an output axis: axis `axis` of input `input`, or of the target where `input` is None."""

    input: int | None
    axis: int | None
    size: int


class Axis(NamedTuple):
    """One output axis: the sizes that meet there. Under INTO and FROM_ONE the last term is the target's, under
    MULTIPLE the divisor."""

    relation: Relation
    terms: tuple[Term, ...]
    requirement: str | None = None
    """What an op asks of an axis of its input, in words; then this is no output axis."""


class Output(NamedTuple):
    """One output: the input that it reads, where each input axis lands, and which of the
    alignment's axes make up its shape."""

    input: int
    output_axes: tuple[int, ...]
    axes: Sequence[int]
    split_shape: Shape | None = None
    """The input's shape, where the op splits its axes."""
    merges: tuple[int, ...] | None = None

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The axes that each axis of the output is made of."""
        counts = (1,) * len(self.axes) if self.merges is None else self.merges
        return tuple(tuple(self.axes[end - count : end]) for end, count in zip(accumulate(counts), counts, strict=True))


@dataclass(slots=True)
class Alignment:
    """All that a rule says about a request."""

    input_shapes: tuple[Shape, ...]
    target: Shape | None
    axes: tuple[Axis, ...]
    outputs: tuple[Output, ...]
    refusal: ShapeMismatch | None = None
    """What is wrong even where all sizes agree."""
    result: tuple[int, ...] | None = None
    """The axes of the operation's result, if it is more than the inputs as they are broadcast: a product's."""


def changed(alignment: Alignment, **changes: Any) -> Alignment:
    """The same alignment, of whatever kind, but for these fields."""
    kept = {field.name: getattr(alignment, field.name) for field in fields(Alignment)}
    return Alignment(**(kept | changes))


class RightAlignment(Alignment):
    """Inputs that meet on their last axes; under INTO one input meets a target.

    Most requests are of this kind, and most hold integers that agree: one loop settles those. So `axes` and `outputs`
    are made only where somebody reads them: to say why sizes clash, to draw, to weigh symbols or columns.
    """

    relation: Relation
    effective_target: Shape | None
    """The target, in which the input's own size replaces each -1."""
    result = None
    nonunit_masks: list[int] | None = None
    """For each input, and for the target, a bit mask of the axes whose size is not 1. The lowest bit is the last axis.
    `broadcast_shape` sets it."""

    def __init__(
        self, shapes: tuple[Shape, ...], relation: Relation, target: Shape | None = None, effective: Shape | None = None
    ) -> None:
        self.input_shapes = shapes
        self.target = target
        self.refusal = None
        self.relation = relation
        self.effective_target = target if effective is None else effective

    @cached_property
    def axes(self) -> tuple[Axis, ...]:  # type: ignore[override]
        rank = self._rank
        terms: list[list[Term]] = [[] for _ in range(rank)]
        for number, shape in enumerate(self._everyone):
            owner = number if number < len(self.input_shapes) else None
            for axis, size in enumerate(shape):
                terms[rank - len(shape) + axis].append(Term(owner, axis, size))
        return tuple([Axis(self.relation, tuple(meeting)) for meeting in terms])

    @cached_property
    def outputs(self) -> tuple[Output, ...]:  # type: ignore[override]
        rank = self._rank
        return tuple(
            Output(number, tuple(range(rank - len(shape), rank)), range(rank))
            for number, shape in enumerate(self.input_shapes)
        )

    @property
    def _rank(self) -> int:
        return max(map(len, self._everyone))

    @property
    def _everyone(self) -> tuple[Shape, ...]:
        return self.input_shapes if self.effective_target is None else (*self.input_shapes, self.effective_target)

    def broadcast_shape(self) -> Shape | None:
        """Return the shape to which integers that fit broadcast. If any size is symbolic or does not fit, return None.

        This is the fast path of resolution.try_resolve for Relation.BROADCAST and BROADCAST_TO: the sizes that are not
        1 must be equal. It also sets `nonunit_masks`.
        """
        everyone = self.input_shapes if self.effective_target is None else (*self.input_shapes, self.effective_target)
        rank = max(map(len, everyone))
        sizes, masks = [1] * rank, []
        for shape in everyone:
            axis, mask = rank - len(shape), 0
            for size in shape:
                mask += mask
                if size != 1:
                    if type(size) is not int or size < 0:  # law P1; the others hold of whatever is right-aligned
                        return None
                    mask += 1
                    if sizes[axis] != size:
                        if sizes[axis] != 1:
                            return None
                        sizes[axis] = size
                axis += 1
            masks.append(mask)
        common = tuple(sizes)
        if self.relation is Relation.BROADCAST_TO and common != self.effective_target:
            return None
        self.nonunit_masks = masks
        return common

    def plan(self) -> Plan | None:
        """Return the plan of integers that fit. If any size is symbolic or does not fit, return None."""
        common = self.broadcast_shape()
        if common is None:
            return None
        rank = len(common)
        return Plan(
            self.input_shapes,
            tuple(
                [
                    Placement(number, shape, common, tuple(range(rank - len(shape), rank)))
                    for number, shape in enumerate(self.input_shapes)
                ]
            ),
        )


def are_integers(*sizes: int) -> bool:
    """Whether all these are integers, and none is a symbol."""
    return all(type(size) is int for size in sizes)


def align_right(shapes: tuple[Shape, ...], target: Shape | None = None) -> Alignment:
    """Shapes aligned on their last axes, each stretching to the others; and to a target, if there is one."""
    return RightAlignment(shapes, Relation.BROADCAST, target)


def align_to_target(shape: Shape, target: Shape) -> Alignment:
    """One input aligned on its last axes, stretching into a target of no lower rank (see `check_rank`)."""
    return RightAlignment((shape,), Relation.BROADCAST_TO, target)


def align_to_shape(shape: Shape, target: Shape, attribute: str, framework: str) -> Alignment:
    """Align one input to a target, by NumPy's one-way rule.

    Raises ShapeMismatch if the target has a lower rank than the input, or a negative size.
    """
    check_rank(shape, target, framework)
    check_sizes(target, attribute, framework)
    return align_to_target(shape, target)


def align_keeping(shape: Shape, target: Shape, attribute: str, framework: str, keep: int = -1) -> Alignment:
    """Align one input to a target in which `keep` (-1) keeps the input's size.

    Raises ShapeMismatch if the target has a lower rank, `keep` on a new axis, or another negative size.
    """
    check_rank(shape, target, framework)
    new = len(target) - len(shape)
    for axis, size in enumerate(target[:new]):
        if type(size) is int and size == keep:
            raise ShapeMismatch(
                "invalid-dimension",
                f"{attribute} {format_shape(target)} has {keep} on axis {axis}, which input 0 of shape "
                f"{format_shape(shape)} lacks: {keep} keeps a size that is there; write the size of a new axis.",
                axis=axis,
                inputs=(None,),
                sizes=(keep,),
            )
    kept = target[:new] + tuple(_kept(have, want, keep) for have, want in zip(shape, target[new:], strict=True))
    check_sizes(kept, attribute, framework)
    return RightAlignment((shape,), Relation.BROADCAST_TO, target, kept)


def align_padding(shape: Shape, target: Shape, attribute: str, framework: str) -> Alignment:
    """As align_keeping, of any two ranks: the shorter begins with axes of size 1, which a -1 keeps too."""
    rank = max(len(shape), len(target))
    own, wanted = ((1,) * (rank - len(sizes)) + sizes for sizes in (shape, target))
    reached = tuple(map(_kept, own, wanted))
    check_sizes(reached, attribute, framework)
    return RightAlignment((shape,), Relation.BROADCAST_TO, target, reached)


def unchecked_sizes(shape: Shape, target: Shape, keep: int | None = -1) -> Shape:
    """The sizes of `align_keeping` if a framework does not check negative ones; () if others do not fit. No size is
    kept if `keep` is None."""
    new = len(target) - len(shape)
    own = tuple(_kept(have, want, keep) for have, want in zip(shape, target[max(new, 0) :], strict=False))
    fits = new >= 0 and all(have in (1, want) for have, want in zip(shape, own, strict=True))
    return (*target[:new], *own) if fits else ()


def _kept(have: int, want: int, keep: int | None = -1) -> int:
    if isinstance(want, Column) and keep is not None:
        return want.keeping(have, keep)
    return have if want == keep else want


def align_mapped(
    shapes: tuple[Shape, ...],
    target: Shape,
    output_axes: tuple[int, ...],
    relation: Relation,
    shape_source: int | None = None,
    number: int = 0,
) -> Alignment:
    """Input `number`, whose axis `i` meets the target's axis `output_axes[i]`; the target's other axes are new.

    `shape_source` is the input whose shape the target is; None where it is an attribute.
    """
    source = {axis: own for own, axis in enumerate(output_axes)}
    axes = []
    for axis, size in enumerate(target):
        terms: tuple[Term, ...] = (Term(shape_source, axis, size),)
        if axis in source:
            terms = (Term(number, source[axis], shapes[number][source[axis]]), *terms)
        axes.append(Axis(relation, terms))
    return Alignment(shapes, target, tuple(axes), (Output(number, output_axes, range(len(target))),))


def align_second_to_first(shapes: tuple[Shape, ...], start: int) -> Alignment:
    """Two inputs of which the second stretches into the first, from its axis `start` on; both are outputs."""
    whole, shape = shapes
    placed = align_mapped(
        shapes, whole, tuple(range(start, start + len(shape))), Relation.BROADCAST_TO, shape_source=0, number=1
    )
    every = tuple(range(len(whole)))
    return changed(placed, outputs=(Output(0, every, every), *placed.outputs))


def check_rank(shape: Shape, target: Shape, framework: str, number: int = 0) -> None:
    """Raises ShapeMismatch (rank-mismatch) where a target has fewer axes than the input."""
    if len(shape) > len(target):
        raise ShapeMismatch(
            "rank-mismatch",
            f"Input {number} of shape {format_shape(shape)} has {len(shape)} axes, "
            f"more than the {len(target)} of the target {format_shape(target)}: "
            f"{framework} adds axes and never drops one.",
        )


def check_sizes(target: Shape, attribute: str, framework: str) -> None:
    """Raises ShapeMismatch (invalid-dimension) where an attribute holds a negative size."""
    for axis, size in enumerate(target):
        if type(size) is int and size < 0:
            raise ShapeMismatch(
                "invalid-dimension",
                f"{attribute} {format_shape(target)} has {size} on axis {axis}: "
                f"{framework} takes no negative size here.",
                axis=axis,
                inputs=(None,),
                sizes=(size,),
            )


def check_mapping(mapping: Sequence[int], target: Shape, attribute: str) -> None:
    """Raises ShapeMismatch (axis-out-of-range, axis-repeated) where a mapping names no axis, or one twice."""
    for axis in mapping:
        if not 0 <= axis < len(target):
            raise ShapeMismatch(
                "axis-out-of-range",
                f"{attribute} {shorten(mapping)} names axis {axis}, outside the target {format_shape(target)}: "
                + (f"its axes are 0 to {len(target) - 1}." if target else "a scalar has no axes."),
            )
    for position, axis in enumerate(mapping):
        if axis in mapping[:position]:
            raise ShapeMismatch(
                "axis-repeated",
                f"{attribute} {shorten(mapping)} names axis {axis} twice: each output axis takes one input axis.",
            )
