"""JAX: jax.lax.broadcast, which adds leading axes and stretches none that is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from ..plan.alignment import Alignment, Relation, check_sizes, fit_axes
from ..plan.plan import Plan, Shape
from ..schema.dimensions import Dimensions
from .base import Op
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=90,
    reference=("jax", "0.10.2"),
    language=PYTHON,
    head="import jax\n",
    transpose="{y} = jax.lax.transpose({x}, {permutation})",
    reshape="{y} = jax.lax.reshape({x}, {shape})",
    executed="JAX 0.10.2",
)


class broadcast(Op):
    """Add new leading axes of these sizes, and replicate the operand along them."""

    name: Literal["jax.lax.broadcast"] = "jax.lax.broadcast"
    link: ClassVar[str] = "https://docs.jax.dev/en/latest/_autosummary/jax.lax.broadcast.html"
    snippets: ClassVar[tuple[str, ...]] = ("{y} = jax.lax.broadcast({x}, {sizes})",)
    sizes: Dimensions = Field(description="The sizes of the new leading axes.", examples=[[2, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        sizes = tuple(self.sizes)
        check_sizes(sizes, "sizes", self.name)
        own = tuple(range(len(sizes), len(sizes) + len(shapes[0])))
        return fit_axes(shapes, sizes + shapes[0], own, Relation.EQUAL)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """The leading axes that the operand lacks, as sizes."""
        output = plan.outputs[0]
        return cls(sizes=output.output_shape[: len(output.new_axes)])

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(sizes=(2, 3)), ((4,),)

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        return len(self.sizes) + super().highest_rank(shapes)
