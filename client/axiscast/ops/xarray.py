"""xarray: broadcast, which aligns axes by the names of their dimensions.

Axes with the same name are combined, whatever their order is. Their sizes must be equal, because size 1 does not
expand. Every output has the names of all inputs, in the order in which they first appear. The axes of an input whose
names are in `exclude` are the last axes of its output.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, Field, PlainSerializer, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticKnownError

from ..plan.alignment import Alignment, Axis, Conflict, Input, Output, ShapeMismatch, Term
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..plan.resolution import resolve
from ..wire.shapes import StopAtFirstError, in_order, shorten
from .aliases import aliases
from .base import Op
from .error_messages import error_messages
from .framework import Framework

FRAMEWORK = Framework(
    order=130,
    reference=("xarray", "2026.9.0"),
    preamble="import numpy as np\nimport xarray as xr\n",
    transpose="{y} = np.asarray({x}).transpose({permutation})",
    reshape="{y} = np.asarray({x}).reshape({shape})",
    executed="xarray 2026.9.0",
)
MAX_CHARACTERS = 100
Name = Annotated[str, Field(max_length=MAX_CHARACTERS)]
Names = Annotated[tuple[Name, ...], StopAtFirstError(), BeforeValidator(in_order)]


def _as_text(value: Any, names: ValidatorFunctionWrapHandler) -> Any:
    """Validate a list of names, or return a string unchanged.

    The rule decides which names a string excludes.
    """
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
    example_attributes = {"dims": (("x",), ("y",))}
    example_shapes = ((2,), (3,))
    dims: Annotated[tuple[Names, ...], StopAtFirstError(), BeforeValidator(in_order)] = Field(
        description="The names of each input's dimensions.", examples=[[["x", "y"], ["y"]]]
    )
    exclude: NamesOrText = Field(
        default=(),
        description="Names of dimensions that are not broadcast. A string stands for its characters. By default, all "
        "dimensions are broadcast.",
        examples=[["x"]],
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        for number, (names, shape) in enumerate(zip(self.dims, shapes, strict=True)):
            if len(names) != len(shape):
                raise ShapeMismatch(
                    "axes-count",
                    f"dims has {len(names)} names for the {len(shape)} axes of ",
                    Input(number, shape),
                    ": name each axis.",
                )
        self._check_names(shapes)
        shared, apart = self._shared(), self._apart()
        together = len(apart) if self._compares_all() else 0
        terms: list[list[Term]] = [[] for _ in range(len(shared) + together)]
        outputs: list[Output] = []
        for number, (names, shape) in enumerate(zip(self.dims, shapes, strict=True)):
            order = list(range(len(shared)))
            place = {name: axis for axis, name in enumerate(shared)}
            for name in _own(names, apart):
                place[name] = len(order)
                order.append(len(shared) + apart[name] if together else len(terms))
                if not together:
                    terms.append([])
            for axis, (name, size) in enumerate(zip(names, shape, strict=True)):
                terms[order[place[name]]].append(Term(number, axis, size))
            outputs.append(Output(number, tuple(place[name] for name in names), order))
        return Alignment(shapes, None, tuple(Axis(Relation.EQUAL, tuple(meeting)) for meeting in terms), tuple(outputs))

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
        if plain._lowers_to(plan):
            return plain
        shared = 1 + max((axis for output in plan.outputs for axis in output.new_axes), default=-1)
        rank = max(len(output.output_shape) for output in plan.outputs)
        return cls(dims=dims, exclude=tuple(f"d{axis}" for axis in range(shared, rank)))

    def output_dims(self) -> list[list[str]]:
        shared, apart = self._shared(), self._apart()
        return [[*shared, *_own(names, apart)] for names in self.dims]

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        return max(super().highest_rank(shapes), len({name for names in self.dims for name in names}))

    def input_count_problem(self, count: int) -> str | None:
        if count != len(self.dims):
            return f"dims has the names of {len(self.dims)} inputs, but xarray.broadcast gets {count} inputs"
        return super().input_count_problem(count)

    def attribute_warning(self) -> tuple[str, str] | None:
        if self._compares_all():
            return (
                "exclude-string",
                f"exclude {self.exclude!r} is a string, which xarray reads character by character: "
                f"{shorten(list(dict.fromkeys(self.exclude)))} are not broadcast, but their sizes must be equal. "
                "Write a list of names.",
            )
        return None

    def known_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        if conflict and conflict.code == "axis-repeated" and self._passes(shapes):
            return "xarray 2026.9 accepts this repeated name, because it does not insert, move or compare an axis here."
        return None

    def _lowers_to(self, plan: Plan) -> bool:
        """Return whether this op lowers to the plan."""
        try:
            return resolve(self.align(plan.input_shapes)) == plan
        except ShapeMismatch:
            return False

    def _shared(self) -> list[str]:
        """Return the names that appear in every output."""
        held = self._held()
        return [name for name in dict.fromkeys(name for names in self.dims for name in names) if name not in held]

    def _apart(self) -> dict[str, int]:
        """Return the index of each input name that is not broadcast, in the order of `exclude` or of its characters."""
        present = {name for names in self.dims for name in names}
        names = (name for name in dict.fromkeys(self.exclude) if name in present)
        return {name: number for number, name in enumerate(names)}

    def _held(self) -> str | frozenset[str]:
        """Return `exclude` as a container for tests with the `in` operator. A string contains all its substrings."""
        return self.exclude if isinstance(self.exclude, str) else frozenset(self.exclude)

    def _compares_all(self) -> bool:
        """Return whether the sizes of excluded names are compared.

        xarray skips the alignment of a name that equals `exclude`. If `exclude` is a string of several characters, no
        single character equals it, so the sizes are compared.
        """
        return isinstance(self.exclude, str) and len(self.exclude) > 1

    def _check_names(self, shapes: tuple[Shape, ...]) -> None:
        """Raise ShapeMismatch (axis-repeated, axis-out-of-range) for names that no output can have."""
        held, apart = self._held(), self._apart()
        for number, names in enumerate(self.dims):
            if len(set(names)) < len(names):
                raise ShapeMismatch(
                    "axis-repeated",
                    "dims repeats a name for ",
                    Input(number, shapes[number]),
                    f": {shorten(names)}. Rename one of these dimensions.",
                )
        for number, names in enumerate(self.dims):
            for name in names:
                if name in held and name not in apart:
                    raise ShapeMismatch(
                        "axis-out-of-range",
                        f"exclude {self.exclude!r} contains {name!r}, an axis of ",
                        Input(number, shapes[number]),
                        ", but xarray reads a string character by character, so no output has the axis. Write a list "
                        "of names.",
                    )

    def _passes(self, shapes: tuple[Shape, ...]) -> bool:
        """Return whether the tested release accepts an input that has the same name twice."""
        held, apart, shared = self._held(), self._apart(), set(self._shared())
        free = {self.exclude} if isinstance(self.exclude, str) else set(self.exclude)
        sizes: dict[tuple[str, int | None], int] = {}
        for number, (names, shape) in enumerate(zip(self.dims, shapes, strict=True)):
            if any(name in held and name not in apart for name in names):
                return False
            if len(set(names)) < len(names) and len(shared.union(_own(names, apart))) > 1:
                return False  # xarray would have to move the input's axes or insert new axes
            for name, size in zip(names, shape, strict=True):
                of = number if name in free else None
                if len(shapes) > 1 and sizes.setdefault((name, of), size) != size:
                    return False
        return True


def _own(names: Sequence[str], apart: dict[str, int]) -> list[str]:
    """Return the axis names of an input that are excluded from broadcasting, in the order of `exclude`."""
    return sorted({name for name in names if name in apart}, key=apart.__getitem__)


ALIASES = {
    **aliases(broadcast, "apply_ufunc", "xarray", outputs="1"),
    **aliases(broadcast, "where", "xarray", inputs=3, outputs="1"),
}

MESSAGES = error_messages(
    """
    | cannot reindex or align along dimension '<...>' because of conflicting dimension sizes: {<#>, <#>}
        # Dimensions of the same name must have the same size: xarray does not expand dimensions.
    | conflicting sizes for dimension '<...>': length <#0> on <...> and length <#1> on
        # Dimensions of the same name must have the same size: xarray does not expand dimensions.
    | operands cannot be broadcast together with mismatched lengths for dimension '<...>': (<#0>, <#1>)
        # Dimensions of the same name must have the same size: xarray does not expand dimensions.
    """
)
