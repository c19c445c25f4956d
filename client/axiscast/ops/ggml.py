"""ggml, the library of llama.cpp: operations that repeat one tensor to the shape of another tensor.

Shapes are written as ggml writes `ne`: axis 0 is the innermost. A tensor has four axes, and axes that are left out have
size 1. Each size of the larger tensor must be a multiple of the size of the repeated tensor. `repeat` repeats `a` to
the shape of `b`. Binary operations such as `add` repeat `b` to the shape of `a`.
"""

from typing import Any, ClassVar

from ..plan.alignment import Alignment, Conflict, Output, replace_fields
from ..plan.plan import Shape
from ..plan.tiling import align_tiles
from .aliases import aliases
from .base import Op
from .families import Elementwise
from .framework import CPP, Framework

FRAMEWORK = Framework(
    order=170,
    reference=("ggml", "0.13.1"),
    link="https://github.com/ggml-org/ggml/blob/master/include/ggml.h",
    max_rank=4,
    language=CPP,
)


def _empty_deviation(op: Op, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
    if conflict.code == "size-mismatch" and 0 in shapes[0] and 0 in shapes[1]:
        return "ggml 0.13 accepts two empty tensors of any shapes."
    return None


class repeat(Op, name="ggml.repeat"):
    """Repeat `a` (input 0) to the shape of `b` (input 1). Each size of `b` must be a multiple of the size of `a`."""

    min_inputs = 2
    max_inputs = 2
    example_shapes = ((2, 3), (4, 3, 2))
    refused_deviation: ClassVar[Any] = _empty_deviation

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_tiles(shapes, 0, 1)


class add(Elementwise, name="ggml.add"):
    """Repeat `b` (input 1) to the shape of `a` (input 0). Each size of `a` must be a multiple of the size of `b`."""

    example_shapes = ((8, 5, 2), (4, 1, 2))
    refused_deviation: ClassVar[Any] = _empty_deviation

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        tiled = align_tiles(shapes, 1, 0)
        (repeated,) = tiled.outputs
        own = tuple(range(len(shapes[0])))
        return replace_fields(tiled, outputs=(Output(0, own, range(max(map(len, shapes)))), repeated))


ALIASES = aliases(add, "sub mul div", "ggml")
