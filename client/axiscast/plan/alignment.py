"""Alignments, which state the sizes that are combined on each output axis, and the relation between these sizes.

A framework's rule aligns axes based only on ranks and attributes. relations.py defines when the sizes on one axis fit.
If all sizes fit, resolution.py converts the alignment to a plan. A size may be an integer, a symbolic size or a Column.
Therefore, a rule compares sizes only if `are_integers` returns True for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from .column import Column
from .plan import Shape
from .relations import Relation

SizeOrName = int | str
Reason = tuple[Any, ...]
"""A key of the sentences in words/conflicts.py or words/refusals.py, and the values in the sentence."""


class Input(NamedTuple):
    """An input in a reason. The package `words` writes its name in the reader's code."""

    number: int
    shape: Shape


class Target(NamedTuple):
    """The target shape in a reason, or None for another attribute of the op."""

    shape: Shape | None


class Count(NamedTuple):
    """The number of axes or entries that an op needs: from `low` to `high`, or without a limit if `high` is None."""

    low: int
    high: int | None = None


class Conflict(NamedTuple):
    """The reason why shapes do not broadcast. `code` is one of the codes in docs/wire.md.

    `sizes[i]` is the size from `inputs[i]`, or from the target if `inputs[i]` is None. If the sizes are not combined on
    an output axis, `axis` is None and `axes[i]` is the axis in `inputs[i]`.
    """

    code: str
    reason: Reason = ()
    """Why the op refuses the shapes. For a size-mismatch, the condition that the sizes do not meet."""
    axis: int | None = None
    inputs: tuple[int | None, ...] = ()
    sizes: tuple[int | str, ...] = ()
    axes: tuple[int | None, ...] = ()
    owners: tuple[Input | Target, ...] = ()
    """For a size-mismatch, the input or target of each of `sizes`."""
    known: tuple[tuple[str, SizeOrName, int], ...] = ()
    """For a size-mismatch, what is known about symbolic sizes: a name, its value or range, and its divisor."""


class ShapeMismatch(Exception):
    """The shapes do not broadcast under this op. A check reports this exception as its result, not as an error."""

    def __init__(self, code: str, *reason: Any, **fields: Any) -> None:
        super().__init__(code)
        self.conflict = Conflict(code, reason, **fields)


class Term(NamedTuple):
    """One size on an output axis. It is the size of an input's axis, or a size in the target if `input` is None."""

    input: int | None
    axis: int | None
    size: int


class Axis(NamedTuple):
    """One output axis and the sizes that are combined on this axis.

    If the relation has a target, the last term is the target's size or the divisor.
    """

    relation: Relation
    terms: tuple[Term, ...]
    requirement: Reason | None = None
    """The reason why the sizes must fit, for a condition on input axes. None if this object is an output axis."""


class Output(NamedTuple):
    """An output: its input, the output axis for each input axis, and the alignment's axes that form its shape."""

    input: int
    output_axes: tuple[int, ...]
    axes: Sequence[int]
    split_shape: Shape | None = None
    """The input's shape after the op splits axes, or None if the op splits no axis."""
    merges: tuple[int, ...] | None = None
    """The number of merged axes for each output axis, or None if no axes are merged."""

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The alignment's axes that are merged into each output axis."""
        counts = (1,) * len(self.axes) if self.merges is None else self.merges
        return tuple(tuple(self.axes[end - count : end]) for end, count in zip(accumulate(counts), counts, strict=True))


@dataclass(slots=True)
class Alignment:
    """The result of a framework's rule: the sizes that are combined on each axis, and the outputs."""

    input_shapes: tuple[Shape, ...]
    target: Shape | None
    axes: tuple[Axis, ...]
    outputs: tuple[Output, ...]
    refusal: ShapeMismatch | None = None
    """The ShapeMismatch that is raised even if all sizes fit, or None."""
    result: tuple[int, ...] | None = None
    """The axes of the operation's result, such as a matrix product, if they differ from the axes of the outputs."""
    labels: tuple[str, ...] | None = None
    """The label of each axis in an einsum, or an empty string if the axis has no label."""


def replace_fields(alignment: Alignment, **changes: Any) -> Alignment:
    """Return a copy of an alignment with some fields replaced. The copy has the type Alignment."""
    kept = {field.name: getattr(alignment, field.name) for field in fields(Alignment)}
    return Alignment(**(kept | changes))


