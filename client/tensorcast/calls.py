"""Calls without IO: what is sent, and how the bytes that come back become the result. Both clients use these."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgpack
import numpy as np
from pydantic import ValidationError

from .errors import InvalidAnswer, ServiceProblem, TensorcastError, problem_from
from .schema.codec import Media, decode, encode
from .schema.dtypes import UnknownDtype, dtype_named, impossible_element
from .schema.messages import Catalogue, CheckAnswer, CompareAnswer, Comparison, OpEntry, TranslateAnswer
from .schema.ops import OPS, Op, numpy
from .schema.problems import Problem
from .schema.shapes import MAX_SIZE, as_int, as_list
from .schema.tensors import Array, is_replicated, msgpack_parts, reach_of, to_wire, view_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Shape = Sequence[int] | int
"""Sizes; one integer stands for one axis, as in NumPy."""
SymbolicShape = Sequence[int | str] | int
Layout = Literal["dense", "strided"]
Window = Sequence[tuple[int, int]]

SEND_BYTES = 2**20
"""Pieces in which a large body is sent."""
HELD_BYTES = 16 * 2**20
"""What a reader of tensors holds besides them: the chunk in hand."""
MAX_PLAIN_BYTES = 64 * 2**20
"""The longest answer without tensors that is read."""


class Transfer(NamedTuple):
    """How far a call has come, for a progress callback."""

    direction: Literal["upload", "download"]
    done: int
    """Bytes so far."""
    total: int | None
    """Bytes in all, where they are known."""


Progress = Callable[[Transfer], None]


class Reader(Protocol[T_co]):
    """Takes an answer's bytes as they arrive."""

    def feed(self, chunk: bytes) -> None: ...
    def finish(self) -> T_co: ...


class Call(Generic[T]):
    """One call: method, path, body in parts, and what reads a good answer of `length` bytes (None: not announced)."""

    def __init__(
        self,
        method: str,
        path: str,
        parts: Sequence[bytes | memoryview],
        reader: Callable[[int | None], Reader[T]],
    ) -> None:
        self.method = method
        self.path = path
        self.parts = parts
        self.length = sum(map(len, parts))
        self.reader = reader

    @property
    def headers(self) -> dict[str, str]:
        accept = {"Accept": Media.MSGPACK.value, "Accept-Encoding": "identity"}
        if not self.parts:
            return accept
        return accept | {"Content-Type": Media.MSGPACK.value, "Content-Length": str(self.length)}

    def body(self, progress: Progress | None = None) -> Iterator[bytes | memoryview]:
        """The body's bytes in pieces of at most SEND_BYTES."""
        done = 0
        for part in self.parts:
            for start in range(0, len(part), SEND_BYTES):
                piece = part[start : start + SEND_BYTES]
                yield piece
                done += len(piece)
                if progress is not None:
                    progress(Transfer("upload", done, self.length))

    def read(self, status: int, headers: Mapping[str, str]) -> Reader[T]:
        """The reader of an answer with this status and these headers."""
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise InvalidAnswer("the answer is compressed, which was not asked for: a proxy must leave it as it is")
        announced = headers.get("content-length", "")
        length = int(announced) if announced.isdecimal() else None
        media = headers.get("content-type", "").split(";")[0].strip().lower()
        if status == 200 and media == Media.MSGPACK.value:
            return self.reader(length)
        if status >= 400:
            return _Plain(lambda body: _raise_problem(body, media, status))
        raise InvalidAnswer(
            f"status {status} with {media or 'no content type'} is no answer of this service: is the URL right?"
        )


# --- the calls ------------------------------------------------------------------------------------


