"""Client: the service from ordinary Python. Thread-safe; one for a whole program is right."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from ..errors import ConnectionFailed, DeadlineExceeded, InvalidAnswer, ServiceProblem, TensorcastError
from ..messages import CheckAnswer, CheckRequest, Comparison, OpEntry, TranslateAnswer
from ..messages.arguments import Shape, SymbolicShape
from ..messages.tensors import CheckedColumns
from ..ops import Op
from ..schema.tensors import Array
from . import calls
from .address import Address, is_plain, tls_of, unkept
from .attempts import Attempts
from .calls import Attempt, Call, Layout, Progress, Window
from .transport import Transport

__all__ = ["Client"]

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8000"


class Client:
    """A pooled, thread-safe client of one service.

    `timeout` is the exact total of one call in seconds, retries included (None: no end).
    `retries` are further attempts after a broken connection or an answer such as 503, with growing,
    jittered delays that honour Retry-After.
    `api_key` goes to this service alone.
    `transport` is any httpx transport; `options` go to httpx.Client (headers, verify, limits, ...). With a
    transport, an option other than headers and verify, or a proxy in the environment, httpx itself sends and
    receives: more slowly, on a new connection for each call (a transport of your own decides that for itself), and a
    single read or write may then pass the timeout by up to its own length.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        timeout: float | None = 60.0,
        retries: int = 2,
        api_key: str | None = None,
        transport: httpx.BaseTransport | None = None,
        **options: Any,
    ) -> None:
        self._direct: Transport | None = None
        try:
            if transport is None and is_plain(url, options):
                transport = self._direct = Transport(tls_of(url, options))
            limits = unkept(options.pop("limits", None))
            self._http = httpx.Client(base_url=url, transport=transport, limits=limits, **options)
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
        """A client of a service inside this process, with no socket; `settings` are the service's
        (max_output_bytes, ...). Needs the extra [service]."""
        from .in_process import AppTransport, create_app

        return cls("http://in-process", transport=AppTransport(create_app(settings)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def check(
        self,
        op: Op | str,
        *shapes: SymbolicShape,
        dtype: str | None = None,
        explain: bool = False,
        assume: Mapping[str, int | str] | None = None,
    ) -> CheckAnswer:
        """The shapes that come out, or why none do: never raises on shapes that do not broadcast.

        `dtype` adds `nbytes` to each output, `explain` a `diagram`. A size may be a name, a range such as "2.."
        or "?"; `assume` says what is known of a name. `compatible` is then None where the `conditions` decide.
        """
        return self._send(calls.check(op, shapes, dtype, explain, assume))

    def check_batch(self, requests: Iterable[CheckRequest | Mapping[str, Any]]) -> list[CheckAnswer | ServiceProblem]:
        """The answers to many checks at once, in order: each a request of check, such as
        {"op": op, "inputs": [shape, ...]}. One that is not valid gets the problem, and spoils no other."""
        return self._send(calls.check_batch(requests))

    def check_columns(self, op: Op | str, *columns: Any, **targets: Any) -> CheckedColumns:
        """The answers to n checks of one op, each input (and, by name, each attribute that is a shape, where it
        differs) an integer array (n, rank): row r of all of them is a check. Millions in a second."""
        return self._send(calls.check_columns(op, columns, targets))

    def can_broadcast(self, *shapes: Shape) -> bool:
        """Whether NumPy broadcasts these shapes against each other."""
        return self.check(calls.NUMPY, *shapes).compatible is True

    def broadcast_shapes(self, *shapes: Shape) -> tuple[int, ...]:
        """The shape that NumPy broadcasts these shapes to. Raises IncompatibleShapes."""
        return calls.broadcast_shape(self.check(calls.NUMPY, *shapes)) if shapes else ()

    def broadcast(
        self,
        op: Op | str,
        *arrays: Any,
        layout: Layout = "dense",
        window: Window | None = None,
        out: Array | Sequence[Array] | None = None,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> list[Array]:
        """The op's outputs, one array each: dense ones are new and writable, strided ones read-only views.

        `window` is a [start, stop] for each output axis: only that box. `out` (an array, or one for each
        output; writable, C-contiguous, of the output's shape and dtype) is filled and returned.
        `progress` is called with each Transfer. Raises IncompatibleShapes, OutputTooLarge, ...
        """
        return self._send(calls.broadcast(op, arrays, layout, window, out), progress, timeout)

    def broadcast_to(self, array: Any, shape: Shape, *, layout: Layout = "dense") -> Array:
        """`array` broadcast to `shape` by NumPy's rule. Raises IncompatibleShapes, a ValueError."""
        return calls.single(self.broadcast(calls.to_shape(shape), array, layout=layout))

    def broadcast_arrays(self, *arrays: Any, layout: Layout = "dense") -> tuple[Array, ...]:
        """The arrays broadcast against each other by NumPy's rule. Raises IncompatibleShapes, a ValueError."""
        return tuple(self.broadcast(calls.NUMPY, *arrays, layout=layout)) if arrays else ()

    def backprop(
        self,
        op: Op | str,
        shapes: Sequence[Shape],
        *gradients: Any,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> list[Array]:
        """The gradient of each input (of these shapes) from the gradient of each output.

        An array that is replicated (an input that only lends its shape: zeros) is a read-only view.
        """
        return self._send(calls.backprop(op, shapes, gradients), progress, timeout)

    def compare(self, *shapes: Shape, shape: Shape | None = None) -> list[Comparison]:
        """Every framework's verdict on these shapes; with one of them, on broadcasting it to the target `shape`."""
        return self._send(calls.compare(shapes, shape))

    def translate(self, op: Op | str, *shapes: Shape, to: str) -> TranslateAnswer:
        """The steps that do the same by the op named `to`, and their source text.

        Raises Untranslatable, and IncompatibleShapes where there is nothing to translate.
        """
        return self._send(calls.translate(op, shapes, to))

    def ops(self) -> list[OpEntry]:
        """The catalogue: every op with its attributes, its definition and an example."""
        return self._send(calls.ops())

    def _send(self, call: Call[T], progress: Progress | None = None, timeout: float | None = None) -> T:
        attempts = Attempts(self._timeout if timeout is None else timeout, self._retries)
        while True:
            attempt = Attempt(call, progress)
            try:
                return self._attempt(attempt, attempts)
            except TensorcastError as error:
                if isinstance(error, DeadlineExceeded):
                    raise
                time.sleep(attempts.delay_after(error, attempt.retry_after))

    def _attempt(self, attempt: Attempt[T], attempts: Attempts) -> T:
        try:
            if self._direct is not None:
                self._direct.handle_request(self._address.request(attempt, attempts.remaining()))
            else:
                self._receive(attempt, attempts)
            return attempt.finish()
        except httpx.HTTPError as error:
            raise translated(error, attempts) from error

    def _receive(self, attempt: Attempt[T], attempts: Attempts) -> None:
        """The same by httpx's own means, with any option and transport that it has."""
        with self._http.stream(
            attempt.call.method,
            attempt.call.path,
            content=attempt.body() if attempt.call.parts else None,  # type: ignore[arg-type]  # buffers pass as they are
            headers=attempt.call.headers,
            timeout=attempts.remaining(),
        ) as response:
            attempt.begin(response.status_code, response.headers)
            for chunk in response.iter_bytes():
                attempt.feed(chunk)
                if attempts.late:
                    raise DeadlineExceeded(f"no whole answer within {attempts.timeout} s")


def translated(error: httpx.HTTPError, attempts: Attempts) -> TensorcastError:
    """What httpx raised, in this client's words."""
    if isinstance(error, httpx.TimeoutException):
        return DeadlineExceeded(f"no answer within {attempts.timeout} s ({type(error).__name__})")
    if isinstance(error, httpx.RemoteProtocolError):
        return InvalidAnswer(f"the answer broke off or is no HTTP: {error}")
    return ConnectionFailed(f"{error or type(error).__name__}: is the service up at this address?")
