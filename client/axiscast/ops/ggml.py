"""ggml, the library of llama.cpp: operations that repeat one tensor to the shape of another tensor.

Shapes are written as ggml writes `ne`: axis 0 is the innermost. A tensor has four axes, and axes that are left out have
size 1. Each size of the larger tensor must be a multiple of the size of the repeated tensor. `repeat` repeats `a` to
the shape of `b`. Binary operations such as `add` repeat `b` to the shape of `a`.
"""

from typing import ClassVar, Self

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
    preamble="",
    transpose="",
    reshape="",
)


def _deviation(repeated: Shape, whole: Shape, conflict: Conflict | None) -> str | None:
    if conflict and conflict.code == "size-mismatch" and 0 in repeated and 0 in whole:
        return "ggml 0.13 accepts two empty tensors of any shapes."
    return None


class repeat(Op, name="ggml.repeat"):
    """Repeat `a` (input 0) to the shape of `b` (input 1). Each size of `b` must be a multiple of the size of `a`."""

    min_inputs: ClassVar[int] = 2
    max_inputs: ClassVar[int | None] = 2

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_tiles(shapes, 0, 1)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(), ((2, 3), (4, 3, 2))

    def known_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        return _deviation(shapes[0], shapes[1], conflict)


class add(Elementwise, name="ggml.add"):
    """Repeat `b` (input 1) to the shape of `a` (input 0). Each size of `a` must be a multiple of the size of `b`."""

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        tiled = align_tiles(shapes, 1, 0)
        (repeated,) = tiled.outputs
        own = tuple(range(len(shapes[0])))
        return replace_fields(tiled, outputs=(Output(0, own, range(max(map(len, shapes)))), repeated))

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(), ((8, 5, 2), (4, 1, 2))

    def known_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        return _deviation(shapes[1], shapes[0], conflict)


ALIASES = aliases(add, "sub mul div", "ggml")
