"""Answers of tensors: streamed in MessagePack with a known length, built whole in JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain
from operator import mul
from time import perf_counter
from typing import Any, ClassVar

import msgpack
import numpy as np
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from axiscast.answers.estimates import JSON_ELEMENT_MS, OUTPUT_MS, json_memory_estimate
from axiscast.answers.limits import validate_json_size
from axiscast.engine.dense import (
    SMALL_BYTES,
    c_ordered,
    chunk_buffer_bytes,
    chunks,
    is_fast_to_chunk,
    reordered,
    reordered_bytes,
)
from axiscast.engine.gather import Gathered
from axiscast.plan.plan import Shape
from axiscast.wire.cancellation import checkpoint
from axiscast.wire.codec import Encoding, encode
from axiscast.wire.dtypes import dtype_name
from axiscast.wire.tensors import (
    Array,
    bin_header,
    bin_sizes,
    distinct_elements,
    json_parts,
    msgpack_parts,
    msgpack_tensor_header,
    to_little_endian,
)

from ..runtime.threads import LOOP_MILLISECONDS, WhileConnected, WorkerThreads
from .request_context import MAX_UNRESERVED_BYTES, RequestContext, response_with, threads_of

JOIN_BYTES = 64 * 2**10
"""Smaller parts are joined before they are sent; larger ones are sent as they are. No more than this is copied on the
event loop."""
SLOW_SECONDS = 0.001
"""A stream whose last part took longer to make has the next one made on a thread."""


@dataclass(slots=True)
class Body:
    """A part of an answer in MessagePack: its bytes in pieces, how many there are, and how many are held to send it."""

    pieces: Iterable[bytes | memoryview]
    length: int
    held: int = 0


@dataclass(slots=True)
class OutgoingArray:
    """One tensor of an answer: an array, and the shape that it goes out with (its axes merged, where that differs),
    with each distinct element once if it is strided."""

    array: Array
    shape: Shape
    strided: bool
    lookups: ClassVar = 0

    @property
    def copied(self) -> int:
        """Bytes that are copied before the first of them is sent in MessagePack."""
        if not self.strided:
            return reordered_bytes(self.array) if self.array.nbytes > SMALL_BYTES else 0
        elements, _ = distinct_elements(self.array)
        return 0 if elements.flags.c_contiguous else elements.nbytes

    @property
    def is_fast_to_chunk(self) -> bool:
        """Whether a part of it is surely made in a fraction of a millisecond."""
        return is_fast_to_chunk(self.array)

    @property
    def elements(self) -> tuple[int, int]:
        """How many elements go out in JSON, and how many bytes they have."""
        array = distinct_elements(self.array)[0] if self.strided else self.array
        return array.size, array.nbytes

    def in_msgpack(self) -> Body:
        """The tensor in MessagePack. A dense one is written out while it is sent: no more than a few chunks exist at
        once."""
        if not self.strided:
            view = to_little_endian(self.array)
            if view.nbytes <= SMALL_BYTES:
                head = msgpack_tensor_header(dtype_name(view.dtype), self.shape, None, 1) + bin_header(view.nbytes)
                return Body([head, c_ordered(view).tobytes()], len(head) + view.nbytes, view.nbytes)
            view = reordered(view)
            return _streamed(view, self.shape, chunks(view), chunk_buffer_bytes(view))
        pieces = list(msgpack_parts(self.array, strided=True))
        return Body(pieces, sum(map(len, pieces)))

    def in_json(self, as_base64: bool) -> Iterator[bytes]:
        """The tensor in JSON, as pieces."""
        whole = self.array if self.strided else c_ordered(self.array).reshape(self.shape)
        return json_parts(whole, self.strided, as_base64)


@dataclass(slots=True)
class OutgoingBox:
    """One tensor of an answer that no strides read: dense, and gathered while it is sent."""

    box: Gathered
    strided: ClassVar = False
    copied: ClassVar = 0
    is_fast_to_chunk: ClassVar = False

    @property
    def shape(self) -> Shape:
        return self.box.shape

    @property
    def lookups(self) -> int:
        """Elements that are looked up one by one, times the axes that are merged."""
        return self.box.lookups

    @property
    def elements(self) -> tuple[int, int]:
        return self.box.size, self.box.nbytes

    def in_msgpack(self) -> Body:
        return _streamed(
            self.box, self.shape, (piece.view(np.uint8).data for piece in self.box.pieces()), self.box.held
        )

    def in_json(self, as_base64: bool) -> Iterator[bytes]:
        return json_parts(self.box.whole(), False, as_base64)


Outgoing = OutgoingArray | OutgoingBox
TensorFields = Mapping[str, Outgoing | Sequence[Outgoing]]


async def answer(context: RequestContext[Any], fields: TensorFields, json_data: str) -> Response:
    """The answer {field: tensor or [tensor, ...], ...}."""
    tensors = _tensors(fields)
    milliseconds = OUTPUT_MS * len(tensors)
    if context.media is Encoding.JSON:
        return await _in_json(context, fields, tensors, milliseconds, json_data == "base64")
    copied, lookups = await context.run(milliseconds, _copied_and_looked_up, tensors)
    context.reserve(copied)
    if copied + lookups > JOIN_BYTES:
        return await context.compute(_in_msgpack, context, fields, tensors)
    return await context.run(milliseconds, _in_msgpack, context, fields, tensors)


def _copied_and_looked_up(tensors: Sequence[Outgoing]) -> tuple[int, int]:
    """Return the bytes that are copied before any are sent in MessagePack, and the elements that are looked up."""
    return sum(tensor.copied for tensor in tensors), sum(tensor.lookups for tensor in tensors)


def _tensors(fields: TensorFields) -> list[Outgoing]:
    return [
        tensor for content in fields.values() for tensor in ([content] if isinstance(content, Outgoing) else content)
    ]


def _in_msgpack(context: RequestContext[Any], fields: TensorFields, tensors: Sequence[Outgoing]) -> Response:
    """Streamed, or whole where it is short."""
    bodies = _bodies(fields)
    context.reserve(max(body.held for body in bodies))  # they are sent one after another
    length = sum(body.length for body in bodies)
    pieces = chain.from_iterable(body.pieces for body in bodies)
    if length <= JOIN_BYTES:
        return response_with(b"".join(pieces), context.media_type)
    quick = all(tensor.is_fast_to_chunk for tensor in tensors)
    return Streamed(joined(pieces), length, context.media_type, quick, threads_of(context.request))


def _bodies(fields: TensorFields) -> list[Body]:
    """The parts of an answer in MessagePack."""
    bodies, first = [], len(fields)
    for field, content in fields.items():
        tensors = [content] if isinstance(content, Outgoing) else content
        opening = _opening(first, field, None if isinstance(content, Outgoing) else len(tensors))
        bodies += [Body([opening], len(opening)), *[tensor.in_msgpack() for tensor in tensors]]
        first = 0
    return bodies


@lru_cache(64)
def _opening(fields: int, field: str, count: int | None) -> bytes:
    """What stands before the tensors of a field, which is the first of so many, or (0) a later one; None: of its one
    tensor, in no list."""
    packer = msgpack.Packer(autoreset=False)
    if fields:
        packer.pack_map_header(fields)
    packer.pack(field)
    if count is not None:
        packer.pack_array_header(count)
    return bytes(packer.bytes())


def _streamed(tensor: Array | Gathered, shape: Shape, stream: Iterator[memoryview], held: int) -> Body:
    sizes = bin_sizes(tensor.nbytes)
    head = msgpack_tensor_header(dtype_name(tensor.dtype), shape, None, len(sizes))
    header_bytes = sum(len(bin_header(size)) for size in sizes)
    return Body(_dense_pieces(stream, head, sizes), len(head) + header_bytes + tensor.nbytes, held)


def _dense_pieces(stream: Iterator[memoryview], head: bytes, sizes: Sequence[int]) -> Iterator[bytes | memoryview]:
    yield head
    rest = memoryview(b"")
    for size in sizes:
        yield bin_header(size)
        while size:
            chunk = rest or next(stream)
            piece, rest = chunk[:size], chunk[size:]
            yield piece
            size -= len(piece)


class Streamed(Response):
    """An answer in parts. Stops when the reader has gone."""

    def __init__(
        self, parts: Iterator[bytes | memoryview], length: int, media_type: str, quick: bool, threads: WorkerThreads
    ) -> None:
        self.parts = parts
        self.quick = quick
        self.threads = threads
        super().__init__(media_type=media_type, headers={"Vary": "Accept", "Content-Length": str(length)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        with WhileConnected(receive):
            async for part in self._made():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _made(self) -> AsyncIterator[bytes | memoryview]:
        """The parts. While one takes long to make, the next are made on a thread; after each others have their turn,
        since a reader that is fast enough never makes send wait."""
        while True:
            part, seconds = self._next() if self.quick else await self.threads.run_numpy_step(self._next)
            if part is None:
                return
            yield part
            await asyncio.sleep(0)
            self.quick = seconds < SLOW_SECONDS

    def _next(self) -> tuple[bytes | memoryview | None, float]:
        """The next part, None at the end, and the seconds that it took."""
        start = perf_counter()
        return next(self.parts, None), perf_counter() - start


def joined(pieces: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """The same bytes, pieces below JOIN_BYTES gathered into copies of at least that size where they can be."""
    gathered = bytearray()
    for piece in pieces:
        if len(piece) < JOIN_BYTES:
            gathered += piece
            if len(gathered) < JOIN_BYTES:
                continue
            piece = b""
        if gathered:
            yield bytes(gathered)
            gathered.clear()
        if piece:
            yield piece
    if gathered:
        yield bytes(gathered)


def lists_in(shape: Shape) -> int:
    """Lists that the nested list of this shape holds. Where they hold no element they count too: (2^40, 0) nests a
    trillion of them."""
    return sum(accumulate(shape[:-1], mul))


async def _in_json(
    context: RequestContext[Any],
    fields: TensorFields,
    tensors: Sequence[Outgoing],
    milliseconds: float,
    as_base64: bool,
) -> Response:
    elements, nbytes = await context.run(milliseconds, _json_extent, tensors, as_base64)
    context.reserve(nbytes)

    def build() -> Response:
        return response_with(b"".join(_json_pieces(fields, as_base64)), Encoding.JSON.value)

    return await context.run(milliseconds + elements * JSON_ELEMENT_MS, build)


def _json_extent(tensors: Sequence[Outgoing], as_base64: bool) -> tuple[int, int]:
    """How many elements, and lists of them, a JSON answer holds, and bytes of memory that it takes. Raises Problem."""
    nested = sum(lists_in(tensor.shape) for tensor in tensors if not (tensor.strided or as_base64))
    sizes = [tensor.elements for tensor in tensors]
    elements, nbytes = sum(size for size, _ in sizes), sum(nbytes for _, nbytes in sizes)
    validate_json_size(elements, nested, nbytes)
    return elements + nested, json_memory_estimate(elements + nested, nbytes)


def short_answer(fields: TensorFields, media: Encoding, json_data: str, milliseconds: float) -> bytes | None:
    """The bytes of the answer to what took so long already; None where it is longer than JOIN_BYTES in MessagePack, or
    takes more than MAX_UNRESERVED_BYTES in JSON, or would hold the event loop for too long."""
    tensors = _tensors(fields)
    milliseconds += OUTPUT_MS * len(tensors)
    if milliseconds > LOOP_MILLISECONDS:
        return None
    if media is Encoding.JSON:
        elements, nbytes = _json_extent(tensors, json_data == "base64")
        if milliseconds + JSON_ELEMENT_MS * elements > LOOP_MILLISECONDS or nbytes > MAX_UNRESERVED_BYTES:
            return None
        return b"".join(_json_pieces(fields, json_data == "base64"))
    if sum(_copied_and_looked_up(tensors)) > JOIN_BYTES:
        return None
    bodies = _bodies(fields)
    if sum(body.length for body in bodies) > JOIN_BYTES:
        return None
    return b"".join(chain.from_iterable(body.pieces for body in bodies))


def _json_pieces(fields: TensorFields, as_base64: bool) -> Iterator[bytes]:
    for number, (field, content) in enumerate(fields.items()):
        yield (b"," if number else b"{") + encode(field, Encoding.JSON) + b":"
        if isinstance(content, Outgoing):
            yield from _json_tensor(content, as_base64)
        else:
            yield b"["
            for place, tensor in enumerate(content):
                yield b"," if place else b""
                yield from _json_tensor(tensor, as_base64)
            yield b"]"
    yield b"}"


def _json_tensor(tensor: Outgoing, as_base64: bool) -> Iterator[bytes]:
    for piece in tensor.in_json(as_base64):
        yield piece
        checkpoint()
