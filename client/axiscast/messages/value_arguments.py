"""Conversion of the shapes, dtypes, warnings and assumptions in Python calls to the plain values in requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, MappingView, Sequence, Set
from numbers import Integral
from typing import Any, Protocol, SupportsIndex, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticCustomError

from ..ops import Op
from ..wire.errors import InvalidType
from ..wire.problems import Problem
from ..wire.shapes import MAX_SIZE, as_int, format_shape, parse_shape
from .value_repairs import size_in

ShapeLike = Sequence[SupportsIndex] | SupportsIndex
"""The type of an argument that is a shape. As in NumPy, an integer is the shape of an array with one axis."""
SymbolicShapeLike = Sequence[SupportsIndex | str | None] | SupportsIndex


class HasShape(Protocol):
    """An array of any library, which stands for its shape."""

    @property
    def shape(self) -> Sequence[Any]: ...


InputShape = ShapeLike | HasShape
"""The type of an input of a check: a shape, or an object that has a shape."""
SymbolicInput = SymbolicShapeLike | HasShape
T = TypeVar("T")


def map_inputs(shapes: Iterable[Any], read: Callable[[Any], T]) -> list[T]:
    """Convert each shape with `read`. If `read` raises an error, add the index of the input to the error."""
    return read_located(enumerate(shapes), read, "input {}")


def read_located(values: Iterable[tuple[Any, Any]], read: Callable[[Any], T], place: str) -> list[T]:
    """Convert each value with `read`.

    If `read` raises an error, the location of the value is added to the error.
    """
    found = []
    for key, value in values:
        try:
            found.append(read(value))
        except InvalidType as error:
            raise InvalidType(Problem("invalid-request", f"{place.format(key)}: {error}").document()) from None
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{place.format(key)}: {error}") from None
    return found


def read_sizes(shape: ShapeLike) -> list[int]:
    """Return the sizes of a shape as integers for a request.

    Raises the same exceptions as NumPy: TypeError for a value that is not an integer (2.0, True, None, "34"), and
    ValueError for a size that exceeds 63 bits.
    """
    return list(map(_size, _listed(shape)))


def read_dimensions(shape: SymbolicShapeLike) -> list[int | str]:
    """Return the sizes of a shape for a request: integers, symbols (unchanged), and "?" instead of None.

    Raises the same exceptions as `read_sizes`.
    """
    if shape is None:
        raise TypeError("a size must be an integer, not None")
    return list(map(_dimension, _listed(shape)))


def is_input_shape(value: Any) -> bool:
    """Return whether a value can be an input of a check: a size, a list of sizes, or an object that has a shape."""
    return isinstance(value, (Iterable, SupportsIndex)) or _has_shape(value)


def read_input_shape(value: SymbolicInput) -> list[int | str]:
    """Return the sizes of an input of a check for a request. An object with a `shape` stands for its shape.

    Raises the same exceptions as `read_sizes`.
    """
    return read_dimensions(_shape_of(value))


def read_integer_shape(value: InputShape) -> list[int]:
    """Return the sizes of an input that must all be integers. Otherwise, this function is like `read_input_shape`."""
    return read_sizes(_shape_of(value))


def _shape_of(value: Any) -> Any:
    return value.shape if _has_shape(value) else value


def _has_shape(value: Any) -> bool:
    """Return whether an object has a shape. A NumPy integer is a size, although NumPy gives it the shape ()."""
    return hasattr(value, "shape") and not isinstance(value, (Integral, type))


def read_names(names: Collection[str], argument: str) -> list[str]:
    """Return the names in `warn` or `ops` as a list. Raises TypeError if the argument is not a collection of names."""
    if isinstance(names, str) or not isinstance(names, Collection):
        example = '["torch", "onnx.Add"]' if argument == "ops" else '["mutual-stretch", "rank-promotion"]'
        raise TypeError(f"{argument} must be a list of names, such as {example}, not {python_type_name(names)}")
    return list(names)


def read_assumptions(assume: Mapping[str, int | str]) -> dict[str, int | str]:
    """Return the assumptions about symbolic sizes. Raises TypeError if the argument is not a map of sizes."""
    if not isinstance(assume, Mapping):
        raise TypeError(f'assume must be a map such as {{"N": "2.."}}, not {python_type_name(assume)}')
    named = ((f"{name!r:.60}", size) for name, size in assume.items())
    return dict(zip(assume, read_located(named, _dimension, "assume[{}]"), strict=True))


def read_dtype(dtype: Any) -> str:
    """Return the name of a dtype. Raises TypeError if the argument is not a string, and suggests its name."""
    if isinstance(dtype, str):
        return dtype
    from ..wire.dtypes import UnknownDtype, dtype_from_name  # this module imports NumPy

    name = str(getattr(dtype, "name", None) or getattr(dtype, "__name__", dtype)).rpartition(".")[2]
    try:
        dtype_from_name(name)
    except UnknownDtype:
        name = "float32"
    raise TypeError(f'dtype must be a name, not {python_type_name(dtype)}: write dtype="{name}"')


def _dimension(size: SupportsIndex | str | None) -> int | str:
    if size is None:  # Keras uses None for an unknown size
        return "?"
    return size if isinstance(size, str) and not _DIGITS.fullmatch(size) else _size(size)


_DIGITS = re.compile(r"\s*[-+]?[0-9]+\s*")
_NO_SHAPES = (str, bytes, bytearray, Mapping, BaseModel, Set, MappingView, type)


def _listed(shape: SymbolicShapeLike) -> list[Any]:
    """Return the sizes of a shape as a list. If the value is not iterable, return a list with only this value."""
    if isinstance(shape, _NO_SHAPES):
        written = shape_in_text(shape) if isinstance(shape, str) else None
        fix = "" if written is None else f": write {format_shape(written)}"
        raise TypeError(f"a shape must be a list of sizes such as (2, 3), not {python_type_name(shape)}{fix}")
    own = getattr(shape, "shape", ())
    if own and (len(own) > 1 or not isinstance(shape, Iterable) or "float" in str(getattr(shape, "dtype", ""))):
        raise TypeError("a shape is expected, not an array: pass its .shape")
    try:
        listed: list[Any] = list(shape)  # type: ignore[arg-type]
    except TypeError:
        return [shape]
    if listed and all(isinstance(item, (list, tuple)) for item in listed):
        one_by_one = ", ".join(map(format_shape, listed[:4]))
        raise TypeError(
            "a shape must contain sizes, not lists: write np.shape(x) for the shape of a nested list x, or pass "
            f"several shapes as separate arguments, {one_by_one:.200}"
        )
    return listed


def shape_in_text(text: str) -> tuple[Any, ...] | None:
    """Return the shape that a string contains, or None if it contains no shape. A single name is not a shape.

    >>> shape_in_text("3,1"), shape_in_text("numpy.add")
    ((3, 1), None)
    """
    try:
        shape = tuple(parse_shape(text))
    except ValueError:
        return None
    return None if len(shape) == 1 and isinstance(shape[0], str) else shape


def _size(value: Any) -> int:
    try:
        size = as_int(value)
    except (PydanticCustomError, TypeError):
        meant = size_in(value)
        fix = f": write {meant}" if type(meant) is int else ""
        raise TypeError(f"a size must be an integer, not {python_value(value)}{fix}") from None
    if not -MAX_SIZE <= size <= MAX_SIZE:
        raise ValueError("a size can have at most 63 bits")
    return size


def python_value(value: Any) -> str:
    """Return a short value for a message as Python code, and for other values their type, such as "a tuple"."""
    return f"{value!r:.40}" if isinstance(value, (bool, float, str, type(None))) else python_type_name(value)


def python_type_name(value: Any) -> str:
    """Return the type of a value for a message, such as "a tuple"."""
    if value is None:
        return "None"
    name = type(value).__name__
    article = "the class" if isinstance(value, type) else "an" if name[0] in "aeiouAEIOU" else "a"
    return f"{article} {value.__name__ if isinstance(value, type) else name}"


def is_op_class(value: Any) -> bool:
    """Return whether a value is an op class, not an op object."""
    return isinstance(value, type) and issubclass(value, Op)
