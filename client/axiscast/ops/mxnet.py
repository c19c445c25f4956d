"""MXNet: operations that expand named axes of size 1, and operations that follow NumPy's rules.

`broadcast_axis` expands its axes to given sizes, and `broadcast_like` expands its axes to another input's sizes. If no
axes are given, `broadcast_like` expands `lhs` to the shape of `rhs`, which must have the same rank. Neither operation
adds an axis. `broadcast_to` does not add an axis either, and a 0 in its shape keeps the input's size.
`mx.np.broadcast_to` follows NumPy's rule, and -2 keeps the input's size. Binary operations follow NumPy's rule.
"""

from collections.abc import Sequence
from itertools import chain, groupby, zip_longest
from typing import Any, ClassVar, Self

from pydantic import Field

from ..plan.alignment import (
    Alignment,
    Axis,
    Input,
    Output,
    ShapeMismatch,
    Target,
    Term,
    align_keeping,
    align_mapped,
    check_equal_ranks,
    check_sizes,
)
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..plan.resolution import resolve
from ..wire.dimensions import DimensionOrDimensions
from ..wire.shapes import IntegerOrIntegers, as_list
from .aliases import BITWISE, LOGICAL, aliases, same_names
from .base import Op, declare
from .families import Choice, Elementwise, LenientUnidirectional, TileOfReps, takes_negative_copies
from .framework import Framework

FRAMEWORK = Framework(
    order=120,
    reference=("mxnet", "1.9.1"),
    link="https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/legacy/ndarray/op/index.html#mxnet.ndarray.op.{function}",
    preamble="import mxnet as mx\n",
    transpose="{y} = mx.nd.transpose({x}, axes={permutation})",
    reshape="{y} = mx.nd.reshape({x}, shape={shape})",
    empty_preamble="mx.util.set_np_shape(True)  # else () is an unknown shape, and 0 an unknown size\n",
    empty_reshape="{y} = {x}.as_np_ndarray().reshape({shape}).as_nd_ndarray()  # mx.nd.reshape copies a size for 0",
    calls={"mxnet": "{y} = mx.nd.{function}({arguments})"},
    executed="MXNet 1.9.1",
)
_MAX_RUNS = 5


def _kernel_deviation(one: Shape, other: Shape) -> str | None:
    """Return a warning if the CPU kernel may not support the axes of two shapes. Otherwise, return None.

    The kernel merges adjacent axes on which the same shape expands.
    """
    rank = max(len(one), len(other))
    pairs = zip(*((1,) * (rank - len(shape)) + shape for shape in (one, other)), strict=True)
    runs = [sign for sign, _ in groupby((have > want) - (have < want) for have, want in pairs)]
    if len(runs) <= _MAX_RUNS:
        return None
    return "MXNet 1.9.1 may fail or return undefined values here: its CPU kernel may not support these axes."


def _expansion_deviation(op: Op, shapes: tuple[Shape, ...]) -> str | None:
    """Return a warning if this release may fail to expand input 0, or None. The shapes must broadcast."""
    reached = resolve(op.align(shapes)).outputs[0].output_shape
    if 0 in reached and reached != shapes[0]:
        return "MXNet 1.9.1 may fail here, because the output has a size 0."
    return _kernel_deviation(shapes[0], reached)


def _operands_deviation(shapes: tuple[Shape, ...]) -> str | None:
    is_empty = any(0 in shape for shape in shapes)  # MXNet runs no kernel for empty arrays
    return None if is_empty else _kernel_deviation(*shapes)


def _expanded(shapes: tuple[Shape, ...], terms: list[list[Term]]) -> Alignment:
    """Return the alignment in which each axis of input 0 expands from size 1 to the sizes in its other terms."""
    axes = tuple(Axis(Relation.FROM_ONE, tuple(meeting)) for meeting in terms)
    every = tuple(range(len(axes)))
    return Alignment(shapes, None, axes, (Output(0, every, every),))


def _check_counts(one: object, other: object, name: str, other_name: str) -> None:
    first, second = as_list(one), as_list(other)
    if len(first) != len(second):
        raise ShapeMismatch("axes-count", "unequal-counts", name, first, other_name, second)


def _outside(attribute: str, axes: Sequence[int], axis: int, number: int, shape: Shape) -> ShapeMismatch:
    return ShapeMismatch("axis-out-of-range", "outside", attribute, axes, axis, Input(number, shape))


