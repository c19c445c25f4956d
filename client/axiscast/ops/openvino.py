"""OpenVINO: Broadcast in versions 1 and 3, and Add. An attribute of each op selects the broadcasting rule.

The attribute `mode` of Broadcast has these values:

    numpy          the input is right-aligned and expands to `target_shape`; both versions
    explicit       input axis `i` maps to output axis `axes_mapping[i]`, in ascending order; both versions
    pdpd           the input begins at output axis `axis`, and both shapes expand; version 1
    bidirectional  the input and `target_shape` are right-aligned, and both expand; version 3

The attribute `auto_broadcast` of Add selects numpy, pdpd, or none, which needs equal shapes.
"""

from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ..plan.alignment import (
    Alignment,
    Axis,
    Conflict,
    Input,
    ShapeMismatch,
    Target,
    Term,
    align_axes,
    align_mapped,
    align_right,
    align_second_to_first,
    align_to_target,
    check_ascending,
    check_entries,
    check_equal_ranks,
    check_mapping,
    check_rank,
    check_sizes,
)
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..wire.dimensions import Dimensions
from ..wire.shapes import Integer, Integers
from .aliases import aliases
from .base import Op
from .error_messages import ErrorMessage
from .families import COPIES, Elementwise, Tile
from .framework import Framework

FRAMEWORK = Framework(
    order=50,
    reference=("openvino", "2026.4.1"),
    preamble="import numpy as np\nfrom openvino import op, opset1, opset3\n",
    transpose="{y} = opset1.transpose({x}, op.Constant(np.array({permutation}, np.int64)))",
    reshape="{y} = opset1.reshape({x}, op.Constant(np.array({shape}, np.int64)), special_zero=False)",
    calls={"openvino": "{y} = opset1.{snake}({arguments})"},
    new_axis="",
    size=None,
    executed="OpenVINO 2026.4.1",
)
_SPECS = "https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs"
_LINK = f"{_SPECS}/movement"


def _snippets(opset: str) -> tuple[str, ...]:
    return (
        f"{{y}} = {opset}.broadcast(\n"
        "    {x}, op.Constant(np.array({target_shape}, np.int64)), np.array({axes_mapping}, np.int64), "
        '"EXPLICIT"\n)',
        f"{{y}} = {opset}.broadcast({{x}}, op.Constant(np.array({{target_shape}}, np.int64)))",
    )


def _unused(field: str, owner: str, mode: str) -> PydanticCustomError:
    """Return the validation error for an attribute that is given but that the mode does not use."""
    facts = {"field": field, "owner": owner, "mode": mode}
    return PydanticCustomError("attribute_unused", "is valid only with {owner}, not with {mode}: omit it", facts)


