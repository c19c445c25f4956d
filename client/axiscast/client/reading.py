"""Answers without IO: the bytes that come back become the result while they arrive."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Sequence
from typing import Any, Generic, Protocol, TypeVar

import httpx
import msgpack
import numpy as np
from pydantic import ValidationError

from ..errors import AxiscastError, InvalidAnswer, UnexpectedStatus, problem_from
from ..wire.codec import Encoding, decode
from ..wire.dtypes import dtype_from_name, find_invalid_element
from ..wire.prescan import ReserveMemory
from ..wire.problems import Problem
from ..wire.tensors import Array, bin_header, msgpack_tensor_header, strided_size, tensor_view, to_little_endian
from .expected import MAX_TENSORS, Expected, Fields

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Chunk = bytes | bytearray | memoryview
NOWHERE = memoryview(b"")

MAX_SMALL_BYTES = 4 * 2**10
"""The most that a tensor has besides its data: 64 sizes and 64 strides take some 1,200 bytes."""
PIECE_BYTES = 2**10
"""The most bytes that are parsed at once where small fields may stand: each may become a hundred bytes in memory."""
MAX_BINS = 1000
"""Bins of one tensor, and one more for each MiB of it: each costs some microseconds, whatever it holds."""
MAX_PROBLEM_BYTES = 2**20
"""The longest problem document that is read: it names one thing that is wrong."""
MAX_PLAIN_BYTES = 64 * 2**20
"""The longest answer without tensors that is read, whatever was asked."""
PLAIN_BYTES, PLAIN_BYTES_AN_INPUT = 4 * 2**20, 16 * 2**10
"""The longest that is read of a question about so many inputs: a thousand conditions, a catalogue or a program; and for
each input 64 axes, with sizes of 19 digits and names of a hundred characters."""
MEMORY_A_BYTE = 16
"""Bytes of memory that a byte of them may take, all in all: a number takes more, a name less."""
MAX_PLAIN_MEMORY = 512 * 2**20
"""Bytes of memory that any of them may take."""


def plain_bytes(inputs: int) -> int:
    """The longest answer without tensors to a question about so many inputs."""
    return min(PLAIN_BYTES + inputs * PLAIN_BYTES_AN_INPUT, MAX_PLAIN_BYTES)


class Reader(Protocol[T_co]):
    """Takes an answer's bytes as they arrive."""

    def buffer(self) -> memoryview:
        """Where the next bytes belong, for those who can receive them there; empty: `feed` takes them."""
        ...

    def received(self, count: int) -> None:
        """Take the bytes that were written into `buffer()`."""
        ...

    def feed(self, chunk: Chunk) -> None: ...
    def finish(self) -> T_co: ...


class Plain(Generic[T]):
    """An answer that is read whole: of so many bytes at the most, which may take so much memory as values.

    `too_long` is raised for a longer one instead of InvalidAnswer.
    """

    def __init__(
        self, most: int, finish: Callable[[bytes, ReserveMemory], T], too_long: AxiscastError | None = None
    ) -> None:
        self._body = bytearray()
        self._most = most
        self._finish = finish
        self._too_long = too_long

    def buffer(self) -> memoryview:
        return NOWHERE

    def received(self, count: int) -> None:
        raise AssertionError("there is no buffer")

    def feed(self, chunk: Chunk) -> None:
        if len(self._body) + len(chunk) > self._most:
            raise self._too_long or InvalidAnswer(
                f"the answer has more than {self._most} bytes, which no answer of this kind has"
            )
        self._body += chunk

    def finish(self) -> T:
        return self._finish(bytes(self._body), self._reserve)

    def _reserve(self, nbytes: int) -> None:
        if nbytes > min(self._most * MEMORY_A_BYTE, MAX_PLAIN_MEMORY):
            raise InvalidAnswer(f"the answer's values take {nbytes} bytes of memory, which no answer of this kind does")


def typed(model: Any, inputs: int, finish: Callable[[Any], T]) -> Plain[T]:
    """Reads an answer of this model to a question about so many inputs, and makes the result of it."""

    def read(body: bytes, reserve: ReserveMemory) -> T:
        try:
            return finish(model.model_validate(decode(body, Encoding.MSGPACK, reserve, is_answer=True)))
        except (Problem, ValidationError) as error:
            raise InvalidAnswer(f"the answer does not fit the schema: {_first_line(error)}") from None

    return Plain(plain_bytes(inputs), read)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def problem(media: str, status: int) -> Plain[Any]:
    """Reads the problem that an answer holds, and raises it; UnexpectedStatus if there is none."""
    unexpected = unexpected_status(status)

    def read(body: bytes, reserve: ReserveMemory) -> Any:
        try:
            document = decode(body, Encoding.JSON if media.endswith("json") else Encoding.MSGPACK, reserve)
            is_one = isinstance(document, dict) and isinstance(document.get("code"), str)
            found = problem_from(document, status) if is_one else None
        except (ValueError, Problem):
            found = None
        raise found or unexpected

    return Plain(MAX_PROBLEM_BYTES, read, unexpected)


