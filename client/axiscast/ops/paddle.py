"""PaddlePaddle: NumPy's one-way rule, in which -1 keeps the input's size, and NumPy's two-way rule.

If the shape is empty, expand returns its input unchanged. expand accepts at most 8 sizes, whatever the input's rank is.
broadcast_tensors accepts at most 6 axes. A Paddle tensor has at most 9 axes.
"""

from typing import Self

from pydantic import Field

from ..plan.alignment import Alignment, Conflict, ShapeMismatch, align_right, align_to_target
from ..plan.plan import Plan, Shape
from ..plan.relations import Relation
from ..plan.resolution import resolve, try_resolve
from ..wire.dimensions import DimensionOrDimensions
from ..wire.shapes import as_list
from .aliases import BITWISE, LOGICAL, SHIFTS, aliases, same_names
from .base import declare
from .einsum import Einsum
from .equation import ELLIPSIS, Dialect, OutputEllipsis, ParsedEquation
from .families import (
    COPIES,
    Choice,
    Elementwise,
    LenientUnidirectionalKeeping,
    MatrixProduct,
    Multidirectional,
    Tile,
    UnidirectionalLike,
)
from .framework import Framework

FRAMEWORK = Framework(
    order=110,
    reference=("paddlepaddle", "3.3.1"),
    link="https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/{function}_en.html",
    preamble="import paddle\n",
    transpose="{y} = paddle.transpose({x}, {permutation})",
    reshape="{y} = paddle.reshape({x}, {shape})",
    calls={"paddle": "{y} = paddle.{function}({arguments})"},
    executed="PaddlePaddle 3.3.1",
)
_MAX_EXPANDED_RANK = 7
MAX_RANK = 8
"""The maximum number of sizes in `shape` that Paddle accepts."""
_UNEXPANDED_STACKS = "Paddle 3.3 does not broadcast the stacks if a tensor is empty: it uses the stack with more axes."


class _Expand(LenientUnidirectionalKeeping):
    """Broadcast a tensor to a shape, in which -1 keeps the input's size. An empty shape keeps the tensor unchanged."""

    max_rank = MAX_RANK

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        return super().align(shapes) if self.shape else align_to_target(shapes[0], shapes[0])

    def limited_rank(self, shapes: tuple[Shape, ...]) -> int:
        return len(as_list(self.shape))

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Return the op with the output's shape. A shape that is too long becomes (), which keeps the input."""
        shape = plan.outputs[0].output_shape
        return cls.model_validate({"shape": shape if len(shape) <= MAX_RANK else ()})

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        (shape,), target = shapes, as_list(self.shape)
        new = len(target) - len(shape)
        if not 0 <= new <= MAX_RANK - len(shape) or min(target[:new], default=0) < 0:
            return None
        own = target[new:]
        fits = all(want < 0 or have in (1, want) for have, want in zip(shape, own, strict=True))
        if min(own, default=0) < -1 and fits:
            return (
                "On an axis of the input, Paddle 3.3 reads a target size below -1 as 0, regardless of the input's size."
            )
        return None


expand = declare(_Expand, "paddle.expand", "{y} = paddle.expand({x}, {shape})")
broadcast_to = declare(_Expand, "paddle.broadcast_to", "{y} = paddle.broadcast_to({x}, {shape})")


class expand_as(UnidirectionalLike, name="paddle.expand_as"):
    max_rank = MAX_RANK
    snippets = ("{y} = paddle.expand_as({x0}, {x1})",)

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        if conflict.code == "size-mismatch" and any(0 in shape for shape in shapes):
            return "Paddle 3.3 does not compare sizes if a tensor is empty, and returns the shape of the second tensor."
        return None


_EACH = "[{ys}] = paddle.broadcast_tensors([{xs}])"
broadcast_tensors = declare(Multidirectional, "paddle.broadcast_tensors", _EACH, max_rank=6)
add = declare(Elementwise, "paddle.add", max_rank=9)
where = declare(Choice, "paddle.where", max_rank=8)


