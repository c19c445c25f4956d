"""Answers of tensors: streamed in MessagePack with a known length, built whole in JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from operator import mul
from time import perf_counter
from typing import Any

import msgpack
import numpy as np
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tensorcast.answers.cost import JSON_ELEMENT, OUTPUT
from tensorcast.answers.footprint import json_bytes
from tensorcast.answers.limits import judge_json
from tensorcast.plan.plan import Shape
from tensorcast.schema.codec import Media, encode
from tensorcast.schema.dtypes import name_of
from tensorcast.schema.memory import Reserve
from tensorcast.schema.tensors import (
    Array,
    bin_header,
    bin_sizes,
    distinct,
    json_parts,
    msgpack_head,
    msgpack_parts,
    to_wire,
)
from tensorcast.schema.work import checkpoint

from ..engine.dense import buffered, chunks, in_order, is_quick, rearranged
from ..engine.gather import Gathered
from .exchange import Exchange, threads_of
from .threads import Threads, while_connected

JOIN_BYTES = 64 * 2**10
"""Smaller parts are joined before they are sent; larger ones are sent as they are. No more than this is copied on the
event loop."""
SLOW_SECONDS = 0.001
"""A stream whose last part took longer to make has the next one made on a thread."""


@dataclass(frozen=True)
class Outgoing:
    """One tensor of an answer: an array, and the shape that it goes out with (its axes merged, where that differs)."""

    array: Array | Gathered
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
    tensors = _tensors(fields)
    if sum(map(_copied_bytes, tensors)) > JOIN_BYTES:
        return await exchange.compute(_in_msgpack, exchange, fields)
    return await exchange.run(OUTPUT * len(tensors), _in_msgpack, exchange, fields)


def _tensors(fields: Fields) -> list[Outgoing]:
    return [tensor for given in fields.values() for tensor in ([given] if isinstance(given, Outgoing) else given)]


def _copied_bytes(tensor: Outgoing) -> int:
    """Bytes that may be copied, or numbers that are looked up, before anything is sent, at the most."""
    if isinstance(tensor.array, Gathered):
        return tensor.array.lookups
    if tensor.array.flags.c_contiguous:
        return 0
    elements, _ = distinct(tensor.array)
    return 0 if elements.flags.c_contiguous else elements.nbytes


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
    quick = all(not isinstance(tensor.array, Gathered) and is_quick(tensor.array) for tensor in _tensors(fields))
    return Streamed(joined(pieces), length, exchange.media_type, quick, threads_of(exchange.request))


def _encoded(value: bytes) -> Body:
    return Body([value], len(value))


def body_of(tensor: Outgoing, reserve: Reserve) -> Body:
    """A tensor in MessagePack. What is made before it is sent, rather than while it is, is reserved."""
    if isinstance(tensor.array, Gathered):
        return _gathered(tensor.array)
    return _strided(tensor.array, reserve) if tensor.strided else _dense(tensor.array, tensor.shape, reserve)


def _dense(array: Array, shape: Shape, reserve: Reserve) -> Body:
    """A view, written out while it is sent: no more than a few chunks exist at once."""
    view = rearranged(to_wire(array), reserve)
    return _streamed(view, shape, chunks(view), buffered(view))


def _gathered(box: Gathered) -> Body:
    """The same of what has no strides."""
    return _streamed(box, box.shape, (piece.view(np.uint8).data for piece in box.pieces()), box.held)


def _streamed(tensor: Array | Gathered, shape: Shape, stream: Iterator[memoryview], held: int) -> Body:
    sizes = bin_sizes(tensor.nbytes)
    head = msgpack_head(name_of(tensor.dtype), shape, None, len(sizes))
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


def _strided(array: Array, reserve: Reserve) -> Body:
    """Each distinct element once; a copy only where they do not lie so."""
    elements, _ = distinct(array)
    if not elements.flags.c_contiguous:
        reserve(elements.nbytes)
    pieces = list(msgpack_parts(array, strided=True))
    return Body(pieces, sum(map(len, pieces)))


class Streamed(Response):
    """An answer in parts. Stops when the reader has gone."""

    def __init__(
        self, parts: Iterator[bytes | memoryview], length: int, media_type: str, quick: bool, threads: Threads
    ) -> None:
        self.parts = parts
        self.quick = quick
        self.threads = threads
        super().__init__(media_type=media_type, headers={"Vary": "Accept", "Content-Length": str(length)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        with while_connected(receive):
            async for part in self._made():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _made(self) -> AsyncIterator[bytes | memoryview]:
        """The parts. While one takes long to make, the next are made on a thread; after each others have their turn,
        since a reader that is fast enough never makes send wait."""
        while True:
            part, seconds = self._next() if self.quick else await self.threads.next_part(self._next)
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


async def _in_json(exchange: Exchange[Any], fields: Fields, as_base64: bool) -> Response:
    tensors = _tensors(fields)
    arrays = [
        distinct(tensor.array)[0] if tensor.strided and not isinstance(tensor.array, Gathered) else tensor.array
        for tensor in tensors
    ]
    nested = sum(lists_in(tensor.shape) for tensor in tensors if not (tensor.strided or as_base64))
    elements = sum(array.size for array in arrays) + nested
    nbytes = sum(array.nbytes for array in arrays)
    judge_json(elements, nbytes)
    exchange.reserve(json_bytes(elements, nbytes))

    def build() -> Response:
        text = b"".join(_json_pieces(fields, as_base64))
        return Response(text, media_type=Media.JSON.value, headers={"Vary": "Accept"})

    return await exchange.run(elements * JSON_ELEMENT, build)


def _json_pieces(fields: Fields, as_base64: bool) -> Iterator[bytes]:
    for number, (field, given) in enumerate(fields.items()):
        yield (b"," if number else b"{") + encode(field, Media.JSON) + b":"
        if isinstance(given, Outgoing):
            yield from _json_tensor(given, as_base64)
        else:
            yield b"["
            for place, tensor in enumerate(given):
                yield b"," if place else b""
                yield from _json_tensor(tensor, as_base64)
            yield b"]"
    yield b"}"


def _json_tensor(tensor: Outgoing, as_base64: bool) -> Iterator[bytes]:
    if isinstance(tensor.array, Gathered):
        whole = tensor.array.whole()
    else:
        whole = tensor.array if tensor.strided else in_order(tensor.array).reshape(tensor.shape)
    for piece in json_parts(whole, tensor.strided, as_base64):
        yield piece
        checkpoint()
