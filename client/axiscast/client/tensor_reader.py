"""TensorReader: reads the tensors of a response into arrays while their bytes arrive. This module performs no IO."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Sequence
from typing import Any, Generic, TypeVar

import msgpack
import numpy as np

from ..errors import InvalidAnswer
from ..wire.dtypes import dtype_from_name, find_invalid_element
from ..wire.tensors import Array, strided_size, tensor_view, to_little_endian
from ..wire.wording import axis_count
from .expected_response import ANY_TENSOR, MAX_TENSORS, ExpectedFields, ExpectedTensor
from .response_reading import EMPTY_BUFFER, Chunk, one_line

T = TypeVar("T")
Steps = Generator[None, Chunk, T]
"""A generator that parses a response. It yields when it needs more bytes, and is then sent the next chunk."""
Arrays = dict[str, list[Array]]
"""The tensors of a response, keyed by response field."""

MAX_METADATA_BYTES = 4 * 2**10
"""The maximum size, in bytes, of a tensor's metadata. 64 sizes and 64 strides take about 1,200 bytes."""
MAX_PARSED_BYTES = 2**10
"""The maximum number of bytes passed to the MessagePack parser at a time. Each byte may take 100 bytes of memory."""
MAX_BINS = 1000
"""The maximum number of MessagePack bins for a tensor's data, if it is shorter than 1 MiB. Each MiB adds one bin."""
BIN_SIZE_WIDTHS = {0xC4: 1, 0xC5: 2, 0xC6: 4}
"""The MessagePack type codes of a bin, and the width of the size field for each code, in bytes."""
ARRAY_SIZE_WIDTHS = {0xDC: 2, 0xDD: 4}
"""The MessagePack type codes of long arrays, with the width of the length field in bytes.

Short arrays have the type codes 0x90 to 0x9F.
"""


