"""xarray: broadcast, by the names of dimensions."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from .base import Op


class broadcast(Op):
    """Give all arrays the same named dimensions; sizes of one name must be equal, and size 1 is nothing special."""

    name: Literal["xarray.broadcast"] = "xarray.broadcast"
    max_inputs: ClassVar[int | None] = None
    outputs: ClassVar[str] = "as many as inputs"
    dims: tuple[tuple[str, ...], ...] = Field(
        description="The names of each input's dimensions.", examples=[[["x", "y"], ["y"]]]
    )
    exclude: tuple[str, ...] = Field(default=(), description="Names that are not broadcast.", examples=[["x"]])

    def input_count_problem(self, count: int) -> str | None:
        if count != len(self.dims):
            return f"xarray.broadcast has names for {len(self.dims)} inputs in dims, and there are {count}"
        return super().input_count_problem(count)
