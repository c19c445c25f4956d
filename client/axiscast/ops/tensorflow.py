"""TensorFlow: NumPy's one-way rule for a target shape, and NumPy's two-way rule for two tensors or shapes.

The CPU kernels accept at most 5 axes. Before axes are counted, adjacent axes that are broadcast in the same way are
merged.
"""

import re
from collections.abc import Sequence
from itertools import groupby, permutations
from math import prod
from typing import ClassVar

from pydantic import Field, StrictBool

from ..plan.alignment import Conflict
from ..plan.plan import Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from .aliases import BITWISE, ORDERINGS, aliases
from .base import declare
from .einsum import Einsum, without_leading_zeros
from .equation import ELLIPSIS, Dialect, OutputEllipsis
from .error_messages import ErrorMessage
from .families import Choice, CommonShape, Elementwise, MatrixProduct, Tile, Unidirectional
from .framework import Framework, NamedSize


def _sized(code: str, sizes: Sequence[NamedSize]) -> str:
    """Return code that reads the named sizes with tf.shape. A TensorShape can't hold such a size, but a tuple can."""
    for size in sizes:
        read = size.name if size.tensor is None else f"tf.shape({size.tensor})[{size.axis}]"
        code = re.sub(rf"\b{size.number}\b", read, code)
    return re.sub(r"tf\.TensorShape\((\(.*tf\.shape.*\))\)\)$", r"\1)", code, flags=re.MULTILINE)


FRAMEWORK = Framework(
    order=80,
    reference=("tensorflow", "2.21.0"),
    link="https://www.tensorflow.org/api_docs/python/tf/{function}",
    preamble="import tensorflow as tf\n",
    transpose="{y} = tf.transpose({x}, {permutation})",
    reshape="{y} = tf.reshape({x}, {shape})",
    new_axis="tf.newaxis",
    has_array_methods=False,
    calls={
        "tensorflow": "{y} = tf.{function}({arguments})",
        "tensorflow.math": "{y} = tf.math.{function}({arguments})",
        "tensorflow.bitwise": "{y} = tf.bitwise.{function}({arguments})",
    },
    size=_sized,
    executed="TensorFlow 2.21.0",
)
_MAX_AXES = 5
_MAX_CHOICE_RANK = 8
_MAX_PRODUCT_RANK = 12
_MAX_DIAGONAL_RANK = 6
_BLOCK_ROWS = 16


def missing_product(shapes: tuple[Shape, ...], is_transposed: bool = False) -> str | None:
    """Return a sentence if TensorFlow's CPU kernel refuses or may misread matrices of these shapes, or None.

    `is_transposed` says whether the kernel transposes the left matrices.
    """
    left, right = shapes
    if max(map(len, shapes)) > _MAX_PRODUCT_RANK:
        return f"TensorFlow 2.21 fails when it runs this: a product has at most {_MAX_PRODUCT_RANK} axes on a CPU."
    return None if is_transposed else misread_stack(left[:-2], right[:-2], left[-2])


def misread_stack(left: Shape, right: Shape, rows: int) -> str | None:
    """Return a sentence if TensorFlow's CPU kernel may read beyond the left stack of matrices. Otherwise, return None.

    `left` and `right` are the shapes of the stacks, and `rows` is the number of rows of each matrix on the left. The
    kernel for CPUs with AVX-512 has this error, in blocks of 16 rows.
    """
    if len(left) != 2 or not left[0] > left[1] == 1 or {*right} > {1} or rows < 2 or left[0] * rows <= _BLOCK_ROWS:
        return None
    return "TensorFlow 2.21 may crash or return wrong elements here: its CPU kernel misreads a stack of shape (n, 1)."


def missing_choice(shapes: tuple[Shape, ...]) -> str | None:
    """Return a sentence if TensorFlow's CPU kernel for `where` does not accept tensors of these shapes, or None."""
    if max(map(len, shapes)) <= _MAX_CHOICE_RANK or any(0 in shape for shape in shapes):
        return None
    return (
        f"TensorFlow 2.21 fails when it runs this: its CPU kernel for `where` accepts at most {_MAX_CHOICE_RANK} axes."
    )


