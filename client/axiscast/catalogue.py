"""The catalogue of ops, with the attributes, the definition, the tested release and an example of each op."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import Any

from .messages import CheckRequest
from .messages.catalogue import Catalogue, InputCount, OpEntry, Reference
from .ops import ALIASES, FRAMEWORKS, OPS


@lru_cache(1)
def list_ops() -> Catalogue:
    """Return the catalogue of all ops."""
    aliases: defaultdict[type, list[str]] = defaultdict(list)
    for alias, entry in ALIASES.items():
        aliases[entry.rule].append(alias)
    return Catalogue(ops=[_entry(name, aliases[OPS[name]]) for name in OPS])


def example_request(name: str) -> dict[str, Any]:
    """Return an example check request for this op, as plain values. The shapes in the example broadcast."""
    op, inputs = OPS[name].example()
    request = CheckRequest(op=op, inputs=list(inputs))
    return request.model_dump(mode="json", exclude_none=True, include={"op", "inputs"})


def _entry(name: str, aliases: list[str]) -> OpEntry:
    op, (package, version) = OPS[name], FRAMEWORKS[name.split(".")[0]].reference
    schema = op.model_json_schema()
    attributes = {key: value for key, value in schema["properties"].items() if key != "name"}
    required = [key for key in schema.get("required", []) if key != "name"]
    return OpEntry(
        name=name,
        aliases=aliases,
        doc=op.summary().splitlines()[0],
        attributes={"type": "object", "properties": attributes, "required": required, "additionalProperties": False},
        target=op.target,
        inputs=InputCount(min=op.min_inputs, max=op.max_inputs),
        outputs=op.outputs,
        link=op.link,
        reference=Reference(package=package, version=version),
        example=example_request(name),
    )
