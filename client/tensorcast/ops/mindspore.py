"""MindSpore: NumPy's one-way rule, in which -1 keeps the input's size. A -1 may not stand on a new axis."""

from typing import Literal

from ..plan.alignment import Conflict, unchecked_sizes
from ..plan.plan import Shape
from .families import Elementwise, UnidirectionalKeeping
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=30,
    reference=("mindspore", "2.10.0"),
    language=PYTHON,
    head="from mindspore import ops\n",
    transpose="{y} = ops.transpose({x}, {permutation})",
    reshape="{y} = ops.reshape({x}, {shape})",
    executed="MindSpore 2.10.0",
)


class broadcast_to(UnidirectionalKeeping):
    """Broadcast a tensor to a shape in which -1 keeps the input's size; -1 may not stand for a new axis."""

    name: Literal["mindspore.broadcast_to"] = "mindspore.broadcast_to"
    link = "https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.broadcast_to.html"
    snippets = ("{y} = ops.broadcast_to({x}, {shape})",)

    def release_difference(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        sizes = unchecked_sizes(shapes[0], tuple(self.shape))
        if 0 in sizes and min(sizes) < -1 and -1 not in sizes:
            return (
                "MindSpore 2.10 does not check sizes below -1, and beside a 0 makes a tensor of negative shape. "
                "They are refused here."
            )
        return None


class add(Elementwise):
    """Broadcast two tensors against each other, as every operation of two operands does."""

    name: Literal["mindspore.add"] = "mindspore.add"
    link = "https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.add.html"