def missing_kernel(shapes: tuple[Shape, ...]) -> str | None:
    """Return a sentence if TensorFlow's CPU kernels do not accept tensors of these shapes. Otherwise, return None.

    The shapes must broadcast. The kernels merge adjacent axes on which the same tensors have size 1. They omit axes on
    which all tensors have size 1. The kernels do not run if the result has no elements.
    """
    rank = max(map(len, shapes))
    if rank <= _MAX_AXES or any(0 in shape for shape in shapes):
        return None
    aligned = ((1,) * (rank - len(shape)) + shape for shape in shapes)
    singletons = (tuple(size == 1 for size in sizes) for sizes in zip(*aligned, strict=True))
    runs = sum(1 for _ in groupby(ones for ones in singletons if not all(ones)))
    if runs <= _MAX_AXES:
        return None
    return (
        f"TensorFlow 2.21 fails when it runs this: its CPU kernel takes at most {_MAX_AXES} axes, after it merges "
        f"neighbouring axes that are broadcast in the same way."
    )


class broadcast_to(Unidirectional, name="tensorflow.broadcast_to"):
    snippets = ("{y} = tf.broadcast_to({x}, tf.TensorShape({shape}))",)

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        return missing_kernel((*shapes, tuple(self.shape)))


class broadcast_static_shape(CommonShape, name="tensorflow.broadcast_static_shape"):
    """Broadcast two shapes against each other."""

    min_inputs = 2
    max_inputs = 2


_LINK = "https://www.tensorflow.org/api_docs/python/tf"
add = declare(Elementwise, "tensorflow.add", link=f"{_LINK}/math/add", accepted_deviation=staticmethod(missing_kernel))


class matmul(MatrixProduct, name="tensorflow.matmul"):
    """Broadcast two stacks of matrices, then multiply them. Vectors are not accepted."""

    min_rank: ClassVar[int] = 2
    transposes = ("transpose_a", "transpose_b")
    link = f"{_LINK}/linalg/matmul"
    transpose_a: StrictBool = Field(
        default=False, description="Whether input 0 is transposed: its shape is then (..., K, M)."
    )
    transpose_b: StrictBool = Field(
        default=False, description="Whether input 1 is transposed: its shape is then (..., N, K)."
    )

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        return missing_product(shapes, self.transpose_a)


class einsum(Einsum, name="tensorflow.einsum"):
    """Combine axes that have the same letter, whose sizes must be equal. Only the axes of an ellipsis expand.

    TensorFlow does not sum the axes of an ellipsis. If several operands have an ellipsis, write the output explicitly.
    """

    relation = Relation.EQUAL
    dialect = Dialect(implies_shared_ellipsis=False)
    output_ellipsis = OutputEllipsis.FOR_AXES

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        operands, _, result = self.equation.partition("->")
        if len(shapes) > 2 and ELLIPSIS in result and ELLIPSIS not in operands:
            return "TensorFlow 2.21 fails when it runs this: none of three or more operands has the ... of the output."
        if any(_MAX_DIAGONAL_RANK < len({*labels}) < len(labels) for labels in self.axis_labels(shapes).own):
            return f"TensorFlow 2.21 fails when it runs this: a diagonal has at most {_MAX_DIAGONAL_RANK} axes."
        return self._misread_stack(shapes)

    def _misread_stack(self, shapes: tuple[Shape, ...]) -> str | None:
        """Return the sentence of `misread_stack` for two operands, or if any two of more operands need it."""
        names = self.axis_labels(shapes)
        sizes = [dict(zip(labels, shape, strict=True)) for labels, shape in zip(names.own, shapes, strict=True)]
        unnamed = [label for label in names.result if label.startswith(ELLIPSIS)]
        named = {*names.result}.difference(unnamed)
        for left, right in [*permutations(sizes, 2)][: 1 if len(shapes) == 2 else None]:
            stack = unnamed + [label for label in left if label in named and label in right]
            rows = prod(size for label, size in left.items() if label in named and label not in right)
            left_stack, right_stack = (tuple(own.get(label, 1) for label in stack) for own in (left, right))
            if sentence := misread_stack(left_stack, right_stack, rows):
                return sentence
        return None

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        terms = self.equation.partition("->")[0].split(",")
        if self.equation.endswith("\n") or any(term.count(ELLIPSIS) > 1 for term in terms):
            return (
                "TensorFlow 2.21 may accept this equation, or end the process: it does not check for a line break at "
                "the end, and a second '...' in an operand."
            )
        is_pairwise = len(shapes) > 2  # in an order of its own
        if self.fits_with(shapes, *(_skipped, _nonzero) if is_pairwise else (None, without_leading_zeros)):
            return "TensorFlow 2.21 may accept this: it does not compare a size 0 with the other sizes of its letter."
        return None


