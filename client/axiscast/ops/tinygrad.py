"""tinygrad: expand, in which -1 keeps the input's size, and operations that follow NumPy's rules.

The shorter of expand's two shapes gets leading axes of size 1. Therefore, a target may have fewer axes than the input.
The input's additional axes must then have size 1, and are kept. On a new axis, the size -1 means 1.
"""

from ..plan.alignment import Alignment, Conflict, align_padding, unchecked_sizes
from ..plan.plan import Shape
from ..wire.shapes import as_list
from .aliases import BITWISE, aliases, same_names
from .base import declare
from .families import Choice, Elementwise, LenientUnidirectionalKeeping, MatrixProduct
from .framework import Framework

FRAMEWORK = Framework(
    order=170,
    reference=("tinygrad", "0.14.0"),
    link="https://docs.tinygrad.org/tensor/elementwise/#tinygrad.Tensor.{function}",
    preamble="from tinygrad import Tensor\n",
    transpose="{y} = {x}.permute({permutation})",
    reshape="{y} = {x}.reshape({shape})",
    has_array_methods=False,
    calls={"tinygrad": "{y} = Tensor.{function}({arguments})"},
    executed="tinygrad 0.14.0",
)
_LINK = "https://docs.tinygrad.org/tensor"


class expand(LenientUnidirectionalKeeping, name="tinygrad.expand"):
    """Broadcast a tensor to a shape, in which -1 keeps the input's size, or means 1 for a new axis."""

    link = f"{_LINK}/movement/#tinygrad.Tensor.expand"
    snippets = ("{y} = {x}.expand({shape})",)

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_padding(shapes[0], tuple(as_list(self.shape)), "shape")

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        shape, sizes = shapes[0], tuple(as_list(self.shape))
        rank = max(len(shape), len(sizes))
        padded = (1,) * (rank - len(shape)) + shape
        target = (1,) * (rank - len(sizes)) + sizes
        if min(unchecked_sizes(padded, target), default=0) < 0:
            return "tinygrad 0.14 checks a size below -1 only when it computes. Until then, the tensor has this shape."
        return None


add = declare(Elementwise, "tinygrad.add")
where = declare(Choice, "tinygrad.where")
matmul = declare(MatrixProduct, "tinygrad.matmul", link=f"{_LINK}/ops/#tinygrad.Tensor.matmul")

ALIASES = {
    **aliases(
        add,
        f"sub mul div pow maximum minimum eq ne {BITWISE} lshift rshift mod fmod copysign logaddexp isclose",
        "tinygrad",
        "tinygrad.Tensor",
    ),
    **aliases(where, "lerp clamp clip masked_fill", "tinygrad", "tinygrad.Tensor"),
    **aliases(matmul, "dot", "tinygrad", "tinygrad.Tensor"),
    **same_names("tinygrad.Tensor", add, where, matmul, expand),
}

MESSAGES = """
    tinygrad.add, tinygrad.where | objects cannot be broadcast to a single shape (<*>)
    tinygrad.expand | cannot broadcast <0> to new_shape=<=shape>
    tinygrad.matmul | cannot dot <0> and <1>
"""
