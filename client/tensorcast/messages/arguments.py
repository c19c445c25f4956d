"""What a caller in Python may write for an op, a shape or a size, as the plain values of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex

from ..ops import Op
from ..schema.shapes import MAX_SIZE
from . import CheckRequest

Shape = Sequence[SupportsIndex] | SupportsIndex
"""Sizes; one integer stands for one axis, as in NumPy."""
SymbolicShape = Sequence[SupportsIndex | str] | SupportsIndex


def check_question(
    op: Op | str,
    shapes: Sequence[SymbolicShape],
    dtype: str | None = None,
    explain: bool = False,
    assume: Mapping[str, int | str] | None = None,
) -> dict[str, Any]:
    """The plain value of a CheckRequest. Raises TypeError for what is no op or no size, ValueError for a size beyond 63
    bits."""
    question: dict[str, Any] = {"op": plain_op(op), "inputs": list(map(dimensions, shapes))}
    if assume:
        question["assume"] = _assumptions(assume)
    if dtype is not None:
        question["dtype"] = dtype
    if explain:
        question["explain"] = True
    return question


def compare_question(
    shapes: Sequence[SymbolicShape],
    target: SymbolicShape | None = None,
    assume: Mapping[str, int | str] | None = None,
) -> dict[str, Any]:
    """The plain value of a CompareRequest. Raises as `check_question` does."""
    question: dict[str, Any] = {"inputs": list(map(dimensions, shapes))}
    if target is not None:
        question["shape"] = dimensions(target)
    if assume:
        question["assume"] = _assumptions(assume)
    return question


def batch_question(request: CheckRequest | Mapping[str, Any]) -> dict[str, Any]:
    """The plain value of one request of a batch. Raises as `check_question` does."""
    if isinstance(request, CheckRequest):
        return request.model_dump(exclude_unset=True, exclude_none=True) | {"op": plain_op(request.op)}
    plain = dict(request)
    if "op" in plain and not isinstance(plain["op"], Mapping):
        plain["op"] = plain_op(plain["op"])
    if "inputs" in plain:
        plain["inputs"] = list(map(dimensions, plain["inputs"]))
    return plain


def plain_op(op: Op | str) -> Any:
    """An op as a map of its attributes, or its bare name. Raises TypeError for anything else."""
    if isinstance(op, str):
        return op
    if not isinstance(op, Op):
        raise TypeError(
            "the first argument is an op, such as tensorcast.numpy.broadcast_to(shape=(4, 3)), or the name of one, "
            f'such as "numpy.broadcast_arrays" (`tensorcast ops` lists them); not {type(op).__name__}'
        )
    return op.model_dump(exclude_none=True)


def sizes(shape: Shape) -> list[int]:
    """Sizes as integers that the wire holds. Raises as NumPy does: TypeError for what is no integer (2.0, True, None,
    "34"), ValueError for one beyond 63 bits."""
    return list(map(_size, _listed(shape)))


def dimensions(shape: SymbolicShape) -> list[int | str]:
    """Sizes as integers that the wire holds, and symbols as they are. Raises as `sizes` does."""
    return list(map(_dimension, _listed(shape)))


def _assumptions(assume: Mapping[str, int | str]) -> dict[str, int | str]:
    return {name: _dimension(size) for name, size in assume.items()}


def _dimension(size: SupportsIndex | str) -> int | str:
    return size if isinstance(size, str) else _size(size)


def _listed(shape: SymbolicShape) -> list[Any]:
    """What a shape holds; what holds nothing is the size of one axis, or is no size."""
    if isinstance(shape, (str, bytes, bytearray, Mapping)):
        raise TypeError(f"a shape is a list of sizes such as (2, 3), not a {type(shape).__name__}")
    if getattr(shape, "ndim", 1) > 1:
        raise ValueError("an array stands where a shape belongs: pass its .shape")
    try:
        return list(shape)  # type: ignore[arg-type]
    except TypeError:
        return [shape]


def _size(value: SupportsIndex) -> int:
    if type(value).__name__ == "bool":  # Python's, or NumPy's, which older releases take for an integer
        raise TypeError("a size is an integer, not a bool")
    size = index(value)
    if not -MAX_SIZE <= size <= MAX_SIZE:
        raise ValueError("a size has at most 63 bits")
    return size
