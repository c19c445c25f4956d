"""Long responses: which one is cut if too many clients read slowly, and what a refused response looks like."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from conversation import Unhurried

from axiscast.wire.problems import Problem
from axiscast_service.middleware.admission import AdmissionMiddleware
from axiscast_service.middleware.streams import MIN_SECONDS, SCARCE_BYTES_PER_SECOND, Stream, Streams
from axiscast_service.runtime.budget import MemoryBudget
from axiscast_service.runtime.work_queue import WorkQueue

FAST, SLOW = 2 * SCARCE_BYTES_PER_SECOND, SCARCE_BYTES_PER_SECOND // 2


class Reader:
    """A client that reads at a constant rate from now on."""

    def __init__(self, clock: Unhurried, peer: str, rate: float, nbytes: int = 0) -> None:
        start = clock.now
        self.cut_for = ""
        self.stream = Stream(peer, nbytes, lambda: int((clock.now - start) * rate), self._cut)

    def _cut(self, reason: str) -> None:
        self.cut_for = reason


def in_loop(test: Callable[[Unhurried], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Return a test that runs in an event loop, which is also its clock."""

    def run() -> None:
        with asyncio.Runner(loop_factory=Unhurried) as runner:
            loop = runner.get_loop()
            assert isinstance(loop, Unhurried)
            runner.run(test(loop))

    return run


def fill(clock: Unhurried, every: Streams, *readers: tuple[str, float]) -> list[Reader]:
    found = [Reader(clock, *reader) for reader in readers]
    for reader in found:
        every.begin(reader.stream)
    clock.now += 1
    return found


def begin(clock: Unhurried, every: Streams, peer: str, nbytes: int = 0) -> Reader:
    newcomer = Reader(clock, peer, FAST, nbytes)
    every.begin(newcomer.stream)
    return newcomer


def cut(readers: list[Reader]) -> list[int]:
    return [number for number, reader in enumerate(readers) if reader.cut_for]


@in_loop
async def test_a_client_that_reads_slowly_is_cut_for_a_new_response(clock: Unhurried) -> None:
    every = Streams(0, limit=3, clock=clock.time)
    readers = fill(clock, every, ("a", FAST), ("a", SLOW), ("a", 2 * SLOW - 1))
    begin(clock, every, "a")
    assert cut(readers) == [1]
    begin(clock, every, "a")
    assert cut(readers) == [1, 2]
    with pytest.raises(Problem, match="3 responses are being sent"):
        begin(clock, every, "a")
    assert cut(readers) == [1, 2]


@in_loop
async def test_one_peer_may_use_all_streams_until_another_peer_needs_one(clock: Unhurried) -> None:
    every = Streams(0, limit=4, clock=clock.time)
    greedy = fill(clock, every, *[("a", FAST)] * 4)
    begin(clock, every, "b")
    begin(clock, every, "b")
    assert len(cut(greedy)) == 2
    with pytest.raises(Problem):  # both have two
        begin(clock, every, "b")
    begin(clock, every, "c")
    assert len(every._streams) == 4


@in_loop
async def test_a_slow_client_is_not_cut_while_there_is_room(clock: Unhurried) -> None:
    every = Streams(0, limit=3, clock=clock.time)
    readers = fill(clock, every, ("a", 0), ("a", 0))
    clock.now += 3600
    begin(clock, every, "a")
    assert cut(readers) == []


@in_loop
async def test_a_client_that_was_fast_once_and_stalls_is_slow(clock: Unhurried) -> None:
    every = Streams(0, limit=1, clock=clock.time)
    took = 2**30
    reader = Reader(clock, "a", 0)
    every.begin(reader.stream)
    reader.stream.taken = lambda: took
    clock.now += 1.5
    assert reader.stream.rate(clock.now) > FAST
    clock.now += 1
    begin(clock, every, "a")
    assert reader.cut_for == "stalled-reader"


