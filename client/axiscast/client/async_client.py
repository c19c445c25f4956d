"""AsyncClient: the asynchronous client of a service, for asyncio and trio."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import aclosing
from functools import wraps
from inspect import iscoroutine
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import anyio
import httpx

from ..errors import AxiscastError, DeadlineExceeded
from ..messages import OpEntry
from ..messages.why import WhyAnswer
from . import request_building
from .async_transport import AsyncTransport
from .attempt import Attempt
from .base_client import BaseClient
from .call import Call
from .client import Client
from .retries import Deadline, RetryPolicy
from .transport_errors import translate_error

__all__ = ["AsyncClient"]

_P = ParamSpec("_P")
T = TypeVar("T")


def _async_method(method: Callable[_P, T]) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, T]]:
    """Return the asynchronous version of a method of Client.

    The method of Client calls `_send`. In AsyncClient, `_send` is a coroutine method, so its result must be awaited.
    """

    @wraps(method)
    async def call(client: Any, /, *arguments: _P.args, **options: _P.kwargs) -> T:
        sent: Any = method(client, *arguments, **options)
        result: T = await sent if iscoroutine(sent) else sent  # without shapes, the method returns the result directly
        return result

    return call


class AsyncClient(BaseClient[httpx.AsyncBaseTransport]):
    """The asynchronous client, for asyncio and trio. Its methods have the same arguments and results as in Client.

    `timeout` is the exact time limit for one call in seconds, including retries. None means no limit.
    `transport` is any asynchronous httpx transport.

        async with AsyncClient("http://127.0.0.1:8000") as client:
            await client.broadcast_shapes((8, 1, 6, 1), (7, 1, 5))                # (8, 7, 6, 5)
    """

    _direct_transport = AsyncTransport
    _proxy_transport = httpx.AsyncHTTPTransport

    @classmethod
    def in_process(cls, **settings: Any) -> Self:
        """Return a client whose service runs inside this process, without a socket. See `Client.in_process`."""
        from .in_process import create_service_app

        return cls("http://in-process", transport=httpx.ASGITransport(create_service_app(settings)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections to the service."""
        await self._transport.aclose()

    check = _async_method(Client.check)
    check_batch = _async_method(Client.check_batch)
    check_columns = _async_method(Client.check_columns)
    can_broadcast = _async_method(Client.can_broadcast)
    broadcast_shapes = _async_method(Client.broadcast_shapes)
    broadcast = _async_method(Client.broadcast)
    broadcast_to = _async_method(Client.broadcast_to)
    broadcast_arrays = _async_method(Client.broadcast_arrays)
    backprop = _async_method(Client.backprop)
    compare = _async_method(Client.compare)
    translate = _async_method(Client.translate)

    async def why(self, text: str) -> WhyAnswer:
        """Return an explanation of an error. See `Client.why`."""
        return await self._send(request_building.why(text))

    async def ops(self) -> list[OpEntry]:
        """Return a list of all ops. See `Client.ops`."""
        return await self._send(request_building.ops())

    async def _send(self, call: Call[T]) -> T:
        policy = RetryPolicy(self._timeout, self._retries)
        attempt = Attempt(call, self._progress)
        try:
            with anyio.fail_after(policy.deadline.timeout):
                while True:
                    attempt = Attempt(call, self._progress)
                    try:
                        return await self._run_attempt(attempt, policy.deadline)
                    except AxiscastError as error:
                        attempt.add_context(error)
                        await anyio.sleep(policy.delay_after(error, attempt.retry_after))
        except TimeoutError as error:
            if isinstance(error, DeadlineExceeded):
                raise
            late = policy.deadline.exceeded()
            attempt.add_context(late)
            raise late from None

    async def _run_attempt(self, attempt: Attempt[T], deadline: Deadline) -> T:
        try:
            response = await self._transport.handle_async_request(self._address.request(attempt, deadline.remaining()))
            if attempt.headers is None:  # httpx's own transports do not pass the response to the Attempt
                async with aclosing(response):
                    attempt.start_response(response.status_code, response.headers)
                    async for chunk in response.aiter_bytes():
                        attempt.feed(chunk)
            return attempt.finish()
        except httpx.HTTPError as error:
            raise translate_error(error, deadline) from error
