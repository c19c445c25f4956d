"""MindSpore: NumPy's rules. In a target shape, -1 keeps the input's size and is not allowed on a new axis."""

from pydantic import Field

from ..plan.alignment import Conflict, unchecked_sizes
from ..plan.plan import Shape
from ..wire.dimensions import Dimensions
from .aliases import BITWISE, LOGICAL, ORDERINGS, SHIFTS, SHORT_COMPARISONS, aliases, same_names
from .base import declare
from .error_messages import ErrorMessage
from .families import COPIES, Choice, Elementwise, MatrixProduct, Tile, UnidirectionalKeeping
from .framework import Framework
from .lowering import lower

FRAMEWORK = Framework(
    order=30,
    reference=("mindspore", "2.10.0"),
    link="https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.{function}.html",
    preamble="from mindspore import ops\n",
    transpose="{y} = ops.transpose({x}, {permutation})",
    reshape="{y} = ops.reshape({x}, {shape})",
    calls=dict.fromkeys(("mindspore", "mindspore.ops"), "{y} = ops.{function}({arguments})"),
    executed="MindSpore 2.10.0",
)


class broadcast_to(UnidirectionalKeeping, name="mindspore.broadcast_to"):
    snippets = ("{y} = ops.broadcast_to({x}, {shape})",)

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        sizes = unchecked_sizes(shapes[0], tuple(self.shape))
        if min(sizes, default=0) < -1 and -1 not in sizes:
            return "MindSpore 2.10 does not check a size below -1, and returns a tensor of negative shape."
        return None


add = declare(Elementwise, "mindspore.add")


class maximum(Elementwise, name="mindspore.maximum"):
    """Broadcast two tensors against each other, with the same rule as mindspore.add."""

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        one, other = shapes
        if one == other or not (one and other):
            return None  # no broadcast is necessary
        if 0 in (*one, *other):
            return "MindSpore 2.10 fails when it runs this: its CPU kernel does not broadcast empty tensors."
        most = 7 if (self.alias or self.name).endswith("minimum") else 8
        if max(len(one), len(other)) > most:
            return f"MindSpore 2.10 fails when it runs this: its CPU kernel broadcasts at most {most} axes."
        return None


where = declare(Choice, "mindspore.where")


class tile(Tile, name="mindspore.tile"):
    counts = "dims"
    snippets = ("{y} = ops.tile({x}, {dims})",)
    dims: Dimensions = Field(description=COPIES, examples=[[2, 1]])

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        if self.limited_rank(shapes) > 8:
            return "MindSpore 2.10 fails when it runs this: its CPU kernel of Tile repeats at most 8 axes."
        repeated = [axis for axis, count in enumerate(reversed(self.dims)) if count > 1]
        if len(repeated) == 1 and 0 in shapes[0][-1 - repeated[0] :]:
            return "MindSpore 2.10 fails when it runs this: its CPU kernel of Tile repeats no empty part on one axis."
        return None


class matmul(MatrixProduct, name="mindspore.matmul"):
    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        if shapes[0][-1] == 0 and 0 not in (lower(self, shapes).result or ()):
            return "MindSpore 2.10 may return undefined values here. The correct result of an empty sum is 0."
        return None


_OPERATIONS = f"""sub mul div subtract multiply divide equal {ORDERINGS} {LOGICAL} {BITWISE} {SHIFTS}
    {SHORT_COMPARISONS} true_divide floor_div floor_divide floor_mod fmod remainder pow float_power fmax atan2
    arctan2 hypot heaviside xlogy ldexp nextafter gcd lcm isclose truncate_div truncate_mod"""
_MINT_OPERATIONS = f"""add sub mul div {ORDERINGS} {SHORT_COMPARISONS} {LOGICAL} divide floor_divide fmod remainder
    pow float_power xlogy gcd bitwise_and isclose"""
ALIASES = {
    **aliases(add, _OPERATIONS, "mindspore", "mindspore.ops"),
    **aliases(add, _MINT_OPERATIONS, "mindspore.mint"),
    **aliases(maximum, "minimum logaddexp logaddexp2", "mindspore", "mindspore.ops"),
    **aliases(maximum, "minimum", "mindspore.mint"),
    **aliases(where, "lerp addcmul addcdiv", "mindspore", "mindspore.ops"),
    **aliases(where, "lerp", "mindspore.mint"),
    **same_names("mindspore.ops", add, maximum, tile, where, matmul, broadcast_to),
    **same_names("mindspore.mint", maximum, tile, where, matmul, broadcast_to),
    **same_names("mindspore.Tensor", tile),
}

MESSAGES = """
    mindspore.broadcast_to | For 'BroadcastTo', in order to broadcast, each dimension pair must be equal or input
        dimension is 1 or target dimension is -1. But got x_shape: <0>, target shape: <=shape>
    mindspore.matmul | op, shape1[-1] must be equal to shape2[-2], but got <#0> and <#1>
    mindspore.matmul | op, shape1 and shape2 must be broadcastable, but got <0> and <1>
    mindspore.matmul | For 'MatMul' the input dimensions must be equal, but got 'x1_col': <#0> and 'x2_row': <#1>
    | For Expand, the expanded size of the tensor (<#>) must be equal to the existing size (<#>) which is not 1
        # An expand failed: a size of the tensor is neither 1 nor the size of the target.
    | For primitive [BroadcastTo]: input's rank should be less equal to the number of proposed_shape
        # broadcast_to can't remove axes: the tensor has more axes than the requested shape.
"""
NODE_MESSAGES = (
    ErrorMessage(
        "For '<node>', <...>.shape need to broadcast. The value of <...> but got <...>.shape = <0> and <...>.shape = "
        "<1>",
        ("mindspore.add",),
        nodes={"Maximum": "mindspore.maximum", "Minimum": "mindspore.maximum"},
    ),
)