def check(
    op: Op | str,
    shapes: Sequence[SymbolicShape],
    dtype: str | None,
    explain: bool,
    assume: Mapping[str, int | str] | None,
) -> Call[CheckAnswer]:
    """Shapes in, shapes or a conflict out."""
    message: dict[str, Any] = {"op": _op(op), "inputs": [_dimensions(shape) for shape in shapes]}
    if assume:
        message["assume"] = {name: _dimension(known) for name, known in assume.items()}
    if dtype is not None:
        message["dtype"] = dtype
    if explain:
        message["explain"] = True
    parts = [encode(message, Media.MSGPACK)]
    return Call("POST", "/v1/check", parts, lambda length: _Plain(lambda body: _typed(CheckAnswer, body)))


def broadcast(
    op: Op | str,
    arrays: Sequence[Any],
    layout: Layout,
    window: Window | None,
    out: Array | Sequence[Array] | None,
) -> Call[list[Array]]:
    """Arrays in, arrays out: `out` is filled where it is given."""
    if out is not None and layout == "strided":
        raise ValueError('out needs layout="dense": a strided answer holds each distinct element once')
    fields: dict[str, Any] = {"op": _op(op), "layout": layout}
    if window is not None:
        fields["window"] = [_sizes(pair) for pair in window]
    given = None if out is None else [out] if isinstance(out, np.ndarray) else list(out)
    for array in given or ():
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise ValueError("out must be writable and C-contiguous, such as np.empty makes it")
    parts = _message(fields, "inputs", [np.asarray(array) for array in arrays])
    return Call("POST", "/v1/broadcast", parts, lambda length: TensorReader("outputs", length, given))


def backprop(op: Op | str, shapes: Sequence[Shape], gradients: Sequence[Any]) -> Call[list[Array]]:
    """Gradients of the outputs in, gradients of the inputs out."""
    fields = {"op": _op(op), "inputs": [_sizes(shape) for shape in shapes]}
    parts = _message(fields, "gradients", [np.asarray(array) for array in gradients])
    return Call("POST", "/v1/backprop", parts, lambda length: TensorReader("gradients", length, None))


def compare(shapes: Sequence[Shape], target: Shape | None) -> Call[list[Comparison]]:
    """Shapes in, every framework's verdict out."""
    message: dict[str, Any] = {"inputs": [_sizes(shape) for shape in shapes]}
    if target is not None:
        message["shape"] = _sizes(target)
    parts = [encode(message, Media.MSGPACK)]
    return Call("POST", "/v1/compare", parts, lambda length: _Plain(lambda body: _typed(CompareAnswer, body).results))


def translate(op: Op | str, shapes: Sequence[Shape], to: str) -> Call[TranslateAnswer]:
    """Shapes in, the same operation in another framework's words out."""
    message = {"op": _op(op), "inputs": [_sizes(shape) for shape in shapes], "to": to}
    parts = [encode(message, Media.MSGPACK)]
    return Call("POST", "/v1/translate", parts, lambda length: _Plain(lambda body: _typed(TranslateAnswer, body)))


def ops() -> Call[list[OpEntry]]:
    """The catalogue."""
    return Call("GET", "/v1/ops", [], lambda length: _Plain(lambda body: _typed(Catalogue, body).ops))


def broadcast_shape(answer: CheckAnswer) -> tuple[int, ...]:
    """The one shape of an answer's outputs. Raises IncompatibleShapes."""
    if answer.conflict is not None:
        conflict = answer.conflict.model_dump()
        raise problem_from(
            {"code": "incompatible-shapes", "detail": answer.conflict.message, "conflict": conflict},
            status=422,
        )
    if not answer.outputs:
        raise InvalidAnswer("the answer has no output")
    return tuple(map(int, answer.outputs[0].shape))


def single(arrays: list[Array]) -> Array:
    """The one output of an op that has one."""
    if len(arrays) != 1:
        raise InvalidAnswer(f"the answer has {len(arrays)} outputs, not one")
    return arrays[0]


NUMPY = numpy.broadcast_arrays()


def to_shape(shape: Shape) -> Op:
    """NumPy's op for this target."""
    return numpy.broadcast_to(shape=_sizes(shape))


