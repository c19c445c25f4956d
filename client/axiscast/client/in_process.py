"""A service inside the process of the client: httpx transports that call an ASGI application."""

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

NO_SERVICE = (
    "the service is not installed: run pip install '.[service]' in a checkout of axiscast, "
    "or pip install 'axiscast[service]'"
)


def create_service_app(settings: Mapping[str, Any]) -> ASGIApp:
    """Return the ASGI application of a service with these settings. Raises ImportError if it is not installed."""
    try:
        from axiscast_service.app import create_app
        from axiscast_service.settings import Settings
    except ImportError as error:
        raise ImportError(NO_SERVICE) from error
    return create_app(Settings(**settings))


Headers = list[tuple[bytes, bytes]]


class _AppExchange(httpx.AsyncByteStream):
    """One request to an ASGI application, which runs as a task. Iteration yields the response body.

    The application waits until each chunk has been read, because it may then reuse the memory of the chunk.
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
        """Run the application until it returns."""
        async with self._send:
            await self._app(self._scope, self._receive, self._respond)

    async def _receive(self) -> dict[str, Any]:
        if self._request_body is not None:
            body, self._request_body = self._request_body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._is_closed.wait()
        return {"type": "http.disconnect"}

    async def _respond(self, message: Any) -> None:
        with suppress(anyio.BrokenResourceError):  # like a server, ignore what is sent after the client has left
            if message["type"] == "http.response.start":
                await self._send.send((message["status"], list(message["headers"])))
            elif message.get("body"):
                await self._send.send(message["body"])

    async def next(self) -> Any:
        """Return the status and the headers on the first call, then a chunk of the body, and None at its end."""
        try:
            return await self._messages.receive()
        except anyio.EndOfStream:
            return None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (chunk := await self.next()) is not None:
            yield chunk

    async def aclose(self) -> None:
        """Tell the application that the client has left, and wait until it returns."""
        self._is_closed.set()
        self._messages.close()
        if self.task is not None:
            await self.task


async def _start(app: ASGIApp, request: httpx.Request, body: bytes) -> tuple[int, Headers, _AppExchange]:
    """Start the application. Return the status and the headers of its response, and the stream of its body."""
    exchange = _AppExchange(app, request, body)
    exchange.task = asyncio.create_task(exchange.run())
    start = await exchange.next()
    if start is None:
        await exchange.task  # raises the exception of the application
        raise httpx.RemoteProtocolError("the application sent no response")
    status, headers = start
    return status, headers, exchange


class _LoopThread:
    """An event loop on a daemon thread. The process can therefore end even if the client is never closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="axiscast in process", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop, and return its result. It must be called from another thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class AppTransport(httpx.BaseTransport):
    """An httpx transport that runs an ASGI application on its own thread."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._loop = _LoopThread()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        status, headers, exchange = self._loop.run(_start(self._app, request, request.read()))
        return httpx.Response(status, headers=headers, stream=_SyncBody(self._loop, exchange))

    def close(self) -> None:
        self._loop.close()


class _SyncBody(httpx.SyncByteStream):
    """The response body of an application, for a client outside its event loop."""

    def __init__(self, loop: _LoopThread, exchange: _AppExchange) -> None:
        self._loop = loop
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        while (chunk := self._loop.run(self._exchange.next())) is not None:
            yield chunk

    def close(self) -> None:
        self._loop.run(self._exchange.aclose())


class AsyncAppTransport(httpx.AsyncBaseTransport):
    """An httpx transport that runs an ASGI application in the current asyncio event loop."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        status, headers, exchange = await _start(self._app, request, await request.aread())
        return httpx.Response(status, headers=headers, stream=exchange)
