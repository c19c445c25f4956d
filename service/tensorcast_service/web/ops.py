"""/v1/ops"""

from __future__ import annotations

from functools import lru_cache
from inspect import cleandoc

from fastapi import APIRouter, Request, Response
from tensorcast.schema.codec import Media
from tensorcast.schema.messages import Catalogue, CheckRequest, InputCount, OpEntry, Reference
from tensorcast.schema.ops import OPS
from tensorcast.schema.problems import Problem

from ..ops import RULES
from .exchange import encoded
from .negotiation import answer_type
from .openapi import answers

router = APIRouter()


@lru_cache(1)
def catalogue() -> Catalogue:
    """Every op, in the table's order."""
    return Catalogue(ops=[_entry(name) for name in OPS])


def _entry(name: str) -> OpEntry:
    op = OPS[name]
    rule = RULES[op]
    schema = op.model_json_schema()
    attributes = {key: value for key, value in schema["properties"].items() if key != "name"}
    required = [key for key in schema.get("required", []) if key != "name"]
    example, inputs = rule.example
    return OpEntry(
        name=name,
        doc=cleandoc(op.__doc__ or "").splitlines()[0],
        attributes={"type": "object", "properties": attributes, "required": required, "additionalProperties": False},
        inputs=InputCount(min=op.min_inputs, max=op.max_inputs),
        outputs=op.outputs,
        link=rule.link,
        reference=Reference(package=rule.reference[0], version=rule.reference[1]),
        example=CheckRequest(op=example, inputs=list(inputs)).model_dump(
            mode="json", exclude_none=True, include={"op", "inputs"}
        ),
    )


@router.get("/v1/ops", responses=answers(Catalogue, problems=()))
async def get_ops(request: Request) -> Response:
    """The catalogue: each op, its attributes, its definition, the release it was held against, an example."""
    return encoded(catalogue().model_dump(), answer_type(request, Media.JSON))


@router.get("/v1/ops/{name}", responses=answers(OpEntry, problems=("not-found",)))
async def get_op(request: Request, name: str) -> Response:
    """One op of the catalogue."""
    entry = next((entry for entry in catalogue().ops if entry.name == name), None)
    if entry is None:
        raise Problem("not-found", f"there is no op {name[:60]!r}: GET /v1/ops lists all")
    return encoded(entry.model_dump(), answer_type(request, Media.JSON))
