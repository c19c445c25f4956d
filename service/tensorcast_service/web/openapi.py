"""The OpenAPI document: both encodings, one schema, examples that are run as tests."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from tensorcast.answers.catalogue import catalogue
from tensorcast.messages import CheckRequest, CompareRequest, ProblemDetails, TranslateRequest
from tensorcast.messages.tensors import BackpropRequest, BroadcastRequest, CheckBatchRequest
from tensorcast.ops import OPS
from tensorcast.schema.codec import Media
from tensorcast.schema.problems import STATUS

_REF = "#/components/schemas/{model}"
_PARSED = (
    "malformed-body",
    "not-acceptable",
    "request-timeout",
    "body-too-large",
    "unsupported-media-type",
    "invalid-request",
    "overloaded",
)

_NGRAPH = {"op": {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}, "inputs": [[3]]}
_ROWS = {"op": {"name": "numpy.broadcast_to", "shape": [1000000, 3]}, "inputs": [{"shape": [3], "data": [1, 2, 3]}]}

EXAMPLES: dict[type[BaseModel], dict[str, Any]] = {
    CheckRequest: {
        "two shapes": {"inputs": [[8, 1, 6, 1], [7, 1, 5]], "explain": True},
        "sizes that are not known": {"inputs": [["N", 3, "?"], ["M", "2..", 5]], "assume": {"N": "2.."}},
        "bytes of the output": {"inputs": [[2, 1], [3]], "dtype": "float32"},
    }
    | {entry.name: entry.example for entry in catalogue().ops},
    CheckBatchRequest: {
        "rows": {"requests": [{"inputs": [[8, 1, 6, 1], [7, 1, 5]]}, _NGRAPH]},
        "columns": {
            "op": "numpy.broadcast_arrays",
            "inputs": [{"shape": [3, 2], "data": [[3, 1], [5, 4], [2, 2]]}, {"shape": [3, 1], "data": [4, 4, 3]}],
        },
        "columns, the target too": {
            "op": {"name": "mindspore.broadcast_to", "shape": {"shape": [2, 2], "data": [[-1, 4], [2, -1]]}},
            "inputs": [{"shape": [2, 2], "data": [[3, 1], [5, 4]]}],
        },
    },
    BroadcastRequest: {
        "nGraph": _NGRAPH | {"inputs": [{"dtype": "float32", "shape": [3], "data": [1, 2, 3]}]},
        "strided": _ROWS | {"layout": "strided"},
        "window": _ROWS | {"window": [[10, 12], [0, 2]]},
    },
    BackpropRequest: {
        "sum over the new axis": _NGRAPH
        | {"gradients": [{"dtype": "float32", "shape": [2, 3], "data": [[1, 2, 3], [10, 20, 30]]}]}
    },
    CompareRequest: {
        "two shapes": {"inputs": [[3], [2, 1]]},
        "a target with -1": {"inputs": [[1, 3]], "shape": [2, -1]},
    },
    TranslateRequest: {
        "nGraph to StableHLO": _NGRAPH | {"to": "stablehlo.broadcast_in_dim"},
        "nGraph to PyTorch, with a reshape": {
            "op": {"name": "ngraph.Broadcast", "shape": [1, 16, 50, 50], "broadcast_axes": [0, 2, 3]},
            "inputs": [[16]],
            "to": "torch.expand",
        },
    },
}
"""What /docs offers to try, by request model and name: of checks the example of every op."""
_ANSWERS: dict[type[BaseModel], None] = {}
"""The models of answers, in the order in which routes declare them."""


def question(request: type[BaseModel], answer: type[BaseModel]) -> dict[str, Any]:
    """What a route that takes one of these in its body, and answers the other, declares besides its summary.

    @router.post("/v1/compare", summary="Compare frameworks", **question(CompareRequest, CompareAnswer))
    """
    return {"openapi_extra": body(request), "responses": answers(answer)}


def body(model: type[BaseModel]) -> dict[str, Any]:
    """The request body of a route, in both encodings."""
    schema = {"$ref": _REF.format(model=model.__name__)}
    named = {name: {"value": value} for name, value in EXAMPLES[model].items()}
    return {
        "requestBody": {
            "required": True,
            "content": {
                Media.JSON.value: {"schema": schema, "examples": named},
                Media.MSGPACK.value: {"schema": schema},
            },
        }
    }


def answers(
    model: type[BaseModel], text: bool = False, problems: tuple[str, ...] | None = None
) -> dict[int | str, dict[str, Any]]:
    """The responses of a route: 200 in both encodings, and the problems that it gives."""
    _ANSWERS[model] = None
    schema = {"$ref": _REF.format(model=model.__name__)}
    content: dict[str, Any] = {Media.JSON.value: {"schema": schema}, Media.MSGPACK.value: {"schema": schema}}
    if text:
        content["text/plain"] = {"schema": {"type": "string"}}
    responses: dict[int | str, dict[str, Any]] = {200: {"description": "The answer.", "content": content}}
    return responses | _refusals(*(_PARSED if problems is None else (*problems, "not-acceptable", "overloaded")))


def _refusals(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The responses of problems."""
    problem = {"schema": {"$ref": _REF.format(model=ProblemDetails.__name__)}}
    content = {"application/problem+json": problem, Media.MSGPACK.value: problem}
    return {STATUS[code][0]: {"description": STATUS[code][1], "content": content} for code in codes}


