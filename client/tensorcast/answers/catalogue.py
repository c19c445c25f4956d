"""The catalogue: each op with its attributes, its definition, the release it was held against, an example."""

from __future__ import annotations

from functools import lru_cache
from inspect import cleandoc

from ..messages import Catalogue, CheckRequest, InputCount, OpEntry, Reference
from ..ops import OPS
from ..ops.rules import RULES


@lru_cache(1)
def catalogue() -> Catalogue:
    """Every op, in the table's order."""
    return Catalogue(ops=[_entry(name) for name in OPS])


def _entry(name: str) -> OpEntry:
    op, rule = OPS[name], RULES[OPS[name]]
    schema = op.model_json_schema()
    attributes = {key: value for key, value in schema["properties"].items() if key != "name"}
    required = [key for key in schema.get("required", []) if key != "name"]
    example, inputs = rule.example
    return OpEntry(
        name=name,
        doc=cleandoc(op.__doc__ or "").splitlines()[0],
        attributes={
            "type": "object",
            "properties": attributes,
            "required": required,
            "additionalProperties": False,
        },
        inputs=InputCount(min=op.min_inputs, max=op.max_inputs),
        outputs=op.outputs,
        link=rule.link,
        reference=Reference(package=rule.reference[0], version=rule.reference[1]),
        example=CheckRequest(op=example, inputs=list(inputs)).model_dump(
            mode="json", exclude_none=True, include={"op", "inputs"}
        ),
    )
