"""Answers without IO: the bytes that come back become the result while they arrive."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgpack
import numpy as np
from pydantic import ValidationError

from .errors import InvalidAnswer, problem_from
from .schema.codec import Media, decode
from .schema.dtypes import dtype_named, impossible_element
from .schema.problems import Problem
from .schema.tensors import Array, reach_of, to_wire, view_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Chunk = bytes | bytearray | memoryview
NOWHERE = memoryview(b"")

HELD_BYTES = 16 * 2**20
"""What a reader of tensors holds besides them: the chunk in hand."""
MAX_PLAIN_BYTES = 64 * 2**20
"""The longest answer without tensors that is read."""


class Reader(Protocol[T_co]):
    """Takes an answer's bytes as they arrive."""

    def buffer(self) -> memoryview:
        """Where the next bytes belong, for those who can receive them there; empty: `feed` takes them."""
        ...

    def received(self, count: int) -> None:
        """So many bytes have been put into `buffer()`."""
        ...

    def feed(self, chunk: Chunk) -> None: ...
    def finish(self) -> T_co: ...


class Plain(Generic[T]):
    """An answer that is read whole."""

    def __init__(self, finish: Callable[[bytes], T]) -> None:
        self._body = bytearray()
        self._finish = finish

    def buffer(self) -> memoryview:
        return NOWHERE

    def received(self, count: int) -> None:
        raise AssertionError("there is no buffer")

    def feed(self, chunk: Chunk) -> None:
        self._body += chunk
        if len(self._body) > MAX_PLAIN_BYTES:
            raise InvalidAnswer(f"the answer has more than {MAX_PLAIN_BYTES} bytes, which no answer of this kind has")

    def finish(self) -> T:
        return self._finish(bytes(self._body))


