"""Long work on threads: the order of turns, and cancellation."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
import time
import weakref
from array import array
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx
import numpy as np
import pytest
from cases import cases
from conftest import PATIENCE, started, unhurried, wait_for

from axiscast.engine.dense import write_dense
from axiscast.engine.sums import sum_axes
from axiscast.wire.cancellation import CancellableWork, WorkCancelled, checkpoint
from axiscast.wire.codec import Encoding, encode
from axiscast.wire.problems import Problem
from axiscast_service.app import create_app
from axiscast_service.endpoints import batch
from axiscast_service.endpoints.plain_checks import answer_fields
from axiscast_service.runtime import threads
from axiscast_service.runtime.threads import WorkerThreads
from axiscast_service.settings import Settings


async def never() -> dict[str, Any]:
    """Receive nothing from a client that stays connected."""
    await asyncio.Event().wait()
    raise AssertionError


def test_python_work_runs_one_at_a_time_in_its_order_of_arrival() -> None:
    at_work, most, order = 0, 0, []

    def work(number: int) -> None:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        time.sleep(0.01)
        order.append(number)
        at_work -= 1

    async def run() -> None:
        own = WorkerThreads()
        await asyncio.gather(*(own.run_python(5, never, work, number) for number in range(8)))

    asyncio.run(run())
    assert (most, order) == (1, list(range(8)))


def test_short_work_runs_on_the_event_loop() -> None:
    async def run() -> list[int]:
        own = WorkerThreads()
        return [await own.run_python(milliseconds, never, threading.get_ident) for milliseconds in (0.5, 50)]

    here, there = asyncio.run(run())
    assert here == threading.get_ident() != there


def test_work_is_refused_while_the_queue_is_full() -> None:
    go_on = threading.Event()

    async def run() -> None:
        own = WorkerThreads()
        first = asyncio.create_task(own.run_python(4000, never, go_on.wait, PATIENCE))
        await asyncio.sleep(0)
        with pytest.raises(Problem) as refused:
            await own.run_python(1001, never, print)
        assert refused.value.code == "overloaded"
        assert "4.0 seconds of work are queued" in refused.value.detail
        second = asyncio.create_task(own.run_python(1000, never, int))
        await asyncio.sleep(0)
        go_on.set()
        assert (await first, await second) == (True, 0)
        assert await own.run_python(9999, never, int) == 0  # alone it may be as long as it is

    asyncio.run(run())


def test_a_batch_that_no_queue_would_accept_is_refused_for_its_size_while_other_work_is_queued() -> None:
    columns = {"dtype": "int64", "shape": [10**12, 2], "strides": [0, 1], "data": bytes(16)}
    body = encode({"op": "numpy.broadcast_arrays", "inputs": [columns]}, Encoding.MSGPACK)
    go_on = threading.Event()

    async def run() -> httpx.Response:
        app = create_app(Settings())
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://in-process") as http:
            busy = asyncio.create_task(app.state.threads.run_python(2, never, go_on.wait, PATIENCE))
            await asyncio.sleep(0)
            request = asyncio.create_task(
                http.post("/v1/check/columns", content=body, headers={"Content-Type": "application/vnd.msgpack"})
            )
            await asyncio.sleep(0.1)
            go_on.set()
            await busy
            return await request

    response = asyncio.run(run())
    assert response.status_code == 422


def test_work_ends_at_its_next_checkpoint_after_a_disconnect() -> None:
    begun, ended = threading.Event(), []

    def work() -> None:
        begun.set()
        try:
            while True:
                checkpoint()
                time.sleep(0.001)
        except WorkCancelled:
            ended.append(True)
            raise

    async def leaves() -> dict[str, Any]:
        while not begun.is_set():
            await asyncio.sleep(0.001)
        return {"type": "http.disconnect"}

    async def run() -> None:
        with pytest.raises(threads.ClientDisconnect):
            await WorkerThreads().run_numpy(leaves, work)

    asyncio.run(run())
    assert ended == [True]


def test_the_body_of_a_disconnected_client_is_freed_immediately() -> None:
    """Without a garbage collection: in Python 3.12 and 3.13 a generator that swallows an exception makes a cycle."""
    go_on = threading.Event()
    body = array("b", bytes(1000))
    sent = weakref.ref(body)

    async def leaves() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    async def run() -> None:
        own = WorkerThreads()
        first = asyncio.create_task(own.run_python(5, never, go_on.wait, PATIENCE))
        await asyncio.sleep(0)
        nonlocal body
        with pytest.raises(threads.ClientDisconnect):  # while it waits for its turn
            await own.run_python(5, leaves, len, body)
        del body
        go_on.set()
        await first

    gc.disable()
    try:
        asyncio.run(run())
        assert sent() is None
    finally:
        gc.enable()


def test_the_body_of_displaced_work_is_freed_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, the memory would be in use and not counted until the next garbage collection."""

    class Body:
        pass

    async def run() -> None:
        work_threads = WorkerThreads()
        enter = work_threads.queue.enter

        def displaced(caller: Any, milliseconds: float) -> Any:
            turn = enter(caller, milliseconds)
            turn.begun = asyncio.get_running_loop().create_future()
            turn.begun.set_exception(Problem("overloaded", "displaced"))
            return turn

        async def receive() -> Any:
            return await asyncio.get_running_loop().create_future()

        monkeypatch.setattr(work_threads.queue, "enter", displaced)
        body = Body()
        freed = weakref.ref(body)
        with suppress(Problem):
            await work_threads.run_python(1000, receive, lambda body: None, body)
        del body
        for _ in range(3):  # the task that watches the connection ends
            await asyncio.sleep(0)
        assert freed() is None

    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()


