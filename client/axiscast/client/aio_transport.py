"""AsyncTransport: the wire as an httpx transport, for asyncio and trio."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import closing
from selectors import EVENT_READ, EVENT_WRITE

import anyio
import httpx

from .connection import Resolve, Wait
from .pool import Wire


class AsyncTransport(Wire, httpx.AsyncBaseTransport):
    """Returns when the attempt that is the request's stream has its whole answer.

    There is no deadline: the caller's is the one that counts, and ends an exchange at once.
    """

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with closing(self.handle(request)) as steps:
            try:
                step = next(steps)
                while True:
                    step = steps.send(await _taken(step))
            except StopIteration as end:
                response: httpx.Response = end.value
                return response

    async def aclose(self) -> None:
        self.close()


async def _taken(step: Wait | Resolve) -> object:
    """What is sent back for a step."""
    if isinstance(step, Resolve):
        try:
            return await anyio.getaddrinfo(step.host, step.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from error
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # trio's
        return await _ready(step)
    if not step.events:
        await asyncio.sleep(0)
        return 0
    if getattr(type(loop), "add_reader", None) is asyncio.AbstractEventLoop.add_reader:  # one of Windows' has none
        return await _ready(step)
    came: asyncio.Future[int] = loop.create_future()

    def note(event: int) -> None:
        if not came.done():
            came.set_result(event)

    fileno = step.connection.fileno
    if step.events & EVENT_READ:
        loop.add_reader(fileno, note, EVENT_READ)
    if step.events & EVENT_WRITE:
        loop.add_writer(fileno, note, EVENT_WRITE)
    try:
        return await came
    finally:
        loop.remove_reader(fileno)
        loop.remove_writer(fileno)


async def _ready(step: Wait) -> int:
    """The event that came, waited for by anyio, which every event loop has: it takes some microseconds more."""
    if not step.events:
        await anyio.sleep(0)
    came = 0

    async def wait(event: int, until: Callable[[int], Awaitable[None]]) -> None:
        nonlocal came
        await until(step.connection.fileno)
        came = came or event
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for event, until in ((EVENT_READ, anyio.wait_readable), (EVENT_WRITE, anyio.wait_writable)):
            if step.events & event:
                group.start_soon(wait, event, until)
    return came