class _Broadcast(Op):
    """The base class of both versions, which have the modes numpy, explicit and bidirectional."""

    target = "target_shape"
    named_axes = {"axes_mapping": None}
    mode: str
    target_shape: Dimensions = Field(description="The shape of the output.", examples=[[1, 16, 50, 50]])
    axes_mapping: Integers | None = Field(
        default=None,
        description="Only for explicit mode: `axes_mapping[i]` is the output axis of input axis `i`, in ascending "
        "order.",
        examples=[[1]],
        json_schema_extra={"modes": ["explicit"]},
    )

    @model_validator(mode="after")
    def _mapping_suits_the_mode(self) -> Self:
        if self.mode == "explicit" and self.axes_mapping is None:
            raise PydanticCustomError(
                "attribute_needed", "is required in explicit mode: write for example [1]", {"field": "axes_mapping"}
            )
        if self.mode != "explicit" and self.axes_mapping is not None:
            raise _unused("axes_mapping", "explicit mode", self.mode)
        return self

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """Align the input with `target_shape` by the rule that `mode` selects."""
        (shape,), target = shapes, tuple(self.target_shape)
        if self.mode == "explicit":
            return _explicit(shape, target, tuple(self.axes_mapping or ()))
        if self.mode == "numpy":
            check_rank(shape, target)
        check_sizes(target, "target_shape")
        return align_to_target(shape, target) if self.mode == "numpy" else align_right(shapes, target)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Return an op in `numpy` mode if the input is right-aligned. Otherwise, return an op in `explicit` mode."""
        target, axes = plan.outputs[0].output_shape, plan.outputs[0].output_axes
        if axes == tuple(range(len(target) - len(axes), len(target))):
            return cls.model_validate({"mode": "numpy", "target_shape": target})
        return cls.model_validate({"mode": "explicit", "target_shape": target, "axes_mapping": axes})

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        """Return a sentence that describes how the CPU plugin fails to run a valid broadcast, or None if it runs."""
        (shape,) = shapes
        inferred = "OpenVINO 2026.4 infers this shape, but its CPU plugin"
        if 0 in shape:
            return f"{inferred} crashes, hangs or fails on an input with a size 0."
        if shape == () == tuple(self.target_shape) and self.mode in ("numpy", "bidirectional"):
            return f"{inferred} crashes on a scalar that is broadcast to the shape of a scalar."
        pairs = zip(reversed(shape), reversed(self.target_shape), strict=False)
        if self.mode == "bidirectional" and (1, 0) in pairs:
            return f"{inferred} returns size 1 if a size of the input is 1 and the size of a constant target is 0."
        return None

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        """Return a warning if shape inference may accept a target or a mapping that the rule refuses."""
        if conflict.code == "axis-repeated":
            return "OpenVINO 2026.4 may accept a repeated axes_mapping in shape inference; the values are undefined."
        if conflict.code == "rank-mismatch" and self.mode == "pdpd":
            return "OpenVINO 2026.4 may accept this in shape inference, and fail when it runs."
        if min(self.target_shape, default=0) < 0:
            return (
                "OpenVINO 2026.4 may accept a negative size in a constant target: it reads -1 as a dynamic dimension, "
                "and other negative sizes as 0."
            )
        return None


class Broadcast1(_Broadcast, name="openvino.Broadcast-1"):
    """Broadcast to `target_shape`: right-aligned (numpy), by mapped axes (explicit) or starting at `axis` (pdpd)."""

    link = f"{_LINK}/broadcast-1.html"
    snippets = _snippets("opset1")
    example_attributes = {"mode": "explicit", "target_shape": (1, 16, 50, 50), "axes_mapping": (1,)}
    example_shapes = ((16,),)
    mode: Literal["numpy", "explicit", "pdpd"] = Field(
        default="numpy", description="The alignment rule. The default is numpy.", examples=["explicit"]
    )
    axis: Integer | None = Field(
        default=None,
        description="Only for pdpd mode: the output axis of input axis 0. The default is 0. -1 means right-aligned.",
        json_schema_extra={"modes": ["pdpd"]},
    )

    @model_validator(mode="after")
    def _axis_suits_the_mode(self) -> Self:
        if self.axis is not None and self.mode != "pdpd":
            raise _unused("axis", "pdpd mode", self.mode)
        return self

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        if self.mode == "pdpd":
            return _pdpd(shapes[0], tuple(self.target_shape), self.axis or 0)
        return super().align(shapes)


class Broadcast3(_Broadcast, name="openvino.Broadcast-3"):
    """Broadcast to `target_shape`: right-aligned (numpy), by mapped axes (explicit) or two-sided (bidirectional)."""

    link = f"{_LINK}/broadcast-3.html"
    snippets = _snippets("opset3")
    example_attributes = {"mode": "bidirectional", "target_shape": (2, 1)}
    example_shapes = ((1, 3),)
    mode: Literal["numpy", "explicit", "bidirectional"] = Field(
        default="numpy", description="The alignment rule. The default is numpy.", examples=["explicit"]
    )


class Tile1(Tile, name="openvino.Tile-1"):
    """Repeat a tensor along its axes. The shorter of `repeats` and the tensor's shape gets leading entries of 1."""

    counts = "repeats"
    link = f"{_LINK}/tile-1.html"
    snippets = ("{y} = opset1.tile({x}, op.Constant(np.array({repeats}, np.int64)))",)
    repeats: Dimensions = Field(description=COPIES, examples=[[2, 1]])

    @classmethod
    def from_plan(cls, plan: Plan) -> Self | None:
        op = super().from_plan(plan)
        return op if op is not None and op.repeats else None  # the release does not compute a Tile without repeats

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        is_negative = conflict.code == "invalid-dimension" and min(self.repeats) < 0
        return "OpenVINO 2026.4 reads a negative number of copies as 0." if is_negative else None

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        if not self.repeats and 0 not in shapes[0]:
            return "OpenVINO 2026.4 may return undefined values if repeats is empty."
        return None


