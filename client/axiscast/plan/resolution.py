"""Resolution of integer sizes: an alignment whose sizes fit becomes a plan. Otherwise, the conflict is reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .alignment import Alignment, Axis, Input, ShapeMismatch, SizeOrName, Target, Term, are_integers, replace_fields
from .plan import Placement, Plan


def resolve(alignment: Alignment) -> Plan:
    """Return the plan for an alignment.

    Raises ShapeMismatch (size-mismatch) for the first output axis whose sizes do not fit. If all sizes fit but the
    alignment has a refusal, raises this refusal.
    """
    sizes = [check_axis(alignment, number, axis) for number, axis in enumerate(alignment.axes)]
    if alignment.refusal is not None:
        raise alignment.refusal
    return _plan(alignment, sizes)


def try_resolve(alignment: Alignment) -> Plan | None:
    """Return the plan for an alignment, or None if `resolve` would raise an exception."""
    sizes = [_common_size(axis) for axis in alignment.axes]
    return None if None in sizes or alignment.refusal is not None else _plan(alignment, sizes)


def _plan(alignment: Alignment, sizes: Sequence[Any]) -> Plan:
    """Return the plan for an alignment, given the size of each axis."""
    whole, every, placements = tuple(sizes), range(len(sizes)), []
    for number, output_axes, axes, split_shape, merges in alignment.outputs:
        input_shape = alignment.input_shapes[number] if split_shape is None else split_shape
        output_shape = whole if axes == every else tuple([sizes[axis] for axis in axes])
        placements.append(Placement(number, input_shape, output_shape, output_axes, merges))
    result = None if alignment.result is None else tuple(sizes[axis] for axis in alignment.result)
    return Plan(alignment.input_shapes, tuple(placements), result)


def check_axis(alignment: Alignment, number: int, axis: Axis) -> int:
    """Return the size of output axis `number`. All sizes must be integers. Raises ShapeMismatch (size-mismatch)."""
    size = _common_size(axis)
    if size is None:
        raise mismatch(alignment, number, axis, _conflicting_terms(axis))
    return size


def check_integers(alignment: Alignment, number: int, axis: Axis) -> None:
    """Raise ShapeMismatch (size-mismatch) if an axis has integers that do not fit, whatever its symbolic sizes are."""
    if (integers := _integers_of(axis)) is not None:
        check_axis(alignment, number, integers)


def has_integer_mismatch(alignment: Alignment) -> bool:
    """Return whether the integers on some axis do not fit, whatever values the symbolic sizes have."""
    return any((integers := _integers_of(axis)) and _common_size(integers) is None for axis in alignment.axes)


def _integers_of(axis: Axis) -> Axis | None:
    """Return the axis without its symbolic sizes, or None if nothing can be compared because the target is symbolic."""
    relation, terms, requirement = axis
    if relation.has_target and not (terms and are_integers(terms[-1].size)):
        return None
    return Axis(relation, tuple(term for term in terms if are_integers(term.size)), requirement)


def _common_size(axis: Axis) -> int | None:
    """Return the size of an axis that has only integers, or None if these integers do not fit."""
    size, fits = axis.relation.common_size([term.size for term in axis.terms])
    return size if fits else None


def integer_axes(alignment: Alignment) -> Alignment:
    """Return a copy of an alignment in which every axis with a symbolic size has no sizes."""
    known = ((axis, are_integers(*(term.size for term in axis.terms))) for axis in alignment.axes)
    axes = tuple(axis if is_known else Axis(axis.relation, ()) for axis, is_known in known)
    return replace_fields(alignment, axes=axes)


def _conflicting_terms(axis: Axis) -> list[Term]:
    """Return the terms that a conflict names: the first term that does not fit, and the target.

    If the relation has no target, return the first term for each distinct size. BROADCAST omits size 1, which always
    fits.
    """
    relation, (*others, target) = axis.relation, axis.terms
    if relation.has_target:
        return [next(term for term in others if not relation.holds(term.size, target.size)), target]
    first: dict[int, Term] = {}
    for term in axis.terms:
        if term.size != 1 or not relation.is_two_sided:
            first.setdefault(term.size, term)
    return list(first.values())


def mismatch(
    alignment: Alignment,
    number: int,
    axis: Axis,
    terms: Sequence[Term],
    known: Sequence[tuple[str, SizeOrName, int]] = (),
) -> ShapeMismatch:
    """Return the error for terms that do not fit on output axis `number`.

    `known` is what is known about the symbolic sizes that cause the mismatch, as in Conflict.
    """
    place: dict[str, object] = {"axis": number}
    if axis.requirement is not None:
        terms = [term for term in terms if term.input is not None]
        place = {"axes": tuple([term.axis for term in terms])}
    return ShapeMismatch(
        "size-mismatch",
        *(axis.requirement or (axis.relation,)),
        inputs=tuple([term.input for term in terms]),
        sizes=tuple([term.size for term in terms]),
        owners=tuple([_owner(alignment, term) for term in terms]),
        known=tuple(known),
        **place,
    )


def _owner(alignment: Alignment, term: Term) -> Input | Target:
    """Return the input or the target to which a size belongs."""
    if term.input is None:
        return Target(alignment.target)
    return Input(term.input, alignment.input_shapes[term.input])
