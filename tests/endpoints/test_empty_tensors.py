"""Tests of empty tensors: every endpoint writes valid JSON that equals the MessagePack response."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from short_requests import short_answer

from axiscast.wire.tensors import Tensor
from axiscast_service.app import create_app
from axiscast_service.settings import Settings

JSON, MSGPACK = "application/json", "application/vnd.msgpack"
MAX_LISTS = 2**17
ELEMENTS = {"float32": 1.5, "complex64": [1, 2], "datetime64[D]": "2020-02-29", "str<2>": "ab", "bool": True, "int4": 7}
"""A dtype and an element for each kind of JSON element."""
SIZES = [(1,), (30, 70, 70), (40, 40, 40, 40), (3000,), (2, 2049), (2049, 2), (2, 1, 7000)]
SHAPES = {(*sizes[:axis], 0, *sizes[axis:]) for sizes in SIZES for axis in range(len(sizes) + 1)}
SHAPES |= {(*sizes[:axis], 0, *sizes[axis + 1 :]) for sizes in SIZES for axis in range(len(sizes))}


def lists_in(shape: tuple[int, ...]) -> int:
    return sum(accumulate(shape[:-1], mul))


def requests_of(shape: tuple[int, ...], dtype: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield requests whose responses contain tensors of this shape, or of a part of this shape."""
    to = {"name": "numpy.broadcast_to", "shape": shape}
    for layout in ("dense", "strided"):
        tensor = {"dtype": dtype, "shape": [1] * len(shape), "data": [ELEMENTS[dtype]]}
        yield "/v1/broadcast", {"op": to, "inputs": [tensor], "layout": layout}
        if dtype in ("float32", "complex64"):
            gradient = {"dtype": dtype, "shape": shape, "data": []}
            for source in (shape, shape[-1:]):
                yield "/v1/backprop", {"op": to, "inputs": [source], "gradients": [gradient], "layout": layout}


def batch_of(rows: int, rank: int) -> dict[str, Any]:
    """Yield columns of shapes, without rows or with only scalars."""
    return {"op": "numpy.broadcast_arrays", "inputs": [{"dtype": "int64", "shape": [rows, rank], "data": []}] * 2}


def tensors_in(answer: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for field in answer.values():
        for tensor in field if isinstance(field, list) else [field]:
            array = Tensor.model_validate(tensor).to_array("/outputs/0")
            yield array.dtype, array.shape, array.tobytes()


def judge_lists(answer: dict[str, Any]) -> None:
    """Check that each dense tensor is nested like a NumPy array of its shape."""
    for field in answer.values():
        for tensor in field if isinstance(field, list) else [field]:
            if (
                "strides" not in tensor
                and not isinstance(tensor.get("data"), bytes | None)
                and not prod(tensor["shape"])
            ):
                assert tensor["data"] == np.empty(tensor["shape"]).tolist()


async def judge(http: httpx.AsyncClient, path: str, asked: dict[str, Any]) -> int:
    """Send a request in both encodings, on both paths. Return the number of responses of the fast path."""
    answers, short = [], 0
    for fields in ({}, {"json_data": "base64"}):
        body = json.dumps({**asked, **fields}).encode()
        for accept in (JSON, MSGPACK):
            head = {"Content-Type": JSON, "Accept": accept}
            response = await http.post(path, content=body, headers=head)
            assert response.status_code == 200, response.text[:300]
            contents = [response.content]
            found = short_answer(path, body, JSON, accept)
            if found is not None:
                contents.append(found.content)
                short += 1
            for content in contents:
                answer = json.loads(content) if accept == JSON else msgpack.unpackb(content)
                judge_lists(answer)
                answers.append(list(tensors_in(answer)))
    assert all(answer == answers[0] for answer in answers)
    return short


def asked(*requests: tuple[str, dict[str, Any]]) -> int:
    """Check the responses to these requests. Return the number of responses on the fast path."""

    async def ask() -> int:
        transport = httpx.ASGITransport(create_app(Settings(metrics=False)))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
            return sum([await judge(http, path, request) for path, request in requests])

    return asyncio.run(ask())


@pytest.mark.parametrize("shape", sorted(SHAPES), ids=str)
def test_an_empty_tensor_is_the_same_in_json_and_messagepack(shape: tuple[int, ...]) -> None:
    if lists_in(shape) > MAX_LISTS - 1:
        pytest.skip("more lists than JSON holds: tests/endpoints/test_refused_requests.py")
    assert asked(*requests_of(shape, "float32")) > 0


@cases("dtype", ELEMENTS)
def test_an_empty_tensor_of_any_dtype_is_the_same_in_json_and_messagepack(dtype: str) -> None:
    for shape in [(0, 30, 70, 70), (40, 0, 40, 40, 40), (2049, 0), (0,), (3, 0, 2)]:
        asked(*requests_of(shape, dtype))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([0, 0, 1, 2, 3, 50, 3000]), min_size=1, max_size=5).map(tuple))
def test_an_empty_tensor_of_any_shape_is_the_same_in_json_and_messagepack(shape: tuple[int, ...]) -> None:
    if prod(shape) + lists_in(shape) < MAX_LISTS / 4:
        asked(*(request for request in requests_of(shape, "float32") if request[0] == "/v1/broadcast" or 0 in shape))


@cases(("rows", "rank"), [(0, 0), (0, 4), (0, 64), (3, 0), (5000, 0)])
def test_columns_without_sizes_are_the_same_in_json_and_messagepack(rows: int, rank: int) -> None:
    asked(("/v1/check/columns", batch_of(rows, rank)))


def test_a_gradient_without_elements_is_zeros_in_both_encodings() -> None:
    to = {"name": "numpy.broadcast_to", "shape": [0, 30_000]}
    gradient = {"dtype": "float32", "shape": [0, 30_000], "data": []}
    asked(("/v1/backprop", {"op": to, "inputs": [[30_000]], "gradients": [gradient], "layout": "dense"}))
