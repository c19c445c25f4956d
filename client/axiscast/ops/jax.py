"""JAX: jax.numpy follows NumPy's rules without a rank limit, and jax.lax requires equal ranks, except for scalars.

jax.lax.broadcast adds leading axes and expands no existing axis. The class for jax.lax.add is `lax_add`, because `add`
is the class for jax.numpy.add.
"""

from collections.abc import Sequence
from typing import Self

from pydantic import Field

from ..plan.alignment import Alignment, Conflict, Input, align_mapped, check_equal_ranks, check_sizes
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from .aliases import BITWISE, SHIFTS, SHORT_COMPARISONS, UFUNCS, aliases
from .base import Op, declare
from .einsum import Einsum
from .equation import Dialect
from .families import CommonShape, Elementwise, LenientUnidirectional, MatrixProduct, Multidirectional, TileOfReps
from .framework import Framework

FRAMEWORK = Framework(
    order=90,
    reference=("jax", "0.10.2"),
    link="https://docs.jax.dev/en/latest/_autosummary/{name}.html",
    preamble="import jax\n",
    transpose="{y} = jax.lax.transpose({x}, {permutation})",
    reshape="{y} = jax.lax.reshape({x}, {shape})",
    calls={name: f"{{y}} = {name}.{{function}}({{arguments}})" for name in ("jax.numpy", "jax.lax")},
    executed="JAX 0.10.2",
)


class broadcast(Op, name="jax.lax.broadcast"):
    """Add new leading axes with these sizes, and replicate the operand along the new axes."""

    snippets = ("{y} = jax.lax.broadcast({x}, {sizes})",)
    example_shapes = ((4,),)
    sizes: Dimensions = Field(description="The sizes of the new leading axes.", examples=[[2, 3]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        sizes = tuple(self.sizes)
        check_sizes(sizes, "sizes")
        own = tuple(range(len(sizes), len(sizes) + len(shapes[0])))
        return align_mapped(shapes, sizes + shapes[0], own, Relation.EQUAL)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Return the op whose `sizes` are the sizes of the new leading axes."""
        output = plan.outputs[0]
        return cls(sizes=output.output_shape[: len(output.new_axes)])

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        return len(self.sizes) + super().highest_rank(shapes)


broadcast_to = declare(LenientUnidirectional, "jax.numpy.broadcast_to", "{y} = jax.numpy.broadcast_to({x}, {shape})")
_EACH = "[{ys}] = jax.numpy.broadcast_arrays({xs})"
broadcast_arrays = declare(Multidirectional, "jax.numpy.broadcast_arrays", _EACH)
broadcast_shapes = declare(CommonShape, "jax.numpy.broadcast_shapes")
add = declare(Elementwise, "jax.numpy.add")


class lax_add(Elementwise, name="jax.lax.add"):
    """Broadcast two arrays of the same rank against each other, or a scalar to an array."""

    example_shapes = ((2, 1), (1, 3))

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        if all(shapes):
            check_equal_ranks(Input(0, shapes[0]), Input(1, shapes[1]), "Reshape one of them first.")
        return super().align(shapes)


matmul = declare(MatrixProduct, "jax.numpy.matmul")


class einsum(Einsum, name="jax.numpy.einsum"):
    """Combine axes that have the same letter. Size 1 expands, and axes whose letter is not in the output are summed.

    `equation` is the argument that JAX calls `subscripts`.
    """

    dialect = Dialect(letters_only=False, repeats_empty_ellipsis=True)

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        if self.fits_with(shapes, _stretched):
            return "JAX 0.10 may accept this: it does not compare a size 1 on a diagonal with the other sizes there."
        return None


def _stretched(sizes: Shape) -> Shape:
    nonunit = next((size for size in sizes if size != 1), 1)
    return tuple(nonunit if size == 1 else size for size in sizes)


tile = declare(TileOfReps, "jax.numpy.tile", "{y} = jax.numpy.tile({x}, {reps})")
ALIASES = {
    **aliases(add, "divmod", "jax.numpy", outputs="2"),
    **aliases(add, f"{UFUNCS} {SHIFTS} pow atan2 heaviside gcd lcm", "jax.numpy"),
    **aliases(broadcast_arrays, "where clip", "jax.numpy", inputs=3, outputs="1"),
    **aliases(matmul, "matmul", "jax.numpy.linalg"),
    **aliases(
        lax_add,
        f"""sub mul div {SHORT_COMPARISONS} {BITWISE} rem pow max min atan2 nextafter complex shift_left
        shift_right_arithmetic shift_right_logical igamma igammac zeta""",
        "jax.lax",
    ),
}

MESSAGES = """
    jax.numpy.add, jax.numpy.broadcast_arrays | Incompatible shapes for broadcasting: shapes=[<*>]
    jax.numpy.broadcast_to | Incompatible shapes for broadcasting: <0> and requested shape <=shape>
    jax.numpy.add, jax.numpy.broadcast_arrays | got incompatible shapes for broadcasting: <*>
    jax.numpy.broadcast_to | Incompatible types for broadcasting: input type=<0> and requested type=<=shape>
    jax.numpy.broadcast_to | Cannot broadcast to shape with fewer dimensions: arr_shape=<0> shape=<=shape>
    stablehlo.broadcast_in_dim | broadcast_in_dim operand dimension sizes must either be 1, or be equal to their
        corresponding dimensions in the target broadcast shape; got operand of shape <0>, target broadcast shape
        <=shape>, broadcast_dimensions <=broadcast_dimensions>
    jax.numpy.matmul | Incompatible types for matmul arguments: <0> and <1>
    | dot_general requires contracting dimensions to have the same shape, got (<#0>,) and (<#1>,).
        # A matrix product failed, because the summed axes have different sizes.
    | : arrays must have the same number of dimensions, got {
        # The functions of jax.lax require arrays of the same rank. The functions of jax.numpy add missing axes.
"""
