"""NumPy: arrays broadcast against each other, or one array broadcasts to a shape.

Shapes are right-aligned. `broadcast_arrays` expands each array on axes of size 1. `broadcast_to` expands only the
array, and can add axes but not remove them. `tile` repeats an array along its axes.
"""

from pydantic import Field

from ..plan.alignment import Conflict
from ..plan.plan import Shape
from ..wire.dimensions import DimensionOrDimensions
from .aliases import aliases
from .einsum import Einsum, skipped_zeros
from .equation import Dialect, OutputEllipsis
from .error_messages import ErrorMessage, error_messages
from .families import COPIES, Choice, Elementwise, LenientTile, LenientUnidirectional, MatrixProduct, Multidirectional
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


class broadcast_arrays(Multidirectional, name="numpy.broadcast_arrays"):
    """Broadcast any number of arrays against each other. Shapes are right-aligned, and size 1 expands."""

    max_rank = 32  # the limit of NumPy's iterator; an array itself can have 64 axes
    snippets = ("[{ys}] = np.broadcast_arrays({xs})",)


class broadcast_to(LenientUnidirectional, name="numpy.broadcast_to"):
    """Broadcast an array to a shape. Shapes are right-aligned, size 1 expands, and no axis is removed."""

    snippets = ("{y} = np.broadcast_to({x}, {shape})",)


class broadcast_shapes(Multidirectional, name="numpy.broadcast_shapes"):
    """Broadcast any number of shapes against each other, as broadcast_arrays broadcasts arrays of these shapes."""

    outputs = "1"
    max_rank = 32


class add(Elementwise, name="numpy.add"):
    """Broadcast two arrays against each other, as every binary ufunc does before it computes."""

    link = "https://numpy.org/doc/stable/user/basics.broadcasting.html"


class matmul(MatrixProduct, name="numpy.matmul"):
    """Broadcast two stacks of matrices, then multiply them. A vector is a row on the left and a column on the right."""


class einsum(Einsum, name="numpy.einsum"):
    """Combine axes that have the same letter. Size 1 expands, and axes whose letter is not in the output are summed.

    `equation` is the argument that NumPy calls `subscripts`. NumPy does not sum the axes of an ellipsis.
    """

    max_inputs = 63
    dialect = Dialect(splits_symbols=False)
    output_ellipsis = OutputEllipsis.FOR_AXES

    def known_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        return skipped_zeros(self, shapes, conflict)


class where(Choice, name="numpy.where"):
    """Broadcast three arrays against each other: a condition, and two arrays from which it selects elements."""


class tile(LenientTile, name="numpy.tile"):
    """Repeat an array along its axes. The shorter of `reps` and the array's shape gets leading entries of 1."""

    snippets = ("{y} = np.tile({x}, {reps})",)
    release = "NumPy 2.4"
    reps: DimensionOrDimensions = Field(description=COPIES, examples=[[2, 1]])


ALIASES = {
    **aliases(add, "divmod", "numpy", outputs="2"),
    **aliases(
        add,
        """subtract multiply divide true_divide floor_divide power pow float_power remainder mod fmod maximum
        minimum fmax fmin arctan2 atan2 hypot copysign heaviside nextafter ldexp logaddexp logaddexp2 gcd lcm equal
        not_equal less less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or
        bitwise_xor left_shift right_shift bitwise_left_shift bitwise_right_shift isclose""",
        "numpy",
    ),
    **aliases(where, "clip", "numpy"),
    **aliases(matmul, "matmul", "numpy.linalg"),
}

MESSAGES = (
    *error_messages(
        """
        numpy.add, numpy.broadcast_arrays | operands could not be broadcast together with shapes <*compact>
        numpy.broadcast_to | non-broadcastable output operand with shape <=shape> doesn't match the broadcast shape <0>
            # An operation in place can't change the shape of its target. Write it out of place, as in `a = a + b`, or
            reduce the other operand first.
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
        """,
        remapped="operands could not be broadcast together with remapped shapes [original->remapped]: ",
    ),
    ErrorMessage("shapes <0> and <1> not aligned: ", ("numpy.matmul",), ranks=2),
)
