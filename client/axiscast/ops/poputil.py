"""Poplar's poputil: NumPy's rule for one, two or three tensors, and functions that apply parts of this rule.

`expandToMatchRanks` makes the ranks equal and does not compare sizes. `broadcastToMatch` applies the whole rule.
`canBroadcastToMatch` checks the rule. However, the release tests whether a * b < a + b, which is also true for a size 0
or an overflow.
"""

from typing import Self

from pydantic import Field

from ..plan.alignment import (
    Alignment,
    Axis,
    Conflict,
    Output,
    Term,
    align_right,
    align_to_checked_target,
    are_integers,
    replace_fields,
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
    link="https://docs.graphcore.ai/projects/poplar-api/en/latest/poplibs/poputil/Broadcast.html",
    language=CPP,
    preamble="#include <poputil/Broadcast.hpp>\n",
    transpose="poplar::Tensor {y} = {x}.dimShuffle({permutation});",
    reshape="poplar::Tensor {y} = {x}.reshape({shape});",
    size="{x}.dim({axis})",
)


class expandToMatchRanks(Op, name="poputil.expandToMatchRanks"):
    """Insert leading axes of size 1 into the tensor that has fewer axes. Sizes are not compared."""

    min_inputs = 2
    max_inputs = 2
    outputs = "2"
    replicates = False
    plan_fields = {}
    snippets = ("poplar::Tensor {y0} = {x0}, {y1} = {x1};\npoputil::expandToMatchRanks({y0}, {y1});",)
    example_shapes = ((2, 3), (4, 2, 3))

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """Return an alignment that compares no sizes. Both outputs have the larger rank, and new axes have size 1."""
        rank = max(map(len, shapes))
        axes: list[Axis] = []
        outputs = []
        for number, shape in enumerate(shapes):
            new = rank - len(shape)
            outputs.append(Output(number, tuple(range(new, rank)), range(len(axes), len(axes) + rank)))
            axes += [Axis(Relation.EQUAL, (Term(None, None, 1),)) for _ in range(new)]
            axes += [Axis(Relation.EQUAL, (Term(number, axis, size),)) for axis, size in enumerate(shape)]
        return Alignment(shapes, None, tuple(axes), tuple(outputs))


class broadcastToMatch(Op, name="poputil.broadcastToMatch"):
    """Broadcast one tensor to `shape`, or two or three tensors to match each other."""

    max_inputs = 3
    outputs = "as many as inputs"
    target = "shape"
    snippets = (
        "poplar::Tensor {y} = {x};\npoputil::broadcastToMatch({y}, {shape});",
        "poplar::Tensor {y0} = {x0}, {y1} = {x1}, {y2} = {x2};\npoputil::broadcastToMatch({y0}, {y1}, {y2});",
        "poplar::Tensor {y0} = {x0}, {y1} = {x1};\npoputil::broadcastToMatch({y0}, {y1});",
        "poplar::Tensor {y} = {x};  // one tensor matches itself",
    )
    example_shapes = ((3, 1), (4,))
    shape: Dimensions | None = Field(
        default=None, description="The shape to match, for one input only.", examples=[[2, 3]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        if self.shape is None:
            return align_right(shapes)
        return align_to_checked_target(shapes[0], tuple(self.shape), "shape")

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Return the op with `shape` for one input, and without `shape` for two or three inputs."""
        return cls(shape=plan.outputs[0].output_shape if len(plan.input_shapes) == 1 else None)

    def input_count_problem(self, count: int) -> str | None:
        if count == 1 and self.shape is None:
            return "poputil.broadcastToMatch with one input needs the attribute shape"
        if count in (2, 3) and self.shape is not None:
            return f"poputil.broadcastToMatch accepts shape only with one input, not with {count}: omit shape"
        return super().input_count_problem(count)


class canBroadcastToMatch(Op, name="poputil.canBroadcastToMatch"):
    """Check whether broadcastToMatch would match two tensors. This op has no outputs, so only `check` supports it."""

    min_inputs = 2
    max_inputs = 2
    outputs = "none"
    example_shapes = ((3, 1), (4,))

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """Align the inputs as broadcastToMatch does. A conflict names an axis that the release also refuses."""
        alignment = replace_fields(align_right(shapes), outputs=())
        refused = tuple(Axis(Relation.BROADCAST, ()) if _passes(axis) else axis for axis in alignment.axes)
        resolve(replace_fields(alignment, axes=refused))
        return alignment

    def compares_sizes(self) -> bool:
        return True

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        if all(map(_passes, align_right(shapes).axes)):
            return (
                "poplibs returns true here, because it tests a * b < a + b, which is true for a size 0 or an "
                "overflow. Its broadcastToMatch throws. This result follows the documented rule."
            )
        return None


def _passes(axis: Axis) -> bool:
    """Return whether two sizes pass the release's test, which computes a * b < a + b in 64 bits."""
    sizes = [term.size for term in axis.terms]
    if len(sizes) == 1 or not are_integers(*sizes) or sizes[0] == sizes[1]:
        return True
    return sizes[0] * sizes[1] % 2**64 < sum(sizes) % 2**64
