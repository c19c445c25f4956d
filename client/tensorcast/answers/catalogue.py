"""The catalogue: each op with its attributes, its definition, the release it was held against, an example."""

from __future__ import annotations

from functools import lru_cache

from ..messages import CheckRequest
from ..messages.catalogue import Catalogue, InputCount, OpEntry, Reference
from ..ops import ALIASES, FRAMEWORKS, OPS


@lru_cache(1)
def catalogue() -> Catalogue:
    """Every op, in the catalogue's order."""
    return Catalogue(ops=[_entry(name) for name in OPS])


def _entry(name: str) -> OpEntry:
    op, (package, version) = OPS[name], FRAMEWORKS[name.split(".")[0]].reference
    schema = op.model_json_schema()
    attributes = {key: value for key, value in schema["properties"].items() if key != "name"}
    required = [key for key in schema.get("required", []) if key != "name"]
    example, inputs = op.example()
    return OpEntry(
        name=name,
        aliases=[alias for alias, entry in ALIASES.items() if entry.rule is op],
        doc=op.summary().splitlines()[0],
        attributes={
            "type": "object",
            "properties": attributes,
            "required": required,
            "additionalProperties": False,
        },
        target=op.target,
        inputs=InputCount(min=op.min_inputs, max=op.max_inputs),
        outputs=op.outputs,
        link=op.link,
        reference=Reference(package=package, version=version),
        example=CheckRequest(op=example, inputs=list(inputs)).model_dump(
            mode="json", exclude_none=True, include={"op", "inputs"}
        ),
    )
