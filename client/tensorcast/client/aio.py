"""AsyncClient: the service from asyncio or trio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
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
from .address import Address, is_plain, tls_of, unkept
from .aio_transport import AsyncTransport, usable
from .attempts import Attempts
from .calls import Attempt, Call, Layout, Progress, Window
from .client import DEFAULT_URL, translated

__all__ = ["AsyncClient"]

T = TypeVar("T")


class AsyncClient:
    """What Client is, for `await`: the same methods, arguments, results and exceptions.

    `timeout` is the exact total of one call in seconds, retries included (None: no end).
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        timeout: float | None = 60.0,
        retries: int = 2,
        api_key: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        **options: Any,
    ) -> None:
        self._direct: AsyncTransport | None = None
        try:
            if transport is None and is_plain(url, options):
                transport = self._direct = AsyncTransport(tls_of(url, options))
            limits = unkept(options.pop("limits", None))
            self._http = httpx.AsyncClient(base_url=url, transport=transport, limits=limits, **options)
        except httpx.InvalidURL as error:
            raise ValueError(f"{url!r} is no URL: {error}") from None
        if api_key is not None:
            # httpx takes this header off a request that a redirect leads to another origin, and out of its own reprs.
            self._http.headers["Authorization"] = calls.authorization(api_key)
        self._address = Address(self._http)
        self._timeout = timeout
        self._retries = retries

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
        await self._http.aclose()

    async def check(
        self,
        op: Op | str,
        *shapes: SymbolicShape,
        dtype: str | None = None,
        explain: bool = False,
        assume: Mapping[str, int | str] | None = None,
    ) -> CheckAnswer:
        """See Client.check."""
        return await self._send(calls.check(op, shapes, dtype, explain, assume))

    async def check_batch(
        self, requests: Iterable[CheckRequest | Mapping[str, Any]]
    ) -> list[CheckAnswer | ServiceProblem]:
        """The answers to many checks at once, in order: each a request of check, such as
        {"op": op, "inputs": [shape, ...]}. One that is not valid gets the problem, and spoils no other."""
        return await self._send(calls.check_batch(requests))

    async def check_columns(self, op: Op | str, *columns: Any, **targets: Any) -> CheckedColumns:
        """The answers to n checks of one op, each input (and, by name, each attribute that is a shape, where it
        differs) an integer array (n, rank): row r of all of them is a check. Millions in a second."""
        return await self._send(calls.check_columns(op, columns, targets))

    async def can_broadcast(self, *shapes: Shape) -> bool:
        """See Client.can_broadcast."""
        return (await self.check(calls.NUMPY, *shapes)).compatible is True

    async def broadcast_shapes(self, *shapes: Shape) -> tuple[int, ...]:
        """See Client.broadcast_shapes."""
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
        """See Client.broadcast."""
        return await self._send(calls.broadcast(op, arrays, layout, window, out), progress, timeout)

    async def broadcast_to(self, array: Any, shape: Shape, *, layout: Layout = "dense") -> Array:
        """See Client.broadcast_to."""
        return calls.single(await self.broadcast(calls.to_shape(shape), array, layout=layout))

    async def broadcast_arrays(self, *arrays: Any, layout: Layout = "dense") -> tuple[Array, ...]:
        """See Client.broadcast_arrays."""
        return tuple(await self.broadcast(calls.NUMPY, *arrays, layout=layout)) if arrays else ()

    async def backprop(
        self,
        op: Op | str,
        shapes: Sequence[Shape],
        *gradients: Any,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> list[Array]:
        """See Client.backprop."""
        return await self._send(calls.backprop(op, shapes, gradients), progress, timeout)

    async def compare(self, *shapes: Shape, shape: Shape | None = None) -> list[Comparison]:
        """See Client.compare."""
        return await self._send(calls.compare(shapes, shape))

    async def translate(self, op: Op | str, *shapes: Shape, to: str) -> TranslateAnswer:
        """See Client.translate."""
        return await self._send(calls.translate(op, shapes, to))

    async def ops(self) -> list[OpEntry]:
        """See Client.ops."""
        return await self._send(calls.ops())

    async def _send(self, call: Call[T], progress: Progress | None = None, timeout: float | None = None) -> T:
        attempts = Attempts(self._timeout if timeout is None else timeout, self._retries)
        try:
            with anyio.fail_after(attempts.timeout):
                while True:
                    attempt = Attempt(call, progress)
                    try:
                        return await self._attempt(attempt, attempts)
                    except TensorcastError as error:
                        if isinstance(error, DeadlineExceeded):
                            raise
                        await anyio.sleep(attempts.delay_after(error, attempt.retry_after))
        except TimeoutError as error:
            if isinstance(error, DeadlineExceeded):
                raise
            raise DeadlineExceeded(f"no whole answer within {attempts.timeout} s") from None

    async def _attempt(self, attempt: Attempt[T], attempts: Attempts) -> T:
        try:
            if self._direct is not None and usable():
                request = self._address.request(attempt, attempts.remaining())
                await self._direct.handle_async_request(request)
            else:
                await self._receive(attempt, attempts)
            return attempt.finish()
        except httpx.HTTPError as error:
            raise translated(error, attempts) from error

    async def _receive(self, attempt: Attempt[T], attempts: Attempts) -> None:
        """The same by httpx's own means, with any option and transport that it has, and on trio."""
        async with self._http.stream(
            attempt.call.method,
            attempt.call.path,
            content=_pieces(attempt) if attempt.call.parts else None,
            headers=attempt.call.headers,
            timeout=attempts.remaining(),
        ) as response:
            attempt.begin(response.status_code, response.headers)
            async for chunk in response.aiter_bytes():
                attempt.feed(chunk)


async def _pieces(attempt: Attempt[T]) -> AsyncIterator[bytes]:
    for piece in attempt.body():
        yield piece  # type: ignore[misc]  # buffers pass as they are
