"""The Python array API standard, version 2025.12, which follows NumPy's rules.

The ops were tested with array-api-strict, which implements the standard with NumPy. The standard does not limit ranks.
A library that implements the standard may limit them: array-api-strict accepts at most 64 axes.
"""

from ..plan.plan import Shape
from .aliases import ELEMENTWISE, SHIFTS, aliases
from .base import Op, declare
from .families import Choice, CommonShape, Elementwise, LenientUnidirectional, MatrixProduct, Multidirectional
from .framework import Framework

FRAMEWORK = Framework(
    order=15,
    reference=("array-api-strict", "2.6.1"),
    link="https://data-apis.org/array-api/2025.12/API_specification/generated/{name}.html",
    preamble="import array_api_strict as xp  # or another library that follows the standard\n",
    transpose="{y} = xp.permute_dims({x}, {permutation})",
    reshape="{y} = xp.reshape({x}, {shape})",
    has_array_methods=False,
    calls={"array_api": "{y} = xp.{function}({arguments})"},
    executed="array-api-strict 2.6.1",
)


def _rank_deviation(op: Op, shapes: tuple[Shape, ...]) -> str | None:
    if op.highest_rank(shapes) > 32:
        return f"array-api-strict 2.6 fails when it runs this: its {type(op).__name__} accepts at most 32 axes."
    return None


broadcast_to = declare(LenientUnidirectional, "array_api.broadcast_to", "{y} = xp.broadcast_to({x}, {shape})")
_EACH = "[{ys}] = xp.broadcast_arrays({xs})"
broadcast_arrays = declare(Multidirectional, "array_api.broadcast_arrays", _EACH, accepted_deviation=_rank_deviation)
broadcast_shapes = declare(CommonShape, "array_api.broadcast_shapes", accepted_deviation=_rank_deviation)
add = declare(Elementwise, "array_api.add")
where = declare(Choice, "array_api.where")
matmul = declare(MatrixProduct, "array_api.matmul")

ALIASES = {
    **aliases(
        add, f"{ELEMENTWISE} {SHIFTS} floor_divide remainder pow hypot copysign nextafter logaddexp atan2", "array_api"
    ),
    **aliases(where, "clip", "array_api"),
    **aliases(matmul, "linalg.matmul", "array_api"),
}
