"""Tests of long uploads, which are returned unchanged for any size and any parts."""

from __future__ import annotations

import asyncio
import gc
import socket
import weakref
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import Any

import msgpack
import numpy as np
import pytest
from cases import cases
from conftest import PATIENCE, Served, served, wait_for
from conversation import connection, hooks, turns
from test_protocol import running

from axiscast import AsyncClient, Client
from axiscast.wire.problems import Problem
from axiscast_service.app import create_app
from axiscast_service.http import upload
from axiscast_service.http.upload import LONG_BYTES, WINDOW_BYTES, borrow, new_buffer
from axiscast_service.runtime.budget import FREE_BYTES, MemoryBudget
from axiscast_service.settings import Settings

MiB = 2**20
Cut = Callable[[bytes], Iterator[bytes]]
HEAD = b"POST /v1/broadcast HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/msgpack\r\n"


@pytest.fixture(scope="module")
def parser(absent: str) -> Iterator[Served]:
    """A service with either of uvicorn's parsers."""
    with served(absent) as running:
        yield running


def random_bytes(nbytes: int) -> bytes:
    """Return bytes without zeros, because unwritten memory contains zeros."""
    return np.random.default_rng(nbytes).integers(1, 256, nbytes, np.uint8).tobytes()


def body_of(nbytes: int) -> tuple[bytes, bytes]:
    """Return a request body with a tensor of this number of bytes, and these bytes, which the response must contain."""

    def packed(data: bytes) -> bytes:
        return bytes(msgpack.packb({"inputs": [{"dtype": "uint8", "shape": [len(data)], "data": data}]}))

    around = len(packed(bytes(MiB))) - MiB
    data = random_bytes(nbytes - around)
    body = packed(data)
    assert len(body) == nbytes
    return body, data


def cut_by(*sizes: int) -> Cut:
    """Cut data into pieces of these sizes. The last size is used for all further pieces."""

    def cut(data: bytes) -> Iterator[bytes]:
        at = [*accumulate(sizes, initial=0)]
        at += range(at[-1] + sizes[-1], len(data), sizes[-1])
        for start, stop in pairwise([place for place in at if place < len(data)] + [len(data)]):
            yield data[start:stop]

    return cut


