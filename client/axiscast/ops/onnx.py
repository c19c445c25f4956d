"""ONNX: Expand, and the broadcast of inputs in other operators.

In the multidirectional rule, right-aligned shapes expand each other. In the unidirectional rule, one input expands to a
fixed shape. Expand follows the multidirectional rule, so `shape` expands too.
"""

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ..plan.alignment import (
    Alignment,
    Axis,
    Conflict,
    Output,
    ShapeMismatch,
    Term,
    align_right,
    align_second_to_first,
    check_rank,
    check_sizes,
    wrong_rank,
)
from ..plan.plan import Shape
from ..plan.relations import Relation
from ..plan.resolution import resolve
from ..wire.dimensions import Dimensions
from ..wire.shapes import Number
from . import families
from .aliases import aliases
from .base import Op, declare
from .families import Choice, Elementwise, MatrixProduct, summed
from .framework import Framework, NamedSize

_SHAPE = re.compile(
    r'initializers\.append\(numpy_helper\.from_array\(np\.array\(\(([\d, ]+)\), np\.int64\), "(\w+)"\)\)'
)
"""The statement of a snippet that stores a shape in the graph as a constant: its sizes and its name."""


def _sized_graph(code: str, sizes: Sequence[NamedSize]) -> str:
    """Return code whose graph does not store named sizes as constants, but reads them from its inputs.

    A Shape node reads each named size. A Concat node replaces the constant of each shape with named sizes.
    """
    named = {size.number: size for size in sizes}
    read: dict[str, None] = {}

    def concatenation(match: re.Match[str]) -> str:
        numbers = [int(text) for text in match[1].split(",") if text.strip()]
        if named.keys().isdisjoint(numbers):
            return match[0]
        lines, parts = [], []
        for axis, number in enumerate(numbers):
            size = named.get(number)
            if size is not None and size.tensor is not None:
                parts.append(f"{size.name}_size")
                attributes = f"start={size.axis}, end={size.axis + 1}"
                read[f'nodes.append(helper.make_node("Shape", ["{size.tensor}"], ["{parts[-1]}"], {attributes}))'] = (
                    None
                )
                continue
            parts.append(f"{match[2]}_{axis}")
            value = number if size is None else size.name
            lines.append(f'initializers.append(numpy_helper.from_array(np.array([{value}], np.int64), "{parts[-1]}"))')
        joined = ", ".join(f'"{part}"' for part in parts)
        return "\n".join([*lines, f'nodes.append(helper.make_node("Concat", [{joined}], ["{match[2]}"], axis=0))'])

    body = _SHAPE.sub(concatenation, code)
    opening = "nodes, initializers = [], []"
    return body.replace(opening, "\n".join([opening, *read]), 1)


FRAMEWORK = Framework(
    order=60,
    reference=("onnx", "1.23.2"),
    link="https://onnx.ai/onnx/operators/onnx__{function}.html",
    preamble="import numpy as np\nfrom onnx import helper, numpy_helper\n\nnodes, initializers = [], []",
    transpose='nodes.append(helper.make_node("Transpose", ["{x}"], ["{y}"], perm={permutation}))',
    reshape='initializers.append(numpy_helper.from_array(np.array({shape}, np.int64), "{y}_shape"))\n'
    'nodes.append(helper.make_node("Reshape", ["{x}", "{y}_shape"], ["{y}"], allowzero=1))',
    calls={"onnx": 'nodes.append(helper.make_node("{function}", [{names}], ["{y}"]))'},
    size=_sized_graph,
    executed="onnx 1.23.2 and onnxruntime 1.32.0",
)


class Expand(Op, name="onnx.Expand"):
    """Broadcast a tensor and a shape against each other. Both expand, so the output can be larger than `shape`."""

    target = "shape"
    plan_fields = {"shape": "output_shape"}
    snippets = (
        'initializers.append(numpy_helper.from_array(np.array({shape}, np.int64), "{y}_shape"))\n'
        'nodes.append(helper.make_node("Expand", ["{x}", "{y}_shape"], ["{y}"]))',
    )
    example_shapes = ((3, 1),)
    shape: Dimensions = Field(
        description="The shape to broadcast with the input. The input and this shape can both expand.",
        examples=[[2, 1, 6]],
    )

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        target = tuple(self.shape)
        check_sizes(target, "shape")
        return align_right(shapes, target)


class Add(Elementwise, name="onnx.Add"):
    """Broadcast two tensors against each other, as every binary operator does since opset 7."""


class _Variadic(Elementwise):
    """Broadcast any number of tensors against each other, since opset 8."""

    min_inputs = 1
    max_inputs = None


Sum = declare(_Variadic, "onnx.Sum")
Max = declare(_Variadic, "onnx.Max")
Min = declare(_Variadic, "onnx.Min")
Mean = declare(_Variadic, "onnx.Mean")
Where = declare(Choice, "onnx.Where")