def unexpected_status(status: int) -> UnexpectedStatus:
    """Return the exception of a response with this status and no problem document."""
    said = f"{status} {httpx.codes.get_reason_phrase(status)}".strip()
    advice = "redirects are not followed" if 300 <= status < 400 else "a proxy may have sent it"
    advice += ", or the URL is not that of an axiscast service"
    return UnexpectedStatus(f"status {said} without a problem document: {advice}", status)


ANYTHING = Expected()

Arrays = dict[str, list[Array]]
"""The tensors of an answer, by field."""


class TensorReader(Generic[T]):
    """Reads {field: [tensor, ...], ...} in MessagePack: each tensor's bytes go straight to their array.

    `singles` are fields that hold one tensor and no list. Nothing is kept but the tensors that are expected; all else
    is bounded before it is parsed.
    """

    def __init__(
        self,
        expected: Fields,
        length: int | None,
        finish: Callable[[Arrays], T],
        out: Sequence[Array] | None = None,
        singles: Collection[str] = (),
    ) -> None:
        self._expected = expected
        self._singles = singles
        self._finish = finish
        self._length = length
        self._out = out
        self._unpacker: Any = None
        self._unread = NOWHERE
        """The part of the chunk in hand that the unpacker has not been fed."""
        self._small = 0
        """Bytes that it has been fed for the tensor in hand."""
        self._arrays: Arrays = {}
        self._wanted = NOWHERE
        self._done = False
        self._failed = ""
        self._steps: Generator[None, Chunk, None] | None = None

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
            if self._steps is None:
                if len(chunk) == self._length and self._take_whole(chunk):
                    self._done = True
                    return
                # Older releases allocate what an array's header announces.
                self._unpacker = msgpack.Unpacker(
                    max_buffer_size=4 * MAX_SMALL_BYTES,
                    max_bin_len=0,
                    max_ext_len=0,
                    max_array_len=1000,
                    max_map_len=100,
                )
                self._steps = self._read()
                next(self._steps)
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

    def _take_whole(self, body: Chunk) -> bool:
        """Take an answer of one dense tensor that came in one piece, if it is what is expected to the byte, in the form
        that this library writes: most short ones are."""
        tensors = next(iter(self._expected.values()))
        if len(self._expected) != 1 or self._singles or self._out is not None or tensors is None or len(tensors) != 1:
            return False
        (field,), (name, shape, strided, _) = self._expected, tensors[0]
        sizes = tuple(size for size in shape or () if size is not None)
        if name is None or shape is None or len(sizes) < len(shape) or strided is not False:
            return False
        nbytes = math.prod(sizes) * dtype_from_name(name).itemsize
        head = msgpack.packb({field: [None]})[:-1] + msgpack_tensor_header(name, sizes, None, 1) + bin_header(nbytes)
        if len(body) != len(head) + nbytes or body[: len(head)] != head:
            return False
        array = tensor_view(bytearray(body[len(head) :]), name, sizes, None)
        array.flags.writeable = True
        self._arrays[field] = [array]
        return True

    def _read(self) -> Generator[None, Chunk, None]:
        for _ in range((yield from self._take(self._unpacker.read_map_header))):
            field = yield from self._value()
            if field in self._arrays:
                raise ValueError("a field comes twice")
            if field in self._expected:
                self._arrays[field] = yield from self._tensors(field, self._expected[field])
            else:
                yield from self._value()
        if len(self._arrays) != len(self._expected):
            raise ValueError(f"it is not a map of {', '.join(sorted(self._expected))}")
        if self._unread or self._unpacker.read_bytes(1):
            raise ValueError("bytes follow it")

    def _tensors(self, field: str, expected: Sequence[Expected] | None) -> Generator[None, Chunk, list[Array]]:
        count = 1 if field in self._singles else (yield from self._take(self._unpacker.read_array_header))
        if count > MAX_TENSORS if expected is None else count != len(expected):
            raise ValueError(
                f"{field} has {count} tensors" + (f", not {len(expected)}" if expected is not None else "")
            )
        if self._out is not None and count != len(self._out):
            raise _CallersFault(f"out has {len(self._out)} arrays for {count} outputs")
        arrays = []
        for number in range(count):
            wanted = ANYTHING if expected is None else expected[number]
            arrays.append((yield from self._tensor(wanted, None if self._out is None else self._out[number])))
        return arrays

    def _take(self, read: Callable[[], Any]) -> Generator[None, Chunk, Any]:
        while True:
            try:
                return read()
            except msgpack.OutOfData:
                yield from self._feed()

    def _feed(self) -> Generator[None, Chunk, None]:
        """Give the unpacker some more bytes."""
        if self._small > MAX_SMALL_BYTES:
            raise ValueError(f"a tensor has more than {MAX_SMALL_BYTES} bytes besides its data")
        if not self._unread:
            self._unread = memoryview((yield))
        piece, self._unread = self._unread[:PIECE_BYTES], self._unread[PIECE_BYTES:]
        self._small += len(piece)
        self._unpacker.feed(piece)

    def _value(self) -> Generator[None, Chunk, Any]:
        return (yield from self._take(self._unpacker.unpack))

    def _bytes(self, count: int) -> Generator[None, Chunk, bytes]:
        taken = b""
        while len(taken) < count:
            more = self._unpacker.read_bytes(count - len(taken))
            if not more:
                yield from self._feed()
            taken += more
        return taken

    def _tensor(self, expected: Expected, out: Array | None) -> Generator[None, Chunk, Array]:
        fields: dict[str, Any] = {}
        array: Array | None = None
        self._small = 0
        for _ in range((yield from self._take(self._unpacker.read_map_header))):
            key = yield from self._value()
            if not isinstance(key, str) or key in fields:
                raise ValueError("a key of a tensor is not a string, or comes twice")
            if key == "data":
                array = yield from self._data(fields, expected, out)
            fields[key] = None if key == "data" else (yield from self._value())
        if array is None:
            raise ValueError("a tensor has no data")
        return array

    def _data(self, fields: dict[str, Any], expected: Expected, out: Array | None) -> Generator[None, Chunk, Array]:
        name, shape, strides = fields.get("dtype"), fields.get("shape"), fields.get("strides")
        if not isinstance(name, str) or not _is_sizes(shape) or not (strides is None or _is_sizes(strides)):
            raise ValueError("a tensor's dtype, shape or strides are missing or wrong")
        shape, strides = tuple(shape or ()), None if strides is None else tuple(strides)
        if strides is not None and len(strides) != len(shape):
            raise ValueError("a tensor's strides do not fit its shape")
        if refusal := expected.refusal(name, shape, strides):
            raise ValueError(refusal)
        dtype = dtype_from_name(name)
        nbytes = (math.prod(shape) if strides is None else strided_size(shape, strides)) * dtype.itemsize
        if self._length is not None and nbytes > self._length:
            raise ValueError(f"a tensor claims {nbytes} bytes of an answer of {self._length}")
        target = _empty(nbytes) if out is None else _raw_of(out, dtype, shape)
        yield from self._fill(memoryview(target))  # type: ignore[arg-type]
        if out is not None:
            if wrong := find_invalid_element(name, target):
                raise ValueError(wrong)
            return out
        array = tensor_view(target, name, shape, strides)
        array.flags.writeable = strides is None
        return array

    def _fill(self, target: memoryview) -> Generator[None, Chunk, None]:
        """Fill a tensor's bytes from its bin or list of bins."""
        (first,) = yield from self._bytes(1)
        bins = 1
        if first in (0xDC, 0xDD) or first & 0xF0 == 0x90:
            width = {0xDC: 2, 0xDD: 4}.get(first, 0)
            bins = int.from_bytes((yield from self._bytes(width)), "big") if width else first & 0x0F
            if bins > MAX_BINS + len(target) // 2**20:
                raise ValueError(f"a tensor of {len(target)} bytes is in {bins} pieces")
            first = -1
        start = 0
        for _ in range(bins):
            self._small = 0
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
        rest = target[len(held) :]
        while rest:
            if not self._unread:
                self._wanted = rest
                self._unread = memoryview((yield))
                rest = self._wanted
            part = min(len(self._unread), len(rest))
            rest[:part] = self._unread[:part]
            rest, self._unread = rest[part:], self._unread[part:]
        self._wanted = NOWHERE


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
    if out.shape != shape or out.dtype != dtype or to_little_endian(out) is not out:
        raise _CallersFault(f"out is {out.dtype} {out.shape}, and the output is {dtype} {shape}")
    return out.reshape(-1).view(np.uint8)
