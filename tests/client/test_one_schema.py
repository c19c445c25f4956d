"""The clients send what the models of the service read, and the OpenAPI document describes these models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
from cases import cases
from pydantic import BaseModel

import axiscast
from axiscast import AsyncClient, Client
from axiscast.client.in_process import AppTransport, create_service_app
from axiscast.messages import CheckRequest, CompareRequest, TranslateRequest
from axiscast.messages.tensors import BackpropRequest, BroadcastRequest, CheckBatchRequest, CheckColumnsRequest
from axiscast.messages.why import WhyRequest
from axiscast.ops import OPS
from axiscast.wire.codec import Encoding, decode
from axiscast_service.app import create_app

MODELS: dict[str, type[BaseModel]] = {
    "/v1/check": CheckRequest,
    "/v1/check/batch": CheckBatchRequest,
    "/v1/check/columns": CheckColumnsRequest,
    "/v1/broadcast": BroadcastRequest,
    "/v1/backprop": BackpropRequest,
    "/v1/compare": CompareRequest,
    "/v1/translate": TranslateRequest,
    "/v1/why": WhyRequest,
}
FLOATS = np.arange(3, dtype=np.float32)
TO = axiscast.numpy.broadcast_to(shape=(2, 3))
CALLS: dict[str, tuple[Callable[[Any], Any], str, dict[str, Any]]] = {
    # the method, the path, and fields of the message that the service reads
    "check": (
        lambda client: client.check(TO, ("N",), assume={"N": "1..3"}, dtype="int8", explain=True, warn=["square"]),
        "/v1/check",
        {"op": TO, "inputs": [("N",)], "assume": {"N": "1..3"}, "dtype": "int8", "explain": True, "warn": ["square"]},
    ),
    "check_batch": (
        lambda client: client.check_batch([{"op": TO, "inputs": [(3,)]}, {"inputs": [(1, 2)]}]),
        "/v1/check/batch",
        {"requests": [{"op": {"name": "numpy.broadcast_to", "shape": (2, 3)}, "inputs": [[3]]}, {"inputs": [[1, 2]]}]},
    ),
    "check_columns": (
        lambda client: client.check_columns("torch.expand", [[3], [4]], size=[[2, 3], [2, 4]]),
        "/v1/check/columns",
        {},
    ),
    "can_broadcast": (lambda client: client.can_broadcast((3, 1), (4,)), "/v1/check", {"inputs": [(3, 1), (4,)]}),
    "broadcast_shapes": (lambda client: client.broadcast_shapes((3,), 3), "/v1/check", {"inputs": [(3,), (3,)]}),
    "broadcast": (
        lambda client: client.broadcast(TO, FLOATS, layout="strided", window=[(0, 2), (0, 3)]),
        "/v1/broadcast",
        {"op": TO, "layout": "strided", "window": [(0, 2), (0, 3)]},
    ),
    "broadcast_to": (
        lambda client: client.broadcast_to(FLOATS, (2, 3)), "/v1/broadcast", {"op": TO, "layout": "dense"},
    ),
    "broadcast_arrays": (lambda client: client.broadcast_arrays(FLOATS, FLOATS[:1]), "/v1/broadcast", {"window": None}),
    "backprop": (
        lambda client: client.backprop(TO, [(3,)], np.ones((2, 3))), "/v1/backprop", {"op": TO, "inputs": [(3,)]},
    ),
    "compare": (
        lambda client: client.compare((1, 3), shape=(2, -1), ops=["torch"], warn=["rank-promotion"]),
        "/v1/compare",
        {"inputs": [(1, 3)], "shape": (2, -1), "ops": ["torch"], "warn": ["rank-promotion"]},
    ),
    "translate": (
        lambda client: client.translate(TO, (3,), to="onnx"),
        "/v1/translate",
        {"op": TO, "inputs": [(3,)], "to": "onnx"},
    ),
    "why": (lambda client: client.why("shapes (2,) (3,)"), "/v1/why", {"text": "shapes (2,) (3,)"}),
    "ops": (lambda client: client.ops(), "/v1/ops", {}),
}  # fmt: skip


class Recorder(httpx.BaseTransport):
    """A transport that keeps each request, and passes it to a service in this process."""

    def __init__(self) -> None:
        self.service = AppTransport(create_service_app({}))
        self.requests: list[tuple[str, bytes]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append((request.url.path, request.read()))
        return self.service.handle_request(request)


def test_every_method_of_the_clients_is_called() -> None:
    methods = {name for name in dir(Client) if not name.startswith("_")} - {"close", "in_process", "with_options"}
    assert CALLS.keys() == methods
    assert {name for name in dir(AsyncClient) if not name.startswith("_")} - {
        "aclose",
        "close",
        "in_process",
        "with_options",
    } == methods
    assert {path for _, path, _ in CALLS.values()} == {*MODELS, "/v1/ops"}


@cases("name", CALLS)
def test_the_service_reads_the_bytes_that_a_client_sends(name: str) -> None:
    call, path, fields = CALLS[name]
    recorder = Recorder()
    with Client("http://in-process", transport=recorder) as client:
        call(client)
    ((sent_to, content),) = recorder.requests
    assert sent_to == path
    if path == "/v1/ops":
        assert content == b""
        return
    value = decode(content, Encoding.MSGPACK)
    message = MODELS[path].model_validate(value)
    assert value.keys() <= MODELS[path].model_fields.keys()
    for field, expected in fields.items():
        found = getattr(message, field)
        assert (list(found) if isinstance(expected, list) and field != "requests" else found) == (
            expected if field != "requests" else [_listed(row) for row in expected]
        ), field
    tensors = [tensor for field in ("inputs", "gradients") for tensor in getattr(message, field, [])]
    for tensor in tensors:
        if hasattr(tensor, "to_array"):
            assert tensor.to_array("").dtype.name in ("float32", "float64", "int64")


def _listed(value: Any) -> Any:
    """Return a value as a decoder returns it, with lists in place of tuples."""
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, (list, tuple)) else value


# --- the OpenAPI document --------------------------------------------------------------------------

NOTES = ("title", "description", "examples", "default")


def plain(schema: Any, schemas: dict[str, Any]) -> Any:
    """Return a schema without notes, with references replaced by their schemas, and unions of all ops by "op"."""
    if isinstance(schema, list):
        return [plain(item, schemas) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return plain(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if len(schema.get("oneOf", [])) > 20:
        titles = (schemas[member["$ref"].rpartition("/")[2]].get("title") for member in schema["oneOf"])
        others = [{"$ref": title} for title in titles if title in ("Transpose", "Reshape")]
        return {"anyOf": ["op", *(plain(other, schemas) for other in others)]} if others else "op"
    if "properties" in schema and isinstance(schema["properties"], dict):
        fields = {name: plain(field, schemas) for name, field in schema["properties"].items()}
        required = set(schema.get("required", [])) | ({"name"} if "const" in fields.get("name", {}) else set())
        return {"fields": fields, "required": required, "more": schema.get("additionalProperties")}
    return {key: plain(value, schemas) for key, value in schema.items() if key not in NOTES}


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    found: dict[str, Any] = create_app().openapi()["components"]["schemas"]
    return found


def test_openapi_describes_the_models(schemas: dict[str, Any]) -> None:
    for model in MODELS.values():
        own = model.model_json_schema()
        assert plain(schemas[model.__name__], schemas) == plain(own, own.get("$defs", {})), model


def test_openapi_describes_each_op(schemas: dict[str, Any]) -> None:
    mapping = schemas["Op"]["discriminator"]["mapping"]
    assert [*mapping] != []
    assert set(mapping) == set(OPS)
    for name, op in OPS.items():
        own, shared = op.model_json_schema(), schemas[mapping[name].rpartition("/")[2]]
        fields, required = shared["properties"], shared["required"]
        assert name in fields["name"].get("enum", [fields["name"].get("const")])
        assert (fields.keys(), required) == (own["properties"].keys(), ["name", *own.get("required", [])])
        for field, schema in own["properties"].items():
            if field != "name":
                allowed, wanted = plain(fields[field], schemas), plain(schema, {})
                allowed, wanted = (each.get("anyOf", [each]) for each in (allowed, wanted))
                assert [variant for variant in wanted if variant not in allowed] == [], (name, field)
