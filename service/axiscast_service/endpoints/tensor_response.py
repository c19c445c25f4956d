"""Responses that contain tensors.

JSON, and MessagePack of up to 1 MiB, is built as a whole. Longer MessagePack is streamed, and its length is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from math import prod
from operator import mul
from time import perf_counter
from typing import ClassVar

import msgpack
import numpy as np
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from axiscast.checks.estimates import OUTPUT_MS, json_memory_estimate, json_time_estimate
from axiscast.checks.limits import validate_json_size
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
from axiscast.wire.codec import PACKER_BUFFER_BYTES, Encoding, encode
from axiscast.wire.dtypes import dtype_name
from axiscast.wire.tensors import (
    Array,
    bin_header,
    bin_sizes,
    distinct_elements,
    json_parts,
    msgpack_parts,
    msgpack_tensor_header,
    replicated_axes,
    to_little_endian,
)

from ..middleware.answer import Answer
from ..runtime.threads import WhileConnected, WorkerThreads
from .request_context import RequestContext

COALESCED_BYTES = 64 * 2**10
"""The size, in bytes, below which parts are joined before sending. The event loop copies at most this many bytes at
once."""
ONE_GO_BYTES = 2**20
"""The size, in bytes, up to which a MessagePack response is built as a whole instead of streamed in parts. Each part
costs one iteration of the event loop."""
SLOW_LAYOUT_BYTES = 2**18
"""The size, in bytes, above which a thread builds a response if the layout of a tensor is slow to write."""
SLOW_SECONDS = 0.001
"""The computing time, in seconds, of one part of a stream above which a thread computes the next part."""


@dataclass(slots=True)
class PackedPart:
    """One part of a MessagePack response, such as a tensor."""

    pieces: Iterable[bytes | memoryview]
    length: int
    """The total number of bytes in all pieces of the part."""
    held: int = 0
    """The memory, in bytes, that is needed while the part is sent."""


@dataclass(slots=True)
class OutgoingArray:
    """A tensor in a response, with its elements in a NumPy array."""

    array: Array
    shape: Shape
    """The shape of the tensor in the response. It differs from the shape of the array if axes are merged."""
    strided: bool
    """Whether the tensor is sent in strided form: each distinct element once, with the strides."""
    lookups: ClassVar = 0
    """The elements of an array are copied in blocks, and not looked up one by one."""

    @property
    def copied(self) -> int:
        """The number of bytes that must be copied before the first byte of the MessagePack response is sent.

        The copy of a small dense tensor is the part itself, and not counted here.
        """
        if not self.strided:
            return reordered_bytes(self.array) if self.array.nbytes > SMALL_BYTES else 0
        elements, _ = distinct_elements(self.array)
        return 0 if elements.flags.c_contiguous else elements.nbytes

    @property
    def is_fast_to_chunk(self) -> bool:
        """Whether each chunk of the tensor can be computed in a fraction of a millisecond."""
        return is_fast_to_chunk(self.array)

    @property
    def elements(self) -> tuple[int, int, int]:
        """The number of distinct elements, the number of elements that are sent in JSON, and their size in bytes.

        The time to write JSON depends on the distinct elements, because each of them is converted only once.
        """
        sent = distinct_elements(self.array)[0] if self.strided else self.array
        if not self.strided and self.shape != self.array.shape:
            return sent.size, sent.size, sent.nbytes  # after a merge of axes, each element is written separately
        distinct = prod(size for size, repeats in zip(sent.shape, replicated_axes(sent), strict=True) if not repeats)
        return distinct, sent.size, sent.nbytes

    def in_msgpack(self) -> PackedPart:
        """Return the tensor in MessagePack. The chunks of a large dense tensor are computed while it is sent."""
        if not self.strided:
            view = to_little_endian(self.array)
            if view.nbytes <= SMALL_BYTES:
                head = msgpack_tensor_header(dtype_name(view.dtype), self.shape, None, 1) + bin_header(view.nbytes)
                return PackedPart([head, c_ordered(view).tobytes()], len(head) + view.nbytes, view.nbytes)
            view = reordered(view)
            return _streamed(view, self.shape, chunks(view), chunk_buffer_bytes(view))
        pieces = list(msgpack_parts(self.array, strided=True))
        return PackedPart(pieces, sum(map(len, pieces)))

    def in_json(self, as_base64: bool) -> Iterator[bytes]:
        """Return an iterator over the pieces of the tensor's JSON encoding."""
        array = self.array
        if not self.strided and (as_base64 or self.shape != array.shape):
            array = c_ordered(array).reshape(self.shape)
        return json_parts(array, self.strided, as_base64)