class PRelu(Elementwise, name="onnx.PRelu"):
    """Broadcast the slope (input 1) to the shape of X (input 0). The shapes are right-aligned."""

    example_shapes = ((2, 64, 7, 7), (64, 1, 1))

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        x, slope = shapes
        check_rank(slope, x, 1)
        return align_second_to_first(shapes, len(x) - len(slope))

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        try:
            resolve(align_right(shapes))
        except ShapeMismatch:
            return None
        return "onnxruntime 1.32 also expands PRelu's X, to a shape that onnx does not infer."


MatMul = declare(MatrixProduct, "onnx.MatMul")


class Gemm(Op, name="onnx.Gemm"):
    """Broadcast C (input 2, optional) to the shape (M, N) of the product of A (input 0) and B (input 1)."""

    min_inputs = 2  # C is optional since opset 11
    max_inputs = 3
    has_common_output_axes = False
    transposes = ("transA", "transB")
    example_shapes = ((2, 3), (3, 4), (4,))
    transA: Literal[0, 1] = Field(
        default=0, description="1 if A has the shape (K, M) and is transposed. The default is 0."
    )
    transB: Literal[0, 1] = Field(
        default=0, description="1 if B has the shape (N, K) and is transposed. The default is 0."
    )
    alpha: Number | None = Field(default=None, description="The factor of the product. The default is 1.")
    beta: Number | None = Field(default=None, description="The factor of C. The default is 1.")

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        """Align C on the right with A's axis M and B's axis N. The axes K of A and B must have equal sizes."""
        a, b, *added = shapes
        for number, shape in enumerate((a, b)):
            if len(shape) != 2:
                raise wrong_rank(number, shape, 2, 2)
        for c in added:
            if len(c) > 2:
                raise wrong_rank(2, c, 0, 2)
        m, k_of_a = (1, 0) if self.transA else (0, 1)
        k_of_b, n = (1, 0) if self.transB else (0, 1)
        product = (Term(0, m, a[m]), Term(1, n, b[n]))
        outputs = tuple(Output(2, tuple(range(2 - len(c), 2)), (0, 1)) for c in added)
        axes = []
        for axis, term in enumerate(product):
            terms = [Term(2, axis - 2 + len(c), c[axis - 2]) for c in added if axis >= 2 - len(c)]
            axes.append(Axis(Relation.BROADCAST_TO, (*terms, term)))
        inner = summed(Term(0, k_of_a, a[k_of_a]), Term(1, k_of_b, b[k_of_b]))
        return Alignment(shapes, None, (*axes, inner), outputs, result=(0, 1))

    @classmethod
    def broadcast_input_count(cls, inputs: int) -> int:
        """Return 1 if the request has C, which is the only input that broadcasts."""
        return inputs - 2


class Tile(families.Tile, name="onnx.Tile"):
    """Repeat a tensor along its axes. `repeats` has an entry for each axis."""

    counts = "repeats"
    takes_fewer_counts = False
    adds_axes = False
    snippets = (
        'initializers.append(numpy_helper.from_array(np.array({repeats}, np.int64), "{y}_repeats"))\n'
        'nodes.append(helper.make_node("Tile", ["{x}", "{y}_repeats"], ["{y}"]))',
    )
    repeats: Dimensions = Field(description="The number of copies along each axis.", examples=[[2, 1]])


ALIASES = {
    **aliases(
        Add,
        """Sub Mul Div Pow Mod And Or Xor Equal Greater GreaterOrEqual Less LessOrEqual BitShift BitwiseAnd BitwiseOr
        BitwiseXor""",
        "onnx",
    ),
    **aliases(MatMul, "MatMulInteger", "onnx"),
}

MESSAGES = """
    onnx.{node} | <running><...>Attempting to broadcast an axis by a dimension other than 1. <#> by <#>
    onnx.{node} | <running><...>Can broadcast 0 by 0 or 1. <#> is invalid.
        # A size of 0 broadcasts only with 0 or 1.
    onnx.{node} | <running>invalid expand shape
        # The target of Expand does not fit the shape of its input.
    onnx.{node} | <running><...>MatMul dimension mismatch
    onnx.{node} | <running><...>operand cannot broadcast on dim
    onnx.{node} | <running>Gemm: Invalid bias shape for broadcast
    | Attempting to broadcast an axis by a dimension other than 1. <#> by <#>
    onnx.{node} | Op (<node>) [ShapeInferenceError] Incompatible dimensions
    onnx.{node} | Op (<node>) [ShapeInferenceError] Dimension mismatch in unification between <#> and <#>
    onnx.{node} | (op_type:<node><...>): [ShapeInferenceError] Incompatible dimensions
    onnx.{node} | (op_type:<node><...>): [ShapeInferenceError] Dimension mismatch in unification between <#> and <#>
""".replace("<running>", "Non-zero status code returned while running <node> node. Name:'<...>' Status Message: ")
