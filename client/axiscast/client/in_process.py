"""The service inside the caller's process: httpx transports that call the application and stream its answer."""

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
    "the service is not installed: pip install '.[service]' in a checkout of axiscast, "
    "'axiscast[service]' where a package index has it"
)


def create_app(settings: Mapping[str, Any]) -> ASGIApp:
    """The service's application with these settings."""
    try:
        from axiscast_service.app import create_app
        from axiscast_service.settings import Settings
    except ImportError as error:
        raise ImportError(NO_SERVICE) from error
    return create_app(Settings(**settings))


Headers = list[tuple[bytes, bytes]]


class _Conversation(httpx.AsyncByteStream):
    """One request to an ASGI application, which runs as a task; its body is the stream of pieces that this is.

    A piece is handed over before the application goes on, so that it may fill its buffers again.
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
        self._body: bytes | None = body
        self._send, self._messages = anyio.create_memory_object_stream[Any](0)
        self._gone = anyio.Event()

    async def run(self) -> None:
        """Run the application to its end."""
        async with self._send:
            await self._app(self._scope, self._receive, self._answer)

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _answer(self, message: Any) -> None:
        with suppress(anyio.BrokenResourceError):  # the reader has gone: a server drops what is sent then
            if message["type"] == "http.response.start":
                await self._send.send((message["status"], list(message["headers"])))
            elif message.get("body"):
                await self._send.send(message["body"])

    async def next(self) -> Any:
        """The next piece; None at the end. The first one is the status and the headers."""
        try:
            return await self._messages.receive()
        except anyio.EndOfStream:
            return None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (piece := await self.next()) is not None:
            yield piece

    async def aclose(self) -> None:
        """Stop reading: the application learns that the caller has gone. Returns when it has ended."""
        self._gone.set()
        self._messages.close()
        if self.task is not None:
            await self.task


async def _begin(app: ASGIApp, request: httpx.Request, body: bytes) -> tuple[int, Headers, _Conversation]:
    """The status and the headers of the application's answer, and the conversation that gives the rest."""
    conversation = _Conversation(app, request, body)
    conversation.task = asyncio.create_task(conversation.run())
    head = await conversation.next()
    if head is None:
        await conversation.task  # raises what the application raised
        raise httpx.RemoteProtocolError("the application gave no answer")
    status, headers = head
    return status, headers, conversation


class _Loop:
    """An event loop on a daemon thread: a client that nobody closes must not keep the process from its end."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="axiscast in process", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result, from any other thread."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class AppTransport(httpx.BaseTransport):
    """Calls an ASGI application, which runs on a thread of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._loop = _Loop()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        status, headers, conversation = self._loop.run(_begin(self._app, request, request.read()))
        return httpx.Response(status, headers=headers, stream=_Pieces(self._loop, conversation))

    def close(self) -> None:
        self._loop.close()


class _Pieces(httpx.SyncByteStream):
    def __init__(self, loop: _Loop, conversation: _Conversation) -> None:
        self._loop = loop
        self._conversation = conversation

    def __iter__(self) -> Iterator[bytes]:
        while (piece := self._loop.run(self._conversation.next())) is not None:
            yield piece

    def close(self) -> None:
        self._loop.run(self._conversation.aclose())


class AsyncAppTransport(httpx.AsyncBaseTransport):
    """Calls an ASGI application in the caller's own event loop, asyncio's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        status, headers, conversation = await _begin(self._app, request, await request.aread())
        return httpx.Response(status, headers=headers, stream=conversation)
