"""Conversion of tensors in requests and responses to and from NumPy arrays."""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import msgpack
import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from typing_extensions import TypeAliasType  # pydantic names the schema of such a type

from .codec import PACKER_BUFFER_BYTES, Encoding, encode
from .dtypes import DTYPE_EXAMPLES, UnknownDtype, dtype_from_name, dtype_name, find_invalid_element, storage_dtype
from .json_lists import ELEMENT_BYTES, MAX_AXES, InvalidData, list_to_array
from .json_writing import nested_lists
from .prescan import MAX_VALUES
from .problems import Problem
from .shapes import MAX_SIZE, Integer, ShapeField, StopAtFirstError, as_list, format_shape
from .wording import count_of

Array = np.ndarray[Any, np.dtype[Any]]
Strides = tuple[int, ...]
TensorLayout = TypeAliasType("TensorLayout", Literal["dense", "strided"])

_BASE64 = re.compile("[A-Za-z0-9+/]*={0,2}")
_BASE64_OF_URLS = re.compile("[A-Za-z0-9_-]*={0,2}")
BIN_BYTES = 2**30
"""The maximum size, in bytes, of a MessagePack bin. A larger tensor is sent as a list of bins.

MessagePack limits a bin to less than 4 GiB.
"""
BASE64_CHUNK_BYTES = 3 * 2**16
"""The number of bytes that one call encodes to base64, or the number of base64 characters that one call decodes.

A call takes about 2 ms.
"""


