"""Vectorized checks: one op is checked many times. Each input is an (n, rank) array that contains n shapes.

Row `r` of this array is the input's shape in check `r`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..messages import CheckRequest
from ..messages.tensors import CheckColumnsRequest, CheckedColumns
from ..messages.validation import validate
from ..ops import Op, align
from ..plan.alignment import Alignment, ShapeMismatch
from ..plan.column import Column, IntegerSizeRequired
from ..plan.plan import Shape
from ..wire.cancellation import checkpoint
from ..wire.prescan import ReserveMemory, no_limit
from ..wire.problems import Problem
from ..wire.shapes import MAX_SIZE
from ..wire.tensors import Tensor
from ..wire.wording import count_of
from .estimates import BLOCK_ROWS, columns_memory_estimate
from .limits import MAX_COLUMN_SIZES, validate_request

Values = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


def answer_columns(request: CheckColumnsRequest, reserve: ReserveMemory = no_limit) -> CheckedColumns:
    """Return the results of all rows. Raises Problem if the arrays of shapes are invalid.

    The function `reserve` is called with the size of the inputs in bytes before the inputs are decoded, and with the
    size of the results before the results are allocated.
    """
    tensors, columns = request.inputs, _target_columns(request.op)
    reserve(sum(tensor.decoded_bytes() for tensor in (*tensors, *columns.values())))
    inputs = [_column_of(tensor, f"/inputs/{number}") for number, tensor in enumerate(tensors)]
    targets = {name: _column_of(tensor, _pointer(name)) for name, tensor in columns.items()}
    op = _representative_op(request.op, targets)
    op = op.model_copy(update={name: _columns(values) for name, values in targets.items()})
    return checked(op, inputs, targets, reserve)


def checked(
    op: Op, inputs: Sequence[Values], targets: Mapping[str, Values], reserve: ReserveMemory = no_limit
) -> CheckedColumns:
    """Return the results of all rows of one op. The attributes listed in `targets` are also columns.

    Raises Problem if the op compares integers, or if the columns have different lengths.
    """
    shapes = tuple(map(_columns, inputs))
    if op.needs_integers() or op.compares_sizes():
        raise _needs_rows(op)
    validate_request(op, shapes)
    count = _row_count([*inputs, *targets.values()])
    ranks = [values.shape[1] for values in (*inputs, *targets.values())]
    placed = op.broadcast_input_count(len(inputs))
    # A row has the sizes of its inputs, of the broadcast inputs and the output, and its conflict axis.
    MAX_COLUMN_SIZES.check(count * (sum(ranks) + (placed + 1) * op.highest_rank(shapes) + 1))
    conflict = None
    try:
        alignment = align(op, shapes)
    except IntegerSizeRequired:
        raise _needs_rows(op) from None
    except ShapeMismatch as incompatible:  # the shapes conflict in each row of the batch
        alignment, conflict = Alignment(shapes, None, (), ()), incompatible.conflict
    groups = _groups(alignment)
    output_columns = sum(map(len, dict.fromkeys(groups)))
    reserve(columns_memory_estimate(count, output_columns, sum(values.shape[1] for values in inputs)))
    compatible, shapes_of, conflict_axis = _resolve(alignment, groups, inputs, count)
    if conflict is not None:
        axis = conflict.axis
        conflict_axis[compatible] = -1 if axis is None else axis  # all rows except those with a negative size
        compatible[:] = False
    if not shapes_of:  # the shapes conflict in each row
        rank = op.highest_rank(shapes) if op.target is None else len(getattr(op, op.target) or ())
        reserve(8 * count * rank)
        shapes_of = [np.full((count, rank), -1)] * (placed + 1)
    return CheckedColumns(compatible, shapes_of[placed], shapes_of[:placed], conflict_axis)


def _groups(alignment: Alignment) -> list[tuple[tuple[int, ...], ...]]:
    """Return the alignment's axes that form each broadcast input, and those that form the first output."""
    groups = [output.groups for output in alignment.outputs]
    result = groups[:1] if alignment.result is None else [tuple((axis,) for axis in alignment.result)]
    return [*groups, *result]


def _row_count(columns: Sequence[Values]) -> int:
    """Return the number of rows that all columns have. Raises Problem if their numbers of rows differ."""
    counts = {len(values) for values in columns}
    if len(counts) > 1:
        several = " and ".join(map(str, sorted(counts)[:5]))
        detail = f"inputs: the columns have {several} rows, but all columns must have the same number of rows"
        raise Problem("invalid-request", detail, pointer="/inputs")
    return counts.pop()


def _needs_rows(op: Op) -> Problem:
    return Problem(
        "invalid-request",
        f"{op.name} does not accept columns, because its rule compares sizes: send each check as a row of a batch",
        pointer="/op",
    )


def _target_columns(op: Any) -> dict[str, Tensor]:
    """Return the op's attributes that are given as columns, converted to tensors."""
    plain = op.items() if isinstance(op, dict) else ()
    return {name: validate(Tensor, value) for name, value in plain if isinstance(value, dict) and "shape" in value}


def _pointer(name: str) -> str:
    return f"/op/{str(name)[:60]}"


