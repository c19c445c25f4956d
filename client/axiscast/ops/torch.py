"""PyTorch: expand with a one-way rule, in which -1 keeps the input's size, and broadcast_tensors with NumPy's rule.

`tile` and `repeat` repeat a tensor along its axes. `repeat` needs a number of copies for each axis of the tensor.
"""

import operator
from collections.abc import Sequence
from itertools import accumulate
from typing import Self

from pydantic import Field

from ..plan.alignment import Alignment, Conflict, Input, ShapeMismatch, align_keeping, unchecked_sizes
from ..plan.plan import Plan, Shape
from ..wire.dimensions import Dimensions
from .aliases import aliases
from .base import Op
from .einsum import Einsum
from .equation import Dialect
from .error_messages import error_messages
from .families import COPIES, Elementwise, LenientTile, MatrixProduct, Multidirectional, UnidirectionalLike
from .framework import Framework

FRAMEWORK = Framework(
    order=70,
    reference=("torch", "2.13.0"),
    link="https://pytorch.org/docs/stable/generated/{name}.html",
    preamble="import torch\n",
    transpose="{y} = {x}.permute({permutation})",
    reshape="{y} = {x}.reshape({shape})",
    calls={"torch": "{y} = torch.{function}({arguments})"},
    executed="PyTorch 2.13.0",
)


def is_unchecked(sizes: Sequence[int]) -> bool:
    """Return whether PyTorch accepts these sizes even if some of them are negative.

    PyTorch accepts the sizes if their product is 0 and does not overflow before it becomes 0.
    """
    elements = list(accumulate((size % 2**64 for size in sizes), operator.mul))
    return bool(elements[-1] == 0 and max(elements) < 2**64)


