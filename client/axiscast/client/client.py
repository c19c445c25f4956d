"""Client: the synchronous client of a service."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, Protocol, Self, TypeVar

import httpx

from .. import library
from ..arrays.tensor_arguments import ResultOptions
from ..errors import AxiscastError
from ..messages import OpEntry
from ..messages.why import WhyAnswer
from . import request_building
from .attempt import Attempt
from .base_client import BaseClient
from .call import Call
from .retries import Deadline, RetryPolicy
from .sync_transport import SyncTransport
from .transport_errors import translate_error

__all__ = ["Client"]

F = TypeVar("F", bound=Callable[..., Any])
F_co = TypeVar("F_co", bound=Callable[..., Any], covariant=True)
T = TypeVar("T")


class _Method(Protocol[F_co]):
    """The static type of a method that takes the same arguments as a function of the library."""

    def __get__(self, client: Any, owner: Any = None) -> F_co: ...


def _with_signature_of(function: F) -> Callable[[Callable[..., Any]], _Method[F]]:
    """Return a decorator for a method that takes the same arguments as a function of the library."""

    def decorate(method: Any) -> Any:
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        signature = inspect.signature(function)
        method.__signature__ = signature.replace(parameters=[own, *signature.parameters.values()])
        return method

    return decorate


class Client(BaseClient[httpx.BaseTransport]):
    """A client of one service. A client is thread-safe and reuses connections, so a program needs only one.

    `timeout` is the time limit for one call in seconds, including retries. None means no limit.
    `retries` is the maximum number of retries for one call. The client retries after a broken connection, and after a
    response with status 408, 429, 502, 503 or 504. It does not retry after other failures. The delay before a retry
    grows, has a random part, and is at least as long as the Retry-After header requires.
    `api_key` and `headers` are sent with each request to this service. Redirects are not followed.
    `verify` is an ssl.SSLContext, or False to accept any certificate.
    `proxy` is the URL of a proxy. By default, the client reads the environment variables http_proxy, https_proxy,
    all_proxy and no_proxy. An empty string means that no proxy is used.
    `transport` is any httpx transport, such as httpx.HTTPTransport(http2=True). Pass verify and proxy to the transport
    itself.
    If you set a proxy or a transport, httpx sends and receives the bytes. Calls are then slower, and the last
    read or write of a call may end after the timeout. Each call through a proxy opens a new connection.

        with Client("https://tensors.example", api_key=key, headers={"X-Team": "blue"}, timeout=5) as client:
            client.broadcast_shapes((8, 1, 6, 1), (7, 1, 5))                      # (8, 7, 6, 5)
    """

    _direct_transport = SyncTransport
    _proxy_transport = httpx.HTTPTransport

    @classmethod
    def in_process(cls, **settings: Any) -> Self:
        """Return a client whose service runs inside the client's own process, without a socket, for example in tests.

        `settings` are settings of the service, such as max_output_bytes. They have the same effects as in a real
        service. Each response is kept in memory as a whole. This method requires the `service` extra.

        >>> with Client.in_process(max_output_bytes=100) as small:
        ...     small.broadcast_shapes((8, 1), (1, 3))
        (8, 3)
        """
        from .in_process import AppTransport, create_service_app

        return cls("http://in-process", transport=AppTransport(create_service_app(settings)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections to the service."""
        self._transport.close()

    @_with_signature_of(library.check)
    def check(self, /, *op_and_shapes: Any, **options: Any) -> Any:
        """Return the shapes that an op returns, or the conflict if the shapes do not broadcast.

        The arguments and the answer are the same as those of `axiscast.check`.

        >>> client.check((8, 1, 6, 1), (7, 1, 5)).shape
        (8, 7, 6, 5)
        >>> client.check("numpy.add", (3,), (4,)).conflict.sizes
        (3, 4)
        >>> client.check("torch.expand", (3,), size=(2, -1)).shape
        (2, 3)
        >>> client.check("numpy.broadcast_arrays", ("N", 3), ("M", 1), assume={"N": "2.."}).conditions[0].message
        'N == M or M == 1'
        """
        return self._send(request_building.check(op_and_shapes, options))

    @_with_signature_of(library.check_batch)
    def check_batch(self, requests: Any) -> Any:
        """Return the answers to many checks, in order. All checks are sent in one request.

        Each check is a map such as {"op": op, "inputs": [shape, ...]}. An invalid check does not affect the other
        checks. For an invalid check, the returned list contains an exception, which is not raised.

        >>> answers = client.check_batch([{"inputs": [(3, 1), (4,)]}, {"op": "torch.expnd", "inputs": [(4,)]}])
        >>> answers[0].compatible, answers[1].code
        (True, 'unknown-op')
        """
        return self._send(request_building.check_batch(requests))

    @_with_signature_of(library.check_columns)
    def check_columns(self, /, op: Any, *columns: Any, **attributes: Any) -> Any:
        """Return the answers to n checks of one op. The shapes are given as the rows of integer arrays.

        Each input is an array of shape (n, rank). Row r of each array is the shape of that input in check r. If an
        attribute of the op is a shape, it may also be such an array, passed as a keyword argument. The service can
        check millions of rows per second.

        >>> images, biases = np.tile([8, 1, 6], (1000, 1)), np.tile([7, 1], (1000, 1))
        >>> biases[17] = [7, 5]
        >>> answers = client.check_columns("numpy.broadcast_arrays", images, biases)
        >>> answers.shape[0], int(answers.compatible.sum()), int(answers.conflict_axis[17])
        (array([8, 7, 6]), 999, 2)
        """
        return self._send(request_building.check_columns(op, columns, attributes))

    @_with_signature_of(library.can_broadcast)
    def can_broadcast(self, *shapes: Any) -> Any:
        """Return whether NumPy can broadcast these shapes against each other.

        >>> client.can_broadcast((8, 1, 6, 1), (7, 1, 5)), client.can_broadcast((3,), (4,))
        (True, False)
        """
        return self._send(request_building.can_broadcast(shapes)) if shapes else True

    @_with_signature_of(library.broadcast_shapes)
    def broadcast_shapes(self, *shapes: Any) -> Any:
        """Return the shape that results when NumPy broadcasts these shapes. Raises IncompatibleShapes.

        >>> client.broadcast_shapes((8, 1, 6, 1), (7, 1, 5))
        (8, 7, 6, 5)
        """
        return self._send(request_building.broadcast_shapes(shapes)) if shapes else ()

    @_with_signature_of(library.broadcast)
    def broadcast(self, /, *op_and_arrays: Any, **options: Any) -> Any:
        """Return the inputs of the op after broadcasting, as a list of arrays.

        The first argument is an op, an array or a BroadcastRequest, as in `axiscast.broadcast`. The arrays may come
        from NumPy, torch, jax, TensorFlow, xarray and other libraries (docs/arrays.md). By default, the results are
        new, writable arrays. If layout="strided", the results are read-only views. If like="input", each result has
        the same array type as its input: torch, jax or xarray.

        `window` requests a part of each result. It is a list with [start, stop] for each axis, or slices such as
        np.s_[0:2, :].
        `out` is an array that is filled and returned, or a list with one array for each result. Each array in `out`
        must be a NumPy array, a torch tensor or a DataArray. It must be writable and C-contiguous, and have the shape
        and dtype of the result. It may share memory with an input, because all inputs are read first.
        Raises IncompatibleShapes, OutputTooLarge and other exceptions from axiscast.errors.

        >>> from axiscast import ngraph
        >>> op = ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})
        >>> client.broadcast(op, np.array([1, 2, 3]), window=[(0, 1), (1, 3)])
        [array([[2, 3]])]
        >>> out = np.empty((2, 3), np.int64)
        >>> client.broadcast(op, np.array([1, 2, 3]), out=out)[0] is out
        True
        """
        return self._send(request_building.broadcast(op_and_arrays, options))

    @_with_signature_of(library.broadcast_to)
    def broadcast_to(
        self, array: Any, shape: Any, *, layout: Any = None, window: Any = None, out: Any = None, like: Any = "numpy"
    ) -> Any:
        """Return `array` broadcast to `shape` by NumPy's rule. See `broadcast` for the options.

        Raises IncompatibleShapes, which is a ValueError, if the array does not broadcast to `shape`. Raises TypeError
        if `shape` is invalid.

        >>> client.broadcast_to(np.array([1, 2, 3]), (2, 3))
        array([[1, 2, 3],
               [1, 2, 3]])
        >>> client.broadcast_to(np.array([1, 2, 3]), (10**12, 3), window=np.s_[-1:])
        array([[1, 2, 3]])
        """
        return self._send(request_building.broadcast_to(array, shape, ResultOptions(layout, window, out, like)))

    @_with_signature_of(library.broadcast_arrays)
    def broadcast_arrays(
        self, *arrays: Any, layout: Any = None, window: Any = None, out: Any = None, like: Any = "numpy"
    ) -> Any:
        """Return the arrays broadcast against each other by NumPy's rule. See `broadcast` for the options.

        Raises IncompatibleShapes, which is a ValueError, if the shapes do not broadcast.

        >>> [array.shape for array in client.broadcast_arrays(np.ones((3, 1)), np.ones(4))]
        [(3, 4), (3, 4)]
        """
        options = ResultOptions(layout, window, out, like)
        return self._send(request_building.broadcast_arrays(arrays, options)) if arrays else ()

    @_with_signature_of(library.backprop)
    def backprop(self, /, op: Any, shapes: Any, *gradients: Any, like: Any = "numpy", **attributes: Any) -> Any:
        """Return the gradients of the inputs, computed from the gradients of the broadcast inputs.

        `shapes` lists the shapes of the inputs. `gradients` has one array for each broadcast input, from any supported
        library. See `broadcast` for `like`. If the op uses only the shape of an input, the gradient of that
        input is zero, and is returned as a read-only view.

        >>> client.backprop("numpy.broadcast_arrays", [(3,), (2, 1)], np.ones((2, 3)), np.ones((2, 3)))
        [array([2., 2., 2.]), array([[3.],
               [3.]])]
        """
        return self._send(request_building.backprop(op, shapes, gradients, like, attributes))

    @_with_signature_of(library.compare)
    def compare(self, *shapes: Any, shape: Any = None, assume: Any = None, warn: Any = (), ops: Any = ()) -> Any:
        """Return the result of broadcasting these shapes in each framework.

        If several ops of one framework give the same result, the list contains this result once. If `shape` is given,
        pass only one other shape. The ops that take a target shape then broadcast that shape to `shape`. See `check`
        for `assume` and `warn`. `ops` selects ops by name, or by framework: `ops=["torch", "onnx.Add"]`.

        >>> {answer.op["name"]: answer.compatible for answer in client.compare((2, 1), (1, 3))}["mxnet.broadcast_like"]
        False
        """
        return self._send(request_building.compare(shapes, shape, assume, warn, ops))

    @_with_signature_of(library.translate)
    def translate(self, /, op: Any, *shapes: Any, to: Any, **attributes: Any) -> Any:
        """Return steps, with their source code, that perform the same operation with the op named `to`.

        Raises Untranslatable if the op named `to` can't express the operation. Raises IncompatibleShapes if the shapes
        do not broadcast.

        >>> from axiscast import torch
        >>> client.translate(torch.expand(size=(2, -1)), (3,), to="numpy.broadcast_to").steps[0].op
        broadcast_to(name='numpy.broadcast_to', shape=(2, 3))
        """
        return self._send(request_building.translate(op, shapes, to, attributes))

    def why(self, text: str) -> WhyAnswer:
        """Return an explanation of an error: the op and shapes in the text, and the result of checking these shapes.

        `text` is an error message, a traceback or a log of at most 65536 characters. If the text contains several
        errors about shapes, the last error is explained. A field is None if the text does not contain the corresponding
        information.

        >>> answer = client.why("ValueError: operands could not be broadcast together with shapes (3,4) (5,)")
        >>> answer.op, answer.inputs, answer.sizes
        (add(name='numpy.add'), [(3, 4), (5,)], (4, 5))
        """
        return self._send(request_building.why(text))

    def ops(self) -> list[OpEntry]:
        """Return a list of all ops. Each entry has the op's attributes, its definition and an example.

        >>> [op.name for op in client.ops()][:2]
        ['numpy.broadcast_arrays', 'numpy.broadcast_to']
        """
        return self._send(request_building.ops())

    def _send(self, call: Call[T]) -> T:
        policy = RetryPolicy(self._timeout, self._retries)
        while True:
            attempt = Attempt(call, self._progress)
            try:
                return self._run_attempt(attempt, policy.deadline)
            except AxiscastError as error:
                attempt.add_context(error)
                time.sleep(policy.delay_after(error, attempt.retry_after))

    def _run_attempt(self, attempt: Attempt[T], deadline: Deadline) -> T:
        try:
            response = self._transport.handle_request(self._address.request(attempt, deadline.remaining()))
            if attempt.headers is None:  # httpx's own transports do not pass the response to the Attempt
                with closing(response):
                    attempt.start_response(response.status_code, response.headers)
                    for chunk in response.iter_bytes():
                        attempt.feed(chunk)
                        if deadline.has_passed:
                            raise deadline.exceeded()
            return attempt.finish()
        except httpx.HTTPError as error:
            raise translate_error(error, deadline) from error