class broadcast_axis(Op, name="mxnet.broadcast_axis"):
    """Expand the named axes, which must have size 1, to the given sizes."""

    named_axes = {"axis": 0}
    snippets = ("{y} = mx.nd.broadcast_axis({x}, axis={axis}, size={size})",)
    example_attributes = {"axis": (0, 2), "size": (2, 4)}
    example_shapes = ((1, 3, 1),)
    axis: IntegerOrIntegers = Field(
        default=(),
        description="The axis or the axes to expand, which must not be negative. By default, no axis is expanded.",
        examples=[[0, 2]],
    )
    size: DimensionOrDimensions = Field(
        default=(), description="The size of each axis, in the same order.", examples=[[2, 4]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """Align each named axis with its size. Only size 1 expands, so a repeated axis cannot expand twice."""
        (shape,) = shapes
        axes, sizes = as_list(self.axis), tuple(as_list(self.size))
        _check_counts(axes, sizes, "axis", "size")
        for axis in axes:
            if not 0 <= axis < len(shape):
                raise _outside("axis", axes, axis, 0, shape)
        check_sizes(sizes, "size")
        terms = [[Term(0, axis, size)] for axis, size in enumerate(shape)]
        for position, (axis, size) in enumerate(zip(axes, sizes, strict=True)):
            terms[axis].append(Term(None, position, size))
        return _expanded(shapes, terms)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Return the op with the axes that expand, and the new sizes of these axes."""
        output = plan.outputs[0]
        axes = output.broadcast_axes
        return cls(axis=axes, size=[output.output_shape[axis] for axis in axes])

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        has_own_kernel = len(as_list(self.axis)) == 1
        return None if has_own_kernel else _expansion_deviation(self, shapes)


class broadcast_like(Op, name="mxnet.broadcast_like"):
    """Expand `lhs` to the shape of `rhs`, or expand only the axes `lhs_axes` to the sizes of the axes `rhs_axes`."""

    min_inputs = 2
    max_inputs = 2
    selects_shape_axes = True
    named_axes = {"lhs_axes": 0, "rhs_axes": 1}
    snippets = (
        "{y} = mx.nd.broadcast_like({x0}, {x1}, lhs_axes={lhs_axes}, rhs_axes={rhs_axes})",
        "{y} = mx.nd.broadcast_like({x0}, {x1})",
    )
    example_attributes = {"lhs_axes": (0,), "rhs_axes": (-1,)}
    example_shapes = ((1, 2, 3), (5, 6, 7))
    lhs_axes: IntegerOrIntegers | None = Field(
        default=None, description="Axes of `lhs` to expand, each of size 1. Ignored without rhs_axes.", examples=[[0]]
    )
    rhs_axes: IntegerOrIntegers | None = Field(
        default=None, description="Axes of `rhs` with the new sizes. Ignored without lhs_axes.", examples=[[1]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """Align `lhs_axes` with `rhs_axes`.

        If one of these attributes is missing, align all axes of `lhs` with those of `rhs`.
        """
        lhs, rhs = shapes
        if self.lhs_axes is None or self.rhs_axes is None:
            check_equal_ranks(Input(0, lhs), Input(1, rhs), "Set lhs_axes and rhs_axes, or reshape one input first.")
            return align_mapped(shapes, rhs, tuple(range(len(lhs))), Relation.BROADCAST_TO, shape_source=1)
        lhs_axes, rhs_axes = as_list(self.lhs_axes), as_list(self.rhs_axes)
        _check_counts(lhs_axes, rhs_axes, "lhs_axes", "rhs_axes")
        if not lhs_axes:
            raise ShapeMismatch("axes-count", "no-axes", "lhs_axes", "rhs_axes")
        terms = [[Term(0, axis, size)] for axis, size in enumerate(lhs)]
        for one, other in zip(lhs_axes, rhs_axes, strict=True):
            if not -len(lhs) <= one < len(lhs):
                raise _outside("lhs_axes", lhs_axes, one, 0, lhs)
            if not -len(rhs) <= other < len(rhs):
                raise _outside("rhs_axes", rhs_axes, other, 1, rhs)
            axis = other % len(rhs)
            terms[one % len(lhs)][1:] = [Term(1, axis, rhs[axis])]  # the last entry for an axis is used
        return _expanded(shapes, terms)

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Return the op without axes if the output has the shape of `rhs`.

        Otherwise, the op names the axes of size 1 in `lhs`. For each axis, it also names an axis of `rhs` that has the
        new size.
        """
        output, (lhs, rhs) = plan.outputs[0], plan.input_shapes
        if output.output_shape == rhs:
            return cls()
        sizes = enumerate(zip(lhs, output.output_shape, strict=False))
        pairs = [(axis, rhs.index(size)) for axis, (own, size) in sizes if own == 1 and size in rhs]
        return cls(lhs_axes=[one for one, _ in pairs], rhs_axes=[other for _, other in pairs])

    accepted_deviation: ClassVar[Any] = _expansion_deviation


class broadcast_to(Op, name="mxnet.broadcast_to"):
    """Broadcast an array to a shape of the same rank, in which 0 keeps the input's size."""

    target = "shape"
    plan_fields = {"shape": "output_shape"}
    snippets = ("{y} = mx.nd.broadcast_to({x}, shape={shape})",)
    example_shapes = ((2, 1),)
    shape: IntegerOrIntegers = Field(  # no symbolic sizes: if one is 0, MXNet keeps the input's size
        description="The shape of the output. 0 keeps the input's size.", examples=[[0, 3]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        (shape,), target = shapes, tuple(as_list(self.shape))
        check_equal_ranks(Input(0, shape), Target(target), "Reshape the input first.")
        return align_keeping(shape, target, "shape", keep=0)

    accepted_deviation: ClassVar[Any] = _expansion_deviation


class np_broadcast_to(LenientUnidirectional, name="mxnet.np.broadcast_to"):
    """Broadcast an array to a shape, in which -2 keeps the input's size. The size of a new axis must not be -2."""

    link = "https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/np/generated/mxnet.np.broadcast_to.html"
    snippets = ("{y} = mx.np.broadcast_to({x}.as_np_ndarray(), {shape}).as_nd_ndarray()",)
    example_attributes = {"shape": (4, -2, 3)}
    example_shapes = ((2, 1),)
    shape: DimensionOrDimensions = Field(
        description="The shape of the output. -2 keeps the input's size.", examples=[[-2, 3]]
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return align_keeping(shapes[0], tuple(as_list(self.shape)), "shape", keep=-2)

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        is_empty = 0 in shapes[0] or 0 in as_list(self.shape)  # MXNet runs no kernel for empty tensors
        return None if is_empty else _expansion_deviation(self, shapes)


class tile(TileOfReps, name="mxnet.tile"):
    snippets = ("{y} = mx.nd.tile({x}, reps={reps})",)
    refused_deviation: ClassVar[Any] = takes_negative_copies("MXNet 1.9.1")

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        counts = tuple(as_list(self.reps))
        if 0 in shapes[0] or 0 in counts:  # MXNet runs no kernel for empty arrays
            return None
        rank = self.limited_rank(shapes)
        own, copies = ((1,) * (rank - len(sizes)) + sizes for sizes in (shapes[0], counts))
        repeated = chain.from_iterable(zip(copies, own, strict=True))
        return _kernel_deviation(tuple(chain.from_iterable((1, size) for size in own)), tuple(repeated))


broadcast_add = declare(Elementwise, "mxnet.broadcast_add", accepted_deviation=staticmethod(_operands_deviation))


class np_where(Choice, name="mxnet.np.where"):
    link = "https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/np/generated/mxnet.np.where.html"

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        if _expands_to_0(shapes):
            return (
                "MXNet 1.9.1 ends the process, fails, or returns a different shape, because an input is expanded to "
                "a size 0."
            )
        if max(map(len, shapes)) > _MAX_RUNS:
            return f"MXNet 1.9.1 fails when it runs this: its CPU kernel for `where` accepts at most {_MAX_RUNS} axes."
        return None


def _expands_to_0(shapes: tuple[Shape, ...]) -> bool:
    """Return whether an input expands to size 0. In this case, another input has size 0 on the axis."""
    axes = zip_longest(*map(reversed, shapes), fillvalue=1)
    return any(0 in sizes and set(sizes) != {0} for sizes in axes)


_BROADCASTS = """broadcast_plus broadcast_sub broadcast_minus broadcast_mul broadcast_div broadcast_mod broadcast_power
    broadcast_maximum broadcast_minimum broadcast_hypot broadcast_equal broadcast_not_equal broadcast_greater
    broadcast_greater_equal broadcast_lesser broadcast_lesser_equal broadcast_logical_and broadcast_logical_or
    broadcast_logical_xor"""
_OPERATIONS = "add subtract multiply divide true_divide power maximum minimum equal not_equal greater greater_equal"
ALIASES = {
    **aliases(broadcast_add, _BROADCASTS, "mxnet", "mxnet.nd"),
    **aliases(broadcast_add, f"{_OPERATIONS} {LOGICAL} broadcast_add modulo lesser lesser_equal", "mxnet.nd"),
    **aliases(
        broadcast_add,
        f"{_OPERATIONS} {BITWISE} mod remainder arctan2 hypot copysign ldexp lcm less less_equal",
        "mxnet.np",
    ),
    **same_names("mxnet.nd", broadcast_axis, tile, broadcast_like, broadcast_to),
    **same_names("mxnet.np", tile),
}

MESSAGES = """
    mxnet.broadcast_add | Check failed: l == 1 || r == 1: operands could not be broadcast together with shapes <*>
    mxnet.broadcast_to | Array cannot be broadcasted from <0> to <=shape>
    mxnet.broadcast_to | Operand of shape <0> cannot be broadcasted to <=shape>
    mxnet.np.broadcast_to | : shape <0> is not broadcastable to <=shape>
    mxnet.np.where | (s3 == 1 && s1 == s2): Operands could not be broadcast together.
    | Broadcasting axis must have size 1
        # mxnet.broadcast_axis expands only axes of size 1, but a named axis has another size.
"""
