"""The targets of fuzzing: functions of bytes that return, or raise only documented errors.

Any other exception is a fault. A target returns what it found, so that a test can see that it goes deep.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from operator import itemgetter
from socket import socketpair
from typing import Any

import numpy as np
import uvicorn
from raw_http import receive
from starlette.datastructures import QueryParams
from uvicorn.server import ServerState

from axiscast.checks.batch_columns import answer_columns
from axiscast.checks.batch_rows import check_rows
from axiscast.checks.check import answer_check
from axiscast.checks.limits import validate_request
from axiscast.client.tensor_reader import TensorReader
from axiscast.comparison.compare import answer_compare
from axiscast.engine.views import input_gradients
from axiscast.errors import InvalidAnswer
from axiscast.explanation.answers import answer_why
from axiscast.messages import CheckRequest, CompareRequest, TranslateRequest
from axiscast.messages.tensors import BackpropRequest, BroadcastRequest, CheckBatchRequest, CheckColumnsRequest
from axiscast.messages.validation import validate
from axiscast.messages.why import WhyRequest
from axiscast.translation.translate import answer_translate
from axiscast.wire.codec import Encoding, decode
from axiscast.wire.problems import PROBLEM_KINDS, Problem
from axiscast.wire.shapes import parse_shape
from axiscast_service.endpoints.backprop import _gradients
from axiscast_service.endpoints.broadcast import outputs, request_size_of
from axiscast_service.endpoints.parameters import QueryNotation, check_fields
from axiscast_service.http.hooks import HOOKS, Hooks
from axiscast_service.http.protocol import HTTPProtocol

OUTPUT_BYTES = 2**24
"""The output limit of the targets, in bytes."""


def request_in_msgpack(data: bytes) -> str:
    """Send a MessagePack body to the endpoint that its first byte selects."""
    return _request(data, Encoding.MSGPACK)


def request_in_json(data: bytes) -> str:
    """Send a JSON body to the endpoint that its first byte selects."""
    return _request(data, Encoding.JSON)


def _request(data: bytes, media: Encoding) -> str:
    endpoints: list[tuple[Any, Callable[[Any], Any]]] = [
        (CheckRequest, answer_check),
        (CheckBatchRequest, lambda message: list(check_rows(message.requests))),
        (CheckColumnsRequest, answer_columns),
        (BroadcastRequest, _broadcast),
        (
            BackpropRequest,
            lambda message: input_gradients(*_gradients(message, validate_request(message.op, tuple(message.inputs)))),
        ),
        (CompareRequest, answer_compare),
        (TranslateRequest, answer_translate),
        (WhyRequest, lambda message: answer_why(message.text)),
    ]
    model, work = endpoints[data[0] % len(endpoints)] if data else endpoints[0]
    try:
        message = validate(model, decode(data[1:], media))
        work(message)
    except Problem as problem:
        return _refused(problem)
    return model.__name__


def _backprop(message: BackpropRequest) -> None:
    input_gradients(*_gradients(message, validate_request(message.op, tuple(message.inputs))))


def _refused(problem: Problem) -> str:
    """Return the code of a problem. Its status must be 4xx, and its message short enough to read."""
    document = problem.document()
    assert PROBLEM_KINDS[problem.code][0] == document["status"] < 500, document
    assert 0 < len(document["detail"]) < 4000
    return problem.code


def _broadcast(message: BroadcastRequest) -> None:
    for tensor in outputs(message, request_size_of(message), OUTPUT_BYTES):
        body = tensor.in_msgpack()
        assert sum(map(len, body.pieces)) == body.length


def query(data: bytes) -> str:
    """Send the query string of a GET."""
    try:
        fields = check_fields(
            QueryParams(data.decode("latin-1")).multi_items(), with_drawing=False, notation=QueryNotation()
        )
        answer_check(validate(CheckRequest, fields, QueryNotation()))
    except Problem as problem:
        return _refused(problem)
    return "answered"


def shape(data: bytes) -> str:
    """Parse the text of a shape."""
    try:
        sizes = parse_shape(data.decode("utf-8", "surrogateescape"))
    except ValueError:
        return "refused"
    assert all(isinstance(size, (int, str)) for size in sizes)
    return "shape"


def answer(data: bytes) -> str:
    """Give the client the response of a hostile service, in pieces whose length the first byte selects."""
    piece = 1 + data[0] % 64 if data else 1
    body = data[1:]
    out = [np.zeros((2, 3), np.int8)] if data[:1] > b"\x80" else None
    reader = TensorReader({"broadcast_inputs": None}, len(body), itemgetter("broadcast_inputs"), out)
    try:
        for start in range(0, len(body), piece):
            reader.feed(body[start : start + piece])
        arrays = reader.finish()
    except InvalidAnswer:
        return "refused"
    except ValueError:
        assert out is not None  # the caller's own array does not fit
        return "another out"
    assert sum(array.nbytes for array in arrays if array.flags.writeable) <= len(body)
    return "arrays"


class Wire(asyncio.Transport):
    """A transport that sends nothing. Its socket is open, and is used only to look up its state."""

    socket, _ = socketpair()
    closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.socket if name == "socket" else default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert bytes(data[:5]) == b"HTTP/" or not self.closed

    def get_write_buffer_size(self) -> int:
        return 0

    def is_reading(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return self.closed

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True

    abort = close


def connection(data: bytes) -> str:
    """Parse the bytes of a connection. One piece and two pieces must give the same requests."""
    sent = data[1:]
    cut = data[0] * len(sent) // 255 if data else 0
    whole, in_two = (
        _LOOP.run_until_complete(_received([sent])),
        _LOOP.run_until_complete(_received([sent[:cut], sent[cut:]])),
    )
    assert whole == in_two, (whole, in_two)
    return "requests" if any(isinstance(each, tuple) for each in whole) else "refused"


async def _received(pieces: list[bytes]) -> list[Any]:
    """Return the requests with their bodies, and the errors."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message["body"], message["more_body"]
        seen.append((scope["method"], scope["raw_path"], scope["query_string"], scope["headers"], body))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    config = uvicorn.Config(app, log_config=None, lifespan="off", access_log=False, date_header=False)
    config.load()
    config.loaded_app = app
    wire = Wire()
    hooks = Hooks(refusal=lambda *_: (400, [], b""), request_seconds=10**6, refused=lambda code: seen.append("refused"))
    protocol = HTTPProtocol(config, ServerState(), {HOOKS: hooks})
    protocol.connection_made(wire)
    for piece in pieces:
        if not wire.closed:
            receive(protocol, piece)
        idle = 0
        while idle < 12:  # the event loop answers one request in about three passes
            answered = len(seen)
            await asyncio.sleep(0)
            idle = idle + 1 if len(seen) == answered else 0
    protocol.connection_lost(None)
    await asyncio.sleep(0)
    return seen


_LOOP = asyncio.new_event_loop()

TARGETS: dict[str, Callable[[bytes], str]] = {
    "connection": connection,
    "msgpack": request_in_msgpack,
    "json": request_in_json,
    "query": query,
    "shape": shape,
    "answer": answer,
}