class tile(Tile, name="paddle.tile"):
    """Repeat a tensor along its axes. The shorter of `repeat_times` and the shape gets leading entries of 1."""

    counts = "repeat_times"
    max_rank = 7
    snippets = ("{y} = paddle.tile({x}, {repeat_times})",)
    repeat_times: DimensionOrDimensions = Field(description=COPIES, examples=[[2, 1]])


class matmul(MatrixProduct, name="paddle.matmul"):
    max_rank = 9

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        left, right = shapes
        if len(left) == len(right) or not self._is_unchecked(shapes):
            return None
        longer = max(shapes, key=len)[:-2]
        common = resolve(align_right((left[:-2], right[:-2]))).outputs[0].shape
        return None if common == longer else _UNEXPANDED_STACKS

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        if not self._is_unchecked(shapes):
            return None
        if len(shapes[0]) == len(shapes[1]):
            return "Paddle 3.3 does not compare the stacks of matrices if a tensor is empty."
        return _UNEXPANDED_STACKS

    def _is_unchecked(self, shapes: tuple[Shape, ...]) -> bool:
        """Return whether Paddle multiplies empty operands without a check of their stacks of matrices."""
        left, right = shapes
        fits = left and right and left[-1] == right[-2:][0]
        return bool(fits) and 0 in (*left, *right) and max(len(left), len(right)) <= self.max_rank


class einsum(Einsum, name="paddle.einsum"):
    """Combine axes that have the same letter. Size 1 expands, and axes whose letter is not in the output are summed.

    Size 1 also expands to the other sizes of a diagonal. If a letter occurs twice in the output, the result is a
    diagonal tensor. A and a are the same letter. Paddle does not sum the axes of an ellipsis.
    """

    max_rank = 9
    diagonal = Relation.BROADCAST
    dialect = Dialect(ignores_case=True, repeats_output=True)
    output_ellipsis = OutputEllipsis.REQUIRED

    def accepted_deviation(self, shapes: tuple[Shape, ...]) -> str | None:
        own, wanted = self.axis_labels(shapes)[:2]
        operands = self.parsed().operands
        if any(ELLIPSIS in term and len(labels) > MAX_RANK for term, labels in zip(operands, wanted, strict=True)):
            return f"Paddle 3.3 fails when it runs this: an operand with ... has at most {MAX_RANK} axes."
        if len(shapes) > 2 and any(len(labels) < len(every) for labels, every in zip(own, wanted, strict=True)):
            return "Paddle 3.3 fails when it runs this: with three or more operands, each ... must have as many axes."
        is_empty = any(0 in shape for shape in shapes)  # for a pair of operands, the kernel then returns early
        if not is_empty and self._expands_many_axes(shapes):
            fails = f"Paddle 3.3 {'may fail' if len(shapes) > 2 else 'fails'} when it runs this"
            return f"{fails}: it expands operands of at most {_MAX_EXPANDED_RANK} axes."
        if (len(shapes) < 3 and is_empty) or all(len({*each}) == len({*each[: len({*each})]}) for each in wanted):
            return None
        fails = f"Paddle 3.3 {'may fail' if is_empty else 'fails'} when it runs this"
        return f"{fails}: in a term, each letter must occur once before one occurs twice."

    def _expands_many_axes(self, shapes: tuple[Shape, ...]) -> bool:
        """Return whether a size 1 expands in an operand with more axes than Paddle's kernel of Tile accepts."""
        names = self.axis_labels(shapes)
        sizes = [{*zip(labels, shape, strict=True)} for labels, shape in zip(names.own, shapes, strict=True)]
        expanded = {label for label, size in set().union(*sizes) if size != 1}
        for pairs, own, wanted in zip(sizes, names.own, names.wanted, strict=True):
            ones = {label for label, size in pairs if size == 1}.union({*wanted}.difference(own))
            if len(wanted) > _MAX_EXPANDED_RANK and ones & expanded:
                return True
        return False

    def limited_rank(self, shapes: tuple[Shape, ...]) -> int:
        """Return the highest rank of an operand or of the result. Each of two operands is summed before the product."""
        if len(shapes) > 2:
            return self.highest_rank(shapes)
        try:
            names = self.axis_labels(shapes)
        except ShapeMismatch:  # `align` raises the same error
            return max(map(len, shapes))
        return max(map(len, (*names.wanted, names.result)))

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        """Return a warning if Paddle does not refuse a wrong letter or another character in the output."""
        output = self.equation.partition("->")[2].replace(" ", "").replace(ELLIPSIS, "")
        if output and not (output.isascii() and output.isalpha()):
            return "Paddle 3.3 may end the process or return undefined sizes if the output has other characters."
        is_empty = len(shapes) < 3 and any(0 in shape for shape in shapes)
        if not is_empty and ELLIPSIS not in self.equation:
            return None
        try:
            operands, result = self.split()
            if len(operands) != len(shapes):
                return None
            known = tuple(label for label in result if any(label in labels for labels in operands))
            known_plan = try_resolve(self.with_labels(ParsedEquation(operands, known)).align(shapes))
        except ShapeMismatch:  # Paddle refuses other faults of the equation too
            return None
        if len(known) == len(result) or known_plan is None:
            return None
        if not is_empty:  # the letter can be one that Paddle has chosen for an axis
            return "Paddle 3.3 may accept an unknown letter in the output: it names the axes of ... by random letters."
        return "Paddle 3.3 may accept an unknown letter in the output if a tensor is empty, and return a negative size."


