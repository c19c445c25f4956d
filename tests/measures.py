"""Requests at each limit: one that is accepted with the limit, and refused if the limit is lower by one.

No number here depends on the values of limits, and nothing large is created.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from types import ModuleType
from typing import Any

import anyio
import httpx
import pytest

from axiscast.checks import limits
from axiscast.checks.batch_columns import answer_columns
from axiscast.checks.batch_rows import check_rows
from axiscast.checks.check import check_to_dict
from axiscast.checks.limits import Limit, validate_request
from axiscast.comparison.compare import compare_to_dict
from axiscast.drawing import drawing
from axiscast.messages import CheckRequest, CompareRequest, TranslateRequest
from axiscast.messages.tensors import BackpropRequest, BroadcastRequest, CheckColumnsRequest
from axiscast.messages.validation import validate
from axiscast.ops import equation
from axiscast.translation.translate import answer_translate
from axiscast.wire import codec, dtypes, prescan, shapes
from axiscast.wire.codec import Encoding, decode, encode
from axiscast.wire.problems import Problem
from axiscast_service.app import create_app
from axiscast_service.endpoints.backprop import _gradients, dense_gradients
from axiscast_service.endpoints.broadcast import outputs, request_size_of
from axiscast_service.middleware.admission import AdmissionMiddleware
from axiscast_service.runtime import threads
from axiscast_service.runtime.budget import FREE_BYTES, MemoryBudget, MemoryReservation
from axiscast_service.runtime.work_queue import WorkQueue
from axiscast_service.settings import Settings

TO: dict[str, Any] = {"name": "numpy.broadcast_to"}
MODULES: dict[str, ModuleType] = {
    module.__name__.split(".")[-1]: module
    for module in (limits, codec, prescan, dtypes, shapes, threads, drawing, equation)
}
Ask = Callable[[int], object]
"""A function that sends a request with an amount under a limit, and returns or raises the code of the refusal.

