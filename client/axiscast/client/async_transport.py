"""AsyncTransport: an httpx transport for asyncio and trio. It runs the waiting steps that connection.py yields."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from contextlib import closing
from selectors import EVENT_READ, EVENT_WRITE

import anyio
import httpx

from .connection import ResolveHost, WaitForSocket
from .connection_pool import ConnectionPool

_WAITS = ((EVENT_READ, anyio.wait_readable), (EVENT_WRITE, anyio.wait_writable))


class AsyncTransport(ConnectionPool, httpx.AsyncBaseTransport):
    """An httpx transport for asyncio and trio that passes the response directly to the Attempt.

    The Attempt is the body of the httpx request, and also reads the response. After that, the transport returns.
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
    """Run a waiting step. Return its result, which is sent back to the generator that yielded the step."""
    if isinstance(step, ResolveHost):
        try:
            return await anyio.getaddrinfo(step.host, step.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from error
    waits = [wait for wait in _WAITS if step.events & wait[0]]
    if not waits:
        await anyio.sleep(0)
        return 0
    if len(waits) == 1:
        ((event, wait_until),) = waits
        await wait_until(step.connection.fileno)
        return event
    first_event = 0

    async def wait(event: int, wait_until: Callable[[int], Awaitable[None]]) -> None:
        nonlocal first_event
        await wait_until(step.connection.fileno)
        first_event = first_event or event
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for each in waits:
            group.start_soon(wait, *each)
    return first_event
