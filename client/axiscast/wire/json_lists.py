"""Conversion of JSON lists, either nested or flat, to arrays. json_writing.py converts arrays to JSON lists.

JSON represents complex numbers as pairs of numbers, and NaN and infinities as strings. Integers beyond 2^53 are decimal
strings, and bytes are base64 strings. Datetimes are ISO 8601 strings or integers, and timedeltas are integers. A value
outside the range of its dtype causes an error. The value is never rounded to infinity, clipped or wrapped.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .dates import date_count
from .dtypes import DTYPE_EXAMPLES, dtype_from_name
from .shapes import MAX_SIZE, format_shape, json_type_name
from .wording import count_of

Array = np.ndarray[Any, np.dtype[Any]]

MAX_AXES = 64
"""The maximum rank of a NumPy array."""
MAX_EXACT_INTEGER = 2**53
"""The largest integer up to which 64-bit floats represent every integer exactly."""
NAT = -(2**63)
"""The integer that represents NaT (not a time) in datetimes and timedeltas."""
ELEMENT_BYTES = 80
"""The memory, in bytes, that a conversion needs per element, in addition to three times the element's itemsize."""
_SPECIAL_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_FLOAT_END = 2**1024 - 2**970  # every smaller integer is rounded to a finite float64
_DECIMAL = re.compile(r"-?[0-9]{1,20}")


class InvalidData(ValueError):
    """The data or the layout of a tensor is not valid. The caller puts the tensor's location before the message.

    `field` is the invalid field of the tensor, or None if the fault is in the tensor as a whole.
    """

    def __init__(self, message: str, field: str | None = "data") -> None:
        super().__init__(message)
        self.field = field


def list_to_array(data: Any, name: str | None, shape: tuple[int, ...], flat_size: int | None = None) -> Array:
    """Convert a JSON value to a flat array. The value is nested like `shape`, or is a flat list in C order.

    If `flat_size` is given (for strided tensors), only a flat list of this length is valid. If `name` is None, the
    dtype is inferred as in NumPy. Raises InvalidData and UnknownDtype.
    """
    inferred = name is None
    name = name or _inferred(data)
    dtype = dtype_from_name(name)
    if flat_size is not None and not isinstance(data, list):
        raise InvalidData("the data of a strided tensor must be a flat list or base64")
    values = data if flat_size is not None or _is_flat(data, shape, dtype.kind == "c") else _flatten(data, shape)
    wanted = math.prod(shape) if flat_size is None else flat_size
    if len(values) != wanted:
        raise _wrong_count(len(values), shape, wanted, " with these strides" if flat_size is not None else "")
    if inferred and dtype.kind != "b":  # NumPy converts booleans in a list of numbers to 0 and 1
        values = [int(value) if type(value) is bool else value for value in values]
    return _elements(values, name, dtype)


def _wrong_count(count: int, shape: tuple[int, ...], wanted: int, strides: str = "") -> InvalidData:
    needs = f"the shape {format_shape(shape)}{strides} needs {wanted}"
    return InvalidData(f"data has {count_of(count, 'element')}, but {needs}")


def _is_flat(data: Any, shape: tuple[int, ...], pairs: bool) -> bool:
    """Return whether the data of a tensor with several axes is a flat list of elements instead of a nested list."""
    if not isinstance(data, list) or len(shape) == 1 or (pairs and shape == () and _is_pair(data)):
        return False
    first = data[0] if data else None
    return not isinstance(first, list) or (pairs and _is_pair(first))


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and not any(isinstance(part, list) for part in value)


def _flatten(data: Any, shape: tuple[int, ...]) -> list[Any]:
    level = [data]
    for axis, size in enumerate(shape):
        inner: list[Any] = []
        for item in level:
            if not isinstance(item, list) or len(item) != size:
                if isinstance(item, str) and axis == 0:
                    raise InvalidData('data is a string: base64 belongs in the field "base64"')
                if isinstance(item, list) and len(shape) == 1 and not any(isinstance(part, list) for part in item):
                    raise _wrong_count(len(item), shape, size)
                found = f"a list of {len(item)}" if isinstance(item, list) else json_type_name(item)
                raise InvalidData(
                    f"data does not match the shape {format_shape(shape)}: on axis {axis} it has {found} instead of "
                    f"a list of {size}. A flat list in C order is also valid"
                )
            inner.extend(item)
        level = inner
    return level


