"""xarray: broadcast, by the names of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticKnownError

from ..schema.shapes import AtFirstFault
from .base import Op

MAX_CHARACTERS = 100
Name = Annotated[str, Field(max_length=MAX_CHARACTERS)]
Names = Annotated[tuple[Name, ...], AtFirstFault()]


def _as_text(value: Any, names: ValidatorFunctionWrapHandler) -> Any:
    """A string as it is: what it excludes is the rule's to say."""
    if not isinstance(value, str):
        return names(value)
    if len(value) > MAX_CHARACTERS:
        raise PydanticKnownError("string_too_long", {"max_length": MAX_CHARACTERS})
    return value


if TYPE_CHECKING:
    NamesOrText = Sequence[str] | str
else:
    _Few = Annotated[Names, Field(max_length=1000)]
    NamesOrText = Annotated[
        _Few,
        WrapValidator(_as_text, json_schema_input_type=_Few | Name),
        PlainSerializer(lambda value: value, return_type=_Few | Name),
    ]
    """A list of names, or a string."""


class broadcast(Op):
    """Give all arrays the same named dimensions; sizes of one name must be equal, and size 1 is nothing special."""

    name: Literal["xarray.broadcast"] = "xarray.broadcast"
    max_inputs: ClassVar[int | None] = None
    outputs: ClassVar[str] = "as many as inputs"
    dims: Annotated[tuple[Names, ...], AtFirstFault()] = Field(
        description="The names of each input's dimensions.", examples=[[["x", "y"], ["y"]]]
    )
    exclude: NamesOrText = Field(
        default=(), description="Names that are not broadcast; of a string, its characters.", examples=[["x"]]
    )

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        return max(super().highest_rank(shapes), len({name for names in self.dims for name in names}))

    def input_count_problem(self, count: int) -> str | None:
        if count != len(self.dims):
            return f"xarray.broadcast has names for {len(self.dims)} inputs in dims, and there are {count}"
        return super().input_count_problem(count)
