"""An op as a field of a message: a map with its name and its attributes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError
from pydantic_core.core_schema import no_info_plain_validator_function, str_schema, tagged_union_schema, union_schema

from .base import Op
from .discovery import OPS, read_op

_LONGEST = 100
"""Characters of a name that are looked at: every op's name is shorter, and an unknown one is copied several times."""


@dataclass(frozen=True)
class UnionByName:
    """Validates a map by the class that its `name` says: an op's, or one of `others`. An object of such a class stays.

    It is what pydantic's union does with a discriminator. But that one is built of all classes at once: 30 ms, before
    a process has its first answer.
    """

    others: tuple[type[BaseModel], ...] = ()
    takes_bare_names: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_plain_validator_function(self._validated)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        kinds = dict(OPS) | {kind.model_fields["name"].default: kind for kind in self.others}
        for kind in kinds.values():
            kind.model_rebuild()
        by_name = {name: kind.__pydantic_core_schema__ for name, kind in kinds.items()}
        whole: CoreSchema = tagged_union_schema(by_name, discriminator="name")
        return handler(union_schema([whole, str_schema()]) if self.takes_bare_names else whole)

    def _validated(self, value: Any) -> BaseModel:
        if isinstance(value, str) and self.takes_bare_names:
            value = {"name": value}
        is_map = isinstance(value, Mapping)
        if not is_map and not isinstance(value, BaseModel):
            raise PydanticKnownError("model_attributes_type")
        name = value.get("name") if is_map else getattr(value, "name", None)
        if not isinstance(name, str):
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "name"})
        if is_map and (op := read_op(value)) is not None:
            return op
        kind = self._kind(name)
        if kind is None:
            tag = name[:_LONGEST].encode(errors="replace").decode()  # of JSON it may hold half a surrogate pair
            raise PydanticKnownError("union_tag_invalid", {"discriminator": "name", "tag": tag, "expected_tags": ""})
        return kind.model_validate(value)

    def _kind(self, name: str) -> type[BaseModel] | None:
        others = (kind for kind in self.others if kind.model_fields["name"].default == name)
        return OPS.get(name) or next(others, None)


def _in_integers(op: Op) -> Op:
    for attribute, axis, symbol in op.symbols():
        raise PydanticCustomError(
            "symbolic",
            "must hold integers here: {symbol} on axis {axis} is for check alone",
            {"field": attribute, "axis": axis, "symbol": str(symbol)},
        )
    return op


OpMapField = Annotated[Op, UnionByName()]
"""An op: a map, or an op object."""
OpField = Annotated[Op, UnionByName(takes_bare_names=True)]
"""An op as a request says it: a map, a bare name, or an op object."""
IntegerOpField = Annotated[OpField, AfterValidator(_in_integers)]
"""An op of integers alone: what tensors can be broadcast by."""
