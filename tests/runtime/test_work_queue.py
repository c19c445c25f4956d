"""The queue for the Python thread: who is served next, who gives way, and who is not served at all."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import httpx
import pytest
from conftest import PATIENCE, served
from starlette.requests import ClientDisconnect

from axiscast.wire.problems import Problem
from axiscast_service.runtime import work_queue
from axiscast_service.runtime.work_queue import HALF_LIFE_SECONDS, MAX_CLIENTS, Requester, Turn, Usage, WorkQueue


class Clock:
    now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(work_queue, "monotonic", lambda: found.now)
    return found


def inside_a_loop(test: Callable[[], None]) -> None:
    async def run() -> None:
        test()

    asyncio.run(run())


def work(queue: WorkQueue, clock: Clock, turn: Turn, seconds: float) -> None:
    assert turn.begun.done()
    clock.now += seconds
    queue.leave(turn)


def test_the_client_that_used_the_thread_least_is_next_and_then_its_connection(clock: Clock) -> None:
    def test() -> None:
        queue = WorkQueue()
        busy, other, fresh = Usage(), Usage(), Usage()
        callers = [Requester(queue.usage_of("a"), one) for one in (busy, other, fresh)]
        work(queue, clock, queue.enter(callers[0], 10), 0.2)
        work(queue, clock, queue.enter(callers[1], 10), 0.1)
        running = queue.enter(callers[0], 10)
        turns = [queue.enter(caller, 10) for caller in (*callers, Requester(queue.usage_of("b"), Usage()))]
        order = []
        for _ in turns:
            queue.leave(running)
            (number,) = [number for number, turn in enumerate(turns) if turn.begun.done() and number not in order]
            order.append(number)
            running = turns[number]
        assert order == [3, 2, 1, 0]

    inside_a_loop(test)


def test_requests_of_one_client_at_different_times_have_equal_shares() -> None:
    def test() -> None:
        queue = WorkQueue()
        usage = Usage()
        caller = Requester(queue.usage_of("a"), usage)
        caller.client.add(1000)
        usage.add(1000)
        turns = [queue.enter(caller, 1) for _ in range(100)]
        assert not queue.displace(caller)
        for number in range(100):
            assert [one.begun.done() for one in turns] == [True] * (number + 1) + [False] * (99 - number)
            queue._running = None
            queue._start_next()

    inside_a_loop(test)


def test_equal_callers_are_served_in_the_order_of_arrival(clock: Clock) -> None:
    def test() -> None:
        queue = WorkQueue()
        turns = [queue.enter(Requester(), 1) for _ in range(5)]
        for turn in turns:
            work(queue, clock, turn, 0.01)
        assert queue.milliseconds == 0

    inside_a_loop(test)


def test_a_pipelined_request_gives_way_to_the_only_request_of_another_connection(clock: Clock) -> None:
    def test() -> None:
        queue = WorkQueue()
        running = queue.enter(Requester(), 1)
        pipelined = queue.enter(Requester(is_pipelining=lambda: True), 1)
        single = queue.enter(Requester(), 1)
        assert not queue.displace(Requester(is_pipelining=lambda: True))
        queue.leave(running)
        assert (pipelined.begun.done(), single.begun.done()) == (False, True)
        assert queue.displace(Requester())
        assert isinstance(pipelined.begun.exception(), Problem)

    inside_a_loop(test)


def test_use_is_forgotten_in_time(clock: Clock) -> None:
    usage = Usage()
    usage.add(100)
    clock.now += HALF_LIFE_SECONDS
    assert usage.recent(clock.now) == pytest.approx(50)
    usage.add(50)
    clock.now += 2 * HALF_LIFE_SECONDS
    assert usage.recent(clock.now) == pytest.approx(25)


def test_a_full_queue_refuses_the_request_with_the_largest_share(clock: Clock) -> None:
    def test() -> None:
        queue = WorkQueue()
        greedy, modest = (Requester(queue.usage_of(name), Usage()) for name in "ab")
        work(queue, clock, queue.enter(greedy, 4000), 1)
        running = queue.enter(greedy, 2000)
        waiting = [queue.enter(greedy, 1500) for _ in range(2)]
        with pytest.raises(Problem, match=r"5\.0 seconds of work are queued"):
            queue.enter(greedy, 10)
        turn = queue.enter(modest, 1600)
        assert [isinstance(one.begun.exception(), Problem) for one in waiting] == [True, True]
        assert queue.milliseconds == 3600
        assert not queue.displace(greedy)
        assert not turn.begun.done()
        queue.leave(running)
        assert turn.begun.done()

    inside_a_loop(test)


def test_the_work_of_a_client_that_is_gone_is_dropped_before_it_starts(clock: Clock) -> None:
    def test() -> None:
        queue, gone = WorkQueue(), False
        running = queue.enter(Requester(), 1)
        left, stays = queue.enter(Requester(is_gone=lambda: gone), 1), queue.enter(Requester(), 1)
        gone = True
        queue.leave(running)
        assert isinstance(left.begun.exception(), ClientDisconnect)
        assert stays.begun.done()
        queue.leave(left)
        queue.leave(stays)
        assert (queue.milliseconds, queue._running, queue._waiting) == (0, None, [])

    inside_a_loop(test)


def test_the_clients_in_memory_are_limited(clock: Clock) -> None:
    queue = WorkQueue()
    busy = Requester(queue.usage_of("busy"), Usage())
    busy.client.add(1000)
    for number in range(3 * MAX_CLIENTS):
        Requester(queue.usage_of(str(number)), Usage())
        assert len(queue._clients) <= MAX_CLIENTS
    assert Requester(queue.usage_of("busy"), Usage()).client is busy.client


BODY = b'{"inputs": [[8, 1, 6, 1], [7, 1, 5]]}'
COMPARE = b"POST /v1/compare HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"


def test_pipelines_of_long_work_do_not_lock_out_other_connections() -> None:
    """All clients have the same address, so only the use by their connections tells them apart."""
    with served() as running, ExitStack() as stack:
        ended = threading.Event()

        def pipeline() -> None:
            with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
                connection.sendall(COMPARE % (len(BODY), BODY) * 200)
                connection.settimeout(0.1)
                while not ended.is_set():
                    try:
                        if not connection.recv(2**20):
                            return
                    except TimeoutError:
                        pass

        threads = [threading.Thread(target=pipeline) for _ in range(100)]
        stack.callback(ended.set)
        for thread in threads:
            thread.start()
        time.sleep(1)
        statuses = [
            httpx.post(
                f"{running.url}/v1/compare",
                content=BODY,
                headers={"Content-Type": "application/json"},
                timeout=PATIENCE,
            ).status_code
            for _ in range(20)
        ]
        ended.set()
        for thread in threads:
            thread.join()
    assert statuses == [200] * 20
