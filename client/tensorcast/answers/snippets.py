"""Snippets: the steps of a translation as source text to paste. The table is data; each template is one step.

In a template `x` is the tensor that a step takes and `y` what it gives; a step on several tensors has `x0`, `x1`, ...,
and all of them in `xs` and `ys`. `x_shape` and `y_shape` are theirs; an attribute of the op has its own name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from string import Formatter
from typing import Any

from ..messages import Code, Reshape, Step, Transpose
from ..ops import Op
from ..ops.rules import lower
from ..plan.plan import Plan, Shape
from ..schema.shapes import format_shape


@dataclass(frozen=True)
class Words:
    """One framework's templates."""

    language: str
    head: str
    """What comes before the first step."""
    transpose: str
    reshape: str
    ops: dict[str, tuple[str, ...]]
    """By the op's name: used is the first template all of whose fields the step has."""
    empty_head: str = ""
    """What follows `head` where a tensor is a scalar or has a size 0."""
    empty_reshape: str | None = None
    """A reshape from or to such a shape, if it has words of its own."""
    executed: str | None = None
    """The release on which every template was run and gave the same bytes; None: they were only read."""


WORDS: dict[str, Words] = {
    "numpy": Words(
        "python",
        "import numpy as np\n",
        "{y} = {x}.transpose({permutation})",
        "{y} = {x}.reshape({shape})",
        {
            "numpy.broadcast_arrays": ("[{ys}] = np.broadcast_arrays({xs})",),
            "numpy.broadcast_to": ("{y} = np.broadcast_to({x}, {shape})",),
        },
        executed="NumPy 2.4.6",
    ),
    "torch": Words(
        "python",
        "import torch\n",
        "{y} = {x}.permute({permutation})",
        "{y} = {x}.reshape({shape})",
        {
            "torch.expand": ("{y} = {x}.expand({size})",),
            "torch.broadcast_tensors": ("[{ys}] = torch.broadcast_tensors({xs})",),
        },
        executed="PyTorch 2.13.0",
    ),
    "jax": Words(
        "python",
        "import jax\n",
        "{y} = jax.lax.transpose({x}, {permutation})",
        "{y} = jax.lax.reshape({x}, {shape})",
        {"jax.lax.broadcast": ("{y} = jax.lax.broadcast({x}, {sizes})",)},
        executed="JAX 0.10.2",
    ),
    "tensorflow": Words(
        "python",
        "import tensorflow as tf\n",
        "{y} = tf.transpose({x}, {permutation})",
        "{y} = tf.reshape({x}, {shape})",
        {"tensorflow.broadcast_to": ("{y} = tf.broadcast_to({x}, tf.TensorShape({shape}))",)},
        executed="TensorFlow 2.21.0",
    ),
    "onnx": Words(
        "python",
        "import numpy as np\nfrom onnx import helper, numpy_helper\n\nnodes, initializers = [], []",
        'nodes.append(helper.make_node("Transpose", ["{x}"], ["{y}"], perm={permutation}))',
        'initializers.append(numpy_helper.from_array(np.array({shape}, np.int64), "{y}_shape"))\n'
        'nodes.append(helper.make_node("Reshape", ["{x}", "{y}_shape"], ["{y}"], allowzero=1))',
        {
            "onnx.Expand": (
                'initializers.append(numpy_helper.from_array(np.array({shape}, np.int64), "{y}_shape"))\n'
                'nodes.append(helper.make_node("Expand", ["{x}", "{y}_shape"], ["{y}"]))',
            )
        },
        executed="onnx 1.23.2 and onnxruntime 1.31.1",
    ),
    "openvino": Words(
        "python",
        "import numpy as np\nfrom openvino import op, opset1, opset3\n",
        "{y} = opset1.transpose({x}, op.Constant(np.array({permutation}, np.int64)))",
        "{y} = opset1.reshape({x}, op.Constant(np.array({shape}, np.int64)), special_zero=False)",
        {
            f"openvino.Broadcast-{version}": (
                f"{{y}} = opset{version}.broadcast(\n"
                "    {x}, op.Constant(np.array({target_shape}, np.int64)), np.array({axes_mapping}, np.int64), "
                '"EXPLICIT"\n)',
                f"{{y}} = opset{version}.broadcast({{x}}, op.Constant(np.array({{target_shape}}, np.int64)))",
            )
            for version in (1, 3)
        },
        executed="OpenVINO 2026.4.1",
    ),
    "mindspore": Words(
        "python",
        "from mindspore import ops\n",
        "{y} = ops.transpose({x}, {permutation})",
        "{y} = ops.reshape({x}, {shape})",
        {"mindspore.broadcast_to": ("{y} = ops.broadcast_to({x}, {shape})",)},
        executed="MindSpore 2.10.0",
    ),
    "paddle": Words(
        "python",
        "import paddle\n",
        "{y} = paddle.transpose({x}, {permutation})",
        "{y} = paddle.reshape({x}, {shape})",
        {"paddle.expand": ("{y} = paddle.expand({x}, {shape})",)},
        executed="PaddlePaddle 3.3.1",
    ),
    "mxnet": Words(
        "python",
        "import mxnet as mx\n",
        "{y} = mx.nd.transpose({x}, axes={permutation})",
        "{y} = mx.nd.reshape({x}, shape={shape})",
        {
            "mxnet.broadcast_axis": ("{y} = mx.nd.broadcast_axis({x}, axis={axis}, size={size})",),
            "mxnet.broadcast_like": (
                "{y} = mx.nd.broadcast_like({x0}, {x1}, lhs_axes={lhs_axes}, rhs_axes={rhs_axes})",
                "{y} = mx.nd.broadcast_like({x0}, {x1})",
            ),
        },
        empty_head="mx.util.set_np_shape(True)  # a scalar is a shape, and 0 a size: else either is one not known\n",
        empty_reshape="{y} = {x}.as_np_ndarray().reshape({shape}).as_nd_ndarray()  # to mx.nd.reshape 0 means a copy",
        executed="MXNet 1.9.1",
    ),
    "xarray": Words(
        "python",
        "import numpy as np\nimport xarray as xr\n",
        "{y} = np.asarray({x}).transpose({permutation})",
        "{y} = np.asarray({x}).reshape({shape})",
        {
            "xarray.broadcast": (
                "dims = {dims}\n"
                "arrays = [xr.DataArray(array, dims=names) for array, names in zip([{xs}], dims)]\n"
                "[{ys}] = xr.broadcast(*arrays, exclude={exclude})",
            )
        },
        executed="xarray 2026.9.0",
    ),
    "einops": Words(
        "python",
        "import einops\n",
        "",  # its op places any axis anywhere: no move comes before or after it
        "",
        {"einops.repeat": ("{y} = einops.repeat({x}, {pattern}{axes_lengths})",)},
        executed="einops 0.8.2",
    ),
    "stablehlo": Words(
        "mlir",
        "// f32 stands for the type of your elements\n",
        "",  # its op places any axis anywhere: nothing is transposed before or after it
        "%{y} = stablehlo.reshape %{x} : ({x_shape}) -> {y_shape}",
        {
            "stablehlo.broadcast_in_dim": (
                "%{y} = stablehlo.broadcast_in_dim %{x}, dims = {broadcast_dimensions} : ({x_shape}) -> {y_shape}",
            )
        },
        executed="jaxlib 0.10.2",
    ),
    "ngraph": Words(
        "c++",
        "#include <ngraph/ngraph.hpp>\n",
        "auto {y} = std::make_shared<ngraph::op::Reshape>({x}, ngraph::AxisVector{permutation}, "
        "ngraph::Shape{y_shape});",
        "auto {y} = std::make_shared<ngraph::op::Reshape>(\n"
        "    {x}, ngraph::get_default_order(ngraph::Shape{x_shape}), ngraph::Shape{y_shape});",
        {
            "ngraph.Broadcast": (
                "auto {y} = std::make_shared<ngraph::op::Broadcast>({x}, ngraph::Shape{shape}, "
                "ngraph::AxisSet{broadcast_axes});",
            ),
            "ngraph.BroadcastLike": (
                "auto {y} = std::make_shared<ngraph::op::BroadcastLike>({x0}, {x1}, "
                "ngraph::AxisSet{initial_broadcast_axes});",
            ),
        },
    ),
    "poputil": Words(
        "c++",
        "#include <poputil/Broadcast.hpp>\n",
        "poplar::Tensor {y} = {x}.dimShuffle({permutation});",
        "poplar::Tensor {y} = {x}.reshape({shape});",
        {
            "poputil.expandToMatchRanks": (
                "poplar::Tensor {y0} = {x0}, {y1} = {x1};\npoputil::expandToMatchRanks({y0}, {y1});",
            ),
            "poputil.broadcastToMatch": (
                "poplar::Tensor {y} = {x};\npoputil::broadcastToMatch({y}, {shape});",
                "poplar::Tensor {y0} = {x0}, {y1} = {x1}, {y2} = {x2};\npoputil::broadcastToMatch({y0}, {y1}, {y2});",
                "poplar::Tensor {y0} = {x0}, {y1} = {x1};\npoputil::broadcastToMatch({y0}, {y1});",
                "poplar::Tensor {y} = {x};  // one tensor matches itself",
            ),
        },
    ),
}
"""By the first part of an op's name."""


