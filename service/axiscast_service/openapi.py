"""The OpenAPI document. It describes both encodings, and includes examples that the tests execute."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable
from copy import deepcopy
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Any, get_args

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema
from pydantic.warnings import UnsupportedFieldAttributeWarning

from axiscast.catalogue import example_request
from axiscast.messages import CheckRequest, ProblemDetails
from axiscast.messages.catalogue import Catalogue
from axiscast.messages.check_request import WarningKind
from axiscast.ops import OPS
from axiscast.wire.codec import Encoding
from axiscast.wire.problems import PROBLEM_KINDS

if TYPE_CHECKING:
    from pydantic import BaseModel

_REF = "#/components/schemas/{model}"
_ANY_OP = _REF.format(model="Op")
_PROBLEMS = {
    "/v1/ops": ("invalid-request", "not-acceptable", "overloaded"),
    "/v1/ops/{name}": ("not-found", "not-acceptable", "overloaded"),
}
"""The problems of each resource that reads no message."""
_PROBLEMS_OF_MESSAGES = (
    "malformed-body",
    "not-acceptable",
    "request-timeout",
    "body-too-large",
    "unsupported-media-type",
    "invalid-request",
    "overloaded",
)
"""The problems of every resource that reads a message."""

_PACKAGE = files(__package__)
EXAMPLES: dict[str, dict[str, Any]] = json.loads(_PACKAGE.joinpath("example_requests.json").read_bytes())
EXAMPLES["CheckRequest"] |= {name: example_request(name) for name in OPS}
"""The examples in /docs, keyed by the name of the request model and a name. The examples of checks include every op."""


def _refusals(codes: Iterable[str]) -> dict[str, Any]:
    """Return the description of the responses for these problem codes."""
    problem = {"schema": {"$ref": _REF.format(model=ProblemDetails.__name__)}}
    content = {"application/problem+json": problem, Encoding.MSGPACK.value: problem}
    return {str(PROBLEM_KINDS[code][0]): {"description": PROBLEM_KINDS[code][1], "content": content} for code in codes}


def _query_parameters() -> dict[str, list[dict[str, Any]]]:
    """Return the query parameters of each operation. The handlers read the query themselves."""
    text, fields = {"type": "string"}, CheckRequest.model_fields

    def parameter(name: str, schema: dict[str, Any] = text, **facts: Any) -> dict[str, Any]:
        described = {"description": fields[name].description} if name in fields else {}
        return {"name": name, "in": "query", "schema": schema, **described, **facts}

    attributes = {"title": "Attributes", "type": "object", "properties": dict(sorted(_attribute_texts().items()))}
    check = [
        parameter(
            "input",
            {"type": "array", "items": text},
            required=True,
            description="The shape of an input. Repeat this parameter for each input.",
            example=["8,1,6,1", "7,1,5"],
        ),
        parameter(
            "op",
            text | {"enum": list(OPS)},
            description="The op, or one of the aliases in GET /v1/ops, such as torch.mul. The default is "
            "numpy.broadcast_to with a shape, otherwise numpy.broadcast_shapes.",
        ),
        parameter("dtype", example="float32"),
        parameter("assume", example='{"N":"2.."}'),
        parameter(
            "warn", {"type": "array", "items": text | {"enum": list(get_args(WarningKind))}}, example=["mutual-stretch"]
        ),
        parameter("explain", {"type": "boolean"}),
        parameter(
            "format",
            text | {"enum": ["json", "text", "svg"]},
            description="The form of the response. text: a drawing as text. svg: a picture. The default is the "
            "type in Accept, or json.",
        ),
        parameter(
            "attributes",
            attributes | {"additionalProperties": False},
            style="form",
            explode=True,
            description="The attributes of the op. Each attribute is a query parameter of its own, with the "
            "framework's name: `mode=explicit&target_shape=2,3`. Write a shape as 2,3.",
        ),
    ]
    picture = parameter("format", {"const": "svg"}, description="svg: the response is a picture.")
    framework = text | {"examples": ["ngraph"]}
    described = "List only the ops of this framework, such as torch."
    return {
        "get /v1/check": check,
        "post /v1/check": [picture],
        "get /v1/ops": [parameter("framework", framework, description=described)],
    }


def _attribute_texts() -> dict[str, Any]:
    """Return the schema of each attribute in a query, where every attribute is text or a boolean.

    If all ops accept only certain strings for the attribute, the schema lists these strings.
    """
    owners: dict[str, list[str]] = {}
    variants: dict[str, list[dict[str, Any]]] = {}
    for name, op in OPS.items():
        for attribute, schema in op.model_json_schema()["properties"].items():
            owners.setdefault(attribute, []).append(name)
            variants.setdefault(attribute, []).extend(schema.get("anyOf", [schema]))
    del owners["name"]
    found: dict[str, Any] = {}
    for attribute, ops in owners.items():
        listed = f"{', '.join(ops[:3])}{' and other ops' if ops[3:] else ''}"
        accepted = [variant for variant in variants[attribute] if variant.get("type") != "null"]
        types = {variant.get("type") for variant in accepted}
        found[attribute] = {"type": "boolean" if types == {"boolean"} else "string"}
        if types == {"string"} and all("enum" in variant for variant in accepted):
            found[attribute]["enum"] = [*dict.fromkeys(chain.from_iterable(variant["enum"] for variant in accepted))]
        found[attribute]["description"] = f"An attribute of {listed}."
    return found


def component(wire_name: str) -> str:
    """Return the part of a schema's name for an op or an attribute, such as NumpyBroadcastTo."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[._-]", wire_name))


