"""Tensors: NumPy arrays to and from their form on the wire."""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any

import msgpack
import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from .dtypes import EXAMPLES, UnknownDtype, dtype_named, impossible_element, name_of
from .problems import Problem
from .shapes import MAX_SIZE, Integer, Shape, as_list, format_shape

Array = np.ndarray[Any, np.dtype[Any]]
Strides = tuple[int, ...]

BIN_BYTES = 2**30
"""A MessagePack bin cannot hold 4 GiB; a larger tensor is a list of bins of this size or a little less."""


class Tensor(BaseModel):
    """A tensor on the wire: dense, or strided (each distinct element once, `strides` say how to read them)."""

    model_config = ConfigDict(extra="forbid")

    dtype: str | None = Field(
        default=None,
        description=f"Such as {EXAMPLES}. May be left out for JSON lists of booleans or numbers.",
        examples=["float32"],
    )
    shape: Shape = Field(description="Sizes; [] is a scalar.", examples=[[3]])
    strides: Annotated[tuple[Integer, ...], BeforeValidator(as_list)] | None = Field(
        default=None, description="Elements to step on each axis, 0 where replicated; absent: dense, C order."
    )
    data: Any = Field(
        default=None,
        description="MessagePack: raw little-endian elements as one bin or a list of bins. "
        "JSON: a list nested as shape says, or flat in C order.",
        examples=[[1.0, 2.0, 3.0]],
    )
    base64: str | None = Field(default=None, description="JSON: the raw elements in base64, in place of data.")

    def to_array(self, pointer: str) -> Array:
        """The tensor as a read-only array, a view of its bytes where it came as bytes.

        `pointer` says in a Problem (invalid-tensor) where the tensor stood in the request.
        """
        try:
            return self._to_array()
        except (UnknownDtype, _Invalid) as error:
            raise Problem("invalid-tensor", f"{pointer[1:]}: {error}", pointer=pointer) from None

    def _to_array(self) -> Array:
        if len(self.shape) > 64:
            raise _Invalid(f"a tensor has at most 64 axes, and this one has {len(self.shape)}")
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise _Invalid(
                f"strides has {len(self.strides)} entries for {len(self.shape)} axes: give one for each axis"
            )
        if self.strides is not None and min(self.strides, default=0) < 0:
            raise _Invalid("strides are not negative: reverse the axis before it is sent")
        if ("data" in self.model_fields_set) + (self.base64 is not None) != 1:
            raise _Invalid("give either data or base64, once")
        raw = self._raw()
        if raw is None:
            listed = list_to_array(self.data, self.dtype, self.shape, self.strides)
            return view_of(listed.view(np.uint8), name_of(listed.dtype), self.shape, self.strides)
        if self.dtype is None:
            raise _Invalid(f"dtype is missing: say what the bytes are, such as {EXAMPLES}")
        return view_of(raw, self.dtype, self.shape, self.strides)

    def _raw(self) -> bytes | None:
        """The bytes that were sent; None where data is a JSON value."""
        if self.base64 is not None:
            try:
                return base64.b64decode(self.base64, validate=True)
            except (binascii.Error, ValueError):
                raise _Invalid("base64 holds characters or padding that base64 does not have") from None
        if isinstance(self.data, bytes):
            return self.data
        if isinstance(self.data, list) and self.data and all(isinstance(part, bytes) for part in self.data):
            return b"".join(self.data)
        return None


class _Invalid(ValueError):
    """What is wrong with a tensor, in words that follow its place."""


