"""Long responses: which one is cut if too many clients read slowly, and what a refused response looks like."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from axiscast.wire.problems import Problem
from axiscast_service.middleware import streams
from axiscast_service.middleware.admission import AdmissionMiddleware
from axiscast_service.middleware.streams import SCARCE_BYTES_PER_SECOND, Stream, Streams
from axiscast_service.runtime.budget import MemoryBudget
from axiscast_service.runtime.work_queue import WorkQueue

FAST, SLOW = 2 * SCARCE_BYTES_PER_SECOND, SCARCE_BYTES_PER_SECOND // 2


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(streams, "monotonic", lambda: self.now)


class Reader:
    """A client that reads at a constant rate from now on."""

    def __init__(self, clock: Clock, peer: str, rate: float, nbytes: int = 0) -> None:
        start = clock.now
        self.cut_for = ""
        self.stream = Stream(peer, nbytes, lambda: int((clock.now - start) * rate), self._cut)

    def _cut(self, reason: str) -> None:
        self.cut_for = reason


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def fill(clock: Clock, every: Streams, *readers: tuple[str, float]) -> list[Reader]:
    found = [Reader(clock, *reader) for reader in readers]
    for reader in found:
        every.begin(reader.stream)
    clock.now += 1
    return found


def begin(clock: Clock, every: Streams, peer: str, nbytes: int = 0) -> Reader:
    newcomer = Reader(clock, peer, FAST, nbytes)
    every.begin(newcomer.stream)
    return newcomer


def cut(readers: list[Reader]) -> list[int]:
    return [number for number, reader in enumerate(readers) if reader.cut_for]


def test_a_client_that_reads_slowly_is_cut_for_a_new_response(clock: Clock) -> None:
    every = Streams(0, limit=3)
    readers = fill(clock, every, ("a", FAST), ("a", SLOW), ("a", 2 * SLOW - 1))
    begin(clock, every, "a")
    assert cut(readers) == [1]
    begin(clock, every, "a")
    assert cut(readers) == [1, 2]
    with pytest.raises(Problem, match="3 responses are being sent"):
        begin(clock, every, "a")
    assert cut(readers) == [1, 2]


def test_one_peer_may_use_all_streams_until_another_peer_needs_one(clock: Clock) -> None:
    every = Streams(0, limit=4)
    greedy = fill(clock, every, *[("a", FAST)] * 4)
    begin(clock, every, "b")
    begin(clock, every, "b")
    assert len(cut(greedy)) == 2
    with pytest.raises(Problem):  # both have two
        begin(clock, every, "b")
    begin(clock, every, "c")
    assert len(every._streams) == 4


def test_a_slow_client_is_not_cut_while_there_is_room(clock: Clock) -> None:
    every = Streams(0, limit=3)
    readers = fill(clock, every, ("a", 0), ("a", 0))
    clock.now += 3600
    begin(clock, every, "a")
    assert cut(readers) == []


def test_a_client_that_was_fast_once_and_stalls_is_slow(clock: Clock) -> None:
    every = Streams(0, limit=1)
    took = 2**30
    reader = Reader(clock, "a", 0)
    reader.stream.taken = lambda: took
    every.begin(reader.stream)
    clock.now += 1.5
    assert reader.stream.rate(clock.now) > FAST
    clock.now += 1
    begin(clock, every, "a")
    assert reader.cut_for == "stalled-reader"


def test_slow_readers_hold_at_most_their_share_of_the_memory(clock: Clock) -> None:
    every = Streams(4000, limit=100)
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


def test_streams_that_end_leave_nothing_behind(clock: Clock) -> None:
    every = Streams(1000, limit=2)
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
