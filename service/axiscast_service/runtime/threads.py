"""Threads: where the work is done that takes longer than the event loop may be held.

A thread alone does not keep the loop free: one thread at a time runs Python, and whichever wants to waits until the
other lets go, or for SWITCH_SECONDS. The loop asks anew for each event, so with several threads of Python it waits many
times as long. Hence one thread for Python, where requests have their turns, and a few for NumPy, whose kernels let go
while they run. What keeps Python for a whole call of C, a parser for one, gets little at a time: codec.py and lists.py
see to that.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio import CapacityLimiter
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from axiscast.wire.cancellation import CancellableWork, WorkCancelled
from axiscast.wire.problems import Problem

T = TypeVar("T")

LOOP_MILLISECONDS = 1.0
"""Work of up to so long is done on the event loop at once."""
NUMPY_THREADS = 2
"""More would share the same cores, and add up in memory."""
QUEUE_MILLISECONDS = 5000.0
"""Work of Python that may wait for its turn, for each worker: who came last would wait for so long."""
SWITCH_SECONDS = 0.0005
"""How long the event loop waits for a thread that runs Python to let go, once for each event. The interpreter's own 5
ms make ten times as many stalls; a tenth of this makes threads a tenth slower."""


COLLECT_OBJECTS = 10_000
"""Parsing 131,072 empty lists takes 23 ms at the interpreter's own 700, 6 at this; a full collection 12 ms, and 0.1
once the modules are left alone."""


@contextmanager
def switching() -> Iterator[None]:
    """Inside, threads change places every SWITCH_SECONDS."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Inside, the collector of cycles leaves alone what is there already, and comes by after COLLECT_OBJECTS new ones.
    A full collection stops everything, and by itself it looks at all modules each time, and comes dozens of times while
    one body is parsed."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class Threads:
    """The threads of an application, made in its event loop."""

    def __init__(self) -> None:
        self._python = CapacityLimiter(1)
        self._aside = CapacityLimiter(1)
        self._numpy = CapacityLimiter(NUMPY_THREADS)
        self._queued = 0.0

    async def python(self, milliseconds: float, receive: Receive, work: Callable[..., T], *arguments: Any) -> T:
        """The result of `work(*arguments)`, which takes about so long: at once where that is short, else when its turn
        has come. Raises Problem (overloaded) where too much waits for its turn."""
        if milliseconds <= LOOP_MILLISECONDS:
            return work(*arguments)
        if self._queued and self._queued + milliseconds > QUEUE_MILLISECONDS:
            raise Problem(
                "overloaded",
                f"{self._queued / 1000:.1f} seconds of work wait for their turn here, and this would take "
                f"{milliseconds / 1000:.1f}: try again shortly",
            )
        self._queued += milliseconds
        try:
            return await _on_thread(self._python, receive, work, arguments)
        finally:
            self._queued -= milliseconds

    async def aside(self, work: Callable[[], T]) -> T:
        """The result of some milliseconds of Python that can't wait for a turn: what tells how busy all others are."""
        return await anyio.to_thread.run_sync(work, limiter=self._aside)

    async def numpy(self, receive: Receive, work: Callable[..., T], *arguments: Any) -> T:
        """The result of `work(*arguments)`, which is spent in NumPy's kernels."""
        return await _on_thread(self._numpy, receive, work, arguments)

    async def next_part(self, make: Callable[[], T]) -> T:
        """What NumPy makes next. Who asks looks himself whether the caller is still there."""
        return await anyio.to_thread.run_sync(make, limiter=self._numpy)


async def _on_thread(limiter: CapacityLimiter, receive: Receive, work: Callable[..., T], arguments: Any) -> T:
    """The result. Raises ClientDisconnect where the caller has gone before it was there."""
    piece = CancellableWork(work, *arguments)
    del arguments
    outcome: tuple[Any, Exception | None] | None = None
    with WhileConnected(receive, piece.cancel):
        outcome = await anyio.to_thread.run_sync(piece.run, limiter=limiter)
    if outcome is None or isinstance(outcome[1], WorkCancelled):
        raise ClientDisconnect
    result: T = outcome[0]
    error = outcome[1]
    del outcome
    if error is not None:
        try:
            raise error
        finally:
            del error  # and with it all that its frames hold, at once
    return result


class WhileConnected:
    """What is awaited inside is given up when the caller has gone, and `leave` is called; a step of work that a thread
    has begun is finished first.

    No generator: in Python 3.12 and 3.13 the exception that one swallows is part of a cycle, with all that the frames
    below and above it hold, bodies and answers among them; the collector may not come by for long."""

    def __init__(self, receive: Receive, leave: Callable[[], None] = lambda: None) -> None:
        self._receive = receive
        self._leave = leave
        self._scope = anyio.CancelScope()

    def __enter__(self) -> None:
        self._scope.__enter__()
        self._watch = asyncio.create_task(_cancel_when_gone(self._scope, self._receive, self._leave))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if isinstance(error, asyncio.CancelledError):  # by the caller's going, or by the end of the server
            self._leave()
        self._watch.cancel()
        return self._scope.__exit__(kind, error, at)


async def _cancel_when_gone(scope: anyio.CancelScope, receive: Receive, leave: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    leave()
    scope.cancel()