def view_of(
    raw: bytes | bytearray | memoryview | Array, name: str, shape: tuple[int, ...], strides: Strides | None
) -> Array:
    """The read-only array over `raw`, no element copied. Raises ValueError in words where they do not agree."""
    dtype = dtype_named(name)
    data = np.frombuffer(raw, np.uint8)
    size = math.prod(shape)
    if math.prod(max(size, 1) for size in shape) * dtype.itemsize > MAX_SIZE:
        raise _Invalid(f"the shape {format_shape(shape)} of {name} exceeds 2^63-1 bytes")
    reach = size if strides is None else reach_of(shape, strides)
    if data.size != reach * dtype.itemsize:
        kind = "shape" if strides is None else "shape and strides"
        raise _Invalid(
            f"data has {data.size} bytes, and the {kind} {format_shape(shape)}"
            f"{'' if strides is None else ' ' + format_shape(strides)} of {name} need {reach * dtype.itemsize}"
        )
    if wrong := impossible_element(name, data):
        raise _Invalid(wrong)
    if size:
        steps = None if strides is None else tuple(step * dtype.itemsize for step in strides)
        array: Array = np.ndarray(shape, dtype, data, 0, steps)
    else:
        array = np.empty(shape, dtype)
    array.flags.writeable = False
    return array


