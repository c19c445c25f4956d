"""xarray: broadcast, which aligns axes by the names of their dimensions.

Axes with the same name are combined, whatever their order is. Their sizes must be equal, because size 1 does not
expand. Every output has the names of all inputs, in the order in which they first appear. The axes of an input whose
names are in `exclude` are the last axes of its output.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from ..plan.alignment import Alignment, Axis, Conflict, Input, Output, ShapeMismatch, Term, check_entries
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..plan.resolution import try_resolve
from ..wire.shapes import StopAtFirstError, in_order
from .aliases import aliases
from .base import Op
from .framework import Framework

FRAMEWORK = Framework(
    order=130,
    reference=("xarray", "2026.9.0"),
    preamble="import numpy as np\nimport xarray as xr\n",
    transpose="{y} = np.asarray({x}).transpose({permutation})",
    reshape="{y} = np.asarray({x}).reshape({shape})",
    executed="xarray 2026.9.0",
)
Name = Annotated[str, Field(max_length=100)]
Names = Annotated[tuple[Name, ...], StopAtFirstError(), BeforeValidator(in_order)]


def _as_names(value: Any) -> Any:
    """Return the names in `exclude`. xarray reads a string as its characters, so a longer string is a mistake."""
    if isinstance(value, str) and len(value) > 1:
        raise PydanticCustomError("text", "must be a list of names: xarray reads a string character by character")
    return in_order(list(value) if isinstance(value, str) else value)


_ONE_OR_MORE = BeforeValidator(_as_names, json_schema_input_type=Names | Annotated[str, Field(max_length=1)])


class broadcast(Op, name="xarray.broadcast"):
    """Give all arrays the same named dimensions. Sizes with the same name must be equal, and size 1 does not expand."""

    max_inputs = None
    outputs = "as many as inputs"
    broadcasts_all_inputs = True
    selects_shape_axes = True
    link = "https://docs.xarray.dev/en/stable/generated/xarray.broadcast.html"
    snippets = (
        "dims = {dims}\n"
        "arrays = [xr.DataArray(array, dims=names) for array, names in zip([{xs}], dims)]\n"
        "[{ys}] = xr.broadcast(*arrays, exclude={exclude})",
    )
    example_shapes = ((2, 3), (3,))
    dims: Annotated[tuple[Names, ...], StopAtFirstError(), BeforeValidator(in_order)] = Field(
        description="The names of each input's dimensions.", examples=[[["x", "y"], ["y"]]]
    )
    exclude: Annotated[Names, Field(max_length=1000), _ONE_OR_MORE] = Field(
        default=(),
        description="Names of dimensions that are not broadcast. By default, all dimensions are broadcast.",
        examples=[["x"]],
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        for number, (names, shape) in enumerate(zip(self.dims, shapes, strict=True)):
            check_entries(names, Input(number, shape), "dims")
        for number, (names, shape) in enumerate(zip(self.dims, shapes, strict=True)):
            if len(set(names)) < len(names):
                raise ShapeMismatch("axis-repeated", "repeated-name", "dims", names, Input(number, shape))
        shared = len(self._shared())
        terms: list[list[Term]] = [[] for _ in range(shared)]
        outputs: list[Output] = []
        for number, (names, shape, named) in enumerate(zip(self.dims, shapes, self.output_dims(), strict=True)):
            order = [*range(shared), *range(len(terms), len(terms) + len(named) - shared)]
            terms += [[] for _ in named[shared:]]
            place = {name: axis for axis, name in enumerate(named)}
            for axis, (name, size) in enumerate(zip(names, shape, strict=True)):
                terms[order[place[name]]].append(Term(number, axis, size))
            outputs.append(Output(number, tuple(place[name] for name in names), order))
        axes = tuple(Axis(Relation.EQUAL, tuple(meeting)) for meeting in terms)
        return Alignment(shapes, None, axes, tuple(outputs))

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        """Return the op that names the output axes d0, d1, and so on.

        If this op does not lower to the plan, return an op that excludes some axes. Each excluded axis comes after the
        last axis that does not exist in some input. The sizes of excluded axes are not compared, and their order is
        free.
        """
        if [output.input for output in plan.outputs] != list(range(len(plan.input_shapes))):
            return None
        dims = tuple(tuple(f"d{axis}" for axis in output.output_axes) for output in plan.outputs)
        plain = cls(dims=dims)
        if try_resolve(plain.align(plan.input_shapes)) == plan:
            return plain
        shared = 1 + max((axis for output in plan.outputs for axis in output.new_axes), default=-1)
        rank = max(len(output.output_shape) for output in plan.outputs)
        return cls(dims=dims, exclude=tuple(f"d{axis}" for axis in range(shared, rank)))

    def output_dims(self) -> list[list[str]]:
        shared, excluded = self._shared(), dict.fromkeys(self.exclude)
        return [[*shared, *(name for name in excluded if name in names)] for names in self.dims]

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        return max(super().highest_rank(shapes), len({name for names in self.dims for name in names}))

    def input_count_problem(self, count: int) -> str | None:
        if count != len(self.dims):
            return f"dims has the names of {len(self.dims)} inputs, but xarray.broadcast gets {count} inputs"
        return super().input_count_problem(count)

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        if conflict.code == "axis-repeated":
            return "xarray 2026.9 may accept this repeated name, if it does not insert, move or compare an axis."
        return None

    def _shared(self) -> list[str]:
        """Return the names that appear in every output."""
        excluded = frozenset(self.exclude)
        return [name for name in dict.fromkeys(chain.from_iterable(self.dims)) if name not in excluded]


ALIASES = {
    **aliases(broadcast, "apply_ufunc", "xarray", outputs="1"),
    **aliases(broadcast, "where", "xarray", inputs=3, outputs="1"),
}

MESSAGES = """
    | cannot reindex or align along dimension '<...>' because of conflicting dimension sizes: {<#>, <#>}
        # Dimensions of the same name must have the same size: xarray does not expand dimensions.
    | conflicting sizes for dimension '<...>': length <#0> on <...> and length <#1> on
        # Dimensions of the same name must have the same size: xarray does not expand dimensions.
    | operands cannot be broadcast together with mismatched lengths for dimension '<...>': (<#0>, <#1>)
        # Dimensions of the same name must have the same size: xarray does not expand dimensions.
"""
