"""Worker threads for work that would block the event loop. The work is cancelled if the client disconnects.

Only one thread at a time can run Python code, because of the interpreter lock. With many threads, the event loop would
wait many times as long for the lock. Therefore one thread runs the Python code of all requests, one request after
another (work_queue.py). A few more threads run NumPy, whose kernels release the lock. Calls that keep the lock, such as
calls of a parser, receive their input in small parts (wire/codec.py, wire/json_lists.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio import CapacityLimiter
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from axiscast.wire.cancellation import CancellableWork, WorkCancelled

from .work_queue import Requester, Turn, WorkQueue

T = TypeVar("T")

LOOP_MILLISECONDS = 1.0
"""The maximum estimated time, in milliseconds, of work that runs on the event loop."""
NUMPY_THREADS = 2
"""The number of threads for NumPy. More threads would share the same cores and need more memory."""


class WorkerThreads:
    """The worker threads of one application."""

    def __init__(self) -> None:
        self._python = CapacityLimiter(1)
        self._aside = CapacityLimiter(1)
        self._numpy = CapacityLimiter(NUMPY_THREADS)
        self.queue = WorkQueue()

    async def run_python(
        self,
        milliseconds: float,
        receive: Receive,
        work: Callable[..., T],
        *arguments: Any,
        caller: Requester | None = None,
    ) -> T:
        """Run `work(*arguments)`, whose estimated time is `milliseconds`, and return its result.

        Short work runs immediately on the event loop. Longer work waits in a queue for the Python thread.
        Raises Problem (overloaded) if too much work is in the queue.
        """
        if milliseconds <= LOOP_MILLISECONDS:
            return work(*arguments)
        turn = self.queue.enter(caller or Requester(), milliseconds)
        try:
            return await _on_thread(self._python, receive, work, arguments, turn)
        finally:
            self.queue.leave(turn)
            del turn  # otherwise a cycle: the turn, its future, the raised Problem, and the frame that holds the turn

    async def run_aside(self, work: Callable[[], T]) -> T:
        """Run a short Python function that can't wait in the queue, such as the one for /metrics. Return its result."""
        return await anyio.to_thread.run_sync(work, limiter=self._aside)

    async def run_numpy(self, receive: Receive, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work(*arguments)` on a NumPy thread and return its result. Most of its time must be spent in NumPy."""
        return await _on_thread(self._numpy, receive, work, arguments)

    async def run_numpy_step(self, step: Callable[[], T]) -> T:
        """Run one step on a NumPy thread and return its result. The caller must detect when the client disconnects."""
        return await anyio.to_thread.run_sync(step, limiter=self._numpy)


async def _on_thread(
    limiter: CapacityLimiter, receive: Receive, work: Callable[..., T], arguments: Any, turn: Turn | None = None
) -> T:
    """Run work on a thread and return its result. If there is a turn in the queue, wait until it begins.

    Raises ClientDisconnect if the client disconnects before the end.
    """
    piece = CancellableWork(work, *arguments)
    del arguments
    outcome: tuple[Any, Exception | None] | None = None
    with WhileConnected(receive, piece.cancel):
        if turn is not None:
            begun, turn = turn.begun, None
            try:
                await begun
            finally:
                del begun
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
            del error  # this immediately frees all objects in the error's frames
    return result


class WhileConnected:
    """A context manager that cancels its body when the client disconnects. Before cancelling, it calls `leave`.

    If a thread has begun a step of the work, the step is finished first. The context manager is a class because of
    Python 3.12 and 3.13. If a generator swallows an exception there, the exception and its frames become part of a
    reference cycle, and are freed only by a later garbage collection.
    """

    def __init__(self, receive: Receive, leave: Callable[[], None] = lambda: None) -> None:
        self._receive = receive
        self._leave = leave
        self._scope = anyio.CancelScope()

    def __enter__(self) -> None:
        self._scope.__enter__()
        self._watch = asyncio.create_task(_cancel_when_gone(self._scope, self._receive, self._leave))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if isinstance(error, asyncio.CancelledError):  # the client has disconnected, or the server is shutting down
            self._leave()
        self._watch.cancel()
        return self._scope.__exit__(kind, error, at)


async def _cancel_when_gone(scope: anyio.CancelScope, receive: Receive, leave: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    leave()
    scope.cancel()