class RightAlignment(Alignment):
    """Inputs that are aligned on their last axes. The relation BROADCAST_TO has one input and a target.

    Most requests have such an alignment, with integers that fit. `broadcast_shape` resolves these requests in one loop.
    `axes` and `outputs` are computed on first use, because only conflicts, diagrams, symbolic sizes and columns need
    them.
    """

    relation: Relation
    effective_target: Shape | None
    """The target shape in which each -1 is replaced by the input's size."""
    result = None
    labels = None
    nonunit_masks: tuple[int, ...] = ()
    """A bit mask for each input and for the target. A bit is 1 if the size of the axis is not 1.

    The lowest bit represents the last axis. `broadcast_shape` sets this attribute.
    """

    def __init__(
        self, shapes: tuple[Shape, ...], relation: Relation, target: Shape | None = None, effective: Shape | None = None
    ) -> None:
        self.input_shapes = shapes
        self.target = target
        self.refusal = None
        self.relation = relation
        self.effective_target = target if effective is None else effective
        self._everyone = shapes if self.effective_target is None else (*shapes, self.effective_target)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:  # type: ignore[override]  # computed on first use
        everyone, count, axes = self._everyone, len(self.input_shapes), []
        for end in range(-max(map(len, everyone)), 0):
            terms = []
            for number, shape in enumerate(everyone):
                axis = len(shape) + end
                if axis >= 0:
                    terms.append(Term(number if number < count else None, axis, shape[end]))
            axes.append(Axis(self.relation, tuple(terms)))
        return tuple(axes)

    @cached_property
    def outputs(self) -> tuple[Output, ...]:  # type: ignore[override]  # computed on first use
        rank, shapes = max(map(len, self._everyone)), enumerate(self.input_shapes)
        return tuple(Output(number, tuple(range(rank - len(shape), rank)), range(rank)) for number, shape in shapes)

    def broadcast_shape(self) -> Shape | None:
        """Return the common shape if all sizes are integers and broadcast. Otherwise, return None.

        This method is the fast path of resolution.try_resolve for Relation.BROADCAST and BROADCAST_TO: all sizes other
        than 1 must be equal. The method also sets `nonunit_masks`.
        """
        everyone = self._everyone
        rank = max(map(len, everyone))
        sizes, masks = [1] * rank, []
        for shape in everyone:
            axis, mask = rank - len(shape), 0
            for size in shape:
                mask += mask
                if size != 1:
                    if type(size) is not int or size < 0:  # law P1 in plan.py; the other laws hold here
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
        self.nonunit_masks = tuple(masks)
        return common


def are_integers(*sizes: int) -> bool:
    """Return whether all these sizes are integers, not symbolic sizes or columns."""
    return all(type(size) is int for size in sizes)


def align_right(shapes: tuple[Shape, ...], target: Shape | None = None) -> Alignment:
    """Align shapes, and the target if one is given, on their last axes. All shapes broadcast against each other."""
    return RightAlignment(shapes, Relation.BROADCAST, target)


def align_axes(
    shapes: tuple[Shape, ...], relation: Relation, output_axes: Sequence[Sequence[int]], rank: int
) -> Alignment:
    """Align axis `i` of input `number` with output axis `output_axes[number][i]`. Every input is an output."""
    terms: list[list[Term]] = [[] for _ in range(rank)]
    for number, (shape, mapping) in enumerate(zip(shapes, output_axes, strict=True)):
        for axis, place in enumerate(mapping):
            terms[place].append(Term(number, axis, shape[axis]))
    outputs = tuple(Output(number, tuple(mapping), range(rank)) for number, mapping in enumerate(output_axes))
    return Alignment(shapes, None, tuple(Axis(relation, tuple(meeting)) for meeting in terms), outputs)


def align_left(shapes: tuple[Shape, ...], min_rank: int = 0) -> Alignment:
    """Align shapes on their first axes, to at least `min_rank` axes. All shapes broadcast against each other."""
    ranks = [len(shape) for shape in shapes]
    return align_axes(shapes, Relation.BROADCAST, [range(rank) for rank in ranks], max(min_rank, *ranks))


def align_to_target(shape: Shape, target: Shape) -> Alignment:
    """Align one input with a target on their last axes.

    The target must have at least as many axes as the input (see `check_rank`).
    """
    return RightAlignment((shape,), Relation.BROADCAST_TO, target)


def align_to_checked_target(shape: Shape, target: Shape, attribute: str) -> Alignment:
    """Align one input to a target by NumPy's one-way rule: only the input expands.

    Raises ShapeMismatch if the target's rank is lower than the input's, or if the target has a negative size.
    """
    check_rank(shape, target)
    check_sizes(target, attribute)
    return align_to_target(shape, target)


def align_keeping(shape: Shape, target: Shape, attribute: str, keep: int = -1) -> Alignment:
    """Align one input to a target in which the value `keep` (-1) keeps the input's size.

    Raises ShapeMismatch if the target's rank is lower than the input's. The same error is raised for `keep` on a new
    axis and for any other negative size.
    """
    check_rank(shape, target)
    new = len(target) - len(shape)
    for axis, size in enumerate(target[:new]):
        if type(size) is int and size == keep:
            raise invalid_size("kept-new-axis", attribute, target, keep, axis, Input(0, shape))
    kept = target[:new] + tuple(_kept(have, want, keep) for have, want in zip(shape, target[new:], strict=True))
    check_sizes(kept, attribute)
    return RightAlignment((shape,), Relation.BROADCAST_TO, target, kept)


