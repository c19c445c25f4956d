"""PyTorch: expand with a one-way rule, in which -1 keeps the input's size, and broadcast_tensors with NumPy's rule.

`tile` and `repeat` repeat a tensor along its axes. `repeat` needs a number of copies for each axis of the tensor.
"""

from typing import Any, ClassVar

from pydantic import Field

from ..plan.alignment import Alignment, Conflict, Input, ShapeMismatch, align_keeping, unchecked_sizes
from ..plan.plan import Shape
from ..wire.dimensions import Dimensions
from .aliases import BITWISE, FLOAT_FUNCTIONS, LOGICAL, ORDERINGS, SHIFTS, SHORT_COMPARISONS, aliases, same_names
from .base import Op, declare
from .einsum import Einsum
from .equation import Dialect
from .families import (
    COPIES,
    CommonShape,
    Elementwise,
    MatrixProduct,
    Multidirectional,
    Tile,
    UnidirectionalLike,
    takes_negative_copies,
)
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


class _Expand(Op):
    """Broadcast a tensor to a size, in which -1 keeps the input's size. The size of a new axis must not be -1."""

    target = "size"
    plan_fields = {"size": "output_shape"}
    example_shapes = ((4,),)
    size: Dimensions = Field(description="The size of the output. -1 keeps the input's size.", examples=[[3, -1]])

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_keeping(shapes[0], tuple(self.size), "size")

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        if conflict.code == "invalid-dimension" and 0 in unchecked_sizes(shapes[0], tuple(self.size)):
            return "PyTorch 2.13 may return a tensor with a negative size here, because another size is 0."
        return None


_LINK = "https://pytorch.org/docs/stable/generated/torch.Tensor"
expand = declare(_Expand, "torch.expand", "{y} = {x}.expand({size})", link=f"{_LINK}.expand.html")
_AS = "{y} = {x0}.expand_as({x1})"
expand_as = declare(UnidirectionalLike, "torch.expand_as", _AS, link=f"{_LINK}.expand_as.html")
broadcast_to = declare(_Expand, "torch.broadcast_to", "{y} = torch.broadcast_to({x}, {size})")
broadcast_tensors = declare(Multidirectional, "torch.broadcast_tensors", "[{ys}] = torch.broadcast_tensors({xs})")
broadcast_shapes = declare(CommonShape, "torch.broadcast_shapes")
add = declare(Elementwise, "torch.add", link="https://pytorch.org/docs/stable/notes/broadcasting.html")
matmul = declare(MatrixProduct, "torch.matmul")


class einsum(Einsum, name="torch.einsum"):
    """Combine axes that have the same letter. Size 1 expands, and axes whose letter is not in the output are summed."""

    max_rank = 64
    dialect = Dialect(splits_symbols=False)


class masked_fill(Elementwise, name="torch.masked_fill"):
    """Broadcast a tensor and a mask against each other. The value (input 2, optional) must be a scalar."""

    max_inputs = 3
    link = f"{_LINK}.masked_fill.html"

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        for value in shapes[2:]:
            if value:
                raise ShapeMismatch("rank-mismatch", "not-scalar", Input(2, value), "torch.where")
        return super().align(shapes)


_takes_negative_copies = takes_negative_copies("PyTorch 2.13")


class tile(Tile, name="torch.tile"):
    counts = "dims"
    snippets = ("{y} = torch.tile({x}, {dims})",)
    refused_deviation: ClassVar[Any] = _takes_negative_copies
    dims: Dimensions = Field(description=COPIES, examples=[[2, 1]])


class repeat(Tile, name="torch.repeat"):
    """Repeat a tensor along its axes. `repeats` needs an entry for each axis, and further entries add leading axes."""

    counts = "repeats"
    link = f"{_LINK}.repeat.html"
    snippets = ("{y} = {x}.repeat({repeats})",)
    takes_fewer_counts = False
    refused_deviation: ClassVar[Any] = _takes_negative_copies
    repeats: Dimensions = Field(
        description="The number of copies along each axis. Additional entries at the front add leading axes.",
        examples=[[2, 1]],
    )


_OPERATIONS = f"""sub mul div {SHORT_COMPARISONS} subtract multiply divide maximum minimum {ORDERINGS} {LOGICAL}
    {BITWISE} {SHIFTS} atan2 {FLOAT_FUNCTIONS} true_divide floor_divide remainder pow float_power max min xlogy gcd lcm
    igamma igammac heaviside isclose"""
_TERNARY = "where clamp clip lerp addcmul addcdiv"
ALIASES = {
    **aliases(add, _OPERATIONS, "torch", "torch.Tensor"),
    **aliases(add, "rsub complex polar", "torch"),
    **aliases(add, "xlogy xlog1py zeta gammainc gammaincc", "torch.special"),
    **aliases(broadcast_tensors, _TERNARY, "torch", "torch.Tensor", inputs=3, outputs="1"),
    **same_names("torch.linalg", matmul),
    **same_names("torch.Tensor", add, masked_fill, matmul, expand, expand_as, broadcast_to, tile, repeat),
}

MESSAGES = """
    torch.einsum | einsum(): subscript <...> has size <#1> for operand <...> which does not broadcast with
        previously seen size <#0>
        # An einsum failed: the same letter has different sizes.
    | The size of tensor a (<#0>) must match the size of tensor b (<#1>) at non-singleton dimension <@>
    torch.expand | The expanded size of the tensor (<...>) must match the existing size (<...>) at non-singleton
        dimension <...>. Target sizes: <=size>. Tensor sizes: <0>
    torch.expand | expand(torch.<...>{<0>}, size=<=size>): the number of sizes provided
    torch.expand | output with shape <=size> doesn't match the broadcast shape <0>
        # An in-place operation can't change the shape of its target. Reshape or reduce the other operand first. If
        the target should become larger, write `a = a + b`.
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
