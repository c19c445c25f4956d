"""Tests of small requests that require much work, memory or output."""

from __future__ import annotations

from typing import Any

import httpx
import msgpack
from cases import cases
from conftest import Served, unhurried
from http_requests import JSON, post


def test_overlapping_strides_return_the_shared_bytes(http: httpx.Client) -> None:
    tensor = {"dtype": "int8", "shape": [20_000, 20_000], "strides": [1, 1], "data": bytes(39_999)}
    request = {"op": "numpy.broadcast_arrays", "inputs": [tensor], "layout": "strided"}
    answer = post(http, "/v1/broadcast", request)
    assert msgpack.unpackb(answer.content)["broadcast_inputs"] == [tensor]


LARGE: dict[str, tuple[str, Any, str]] = {
    "gradients that overlap": (
        "/v1/backprop",
        {
            "op": {"name": "numpy.broadcast_to", "shape": [16_000, 16_000]},
            "inputs": [[16_000, 16_000]],
            "gradients": [{"dtype": "float32", "shape": [16_000] * 2, "strides": [1, 1], "data": bytes(4 * 31_999)}],
        },
        "invalid-tensor",
    ),
    "names beyond the rank limit": (
        "/v1/check",
        {
            "op": {
                "name": "xarray.broadcast",
                "dims": [[f"a{axis}" for axis in range(40)], [f"b{axis}" for axis in range(40)]],
            },
            "inputs": [[1] * 40, [1] * 40],
        },
        "work-too-large",
    ),
    "new axes beyond the rank limit": (
        "/v1/broadcast",
        {
            "op": {"name": "jax.lax.broadcast", "sizes": [1] * 40},
            "inputs": [{"dtype": "int8", "shape": [1] * 40, "data": b"1"}],
        },
        "work-too-large",
    ),
    "more inputs than an answer lists": ("/v1/check", {"inputs": [[]] * 64_000}, "work-too-large"),
    "a name of a megabyte": (
        "/v1/check",
        {"op": {"name": "xarray.broadcast", "dims": [["x" * 2**20]]}, "inputs": [[1]]},
        "invalid-request",
    ),
    "many names": (
        "/v1/check",
        {"inputs": [["N"]], "assume": {f"N{number}": "x" for number in range(100_000)}},
        "malformed-body",
    ),
    "more names than are validated": (
        "/v1/check",
        {"inputs": [["N"]], "assume": {f"N{number}": "x" for number in range(2000)}},
        "invalid-request",
    ),
    "a hundred thousand faults": ("/v1/check", {"inputs": [[True] * 100_000]}, "invalid-request"),
    "an unknown field of a megabyte": ("/v1/check", {"inputs": [[1]], "x" * 2**20: 1}, "malformed-body"),
    "an empty output beside an endless axis": (
        "/v1/broadcast",
        {
            "op": {"name": "numpy.broadcast_to", "shape": [0, 2**62]},
            "inputs": [{"dtype": "float32", "shape": [1], "data": bytes(4)}],
        },
        "output-too-large",
    ),
}


@cases(("path", "request_", "code"), LARGE.values(), ids=LARGE)
def test_a_request_for_a_large_output_is_refused_at_little_cost(
    http: httpx.Client, service: Served, path: str, request_: Any, code: str
) -> None:
    before = service.memory("VmHWM")
    answer = post(http, path, request_, Accept=JSON)
    assert (answer.status_code < 500, answer.json()["code"]) == (True, code)
    assert len(answer.content) < 10_000
    assert service.memory("VmHWM") - before < 100 * 2**20


def test_a_long_shape_in_a_url_is_refused_immediately(http: httpx.Client) -> None:
    """Without a bound, it took minutes of backtracking."""

    def claim(seconds: float) -> None:
        answer = http.get("/v1/check?input=1" + "+" * 30_000 + "1")
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
        assert answer.elapsed.total_seconds() < seconds

    unhurried(claim, 1)


def test_the_message_about_a_large_rank_is_short(http: httpx.Client) -> None:
    answer = post(http, "/v1/check", {"inputs": [[1] * 100_000], "explain": True}, Accept=JSON)
    assert answer.json()["conflict"]["code"] == "rank-too-large"
    assert len(answer.content) < 1000