@dataclass(slots=True)
class OutgoingBox:
    """A dense tensor in a response that no strides describe. Its elements are gathered while it is sent."""

    box: Gathered
    strided: ClassVar = False
    copied: ClassVar = 0
    is_fast_to_chunk: ClassVar = False

    @property
    def shape(self) -> Shape:
        return self.box.shape

    @property
    def lookups(self) -> int:
        """The number of elements that are looked up one by one, multiplied by the number of merged axes."""
        return self.box.lookups

    @property
    def elements(self) -> tuple[int, int, int]:
        return self.box.size, self.box.size, self.box.nbytes

    def in_msgpack(self) -> PackedPart:
        return _streamed(
            self.box, self.shape, (piece.view(np.uint8).data for piece in self.box.pieces()), self.box.held
        )

    def in_json(self, as_base64: bool) -> Iterator[bytes]:
        return json_parts(self.box.whole(), False, as_base64)


Outgoing = OutgoingArray | OutgoingBox
TensorFields = Mapping[str, Outgoing | Sequence[Outgoing]]


async def tensor_response(context: RequestContext, fields: TensorFields, json_data: str) -> Answer | Response:
    """Return a response that maps each field to a tensor or a list of tensors."""
    tensors = _tensors(fields)
    milliseconds = OUTPUT_MS / 2 * len(tensors)  # half of the time for the sizes, and half for the content
    if context.media is Encoding.JSON:
        return await _in_json(context, fields, tensors, milliseconds, json_data == "base64")
    copied, lookups = await context.respond(milliseconds, _copied_and_looked_up, tensors)
    context.reserve(copied)
    is_slow = any(not tensor.is_fast_to_chunk and tensor.elements[2] > SLOW_LAYOUT_BYTES for tensor in tensors)
    if is_slow or copied + lookups > COALESCED_BYTES:
        return await context.compute(_in_msgpack, context, fields, tensors)
    return await context.respond(milliseconds, _in_msgpack, context, fields, tensors)


def _copied_and_looked_up(tensors: Sequence[Outgoing]) -> tuple[int, int]:
    """Return the number of bytes that are copied before MessagePack is sent, and the number of element lookups."""
    return sum(tensor.copied for tensor in tensors), sum(tensor.lookups for tensor in tensors)


def _tensors(fields: TensorFields) -> list[Outgoing]:
    return [
        tensor for content in fields.values() for tensor in ([content] if isinstance(content, Outgoing) else content)
    ]


def _in_msgpack(context: RequestContext, fields: TensorFields, tensors: Sequence[Outgoing]) -> Answer | Response:
    """Return a response in MessagePack, which is streamed if it is long."""
    parts = _parts(fields)
    context.reserve(max(part.held for part in parts))  # only one part is sent at a time
    length = sum(part.length for part in parts)
    pieces = chain.from_iterable(part.pieces for part in parts)
    if length <= COALESCED_BYTES:
        return Answer(b"".join(pieces), context.media_type)
    threads = context.threads  # on the fast path, this raises NotShort, because the response is not short
    if length <= ONE_GO_BYTES:
        context.reserve(length)
        return Answer(_joined(pieces, length), context.media_type)
    is_fast = all(tensor.is_fast_to_chunk for tensor in tensors)
    return Streamed(coalesced(pieces), length, context.media_type, is_fast, threads)


def _joined(pieces: Iterable[bytes | memoryview], length: int) -> memoryview:
    """Return all pieces in one buffer. A piece is copied at once, because computing the next piece may overwrite it."""
    whole, start = np.empty(length, np.uint8).data, 0
    for piece in pieces:
        whole[start : start + len(piece)] = piece
        start += len(piece)
    return whole


def _parts(fields: TensorFields) -> list[PackedPart]:
    """Return the parts of a MessagePack response with these fields."""
    parts, first = [], len(fields)
    for field, content in fields.items():
        tensors = [content] if isinstance(content, Outgoing) else content
        opening = _opening(first, field, None if isinstance(content, Outgoing) else len(tensors))
        parts += [PackedPart([opening], len(opening)), *[tensor.in_msgpack() for tensor in tensors]]
        first = 0
    return parts


