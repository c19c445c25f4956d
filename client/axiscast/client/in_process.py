"""A service inside the client's own process, as an ASGI application, and a transport that calls it from threads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from threading import Thread
from typing import TYPE_CHECKING, Any

import httpx

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


class AppTransport(httpx.BaseTransport):
    """An httpx transport for threads that runs an application on the event loop of a separate thread."""

    def __init__(self, app: ASGIApp) -> None:
        self._transport = httpx.ASGITransport(app)
        self._loop = asyncio.new_event_loop()
        # A daemon thread lets the process exit even if the client is never closed.
        self._thread = Thread(target=self._loop.run_forever, name="axiscast in process", daemon=True)
        self._thread.start()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        exchange = asyncio.wait_for(self._exchange(request), request.extensions["timeout"]["read"])
        try:
            return asyncio.run_coroutine_threadsafe(exchange, self._loop).result()
        except TimeoutError:
            raise httpx.ReadTimeout("the response was not complete in time") from None

    async def _exchange(self, request: httpx.Request) -> httpx.Response:
        response = await self._transport.handle_async_request(request)
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