@in_loop
async def test_slow_readers_hold_at_most_their_share_of_the_memory(clock: Unhurried) -> None:
    every = Streams(4000, limit=100, clock=clock.time)
    slow = [Reader(clock, "a", SLOW, 1000) for _ in range(3)]
    for reader in slow:
        every.begin(reader.stream)
    clock.now += 1
    newcomer = begin(clock, every, "a", nbytes=1000)
    assert len(cut(slow)) == 1
    clock.now += 0.1
    begin(clock, every, "a", nbytes=2000)  # needs the memory of both slow ones
    assert len(cut(slow)) == 3
    assert newcomer.cut_for == ""
    begin(clock, every, "a", nbytes=10**6)  # fast readers may hold the whole budget
    assert newcomer.cut_for == ""


@in_loop
async def test_slow_clients_are_cut_while_streams_are_scarce(clock: Unhurried) -> None:
    every = Streams(0, limit=4, clock=clock.time)
    readers = fill(clock, every, ("a", SLOW), ("b", SLOW - 1))
    await asyncio.sleep(60)
    assert cut(readers) == []
    readers += fill(clock, every, ("c", FAST))
    await asyncio.sleep(2 * MIN_SECONDS)
    assert cut(readers) == [1]  # two of four are not scarce
    readers += fill(clock, every, ("d", FAST), ("e", FAST))
    await asyncio.sleep(2 * MIN_SECONDS)
    assert cut(readers) == [0, 1]
    await asyncio.sleep(60)
    assert cut(readers) == [0, 1]
    for reader in readers[2:]:
        every.end(reader.stream)
    await asyncio.sleep(2 * MIN_SECONDS)
    assert not every._is_checking


@in_loop
async def test_slow_clients_are_cut_while_memory_is_scarce(clock: Unhurried) -> None:
    every = Streams(4000, limit=100, clock=clock.time)
    slow = [Reader(clock, "a", SLOW, 1000) for _ in range(3)]  # 3000 bytes are the share of streams
    for reader in slow:
        every.begin(reader.stream)
    await asyncio.sleep(2 * MIN_SECONDS)
    assert len(cut(slow)) == 1


@in_loop
async def test_streams_that_end_leave_nothing_behind(clock: Unhurried) -> None:
    every = Streams(1000, limit=2, clock=clock.time)
    readers = fill(clock, every, ("a", SLOW), ("b", SLOW))
    begin(clock, every, "c", 500)
    for reader in readers:
        every.end(reader.stream)
    assert (len(every._streams), every._nbytes, every._of_peer) == (1, 500, Counter({"c": 1}))


def responses(limit: int, body: bytes, more: bool) -> list[int]:
    """Return the statuses of three responses that are sent at the same time, if `limit` of them may be long."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": more})
        await done.wait()
        if more:
            await send({"type": "http.response.body", "body": b""})

    async def run() -> list[int]:
        admission = AdmissionMiddleware(app, 64, MemoryBudget(2**20), WorkQueue(), lambda scope: "a")
        admission.streams.limit = limit
        statuses: list[int] = []

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            elif message["body"].startswith(b"{"):
                assert json.loads(message["body"])["code"] == "overloaded"

        state = {"taken": lambda: 0, "cut": lambda reason: None}
        scope = {"type": "http", "method": "GET", "path": "/x", "headers": [], "client": ("a", 1)}
        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(admission({**scope, "state": dict(state)}, None, send))  # type: ignore[arg-type]
            for _ in range(5):
                await asyncio.sleep(0)
            assert admission.in_flight == (0 if more or len(body) > 2**16 else 3)
            done.set()
        assert (admission.in_flight, admission.streams._streams) == (0, {})
        return statuses

    done = asyncio.Event()
    return asyncio.run(run())


def test_only_a_long_response_is_a_stream_and_it_is_refused_before_its_first_byte() -> None:
    assert responses(2, b"x", more=True) == [200, 200, 503]
    assert responses(2, bytes(2**16 + 1), more=False) == [200, 200, 503]
    assert responses(2, bytes(2**16), more=False) == [200, 200, 200]