class Add1(Elementwise, name="openvino.Add-1"):
    """Broadcast both tensors (numpy), only the second tensor, starting at `axis` (pdpd), or neither (none).

    Every binary operation with the attribute `auto_broadcast` has this rule.
    """

    named_axes = {"axis": 0}
    link = f"{_SPECS}/arithmetic/add-1.html"
    example_attributes = {"auto_broadcast": "pdpd", "axis": 1}
    example_shapes = ((2, 64, 7, 7), (64,))
    auto_broadcast: Literal["numpy", "none", "pdpd"] = Field(
        default="numpy", description="The alignment rule. The default is numpy.", examples=["pdpd"]
    )
    axis: Integer | None = Field(
        default=None,
        description="Only for pdpd: the axis of input 0 at which input 1 begins. The default is 0, and -1 aligns "
        "right.",
    )

    @model_validator(mode="after")
    def _axis_suits(self) -> Self:
        if self.axis is not None and self.auto_broadcast != "pdpd":
            raise _unused("axis", "auto_broadcast pdpd", self.auto_broadcast)
        return self

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        one, other = shapes
        if self.auto_broadcast == "numpy":
            return align_right(shapes)
        if self.auto_broadcast == "none":
            check_equal_ranks(Input(0, one), Input(1, other), "auto_broadcast='none' requires equal shapes.")
            every = range(len(one))
            return align_axes(shapes, Relation.EQUAL, (every, every), len(one))
        _check_axis(self.axis or 0)
        start = self._start(shapes)
        if start < 0 or start + len(other) > len(one):
            raise ShapeMismatch("rank-mismatch", "not-inside", Input(1, other), start, Input(0, one))
        return align_second_to_first(shapes, start)

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        if (0, 1) in self._overlaid(shapes):
            return (
                "OpenVINO 2026.4 refuses this, because its pdpd mode does not expand a size 1 of input 1 to a size 0."
            )
        return None

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        start, pairs = self._start(shapes), self._overlaid(shapes)
        is_inside = 0 <= start <= len(shapes[0]) - len(shapes[1])
        taken = (own in (have, 1) and (have, own) != (0, 1) for have, own in pairs if (have, own) != (1, 0))
        if self.auto_broadcast == "pdpd" and is_inside and all(taken):
            return "OpenVINO 2026.4 accepts this: its pdpd mode combines a size 0 of input 1 with a size 1 of input 0."
        return None

    def _overlaid(self, shapes: tuple[Shape, ...]) -> list[tuple[int, int]]:
        """Return the (size of input 0, size of input 1) pairs that the pdpd mode compares, or [] in other modes."""
        one, other = shapes
        return (
            list(zip(one[max(self._start(shapes), 0) :], other, strict=False)) if self.auto_broadcast == "pdpd" else []
        )

    def _start(self, shapes: tuple[Shape, ...]) -> int:
        """Return the axis of input 0 at which the pdpd mode places axis 0 of input 1."""
        return len(shapes[0]) - len(shapes[1]) if self.axis == -1 else self.axis or 0


