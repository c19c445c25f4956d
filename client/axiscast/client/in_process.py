"""httpx transports that call a service inside the client's own process, as an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import httpx

if TYPE_CHECKING:
    from starlette.types import ASGIApp

T = TypeVar("T")

_INSTALLATION = "pip install '.[service]' in a checkout of axiscast, or pip install 'axiscast[service]'"
NO_SERVICE = f"the service is not installed: run {_INSTALLATION}"


def create_service_app(settings: Mapping[str, Any]) -> ASGIApp:
    """Return a service with these settings as an ASGI application.

    Raises ImportError if the service package is not installed.
    """
    try:
        from axiscast_service.app import create_app
        from axiscast_service.settings import Settings
    except ImportError as error:
        raise ImportError(NO_SERVICE) from error
    return create_app(Settings(**settings))


Headers = list[tuple[bytes, bytes]]


class _AppExchange(httpx.AsyncByteStream):
    """One request to an ASGI application, which runs as a task. Iterating over this object yields the response body.

    After sending a chunk, the application waits until the client has read the chunk. After that, the application may
    reuse the memory of the chunk.
    """

    def __init__(self, app: ASGIApp, request: httpx.Request, body: bytes) -> None:
        self._app = app
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.split(b"?")[0],
            "query_string": request.url.query,
            "server": (request.url.host, request.url.port),
            "client": ("127.0.0.1", 0),
            "root_path": "",
        }
        self.task: asyncio.Task[None] | None = None
        self._request_body: bytes | None = body
        self._send, self._messages = anyio.create_memory_object_stream[Any](0)
        self._is_closed = anyio.Event()

    async def run(self) -> None:
        """Run the ASGI application until it returns."""
        async with self._send:
            await self._app(self._scope, self._receive, self._respond)

    async def _receive(self) -> dict[str, Any]:
        if self._request_body is not None:
            body, self._request_body = self._request_body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._is_closed.wait()
        return {"type": "http.disconnect"}

    async def _respond(self, message: Any) -> None:
        with suppress(anyio.BrokenResourceError):  # like a server, ignore messages after the client's disconnect
            if message["type"] == "http.response.start":
                await self._send.send((message["status"], list(message["headers"])))
            elif message.get("body"):
                await self._send.send(message["body"])

    async def next(self) -> Any:
        """Return the next part of the application's response.

        The first part is the status and the headers, and each further part is a chunk of the body. Return None at the
        end of the response.
        """
        try:
            return await self._messages.receive()
        except anyio.EndOfStream:
            return None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (chunk := await self.next()) is not None:
            yield chunk

    async def aclose(self) -> None:
        """Tell the application that the client has disconnected, and wait until the application returns."""
        self._is_closed.set()
        self._messages.close()
        if self.task is not None:
            await self.task


async def _start(app: ASGIApp, request: httpx.Request, body: bytes) -> tuple[int, Headers, _AppExchange]:
    """Start the application. Return the status, the headers and the body stream of its response."""
    exchange = _AppExchange(app, request, body)
    exchange.task = asyncio.create_task(exchange.run())
    start = await exchange.next()
    if start is None:
        await exchange.task  # raises the exception that the application raised, if any
        raise httpx.RemoteProtocolError("the application sent no response")
    status, headers = start
    return status, headers, exchange


class _LoopThread:
    """An event loop on a daemon thread. A daemon thread lets the process exit even if the client is never closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="axiscast in process", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the event loop and return its result. Call this method only from other threads."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class AppTransport(httpx.BaseTransport):
    """A synchronous httpx transport that runs an ASGI application on a separate thread."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._loop = _LoopThread()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        status, headers, exchange = self._loop.run(_start(self._app, request, request.read()))
        return httpx.Response(status, headers=headers, stream=_SyncBody(self._loop, exchange))

    def close(self) -> None:
        self._loop.close()


class _SyncBody(httpx.SyncByteStream):
    """The response body of an ASGI application, for a synchronous client outside the application's event loop."""

    def __init__(self, loop: _LoopThread, exchange: _AppExchange) -> None:
        self._loop = loop
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        while (chunk := self._loop.run(self._exchange.next())) is not None:
            yield chunk

    def close(self) -> None:
        self._loop.run(self._exchange.aclose())


class AsyncAppTransport(httpx.AsyncBaseTransport):
    """An asynchronous httpx transport that runs an ASGI application on the current asyncio event loop."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        status, headers, exchange = await _start(self._app, request, await request.aread())
        return httpx.Response(status, headers=headers, stream=exchange)