def _skipped(sizes: Shape) -> Shape:
    """Return the sizes on a diagonal. If the first size is 0, the other sizes are not compared."""
    return sizes if sizes[0] else (0,) * len(sizes)


def _nonzero(sizes: Shape) -> Shape:
    known = next(filter(None, sizes), 0)
    return tuple(size or known for size in sizes)


where = declare(Choice, "tensorflow.where", accepted_deviation=staticmethod(missing_choice))


class tile(Tile, name="tensorflow.tile"):
    """Repeat a tensor along its axes. `multiples` has an entry for each axis."""

    counts = "multiples"
    takes_fewer_counts = False
    adds_axes = False
    snippets = ("{y} = tf.tile({x}, tf.constant({multiples}, tf.int64))",)
    multiples: Dimensions = Field(description="The number of copies along each axis.", examples=[[2, 1]])


_OPERATIONS = f"subtract multiply divide maximum minimum equal {ORDERINGS} truediv pow logical_and logical_or atan2"
ALIASES = {
    **aliases(add, _OPERATIONS, "tensorflow", "tensorflow.math"),
    **aliases(add, "complex truncatediv truncatemod realdiv", "tensorflow"),
    **aliases(
        add,
        """add floordiv floormod mod logical_xor divide_no_nan multiply_no_nan squared_difference xdivy xlogy xlog1py
        nextafter zeta igamma igammac polygamma""",
        "tensorflow.math",
    ),
    **aliases(add, f"{BITWISE} left_shift right_shift", "tensorflow.bitwise"),
    **aliases(matmul, "matmul", "tensorflow.linalg"),
}

_KERNELS = """AddV2 Add Sub Mul Div RealDiv FloorDiv TruncateDiv Pow Maximum Minimum Equal NotEqual Less LessEqual
    Greater GreaterEqual LogicalAnd LogicalOr Atan2 FloorMod Mod TruncateMod DivNoNan MulNoNan SquaredDifference Xdivy
    Xlogy Xlog1py BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift NextAfter Zeta Igamma Igammac Polygamma
    Complex"""
_NODES = dict.fromkeys(_KERNELS.split(), "tensorflow.add") | {"SelectV2": "tensorflow.where"}
_GRAPH = "Dimensions must be equal, but are <...> and <...> for '{{node <...>}} = "
MESSAGES = """
    tensorflow.einsum | Expected dimension <#> at axis <...> of the input shaped <...> but got dimension <#>
        [Op:Einsum]
        # An einsum failed: the same letter has different sizes.
    tensorflow.broadcast_to | Incompatible shapes: <0> vs. <=shape> [Op:BroadcastTo]
    tensorflow.add | Incompatible shapes: <0> vs. <1>
    tensorflow.where | condition <0>, then <1>, and else <2> must be broadcastable
    tensorflow.broadcast_static_shape | Incompatible shapes for broadcasting. Two shapes are compatible if for each
        dimension pair they are either equal or one of them is 1. Received: <0> and <1>
    tensorflow.matmul | Matrix size-incompatible: In[0]: <0>, In[1]: <1>
        # The message does not say whether the call transposes an operand. This explanation assumes that it does
        not.
    tensorflow.matmul | In[0] mismatch In[1] shape: <...>: <0> <1> 0 0
    tensorflow.add | logits and labels must be broadcastable: logits_size=<0> labels_size=<1>
    tensorflow.add | required broadcastable shapes
        # The operands of a TensorFlow op do not broadcast.
    tensorflow.matmul | In[0] and In[1] must have compatible batch dimensions: <0> vs. <1>
    tensorflow.broadcast_to | Cannot broadcast input shape <0> into final shape <=shape>
    tensorflow.broadcast_to | <graph>BroadcastTo[<...>](<...>)' with input shapes: <0>, <...> and with input
        tensors computed as partial shapes: input[1] = <=shape>
    tensorflow.matmul | <graph>MatMul[<...>transpose_a=<?transpose_a>, transpose_b=<?transpose_b><...>](<...>)' with
        input shapes: <*>
    tensorflow.matmul | <graph>BatchMatMulV2[<...>adj_x=<?transpose_a>, adj_y=<?transpose_b><...>](<...>)' with input
        shapes: <*>
    | Rank of input (<...>) must be no greater than rank of output shape (
        # tensorflow.broadcast_to can't remove axes: the tensor has more axes than the requested shape.
""".replace("<graph>", _GRAPH)
NODE_MESSAGES = (ErrorMessage(_GRAPH + "<node>[<...>](<...>)' with input shapes: <*>", nodes=_NODES),)
