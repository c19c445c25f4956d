"""MLX: mlx.core, which follows NumPy's rules. Sizes must not be negative, and ranks have no limit."""

from ..plan.plan import Shape
from .aliases import ELEMENTWISE, SHIFTS, aliases
from .base import declare
from .einsum import Einsum
from .families import Choice, CommonShape, Elementwise, MatrixProduct, Multidirectional, Unidirectional
from .framework import Framework

FRAMEWORK = Framework(
    order=160,
    reference=("mlx", "0.32.4"),
    link="https://ml-explore.github.io/mlx/build/html/python/_autosummary/{name}.html",
    preamble="import mlx.core as mx\n",
    transpose="{y} = mx.transpose({x}, {permutation})",
    reshape="{y} = mx.reshape({x}, {shape})",
    calls={"mlx.core": "{y} = mx.{function}({arguments})"},
    executed="MLX 0.32.4",
)


broadcast_to = declare(Unidirectional, "mlx.core.broadcast_to", "{y} = mx.broadcast_to({x}, {shape})")
broadcast_arrays = declare(Multidirectional, "mlx.core.broadcast_arrays", "[{ys}] = mx.broadcast_arrays({xs})")
broadcast_shapes = declare(CommonShape, "mlx.core.broadcast_shapes")
add = declare(Elementwise, "mlx.core.add")
where = declare(Choice, "mlx.core.where")
matmul = declare(MatrixProduct, "mlx.core.matmul")


class einsum(Einsum, name="mlx.core.einsum"):
    """Combine axes that have the same letter. Size 1 expands, and axes whose letter is not in the output are summed.

    `equation` is the argument that MLX calls `subscripts`.
    """

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        if any({0, 1} <= sizes or (0 in sizes and is_summed) for sizes, is_summed in self.sizes_by_label(shapes)):
            return (
                "MLX 0.32 may fail, hang or return undefined values if it sums over a size 0, or expands a size 1 to 0."
            )
        return None


ALIASES = {
    **aliases(add, "divmod", "mlx.core", outputs="2"),
    **aliases(
        add,
        f"""{ELEMENTWISE} {SHIFTS} floor_divide remainder power pow logaddexp arctan2 atan2 left_shift right_shift
        isclose""",
        "mlx.core",
    ),
    **aliases(where, "clip", "mlx.core"),
}

MESSAGES = """
    mlx.core.einsum | [einsum] Cannot broadcast dimension <...> of input <...> with shape <...> to size <#>.
        # An einsum failed: the same letter has different sizes.
    mlx.core.add | [broadcast_shapes] Shapes <0> and <1> cannot be broadcast
    mlx.core.broadcast_to | Cannot broadcast array of shape <0> into shape <=shape>
    mlx.core.matmul | [matmul] Last dimension of first input with shape <0> must match second to last dimension of
        second input with shape <1>
    mlx.core.matmul | [addmm] Last dimension of first input with shape <0> must match second to last dimension of
        second input with shape <1>
"""
