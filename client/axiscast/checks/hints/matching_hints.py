"""Hints for shapes that broadcast only for some sizes: changed requests in which each size meets an equal size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...ops import Op
from ...ops.einsum import LabeledProduct
from ...plan.alignment import Alignment, Term
from ...plan.plan import Shape
from ...wire.dimensions import Symbol
from .equation_hints import Candidate, Try
from .hints import Lower, find_hints, multiplied_candidates, reshaped_candidates, swapped_candidates


def find_matching_hints(op: Op, shapes: tuple[Shape, ...], lower: Lower) -> list[dict[str, Any]]:
    """Return changed requests that broadcast for all sizes, as plain values in the fields of messages.Hint.

    In each request, one input is reshaped or swaps two axes, and all of its sizes then meet equal sizes. If no other
    input contains these sizes, no request is returned.
    """

    def accepts(changed: Alignment) -> bool:
        if not op.has_common_output_axes:
            return True
        pairs = enumerate(zip(changed.input_shapes, shapes, strict=True))
        return all(_meets_equal_sizes(changed, number) for number, (new, old) in pairs if new != old)

    return find_hints(op, shapes, lower, _candidates, accepts)


def _candidates(
    op: Op, shapes: tuple[Shape, ...], target: Shape | None, fitting: Try, numbers: Sequence[int]
) -> Iterator[Candidate]:
    if isinstance(op, LabeledProduct):
        return
    if not op.has_common_output_axes:
        yield from multiplied_candidates(op, shapes, fitting)
        return
    yield from swapped_candidates(op, shapes, target, fitting, numbers)
    yield from reshaped_candidates(op, shapes, fitting, numbers)


def _meets_equal_sizes(alignment: Alignment, number: int) -> bool:
    """Return whether each size of an input that shares its axis with other sizes meets an equal size there."""
    return all(
        not others or _is_in(term.size, [other.size for other in others])
        for _, term, others in _terms_of(alignment, number)
    )


def _terms_of(alignment: Alignment, number: int) -> Iterator[tuple[int, Term, list[Term]]]:
    """Yield each axis on which an input has a size other than 1, the term of this size, and the other terms."""
    for axis, (_, terms, _) in enumerate(alignment.axes):
        for term in terms:
            if term.input == number and term.size != 1:
                yield axis, term, [other for other in terms if other is not term]


def _is_in(size: object, others: list[Any]) -> bool:
    """Return whether one of the other sizes certainly equals this size. A size without a name equals no other size."""
    return size in others and not (isinstance(size, Symbol) and size.name is None)
