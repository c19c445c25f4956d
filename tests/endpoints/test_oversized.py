"""Tests that oversized requests are refused before their values are created."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from cases import cases
from costs import least_seconds, taken

from axiscast.checks.estimates import memory_estimate
from axiscast.checks.limits import validate_request
from axiscast.engine.views import gradient_bytes
from axiscast.messages.tensors import BackpropRequest, BroadcastRequest
from axiscast.messages.validation import validate
from axiscast.wire.problems import Problem
from axiscast_service.endpoints.backprop import _gradients
from axiscast_service.endpoints.broadcast import outputs, request_size_of
from axiscast_service.runtime.budget import MemoryBudget, MemoryReservation

MiB = 2**20


def broadcast(**request: Any) -> None:
    message = validate(BroadcastRequest, request)
    request_size = request_size_of(message)
    MemoryReservation(MemoryBudget(10 * MiB)).reserve_response(memory_estimate(request_size, message.inputs))
    outputs(message, request_size, 2**34)


def backprop(op: dict[str, Any], shape: list[int], gradient: dict[str, Any]) -> None:
    message = validate(BackpropRequest, {"op": op, "inputs": [shape], "gradients": [gradient]})
    request_size = validate_request(message.op, tuple(message.inputs))
    with MemoryReservation(MemoryBudget(10 * MiB)) as holding:
        holding.reserve_response(memory_estimate(request_size, message.gradients))
        holding.reserve_response(gradient_bytes(*_gradients(message, request_size)))


def overlapping(size: int) -> dict[str, Any]:
    return {"dtype": "int8", "shape": [size, size], "strides": [1, 1], "data": bytes(2 * size - 1)}


ONE = {"dtype": "float32", "shape": [1], "data": bytes(4)}
NOTHING = {"dtype": "int8", "shape": [0, 2**40], "data": b""}
TO: dict[str, Any] = {"name": "numpy.broadcast_to"}
MERGE: dict[str, Any] = {"name": "einops.repeat", "pattern": "a b -> (a b r)"}
OVERSIZED: dict[str, tuple[str, Callable[[], None]]] = {
    "a dense output": ("output-too-large", lambda: broadcast(op=TO | {"shape": [10**12]}, inputs=[ONE])),
    "an address": (
        "output-too-large",
        lambda: broadcast(op=TO | {"shape": [2**62, 2**62]}, inputs=[ONE], layout="strided"),
    ),
    "an address that is merged into nothing": (
        "output-too-large",
        lambda: broadcast(op=MERGE | {"axes_lengths": {"r": 2**40}}, inputs=[NOTHING]),
    ),
    "a sum": ("invalid-tensor", lambda: backprop(TO | {"shape": [40_000] * 2}, [1], overlapping(40_000))),
    "a gradient": ("invalid-tensor", lambda: backprop(TO | {"shape": [16_000] * 2}, [16_000] * 2, overlapping(16_000))),
    "an empty gradient, wide when it is summed": (
        "output-too-large",
        lambda: backprop(
            MERGE | {"axes_lengths": {"r": 1}}, [0, 2**61], {"dtype": "float16", "shape": [0], "data": b""}
        ),
    ),
}


@cases(("code", "work"), OVERSIZED.values(), ids=OVERSIZED)
def test_oversized_requests_are_refused_in_5_ms_and_1_mib(code: str, work: Callable[[], None]) -> None:
    with pytest.raises(Problem) as refused:
        work()
    assert refused.value.code == code
    assert taken(work) < MiB

    def refuse() -> None:
        with suppress(Problem):
            work()

    assert least_seconds(refuse, 0.005) < 0.005
