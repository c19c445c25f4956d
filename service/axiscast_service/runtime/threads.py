"""Worker threads: work that would block the event loop, as long as its client is connected.

A thread alone does not help. The interpreter lets one thread at a time run Python, and each asks for its turn; with
many threads the event loop waits many times as long. Hence one thread runs Python, one request after another, and a few
run NumPy, whose kernels release the interpreter. Calls that keep it, such as a parser's, get little at a time
(wire/codec.py, wire/lists.py).
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
"""Work with a lower estimate is done on the event loop."""
NUMPY_THREADS = 2
"""More threads would share the same cores and need more memory."""
QUEUE_MILLISECONDS = 5000.0
"""The work that may wait in the queue of a worker. It is also the longest wait."""
SWITCH_SECONDS = 0.0005
"""The event loop waits this long for a thread that runs Python, once for each event. With the interpreter's default, 5
ms, there were ten times as many stalls. A tenth of this makes threads 10 % slower."""


COLLECT_OBJECTS = 10_000
"""New objects between two collections. To parse 131,072 empty lists takes 23 ms with the interpreter's 700, and 6 with
this. A full collection takes 12 ms, and 0.1 if it skips the modules."""


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """While the context is open, let threads switch every SWITCH_SECONDS."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def infrequent_collections() -> Iterator[None]:
    """While the context is open, collect garbage after COLLECT_OBJECTS new objects, and skip all that exist now.

    A full collection stops every thread. By default it looks at all modules, dozens of times while one body is parsed.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class WorkerThreads:
    """The worker threads of one application."""

    def __init__(self) -> None:
        self._python = CapacityLimiter(1)
        self._aside = CapacityLimiter(1)
        self._numpy = CapacityLimiter(NUMPY_THREADS)
        self._queued = 0.0

    async def run_python(self, milliseconds: float, receive: Receive, work: Callable[..., T], *arguments: Any) -> T:
        """Return the result of `work(*arguments)`, whose estimate is given.

        Short work is done immediately, on the event loop; other work waits for its turn. Raises Problem (overloaded)
        if too much work waits.
        """
        if milliseconds <= LOOP_MILLISECONDS:
            return work(*arguments)
        if self._queued and self._queued + milliseconds > QUEUE_MILLISECONDS:
            raise Problem(
                "overloaded",
                f"{self._queued / 1000:.1f} seconds of work are queued, and this request takes about "
                f"{milliseconds / 1000:.1f}: try again shortly",
            )
        self._queued += milliseconds
        try:
            return await _on_thread(self._python, receive, work, arguments)
        finally:
            self._queued -= milliseconds

    async def run_aside(self, work: Callable[[], T]) -> T:
        """Return the result of some milliseconds of Python that can't wait for a turn, such as that of /metrics."""
        return await anyio.to_thread.run_sync(work, limiter=self._aside)

    async def run_numpy(self, receive: Receive, work: Callable[..., T], *arguments: Any) -> T:
        """Return the result of `work(*arguments)`, which is spent in NumPy's kernels."""
        return await _on_thread(self._numpy, receive, work, arguments)

    async def run_numpy_step(self, step: Callable[[], T]) -> T:
        """Return the result of a step in NumPy. The caller watches whether its client is still connected."""
        return await anyio.to_thread.run_sync(step, limiter=self._numpy)


async def _on_thread(limiter: CapacityLimiter, receive: Receive, work: Callable[..., T], arguments: Any) -> T:
    """Return the result of work on a thread. Raises ClientDisconnect if the client has gone before."""
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
            del error  # so that all that its frames hold is freed immediately
    return result


class WhileConnected:
    """A context whose body is cancelled when the client disconnects; `leave` is called before.

    A step of work that a thread has begun is finished first. It is a class because of Python 3.12 and 3.13: a generator
    that swallows an exception makes it part of a cycle, with all that its frames hold. The collector may come late.
    """

    def __init__(self, receive: Receive, leave: Callable[[], None] = lambda: None) -> None:
        self._receive = receive
        self._leave = leave
        self._scope = anyio.CancelScope()

    def __enter__(self) -> None:
        self._scope.__enter__()
        self._watch = asyncio.create_task(_cancel_when_gone(self._scope, self._receive, self._leave))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if isinstance(error, asyncio.CancelledError):  # the client has disconnected, or the server ends
            self._leave()
        self._watch.cancel()
        return self._scope.__exit__(kind, error, at)


async def _cancel_when_gone(scope: anyio.CancelScope, receive: Receive, leave: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    leave()
    scope.cancel()