class InvalidBase64(InvalidData):
    """The base64 string of a tensor is not valid. The caller puts the location of the field before the message."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "base64")


class Tensor(BaseModel):
    """A tensor in a request or a response.

    The tensor is either dense or strided. A strided tensor contains each distinct element once, and its `strides` give
    the location of each element.
    """

    model_config = ConfigDict(extra="forbid")

    dtype: str | None = Field(
        default=None,
        description=f"The dtype, such as {DTYPE_EXAMPLES}. If it is omitted, NumPy infers it from JSON lists of "
        f"booleans or numbers.",
        examples=["float32"],
    )
    shape: ShapeField = Field(description="The sizes; [] is the shape of a scalar.", examples=[[3]])
    strides: Annotated[tuple[Integer, ...], StopAtFirstError(), BeforeValidator(as_list)] | None = Field(
        default=None,
        description="The step along each axis in elements, which is 0 on replicated axes. By default, "
        "the tensor is dense and in C order.",
    )
    data: Any = Field(
        default=None,
        description="In MessagePack: the raw little-endian elements as a bin or a list of bins. In JSON: a list that "
        "is nested like shape, or flat in C order.",
        examples=[[1.0, 2.0, 3.0]],
    )
    base64: str | None = Field(default=None, description="In JSON: the raw elements in base64, instead of data.")

    def decoded_bytes(self) -> int:
        """Return the maximum number of bytes that `to_array` allocates."""
        if self.base64 is not None:
            return len(self.base64)
        if not isinstance(self.data, list) or _are_bins(self.data):
            return sum(map(len, self.data)) if isinstance(self.data, list) else 0
        try:
            itemsize = dtype_from_name(self.dtype).itemsize if self.dtype is not None else 8
        except UnknownDtype:  # to_array refuses an unknown dtype before it allocates memory
            return 0
        size = math.prod(self.shape) if self.strides is None else len(self.data)
        return min(size, MAX_VALUES) * (ELEMENT_BYTES + 3 * itemsize)

    def to_array(self, pointer: str) -> Array:
        """Return the tensor as a read-only array. If the data field holds bytes, the array is a view of these bytes.

        Raises Problem (invalid-tensor). `pointer` locates the tensor in the request, and the problem's pointer locates
        the invalid field.
        """
        try:
            return self._to_array()
        except (UnknownDtype, InvalidData) as error:
            field = error.field if isinstance(error, InvalidData) else "dtype"
            place = pointer if field is None else f"{pointer}/{field}"
            named = place if isinstance(error, InvalidBase64) else pointer  # the other messages name the field
            raise Problem("invalid-tensor", f"{named[1:]}: {error}", pointer=place) from None

    def _to_array(self) -> Array:
        if len(self.shape) > MAX_AXES:
            fault = f"a tensor can have at most {MAX_AXES} axes, but this tensor has {len(self.shape)}"
            raise InvalidData(fault, "shape")
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise InvalidData(
                f"strides has {count_of(len(self.strides), 'entry', 'entries')} for "
                f"{count_of(len(self.shape), 'axis', 'axes')}: give one for each axis",
                "strides",
            )
        if self.strides is not None and min(self.strides, default=0) < 0:
            raise InvalidData("strides can't be negative: reverse the axis before you send it", "strides")
        if ("data" in self.model_fields_set) + (self.base64 is not None) != 1:
            raise InvalidData("send data or base64, but not both", None)
        raw = self._raw()
        if raw is None:
            wanted = None if self.strides is None else strided_size(self.shape, self.strides)
            listed = list_to_array(self.data, self.dtype, self.shape, wanted)
            return tensor_view(listed.view(np.uint8), dtype_name(listed.dtype), self.shape, self.strides)
        if self.dtype is None:
            raise InvalidData(f"dtype is missing: send the dtype of the bytes, such as {DTYPE_EXAMPLES}", "dtype")
        return tensor_view(raw, self.dtype, self.shape, self.strides, "data" if self.base64 is None else "base64")

    def _dense_bytes(self) -> int | None:
        """Return the size of a dense tensor in bytes, or None if the tensor is strided or its dtype is unknown."""
        try:
            return math.prod(self.shape) * dtype_from_name(self.dtype or "").itemsize if self.strides is None else None
        except UnknownDtype:
            return None

    def _from_base64(self, text: str) -> memoryview:
        """Decode a base64 string and return the bytes. Raises InvalidBase64."""
        raw = bytearray()
        for start in range(0, len(text), BASE64_CHUNK_BYTES):
            piece = text[start : start + BASE64_CHUNK_BYTES]
            try:
                if "=" in piece and start + len(piece) < len(text):
                    raise ValueError
                raw += binascii.a2b_base64(piece, strict_mode=True)
            except ValueError:
                if not len(piece) % 4 or not _BASE64.fullmatch(piece):
                    fault = "contains characters or padding that are invalid in base64"
                    raise InvalidBase64(f"{fault}{_base64_remedy(text)}") from None
                wrong, nbytes = f"has {count_of(len(text), 'character')}", self._dense_bytes()
                if nbytes is None or len(text) == -(-4 * nbytes // 3):
                    raise InvalidBase64(f"{wrong}: add = until the length is a multiple of 4") from None
                needed = -(-nbytes // 3) * 4
                short = ": the text may be truncated" if len(text) < needed else ""
                raise InvalidBase64(
                    f"{wrong}, but {needed} are needed for the {count_of(nbytes, 'byte')} of {self.dtype} "
                    f"{format_shape(self.shape)}{short}"
                ) from None
        return memoryview(raw).toreadonly()

    def _raw(self) -> bytes | memoryview | Array | None:
        """Return the raw bytes of the elements, or None if the data field holds a JSON value."""
        if self.base64 is not None:
            return self._from_base64(self.base64)
        data = self.data
        if isinstance(data, (bytes, memoryview)):
            return data
        return _joined(data, sum(map(len, data))) if _are_bins(data) else None


def _base64_remedy(text: str) -> str:
    """Return how to correct base64 that is a data URL or uses the URL-safe alphabet, or return an empty string."""
    if text.startswith("data:"):
        return ": remove everything up to the comma"
    if _BASE64_OF_URLS.fullmatch(text[:BASE64_CHUNK_BYTES]):
        return ": write + for - and / for _"
    return ""


def _are_bins(data: Any) -> bool:
    return isinstance(data, list) and bool(data) and all(isinstance(part, (bytes, memoryview)) for part in data)


def _joined(bins: Sequence[bytes | memoryview], size: int) -> Array:
    """Concatenate the bins in one array. NumPy releases the GIL while it copies, but bytes.join does not."""
    whole, start = np.empty(size, np.uint8), 0
    for part in bins:
        whole[start : start + len(part)] = np.frombuffer(part, np.uint8)
        start += len(part)
    return whole


def tensor_view(
    raw: bytes | bytearray | memoryview | Array,
    name: str,
    shape: tuple[int, ...],
    strides: Strides | None,
    field: str = "data",
) -> Array:
    """Return a read-only array that is a view of the bytes `raw`.

    Raises InvalidData if the shape, the strides or the dtype do not match these bytes. The error message names the
    `field`.
    """
    dtype = dtype_from_name(name)
    data = np.frombuffer(raw, np.uint8)
    size = math.prod(shape)
    if math.prod(max(size, 1) for size in shape) * dtype.itemsize > MAX_SIZE:
        raise InvalidData(f"the shape {format_shape(shape)} of {name} exceeds 2^63-1 bytes", "shape")
    reach = size if strides is None else strided_size(shape, strides)
    if data.size != reach * dtype.itemsize:
        wanted = f"the shape {format_shape(shape)} of {name} needs"
        if strides is not None:
            wanted = f"the shape and strides {format_shape(shape)} {format_shape(strides)} of {name} need"
        raise InvalidData(f"{field} has {count_of(data.size, 'byte')}, and {wanted} {reach * dtype.itemsize}", field)
    if wrong := find_invalid_element(name, data):
        raise InvalidData(wrong, field)
    if size:
        # The stride of an axis of size 1 is never used and may have any value, so it is replaced by 0.
        pairs = zip(shape, strides or (), strict=False)
        steps = [step * dtype.itemsize if size > 1 else 0 for size, step in pairs] if strides is not None else None
        array: Array = np.ndarray(shape, dtype, data, 0, steps)
    else:
        array = np.empty(shape, dtype)
    array.flags.writeable = False
    return array


def strided_size(shape: tuple[int, ...], strides: Strides) -> int:
    """Return the memory length, in elements, from a tensor's first element to its last, or 0 for an empty tensor."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))