def _representative_op(plain: Any, targets: dict[str, Values]) -> Op:
    """Return one op that stands for all rows. In attributes that are given as columns, the sizes are unknown."""
    question: dict[str, Any] = {"inputs": []}
    if plain is not None:
        unknown = {name: ["?"] * values.shape[1] for name, values in targets.items()}
        question["op"] = plain | unknown if isinstance(plain, dict) else plain
    op = validate(CheckRequest, question).op
    for name, _, _ in op.symbols():
        if name not in targets:
            detail = f"op/{name}: columns do not accept unknown sizes: send a batch of requests"
            raise Problem("invalid-request", detail, pointer=f"/op/{name}")
    return op


def _column_of(tensor: Tensor, pointer: str) -> Values:
    values = tensor.to_array(pointer)
    if values.ndim != 2 or values.dtype != np.int64:
        raise Problem(
            "invalid-tensor",
            f"{pointer[1:]}: must be an int64 tensor of shape (n, rank), with one shape in each row, not "
            f"{values.dtype} with {count_of(values.ndim, 'axis', 'axes')}",
            pointer=pointer,
        )
    return values


def _columns(values: Values) -> Shape:
    """Return a shape in which each size is a column. Broadcasting rules treat it like a shape of integers."""
    return tuple(map(Column, values.T))  # type: ignore[arg-type]


def _resolve(
    alignment: Alignment, groups: Sequence[tuple[tuple[int, ...], ...]], inputs: Sequence[Values], count: int
) -> tuple[Flags, list[Values], Values]:
    """Return whether each of `count` rows broadcasts, the shape for each entry of `groups`, and the conflict axes.

    An entry lists the axes that are merged into each axis of an output. A row with a negative size has no conflict
    axis.
    """
    found = {merged: np.empty((count, len(merged)), np.int64) for merged in groups}
    axes = {axis for output in alignment.outputs for axis in output.axes} or range(len(alignment.axes))
    shown = {axis for axis in axes if alignment.axes[axis].requirement is None}
    compatible, conflict_axis = np.empty(count, np.bool_), np.empty(count, np.int64)
    for start in range(0, count, BLOCK_ROWS):
        checkpoint()
        block = slice(start, min(start + BLOCK_ROWS, count))
        bad, negative, conflicts = compatible[block], np.zeros(block.stop - start, np.bool_), conflict_axis[block]
        bad[:], conflicts[:] = alignment.refusal is not None, -1  # `bad` is a view of the verdicts, inverted at the end
        for values in inputs:
            negative = _with_negative(negative, values[block])
        sizes: list[Any] = [1] * len(alignment.axes)
        for number, axis in reversed([*enumerate(alignment.axes)]):  # the lowest conflicting axis must be written last
            terms = [_rows_of_size(term.size, block) for term in axis.terms]
            if terms and axis.terms[-1].input is None:
                negative = _with_negative(negative, terms[-1])
            sizes[number], fits = axis.relation.common_size(terms)
            if fits is not True:
                conflicting = np.logical_not(fits)
                bad |= conflicting
                if number in shown:
                    np.copyto(conflicts, number, where=conflicting)
        if negative.any():
            bad |= negative
            conflicts[negative] = -1
        broken = bad.any()
        for merged, rows in found.items():
            for place, group in enumerate(merged):
                rows[block, place] = _merged_size([sizes[axis] for axis in group], bad, start)
            if broken:
                rows[block][bad] = -1
        np.logical_not(bad, out=bad)
    return compatible, [found[merged] for merged in groups], conflict_axis


def _rows_of_size(size: Any, block: slice) -> Any:
    """Return the sizes in these rows. If an integer exceeds int64, the result is an object array, which is exact."""
    if isinstance(size, Column):
        return np.ascontiguousarray(size.values[block])
    return size if size <= MAX_SIZE else np.array(size, object)


def _with_negative(negative: Flags, values: Any) -> Flags:
    """Return a copy of `negative` that is also True for each row in which a value is a negative size."""
    if not isinstance(values, np.ndarray) or not values.size or values.min() >= 0:
        return negative
    below = values < 0
    return negative | (below if below.ndim == 1 else below.any(axis=1))


def _merged_size(sizes: Sequence[Any], bad: Flags, start: int) -> Any:
    """Return the size of an axis that merges axes of these sizes, in the rows from `start` on.

    Raises Problem if the merged size exceeds int64 in a row that is not `bad`.
    """
    if len(sizes) == 1:
        return sizes[0]
    columns = np.broadcast_arrays(*sizes, bad)[:-1]  # integers become columns with as many rows as `bad`
    product = np.prod(columns, axis=0, dtype=np.int64)
    estimate = np.prod(columns, axis=0, dtype=np.float64)
    exceeds = estimate >= 2.0**63
    for row in np.flatnonzero(np.abs(estimate - 2.0**63) < 2.0**30):  # the rounded estimate may be on the wrong side
        exceeds[row] = prod(int(column[row]) for column in columns) > MAX_SIZE
    if (exceeds & ~bad).any():
        limit = f"row {start + (exceeds & ~bad).argmax()} has a merged axis with more than 2^63-1 elements"
        raise Problem("invalid-request", f"inputs: {limit}: check this row alone")
    return product