def test_work_ends_after_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("axiscast.wire.cancellation.MAX_SECONDS", 0)
    _, error = CancellableWork(checkpoint).run()
    assert isinstance(error, Problem)
    assert error.code == "work-too-large"
    checkpoint()  # outside of a Work it ends nothing


def reordered(view: np.ndarray[Any, Any]) -> None:
    write_dense(view, np.empty(view.shape, view.dtype))


BIG = np.zeros((64, 2**20), np.uint8)


ENDED: dict[str, Callable[[], object]] = {
    "columns become rows": lambda: reordered(BIG.reshape(2**13, 2**13).T),
    "short rows repeat": lambda: reordered(
        np.broadcast_to(BIG.reshape(-1)[: 3 * 2**20].reshape(-1, 1, 3), (2**20, 20, 3))
    ),
    "a sum": lambda: sum_axes(BIG, (0,), np.dtype(np.uint8)),
}


@cases("work", ENDED.values(), ids=ENDED)
def test_long_work_in_numpy_has_checkpoints(work: Callable[[], object]) -> None:
    left_off = CancellableWork(work)
    left_off.cancel()
    _, error = left_off.run()
    assert isinstance(error, WorkCancelled)
    passed: list[bool] = []

    class Counting(CancellableWork):
        def checkpoint(self) -> None:
            passed.append(True)

    assert Counting(work).run()[1] is None
    assert len(passed) > 8


def test_a_small_batch_has_its_turn_before_an_earlier_large_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "TURN_SECONDS", 1.5 * threads.LOOP_MILLISECONDS / 1000)
    begun, order = threading.Event(), []

    def encode_row(row: Any, media: Encoding) -> bytes:
        begun.set()
        order.append([*row["outputs"][0]["shape"]])
        return encode(row, media)

    async def ask(http: httpx.AsyncClient, rows: int, size: int) -> None:
        request = {"requests": [{"inputs": [[3], [size, 1]], "explain": False}] * rows}  # no plain checks
        answer = await http.post("/v1/check/batch", json=request)
        assert [row["compatible"] for row in answer.json()["results"]] == [True] * rows

    async def run() -> None:
        transport = httpx.ASGITransport(create_app(Settings()))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE) as http:
            first = asyncio.create_task(ask(http, 2000, 4))
            while not begun.is_set():
                await asyncio.sleep(0)
            await ask(http, 3, 5)
            await first

    monkeypatch.setattr(batch, "encode", encode_row)
    asyncio.run(run())
    assert (len(order), order[-1], order.count([5, 3])) == (2003, [4, 3], 3)