class TensorReader(Generic[T]):
    """A reader for a MessagePack response {field: [tensor, ...], ...}. Tensor data is received directly into arrays.

    The fields in `singles` contain one tensor instead of a list. A single tensor that the request does not determine
    may be absent. Only expected tensors are stored. The sizes of all
    other parts of the response are limited before these parts are parsed. `length` is the announced length of the body
    in bytes, or None. If `out` is given, its arrays receive the data. `finish_arrays` converts the arrays into the
    result.
    """

    def __init__(
        self,
        expected: ExpectedFields,
        length: int | None,
        finish_arrays: Callable[[Arrays], T],
        out: Sequence[Array] | None = None,
        singles: Collection[str] = (),
    ) -> None:
        self._expected = expected
        self._singles = singles
        self._finish_arrays = finish_arrays
        self._length = length
        self._out = out
        # These limits are necessary because older msgpack releases immediately allocate an array of the announced
        # length.
        limits = {"max_bin_len": 0, "max_ext_len": 0, "max_array_len": 1000, "max_map_len": 100}
        self._unpacker = msgpack.Unpacker(max_buffer_size=4 * MAX_METADATA_BYTES, **limits)
        self._unparsed = EMPTY_BUFFER
        """The part of the current chunk that has not been passed to the MessagePack parser."""
        self._metadata_bytes = 0
        """The number of bytes of the current tensor that have been passed to the MessagePack parser."""
        self._arrays: Arrays = {}
        self._target = EMPTY_BUFFER
        """The part of the current array's memory that is not yet filled."""
        self._is_done = False
        self._failure = ""
        self._steps = self._read_response()
        next(self._steps)

    def buffer(self) -> memoryview:
        return self._target

    def received(self, count: int) -> None:
        self._target = self._target[count:]
        if not self._target:
            self.feed(b"")

    def feed(self, chunk: Chunk) -> None:
        if self._is_done:
            raise InvalidAnswer("the response has bytes after its last tensor")
        if self._failure:
            raise InvalidAnswer(self._failure)
        try:
            self._steps.send(chunk)
        except StopIteration:
            self._is_done = True
        except _OutMismatch as error:
            raise ValueError(str(error)) from None
        except (msgpack.UnpackException, ValueError, TypeError) as error:
            self._failure = f"the response can't be read: {one_line(error)}"
            raise InvalidAnswer(self._failure) from None

    def finish(self) -> T:
        if self._failure:
            raise InvalidAnswer(self._failure)
        if not self._is_done:
            raise InvalidAnswer("the response ends before its last tensor is complete")
        return self._finish_arrays(self._arrays)

    def _read_response(self) -> Steps[None]:
        for _ in range((yield from self._parse(self._unpacker.read_map_header))):
            field = yield from self._parse(self._unpacker.unpack)
            if field in self._arrays:
                raise ValueError("a field is repeated")
            if field in self._expected:
                self._arrays[field] = yield from self._read_tensors(field, self._expected[field])
            else:
                yield from self._parse(self._unpacker.unpack)
        needed = {field for field, tensors in self._expected.items() if tensors or field not in self._singles}
        if not needed <= self._arrays.keys():
            raise ValueError(f"it must be a map with {', '.join(sorted(needed))}")
        if self._unparsed or self._unpacker.read_bytes(1):
            raise ValueError("it has bytes after its last tensor")

    def _read_tensors(self, field: str, expected: Sequence[ExpectedTensor] | None) -> Steps[list[Array]]:
        count = 1 if field in self._singles else (yield from self._parse(self._unpacker.read_array_header))
        if expected is None and count > MAX_TENSORS:
            raise ValueError(f"{field} has {count} tensors, more than {MAX_TENSORS}")
        if expected is not None and count != len(expected):
            raise ValueError(f"{field} has {count} tensors, not {len(expected)}")
        if self._out is not None and count != len(self._out):
            raise _OutMismatch(f"out has {len(self._out)} arrays for {count} outputs: pass one array for each output")
        arrays = []
        for number in range(count):
            self._metadata_bytes = 0
            tensor = ANY_TENSOR if expected is None else expected[number]
            arrays.append((yield from self._read_tensor(tensor, None if self._out is None else self._out[number])))
        return arrays

    def _read_tensor(self, expected: ExpectedTensor, out: Array | None) -> Steps[Array]:
        """Read a tensor: a map with its dtype, its shape, its strides and its data."""
        metadata: dict[str, Any] = {}
        array: Array | None = None
        for _ in range((yield from self._parse(self._unpacker.read_map_header))):
            key = yield from self._parse(self._unpacker.unpack)
            if not isinstance(key, str) or key in metadata:
                raise ValueError("a key of a tensor is repeated, or is not a string")
            if key == "data":
                array = yield from self._read_data(metadata, expected, out)
                metadata[key] = None
            else:
                metadata[key] = yield from self._parse(self._unpacker.unpack)
        if array is None:
            raise ValueError("a tensor has no data")
        return array

    def _read_data(self, metadata: dict[str, Any], expected: ExpectedTensor, out: Array | None) -> Steps[Array]:
        """Read the data of a tensor into `out`, or into a new array if `out` is None."""
        name, shape, strides = _check_metadata(metadata, expected)
        dtype = dtype_from_name(name)
        nbytes = (math.prod(shape) if strides is None else strided_size(shape, strides)) * dtype.itemsize
        if self._length is not None and nbytes > self._length:
            raise ValueError(f"a tensor needs {nbytes} bytes, but the whole response has {self._length}")
        target = _empty(nbytes) if out is None else _bytes_of(out, dtype, shape)
        yield from self._read_bins(memoryview(target))  # type: ignore[arg-type]  # mypy does not know that an array is a buffer
        if out is not None:
            if wrong := find_invalid_element(name, target):
                raise ValueError(wrong)
            return out
        array = tensor_view(target, name, shape, strides)
        array.flags.writeable = strides is None
        return array

    def _read_bins(self, target: memoryview) -> Steps[None]:
        """Fill the memory of a tensor from one MessagePack bin, or from a list of bins."""
        code = yield from self._read_integer(1)
        is_list = code in ARRAY_SIZE_WIDTHS or code & 0xF0 == 0x90
        count = 1
        if is_list:
            width = ARRAY_SIZE_WIDTHS.get(code)
            count = code & 0x0F if width is None else (yield from self._read_integer(width))
            if count > MAX_BINS + len(target) // 2**20:
                raise ValueError(f"a tensor of {len(target)} bytes is in {count} pieces")
        start = 0
        for _ in range(count):
            self._metadata_bytes = 0
            if is_list:
                code = yield from self._read_integer(1)
            if code not in BIN_SIZE_WIDTHS:
                raise ValueError("the data of a tensor is not binary")
            end = start + (yield from self._read_integer(BIN_SIZE_WIDTHS[code]))
            if end > len(target):
                raise ValueError("a tensor has more bytes than its shape needs")
            yield from self._receive(target[start:end])
            start = end
        if start != len(target):
            raise ValueError(f"a tensor has {start} bytes, but its shape needs {len(target)}")

    def _receive(self, target: memoryview) -> Steps[None]:
        """Fill `target` with the next bytes of the response. These bytes do not go through the MessagePack parser."""
        buffered = self._unpacker.read_bytes(len(target))
        target[: len(buffered)] = buffered
        rest = target[len(buffered) :]
        while rest:
            if not self._unparsed:
                self._target = rest
                self._unparsed = memoryview((yield))
                rest = self._target  # some bytes of the target may have been received into `buffer()`
            count = min(len(self._unparsed), len(rest))
            rest[:count] = self._unparsed[:count]
            rest, self._unparsed = rest[count:], self._unparsed[count:]
        self._target = EMPTY_BUFFER

    def _read_integer(self, width: int) -> Steps[int]:
        """Read an unsigned big-endian integer that is `width` bytes long."""
        data = b""
        while len(data) < width:
            more = self._unpacker.read_bytes(width - len(data))
            if not more:
                yield from self._feed_unpacker()
            data += more
        return int.from_bytes(data, "big")

    def _parse(self, read: Callable[[], Any]) -> Steps[Any]:
        """Return the result of a MessagePack parser method, once the parser has enough bytes."""
        while True:
            try:
                return read()
            except msgpack.OutOfData:
                yield from self._feed_unpacker()

    def _feed_unpacker(self) -> Steps[None]:
        """Pass more bytes of the response to the MessagePack parser."""
        if self._metadata_bytes > MAX_METADATA_BYTES:
            raise ValueError(f"a tensor has more than {MAX_METADATA_BYTES} bytes besides its data")
        if not self._unparsed:
            self._unparsed = memoryview((yield))
        piece, self._unparsed = self._unparsed[:MAX_PARSED_BYTES], self._unparsed[MAX_PARSED_BYTES:]
        self._metadata_bytes += len(piece)
        self._unpacker.feed(piece)


