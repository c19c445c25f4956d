"""Settling: whether the integers that meet agree; the plan of an alignment, or the conflict of its sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ..wire.shapes import format_shape
from .alignment import Alignment, Axis, Incompatible, Relation, RightAlignment, Term, are_integers, changed
from .plan import Placement, Plan


def settle(alignment: Alignment) -> Plan:
    """The plan of an alignment whose sizes agree; raises Incompatible (size-mismatch, lowest axis; or its refusal)."""
    plan = settled(alignment)
    if plan is None:
        raise _disagreement(alignment)
    return plan


def settled(alignment: Alignment) -> Plan | None:
    """Return the plan of an alignment whose sizes agree; None where `settle` raises. A search tries many of them, and
    the sentence that says why one does not fit costs more than all before it."""
    if isinstance(alignment, RightAlignment):
        if (plan := alignment.settled()) is not None:
            return plan
        if alignment.clash() is not None:
            return None
    sizes: list[int] = []
    for axis in alignment.axes:
        if (size := _agreed(axis)) is None:
            return None
        sizes.append(size)
    if alignment.refusal is not None:
        return None
    whole = tuple(sizes)
    return Plan(
        alignment.input_shapes,
        tuple(
            [
                Placement(
                    output.input,
                    alignment.input_shapes[output.input] if output.placed_shape is None else output.placed_shape,
                    whole if len(output.axes) == len(sizes) else tuple(sizes[axis] for axis in output.axes),
                    output.output_axes,
                    output.merges,
                )
                for output in alignment.outputs
            ]
        ),
        None if alignment.result is None else tuple(sizes[axis] for axis in alignment.result),
    )


def _disagreement(alignment: Alignment) -> Incompatible:
    """Return why this alignment has no plan."""
    if isinstance(alignment, RightAlignment) and (lowest := alignment.clash()) is not None:
        axis = alignment.axis(lowest)
        return mismatch(alignment, lowest, axis, _to_blame(axis))
    for number, axis in enumerate(alignment.axes):
        if _agreed(axis) is None:
            return mismatch(alignment, number, axis, _to_blame(axis))
    assert alignment.refusal is not None
    return alignment.refusal


def meet(alignment: Alignment, number: int, axis: Axis) -> int:
    """The size of output axis `number`, at which integers meet; raises Incompatible (size-mismatch)."""
    size = _agreed(axis)
    if size is None:
        raise mismatch(alignment, number, axis, _to_blame(axis))
    return size


def _agreed(axis: Axis) -> int | None:
    """Return the size at which the integers of an axis meet; None if they do not agree."""
    relation, terms, _ = axis
    if len(terms) < 2:
        return terms[0].size if terms else 1
    size = terms[-1].size
    if relation is Relation.EQUAL:
        for term in terms:
            if term.size != size:
                return None
    elif relation is Relation.MUTUAL:
        for term in terms:
            if size == 1:
                size = term.size
            elif term.size != size and term.size != 1:
                return None
    else:
        others = [term.size for term in terms[:-1]]
        match relation:
            case Relation.INTO:
                fits = {1, size}.issuperset(others)
            case Relation.FROM_ONE:
                fits = {1}.issuperset(others)
            case Relation.MULTIPLE:
                fits = not any(own % size for own in others)
        return size if fits else None
    return size


def integer_axes(alignment: Alignment) -> Alignment:
    """The same, with nothing on the axes where a symbol meets: what can be settled at once."""
    axes = (
        axis if are_integers(*(term.size for term in axis.terms)) else Axis(axis.relation, ())
        for axis in alignment.axes
    )
    return changed(alignment, axes=tuple(axes))


def _to_blame(axis: Axis) -> list[Term]:
    """The terms that a conflict names: the first that does not agree, and the target's; where there is no target, the
    first term of each size."""
    *others, last = axis.terms
    if axis.relation is Relation.INTO:
        return [next(term for term in others if term.size not in (1, last.size)), last]
    if axis.relation is Relation.FROM_ONE:
        return [next(term for term in others if term.size != 1), last]
    first: dict[int, Term] = {}
    for term in axis.terms:
        if axis.relation is not Relation.MUTUAL or term.size != 1:
            first.setdefault(term.size, term)
    return list(first.values())


def mismatch(alignment: Alignment, number: int, axis: Axis, clash: Sequence[Term], because: str = "") -> Incompatible:
    """The conflict of these terms on output axis `number`; `because` is what else must be known to see it."""

    def owner(term: Term) -> str:
        if term.input is None:
            return "the op's attribute" if alignment.target is None else f"the target {format_shape(alignment.target)}"
        return f"input {term.input} of shape {format_shape(alignment.input_shapes[term.input])}"

    if axis.requirement is not None:
        own = [term for term in clash if term.input is not None]
        met = " and ".join(f"axis {term.axis} of {owner(term)} has size {term.size}" for term in own)
        return Incompatible(
            "size-mismatch",
            f"A{met[1:]}{because}: {axis.requirement}.",
            inputs=tuple(term.input for term in own),
            sizes=tuple(term.size for term in own),
            axes=tuple(term.axis for term in own),
        )
    shown = clash[:4]
    sizes = ", ".join([f"{owner(term)} has size {term.size}" for term in shown[:-1]])
    more = f" (and {len(clash) - len(shown)} more sizes)" if len(clash) > len(shown) else ""
    last = f"{owner(shown[-1])} has size {shown[-1].size}"
    return Incompatible(
        "size-mismatch",
        f"On output axis {number}, {sizes} but {last}{more}{because}: {axis.relation.value}.",
        axis=number,
        inputs=tuple([term.input for term in clash]),
        sizes=tuple([term.size for term in clash]),
    )