def _op_schemas(ops: dict[str, dict[str, Any]]) -> dict[str, tuple[dict[str, Any], list[str]]]:
    """Return one schema for each set of attributes, keyed by its name, with the names of its ops.

    A schema is named after its attributes, such as OpWithShape. If an attribute is optional only in some ops, the name
    of their schema ends with the first of them.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, schema in ops.items():
        groups.setdefault((*sorted(schema["properties"]), *sorted(schema["required"])), []).append(name)
    named: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for names in groups.values():
        fields = [field for field in ops[names[0]]["properties"] if field != "name"]
        title = f"OpWith{'And'.join(map(component, fields)) or 'outAttributes'}"
        title = title if title not in named else f"{title}Of{component(names[0])}"
        wire_name: dict[str, Any] = {"description": "The name of the op.", "type": "string"}
        wire_name |= {"const": names[0]} if len(names) == 1 else {"enum": names}
        schema = {
            "title": title,
            "description": ops[names[0]]["description"] if len(names) == 1 else f"The ops {', '.join(names)}.",
            "type": "object",
            "properties": {
                "name": wire_name,
                **{field: _merged([ops[name]["properties"][field] for name in names]) for field in fields},
            },
            "required": ops[names[0]]["required"],
            "additionalProperties": False,
        }
        named[title] = schema, names
    return named


def _merged(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of an attribute that has one of these schemas, depending on the op."""
    described = {schema.get("description") for schema in schemas}
    variants = {json.dumps(variant, sort_keys=True): variant for schema in schemas for variant in _variants(schema)}
    types = [*variants.values()]
    schema = types[0] if len(types) == 1 else {"anyOf": types}
    text = described.pop() if len(described) == 1 else "Its meaning depends on the op: see GET /v1/ops."
    return schema | {"description": text, "examples": schemas[0].get("examples", [])}


def _variants(schema: dict[str, Any]) -> list[dict[str, Any]]:
    kept = {key: value for key, value in schema.items() if key not in ("description", "examples", "title", "default")}
    variants: list[dict[str, Any]] = kept.get("anyOf", [kept])
    return variants


