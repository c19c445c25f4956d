"""AsyncTransport: an httpx transport for asyncio and trio. It performs the waiting steps that connection.py yields."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import closing
from selectors import EVENT_READ, EVENT_WRITE

import anyio
import httpx

from .connection import ResolveHost, WaitForSocket
from .connection_pool import ConnectionPool


class AsyncTransport(ConnectionPool, httpx.AsyncBaseTransport):
    """An httpx transport for asyncio and trio that passes the response directly to the Attempt.

    The Attempt is the body of the httpx request, and also reads the response. The transport returns after that.
    The transport has no timeout: AsyncClient cancels the exchange when the client's timeout expires.
    """

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with closing(self.handle(request)) as steps:
            try:
                step = next(steps)
                while True:
                    step = steps.send(await _perform(step))
            except StopIteration as end_of_steps:
                response: httpx.Response = end_of_steps.value
                return response

    async def aclose(self) -> None:
        self.close()


async def _perform(step: WaitForSocket | ResolveHost) -> object:
    """Perform a waiting step. Return its result, which is sent back to the generator that yielded the step."""
    if isinstance(step, ResolveHost):
        try:
            return await anyio.getaddrinfo(step.host, step.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from error
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # trio is running instead of asyncio
        return await _wait_by_anyio(step)
    if not step.events:
        await asyncio.sleep(0)
        return 0
    # On Windows, asyncio's ProactorEventLoop does not implement add_reader.
    if getattr(type(loop), "add_reader", None) is asyncio.AbstractEventLoop.add_reader:
        return await _wait_by_anyio(step)
    event: asyncio.Future[int] = loop.create_future()

    def on_event(number: int) -> None:
        if not event.done():
            event.set_result(number)

    fileno = step.connection.fileno
    if step.events & EVENT_READ:
        loop.add_reader(fileno, on_event, EVENT_READ)
    if step.events & EVENT_WRITE:
        loop.add_writer(fileno, on_event, EVENT_WRITE)
    try:
        return await event
    finally:
        loop.remove_reader(fileno)
        loop.remove_writer(fileno)


async def _wait_by_anyio(step: WaitForSocket) -> int:
    """Return the first socket event that occurs.

    This function works on every event loop, but is a few microseconds slower than add_reader.
    """
    if not step.events:
        await anyio.sleep(0)
    first_event = 0

    async def wait(event: int, wait_until: Callable[[int], Awaitable[None]]) -> None:
        nonlocal first_event
        await wait_until(step.connection.fileno)
        first_event = first_event or event
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for event, wait_until in ((EVENT_READ, anyio.wait_readable), (EVENT_WRITE, anyio.wait_writable)):
            if step.events & event:
                group.start_soon(wait, event, wait_until)
    return first_event
