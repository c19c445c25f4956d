"""Functions that receive a request body. They enforce the size limit, and reserve memory while the body arrives."""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request

from axiscast.wire.prescan import Buffer, ReserveMemory, no_limit
from axiscast.wire.problems import Problem

from ..http.hooks import BODY_READ_BYTES
from ..http.upload import EXTENSION, MAX_BUFFERED_BODY_BYTES, ReceiveInto, borrow, new_buffer
from ..runtime.budget import FREE_BYTES, MemoryReservation

TRANSIT_BYTES = MAX_BUFFERED_BODY_BYTES + BODY_READ_BYTES
"""The maximum number of bytes of a long body that a connection buffers. Reading stops only above
MAX_BUFFERED_BODY_BYTES, so the buffer can contain the bytes of one additional read."""


async def read_body(request: Request, limit: int, memory: MemoryReservation) -> Buffer:
    """Return the body of a request. Memory is reserved while the body arrives, even if Content-Length is known.

    Raises Problem (body-too-large or overloaded) as soon as it is known that the body does not fit.
    """
    announced = request.headers.get("content-length", "")
    length = int(announced) if announced.isdecimal() else None
    if length is not None and length > limit:
        raise _too_large(length, limit)
    receive_into = request.scope.get("extensions", {}).get(EXTENSION, {}).get("receive_into")
    if length is None or receive_into is None:
        return await _receive_parts(request, length, limit, memory)
    return await _receive_into_buffer(request, length, memory, receive_into)


async def _receive_parts(request: Request, length: int | None, limit: int, memory: MemoryReservation) -> Buffer:
    """Return a body whose parts are copied into one buffer. `length` is None if the body arrives in chunks."""
    room = min(limit, memory.max_bytes) if length is None else length
    transit = TRANSIT_BYTES if room > FREE_BYTES else 0
    memory.reserve(transit + (length or 0))  # a body that can't fit is refused immediately
    memory.release(length or 0)  # a slow client reserves memory only for the bytes that it has sent
    buffer = new_buffer(room, windows=False)
    nbytes, more = 0, True
    while more:
        part, more = await _next_part(request)
        memory.reserve(len(part))
        end = nbytes + len(part)
        if end > room:
            raise _too_large(length, limit)
        if len(part) == length:
            buffer = memoryview(part)  # the part is the whole body, and needs no copy
        elif part:  # some servers send an empty part at the end of a body
            buffer[nbytes:end] = part
        nbytes = end
        del part  # otherwise the part stays in memory while the next part is awaited
    memory.release(transit)
    return buffer[:nbytes]


async def _receive_into_buffer(
    request: Request, length: int, memory: MemoryReservation, receive_into: ReceiveInto
) -> Buffer:
    """Return a long body, which the connection receives directly into a buffer without copying the data."""
    cache = memory.budget.buffers
    buffer = cache.take(length)
    reserve: ReserveMemory = memory.reserve
    if buffer is not None:
        memory.reserve(TRANSIT_BYTES + buffer.nbytes)
        reserve = no_limit  # the memory of the whole buffer is reserved already
    else:
        memory.reserve(TRANSIT_BYTES + length)  # a body that can't fit is refused immediately
        memory.release(length)  # a slow client reserves memory only for the bytes that it has sent
        buffer = new_buffer(length, windows=True)
    body = borrow(buffer, length, cache)
    del buffer
    part, _ = await _next_part(request)
    reserve(len(part))
    body[: len(part)] = part
    nbytes = len(part)
    del part
    memory.release(TRANSIT_BYTES)
    if not await receive_into(body, nbytes, reserve):
        raise ClientDisconnect
    return body


async def _next_part(request: Request) -> tuple[bytes, bool]:
    """Return the next part of the body, and whether more parts follow. Raises ClientDisconnect on a disconnect."""
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message.get("body", b""), message.get("more_body", False)


def _too_large(nbytes: int | None, limit: int) -> Problem:
    has = f"has {nbytes} bytes" if nbytes is not None else "is too long"
    return Problem(
        "body-too-large",
        f"the body {has}, but the limit of this service is {limit}: send a smaller request, send replicated axes "
        f"with stride 0, or raise AXISCAST_MAX_BODY_BYTES",
        limit=limit,
    )