class _OutMismatch(ValueError):
    """The exception for a valid response whose output does not fit the user's `out` array."""


def _check_metadata(
    metadata: dict[str, Any], expected: ExpectedTensor
) -> tuple[str, tuple[int, ...], tuple[int, ...] | None]:
    """Return the dtype, the shape and the strides of a tensor.

    Raises ValueError if they differ from the expected tensor.
    """
    name, shape, strides = metadata.get("dtype"), metadata.get("shape"), metadata.get("strides")
    if not isinstance(name, str) or not _is_sizes(shape) or not (strides is None or _is_sizes(strides)):
        raise ValueError("the dtype, shape or strides of a tensor are missing or invalid")
    shape, strides = tuple(shape or ()), None if strides is None else tuple(strides)
    if strides is not None and len(strides) != len(shape):
        raise ValueError(f"a tensor has {len(strides)} strides, but its shape has {axis_count(shape)}")
    if difference := expected.difference(name, shape, strides):
        raise ValueError(difference)
    return name, shape, strides


def _empty(nbytes: int) -> Array:
    try:
        return np.empty(nbytes, np.uint8)
    except (MemoryError, ValueError):
        raise ValueError(f"a tensor needs {nbytes} bytes, more than the available memory") from None


def _is_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)


def _bytes_of(out: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Return the memory of `out` as bytes. Raises _OutMismatch if the dtype or shape differs from the output's."""
    if out.shape != shape or out.dtype != dtype or to_little_endian(out) is not out:
        raise _OutMismatch(f"out is {out.dtype} {out.shape}, but the output is {dtype} {shape}")
    return out.reshape(-1).view(np.uint8)