_OPERATIONS = f"""subtract multiply divide maximum minimum equal not_equal less less_equal less_than greater_than
    greater_equal {LOGICAL} {BITWISE} {SHIFTS} sub mul div floor_divide remainder mod floor_mod pow fmax fmin hypot
    copysign heaviside nextafter ldexp logaddexp"""
ALIASES = {
    **aliases(add, _OPERATIONS, "paddle", "paddle.Tensor"),
    **aliases(add, "atan2 gcd lcm masked_fill", "paddle", "paddle.Tensor", max_rank=8),
    **aliases(where, "lerp", "paddle", "paddle.Tensor", max_rank=6),
    **aliases(matmul, "mm", "paddle", "paddle.Tensor"),
    **same_names("paddle.linalg", matmul),
    **same_names("paddle.Tensor", add, where, matmul, tile),
}

MESSAGES = """
    paddle.einsum | Same label have different shapes for label: `<...>` [Hint: Expected (*labelshape)[c] ==
        op_dim[dim_ptr], but received (*labelshape)[c]:<#> != op_dim[dim_ptr]:<#>
        # An einsum failed: the same letter has different sizes.
    paddle.add | Operands could not be broadcast together with the shape of X = <0> and the shape of Y = <1>
    paddle.add | The shape of tensor a <0>:<...> must match shape of tensor b <1>:
    paddle.expand | The shape of tensor assigned value must match the shape of target shape: <0>, but now shape is
        <=shape>
    paddle.expand | The shape of broadcast output <0> is different from that of inplace tensor <=shape> in the
        Inplace operation
    | The value (<#>) of the non-singleton dimension does not match the corresponding value (<#>) in shape for
        expand_v2 op
        # An expand failed: a size of the tensor is neither 1 nor the size of the target.
    paddle.expand_as | The value (<#0>) of the non-singleton dimension does not match the corresponding value (<#1>)
        in shape for expand_as_v2 op
    paddle.broadcast_tensors | BroadcastTensorsOp inputs does not satisfy bcast semantics, <...>dim_size[<#>] !=
        target_dim_size[<#>]
    paddle.matmul | In operator matmul, the <...> dimension of Input(X) must be equal to <...>dimension of Input(X)
        is [<#0>], and the <...> dimension of Input(Y) is [<#1>]
    paddle.matmul | but received X_broadcast's shape[<...>] = [<#0>]received Y_broadcast's shape[<...>] = [<#1>]
    | The number of elements (<...>) of 'shape' for expand_v2 op must be greater than or equal to the rank
        # An expand can't remove axes: the tensor has more axes than the requested shape.
"""
