"""MLX: mlx.core, which follows NumPy's rules. Sizes must not be negative, and ranks have no limit."""

from ..plan.alignment import Conflict
from ..plan.plan import Shape
from .aliases import aliases
from .einsum import Einsum
from .error_messages import error_messages
from .families import Choice, Elementwise, MatrixProduct, Multidirectional, Unidirectional
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


class broadcast_to(Unidirectional, name="mlx.core.broadcast_to"):
    """Broadcast an array to a shape. Shapes are right-aligned, size 1 expands, and no axis is removed."""

    snippets = ("{y} = mx.broadcast_to({x}, {shape})",)


class broadcast_arrays(Multidirectional, name="mlx.core.broadcast_arrays"):
    """Broadcast any number of arrays against each other. Shapes are right-aligned, and size 1 expands."""

    snippets = ("[{ys}] = mx.broadcast_arrays({xs})",)


class broadcast_shapes(Multidirectional, name="mlx.core.broadcast_shapes"):
    """Broadcast any number of shapes against each other, as broadcast_arrays broadcasts arrays of these shapes."""

    outputs = "1"


class add(Elementwise, name="mlx.core.add"):
    """Broadcast two arrays against each other, as every binary operation does."""


class where(Choice, name="mlx.core.where"):
    """Broadcast three arrays against each other: a condition, and two arrays from which it selects elements."""


class matmul(MatrixProduct, name="mlx.core.matmul"):
    """Broadcast two stacks of matrices, then multiply them. A vector is a row on the left and a column on the right."""


class einsum(Einsum, name="mlx.core.einsum"):
    """Combine axes that have the same letter. Size 1 expands, and axes whose letter is not in the output are summed.

    `equation` is the argument that MLX calls `subscripts`.
    """

    def known_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        if conflict is None and any(
            {0, 1} <= sizes or (0 in sizes and is_summed) for sizes, is_summed in self.sizes_by_label(shapes)
        ):
            return (
                "MLX 0.32 may fail, hang or return undefined values if it sums over a size 0, or expands a size 1 to 0."
            )
        return None


ALIASES = {
    **aliases(add, "divmod", "mlx.core", outputs="2"),
    **aliases(
        add,
        """subtract multiply divide floor_divide remainder power pow maximum minimum logaddexp arctan2 atan2
        equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or
        bitwise_xor left_shift bitwise_left_shift right_shift bitwise_right_shift isclose""",
        "mlx.core",
    ),
    **aliases(where, "clip", "mlx.core"),
}

MESSAGES = error_messages(
    """
    mlx.core.einsum | [einsum] Cannot broadcast dimension <...> of input <...> with shape <...> to size <#>.
        # An einsum failed: the same letter has different sizes.
    mlx.core.add | [broadcast_shapes] Shapes <0> and <1> cannot be broadcast
    mlx.core.broadcast_to | Cannot broadcast array of shape <0> into shape <=shape>
    mlx.core.matmul | [matmul] Last dimension of first input with shape <0> must match second to last dimension of
        second input with shape <1>
    mlx.core.matmul | [addmm] Last dimension of first input with shape <0> must match second to last dimension of
        second input with shape <1>
    """
)
