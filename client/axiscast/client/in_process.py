"""Transports that call a service inside the client's own process, as an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from threading import Thread
from typing import TYPE_CHECKING, Any

import httpx

from .address import AttemptRequest

if TYPE_CHECKING:
    from starlette.types import ASGIApp

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


async def _exchange(app: ASGIApp, request: httpx.Request) -> httpx.Response | BaseException:
    """Call the application, whose response is passed to the Attempt that is the body of the request.

    If the Attempt raises an exception, the application sees that the client has disconnected, and the exception is
    returned. Otherwise, return a response without a body, because the Attempt has read the body.
    """
    assert isinstance(request, AttemptRequest)
    attempt, failure = request.attempt, None

    async def app_with_attempt(scope: Any, receive: Any, send: Any) -> None:
        async def feed_attempt(message: Any) -> None:
            nonlocal failure
            if failure is not None:  # like a server, ignore messages after the client's disconnect
                return
            is_start = message["type"] == "http.response.start"
            await send(message if is_start else {**message, "body": b""})
            try:
                if is_start:
                    fields = {name.decode("ascii"): value.decode("latin-1") for name, value in message["headers"]}
                    attempt.start_response(message["status"], fields)
                elif body := message.get("body"):
                    attempt.feed(body)
            except BaseException as error:  # KeyboardInterrupt too: it would end the event loop, and not the call
                failure = error
                if is_start or message.get("more_body"):
                    await send({"type": "http.response.body"})

        await app(scope, receive, feed_attempt)

    await request.aread()
    response = await httpx.ASGITransport(app_with_attempt).handle_async_request(request)
    return failure or response


class AsyncAppTransport(httpx.AsyncBaseTransport):
    """An httpx transport for asyncio that runs an application on the current event loop."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return _response(await _exchange(self._app, request))


class AppTransport(httpx.BaseTransport):
    """An httpx transport for threads that runs an application on the event loop of a separate thread."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._loop = asyncio.new_event_loop()
        # A daemon thread lets the process exit even if the client is never closed.
        self._thread = Thread(target=self._loop.run_forever, name="axiscast in process", daemon=True)
        self._thread.start()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        exchange = asyncio.wait_for(_exchange(self._app, request), request.extensions["timeout"]["read"])
        try:
            outcome = asyncio.run_coroutine_threadsafe(exchange, self._loop).result()
        except TimeoutError:
            raise httpx.ReadTimeout("the response was not complete in time") from None
        return _response(outcome)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _response(outcome: httpx.Response | BaseException) -> httpx.Response:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