def code(to: str, plan: Plan, steps: Sequence[Step]) -> Code:
    """The steps as source text. Inputs are x, or x0, x1, ...; outputs are y, or y0, y1, ..."""
    framework = to.split(".")[0]
    words = WORDS[framework]
    comment = "#" if words.language == "python" else "//"
    inputs = zip(_numbered("x", len(plan.input_shapes)), plan.input_shapes, strict=True)
    head = [f"{comment} {', '.join(f'{name} has shape {format_shape(shape)}' for name, shape in inputs)}"]
    if words.executed is None:
        head.append(f"{comment} unverified: written from the documents of {framework}, not executed")
    reshaped = [step.op.shape for step in steps if isinstance(step.op, Reshape)]
    shapes = [*plan.input_shapes, *reshaped, *(output.shape for output in plan.outputs)]
    opening = words.head + (words.empty_head if any(map(_is_empty, shapes)) else "")
    return Code(language=words.language, text="\n".join([*head, opening, *_lines(words, plan, steps)]))


def _is_empty(shape: Shape) -> bool:
    """Whether a shape is what older frameworks take for one that is not known: a scalar's, or one with a size 0."""
    return not shape or 0 in shape


def _lines(words: Words, plan: Plan, steps: Sequence[Step]) -> Iterator[str]:
    """Each step as text. What a later step takes is called t1, t2, ..."""
    names, shapes = _numbered("x", len(plan.input_shapes)), list(plan.input_shapes)
    outputs = {output.input: name for output, name in zip(plan.outputs, _numbered("y", len(plan.outputs)), strict=True)}
    last = {tensor: number for number, step in enumerate(steps) for tensor in _taken(step, len(shapes))}
    temporaries = count(1)
    for number, step in enumerate(steps):
        taken = _taken(step, len(shapes))
        before = [shapes[tensor] for tensor in taken]
        after = _shapes_after(step.op, before)
        given = [
            outputs[tensor] if last[tensor] == number and tensor in outputs else f"t{next(temporaries)}"
            for tensor in taken[: len(after)]
        ]
        yield _filled_in(words, step.op, [names[tensor] for tensor in taken], before, given, after)
        if step.input is None:
            names, shapes = given, after
        else:
            names[step.input], shapes[step.input] = given[0], after[0]


