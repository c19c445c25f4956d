"""Answers of tensors: streamed in MessagePack with a known length, built whole in JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from operator import mul
from time import perf_counter
from typing import Any

import anyio
import anyio.to_thread
import msgpack
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tensorcast.schema.codec import Media
from tensorcast.schema.dtypes import name_of
from tensorcast.schema.memory import Reserve
from tensorcast.schema.tensors import (
    Array,
    bin_header,
    bin_sizes,
    distinct,
    msgpack_head,
    msgpack_parts,
    tensor_to_json,
    to_wire,
)

from ..dense import CHUNK_BUFFERS, CHUNK_BYTES, chunks, in_order, rearranged
from ..footprint import json_bytes
from ..limits import judge_json
from ..plan import Shape
from .exchange import Exchange, encoded, while_connected

JOIN_BYTES = 64 * 2**10
"""Smaller parts are joined before they are sent; larger ones are sent as they are."""
SLOW_SECONDS = 0.002
"""Other requests wait while a part is made on the event loop: for no more than about so long."""
FAIR_BYTES = 4 * 2**20
"""After so many bytes of an answer others have their turn."""
OFFLOAD_ELEMENTS = 1000
"""A JSON answer of more elements is built on a thread."""


@dataclass(frozen=True)
class Outgoing:
    """One tensor of an answer: an array, and the shape that it goes out with (its axes merged, where that differs)."""

    array: Array
    shape: Shape
    strided: bool


Fields = Mapping[str, Outgoing | Sequence[Outgoing]]


@dataclass(frozen=True)
class Body:
    """A part of an answer in MessagePack: its bytes in pieces, how many there are, and how many are held to send it."""

    pieces: Iterable[bytes | memoryview]
    length: int
    held: int = 0


async def answer(exchange: Exchange[Any], fields: Fields, json_data: str) -> Response:
    """The answer {field: tensor or [tensor, ...], ...}."""
    if exchange.media is Media.JSON:
        return await _in_json(exchange, fields, json_data == "base64")
    return await exchange.run(_in_msgpack, exchange, fields)


def _in_msgpack(exchange: Exchange[Any], fields: Fields) -> Response:
    """Streamed, or whole where it is short."""
    packer = msgpack.Packer()
    bodies = [_encoded(packer.pack_map_header(len(fields)))]
    for field, given in fields.items():
        bodies.append(_encoded(packer.pack(field)))
        if isinstance(given, Outgoing):
            bodies.append(body_of(given, exchange.reserve))
        else:
            bodies.append(_encoded(packer.pack_array_header(len(given))))
            bodies += [body_of(tensor, exchange.reserve) for tensor in given]
    exchange.reserve(max(body.held for body in bodies))  # they are sent one after another
    length = sum(body.length for body in bodies)
    pieces = chain.from_iterable(body.pieces for body in bodies)
    if length <= JOIN_BYTES:
        return Response(b"".join(pieces), media_type=exchange.media_type, headers={"Vary": "Accept"})
    return Streamed(joined(pieces), length, exchange.media_type)


def _encoded(value: bytes) -> Body:
    return Body([value], len(value))


def body_of(tensor: Outgoing, reserve: Reserve) -> Body:
    """A tensor in MessagePack. What is made before it is sent, rather than while it is, is reserved."""
    return _strided(tensor.array, reserve) if tensor.strided else _dense(tensor, reserve)


def _dense(tensor: Outgoing, reserve: Reserve) -> Body:
    """A view, written out while it is sent: no more than a few chunks exist at once."""
    view = rearranged(to_wire(tensor.array), reserve)
    sizes = bin_sizes(view.nbytes)
    head = msgpack_head(name_of(view.dtype), tensor.shape, None, len(sizes))
    header_bytes = sum(len(bin_header(size)) for size in sizes)
    held = 0 if view.flags.c_contiguous else (CHUNK_BUFFERS + 1) * min(view.nbytes, CHUNK_BYTES)
    return Body(_dense_pieces(view, head, sizes), len(head) + header_bytes + view.nbytes, held)


def _dense_pieces(view: Array, head: bytes, sizes: Sequence[int]) -> Iterator[bytes | memoryview]:
    yield head
    stream = chunks(view)
    rest = memoryview(b"")
    for size in sizes:
        yield bin_header(size)
        while size:
            chunk = rest or next(stream)
            piece, rest = chunk[:size], chunk[size:]
            yield piece
            size -= len(piece)


def _strided(array: Array, reserve: Reserve) -> Body:
    """Each distinct element once; a copy only where they do not lie so."""
    elements, _ = distinct(array)
    if not elements.flags.c_contiguous:
        reserve(elements.nbytes)
    pieces = list(msgpack_parts(array, strided=True))
    return Body(pieces, sum(map(len, pieces)))


class Streamed(Response):
    """An answer in parts. Stops when the reader has gone."""

    def __init__(self, parts: Iterator[bytes | memoryview], length: int, media_type: str) -> None:
        self.parts = parts
        super().__init__(media_type=media_type, headers={"Vary": "Accept", "Content-Length": str(length)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        with while_connected(receive):
            async for part in self._made():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _made(self) -> AsyncIterator[bytes | memoryview]:
        """The parts; once one has taken long to make, the next are made on a thread, so that others need not wait."""
        slow, sent = False, 0
        while True:
            start = perf_counter()
            part = await anyio.to_thread.run_sync(next, self.parts, None) if slow else next(self.parts, None)
            if part is None:
                return
            slow = perf_counter() - start > SLOW_SECONDS
            sent += len(part)
            if sent > FAIR_BYTES:  # a reader that is fast enough never makes send wait
                await anyio.lowlevel.checkpoint()
                sent = 0
            yield part


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


async def _in_json(exchange: Exchange[Any], fields: Fields, as_base64: bool) -> Response:
    tensors = [tensor for given in fields.values() for tensor in ([given] if isinstance(given, Outgoing) else given)]
    arrays = [distinct(tensor.array)[0] if tensor.strided else tensor.array for tensor in tensors]
    # The lists that hold no element count too: (2^40, 0) nests a trillion of them.
    nested = sum(sum(accumulate(tensor.shape[:-1], mul)) for tensor in tensors if not (tensor.strided or as_base64))
    elements = sum(array.size for array in arrays) + nested
    nbytes = sum(array.nbytes for array in arrays)
    judge_json(elements, nbytes)
    exchange.reserve(json_bytes(elements, nbytes))

    def listed(tensor: Outgoing) -> dict[str, Any]:
        whole = tensor.array if tensor.strided else in_order(tensor.array).reshape(tensor.shape)
        return tensor_to_json(whole, tensor.strided, as_base64)

    def build() -> Response:
        answer = {
            field: listed(given) if isinstance(given, Outgoing) else [listed(tensor) for tensor in given]
            for field, given in fields.items()
        }
        return encoded(answer, Media.JSON.value)

    return await exchange.run(build, large=elements > OFFLOAD_ELEMENTS)