def typed(model: Any, body: bytes) -> Any:
    try:
        return model.model_validate(decode(body, Media.MSGPACK))
    except (Problem, ValidationError) as error:
        raise InvalidAnswer(f"the answer does not fit the schema: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def raise_problem(body: bytes, media: str, status: int) -> Any:
    """Raise the problem that an answer holds."""
    try:
        document = decode(body, Media.JSON if media.endswith("json") else Media.MSGPACK)
        problem = problem_from(document, status) if isinstance(document, dict) and "code" in document else None
    except (ValueError, ValidationError, Problem):
        problem = None
    raise problem or InvalidAnswer(f"status {status} without a problem document: is this URL a tensorcast service?")


Arrays = dict[str, list[Array]]
"""The tensors of an answer, by field."""


class TensorReader(Generic[T]):
    """Reads {field: [tensor, ...], ...} in MessagePack: each tensor's bytes go straight to their array.

    `singles` are fields that hold one tensor and no list.
    """

    def __init__(
        self,
        field: str,
        length: int | None,
        finish: Callable[[Arrays], T],
        out: Sequence[Array] | None = None,
        singles: Collection[str] = (),
    ) -> None:
        self._fields = {field, *singles}
        self._singles = singles
        self._finish = finish
        self._length = length
        self._out = out
        # All but data is small. Older releases allocate what an array's header announces.
        self._unpacker = msgpack.Unpacker(
            max_buffer_size=HELD_BYTES,
            max_str_len=1000,
            max_bin_len=0,
            max_ext_len=0,
            max_array_len=1000,
            max_map_len=100,
        )
        self._arrays: Arrays = {}
        self._wanted = NOWHERE
        self._done = False
        self._failed = ""
        self._steps = self._read()
        next(self._steps)

    def buffer(self) -> memoryview:
        return self._wanted

    def received(self, count: int) -> None:
        self._wanted = self._wanted[count:]
        if not self._wanted:
            self.feed(b"")

    def feed(self, chunk: Chunk) -> None:
        if self._done:
            raise InvalidAnswer("bytes follow the answer")
        if self._failed:
            raise InvalidAnswer(self._failed)
        try:
            self._steps.send(chunk)
        except StopIteration:
            self._done = True
        except (msgpack.UnpackException, ValueError, TypeError) as error:
            if isinstance(error, _CallersFault):
                raise ValueError(str(error)) from None
            self._failed = f"the answer can't be read: {_first_line(error)}"
            raise InvalidAnswer(self._failed) from None

    def finish(self) -> T:
        if self._failed:
            raise InvalidAnswer(self._failed)
        if not self._done:
            raise InvalidAnswer("the answer ends before its last tensor does")
        return self._finish(self._arrays)

    def _read(self) -> Generator[None, Chunk, None]:
        count = yield from self._take(self._unpacker.read_map_header)
        for _ in range(count):
            field = yield from self._value()
            if count != len(self._fields) or field not in self._fields or field in self._arrays:
                raise ValueError(f"it is not a map of {', '.join(sorted(self._fields))}")
            self._arrays[field] = yield from self._tensors(field)
        if len(self._arrays) != len(self._fields):
            raise ValueError(f"it is not a map of {', '.join(sorted(self._fields))}")
        if self._unpacker.read_bytes(1):
            raise ValueError("bytes follow it")

    def _tensors(self, field: str) -> Generator[None, Chunk, list[Array]]:
        if field in self._singles:
            return [(yield from self._tensor(None))]
        count = yield from self._take(self._unpacker.read_array_header)
        if self._out is not None and count != len(self._out):
            raise _CallersFault(f"out has {len(self._out)} arrays for {count} outputs")
        arrays = []
        for number in range(count):
            arrays.append((yield from self._tensor(None if self._out is None else self._out[number])))
        return arrays

    def _take(self, read: Callable[[], Any]) -> Generator[None, Chunk, Any]:
        while True:
            try:
                return read()
            except msgpack.OutOfData:
                self._unpacker.feed((yield))

    def _value(self) -> Generator[None, Chunk, Any]:
        return (yield from self._take(self._unpacker.unpack))

    def _bytes(self, count: int) -> Generator[None, Chunk, bytes]:
        taken = b""
        while len(taken) < count:
            more = self._unpacker.read_bytes(count - len(taken))
            if not more:
                self._unpacker.feed((yield))
            taken += more
        return taken

    def _tensor(self, out: Array | None) -> Generator[None, Chunk, Array]:
        fields: dict[str, Any] = {}
        for _ in range((yield from self._take(self._unpacker.read_map_header))):
            key = yield from self._value()
            if not isinstance(key, str):
                raise ValueError("a key of a tensor is not a string")
            if key == "data":
                return (yield from self._data(fields, out))
            fields[key] = yield from self._value()
        raise ValueError("a tensor has no data")

    def _data(self, fields: dict[str, Any], out: Array | None) -> Generator[None, Chunk, Array]:
        name, shape, strides = fields.get("dtype"), fields.get("shape"), fields.get("strides")
        if not isinstance(name, str) or not _is_sizes(shape) or not (strides is None or _is_sizes(strides)):
            raise ValueError("a tensor's dtype, shape or strides are missing or wrong")
        shape, strides = tuple(shape or ()), None if strides is None else tuple(strides)
        if strides is not None and len(strides) != len(shape):
            raise ValueError("a tensor's strides do not fit its shape")
        if out is not None and strides is not None:
            raise ValueError("a tensor is strided where a dense one was asked for")
        dtype = dtype_named(name)
        nbytes = (math.prod(shape) if strides is None else reach_of(shape, strides)) * dtype.itemsize
        if self._length is not None and nbytes > self._length:
            raise ValueError(f"a tensor claims {nbytes} bytes of an answer of {self._length}")
        target = _empty(nbytes) if out is None else _raw_of(out, dtype, shape)
        yield from self._fill(memoryview(target))  # type: ignore[arg-type]
        if out is not None:
            if wrong := impossible_element(name, target):
                raise ValueError(wrong)
            return out
        array = view_of(target, name, shape, strides)
        array.flags.writeable = strides is None
        return array

    def _fill(self, target: memoryview) -> Generator[None, Chunk, None]:
        """Fill a tensor's bytes from its bin or list of bins."""
        (first,) = yield from self._bytes(1)
        bins = 1
        if first in (0xDC, 0xDD) or first & 0xF0 == 0x90:
            width = {0xDC: 2, 0xDD: 4}.get(first, 0)
            bins = int.from_bytes((yield from self._bytes(width)), "big") if width else first & 0x0F
            first = -1
        start = 0
        for _ in range(bins):
            if first < 0:
                (first,) = yield from self._bytes(1)
            if not 0xC4 <= first <= 0xC6:
                raise ValueError("a tensor's data is no bin")
            size = int.from_bytes((yield from self._bytes(1 << (first - 0xC4))), "big")
            if start + size > len(target):
                raise ValueError("a tensor has more bytes than its shape")
            yield from self._receive(target[start : start + size])
            start, first = start + size, -1
        if start != len(target):
            raise ValueError(f"a tensor has {start} bytes, and its shape needs {len(target)}")

    def _receive(self, target: memoryview) -> Generator[None, Chunk, None]:
        """Fill a buffer with the next bytes, past the unpacker."""
        held = self._unpacker.read_bytes(len(target))
        target[: len(held)] = held
        self._wanted = target[len(held) :]
        while self._wanted:
            chunk = memoryview((yield))
            part = min(len(chunk), len(self._wanted))
            self._wanted[:part] = chunk[:part]
            self._wanted = self._wanted[part:]
            if part < len(chunk):
                self._unpacker.feed(chunk[part:])


class _CallersFault(ValueError):
    """`out` does not fit: not the answer's fault."""


def _empty(nbytes: int) -> Array:
    try:
        return np.empty(nbytes, np.uint8)
    except (MemoryError, ValueError):
        raise ValueError(f"a tensor claims {nbytes} bytes, more than there is memory") from None


def _is_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)


def _raw_of(out: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """The bytes of the caller's array. Raises _CallersFault where it is another than the output."""
    if out.shape != shape or out.dtype != dtype or to_wire(out) is not out:
        raise _CallersFault(f"out is {out.dtype} {out.shape}, and the output is {dtype} {shape}")
    return out.reshape(-1).view(np.uint8)