def _sizes(shape: Shape) -> list[int]:
    """Sizes as integers that the wire holds. Raises ValueError for what is none: 2.5, True, "34"."""
    return list(map(_size, _listed(shape)))


def _dimensions(shape: SymbolicShape) -> list[int | str]:
    """Sizes as integers that the wire holds, and symbols as they are. Raises ValueError for what is neither."""
    return list(map(_dimension, _listed(shape)))


def _dimension(size: int | str) -> int | str:
    return size if isinstance(size, str) else _size(size)


def _listed(shape: SymbolicShape) -> list[Any]:
    if hasattr(shape, "dtype") and getattr(shape, "ndim", 1) != 1:
        raise ValueError("an array stands where a shape belongs: pass its .shape")
    return [shape] if isinstance(shape, int) else list(as_list(shape))


def _size(value: Any) -> int:
    size = as_int(value)
    if not -MAX_SIZE <= size <= MAX_SIZE:
        raise ValueError("a size has at most 63 bits")
    return size


def _op(op: Op | str) -> Any:
    if isinstance(op, str):
        return op
    if not isinstance(op, Op):
        raise TypeError(
            f"the first argument is an op, such as tensorcast.numpy.broadcast_to(shape=(4, 3)) "
            f"or one of the names {', '.join(OPS)}; not {type(op).__name__}"
        )
    return op.model_dump(exclude_none=True)


def _message(fields: Mapping[str, Any], last: str, arrays: Sequence[Array]) -> list[bytes | memoryview]:
    """A MessagePack map of small fields and then tensors, as parts; arrays are sent as they lie in memory."""
    packer = msgpack.Packer()
    head = packer.pack_map_header(len(fields) + 1)
    for name, value in fields.items():
        head += packer.pack(name) + packer.pack(value)
    parts: list[bytes | memoryview] = [head + packer.pack(last) + packer.pack_array_header(len(arrays))]
    for array in arrays:
        try:
            parts += msgpack_parts(array, strided=any(is_replicated(array)))
        except UnknownDtype as error:
            raise TypeError(str(error)) from None
    if sum(map(len, parts)) <= SEND_BYTES:
        return [b"".join(parts)]
    return parts


# --- answers --------------------------------------------------------------------------------------


class _Plain(Generic[T]):
    """An answer that is read whole."""

    def __init__(self, finish: Callable[[bytes], T]) -> None:
        self._body = bytearray()
        self._finish = finish

    def feed(self, chunk: bytes) -> None:
        self._body += chunk
        if len(self._body) > MAX_PLAIN_BYTES:
            raise InvalidAnswer(f"the answer has more than {MAX_PLAIN_BYTES} bytes, which no answer of this kind has")

    def finish(self) -> T:
        return self._finish(bytes(self._body))