def _explicit(shape: Shape, target: Shape, mapping: tuple[int, ...]) -> Alignment:
    """Align input axis `i` with output axis `mapping[i]`, in ascending order. A scalar may name one axis of size 1."""
    if shape or len(mapping) != 1:
        check_entries(mapping, Input(0, shape), "axes_mapping")
    check_mapping(mapping, target, "axes_mapping")
    check_ascending(mapping, "axes_mapping")
    check_sizes(target, "target_shape")
    if shape == () and mapping:
        # The release requires the mapped axis of a scalar to have size 1, and then ignores this axis.
        placed = align_mapped(((),), target, (), Relation.EQUAL)
        one = Axis(Relation.EQUAL, (Term(0, None, 1), Term(None, mapping[0], target[mapping[0]])))
        axes = (*placed.axes[: mapping[0]], one, *placed.axes[mapping[0] + 1 :])
        return Alignment(placed.input_shapes, target, axes, placed.outputs)
    return align_mapped((shape,), target, mapping, Relation.BROADCAST_TO)


def _check_axis(axis: int) -> None:
    if axis < -1:
        raise ShapeMismatch("axis-out-of-range", "below-right-aligned", "axis", axis)


def _pdpd(shape: Shape, target: Shape, axis: int) -> Alignment:
    """Align the input with the target's axes from `axis` on. Both expand. If `axis` is -1, align them on the right."""
    rank = len(target)
    _check_axis(axis)
    start = rank - len(shape) if axis == -1 else axis
    axes = tuple(range(max(start, 0), min(start + len(shape), rank)))
    placed = align_mapped((shape,), target, axes, Relation.BROADCAST)
    if start < 0 or start + len(shape) != rank:
        needed = max(rank - max(start, 0), 0)
        refusal = ShapeMismatch("rank-mismatch", "not-at-end", Input(0, shape), start, Target(target), needed, "axis")
        # The release compares the sizes on shared axes before it reports the missing axes.
        return replace(placed, axes=placed.axes if start >= 0 else (), outputs=(), refusal=refusal)
    check_sizes(target, "target_shape")
    return placed


ALIASES = aliases(
    Add1,
    """Subtract-1 Multiply-1 Divide-1 Maximum-1 Minimum-1 Power-1 Mod-1 FloorMod-1 SquaredDifference-1 Equal-1
    NotEqual-1 Greater-1 GreaterEqual-1 Less-1 LessEqual-1 LogicalAnd-1 LogicalOr-1 LogicalXor-1 BitwiseAnd-13
    BitwiseOr-13 BitwiseXor-13 BitwiseLeftShift-15 BitwiseRightShift-15""",
    "openvino",
)

_NODE = "While validating node '<...>::<node> <...> (<:>) -> (<...> with friendly_name '<...>"
MESSAGES = """
    openvino.{node}-1 | <where>Argument shapes are inconsistent.
    | Input shape dimension equal <#> cannot be broadcasted (numpy mode) to <#>.
        # A Broadcast in numpy mode failed.
    | Broadcast incorrect target shape. Expecting either 1 or <#>. Got <#>
        # A Broadcast in bidirectional mode failed.
    | Broadcast target[axes_mapping[<...>]] Expected <#>. Got <#>
        # A Broadcast in explicit mode failed.
    | Broadcast target_shape has smaller rank <...> than arg shape
        # Broadcast can't remove axes: its input has more axes than the target shape.
    openvino.{node}-1 | [CPU] <node> node with name '<...>' <...>Eltwise shape infer input shapes dim index:
    | <where>Incompatible MatMul <...> dimension
        # A MatMul failed: its matrices, or its stacks of matrices, do not fit each other.
""".replace("<where>", _NODE)
NODE_MESSAGES = (
    ErrorMessage(
        "Check 'TRShape::merge_into(output_shape, input_shapes[1])' failed at <...>: "
        + _NODE
        + "Argument shapes are inconsistent.",
        ("openvino.{node}-1",),
        attributes={"auto_broadcast": "none"},
    ),
)
