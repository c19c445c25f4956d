"""The types of fields that hold an op. A value is an object with the op's name and attributes, or only the name."""

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
"""The maximum number of characters that an error message shows of an unknown name. All op names are shorter."""


@dataclass(frozen=True)
class UnionByName:
    """A pydantic annotation that validates a mapping with the class whose default `name` is the mapping's `name`.

    The classes are all op classes and `others`. An object of such a class is returned unchanged. pydantic's own union
    with a discriminator does the same, but it builds all classes first. This would delay the first check by 30 ms.
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
        is_map = isinstance(value, (dict, Mapping))  # most maps are dicts, for which this test is faster
        if not is_map and not isinstance(value, BaseModel):
            raise PydanticKnownError("model_attributes_type")
        name = value.get("name") if is_map else getattr(value, "name", None)
        if not isinstance(name, str):
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "name"})
        if is_map and (op := read_op(value)) is not None:
            return op
        kind = self._kind(name)
        if kind is None:
            tag = name[:_LONGEST].encode(errors="replace").decode()  # a name from JSON can contain a lone surrogate
            raise PydanticKnownError("union_tag_invalid", {"discriminator": "name", "tag": tag, "expected_tags": ""})
        model = kind.model_validate(value)
        model.model_fields_set.add("name")  # model_dump(exclude_unset=True) would omit a default name
        return model

    def _kind(self, name: str) -> type[BaseModel] | None:
        others = (kind for kind in self.others if kind.model_fields["name"].default == name)
        return OPS.get(name) or next(others, None)


def _in_integers(op: Op) -> Op:
    for attribute, axis, symbol in op.symbols():
        raise PydanticCustomError(
            "symbolic",
            "must contain only integers: {symbol} on axis {axis} is allowed only in check, compare and translate",
            {"field": attribute, "axis": axis, "symbol": str(symbol)},
        )
    return op


OpMapField = Annotated[Op, UnionByName()]
"""The type of a field that holds an op as a mapping or as an object."""
OpField = Annotated[Op, UnionByName(takes_bare_names=True)]
"""The type of a field that holds an op as a mapping, a bare name or an object."""
IntegerOpField = Annotated[OpField, AfterValidator(_in_integers)]
"""The type of a field that holds an op whose sizes are all integers. Integers are required to broadcast tensors."""