def _simplified(schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas in a form that code generators can handle.

    There is one schema for each set of attributes, and the union of all ops is defined once. Defaults are removed,
    because some generators treat a field with a default as required.
    """
    titles = {schema.get("properties", {}).get("name", {}).get("const"): title for title, schema in schemas.items()}
    ops = {_REF.format(model=titles[name]) for name in OPS}
    for title, schema in schemas.items():
        schema.setdefault("title", title)  # the schema of a type alias has no title
        fields = schema.get("properties", {})
        if "const" in fields.get("name", {}):  # an op. Its name has a default in Python, but is required in HTTP
            fields["name"]["description"] = "The name of the op."
            schema["required"] = ["name", *schema.get("required", [])]
        for field in fields.values():
            field.pop("title", None)
            field.pop("default", None)  # the field's description contains the default
            for union in (field, *field.get("anyOf", [])):
                _refer_to_any_op(union, ops)
    named = _op_schemas({name: schemas.pop(titles[name]) for name in OPS})
    references = {title: _REF.format(model=title) for title in named}
    schemas |= {title: schema for title, (schema, _) in named.items()}
    schemas["Op"] = {
        "title": "Op",
        "description": "An op, with its attributes. GET /v1/ops lists all ops.",
        "oneOf": [{"$ref": reference} for reference in references.values()],
        "discriminator": {
            "propertyName": "name",
            "mapping": {name: references[title] for title, (_, names) in named.items() for name in names},
        },
    }
    return dict(sorted(schemas.items()))


def _refer_to_any_op(union: dict[str, Any], ops: set[str]) -> None:
    """If the members of a union include the references of all ops, replace these by one reference to the schema Op."""
    if not ops <= {member["$ref"] for member in union.get("oneOf", [])}:
        return
    others = [member for member in union.pop("oneOf") if member["$ref"] not in ops]
    del union["discriminator"]
    union |= {"anyOf": [{"$ref": _ANY_OP}, *others]} if others else {"$ref": _ANY_OP}


def openapi_document(
    app: FastAPI, models: Iterable[type[BaseModel]], asks_for_keys: bool, asks_for_names: bool
) -> dict[str, Any]:
    """Return the OpenAPI document, with what FastAPI does not derive from the signatures of handlers.

    `models` are the models of all requests and answers.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsupportedFieldAttributeWarning)  # as FastAPI does for models built early
        document = deepcopy(FastAPI.openapi(app))  # the routes of other applications share its parts
    document["info"]["description"] = _PACKAGE.joinpath("openapi.md").read_text("utf-8")
    # FastAPI writes the bounds of integers as floats, so the schemas are generated again.
    models = (*models, Catalogue, ProblemDetails)
    _, definitions = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    document["components"]["schemas"] = _simplified(definitions["$defs"])
    parameters = _query_parameters()
    codes = ["misdirected-request"] if asks_for_names else []
    if asks_for_keys:
        codes.append("unauthenticated")
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
    examples = json.loads(_PACKAGE.joinpath("openapi_examples.json").read_bytes())
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = f"{method} {path}"
            if name in parameters:
                operation["parameters"] = parameters[name]
            _describe_operation(operation, examples.get(name))
            operation["responses"] |= _refusals((*_PROBLEMS.get(path, _PROBLEMS_OF_MESSAGES), *codes))
    return document


def _describe_operation(operation: dict[str, Any], example: Any) -> None:
    """Add MessagePack, the examples and the names that the tests and the clients use."""
    responses = operation["responses"]
    responses.pop("422", None)  # FastAPI describes its own form of an invalid request
    responses["200"]["description"] = "The answer."
    content = responses["200"]["content"]
    content[Encoding.JSON.value].pop("title", None)
    content[Encoding.MSGPACK.value] = dict(content[Encoding.JSON.value])
    content[Encoding.JSON.value]["example"] = example
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]
        schema = content[Encoding.JSON.value]["schema"]
        content[Encoding.MSGPACK.value] = {"schema": schema}
        named = EXAMPLES[schema["$ref"].rpartition("/")[2]]
        content[Encoding.JSON.value]["examples"] = {name: {"value": value} for name, value in named.items()}