def _inferred(data: Any) -> str:
    """Return the dtype that NumPy infers for nested lists of booleans and numbers.

    An integer of at least 2^63 is inferred as uint64. If such an integer is mixed with a smaller integer, the result is
    float64.
    """
    names: set[str] = set()
    stack = [data]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(item)
        else:
            names.add(_inferred_element(item))
    return np.result_type(*names).name if names else "float64"


def _inferred_element(value: Any) -> str:
    if type(value) is bool:
        return "bool"
    if type(value) is int:
        if -(2**63) <= value <= MAX_SIZE:
            return "int64"
        if 0 <= value < 2**64:
            return "uint64"
        raise InvalidData(
            "dtype is missing, and an integer in data fits neither int64 nor uint64: write it as a float (1e20), or "
            "send a dtype such as float64",
            "dtype",
        )
    if type(value) is float or (isinstance(value, str) and value in _SPECIAL_FLOATS):
        return "float64"
    reason = "dtype is missing: it can be omitted only for lists of booleans or numbers"
    raise InvalidData(f"{reason}, so send a dtype such as {DTYPE_EXAMPLES}", "dtype")


def _elements(values: list[Any], name: str, dtype: np.dtype[Any]) -> Array:
    """Convert JSON elements to a flat array. Raises InvalidData if an element is invalid for the dtype."""
    kind = kind_of(dtype)
    elements: Any = _plain_floats(values) if kind == "f" else None
    if elements is None:
        elements = _converted(values, name, dtype, kind)
    if kind in "fc":
        wide = np.asarray(elements, np.complex128 if kind == "c" else np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            array = wide.astype(dtype)
        wrong = _is_changed(wide.view(np.float64), array)
    elif kind == "i":
        low, high = _bounds(name)
        wrong = np.array([not low <= element <= high for element in elements], bool)
        array = np.array([] if wrong.any() else elements, np.uint64 if low == 0 else np.int64).astype(dtype)
    elif kind in "mM":
        return np.array(elements, np.int64).view(dtype)
    else:
        return np.array(elements, dtype)
    if wrong.any():
        bounds = f", {low} to {high}" if kind == "i" else ""
        raise InvalidData(f"element {int(wrong.argmax())} of data is outside the range of {name}{bounds}")
    return array


def _plain_floats(values: list[Any]) -> Array | None:
    """Return numbers as float64. Return None if a value is not a number that float64 can represent."""
    if not {*map(type, values)} <= {float, int}:
        return None
    try:
        floats = np.array(values, np.float64)
    except OverflowError:
        return None
    return floats if np.isfinite(floats).all() else None


def _converted(values: list[Any], name: str, dtype: np.dtype[Any], kind: str) -> list[Any]:
    """Return the elements as Python values. Raises InvalidData if an element is invalid for the dtype."""
    convert, wanted = _READERS[kind]
    elements = []
    for number, value in enumerate(values):
        element = convert(value, dtype)
        if element is None:
            raise InvalidData(
                f"element {number} of data must be {wanted} that {name} can represent{_advice(value, kind)}"
            )
        elements.append(element)
    return elements


_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?")


def _advice(value: Any, kind: str) -> str:
    """Return the end of the message about an invalid element: the element's type and the correct notation."""
    text = value.strip() if isinstance(value, str) else ""
    if kind == "b" and value in (0, 1, "0", "1", "true", "false", "True", "False"):
        return f": write {'true' if text.lower() == 'true' or value in (1, '1') else 'false'}"
    if kind == "i" and isinstance(value, float) and value.is_integer() and abs(value) < MAX_EXACT_INTEGER:
        return f": write {value:.0f}"
    if kind in "fc" and _NUMBER.fullmatch(text):
        return f": write {text} without quotes"
    is_other = value is None or isinstance(value, (list, dict) if kind in "USM" else (list, dict, str))
    special = ': write "NaN", "Infinity" or "-Infinity" for these values' if kind in "fc" else ""
    return (f", but {json_type_name(value)}" if is_other else "") + special


def kind_of(dtype: np.dtype[Any]) -> str:
    """Return the letter for the kind of a dtype, which is NumPy's letter for most dtypes.

    The letter is "i" for all integers, and "i" or "f" for the dtypes that ml_dtypes defines.
    """
    if dtype.kind in "iu" or "int" in dtype.name:
        return "i"
    return "f" if dtype.kind == "V" else dtype.kind


def _bounds(name: str) -> tuple[int, int]:
    bits = int(name.lstrip("uint"))
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _is_changed(wide: Array, array: Array) -> Array:
    """Return, for each element, whether the conversion changed it to an infinity or NaN, or clipped it."""
    parts = 2 if array.dtype.kind == "c" else 1
    narrow = array.view(array.real.dtype) if parts == 2 else array
    back = narrow.astype(np.float64)
    lost = (np.isnan(wide) != np.isnan(back)) | (np.isinf(wide) != np.isinf(back))
    if array.dtype.itemsize == 1:
        import ml_dtypes

        finite = np.isfinite(wide)
        lost |= finite & (np.abs(np.where(finite, wide, 0)) > float(ml_dtypes.finfo(array.dtype).max))  # type: ignore[no-untyped-call]
    anywhere: Array = lost.reshape(-1, parts).any(axis=1)
    return anywhere


def _boolean(value: Any, dtype: np.dtype[Any]) -> bool | None:
    return value if isinstance(value, bool) else None


def _integer(value: Any, dtype: np.dtype[Any]) -> int | None:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return int(value)
    return value if type(value) is int else None


def _real(value: Any, dtype: np.dtype[Any]) -> float | None:
    if isinstance(value, str):
        return _SPECIAL_FLOATS.get(value)
    if type(value) is int:
        return float(value) if abs(value) < _FLOAT_END else None
    return value if type(value) is float and math.isfinite(value) else None


def _complex(value: Any, dtype: np.dtype[Any]) -> complex | None:
    parts = value if isinstance(value, list) and len(value) == 2 else [value, 0]
    real, imaginary = (_real(part, dtype) for part in parts)
    return None if real is None or imaginary is None else complex(real, imaginary)


def _string(value: Any, dtype: np.dtype[Any]) -> str | None:
    return value if isinstance(value, str) and len(value) * 4 <= dtype.itemsize else None


def _bytes(value: Any, dtype: np.dtype[Any]) -> bytes | None:
    try:
        raw = base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except ValueError:
        return None
    return raw if raw is not None and len(raw) <= dtype.itemsize else None


def _count(value: Any, dtype: np.dtype[Any]) -> int | None:
    """Return the integer for a timedelta, counted in the dtype's unit, or None if the value is invalid."""
    if value == "NaT":
        return NAT
    count = _integer(value, dtype)
    return count if count is not None and -MAX_SIZE <= count <= MAX_SIZE else None


def _date(value: Any, dtype: np.dtype[Any]) -> int | None:
    """Return the integer for a date, counted in the dtype's unit, or None if the value is invalid.

    The value is an integer or an ISO 8601 string.
    """
    if type(value) is int or value == "NaT":
        return _count(value, dtype)
    return date_count(value, *np.datetime_data(dtype)) if isinstance(value, str) else None


_READERS: dict[str, tuple[Callable[[Any, np.dtype[Any]], Any], str]] = {
    "b": (_boolean, "a boolean"),
    "i": (_integer, "an integer"),
    "f": (_real, "a number"),
    "c": (_complex, "a pair [re, im]"),
    "U": (_string, "a string"),
    "S": (_bytes, "a base64 string"),
    "M": (_date, "an ISO 8601 string or an integer"),
    "m": (_count, "an integer"),
}
