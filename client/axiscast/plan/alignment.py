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
    """The reason why shapes do not broadcast. `code` is one of the codes in docs/wire.md.

    `sizes[i]` is the size of `inputs[i]`, which is None for the target. If the sizes do not meet on an output axis,
    `axis` is None and `axes[i]` is the axis of `inputs[i]`.
    """

    code: str
    message: str
    axis: int | None = None
    inputs: tuple[int | None, ...] = ()
    sizes: tuple[int | str, ...] = ()
    axes: tuple[int | None, ...] = ()


class ShapeMismatch(Exception):
    """These shapes do not broadcast under this op. A check reports it as its result, not as an error."""

    def __init__(self, code: str, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.conflict = Conflict(code, message, **fields)


class Term(NamedTuple):
    """One size on an output axis: the size of an axis of an input, or of the target if `input` is None."""

    input: int | None
    axis: int | None
    size: int


class Axis(NamedTuple):
    """One output axis and the sizes that meet there.

    If the relation has a target, the last term is the target or the divisor.
    """

    relation: Relation
    terms: tuple[Term, ...]
    requirement: str | None = None
    """A condition on axes of inputs in words, if this is not an output axis."""


class Output(NamedTuple):
    """One output: its input, the output axis of each input axis, and the axes of the alignment in its shape."""

    input: int
    output_axes: tuple[int, ...]
    axes: Sequence[int]
    split_shape: Shape | None = None
    """The shape of the input after the op splits its axes, or None if the op splits no axis."""
    merges: tuple[int, ...] | None = None
    """The number of axes that each axis of the output merges, or None if no axes are merged."""

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The axes of the alignment that each axis of the output merges."""
        counts = (1,) * len(self.axes) if self.merges is None else self.merges
        return tuple(tuple(self.axes[end - count : end]) for end, count in zip(accumulate(counts), counts, strict=True))


@dataclass(slots=True)
class Alignment:
    """The result of a framework's rule: which sizes meet on which axes, and what the outputs are."""

    input_shapes: tuple[Shape, ...]
    target: Shape | None
    axes: tuple[Axis, ...]
    outputs: tuple[Output, ...]
    refusal: ShapeMismatch | None = None
    """The ShapeMismatch to raise even if all sizes fit, or None."""
    result: tuple[int, ...] | None = None
    """The axes of the operation's result, such as a matrix product, if they differ from those of the outputs."""


def replace_fields(alignment: Alignment, **changes: Any) -> Alignment:
    """Return a copy of an alignment with these fields changed, as a plain Alignment."""
    kept = {field.name: getattr(alignment, field.name) for field in fields(Alignment)}
    return Alignment(**(kept | changes))


class RightAlignment(Alignment):
    """Inputs that are aligned on their last axes. With BROADCAST_TO, one input and a target.

    Most requests have such an alignment of integers that fit, and `broadcast_shape` resolves them in one loop. So
    `axes` and `outputs` are computed on first use: for a conflict, a diagram, symbolic sizes or columns.
    """

    relation: Relation
    effective_target: Shape | None
    """The target, in which the input's own size replaces each -1."""
    result = None
    nonunit_masks: list[int] | None = None
    """A bit mask for each input and for the target: the axes whose size is not 1. The lowest bit is the last axis.
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
    def axes(self) -> tuple[Axis, ...]:  # type: ignore[override]  # computed on first use
        rank = self._rank
        terms: list[list[Term]] = [[] for _ in range(rank)]
        for number, shape in enumerate(self._everyone):
            owner = number if number < len(self.input_shapes) else None
            for axis, size in enumerate(shape):
                terms[rank - len(shape) + axis].append(Term(owner, axis, size))
        return tuple([Axis(self.relation, tuple(meeting)) for meeting in terms])

    @cached_property
    def outputs(self) -> tuple[Output, ...]:  # type: ignore[override]  # computed on first use
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
        """Return the common shape of integer sizes, or None if a size is symbolic or does not fit.

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
                    if type(size) is not int or size < 0:  # law P1; right alignment guarantees the other laws
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
        """Return the plan of integer sizes, or None if a size is symbolic or does not fit."""
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
    """Return whether all these sizes are integers, not symbolic sizes or columns."""
    return all(type(size) is int for size in sizes)


def align_right(shapes: tuple[Shape, ...], target: Shape | None = None) -> Alignment:
    """Align shapes on their last axes, so that they broadcast to each other, and with a target if there is one."""
    return RightAlignment(shapes, Relation.BROADCAST, target)


def align_to_target(shape: Shape, target: Shape) -> Alignment:
    """Align one input with a target on their last axes. The target must not have a lower rank: see `check_rank`."""
    return RightAlignment((shape,), Relation.BROADCAST_TO, target)


def align_to_checked_target(shape: Shape, target: Shape, attribute: str, framework: str) -> Alignment:
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
                f"{format_shape(shape)} lacks: {keep} keeps the size of an existing axis. "
                "Write the size of a new axis.",
                axis=axis,
                inputs=(None,),
                sizes=(keep,),
            )
    kept = target[:new] + tuple(_kept(have, want, keep) for have, want in zip(shape, target[new:], strict=True))
    check_sizes(kept, attribute, framework)
    return RightAlignment((shape,), Relation.BROADCAST_TO, target, kept)