def _opening(fields: int, field: str, count: int | None) -> bytes:
    """Return the MessagePack bytes that precede the tensors of a field.

    For the first field of a response, `fields` is the total number of fields. For other fields, it is 0. `count` is the
    number of tensors in the field's list, or None if the field is a single tensor.
    """
    packer = msgpack.Packer(autoreset=False, buf_size=PACKER_BUFFER_BYTES)
    if fields:
        packer.pack_map_header(fields)
    packer.pack(field)
    if count is not None:
        packer.pack_array_header(count)
    return bytes(packer.bytes())


def _streamed(tensor: Array | Gathered, shape: Shape, stream: Iterator[memoryview], held: int) -> PackedPart:
    sizes = bin_sizes(tensor.nbytes)
    head = msgpack_tensor_header(dtype_name(tensor.dtype), shape, None, len(sizes))
    header_bytes = sum(len(bin_header(size)) for size in sizes)
    return PackedPart(_dense_pieces(stream, head, sizes), len(head) + header_bytes + tensor.nbytes, held)


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
    """A response that is streamed in parts, until it is complete or the client disconnects."""

    def __init__(
        self, parts: Iterator[bytes | memoryview], length: int, media_type: str, is_fast: bool, threads: WorkerThreads
    ) -> None:
        self.parts = parts
        self.is_fast = is_fast
        self.threads = threads
        super().__init__(media_type=media_type, headers={"Vary": "Accept", "Content-Length": str(length)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        with WhileConnected(receive):
            async for part in self._made():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _made(self) -> AsyncIterator[bytes | memoryview]:
        """Yield the parts of the response. After a slow part, a thread computes the next part.

        The event loop can serve other requests after each part. Otherwise a client that reads fast would block the
        other requests, because `send` never waits for such a client.
        """
        while True:
            part, seconds = self._next() if self.is_fast else await self.threads.run_numpy_step(self._next)
            if part is None:
                return
            yield part
            await asyncio.sleep(0)
            self.is_fast = seconds < SLOW_SECONDS

    def _next(self) -> tuple[bytes | memoryview | None, float]:
        """Return the next part, or None at the end, and the number of seconds that it took to compute the part."""
        start = perf_counter()
        return next(self.parts, None), perf_counter() - start


def coalesced(pieces: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """Yield the same bytes. Consecutive pieces that are shorter than COALESCED_BYTES are joined until they reach it."""
    gathered = bytearray()
    for piece in pieces:
        is_short = len(piece) < COALESCED_BYTES
        if is_short:
            gathered += piece
        if gathered and (not is_short or len(gathered) >= COALESCED_BYTES):
            yield bytes(gathered)
            gathered.clear()
        if not is_short:
            yield piece
    if gathered:
        yield bytes(gathered)


def lists_in(shape: Shape) -> int:
    """Return how many lists the outermost list of a tensor contains, at any depth: 2 + 2 * 3 = 8 for (2, 3, 4).

    Empty lists count as well: the number is 2^40 for (2^40, 0).
    """
    return sum(accumulate(shape[:-1], mul))


async def _in_json(
    context: RequestContext, fields: TensorFields, tensors: Sequence[Outgoing], milliseconds: float, as_base64: bool
) -> Answer:
    writing, nbytes = await context.respond(milliseconds, _json_extent, tensors, as_base64)
    context.reserve(nbytes)

    def build() -> Answer:
        return Answer(b"".join(_json_pieces(fields, as_base64)), Encoding.JSON.value)

    return await context.respond(milliseconds + writing, build)


def _json_extent(tensors: Sequence[Outgoing], as_base64: bool) -> tuple[float, int]:
    """Return the estimated time, in milliseconds, and memory of a JSON response. Raises Problem if it is too large."""
    nested = sum(lists_in(tensor.shape) for tensor in tensors if not (tensor.strided or as_base64))
    sizes = [(0, 0, 0), *(tensor.elements for tensor in tensors)]
    distinct, elements, nbytes = map(sum, zip(*sizes, strict=True))
    validate_json_size(elements, nested, nbytes)
    elements += nested
    return json_time_estimate(distinct, elements), json_memory_estimate(distinct, elements, nbytes)


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