@pytest.mark.parametrize(
    ("rows", "on_loop"),
    [
        ([{"inputs": [[3], [2, 3]]}] * 10, 10),
        ([{"inputs": [[3], [2, 3]]}, {"inputs": [[3], ["N", 1]]}, {"inputs": [[3], [2, 3]]}], 2),
        ([{"inputs": [[1] * 4] * 60}] * 2, 1),
        ([{"op": "numpy.broadcast_to", "inputs": [[3]]}], 1),
        ([], 0),
    ],
)
def test_the_plain_rows_at_the_beginning_of_a_batch_are_answered_on_the_event_loop(
    rows: list[Any], on_loop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    makers = []

    def noted(fields: Any, encoding: Encoding) -> bytes | None:
        makers.append(threading.get_ident())
        return answer_fields(fields, encoding)

    async def run() -> None:
        transport = httpx.ASGITransport(create_app(Settings()))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE) as http:
            answer = await http.post("/v1/check/batch", json={"requests": rows})
            assert len(answer.json()["results"]) == len(rows)

    monkeypatch.setattr(batch, "answer_fields", noted)
    asyncio.run(run())
    assert makers.count(threading.get_ident()) == on_loop


def test_a_transpose_of_many_short_axes_takes_few_steps_in_python() -> None:
    steps = []

    class Counting(CancellableWork):
        def checkpoint(self) -> None:
            steps.append(True)

    assert Counting(reordered, np.zeros([2] * 20, np.uint8).transpose()).run()[1] is None
    assert len(steps) < 100


STUCK = """
import asyncio, re, signal, threading
from axiscast_service.runtime import drain

drain.LEAVE_SECONDS = 0.1
signal.signal(signal.SIGTERM, lambda *_: None)

async def run():
    with drain.Drain(0.1, 0.1).on_sigterm():
        print("ready", flush=True)
        while True:
            await asyncio.sleep(0.01)
            if signal.getitimer(signal.ITIMER_REAL)[0]:
                re.match("(a+)+$", "a" * 60 + "b")  # keeps the interpreter for ages

asyncio.run(run())
"""


def test_the_system_ends_a_process_that_is_stuck() -> None:
    with started([sys.executable, "-c", STUCK], stdout=-1) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert wait_for(lambda: process.poll() is not None)
        assert process.returncode == -signal.SIGALRM


SLOW_END = """
import asyncio, signal, time
from axiscast_service.runtime import drain

class SlowToFree:
    def __del__(self, sleep=time.sleep):
        sleep(%f)

drain.LEAVE_SECONDS = %f
drain.slow = SlowToFree()
signal.signal(signal.SIGTERM, lambda *_: None)

async def run():
    with drain.Drain(0, 0).on_sigterm():
        print("ready", flush=True)
        while not signal.getitimer(signal.ITIMER_REAL)[0]:
            await asyncio.sleep(0.01)

asyncio.run(run())
"""


def test_the_end_of_the_interpreter_may_take_longer_than_the_shutdown() -> None:
    """On a busy machine, the interpreter needs seconds to free its modules."""

    def end(seconds: float) -> None:
        program = SLOW_END % (2 * seconds, seconds)
        with started([sys.executable, "-c", program], stdout=-1) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            start = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert wait_for(lambda: process.poll() is not None)
            assert process.returncode == 0
            assert time.monotonic() - start > 2 * seconds

    unhurried(end, 0.5)