def example_queries() -> dict[str, Any]:
    """The query parameters of GET /v1/check: the reserved ones, and every attribute of every op."""
    text = {"type": "string"}
    parameters: dict[str, dict[str, Any]] = {
        "input": {
            "schema": {"type": "array", "items": text},
            "required": True,
            "description": "The shape of an input; repeats.",
            "example": ["8,1,6,1", "7,1,5"],
        },
        "op": {"schema": text | {"enum": list(OPS)}},
        "dtype": {},
        "assume": {"description": "What is known of the names in shapes, as JSON.", "example": '{"N":"2.."}'},
        "explain": {"schema": text | {"enum": ["true", "false"]}},
        "format": {"schema": text | {"enum": ["json", "text"]}},
    }
    for name in sorted({field for op in OPS.values() for field in op.model_fields if field != "name"}):
        parameters[name] = {"description": "An attribute; a shape is written 2,3."}
    return {"parameters": [{"name": name, "in": "query", "schema": text} | facts for name, facts in parameters.items()]}


def describe(app: FastAPI, asks_for_keys: bool, asks_for_names: bool) -> None:
    """Give the application's OpenAPI document the schemas of the wire, and what every request is asked for."""
    generate = app.openapi
    models: tuple[type[BaseModel], ...] = (*EXAMPLES, *_ANSWERS, ProblemDetails)
    for model in (*models, *OPS.values()):
        model.model_rebuild()  # now, not on the first request: what a process of shapes alone never needs is deferred
    modes: list[Any] = [(model, "validation") for model in models]

    @cache
    def openapi() -> dict[str, Any]:
        document = generate()
        _, definitions = models_json_schema(modes, ref_template=_REF)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(definitions["$defs"])
        for op in OPS.values():
            for schema in schemas.values():
                name = schema.get("properties", {}).get("name", {})
                if name.get("const") == op.model_fields["name"].default:  # a default in Python, a must on the wire
                    schema["required"] = ["name", *schema.get("required", [])]
        # FastAPI's own idea of a 422, for the name in a path, which never is one.
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        for operation in document["paths"]["/v1/ops/{name}"].values():
            operation["responses"].pop("422", None)
        if asks_for_keys:
            document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"key": []}]
        codes = ["unauthenticated"] * asks_for_keys + ["misdirected-request"] * asks_for_names
        for path in document["paths"].values():
            for operation in path.values():
                operation["responses"] |= _refusals(*codes)
        return document

    app.openapi = openapi  # type: ignore[method-assign]
