"""Client: the service from ordinary Python. Thread-safe; one for a whole program is right."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from . import calls
from .attempts import Attempts
from .calls import Call, CheckedColumns, Layout, Progress, Shape, SymbolicShape, Transfer, Window
from .errors import ConnectionFailed, DeadlineExceeded, InvalidAnswer, ServiceProblem, TensorcastError
from .schema.messages import CheckAnswer, CheckRequest, Comparison, OpEntry, TranslateAnswer
from .schema.ops import Op
from .schema.tensors import Array

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8000"


class Client:
    """A pooled, thread-safe client of one service.

    `timeout` is the total of one call in seconds, retries included (None: no end); while a single read
    blocks, it may be passed by up to its own length. `retries` are further attempts after a broken
    connection or an answer such as 503, with growing, jittered delays that honour Retry-After.
    `api_key` goes to this service alone.
    `transport` is any httpx transport; `options` go to httpx.Client (headers, verify, limits, ...).
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
        try:
            self._http = httpx.Client(base_url=url, transport=transport, **options)
        except httpx.InvalidURL as error:
            raise ValueError(f"{url!r} is no URL: {error}") from None
        if api_key is not None:
            # httpx takes this header off a request that a redirect leads to another origin, and out of its own reprs.
            self._http.headers["Authorization"] = calls.authorization(api_key)
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
            retry_after: list[str] = []
            try:
                return self._attempt(call, attempts, progress, retry_after)
            except TensorcastError as error:
                if isinstance(error, DeadlineExceeded):
                    raise
                time.sleep(attempts.delay_after(error, *retry_after))

    def _attempt(self, call: Call[T], attempts: Attempts, progress: Progress | None, retry_after: list[str]) -> T:
        try:
            with self._http.stream(
                call.method,
                call.path,
                content=call.body(progress) if call.parts else None,  # type: ignore[arg-type]  # buffers pass as they are
                headers=call.headers,
                timeout=attempts.remaining(),
            ) as response:
                retry_after += response.headers.get_list("retry-after")[:1]
                reader = call.read(response.status_code, response.headers)
                done, total = 0, int(response.headers.get("content-length", 0)) or None
                for chunk in response.iter_bytes():
                    reader.feed(chunk)
                    done += len(chunk)
                    if progress is not None:
                        progress(Transfer("download", done, total))
                    if attempts.late:
                        raise DeadlineExceeded(f"no whole answer within {attempts.timeout} s")
                return reader.finish()
        except httpx.HTTPError as error:
            raise translated(error, attempts) from error


def translated(error: httpx.HTTPError, attempts: Attempts) -> TensorcastError:
    """What httpx raised, in this client's words."""
    if isinstance(error, httpx.TimeoutException):
        return DeadlineExceeded(f"no answer within {attempts.timeout} s ({type(error).__name__})")
    if isinstance(error, httpx.RemoteProtocolError):
        return InvalidAnswer(f"the answer broke off or is no HTTP: {error}")
    return ConnectionFailed(f"{error or type(error).__name__}: is the service up at this address?")
