"""Client: the service from ordinary Python. Thread-safe; one for a whole program is right."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from ..errors import AxiscastError, DeadlineExceeded, ServiceProblem
from ..messages import CheckAnswer, CheckRequest, Comparison, OpEntry, TranslateAnswer, WarningKind
from ..messages.arguments import OpLike, ShapeLike, SymbolicShapeLike
from ..messages.tensors import CheckedColumns
from ..messages.why import WhyAnswer
from . import calls
from .arrays import Like
from .base import BaseClient, translated
from .call import Attempt, Call, Progress
from .calls import Layout
from .retries import RetryPolicy
from .transport import Transport
from .window import Window

__all__ = ["Client"]

T = TypeVar("T")


class Client(BaseClient[httpx.BaseTransport]):
    """A pooled, thread-safe client of one service.

    `timeout` is the exact total of one call in seconds, retries included (None: no end).
    `retries` is the number of further attempts after a broken connection or one of the statuses 408, 429, 502, 503 and
    504, with growing, jittered delays that honour Retry-After. Nothing else is tried again.
    `api_key` and `headers` are sent with each request, to this service alone: no redirect is followed.
    `verify` is False for a certificate that nobody vouches for, or an ssl.SSLContext.
    `proxy` is a proxy's URL; without one the environment's is asked (http_proxy, https_proxy, all_proxy, no_proxy),
    with "" none is.
    `transport` is any httpx transport, for all else that httpx can do: httpx.HTTPTransport(http2=True, uds=..., ...);
    it decides itself on verify and proxies.
    Through a proxy or such a transport httpx sends and receives: more slowly, by a proxy on a new connection for each
    call, and a single read or write may then pass the timeout by up to its own length.

        with Client("https://tensors.example", api_key=key, headers={"X-Team": "blue"}, timeout=5) as client:
            client.broadcast_shapes((8, 1, 6, 1), (7, 1, 5))                      # (8, 7, 6, 5)
    """

    _own_transport = Transport
    _proxy_transport = httpx.HTTPTransport

    @classmethod
    def in_process(cls, **settings: Any) -> Self:
        """A client of a service inside this process, with no socket: what it answers and refuses is what a service with
        these `settings` (max_output_bytes, ...) would, so it suits tests. Needs the extra [service].

        >>> with Client.in_process(max_output_bytes=100) as small:
        ...     small.broadcast_shapes((8, 1), (1, 3))
        (8, 3)
        """
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
        self._transport.close()

    def check(
        self,
        /,
        op: OpLike,
        *shapes: SymbolicShapeLike,
        dtype: str | None = None,
        explain: bool = False,
        assume: Mapping[str, int | str] | None = None,
        warn: Collection[WarningKind] = (),
        **attributes: Any,
    ) -> CheckAnswer:
        """The shapes that come out, or why none do: never raises on shapes that do not broadcast.

        The op is an object, a map with its `name`, or a name with its `attributes` by keyword. `dtype` adds `nbytes`
        to each output, `explain` a `diagram`. A size may be a name, a range such as "2.." or "?"; `assume` says what is
        known of a name. `compatible` is then None if the `conditions` decide. `warn` adds warnings that correct code
        often has: "mutual-stretch", "rank-promotion".

        >>> client.check("numpy.broadcast_arrays", (8, 1, 6, 1), (7, 1, 5)).outputs[0].shape
        [8, 7, 6, 5]
        >>> client.check("numpy.broadcast_arrays", (3,), (4,)).conflict.sizes
        [3, 4]
        >>> client.check("torch.expand", (3,), size=(2, -1)).outputs[0].shape
        [2, 3]
        >>> client.check("numpy.broadcast_arrays", ("N", 3), ("M", 1), assume={"N": "2.."}).conditions[0].text
        'N == M or M == 1'
        """
        return self._send(calls.check(op, shapes, dtype, explain, assume, warn, attributes))

    def check_batch(self, requests: Iterable[CheckRequest | Mapping[str, Any]]) -> list[CheckAnswer | ServiceProblem]:
        """The answers to many checks at once, in order: each a request of check, such as
        {"op": op, "inputs": [shape, ...]}. One that is not valid gets the problem, and spoils no other.

        >>> answers = client.check_batch([{"inputs": [(3, 1), (4,)]}, {"op": "torch.expnd", "inputs": [(4,)]}])
        >>> answers[0].compatible, answers[1].code
        (True, 'unknown-op')
        """
        return self._send(calls.check_batch(requests))

    def check_columns(self, /, op: OpLike, *columns: Any, **attributes: Any) -> CheckedColumns:
        """The answers to n checks of one op, each input (and, by name, each attribute that is a shape, where it
        differs) an integer array (n, rank): row r of all of them is a check. Millions in a second.

        >>> images, biases = np.tile([8, 1, 6], (1000, 1)), np.tile([7, 1], (1000, 1))
        >>> biases[17] = [7, 5]
        >>> answers = client.check_columns("numpy.broadcast_arrays", images, biases)
        >>> answers.outputs[0][0], int(answers.compatible.sum()), int(answers.conflict_axis[17])
        (array([8, 7, 6]), 999, 2)
        """
        return self._send(calls.check_columns(op, columns, attributes))

    def can_broadcast(self, *shapes: ShapeLike) -> bool:
        """Whether NumPy broadcasts these shapes against each other.

        >>> client.can_broadcast((8, 1, 6, 1), (7, 1, 5)), client.can_broadcast((3,), (4,))
        (True, False)
        """
        return self._send(calls.can_broadcast(shapes))

    def broadcast_shapes(self, *shapes: ShapeLike) -> tuple[int, ...]:
        """The shape that NumPy broadcasts these shapes to. Raises IncompatibleShapes.

        >>> client.broadcast_shapes((8, 1, 6, 1), (7, 1, 5))
        (8, 7, 6, 5)
        """
        return self._send(calls.broadcast_shapes(shapes)) if shapes else ()

    def broadcast(
        self,
        /,
        op: OpLike,
        *arrays: Any,
        layout: Layout = "dense",
        window: Window | None = None,
        out: Any = None,
        like: Like = "numpy",
        progress: Progress | None = None,
        timeout: float | None = None,
        **attributes: Any,
    ) -> list[Any]:
        """The op's outputs, one array each: dense ones are new and writable, strided ones read-only views.

        The op is given as in `check`.

        Arrays may be NumPy's, torch's, jax's, TensorFlow's, xarray's and others' (docs/arrays.md). With like="input"
        each output is an array of torch, jax or xarray where its input is; else it is NumPy's.
        `window` is a [start, stop] for each output axis, or slices such as np.s_[0:2, :]: only that box. `out` (an
        array, or one for each output, of NumPy, torch or xarray; writable, C-contiguous, of the output's shape and
        dtype) is filled and returned. It may share memory with an input, whose elements are those of before the call.
        `progress` is called with each Transfer. Raises IncompatibleShapes, OutputTooLarge, ...

        >>> from axiscast import ngraph
        >>> op = ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})
        >>> client.broadcast(op, np.array([1, 2, 3]), window=[(0, 1), (1, 3)])
        [array([[2, 3]])]
        >>> out = np.empty((2, 3), np.int64)
        >>> client.broadcast(op, np.array([1, 2, 3]), out=out)[0] is out
        True
        """
        return self._send(calls.broadcast(op, arrays, layout, window, out, like, attributes), progress, timeout)

    def broadcast_to(
        self,
        array: Any,
        shape: ShapeLike,
        *,
        layout: Layout = "dense",
        window: Window | None = None,
        out: Any = None,
        like: Like = "numpy",
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> Any:
        """`array` broadcast to `shape` by NumPy's rule, with the options of `broadcast`. Raises IncompatibleShapes, a
        ValueError, and TypeError for a shape that is none.

        >>> client.broadcast_to(np.array([1, 2, 3]), (2, 3))
        array([[1, 2, 3],
               [1, 2, 3]])
        >>> client.broadcast_to(np.array([1, 2, 3]), (10**12, 3), window=np.s_[-1:])
        array([[1, 2, 3]])
        """
        return self._send(calls.broadcast_to(array, shape, layout, window, out, like), progress, timeout)

    def broadcast_arrays(
        self,
        *arrays: Any,
        layout: Layout = "dense",
        window: Window | None = None,
        out: Any = None,
        like: Like = "numpy",
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> tuple[Any, ...]:
        """The arrays broadcast against each other by NumPy's rule, with the options of `broadcast`. Raises
        IncompatibleShapes, a ValueError.

        >>> [array.shape for array in client.broadcast_arrays(np.ones((3, 1)), np.ones(4))]
        [(3, 4), (3, 4)]
        """
        if not arrays:
            return ()
        return self._send(calls.broadcast_arrays(arrays, layout, window, out, like), progress, timeout)

    def backprop(
        self,
        /,
        op: OpLike,
        shapes: Sequence[ShapeLike],
        *gradients: Any,
        like: Like = "numpy",
        progress: Progress | None = None,
        timeout: float | None = None,
        **attributes: Any,
    ) -> list[Any]:
        """The gradient of each input (of these shapes) from the gradient of each output, which may be arrays of any
        library; `like` is that of `broadcast`.

        An array that is replicated (an input that only lends its shape: zeros) is a read-only view.

        >>> client.backprop("numpy.broadcast_arrays", [(3,), (2, 1)], np.ones((2, 3)), np.ones((2, 3)))
        [array([2., 2., 2.]), array([[3.],
               [3.]])]
        """
        return self._send(calls.backprop(op, shapes, gradients, like, attributes), progress, timeout)

    def compare(
        self,
        *shapes: SymbolicShapeLike,
        shape: SymbolicShapeLike | None = None,
        assume: Mapping[str, int | str] | None = None,
        warn: Collection[WarningKind] = (),
    ) -> list[Comparison]:
        """Every framework's verdict on these shapes; with one of them, on broadcasting it to the target `shape`.
        Ops of one framework that agree are one result. `assume` and `warn` are those of `check`.

        >>> {answer.op["name"]: answer.compatible for answer in client.compare((2, 1), (1, 3))}["mxnet.broadcast_like"]
        False
        """
        return self._send(calls.compare(shapes, shape, assume, warn))

    def translate(self, /, op: OpLike, *shapes: ShapeLike, to: str, **attributes: Any) -> TranslateAnswer:
        """The steps that do the same by the op named `to`, and their source text.

        Raises Untranslatable, and IncompatibleShapes where there is nothing to translate.

        >>> from axiscast import torch
        >>> client.translate(torch.expand(size=(2, -1)), (3,), to="numpy.broadcast_to").steps[0].op
        broadcast_to(name='numpy.broadcast_to', shape=(2, 3))
        """
        return self._send(calls.translate(op, shapes, to, attributes))

    def why(self, text: str) -> WhyAnswer:
        """What the text of an error says: the op, the shapes and the answer to their check, or what it is about.

        The text is a message, a traceback or a log of at most 65536 characters. Of several errors about shapes, the
        last one is read. What the text does not hold is None.

        >>> answer = client.why("ValueError: operands could not be broadcast together with shapes (3,4) (5,)")
        >>> answer.op, answer.inputs, answer.sizes
        (add(name='numpy.add'), [(3, 4), (5,)], [4, 5])
        """
        return self._send(calls.why(text))

    def ops(self) -> list[OpEntry]:
        """The catalogue: every op with its attributes, its definition and an example.

        >>> [op.name for op in client.ops()][:2]
        ['numpy.broadcast_arrays', 'numpy.broadcast_to']
        """
        return self._send(calls.ops())

    def _send(self, call: Call[T], progress: Progress | None = None, timeout: float | None = None) -> T:
        policy = self._policy(timeout, progress)
        while True:
            attempt = Attempt(call, progress)
            try:
                return self._attempt(attempt, policy)
            except AxiscastError as error:
                time.sleep(policy.delay_after(error, attempt.tell(error)))

    def _attempt(self, attempt: Attempt[T], policy: RetryPolicy) -> T:
        try:
            response = self._transport.handle_request(self._address.request(attempt, policy.remaining()))
            if attempt.headers is None:  # not Transport's, which has put the answer where it belongs
                with closing(response):
                    attempt.begin(response.status_code, response.headers)
                    for chunk in response.iter_bytes():
                        attempt.feed(chunk)
                        if policy.late:
                            raise DeadlineExceeded(f"no whole answer within {policy.timeout} s")
            return attempt.finish()
        except httpx.HTTPError as error:
            raise translated(error, policy) from error