def align_padding(shape: Shape, target: Shape, attribute: str, framework: str) -> Alignment:
    """Align one input to a target of any rank, in which -1 keeps the input's size.

    The shorter of the two shapes gets leading axes of size 1. Raises ShapeMismatch for another negative size.
    """
    rank = max(len(shape), len(target))
    own, wanted = ((1,) * (rank - len(sizes)) + sizes for sizes in (shape, target))
    effective = tuple(map(_kept, own, wanted))
    check_sizes(effective, attribute, framework)
    return RightAlignment((shape,), Relation.BROADCAST_TO, target, effective)


def unchecked_sizes(shape: Shape, target: Shape, keep: int | None = -1) -> Shape:
    """Return the output's sizes in a framework that does not check negative sizes, or () if other sizes do not fit.

    A size `keep` keeps the input's size. If `keep` is None, no size does.
    """
    new = len(target) - len(shape)
    own = tuple(_kept(have, want, keep) for have, want in zip(shape, target[max(new, 0) :], strict=False))
    fits = new >= 0 and all(have in (1, want) for have, want in zip(shape, own, strict=True))
    return (*target[:new], *own) if fits else ()


def _kept(have: int, want: int, keep: int | None = -1) -> int:
    """Return the size of the target, or the input's size if the target has `keep`."""
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
    """Align axis `i` of input `number` with axis `output_axes[i]` of a target. The target's other axes are new.

    `shape_source` is the input whose shape is the target, or None if the target is an attribute.
    """
    input_axis = {axis: own for own, axis in enumerate(output_axes)}
    axes = []
    for axis, size in enumerate(target):
        terms: tuple[Term, ...] = (Term(shape_source, axis, size),)
        if (own := input_axis.get(axis)) is not None:
            terms = (Term(number, own, shapes[number][own]), *terms)
        axes.append(Axis(relation, terms))
    return Alignment(shapes, target, tuple(axes), (Output(number, output_axes, range(len(target))),))


def align_second_to_first(shapes: tuple[Shape, ...], start: int) -> Alignment:
    """Align two inputs, so that the second broadcasts to the first from its axis `start` on. Both are outputs."""
    whole, shape = shapes
    placed = align_mapped(
        shapes, whole, tuple(range(start, start + len(shape))), Relation.BROADCAST_TO, shape_source=0, number=1
    )
    every = tuple(range(len(whole)))
    return replace_fields(placed, outputs=(Output(0, every, every), *placed.outputs))


def check_rank(shape: Shape, target: Shape, framework: str, number: int = 0) -> None:
    """Raise ShapeMismatch (rank-mismatch) if a target has fewer axes than the input."""
    if len(shape) > len(target):
        raise ShapeMismatch(
            "rank-mismatch",
            f"Input {number} of shape {format_shape(shape)} has {len(shape)} axes, "
            f"more than the {len(target)} of the target {format_shape(target)}: "
            f"{framework} can add axes but not remove them.",
        )


def check_sizes(target: Shape, attribute: str, framework: str) -> None:
    """Raise ShapeMismatch (invalid-dimension) if an attribute has a negative size."""
    for axis, size in enumerate(target):
        if type(size) is int and size < 0:
            raise ShapeMismatch(
                "invalid-dimension",
                f"{attribute} {format_shape(target)} has {size} on axis {axis}: "
                f"{framework} does not accept a negative size here.",
                axis=axis,
                inputs=(None,),
                sizes=(size,),
            )


def check_mapping(mapping: Sequence[int], target: Shape, attribute: str) -> None:
    """Raise ShapeMismatch (axis-out-of-range, axis-repeated) if a mapping has an invalid axis or repeats an axis."""
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
                f"{attribute} {shorten(mapping)} names axis {axis} twice. Name each axis once.",
            )