def compact(array: Array) -> tuple[Array, Strides]:
    """Return the distinct elements of an array, flat in C order, and the strides that restore the array.

    Strides are counted in elements and are 0 on replicated axes. The distinct elements are a view if they are in C
    order in memory. Otherwise, they are a copy.
    """
    box, strides = distinct_elements(array)
    return np.ascontiguousarray(box).reshape(-1), strides


def distinct_elements(array: Array) -> tuple[Array, Strides]:
    """Return a view of the distinct elements of an array, and the strides that restore the array.

    The strides are counted in elements and apply to the view, flattened in C order. Strides are 0 on replicated axes.
    """
    if not array.size:
        return np.empty(0, array.dtype), (0,) * array.ndim
    if (memory := memory_span(array)) is not None and has_overlaps(array):
        return memory, tuple(step // array.itemsize for step in array.strides)
    replicated = replicated_axes(array)
    box = array[(*(slice(1) if gone else slice(None) for gone in replicated), ...)]
    strides, step = [], 1
    for size, gone in zip(reversed(box.shape), reversed(replicated), strict=True):
        strides.append(0 if gone else step)
        step *= size
    return box, tuple(reversed(strides))


def has_overlaps(array: Array) -> bool:
    """Return whether an array has more elements than its memory, not counting repetitions along replicated axes."""
    memory = memory_span(array)
    pairs = zip(array.shape, replicated_axes(array), strict=True)
    return memory is not None and math.prod(size for size, gone in pairs if not gone) > memory.size


def strided_view(array: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Return a read-only view of an array's memory with the given shape and the given strides in bytes."""
    # The view is created with an integer dtype because as_strided does not support all dtypes of ml_dtypes.
    raw = array.view(storage_dtype(array.dtype))
    return np.lib.stride_tricks.as_strided(raw, shape, strides, writeable=False).view(array.dtype)


def memory_span(array: Array) -> Array | None:
    """Return a flat array of the memory from an array's first element to its last element.

    Return None if a stride is negative or is not a multiple of the itemsize. If strides overlap, the flat array has
    fewer elements than the original array.
    """
    if any(step < 0 or step % array.itemsize for step in array.strides):
        return None
    steps = [step // array.itemsize for step in array.strides]
    return strided_view(array, (strided_size(array.shape, tuple(steps)),), (array.itemsize,))


def replicated_axes(array: Array) -> list[bool]:
    """Return, for each axis, whether the axis is replicated: its stride is 0 and its size is greater than 1."""
    return [step == 0 and size > 1 for size, step in zip(array.shape, array.strides, strict=True)]


def to_little_endian(array: Array) -> Array:
    """Return the array in little-endian byte order: the array itself if possible, otherwise a converted copy."""
    return array if array.dtype.newbyteorder("<") == array.dtype else array.astype(array.dtype.newbyteorder("<"))


# --- MessagePack ---------------------------------------------------------------------------------


def bin_sizes(nbytes: int) -> list[int]:
    """Return the sizes of the MessagePack bins that hold `nbytes` bytes."""
    return [min(BIN_BYTES, nbytes - start) for start in range(0, nbytes, BIN_BYTES)] or [0]


def bin_header(size: int) -> bytes:
    """Return the header of a MessagePack bin."""
    return struct.pack(">BI", 0xC6, size)


def msgpack_tensor_header(dtype: str, shape: tuple[int, ...], strides: Strides | None, bins: int) -> bytes:
    """Return the part of a tensor's MessagePack encoding that precedes the data.

    A tensor with several bins has a list header at the end.
    """
    fields: dict[str, Any] = {"dtype": dtype, "shape": list(shape)}
    if strides is not None:
        fields["strides"] = list(strides)
    fields["data"] = [None] * bins if bins > 1 else None
    head: bytes = msgpack.packb(fields, buf_size=PACKER_BUFFER_BYTES)
    return head[:-bins]  # removes the nil values, which the data replaces


def msgpack_parts(array: Array, strided: bool) -> Iterator[bytes | memoryview]:
    """Yield the MessagePack encoding of a tensor, part by part.

    If `strided` is true, the encoding contains each distinct element once, and the strides. Otherwise, the encoded
    tensor is dense. Parts that hold elements are views if the elements are in C order in memory.
    """
    name = dtype_name(array.dtype)
    data, strides = compact(array) if strided else (np.ascontiguousarray(array).reshape(-1), None)
    raw = to_little_endian(data).view(np.uint8)
    sizes = bin_sizes(raw.size)
    yield msgpack_tensor_header(name, array.shape, strides, len(sizes))
    start = 0
    for size in sizes:
        yield bin_header(size)
        yield raw[start : start + size].data
        start += size


# --- JSON ----------------------------------------------------------------------------------------


def json_parts(array: Array, strided: bool, as_base64: bool) -> Iterator[bytes]:
    """Yield the JSON encoding of a tensor in parts.

    Dense data is nested like the shape, and strided data is flat. If `as_base64` is true, the data is a base64 string.
    """
    fields: dict[str, Any] = {"dtype": dtype_name(array.dtype), "shape": list(array.shape)}
    if strided:
        array, strides = compact(array)
        fields["strides"] = list(strides)
    array = to_little_endian(array)
    yield encode(fields, Encoding.JSON)[:-1] + (b',"base64":' if as_base64 else b',"data":')
    if as_base64:
        yield from _base64_parts(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    else:
        yield from nested_lists(array, replicated_axes(array))
    yield b"}"


def _base64_parts(raw: memoryview) -> Iterator[bytes]:
    yield b'"'
    for start in range(0, len(raw), BASE64_CHUNK_BYTES):
        yield base64.b64encode(raw[start : start + BASE64_CHUNK_BYTES])
    yield b'"'