The limit is a setting, or a constant of a module.
"""


def posted(path: str, value: Any, **settings: int) -> str | None:
    """Return the problem code of the response to a JSON request. If there is no problem, return None."""

    async def post() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(Settings(metrics=False, **settings)))
        async with httpx.AsyncClient(transport=transport, base_url="http://axiscast") as http:
            if not isinstance(value, dict):
                return await http.post(path, content=value, headers={"Content-Type": "application/json"})
            return await http.post(path, json=value)

    code: str | None = asyncio.run(post()).json().get("code")
    return code


def got(query: dict[str, str]) -> str | None:
    """Return the problem code of the response to GET /v1/check. If there is no problem, return None."""

    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(Settings(metrics=False)))
        async with httpx.AsyncClient(transport=transport, base_url="http://axiscast") as http:
            return await http.get("/v1/check", params=query)

    code: str | None = asyncio.run(get()).json().get("code")
    return code


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    for byte in body:
        yield bytes([byte])


def checked(op: str | dict[str, Any], *inputs: list[Any], **fields: Any) -> dict[str, Any]:
    return check_to_dict(validate(CheckRequest, {"op": op, "inputs": list(inputs), **fields}))


def answered(max_output_bytes: int = 2**34, **request: Any) -> None:
    message = validate(BroadcastRequest, request)
    outputs(message, request_size_of(message), max_output_bytes)


def summed(op: str | dict[str, Any], inputs: list[Any], *gradients: Any) -> None:
    message = validate(BackpropRequest, {"op": op, "inputs": inputs, "gradients": list(gradients)})
    _gradients(message, validate_request(message.op, tuple(message.inputs)))


def sized(max_output_bytes: int, op: dict[str, Any], inputs: list[Any], *gradients: Any) -> None:
    fields = {"op": op, "inputs": inputs, "gradients": list(gradients), "layout": "dense"}
    message = validate(BackpropRequest, fields)
    found = _gradients(message, validate_request(message.op, tuple(message.inputs)))
    dense_gradients(message, *found, Encoding.MSGPACK, max_output_bytes)


def columns(op: Any, *inputs: Any) -> None:
    tensors = [{"shape": [len(rows), len(rows[0])], "data": rows} for rows in inputs]
    answer_columns(validate(CheckColumnsRequest, {"op": op, "inputs": tensors}))


def code_of_the_last(results: list[dict[str, Any]]) -> str | None:
    error = results[-1].get("error")
    return None if error is None else error["code"]


def row_after_seconds(seconds: int) -> str | None:
    """Return the problem of a row of a batch, after the time that the earlier rows took."""
    return code_of_the_last(list(check_rows([{"inputs": [[1]]}], seconds=lambda: seconds)))


def at_once(count: int, limit: int) -> str | None:
    """Return the problem of the last of many requests in flight."""

    async def last() -> str | None:
        done = asyncio.Event()
        codes: list[str | None] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await done.wait()

        async def send(message: Any) -> None:
            if body := message.get("body"):
                codes.append(json.loads(body)["code"])

        admission = AdmissionMiddleware(app, limit, MemoryBudget(2**20), WorkQueue(), lambda scope: "")
        scope = {"type": "http", "method": "GET", "path": "/v1/check", "headers": []}
        async with asyncio.TaskGroup() as tasks:
            for _ in range(count):
                tasks.create_task(admission(dict(scope), None, send))  # type: ignore[arg-type]
            await asyncio.sleep(0)
            done.set()
        return codes[-1] if codes else None

    return asyncio.run(last())


def threads_at_once(count: int) -> str | None:
    async def begin() -> str | None:
        limiter = threads.WorkerThreads()._numpy
        try:
            for number in range(count):
                limiter.acquire_on_behalf_of_nowait(number)
        except anyio.WouldBlock:
            return "none"
        return None

    return asyncio.run(begin())


def drawn(count: int) -> str | None:
    return (
        "none" if "more inputs" in checked("torch.broadcast_tensors", *[[2]] * count, explain=True)["diagram"] else None
    )


def packed(value: Any) -> bytes:
    return encode(value, Encoding.MSGPACK)


def said(code: str, work: Callable[[], object]) -> str | None:
    """A refusal that is not yet a Problem."""
    try:
        work()
    except ValueError:
        return code
    return None


TWENTY = [[f"N{number}"] for number in range(20)]
QUESTION = b'{"inputs": [[3]], "dtype": "int8"}'  # not a plain check
TORCH = "torch.broadcast_tensors"
SPLIT = {"name": "einops.repeat", "pattern": "(a b) -> a b c", "axes_lengths": {"a": 2, "c": 2}}
REPEATED = {"name": "einops.repeat", "pattern": "a -> (a r)", "axes_lengths": {"r": 2}}
BYTES = {"dtype": "int8", "shape": [3], "data": b"abc"}
FLOATS = {"dtype": "float32", "shape": [2, 3], "data": bytes(24)}
LISTED = {"dtype": "int8", "shape": [3], "data": [1, 2, 3]}
ROWS_OF_3 = {"op": {"name": "numpy.broadcast_to", "shape": [2, 3]}, "inputs": [LISTED]}
GRADIENT = {"inputs": [[2, 3]], "gradients": [{"dtype": "int8", "shape": [2, 3], "data": [1] * 6}]}
LONG_QUESTION = QUESTION + b" " * 1000  # the decoder of short bodies has no limits

CONSTANTS: dict[str, list[tuple[int, Callable[[], object]]]] = {
    "threads.NUMPY_THREADS": [(3, lambda: threads_at_once(3))],
    "prescan.MAX_VALUES": [
        (4, lambda: decode(packed([1, 2, 3]), Encoding.MSGPACK)),  # a list and its three
        (5, lambda: decode(packed({"a": 1, "b": 2}), Encoding.MSGPACK)),  # a map, its keys and their values
        (4, lambda: decode(b"[1, 2, 3, 4]", Encoding.JSON)),  # three commas and a list
        (4, lambda: decode(b'{"a": 1, "b": 2}', Encoding.JSON)),  # a comma, two colons and a map
    ],
    "prescan.MAX_TEXT_BYTES": [
        (6, lambda: decode(packed({"a": "xyz"}), Encoding.MSGPACK)),  # each string with its first byte
        (3, lambda: decode(b"[1]", Encoding.JSON)),
        (len(LONG_QUESTION), lambda: posted("/v1/check", LONG_QUESTION)),
        (len(LONG_QUESTION), lambda: posted("/v1/check", in_pieces(LONG_QUESTION))),
    ],
    "codec.MAX_DIGITS": [(3, lambda: decode(b"[123" + b" " * codec.SHORT_JSON_BYTES + b"]", Encoding.JSON))],
    "codec.MAX_DEPTH": [(3, lambda: decode(b'[{"a":[' + b"]}]", Encoding.JSON))],
    "codec.MAX_FIELDS": [
        (3, lambda media=media: decode(encode({"a": 1, "b": 2, "c": 3}, media), media)) for media in Encoding
    ],
    "codec.MAX_KEY": [(3, lambda media=media: decode(encode({"abc": 1}, media), media)) for media in Encoding],
    "shapes.MAX_ASSUMED_NAMES": [
        (2, lambda: checked(TORCH, ["N", "M"], assume={"N": 2, "M": 3})),
        (2, lambda: checked(SPLIT, [4])),
    ],
    "shapes.MAX_SHAPE_CHARACTERS": [(5, lambda: got({"input": "1,2,3"}))],
    "dtypes.MAX_ITEM_BYTES": [
        (12, lambda: answered(inputs=[{"dtype": "str<3>", "shape": [1], "data": bytes(12)}])),
        (3, lambda: answered(inputs=[{"dtype": "bytes<3>", "shape": [1], "data": b"abc"}])),
    ],
    "limits.MAX_RANK": [(5, lambda: checked(TORCH, [1, 1, 1, 1, 1], [1]))],
    "limits.MAX_LISTED_AXES": [
        (15, lambda: checked(TORCH, [1] * 5, [1], [])),
        (12, lambda: checked(TORCH, [1], [1], [])),
    ],
    "limits.MAX_SYMBOLIC_AXES": [(5, lambda: checked(TORCH, ["N", 2, 3], [2, 3]))],
    "limits.MAX_CONDITIONS": [
        (3, lambda: checked(TORCH, ["A"], ["B"], ["C"])),  # each two of them
        (2, lambda: checked(TORCH, ["A", "B"], ["C", "D"])),
    ],
    "limits.MAX_SYMBOLIC_MILLISECONDS": [
        (206, lambda: compare_to_dict(validate(CompareRequest, {"inputs": TWENTY}))),
        (81, lambda: code_of_the_last(list(check_rows([{"inputs": TWENTY}] * 2)))),
    ],
    "drawing.MAX_DRAWN_INPUTS": [(3, lambda: drawn(3))],
    "limits.MAX_TRANSLATED_INPUTS": [
        (
            3,
            lambda: answer_translate(
                validate(TranslateRequest, {"op": TORCH, "inputs": [[1]] * 3, "to": "onnx.Expand"})
            ),
        )
    ],
    "limits.MAX_BATCH_ROWS": [(3, lambda: list(check_rows([{"inputs": [[1]]}] * 3)))],
    "limits.MAX_BATCH_SECONDS": [(2, lambda: row_after_seconds(2))],
    "limits.MAX_COLUMN_SIZES": [(2 * (2 + 1 + (2 + 1) * 2 + 1), lambda: columns(TORCH, [[1, 2], [3, 4]], [[2], [4]]))],
    "limits.MAX_LOOKUPS": [(6, lambda: answered(op=REPEATED, inputs=[BYTES], window=[[1, 4]]))],
    "limits.MAX_JSON_ELEMENTS": [
        (8, lambda: posted("/v1/broadcast", ROWS_OF_3)),  # and the lists of each row
        (6, lambda: posted("/v1/broadcast", ROWS_OF_3 | {"json_data": "base64"})),
        (3, lambda: posted("/v1/broadcast", ROWS_OF_3 | {"layout": "strided"})),
        (8, lambda: posted("/v1/backprop", GRADIENT)),
        (6, lambda: posted("/v1/backprop", GRADIENT | {"json_data": "base64"})),
    ],
    "limits.MAX_JSON_BYTES": [
        (6, lambda: posted("/v1/broadcast", ROWS_OF_3)),
        (3, lambda: posted("/v1/broadcast", ROWS_OF_3 | {"layout": "strided"})),
        (6, lambda: posted("/v1/backprop", GRADIENT)),
    ],
    "limits.MAX_ADDRESS": [
        (6, lambda: answered(op=TO | {"shape": [2, 3]}, inputs=[BYTES], layout="strided")),
        (6, lambda: answered(op=TO | {"shape": [2, 3]}, inputs=[BYTES])),
        (4, lambda: answered(op=REPEATED, inputs=[BYTES], window=[[1, 5]])),
        (24, lambda: summed("numpy.broadcast_arrays", [[2, 3]], FLOATS)),
    ],
}
"""The constants: for each check of a constant, a request and the amount that it measures."""

SETTINGS: dict[str, list[tuple[int, Ask]]] = {
    "AXISCAST_MAX_BODY_BYTES": [
        (len(QUESTION), lambda limit: posted("/v1/check", QUESTION, max_body_bytes=limit)),
        (len(QUESTION), lambda limit: posted("/v1/check", in_pieces(QUESTION), max_body_bytes=limit)),
    ],
    "AXISCAST_MEMORY_BUDGET_BYTES": [
        (4000, lambda limit: holding(limit, other=1000).reserve(FREE_BYTES + 2000)),  # of three quarters
    ],
    "AXISCAST_MAX_OUTPUT_BYTES": [
        (6, lambda limit: answered(limit, op=TO | {"shape": [2, 3]}, inputs=[BYTES])),
        (48, lambda limit: answered(limit, inputs=[FLOATS, FLOATS])),
        (2, lambda limit: answered(limit, op=TO | {"shape": [2, 3]}, inputs=[BYTES], window=[[0, 1], [1, 3]])),
        (24, lambda limit: sized(limit, TO | {"shape": [2, 3]}, [[2, 3]], FLOATS)),
    ],
    "AXISCAST_MAX_CONCURRENT_REQUESTS": [(3, lambda limit: at_once(3, limit))],
}  # fmt: skip
"""The settings: for each check of a setting, a request and the amount that it measures."""

FIXED: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "shapes.MAX_SIZE": (lambda: checked(TORCH, [shapes.MAX_SIZE]), lambda: checked(TORCH, [shapes.MAX_SIZE + 1])),
    "equation.MAX_EQUATION_CHARACTERS": (
        lambda: checked({"name": "numpy.einsum", "equation": "i->i".ljust(equation.MAX_EQUATION_CHARACTERS)}, [2]),
        lambda: checked({"name": "numpy.einsum", "equation": "i->i".ljust(equation.MAX_EQUATION_CHARACTERS + 1)}, [2]),
    ),
}
"""The limits of formats: requests at the limit and one above it."""


def holding(budget: int, other: int = 0) -> MemoryReservation:
    """Return the reservation of a request, while other requests hold a part of the budget."""
    shared = MemoryBudget(budget)
    assert shared.try_acquire(other)
    return MemoryReservation(shared)


def refusal(work: Callable[[], object]) -> object:
    """Return the code of the Problem that a call raises or returns."""
    try:
        outcome = work()
    except Problem as problem:
        return problem.code
    return outcome if isinstance(outcome, str) else None


def with_constant(name: str, value: int, work: Callable[[], object]) -> object:
    """Return the problem while a constant has a value, in all modules that import the constant."""
    module, constant = name.split(".")
    old = getattr(MODULES[module], constant)
    new = Limit(value, **{name[1:]: part for name, part in vars(old).items()}) if type(old) is Limit else value
    with pytest.MonkeyPatch.context() as patch:
        for loaded in [loaded for name, loaded in sys.modules.items() if name.startswith("axiscast")]:
            if vars(loaded).get(constant) == old:
                patch.setattr(loaded, constant, new)
        patch.setattr(codec, "SHORT_BODY_BYTES", 0)  # short bodies are within all limits
        return refusal(work)
