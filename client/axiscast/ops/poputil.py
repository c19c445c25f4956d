"""Poplar's poputil: NumPy's rule for one, two or three tensors, and its parts.

`expandToMatchRanks` does the ranks alone and compares no size. `broadcastToMatch` does the whole.
`canBroadcastToMatch` asks only; the release tests a * b < a + b in its place, which a size 0 or an overflow passes.
"""

from typing import Literal, Self

from pydantic import Field

from ..plan.alignment import (
    Alignment,
    Axis,
    Conflict,
    Output,
    Term,
    align_right,
    align_to_shape,
    are_integers,
    changed,
)
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..plan.resolution import resolve
from ..wire.dimensions import Dimensions
from .base import Op
from .framework import CPP, Framework

FRAMEWORK = Framework(
    order=40,
    reference=("poplibs", "3.0.0"),
    language=CPP,
    preamble="#include <poputil/Broadcast.hpp>\n",
    transpose="poplar::Tensor {y} = {x}.dimShuffle({permutation});",
    reshape="poplar::Tensor {y} = {x}.reshape({shape});",
)
_LINK = "https://docs.graphcore.ai/projects/poplar-api/en/latest/poplibs/poputil/Broadcast.html"


class expandToMatchRanks(Op):
    """Insert singleton axes on the left of the tensor of lower rank; no size is compared."""

    name: Literal["poputil.expandToMatchRanks"] = "poputil.expandToMatchRanks"
    min_inputs = 2
    max_inputs = 2
    outputs = "2"
    replicates = False
    link = _LINK
    snippets = ("poplar::Tensor {y0} = {x0}, {y1} = {x1};\npoputil::expandToMatchRanks({y0}, {y1});",)

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """Both outputs have the larger rank; the axes that an input lacks have size 1."""
        rank = max(map(len, shapes))
        axes: list[Axis] = []
        outputs = []
        for number, shape in enumerate(shapes):
            new = rank - len(shape)
            outputs.append(Output(number, tuple(range(new, rank)), range(len(axes), len(axes) + rank)))
            axes += [Axis(Relation.EQUAL, (Term(None, None, 1),)) for _ in range(new)]
            axes += [Axis(Relation.EQUAL, (Term(number, axis, size),)) for axis, size in enumerate(shape)]
        return Alignment(shapes, None, tuple(axes), tuple(outputs))

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        return cls()

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(), ((2, 3), (4, 2, 3))


class broadcastToMatch(Op):
    """Broadcast one tensor to `shape`, or two or three tensors to match one another."""

    name: Literal["poputil.broadcastToMatch"] = "poputil.broadcastToMatch"
    max_inputs = 3
    outputs = "as many as inputs"
    target = "shape"
    link = _LINK
    snippets = (
        "poplar::Tensor {y} = {x};\npoputil::broadcastToMatch({y}, {shape});",
        "poplar::Tensor {y0} = {x0}, {y1} = {x1}, {y2} = {x2};\npoputil::broadcastToMatch({y0}, {y1}, {y2});",
        "poplar::Tensor {y0} = {x0}, {y1} = {x1};\npoputil::broadcastToMatch({y0}, {y1});",
        "poplar::Tensor {y} = {x};  // one tensor matches itself",
    )
    shape: Dimensions | None = Field(
        default=None, description="The shape to match: with one input only.", examples=[[2, 3]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        if self.shape is None:
            return align_right(shapes)
        return align_to_shape(shapes[0], tuple(self.shape), "shape", self.name)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """With `shape` for one input, without for two or three."""
        return cls(shape=plan.outputs[0].output_shape if len(plan.input_shapes) == 1 else None)

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(), ((3, 1), (4,))

    def input_count_problem(self, count: int) -> str | None:
        if count == 1 and self.shape is None:
            return "poputil.broadcastToMatch with one input needs the attribute shape"
        if count in (2, 3) and self.shape is not None:
            return f"poputil.broadcastToMatch takes shape with one input only, not with {count}: leave shape out"
        return super().input_count_problem(count)


class canBroadcastToMatch(Op):
    """Whether broadcastToMatch would match these two tensors. For `check` only: it has no outputs."""

    name: Literal["poputil.canBroadcastToMatch"] = "poputil.canBroadcastToMatch"
    min_inputs = 2
    max_inputs = 2
    outputs = "none"
    link = _LINK

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """The rule of broadcastToMatch, without outputs. An axis that the release refuses too is blamed first."""
        alignment = changed(align_right(shapes), outputs=())
        refused = tuple(Axis(Relation.BROADCAST, ()) if _passes(axis) else axis for axis in alignment.axes)
        resolve(changed(alignment, axes=refused))
        return alignment

    @classmethod
    def example(cls) -> tuple[Self, tuple[Shape, ...]]:
        return cls(), ((3, 1), (4,))

    def compares_sizes(self) -> bool:
        return True

    def known_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict | None) -> str | None:
        if conflict and all(map(_passes, align_right(shapes).axes)):
            return (
                "poplibs answers true here: it tests a * b < a + b, which a size 0 or an overflow passes; "
                "its broadcastToMatch throws. The documented rule is answered."
            )
        return None


def _passes(axis: Axis) -> bool:
    """The release's own test of two sizes: a * b < a + b in 64 bits, which a 0, or a product that wraps, passes."""
    sizes = [term.size for term in axis.terms]
    if len(sizes) == 1 or not are_integers(*sizes) or sizes[0] == sizes[1]:
        return True
    return sizes[0] * sizes[1] % 2**64 < sum(sizes) % 2**64
