"""xarray: broadcast, by the names of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ..shapes import AtFirstFault
from .base import Op

Name = Annotated[str, Field(max_length=100)]
Names = Annotated[tuple[Name, ...], AtFirstFault()]


class broadcast(Op):
    """Give all arrays the same named dimensions; sizes of one name must be equal, and size 1 is nothing special."""

    name: Literal["xarray.broadcast"] = "xarray.broadcast"
    max_inputs: ClassVar[int | None] = None
    outputs: ClassVar[str] = "as many as inputs"
    dims: Annotated[tuple[Names, ...], AtFirstFault()] = Field(
        description="The names of each input's dimensions.", examples=[[["x", "y"], ["y"]]]
    )
    exclude: Names = Field(default=(), max_length=1000, description="Names that are not broadcast.", examples=[["x"]])

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        return max(super().highest_rank(shapes), len({name for names in self.dims for name in names}))

    def input_count_problem(self, count: int) -> str | None:
        if count != len(self.dims):
            return f"xarray.broadcast has names for {len(self.dims)} inputs in dims, and there are {count}"
        return super().input_count_problem(count)
