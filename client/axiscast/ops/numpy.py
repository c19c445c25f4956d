"""NumPy: arrays broadcast against each other, or one array broadcasts to a shape.

Shapes are right-aligned. `broadcast_arrays` expands each array on axes of size 1. `broadcast_to` expands only the
array, and can add axes but not remove them. `tile` repeats an array along its axes.
"""

from ..plan.alignment import Conflict
from ..plan.plan import Shape
from .aliases import SHIFTS, UFUNCS, aliases
from .base import declare
from .einsum import Einsum, skipped_zeros
from .equation import Dialect, OutputEllipsis
from .error_messages import ErrorMessage
from .families import (
    Choice,
    CommonShape,
    Elementwise,
    LenientUnidirectional,
    MatrixProduct,
    Multidirectional,
    TileOfReps,
    takes_negative_copies,
)
from .framework import Framework

FRAMEWORK = Framework(
    order=10,
    reference=("numpy", "2.4.6"),
    link="https://numpy.org/doc/stable/reference/generated/{name}.html",
    max_rank=64,
    preamble="import numpy as np\n",
    transpose="{y} = {x}.transpose({permutation})",
    reshape="{y} = {x}.reshape({shape})",
    calls={"numpy": "{y} = np.{function}({arguments})"},
    executed="NumPy 2.4.6",
)

# The limit of 32 axes is that of NumPy's iterator. An array itself can have 64 axes.
_EACH = "[{ys}] = np.broadcast_arrays({xs})"
broadcast_arrays = declare(Multidirectional, "numpy.broadcast_arrays", _EACH, max_rank=32)
broadcast_to = declare(LenientUnidirectional, "numpy.broadcast_to", "{y} = np.broadcast_to({x}, {shape})")
broadcast_shapes = declare(CommonShape, "numpy.broadcast_shapes", max_rank=32)
add = declare(Elementwise, "numpy.add", link="https://numpy.org/doc/stable/user/basics.broadcasting.html")
matmul = declare(MatrixProduct, "numpy.matmul")


class einsum(Einsum, name="numpy.einsum"):
    """Combine axes that have the same letter. Size 1 expands, and axes whose letter is not in the output are summed.

    `equation` is the argument that NumPy calls `subscripts`. NumPy does not sum the axes of an ellipsis.
    """

    max_inputs = 63
    dialect = Dialect(splits_symbols=False)
    output_ellipsis = OutputEllipsis.FOR_AXES

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        return skipped_zeros(self, shapes)


where = declare(Choice, "numpy.where")
_ACCEPTED = takes_negative_copies("NumPy 2.4")
tile = declare(TileOfReps, "numpy.tile", "{y} = np.tile({x}, {reps})", refused_deviation=_ACCEPTED)
ALIASES = {
    **aliases(add, "divmod", "numpy", outputs="2"),
    **aliases(add, f"{UFUNCS} {SHIFTS} pow atan2 heaviside gcd lcm", "numpy"),
    **aliases(where, "clip", "numpy"),
    **aliases(matmul, "matmul", "numpy.linalg"),
}

MESSAGES = """
    numpy.add, numpy.broadcast_arrays | operands could not be broadcast together with shapes <*compact>
    numpy.broadcast_to | non-broadcastable output operand with shape <=shape> doesn't match the broadcast shape <0>
        # An in-place operation can't change the shape of its target. Reshape or reduce the other operand first. If
        the target should become larger, write `a = a + b`.
    numpy.broadcast_to | could not broadcast input array from shape <0> into shape <=shape>
    numpy.broadcast_to | value array of shape <0> could not be broadcast to indexing result of shape <=shape>
    numpy.broadcast_arrays | indexing arrays could not be broadcast together with shapes <*>
        # The index arrays are broadcast against each other before they select elements.
    numpy.broadcast_arrays | objects cannot be broadcast to a single shape. Mismatch is between arg <...> with shape
        <0> and arg <...> with shape <1>.
    numpy.broadcast_to | <remapped><0> and requested shape <=shape>
    numpy.matmul | <remapped><0>->(<...>,newaxis,newaxis) <1>->(<...>,newaxis,newaxis) and requested shape
    numpy.einsum | <remapped><0>->(<...>) <1>->(
        # An einsum failed: the same letter has different sizes.
    numpy.matmul | matmul: Input operand 1 has a mismatch in its core dimension <...>, with gufunc signature
        (n?,k),(k,m?)->(n?,m?) (size <#1> is different from <#0>)
    numpy.matmul | Dot product shape mismatch, <0> vs <1>
    | input operand has more dimensions than allowed by the axis remapping
        # numpy.broadcast_to can't remove axes: the array has more axes than the requested shape.
    | cannot broadcast a non-scalar to a scalar array
        # numpy.broadcast_to can't remove axes: only a scalar broadcasts to the shape ().
""".replace("<remapped>", "operands could not be broadcast together with remapped shapes [original->remapped]: ")
NODE_MESSAGES = (ErrorMessage("shapes <0> and <1> not aligned: ", ("numpy.matmul",), ranks=2),)