def _taken(step: Step, tensors: int) -> Sequence[int]:
    return range(tensors) if step.input is None else [step.input]


def _shapes_after(op: Op | Transpose | Reshape, shapes: Sequence[Shape]) -> list[Shape]:
    if isinstance(op, Reshape):
        return [op.shape]
    if isinstance(op, Transpose):
        return [tuple(shapes[0][axis] for axis in op.permutation)]
    return [output.shape for output in lower(op, tuple(shapes)).outputs]


def _filled_in(
    words: Words,
    op: Op | Transpose | Reshape,
    taken: Sequence[str],
    before: Sequence[Shape],
    given: Sequence[str],
    after: Sequence[Shape],
) -> str:
    """The first of the op's templates all of whose fields there are."""
    fields = {name: _said(value, words.language) for name, value in op.model_dump(exclude_none=True).items()}
    for letter, names, shapes in (("x", taken, before), ("y", given, after)):
        fields[f"{letter}s"] = ", ".join(names)
        fields |= {f"{letter}{number}" if len(names) > 1 else letter: name for number, name in enumerate(names)}
        fields[f"{letter}_shape"] = _said_shape(shapes[0], words.language)
    empty = _is_empty(before[0]) or _is_empty(after[0])
    reshape = words.empty_reshape if empty and words.empty_reshape else words.reshape
    templates = {"transpose": (words.transpose,), "reshape": (reshape,), **words.ops}[op.name]
    return next(template for template in templates if _fields(template) <= set(fields)).format(**fields)


@cache
def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def _said(value: Any, language: str) -> str:
    """An attribute as source text; a map as keyword arguments that follow others."""
    if isinstance(value, dict):
        return "".join(f", {name}={length}" for name, length in value.items())
    match language:
        case "python":
            return repr(value)
        case "c++":
            return f"{{{', '.join(map(str, value))}}}"
        case _:
            return f"[{', '.join(map(str, value))}]"


def _said_shape(shape: Shape, language: str) -> str:
    """A tensor's shape; in MLIR its type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}f32>" if language == "mlir" else _said(shape, language)


def _numbered(letter: str, total: int) -> list[str]:
    return [letter] if total == 1 else [f"{letter}{number}" for number in range(total)]