def reach_of(shape: tuple[int, ...], strides: Strides) -> int:
    """Elements from the first to the farthest one that a strided tensor reads; 0 where it is empty."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))


def compact(array: Array) -> tuple[Array, Strides]:
    """The distinct elements of an array, flat in C order (a copy only where they do not lie so already),
    and the element strides that read the array from them: 0 on replicated axes."""
    if not array.size:
        return np.empty(0, array.dtype), (0,) * array.ndim
    replicated = is_replicated(array)
    box = array[(*(slice(1) if gone else slice(None) for gone in replicated), ...)]
    strides, step = [], 1
    for size, gone in zip(reversed(box.shape), reversed(replicated), strict=True):
        strides.append(0 if gone else step)
        step *= size
    return np.ascontiguousarray(box).reshape(-1), tuple(reversed(strides))


def is_replicated(array: Array) -> list[bool]:
    """For each axis, whether its elements are one and the same (stride 0)."""
    return [step == 0 and size > 1 for size, step in zip(array.shape, array.strides, strict=True)]


def to_wire(array: Array) -> Array:
    """The array as the wire holds elements, little-endian: itself, or a converted copy."""
    name_of(array.dtype)
    return array if array.dtype.newbyteorder("<") == array.dtype else array.astype(array.dtype.newbyteorder("<"))


# --- MessagePack, piece by piece -----------------------------------------------------------------


def bin_sizes(nbytes: int, unit: int) -> list[int]:
    """How `nbytes` are split into bins, each but the last a multiple of `unit` bytes."""
    largest = max(BIN_BYTES // unit, 1) * unit
    return [min(largest, nbytes - start) for start in range(0, nbytes, largest)] or [0]


def bin_header(size: int) -> bytes:
    """What stands before the bytes of a MessagePack bin."""
    return struct.pack(">BI", 0xC6, size)


def msgpack_head(dtype: str, shape: tuple[int, ...], strides: Strides | None, bins: int) -> bytes:
    """A tensor map up to its data: the small fields first; a list header follows where there are several bins."""
    fields: dict[str, Any] = {"dtype": dtype, "shape": list(shape)}
    if strides is not None:
        fields["strides"] = list(strides)
    packer = msgpack.Packer()
    parts = [packer.pack_map_header(len(fields) + 1)]
    parts += chain.from_iterable((packer.pack(key), packer.pack(value)) for key, value in fields.items())
    parts.append(packer.pack("data"))
    if bins > 1:
        parts.append(packer.pack_array_header(bins))
    return b"".join(parts)


def msgpack_parts(array: Array, strided: bool) -> Iterator[bytes | memoryview]:
    """A tensor in MessagePack, as pieces to be sent one after another; large ones are views of the array.

    `strided`: each distinct element once, with strides; else dense.
    """
    array = to_wire(array)
    data, strides = compact(array) if strided else (np.ascontiguousarray(array).reshape(-1), None)
    raw = data.view(np.uint8)
    sizes = bin_sizes(raw.size, 1)
    yield msgpack_head(name_of(array.dtype), array.shape, strides, len(sizes))
    start = 0
    for size in sizes:
        yield bin_header(size)
        yield raw[start : start + size].data
        start += size


# --- JSON ----------------------------------------------------------------------------------------

_SPECIAL_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def list_to_array(data: Any, name: str | None, shape: tuple[int, ...], strides: Strides | None) -> Array:
    """The flat array of a JSON value that is nested as `shape` says, or flat in C order (strided: flat only)."""
    name = name or _inferred(data)
    dtype = dtype_named(name)
    pairs = dtype.kind == "c"
    if strides is not None:
        if not isinstance(data, list):
            raise _Invalid("the data of a strided tensor is a flat list, or base64")
        values = data
    elif isinstance(data, list) and len(shape) != 1 and _is_flat(data, pairs):
        values = data
    else:
        values = _flatten(data, shape)
    wanted = math.prod(shape) if strides is None else reach_of(shape, strides)
    if len(values) != wanted:
        raise _Invalid(f"data holds {len(values)} elements, and the shape {format_shape(shape)} needs {wanted}")
    return _elements(values, name, dtype)


def _is_flat(data: list[Any], pairs: bool) -> bool:
    first = data[0] if data else None
    if pairs and isinstance(first, list):
        return len(first) == 2 and not any(isinstance(part, list) for part in first)
    return not isinstance(first, list)


def _flatten(data: Any, shape: tuple[int, ...]) -> list[Any]:
    level = [data]
    for axis, size in enumerate(shape):
        inner: list[Any] = []
        for item in level:
            if not isinstance(item, list) or len(item) != size:
                found = f"a list of {len(item)}" if isinstance(item, list) else "no list"
                raise _Invalid(
                    f"data does not agree with the shape {format_shape(shape)}: on axis {axis} it has {found}, "
                    f"not a list of {size}; a flat list in C order would do too"
                )
            inner.extend(item)
        level = inner
    return level


def _inferred(data: Any) -> str:
    """The dtype that NumPy infers for JSON booleans and numbers, however they are nested."""
    kinds: set[type] = set()
    stack = [data]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(item)
        else:
            kinds.add(float if isinstance(item, str) and item in _SPECIAL_FLOATS else type(item))
    if kinds == {bool}:
        return "bool"
    if kinds == {int}:
        return "int64"
    if kinds <= {int, float}:
        return "float64"
    raise _Invalid(
        f"dtype is missing, and only lists of booleans or of numbers do without; give one, such as {EXAMPLES}"
    )


def _elements(values: list[Any], name: str, dtype: np.dtype[Any]) -> Array:
    """The flat array of JSON elements. Raises _Invalid naming the first element that the dtype does not hold."""
    convert = _CONVERT[dtype.kind if dtype.kind in _CONVERT else "i" if "int" in name else "f"]
    converted = []
    for number, value in enumerate(values):
        element = convert(value, dtype)
        if element is None:
            raise _Invalid(f"element {number} of data is not {_WANTED.get(dtype.kind, 'a number')} that {name} holds")
        converted.append(element)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            if name.startswith(("int", "uint")) and dtype.kind == "V":
                return _small_integers(converted, name, dtype)
            wide = np.array(converted, np.float64) if dtype.kind in "fV" else None
            array = np.array(converted, dtype) if wide is None else wide.astype(dtype)
    except (OverflowError, ValueError, TypeError):
        raise _Invalid(f"an element of data lies outside the range of {name}") from None
    if wide is not None and (np.isinf(array.astype(np.float64)) & np.isfinite(wide)).any():
        raise _Invalid(f"an element of data lies outside the range of {name}")
    return array


def _small_integers(values: list[int], name: str, dtype: np.dtype[Any]) -> Array:
    bits = int(name.lstrip("uint"))
    low, high = (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if not all(low <= value <= high for value in values):
        raise OverflowError
    return np.array(values, np.int64).astype(dtype)


def _integer(value: Any, dtype: np.dtype[Any]) -> int | None:
    if isinstance(value, str) and len(value) <= 20 and value.lstrip("-").isdecimal():
        return int(value)
    return value if type(value) is int else None


def _real(value: Any, dtype: np.dtype[Any]) -> float | None:
    if isinstance(value, str):
        return _SPECIAL_FLOATS.get(value)
    if type(value) is int:
        return float(value) if abs(value) < 2**1023 else None
    return value if type(value) is float and math.isfinite(value) else None


def _complex(value: Any, dtype: np.dtype[Any]) -> complex | None:
    parts = value if isinstance(value, list) and len(value) == 2 else [value, 0]
    real, imaginary = (_real(part, dtype) for part in parts)
    return None if real is None or imaginary is None else complex(real, imaginary)


def _text(value: Any, dtype: np.dtype[Any]) -> str | None:
    return value if isinstance(value, str) and len(value) * 4 <= dtype.itemsize else None


def _bytes(value: Any, dtype: np.dtype[Any]) -> bytes | None:
    try:
        raw = base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except ValueError:
        return None
    return raw if raw is not None and len(raw) <= dtype.itemsize else None


def _time(value: Any, dtype: np.dtype[Any]) -> Any:
    if type(value) is int:
        return np.array(value, np.int64).view(dtype) if abs(value) <= MAX_SIZE else None
    if not isinstance(value, str) or (dtype.kind == "m" and value != "NaT"):
        return None
    try:
        return np.array(value, dtype)
    except ValueError:
        return None


_CONVERT: dict[str, Any] = {
    "b": lambda value, dtype: value if isinstance(value, bool) else None,
    "i": _integer,
    "u": _integer,
    "f": _real,
    "c": _complex,
    "U": _text,
    "S": _bytes,
    "M": _time,
    "m": _time,
}
_WANTED = {
    "b": "a boolean",
    "i": "an integer",
    "u": "an integer",
    "c": "a pair [re, im]",
    "U": "a string",
    "S": "a base64 string",
    "M": "an ISO 8601 string or an integer",
    "m": "an integer",
}


def array_to_json(array: Array) -> Any:
    """The nested list of an array: NaN and infinities as strings, integers beyond 2^53 as decimal strings."""
    kind, name = array.dtype.kind, array.dtype.name
    if kind == "c":
        pairs = np.stack([array.real, array.imag], -1)
        return array_to_json(pairs)
    if kind in "iu" or name.startswith(("int", "uint")):
        integers = array.astype(np.int64) if kind == "V" else array
        large = array.size and kind != "V" and bool(((array > 2**53) | (array < -(2**53))).any())
        return (
            _map(integers.tolist(), lambda value: value if abs(value) <= 2**53 else str(value))
            if large
            else (integers.tolist())
        )
    if kind == "m":
        return array_to_json(array.view(np.int64))
    if kind == "M":
        return np.datetime_as_string(array).tolist() if array.size else array.tolist()
    if kind == "S":
        return _map(array.tolist(), lambda value: base64.b64encode(value).decode())
    if kind in "fV":
        if array.dtype.itemsize < 8 and array.size:
            # The shortest decimals that give the same element back, as NumPy prints them.
            narrow = array.astype(np.float32) if kind == "V" or array.dtype.itemsize == 1 else array
            array = narrow.astype("U32").astype(np.float64)
        listed = array.astype(np.float64).tolist()
        return listed if np.isfinite(array).all() else _map(listed, _real_to_json)
    return array.tolist()


def _real_to_json(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _map(value: Any, change: Any) -> Any:
    return [_map(item, change) for item in value] if isinstance(value, list) else change(value)


def tensor_to_json(array: Array, strided: bool, as_base64: bool) -> dict[str, Any]:
    """A tensor for a JSON answer: dense and nested as its shape, or strided and flat; or in base64."""
    array = to_wire(array)
    tensor: dict[str, Any] = {"dtype": name_of(array.dtype), "shape": list(array.shape)}
    if strided:
        array, strides = compact(array)
        tensor["strides"] = list(strides)
    if as_base64:
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        tensor["base64"] = base64.b64encode(raw.data).decode()
    else:
        tensor["data"] = array_to_json(array)
    return tensor