def align_padding(shape: Shape, target: Shape, attribute: str) -> Alignment:
    """Align one input to a target of any rank, in which -1 keeps the input's size.

    The shorter of the two shapes gets leading axes of size 1. Raises ShapeMismatch for any other negative size.
    """
    rank = max(len(shape), len(target))
    own, wanted = ((1,) * (rank - len(sizes)) + sizes for sizes in (shape, target))
    effective = tuple(map(_kept, own, wanted))
    check_sizes(effective, attribute)
    return RightAlignment((shape,), Relation.BROADCAST_TO, target, effective)


def unchecked_sizes(shape: Shape, target: Shape, keep: int | None = -1) -> Shape:
    """Return the output shape in a framework that does not check for negative sizes, or () if the sizes do not fit.

    The value `keep` in the target keeps the input's size. If `keep` is None, no value keeps the input's size.
    """
    new = len(target) - len(shape)
    own = tuple(_kept(have, want, keep) for have, want in zip(shape, target[max(new, 0) :], strict=False))
    fits = new >= 0 and all(have in (1, want) for have, want in zip(shape, own, strict=True))
    return (*target[:new], *own) if fits else ()


def _kept(have: int, want: int, keep: int | None = -1) -> int:
    """Return the target's size, or the input's size if the target's size is `keep`."""
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
    """Align axis `i` of input `number` with axis `output_axes[i]` of a target. All other target axes are new.

    `shape_source` is the index of the input whose shape is the target, or None if the target is an attribute.
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
    """Align two inputs so that the second broadcasts to the first, starting at axis `start`.

    Both inputs are outputs.
    """
    whole, shape = shapes
    axes = tuple(range(start, start + len(shape)))
    placed = align_mapped(shapes, whole, axes, Relation.BROADCAST_TO, shape_source=0, number=1)
    every = tuple(range(len(whole)))
    return replace_fields(placed, outputs=(Output(0, every, every), *placed.outputs))


def invalid_size(reason: str, attribute: str, sizes: Shape, size: int, axis: int, *facts: Any) -> ShapeMismatch:
    """Return the conflict to report if an op refuses the size on an axis of an attribute."""
    place: dict[str, Any] = {"axis": axis, "inputs": (None,), "sizes": (size,)}
    return ShapeMismatch("invalid-dimension", reason, attribute, sizes, size, axis, *facts, **place)


def check_rank(shape: Shape, target: Shape, number: int = 0) -> None:
    """Raise ShapeMismatch (rank-mismatch) if a target has fewer axes than the input."""
    if len(shape) > len(target):
        raise ShapeMismatch("rank-mismatch", "removed-axes", Input(number, shape), Target(target))


def wrong_rank(number: int, shape: Shape, low: int, high: int | None = None) -> ShapeMismatch:
    """Return the conflict to report if an input does not have the number of axes that the op needs."""
    return ShapeMismatch("rank-mismatch", "own-rank", Input(number, shape), Count(low, high))


def check_equal_ranks(one: Input, other: Input | Target, advice: str) -> None:
    """Raise ShapeMismatch (rank-mismatch) if two shapes have different ranks. `advice` says how to change them."""
    if len(one.shape) != len(other.shape or ()):
        raise ShapeMismatch("rank-mismatch", "unequal-ranks", one, other, advice)


def check_sizes(target: Shape, attribute: str) -> None:
    """Raise ShapeMismatch (invalid-dimension) if a shape attribute has a negative size."""
    for axis, size in enumerate(target):
        if type(size) is int and size < 0:
            raise invalid_size("negative-size", attribute, target, size, axis)


def check_entries(entries: Sequence[object], owner: Input, attribute: str) -> None:
    """Raise ShapeMismatch (axes-count) if an attribute does not have an entry for each axis of an input."""
    if len(entries) != len(owner.shape):
        needed = Count(len(owner.shape), len(owner.shape))
        raise ShapeMismatch("axes-count", "entries", attribute, entries, owner, needed)


def check_ascending(mapping: Sequence[int], attribute: str) -> None:
    """Raise ShapeMismatch (axes-not-sorted) if the axes in a mapping are not in ascending order."""
    if list(mapping) != sorted(mapping):
        raise ShapeMismatch("axes-not-sorted", "unsorted", attribute, mapping)


def check_mapping(mapping: Sequence[int], target: Shape, attribute: str) -> None:
    """Raise ShapeMismatch (axis-out-of-range, axis-repeated) if a mapping has an invalid axis or repeats an axis."""
    for axis in mapping:
        if not 0 <= axis < len(target):
            raise ShapeMismatch("axis-out-of-range", "outside", attribute, mapping, axis, Target(target))
    for position, axis in enumerate(mapping):
        if axis in mapping[:position]:
            raise ShapeMismatch("axis-repeated", "repeated-axis", attribute, mapping, axis)
