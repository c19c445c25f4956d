"""Calls without IO: what is sent, and what reads the answer. Both clients use these."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import httpx
import msgpack

from ..errors import InvalidAnswer, InvalidRequest, ServiceProblem, TensorcastError, UnknownOp, problem_from
from ..messages import Catalogue, CheckAnswer, CheckRequest, CompareAnswer, Comparison, OpEntry, TranslateAnswer
from ..messages.arguments import (
    Shape,
    SymbolicShape,
    batch_question,
    check_question,
    compare_question,
    plain_op,
    sizes,
)
from ..messages.tensors import CheckBatchAnswer, CheckedColumns, Failed, column
from ..ops import OPS, Op, numpy
from ..plan.alignment import Incompatible
from ..schema.codec import Media
from ..schema.dtypes import UnknownDtype
from ..schema.problems import Problem
from ..schema.tensors import Array, is_replicated, msgpack_parts
from . import expected
from .arrays import Axis, Like, array_of, gradient_axes, judge_targets, maker_of, output_axes, overlap, target_of
from .reading import Arrays, Chunk, Reader, TensorReader, problem, typed
from .window import Window, bounds

__all__ = ["Transfer"]

T = TypeVar("T")
Layout = Literal["dense", "strided"]

MSGPACK = Media.MSGPACK.value
SEND_BYTES = 2**20 - 2**12
"""Pieces in which a large body is sent: a page less than what Linux takes more slowly."""


class Transfer(NamedTuple):
    """How far a call has come, for a progress callback."""

    direction: Literal["upload", "download"]
    done: int
    """Bytes so far."""
    total: int | None
    """Bytes in all, where they are known."""


Progress = Callable[[Transfer], None]


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
        self.headers = [(b"Accept", MSGPACK.encode()), (b"Accept-Encoding", b"identity")]
        if parts:
            self.headers += [(b"Content-Type", MSGPACK.encode()), (b"Content-Length", b"%d" % self.length)]

    def read(self, status: int, headers: Mapping[str, str], length: int | None) -> Reader[T]:
        """The reader of an answer with this status and these headers, and so many bytes."""
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise InvalidAnswer("the answer is compressed, which was not asked for: a proxy must leave it as it is")
        media = headers.get("content-type", "").split(";")[0].strip().lower()
        if status == 200 and media == MSGPACK:
            try:
                return self.reader(length)
            except (Incompatible, ValueError, TypeError, LookupError, ArithmeticError):
                raise InvalidAnswer("the service answered a question that has no answer") from None
        if status >= 400:
            return problem(media, status)
        raise InvalidAnswer(
            f"status {status} with {media[:60] or 'no content type'} is no answer of this service: is the URL right?"
        )


def authorization(api_key: str) -> str:
    """The Authorization header of a key. Raises ValueError, without the key, for what is none."""
    if not (api_key.isascii() and api_key.isprintable() and api_key and " " not in api_key):
        raise ValueError("api_key must be printable ASCII without spaces or line ends: has one been read from a file?")
    return f"Bearer {api_key}"


class Attempt(httpx.SyncByteStream, httpx.AsyncByteStream, Generic[T]):
    """One attempt at a call. It is the body of its request, from the beginning as often as it is asked for, and takes
    the answer: the head by `begin`, then each byte once, by `feed` or into `buffer()`."""

    buffer: Callable[[], memoryview]
    """Where the next bytes belong (see Reader.buffer), once the head is there."""
    _reader: Reader[T]

    def __init__(self, call: Call[T], progress: Progress | None) -> None:
        self.call = call
        self._progress = progress
        self._done = 0
        self._total: int | None = None
        self.headers: Mapping[str, str] | None = None
        """The answer's, by their names in lower case, once the head is there."""

    def __iter__(self) -> Iterator[bytes]:
        """The body in pieces of at most SEND_BYTES."""
        done = 0
        for part in self.call.parts:
            for start in range(0, len(part), SEND_BYTES):
                piece = part[start : start + SEND_BYTES]
                yield piece  # type: ignore[misc]  # buffers pass as they are
                done += len(piece)
                if self._progress is not None:
                    self._progress(Transfer("upload", done, self.call.length))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head; the headers' names are in lower case. Raises InvalidAnswer."""
        self.headers = headers
        length = headers.get("content-length", "")
        self._total = int(length) if length.isdecimal() and len(length) < 20 else None
        self._reader = self.call.read(status, headers, self._total)
        self.buffer = self._reader.buffer

    def received(self, count: int) -> None:
        """So many bytes have been put into `buffer()`."""
        self._reader.received(count)
        self._count(count)

    def feed(self, chunk: Chunk) -> None:
        """Take the next bytes."""
        self._reader.feed(chunk)
        self._count(len(chunk))

    def _count(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(Transfer("download", self._done, self._total))

    def finish(self) -> T:
        """The result, once all bytes are there. Raises InvalidAnswer, or the ServiceProblem that came."""
        return self._reader.finish()

    def tell(self, error: TensorcastError) -> str | None:
        """Let the error of this attempt say which request it is about, and whether the service is older than this
        client. Returns the answer's Retry-After."""
        if self.headers is None:
            return None
        error.request_id = self.headers.get("x-request-id", "")[:128] or None
        if isinstance(error, InvalidAnswer | InvalidRequest | UnknownOp) or getattr(error, "status", 0) in (404, 405):
            error.args = (f"{error}{_if_older(self.headers.get('tensorcast-version', ''))}",)
        return self.headers.get("retry-after")


def _if_older(service: str) -> str:
    """What is to be said where the service has an older version than this client, which asks for what is new in its
    own; else nothing."""
    from importlib.metadata import distributions  # takes 10 ms

    client = next((found.version for found in distributions(name="tensorcast")), "")
    theirs, ours = (tuple(map(int, re.findall("[0-9]{1,9}", text)[:3])) for text in (service, client))
    return f" (the service is tensorcast {service[:20]}, older than this client)" if () < theirs < ours else ""


def check(
    op: Op | str,
    shapes: Sequence[SymbolicShape],
    dtype: str | None,
    explain: bool,
    assume: Mapping[str, int | str] | None,
) -> Call[CheckAnswer]:
    """Shapes in, shapes or a conflict out."""
    return _check(check_question(op, shapes, dtype, explain, assume), lambda answer: answer)


def can_broadcast(shapes: Sequence[Shape]) -> Call[bool]:
    """Shapes in, whether NumPy broadcasts them out."""
    return _check(check_question(NUMPY, shapes), lambda answer: answer.compatible is True)


def broadcast_shapes(shapes: Sequence[Shape]) -> Call[tuple[int, ...]]:
    """Shapes in, the one that NumPy broadcasts them to out."""
    return _check(check_question(NUMPY, shapes), _shape)


def _check(question: dict[str, Any], finish: Callable[[CheckAnswer], T]) -> Call[T]:
    op, count = question["op"], len(question["inputs"])
    return _plain("/v1/check", question, CheckAnswer, count, lambda answer: finish(expected.verdict(answer, op, count)))


def check_batch(
    requests: Iterable[CheckRequest | Mapping[str, Any]],
) -> Call[list[CheckAnswer | ServiceProblem]]:
    """Requests of check in, an answer or a problem for each out."""
    rows = [batch_question(request) for request in requests]
    inputs = [len(row.get("inputs", ())) for row in rows]

    def finish(answer: CheckBatchAnswer) -> list[CheckAnswer | ServiceProblem]:
        results = answer.results or []
        if len(results) != len(rows):
            raise InvalidAnswer(f"the answer has {len(results)} results for {len(rows)} requests")
        return [
            problem_from(result.error.model_dump(exclude_unset=True), result.error.status)
            if isinstance(result, Failed)
            else expected.verdict(result, row.get("op", NUMPY.name), count)
            for result, row, count in zip(results, rows, inputs, strict=True)
        ]

    return _plain("/v1/check/batch", {"requests": rows}, CheckBatchAnswer, len(rows) + sum(inputs), finish)


def check_columns(op: Op | str, columns: Sequence[Any], targets: Mapping[str, Any]) -> Call[CheckedColumns]:
    """Arrays of shapes in, arrays of verdicts and shapes out."""
    plain = plain_op(op)
    named = {"name": plain} if isinstance(plain, str) else plain
    inputs, attributes = list(map(column, columns)), {name: column(values) for name, values in targets.items()}
    for name, array in attributes.items():
        named[name] = {"dtype": "int64", "shape": list(array.shape), "data": array.tobytes()}
    parts = _message({"op": named}, "inputs", inputs)
    return Call(
        "POST",
        "/v1/check/batch",
        parts,
        lambda length: TensorReader(
            expected.columns(op, inputs, attributes), length, _checked, singles=("compatible", "conflict_axis")
        ),
    )


def _checked(arrays: Arrays) -> CheckedColumns:
    (compatible,), (conflict_axis,) = arrays["compatible"], arrays["conflict_axis"]
    return CheckedColumns(compatible, arrays["outputs"], conflict_axis)


def broadcast(
    op: Op | str, arrays: Sequence[Any], layout: Layout, window: Window | None, out: Any, like: Like
) -> Call[list[Any]]:
    """Arrays in, arrays out: `out` is filled where it is given."""
    return _broadcast(op, arrays, layout, window, out, like, list)


def broadcast_to(array: Any, shape: Shape, layout: Layout, window: Window | None, out: Any, like: Like) -> Call[Any]:
    """An array in, the one that NumPy makes of it for this target out."""
    return _broadcast(numpy.broadcast_to(shape=sizes(shape)), [array], layout, window, out, like, itemgetter(0))


def broadcast_arrays(
    arrays: Sequence[Any], layout: Layout, window: Window | None, out: Any, like: Like
) -> Call[tuple[Any, ...]]:
    """Arrays in, those that NumPy makes of them out."""
    return _broadcast(NUMPY, arrays, layout, window, out, like, tuple)


def _broadcast(
    op: Op | str,
    arrays: Sequence[Any],
    layout: Layout,
    window: Window | None,
    out: Any,
    like: Like,
    finish: Callable[[list[Any]], T],
) -> Call[T]:
    if out is not None and layout == "strided":
        raise ValueError('out needs layout="dense": a strided answer holds each distinct element once')
    fields: dict[str, Any] = {"op": plain_op(op), "layout": layout}
    outs = None if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
    targets = None if outs is None else list(map(target_of, outs))
    judge_targets(targets or [])
    inputs = list(map(array_of, arrays))
    shapes = tuple(array.shape for array in inputs)
    if window is not None and (box := bounds(window, op, shapes)) is not None:
        fields["window"] = box
    made = _made(op, arrays, layout, like, lambda whole: output_axes(whole, shapes, fields.get("window")))

    def reader(length: int | None) -> TensorReader[T]:
        tensors = expected.outputs(op, inputs, layout, fields.get("window"))
        return TensorReader(
            {"outputs": tensors},
            length,
            lambda found: finish(made(found["outputs"]) if outs is None else outs),
            targets,
        )

    parts = _message(fields, "inputs", inputs)
    if len(parts) > 1 and overlap(inputs, targets or []):
        parts = [b"".join(parts)]  # the answer may be begun when they are read, or sent once more
    return Call("POST", "/v1/broadcast", parts, reader)


def backprop(op: Op | str, shapes: Sequence[Shape], gradients: Sequence[Any], like: Like) -> Call[list[Any]]:
    """Gradients of the outputs in, gradients of the inputs out."""
    fields = {"op": plain_op(op), "inputs": [sizes(shape) for shape in shapes]}
    arrays = list(map(array_of, gradients))
    tensors = expected.gradients(fields["inputs"], arrays)
    made = _made(op, gradients, "dense", like, lambda whole: gradient_axes(whole, tuple(map(tuple, fields["inputs"]))))
    return Call(
        "POST",
        "/v1/backprop",
        _message(fields, "gradients", arrays),
        lambda length: TensorReader({"gradients": tensors}, length, lambda found: made(found["gradients"])),
    )


def _made(
    op: Op | str,
    arrays: Sequence[Any],
    layout: Layout,
    like: Like,
    axes: Callable[[Op], Iterable[tuple[int, list[Axis]]]],
) -> Callable[[list[Array]], list[Any]]:
    """What makes the results: for each of them `axes` has the one of `arrays` that it is like, and its axes."""
    if like == "numpy":
        return list
    if like != "input":
        raise ValueError(f'like is "numpy" or "input", not {like!r}')
    whole = expected.instance(op)
    if whole is None:
        raise ValueError(f'like="input" needs an op that is whole and known here, and this is none: {op!r}')
    makers = [maker_of(array, layout) for array in arrays]

    def make(results: list[Array]) -> list[Any]:
        try:
            places = list(axes(whole))
        except Incompatible:
            raise InvalidAnswer("the service answered a question that has no answer") from None
        return [makers[source](result, axes) for result, (source, axes) in zip(results, places, strict=True)]

    return make


def compare(
    shapes: Sequence[SymbolicShape], target: SymbolicShape | None, assume: Mapping[str, int | str] | None
) -> Call[list[Comparison]]:
    """Shapes in, every framework's verdict out."""
    message = compare_question(shapes, target, assume)

    def finish(answer: CompareAnswer) -> list[Comparison]:
        return [expected.verdict(result, result.op, len(shapes)) for result in answer.results]

    return _plain("/v1/compare", message, CompareAnswer, len(shapes) * len(OPS), finish)


def translate(op: Op | str, shapes: Sequence[Shape], to: str) -> Call[TranslateAnswer]:
    """Shapes in, the same operation in another framework's words out."""
    message = {"op": plain_op(op), "inputs": [sizes(shape) for shape in shapes], "to": to}
    return _plain("/v1/translate", message, TranslateAnswer, len(shapes), lambda answer: answer)


def ops() -> Call[list[OpEntry]]:
    """The catalogue."""
    return Call("GET", "/v1/ops", [], lambda length: typed(Catalogue, 0, lambda answer: answer.ops))


def _shape(answer: CheckAnswer) -> tuple[int, ...]:
    """The one shape of an answer's outputs. Raises IncompatibleShapes."""
    if answer.conflict is not None:
        conflict = answer.conflict.model_dump()
        raise problem_from(
            {"code": "incompatible-shapes", "detail": answer.conflict.message, "conflict": conflict},
            status=422,
        )
    sizes = answer.outputs[0].shape
    if not all(isinstance(size, int) for size in sizes):
        raise InvalidAnswer("the answer has sizes that are not known, and all were known that were asked about")
    return tuple(map(int, sizes))


NUMPY = numpy.broadcast_arrays()


def _plain(path: str, question: Any, model: Any, inputs: int, finish: Callable[[Any], T]) -> Call[T]:
    """A call without tensors: a question about so many inputs, whose answer is of this model."""
    return Call("POST", path, [_packed(question)], lambda length: typed(model, inputs, finish))


def _packed(value: Any) -> bytes:
    """A plain value in MessagePack. Raises InvalidRequest for a string that has no bytes."""
    try:
        return bytes(msgpack.packb(value))
    except UnicodeEncodeError as error:
        detail = f"{error.object[:60]!a} holds half a surrogate pair, which UTF-8 can't say"
        raise InvalidRequest(Problem("invalid-request", detail).document()) from None


def _message(fields: Mapping[str, Any], last: str, arrays: Sequence[Array]) -> list[bytes | memoryview]:
    """A MessagePack map of small fields and then tensors, as parts; arrays are sent as they lie in memory."""
    head = _packed({**fields, last: [None] * len(arrays)})
    parts: list[bytes | memoryview] = [head[: len(head) - len(arrays)]]  # the tensors stand where so many nils were
    for array in arrays:
        try:
            parts += msgpack_parts(array, strided=any(is_replicated(array)))
        except UnknownDtype as error:
            raise TypeError(str(error)) from None
    if sum(map(len, parts)) <= SEND_BYTES:
        return [b"".join(parts)]
    return parts
