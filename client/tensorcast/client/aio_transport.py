"""AsyncTransport: the wire as an httpx transport, for asyncio."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import closing
from selectors import EVENT_READ, EVENT_WRITE

import httpx

from .address import unkept
from .wire import Resolve, Wait, Wire


def usable() -> bool:
    """Whether an event loop of asyncio's runs, and can watch sockets: trio's and one of Windows' can't."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return False
    return getattr(type(loop), "add_reader", None) is not asyncio.AbstractEventLoop.add_reader


class AsyncTransport(httpx.AsyncBaseTransport):
    """For requests that bring an Answer (see Exchange), where `usable`; for all others, httpx's own transport.

    There is no deadline: the caller's is the one that counts, and ends an exchange at once.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._wire = Wire(context)
        self._context = context
        self._other: httpx.AsyncHTTPTransport | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if "answer" not in request.extensions:
            if self._other is None:
                self._other = httpx.AsyncHTTPTransport(verify=self._context or True, limits=unkept(None))
            return await self._other.handle_async_request(request)
        with closing(self._wire.handle(request)) as steps:
            try:
                step = next(steps)
                while True:
                    step = steps.send(await _taken(step))
            except StopIteration as end:
                response: httpx.Response = end.value
                return response

    async def aclose(self) -> None:
        self._wire.close()
        if self._other is not None:
            await self._other.aclose()


async def _taken(step: Wait | Resolve) -> object:
    """What is sent back for a step."""
    loop = asyncio.get_running_loop()
    if isinstance(step, Resolve):
        try:
            return await loop.getaddrinfo(step.host, step.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from error
    if not step.events:
        await asyncio.sleep(0)
        return 0
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