def _typed(model: Any, body: bytes) -> Any:
    try:
        return model.model_validate(decode(body, Media.MSGPACK))
    except (Problem, ValidationError) as error:
        raise InvalidAnswer(f"the answer does not fit the schema: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _raise_problem(body: bytes, media: str, status: int) -> Any:
    """Raise the problem that an answer holds."""
    try:
        document = decode(body, Media.JSON if media.endswith("json") else Media.MSGPACK)
        problem = problem_from(document, status) if isinstance(document, dict) and "code" in document else None
    except (ValueError, ValidationError, Problem):
        problem = None
    raise problem or InvalidAnswer(f"status {status} without a problem document: is this URL a tensorcast service?")


class TensorReader:
    """Reads {field: [tensor, ...]} in MessagePack: each tensor's bytes go straight to their array."""

    def __init__(self, field: str, length: int | None, out: Sequence[Array] | None) -> None:
        self._field = field
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
        self._arrays: list[Array] = []
        self._done = False
        self._failed = ""
        self._steps = self._read()
        next(self._steps)

    def feed(self, chunk: bytes) -> None:
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

    def finish(self) -> list[Array]:
        if self._failed:
            raise InvalidAnswer(self._failed)
        if not self._done:
            raise InvalidAnswer("the answer ends before its last tensor does")
        return self._arrays

    def _read(self) -> Generator[None, bytes, None]:
        if (yield from self._take(self._unpacker.read_map_header)) != 1 or (yield from self._value()) != self._field:
            raise ValueError(f"it is not a map of {self._field}")
        count = yield from self._take(self._unpacker.read_array_header)
        if self._out is not None and count != len(self._out):
            raise _CallersFault(f"out has {len(self._out)} arrays for {count} outputs")
        for number in range(count):
            self._arrays.append((yield from self._tensor(None if self._out is None else self._out[number])))
        if self._unpacker.read_bytes(1):
            raise ValueError("bytes follow it")

    def _take(self, read: Callable[[], Any]) -> Generator[None, bytes, Any]:
        while True:
            try:
                return read()
            except msgpack.OutOfData:
                self._unpacker.feed((yield))

    def _value(self) -> Generator[None, bytes, Any]:
        return (yield from self._take(self._unpacker.unpack))

    def _bytes(self, count: int) -> Generator[None, bytes, bytes]:
        taken = b""
        while len(taken) < count:
            more = self._unpacker.read_bytes(count - len(taken))
            if not more:
                self._unpacker.feed((yield))
            taken += more
        return taken

    def _tensor(self, out: Array | None) -> Generator[None, bytes, Array]:
        fields: dict[str, Any] = {}
        for _ in range((yield from self._take(self._unpacker.read_map_header))):
            key = yield from self._value()
            if not isinstance(key, str):
                raise ValueError("a key of a tensor is not a string")
            if key == "data":
                return (yield from self._data(fields, out))
            fields[key] = yield from self._value()
        raise ValueError("a tensor has no data")

    def _data(self, fields: dict[str, Any], out: Array | None) -> Generator[None, bytes, Array]:
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

    def _fill(self, target: memoryview) -> Generator[None, bytes, None]:
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

    def _receive(self, target: memoryview) -> Generator[None, bytes, None]:
        """Fill a buffer with the next bytes, past the unpacker."""
        held = self._unpacker.read_bytes(len(target))
        done = len(held)
        target[:done] = held
        while done < len(target):
            chunk = memoryview((yield))
            part = min(len(chunk), len(target) - done)
            target[done : done + part] = chunk[:part]
            done += part
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


# --- attempts -------------------------------------------------------------------------------------


LONGEST_RETRY_AFTER = 3600.0


class Attempts:
    """One call's deadline, and whether and when it is tried again. All requests are free of side effects."""

    FIRST_DELAY = 0.1
    LONGEST_DELAY = 5.0

    def __init__(self, timeout: float | None, retries: int) -> None:
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self.timeout = timeout
        self._left = retries
        self._delay = self.FIRST_DELAY

    def remaining(self) -> float | None:
        """Seconds to the deadline, not below 0; None where there is none."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    @property
    def late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def delay_after(self, error: TensorcastError, retry_after: str | None = None) -> float:
        """Seconds to wait before the next attempt. Raises the error itself where there is none."""
        retryable = not isinstance(error, ServiceProblem) or error.status in (429, 502, 503, 504)
        if self._left <= 0 or not retryable:
            raise error
        self._left -= 1
        # Half of the delay is jitter, so that clients that failed together do not come back together.
        delay = max(self._delay * random.uniform(0.5, 1.0), _seconds(retry_after))
        self._delay = min(self._delay * 2, self.LONGEST_DELAY)
        remaining = self.remaining()
        if remaining is not None and delay >= remaining:
            raise error
        return delay


def _seconds(retry_after: str | None) -> float:
    """What Retry-After asks for, in seconds from now; 0 where it says nothing that can be read."""
    if not retry_after:
        return 0.0
    try:
        if retry_after.strip().isdecimal():
            return min(float(retry_after), LONGEST_RETRY_AFTER)
        return min(max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0), LONGEST_RETRY_AFTER)
    except (ValueError, OverflowError):
        return 0.0