class _Expand(Op):
    """The base class that expand and broadcast_to share. These ops differ only in their names."""

    target = "size"
    example_attributes = {"size": (3, -1)}
    example_shapes = ((4,),)
    size: Dimensions = Field(description="The size of the output. -1 keeps the input's size.", examples=[[3, -1]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_keeping(shapes[0], tuple(self.size), "size")

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        return cls.model_validate({"size": plan.outputs[0].output_shape})

    def known_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        (shape,) = shapes
        sizes = unchecked_sizes(shape, tuple(self.size))
        is_checked = bool(shape) and -1 in sizes  # PyTorch refuses -1 on a new axis
        if min(sizes, default=0) < 0 and not is_checked and is_unchecked(sizes):
            return (
                "PyTorch 2.13 does not check this negative size. If another size is 0, it returns a tensor with a "
                "negative size."
            )
        return None


class expand(_Expand, name="torch.expand"):
    """Broadcast a tensor to a size, in which -1 keeps the input's size. The size of a new axis must not be -1."""

    link = "https://pytorch.org/docs/stable/generated/torch.Tensor.expand.html"
    snippets = ("{y} = {x}.expand({size})",)


class expand_as(UnidirectionalLike, name="torch.expand_as"):
    """Broadcast a tensor to the size of another tensor."""

    link = "https://pytorch.org/docs/stable/generated/torch.Tensor.expand_as.html"
    snippets = ("{y} = {x0}.expand_as({x1})",)


class broadcast_to(_Expand, name="torch.broadcast_to"):
    """Broadcast a tensor to a shape, as expand does."""

    snippets = ("{y} = torch.broadcast_to({x}, {size})",)


class broadcast_tensors(Multidirectional, name="torch.broadcast_tensors"):
    """Broadcast any number of tensors against each other. Shapes are right-aligned, and size 1 expands."""

    snippets = ("[{ys}] = torch.broadcast_tensors({xs})",)


class broadcast_shapes(Multidirectional, name="torch.broadcast_shapes"):
    """Broadcast any number of shapes against each other, as broadcast_tensors broadcasts tensors of these shapes."""

    outputs = "1"


class add(Elementwise, name="torch.add"):
    """Broadcast two tensors against each other, as every pointwise operation does before it computes."""

    link = "https://pytorch.org/docs/stable/notes/broadcasting.html"


class matmul(MatrixProduct, name="torch.matmul"):
    """Broadcast two stacks of matrices, then multiply them. A vector is a row on the left and a column on the right."""


class einsum(Einsum, name="torch.einsum"):
    """Combine axes that have the same letter. Size 1 expands, and axes whose letter is not in the output are summed."""

    max_rank = 64
    dialect = Dialect(splits_symbols=False)


class masked_fill(Elementwise, name="torch.masked_fill"):
    """Broadcast a tensor and a mask against each other. The value (input 2, optional) must be a scalar."""

    max_inputs = 3
    link = "https://pytorch.org/docs/stable/generated/torch.Tensor.masked_fill.html"

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        if any(shapes[2:]):
            raise ShapeMismatch(
                "rank-mismatch",
                Input(2, shapes[2]),
                " is the value that torch.masked_fill writes, which must be a scalar. Use torch.where to choose from a "
                "tensor.",
            )
        return super().align(shapes)


class tile(LenientTile, name="torch.tile"):
    """Repeat a tensor along its axes. The shorter of `dims` and the tensor's shape gets leading entries of 1."""

    counts = "dims"
    snippets = ("{y} = torch.tile({x}, {dims})",)
    release = "PyTorch 2.13"
    dims: Dimensions = Field(description=COPIES, examples=[[2, 1]])


class repeat(LenientTile, name="torch.repeat"):
    """Repeat a tensor along its axes. `repeats` needs an entry for each axis, and further entries add leading axes."""

    counts = "repeats"
    link = "https://pytorch.org/docs/stable/generated/torch.Tensor.repeat.html"
    snippets = ("{y} = {x}.repeat({repeats})",)
    takes_fewer_counts = False
    release = "PyTorch 2.13"
    repeats: Dimensions = Field(
        description="The number of copies along each axis. Additional entries at the front add leading axes.",
        examples=[[2, 1]],
    )


_OPERATIONS = """sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow float_power maximum
    minimum max min fmax fmin atan2 arctan2 hypot copysign ldexp xlogy logaddexp logaddexp2 nextafter gcd lcm igamma
    igammac heaviside eq ne not_equal lt less le less_equal gt greater ge greater_equal logical_and logical_or
    logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift isclose"""
_TERNARY = "where clamp clip lerp addcmul addcdiv"
ALIASES = {
    **aliases(add, _OPERATIONS, "torch", "torch.Tensor"),
    **aliases(add, "add", "torch.Tensor"),
    **aliases(add, "rsub complex polar", "torch"),
    **aliases(add, "xlogy xlog1py zeta gammainc gammaincc", "torch.special"),
    **aliases(broadcast_tensors, _TERNARY, "torch", "torch.Tensor", inputs=3, outputs="1"),
    **aliases(masked_fill, "masked_fill", "torch.Tensor"),
    **aliases(matmul, "matmul", "torch.Tensor", "torch.linalg"),
    **aliases(expand, "expand", "torch.Tensor"),
    **aliases(expand_as, "expand_as", "torch.Tensor"),
    **aliases(broadcast_to, "broadcast_to", "torch.Tensor"),
    **aliases(tile, "tile", "torch.Tensor"),
    **aliases(repeat, "repeat", "torch.Tensor"),
}

MESSAGES = error_messages(
    """
    torch.einsum | einsum(): subscript <...> has size <#1> for operand <...> which does not broadcast with
        previously seen size <#0>
        # An einsum failed: the same letter has different sizes.
    | The size of tensor a (<#0>) must match the size of tensor b (<#1>) at non-singleton dimension <@>
    torch.expand | The expanded size of the tensor (<...>) must match the existing size (<...>) at non-singleton
        dimension <...>. Target sizes: <=size>. Tensor sizes: <0>
    torch.expand | expand(torch.<...>{<0>}, size=<=size>): the number of sizes provided
    torch.expand | output with shape <=size> doesn't match the broadcast shape <0>
        # An operation in place can't change the shape of its target. Write it out of place, as in `a = a + b`, or
        reduce the other operand first.
    torch.expand | value tensor of shape <0> cannot be broadcast to indexing result of shape <=size>
    torch.broadcast_tensors | indexing tensors could not be broadcast together with shapes <*>
        # The index tensors are broadcast against each other before they select elements.
    torch.broadcast_tensors | Attempting to broadcast a dimension of length <...> at <...>! Mismatching argument at
        index <...> had <1>; but expected shape should be broadcastable to <0>
    torch.broadcast_tensors | Using a target size (<1>) that is different to the input size (<0>). This will likely
        lead to incorrect results
        # The loss broadcasts its input and target against each other, which is rarely what you want.
    torch.matmul | shapes cannot be multiplied (<0x> and <1x>)
    torch.matmul | a and b must have same reduction dim, but got <0> X <1>
    torch.broadcast_tensors | Value is not broadcastable with batch_shape+event_shape: <0> vs <1>
    torch.matmul | multi_dot(): tensors <...> with shapes <0> and <1> cannot be multiplied
    torch.matmul | size mismatch, got input (<...>), mat (<0x>), vec (<1x>)
    """
)