def cut_at_random(data: bytes) -> Iterator[bytes]:
    sizes = np.random.default_rng(len(data)).integers(1, 400_000, len(data) // 100_000 + 2)
    return cut_by(*sizes.tolist())(data)


CUTS: dict[str, Cut] = {
    "whole": cut_by(64 * MiB),
    "even": cut_by(2**16),
    "odd": cut_by(65_537),
    "the first byte by itself": cut_by(1, MiB - 1),
    "windows": cut_by(WINDOW_BYTES),
    "random": cut_at_random,
}


def come_back(port: int, pieces: Iterator[bytes]) -> bytes:
    """Return the data of the tensor in the response to a request that is sent in these pieces."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(PATIENCE)
        for piece in pieces:
            connection.sendall(piece)
        received = bytearray()
        while part := connection.recv(MiB):
            received += part
    head, _, answer = bytes(received).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    (output,) = msgpack.unpackb(answer)["broadcast_inputs"]
    return bytes(output["data"])


def announced(body: bytes, cut: Cut) -> Iterator[bytes]:
    return cut(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def chunked(body: bytes, cut: Cut) -> Iterator[bytes]:
    """A chunk for each piece."""
    yield HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    for piece in cut(body):
        yield b"%x\r\n" % len(piece) + piece + b"\r\n"
    yield b"0\r\n\r\n"


# Around what is long, around windows, and as long as a service of the default settings takes beside its answer.
SIZES = [LONG_BYTES, LONG_BYTES + 1, 3 * WINDOW_BYTES - 1, 3 * WINDOW_BYTES, 3 * WINDOW_BYTES + 1, 9 * MiB + 1]
SIZES += [5 * WINDOW_BYTES, 16 * MiB + 12_345, 40 * MiB - 17]


@cases("cut", CUTS.values(), ids=CUTS)
@cases("framed", [announced, chunked])
def test_random_bytes_are_returned_unchanged(
    parser: Served, framed: Callable[[bytes, Cut], Iterator[bytes]], cut: Cut
) -> None:
    for nbytes in (9 * MiB + 4321, 6 * MiB):
        body, data = body_of(nbytes)
        assert come_back(parser.port, framed(body, cut)) == data, nbytes


@cases("framed", [announced, chunked])
@cases("nbytes", SIZES)
def test_any_number_of_bytes_is_returned_unchanged(
    parser: Served, framed: Callable[[bytes, Cut], Iterator[bytes]], nbytes: int
) -> None:
    body, data = body_of(nbytes)
    assert come_back(parser.port, framed(body, CUTS["random"])) == data


@cases("nbytes", [9 * MiB + 1, 12 * MiB - 1, 25 * MiB + 333])
def test_the_clients_arrays_are_returned_unchanged(parser: Served, nbytes: int) -> None:
    array = np.frombuffer(random_bytes(nbytes), np.uint8)
    with Client(parser.url) as client:
        (same,) = client.broadcast("numpy.broadcast_arrays", array)
        into = np.zeros(nbytes, np.uint8)
        client.broadcast("numpy.broadcast_arrays", array, out=into)

    async def awaited() -> Any:
        async with AsyncClient(parser.url) as client:
            (array_,) = await client.broadcast("numpy.broadcast_arrays", array)
            return array_

    for again in (same, into, asyncio.run(awaited())):
        assert np.array_equal(again, array)


def test_several_arrays_of_odd_sizes_are_returned_unchanged(parser: Served) -> None:
    arrays = [
        np.frombuffer(random_bytes(3 * MiB + 1 + seed), np.uint8)[seed:].reshape(3 * MiB + 1) for seed in range(3)
    ]
    with Client(parser.url) as client:
        for again, array in zip(client.broadcast("numpy.broadcast_arrays", *arrays), arrays, strict=True):
            assert np.array_equal(again, array)


# --- cached buffers -------------------------------------------------------------------------


def address(room: memoryview) -> int:
    return int(np.frombuffer(room, np.uint8).ctypes.data)


def used(budget: MemoryBudget, nbytes: int) -> int:
    """Return the address of the buffer of a body that has ended."""

    async def use() -> int:
        buffer = budget.buffers.take(nbytes) or new_buffer(nbytes, windows=True)
        tensor = np.frombuffer(borrow(buffer, nbytes, budget.buffers), np.uint8)[1:]
        before = budget.buffers.buffer
        await asyncio.sleep(0)
        assert budget.buffers.buffer is before
        del tensor
        await asyncio.sleep(0)
        return address(buffer)

    return asyncio.run(use())


def test_a_buffer_is_cached_for_the_next_body_while_no_request_needs_its_memory() -> None:
    budget = MemoryBudget(64 * MiB)
    assert budget.limit == 48 * MiB
    used(budget, 12 * MiB + 1)  # more than a quarter
    assert budget.buffers.buffer is None
    first = used(budget, 12 * MiB)
    assert used(budget, 11 * MiB) == first
    assert used(budget, 5 * MiB) != first  # more than half of the kept one would lie idle
    assert budget.buffers.buffer
    assert budget.buffers.buffer.nbytes == 12 * MiB
    assert budget.buffers.take(6 * MiB - 1) is None
    assert budget.try_acquire(36 * MiB)
    assert budget.buffers.buffer
    assert budget.try_acquire(1)
    assert budget.buffers.buffer is None
    used(budget, 12 * MiB)  # more than requests have left
    assert budget.buffers.buffer is None
    assert budget.try_acquire(12 * MiB - 1)
    assert not budget.try_acquire(1)


def test_only_one_of_several_free_buffers_is_cached() -> None:
    budget = MemoryBudget(64 * MiB)

    async def use() -> None:
        bodies = [borrow(new_buffer(MiB, windows=True), MiB, budget.buffers) for _ in range(3)]
        places = list(map(address, bodies))
        del bodies
        await asyncio.sleep(0)
        assert budget.buffers.buffer
        assert address(budget.buffers.buffer) in places

    asyncio.run(use())


def test_buffers_that_are_not_cached_are_freed_immediately() -> None:
    cache = MemoryBudget(64 * MiB).buffers

    async def use() -> None:
        arrays = [np.zeros(MiB, np.uint8) for _ in range(3)]
        buffers = [weakref.ref(array) for array in arrays]
        bodies = [borrow(memoryview(array), MiB, cache) for array in arrays]
        del arrays
        del bodies
        assert [buffer() is not None for buffer in buffers].count(True) == 1
        assert cache.buffer

    asyncio.run(use())


def test_a_cached_buffer_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, buffer = MemoryBudget(64 * MiB).buffers, new_buffer(MiB, windows=True)
    first = cache.put(buffer)
    assert cache.take(MiB) is buffer
    second = cache.put(buffer)
    cache.expire(first)  # a body has used the buffer since
    assert cache.buffer is buffer
    assert cache.put(new_buffer(MiB, windows=True)) is None
    larger = new_buffer(2 * MiB, windows=True)
    third = cache.put(larger)
    cache.expire(second)
    assert cache.buffer is larger
    cache.expire(third)
    assert cache.buffer is None

    monkeypatch.setattr(upload, "CACHED_SECONDS", 0.01)

    async def wait() -> None:
        borrow(buffer, MiB, cache)
        async with asyncio.timeout(PATIENCE):
            while cache.buffer is None:
                await asyncio.sleep(0)
            while cache.buffer is not None:
                await asyncio.sleep(0.01)

    asyncio.run(wait())


def test_a_long_body_reuses_and_reserves_the_cached_buffer() -> None:
    app = create_app(Settings(memory_budget_bytes=64 * MiB, request_seconds=int(PATIENCE)))
    budget: MemoryBudget = app.state.budget
    array = np.frombuffer(random_bytes(8 * MiB), np.uint8)
    places = set()
    with running(app) as port, Client(f"http://127.0.0.1:{port}") as client:
        for shift in range(3):
            (same,) = client.broadcast("numpy.broadcast_arrays", array[shift:])
            assert np.array_equal(same, array[shift:])
            assert wait_for(lambda: budget.buffers.buffer is not None and budget.held == 0)
            assert budget.buffers.buffer
            places.add(address(budget.buffers.buffer))
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % (7 * MiB) + bytes(MiB))
            assert wait_for(lambda: budget.held > 8 * MiB - FREE_BYTES)
        assert wait_for(lambda: budget.buffers.buffer is not None and budget.held == 0)
    assert len(places) == 1


def test_a_refused_upload_frees_its_memory_without_garbage_collection() -> None:
    buffers: list[weakref.ref[Any]] = []

    def reserve(nbytes: int) -> None:
        if nbytes == WINDOW_BYTES:  # the second window
            raise Problem("overloaded", "full")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        room = np.zeros(3 * WINDOW_BYTES, np.uint8)
        buffers.append(weakref.ref(room))
        await receive()
        with pytest.raises(Problem, match="full"):
            await scope["extensions"][upload.EXTENSION]["receive_into"](room.data, 1, reserve)

    async def refused() -> None:
        pipe, _ = connection(hooks(), app=app)
        left = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (3 * WINDOW_BYTES) + bytes(
            2 * WINDOW_BYTES
        )
        while left and pipe.unsent == b"":
            left = left[pipe.deliver(left) :]
            await asyncio.sleep(0)
        await turns()
        assert pipe.unsent.startswith(b"HTTP/1.1 500 ")  # this application sends no response
        assert [buffer() is None for buffer in buffers] == [True]

    gc.disable()
    try:
        asyncio.run(refused())
    finally:
        gc.enable()
