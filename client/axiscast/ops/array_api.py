"""The Python array API standard, version 2025.12, which follows NumPy's rules.

The ops were tested with array-api-strict, which implements the standard with NumPy. The standard does not limit ranks.
A library that implements the standard may limit them: array-api-strict accepts at most 64 axes.
"""

from ..plan.alignment import Conflict
from ..plan.plan import Shape
from .aliases import aliases
from .families import Choice, Elementwise, LenientUnidirectional, MatrixProduct, Multidirectional
from .framework import Framework

FRAMEWORK = Framework(
    order=15,
    reference=("array-api-strict", "2.6.1"),
    link="https://data-apis.org/array-api/2025.12/API_specification/generated/{name}.html",
    preamble="import array_api_strict as xp  # or another library that follows the standard\n",
    transpose="{y} = xp.permute_dims({x}, {permutation})",
    reshape="{y} = xp.reshape({x}, {shape})",
    calls={"array_api": "{y} = xp.{function}({arguments})"},
    executed="array-api-strict 2.6.1",
)


class broadcast_to(LenientUnidirectional, name="array_api.broadcast_to"):
    """Broadcast an array to a shape. Shapes are right-aligned, size 1 expands, and no axis is removed."""

    snippets = ("{y} = xp.broadcast_to({x}, {shape})",)


class _AtMost32Axes(Multidirectional):
    """Inputs of any rank. The package array-api-strict accepts inputs with at most 32 axes."""

    def known_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        if conflict is None and self.highest_rank(shapes) > 32:
            return f"array-api-strict 2.6 fails when it runs this: its {type(self).__name__} accepts at most 32 axes."
        return None


class broadcast_arrays(_AtMost32Axes, name="array_api.broadcast_arrays"):
    """Broadcast any number of arrays against each other. Shapes are right-aligned, and size 1 expands."""

    snippets = ("[{ys}] = xp.broadcast_arrays({xs})",)


class broadcast_shapes(_AtMost32Axes, name="array_api.broadcast_shapes"):
    """Broadcast any number of shapes against each other, as broadcast_arrays broadcasts arrays of these shapes."""

    outputs = "1"


class add(Elementwise, name="array_api.add"):
    """Broadcast two arrays against each other, as every elementwise function of two arrays does."""


class where(Choice, name="array_api.where"):
    """Broadcast three arrays against each other: a condition, and two arrays from which it selects elements."""


class matmul(MatrixProduct, name="array_api.matmul"):
    """Broadcast two stacks of matrices, then multiply them. A vector is a row on the left and a column on the right."""


ALIASES = {
    **aliases(
        add,
        """subtract multiply divide floor_divide remainder pow maximum minimum hypot copysign nextafter logaddexp atan2
        equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or
        bitwise_xor bitwise_left_shift bitwise_right_shift""",
        "array_api",
    ),
    **aliases(where, "clip", "array_api"),
    **aliases(matmul, "linalg.matmul", "array_api"),
}
