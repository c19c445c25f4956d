"""AsyncClient: the service from asyncio or trio."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import aclosing
from functools import wraps
from inspect import iscoroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import anyio
import httpx

from ..errors import AxiscastError, DeadlineExceeded
from .aio_transport import AsyncTransport
from .base import BaseClient, translated
from .call import Attempt, Call, Progress
from .client import Client
from .retries import RetryPolicy

__all__ = ["AsyncClient"]

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[Client, P], T],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """The same method for `await`: what it sends, it sends by its client's own `_send`, which is a coroutine there."""

    @wraps(method)
    async def call(client: Any, /, *arguments: P.args, **options: P.kwargs) -> T:
        sent: Any = method(client, *arguments, **options)
        result: T = await sent if iscoroutine(sent) else sent  # of no shapes at all nothing is asked
        return result

    return call


class AsyncClient(BaseClient[httpx.AsyncBaseTransport]):
    """What Client is, for `await`, on asyncio and trio: the same methods, arguments, results and exceptions.

    `timeout` is the exact total of one call in seconds, retries included (None: no end). `transport` is any
    asynchronous transport of httpx.

        async with AsyncClient("http://127.0.0.1:8000") as client:
            await client.broadcast_shapes((8, 1, 6, 1), (7, 1, 5))                # (8, 7, 6, 5)
    """

    _own_transport = AsyncTransport
    _proxy_transport = httpx.AsyncHTTPTransport

    @classmethod
    def in_process(cls, **settings: Any) -> Self:
        """A client of a service inside this process, with no socket; see Client.in_process."""
        from .in_process import AsyncAppTransport, create_app

        return cls("http://in-process", transport=AsyncAppTransport(create_app(settings)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    check = _awaited(Client.check)
    check_batch = _awaited(Client.check_batch)
    check_columns = _awaited(Client.check_columns)
    can_broadcast = _awaited(Client.can_broadcast)
    broadcast_shapes = _awaited(Client.broadcast_shapes)
    broadcast = _awaited(Client.broadcast)
    broadcast_to = _awaited(Client.broadcast_to)
    broadcast_arrays = _awaited(Client.broadcast_arrays)
    backprop = _awaited(Client.backprop)
    compare = _awaited(Client.compare)
    translate = _awaited(Client.translate)
    why = _awaited(Client.why)
    ops = _awaited(Client.ops)

    async def _send(self, call: Call[T], progress: Progress | None = None, timeout: float | None = None) -> T:
        policy = self._policy(timeout, progress)
        attempt = Attempt(call, progress)
        try:
            with anyio.fail_after(policy.timeout):
                while True:
                    attempt = Attempt(call, progress)
                    try:
                        return await self._attempt(attempt, policy)
                    except AxiscastError as error:
                        await anyio.sleep(policy.delay_after(error, attempt.tell(error)))
        except TimeoutError as error:
            if isinstance(error, DeadlineExceeded):
                raise
            late = DeadlineExceeded(f"no whole answer within {policy.timeout} s")
            attempt.tell(late)
            raise late from None

    async def _attempt(self, attempt: Attempt[T], policy: RetryPolicy) -> T:
        try:
            response = await self._transport.handle_async_request(self._address.request(attempt, policy.remaining()))
            if attempt.headers is None:  # not AsyncTransport's, which has put the answer where it belongs
                async with aclosing(response):
                    attempt.begin(response.status_code, response.headers)
                    async for chunk in response.aiter_bytes():
                        attempt.feed(chunk)
            return attempt.finish()
        except httpx.HTTPError as error:
            raise translated(error, policy) from error
