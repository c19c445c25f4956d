"""AsyncClient: the service from asyncio or trio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
import httpx

from ..errors import DeadlineExceeded, ServiceProblem, TensorcastError
from ..messages import CheckAnswer, CheckRequest, Comparison, OpEntry, TranslateAnswer
from ..messages.arguments import Shape, SymbolicShape
from ..messages.tensors import CheckedColumns
from ..ops import Op
from ..schema.tensors import Array
from . import calls
from .aio_transport import AsyncTransport
from .base import BaseClient, translated
from .calls import Attempt, Call, Layout, Progress, Window
from .retries import RetryPolicy

__all__ = ["AsyncClient"]

T = TypeVar("T")


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

    async def check(
        self,
        op: Op | str,
        *shapes: SymbolicShape,
        dtype: str | None = None,
        explain: bool = False,
        assume: Mapping[str, int | str] | None = None,
    ) -> CheckAnswer:
        """See Client.check: `await client.check("torch.broadcast_tensors", (3, 1), (4,))`."""
        return await self._send(calls.check(op, shapes, dtype, explain, assume))

    async def check_batch(
        self, requests: Iterable[CheckRequest | Mapping[str, Any]]
    ) -> list[CheckAnswer | ServiceProblem]:
        """See Client.check_batch: `await client.check_batch([{"inputs": [(3, 1), (4,)]}])`."""
        return await self._send(calls.check_batch(requests))

    async def check_columns(self, op: Op | str, *columns: Any, **targets: Any) -> CheckedColumns:
        """See Client.check_columns: `await client.check_columns("numpy.broadcast_arrays", images, biases)`."""
        return await self._send(calls.check_columns(op, columns, targets))

    async def can_broadcast(self, *shapes: Shape) -> bool:
        """See Client.can_broadcast: `await client.can_broadcast((3, 1), (4,))`."""
        return (await self.check(calls.NUMPY, *shapes)).compatible is True

    async def broadcast_shapes(self, *shapes: Shape) -> tuple[int, ...]:
        """See Client.broadcast_shapes: `await client.broadcast_shapes((3, 1), (4,))`."""
        return calls.broadcast_shape(await self.check(calls.NUMPY, *shapes)) if shapes else ()

    async def broadcast(
        self,
        op: Op | str,
        *arrays: Any,
        layout: Layout = "dense",
        window: Window | None = None,
        out: Array | Sequence[Array] | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> list[Array]:
        """See Client.broadcast: `(output,) = await client.broadcast(op, array)`."""
        return await self._send(calls.broadcast(op, arrays, layout, window, out), progress, timeout)

    async def broadcast_to(self, array: Any, shape: Shape, *, layout: Layout = "dense") -> Array:
        """See Client.broadcast_to: `await client.broadcast_to(array, (2, 3))`."""
        return calls.single(await self.broadcast(calls.to_shape(shape), array, layout=layout))

    async def broadcast_arrays(self, *arrays: Any, layout: Layout = "dense") -> tuple[Array, ...]:
        """See Client.broadcast_arrays: `await client.broadcast_arrays(array, column)`."""
        return tuple(await self.broadcast(calls.NUMPY, *arrays, layout=layout)) if arrays else ()

    async def backprop(
        self,
        op: Op | str,
        shapes: Sequence[Shape],
        *gradients: Any,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> list[Array]:
        """See Client.backprop: `(gradient,) = await client.backprop(op, [array.shape], gradient)`."""
        return await self._send(calls.backprop(op, shapes, gradients), progress, timeout)

    async def compare(self, *shapes: Shape, shape: Shape | None = None) -> list[Comparison]:
        """See Client.compare: `await client.compare((2, 1), (1, 3))`."""
        return await self._send(calls.compare(shapes, shape))

    async def translate(self, op: Op | str, *shapes: Shape, to: str) -> TranslateAnswer:
        """See Client.translate: `await client.translate(op, (3,), to="torch.expand")`."""
        return await self._send(calls.translate(op, shapes, to))

    async def ops(self) -> list[OpEntry]:
        """See Client.ops: `await client.ops()`."""
        return await self._send(calls.ops())

    async def _send(self, call: Call[T], progress: Progress | None = None, timeout: float | None = None) -> T:
        policy = self._policy(timeout)
        try:
            with anyio.fail_after(policy.timeout):
                while True:
                    attempt = Attempt(call, progress)
                    try:
                        return await self._attempt(attempt, policy)
                    except TensorcastError as error:
                        await anyio.sleep(policy.delay_after(error, attempt.retry_after))
        except TimeoutError as error:
            if isinstance(error, DeadlineExceeded):
                raise
            raise DeadlineExceeded(f"no whole answer within {policy.timeout} s") from None

    async def _attempt(self, attempt: Attempt[T], policy: RetryPolicy) -> T:
        try:
            response = await self._transport.handle_async_request(self._address.request(attempt, policy.remaining()))
            if not attempt.begun:  # AsyncTransport has put the answer where it belongs; any other gives it in pieces
                async with aclosing(response):
                    attempt.begin(response.status_code, response.headers)
                    async for chunk in response.aiter_bytes():
                        attempt.feed(chunk)
            return attempt.finish()
        except httpx.HTTPError as error:
            raise translated(error, policy) from error
