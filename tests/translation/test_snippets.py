"""Snippets run unchanged and give the bytes of the engine.

NumPy's snippets always run. With AXISCAST_FRAMEWORKS=1, those of every installed framework run.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from cases import cases
from snippet_runners import RUNNERS, Array, Shape, runs

from axiscast.engine.views import output_view
from axiscast.messages import TranslateRequest
from axiscast.ops import (
    FRAMEWORKS,
    OPS,
    Op,
    einops,
    lower,
    mxnet,
    ngraph,
    numpy,
    onnx,
    openvino,
    poputil,
    stablehlo,
    torch,
    xarray,
)
from axiscast.ops.einsum import LabeledProduct
from axiscast.ops.families import Elementwise, MatrixProduct
from axiscast.translation.translate import answer_translate
from axiscast.wire.problems import Problem


def placed(*axes: int, shape: Shape) -> Op:
    return stablehlo.broadcast_in_dim(shape=shape, broadcast_dimensions=axes)


REQUESTS: list[tuple[Op, list[Shape]]] = [
    (placed(shape=()), [()]),
    (placed(shape=(2, 3)), [()]),
    (placed(1, shape=(2, 3)), [(3,)]),
    (placed(0, shape=(2, 3)), [(2,)]),
    (placed(1, shape=(2, 3, 4)), [(3,)]),
    (placed(0, 3, shape=(2, 3, 4, 5)), [(2, 5)]),
    (placed(1, 0, shape=(3, 2)), [(2, 3)]),
    (placed(2, 0, shape=(3, 5, 4)), [(4, 3)]),
    (placed(2, 0, shape=(3, 5, 4)), [(1, 3)]),
    (placed(2, 0, 1, shape=(3, 4, 2)), [(2, 3, 4)]),
    (placed(0, 1, shape=(2, 3)), [(2, 1)]),
    (placed(0, 1, 2, shape=(2, 3, 4)), [(1, 3, 1)]),
    (placed(0, shape=(1,)), [(1,)]),
    (placed(0, shape=(1, 1)), [(1,)]),
    (placed(1, shape=(0, 3)), [(3,)]),
    (placed(0, 1, shape=(0, 3)), [(1, 3)]),
    (placed(2, 0, shape=(3, 2, 0)), [(0, 3)]),
    (numpy.broadcast_arrays(), [(3,)]),
    (numpy.broadcast_arrays(), [(2, 1), (3,)]),
    (numpy.broadcast_arrays(), [(1, 3), (2, 1)]),
    (numpy.broadcast_arrays(), [(8, 1, 6, 1), (7, 1, 5), ()]),
    (numpy.broadcast_arrays(), [(0, 3), (1, 1)]),
    (torch.broadcast_tensors(), [(2,), (3, 1), (1,), (4, 1, 1)]),
    (poputil.expandToMatchRanks(), [(3,), (4, 2, 1)]),
    (xarray.broadcast(dims=(("x", "y"), ("y", "z"))), [(2, 3), (3, 4)]),
    (xarray.broadcast(dims=(("x", "y"), ("y", "x")), exclude=("y",)), [(2, 3), (4, 2)]),
    (ngraph.BroadcastLike(initial_broadcast_axes={1}), [(2,), (2, 3)]),
    (mxnet.broadcast_like(lhs_axes=(0,), rhs_axes=(1,)), [(1, 3), (5, 4)]),
    (torch.expand_as(), [(3,), (2, 3)]),
    (torch.expand_as(), [(), (2, 1)]),
    (onnx.PRelu(), [(2, 3, 4), (3, 1)]),
    (numpy.tile(reps=(2, 3)), [(2, 3)]),
    (numpy.tile(reps=(2, 1, 0)), [(3, 1)]),
    (numpy.tile(reps=(4, 1, 2)), [(3,)]),
    (numpy.tile(reps=()), [()]),
    (torch.repeat(repeats=(3, 1, 2)), [(0, 4)]),
    (torch.expand(size=(5, -1, 3, -1)), [(2, 1, 4)]),
    (torch.expand(size=(3, -1)), [(0,)]),
    (onnx.Expand(shape=(1, 3, 1)), [(2, 1, 4)]),
    (numpy.add(), [(2, 3), (2, 3)]),
    (numpy.add(), [(3,), (2, 3)]),
    (numpy.add(), [(0, 2, 1), (2, 0)]),
    (numpy.matmul(), [(5, 3, 2, 4), (4, 2)]),
    (mxnet.broadcast_like(lhs_axes=(0,), rhs_axes=(0,)), [(1, 6), (8,)]),
    (mxnet.broadcast_like(lhs_axes=(0,), rhs_axes=(0,)), [(1, 6), (4, 2)]),
    (einops.repeat(pattern="h w -> (h 2) w c", axes_lengths={"c": 3}), [(2, 3)]),
    (einops.repeat(pattern="(a b) 1 -> b 2 (a c)", axes_lengths={"a": 2, "c": 3}), [(6, 1)]),
    (einops.repeat(pattern="h w -> (h w) 2"), [(2, 3)]),
    (einops.repeat(pattern="(a b) -> b (n a)", axes_lengths={"b": 2, "n": 3}), [(0,)]),
]
"""Return operations with splits, merges, transposes, new axes, sizes 1 and 0, scalars, and one to four inputs."""


def distinct(shapes: list[Shape]) -> list[Array]:
    return [
        (np.arange(prod(shape), dtype=np.float32) + 1000 * number).reshape(shape) for number, shape in enumerate(shapes)
    ]


def names(letter: str, count: int) -> list[str]:
    return [letter] if count == 1 else [f"{letter}{number}" for number in range(count)]


def is_of(op: type[Op], framework: str) -> bool:
    """Return whether an op of this framework returns its broadcast inputs."""
    return bool(op.snippets) and op.model_fields["name"].default.startswith(f"{framework}.")


def crashes_openvino(shapes: list[Shape]) -> bool:
    """Return whether OpenVINO's CPU plugin crashes: on a static size 0, and from a scalar to a scalar."""
    return any(0 in shape for shape in shapes) or not any(shapes)


def octave_shape(shape: Shape) -> Shape:
    """Return Octave's shape of such an array: two axes or more, and no further axes of size 1 at the end."""
    shape = (*shape, 1, 1)
    return shape[: max(2, 1 + max((axis for axis, size in enumerate(shape) if size != 1), default=0))]


@pytest.mark.filterwarnings("default")  # theirs
@pytest.mark.parametrize("framework", RUNNERS)
def test_a_snippet_runs_and_returns_the_same_bytes(framework: str) -> None:
    execute, ran = runs(framework), 0
    for (op, shapes), to in product(REQUESTS, (name for name, op in OPS.items() if is_of(op, framework))):
        arrays, plan = distinct(shapes), lower(op, tuple(shapes))
        if framework == "openvino" and crashes_openvino([*shapes, plan.outputs[0].output_shape]):
            continue
        try:
            answer = answer_translate(TranslateRequest(op=op, inputs=shapes, to=to))
        except Problem:
            continue
        if framework == "tfjs" and answer.warnings:  # the release has another result
            continue
        text = answer.code.text
        inputs = dict(zip(names("x", len(shapes)), arrays, strict=True))
        given = execute(text, inputs, names("y", len(plan.outputs)))
        wanted = [output_view(output, arrays[output.input]).reshape(output.shape) for output in plan.outputs]
        for ours, theirs in zip(wanted, given, strict=True):
            if framework == "octave":
                ours = ours.reshape(octave_shape(ours.shape))
            assert (ours.shape, ours.tobytes()) == (theirs.shape, np.asarray(theirs).tobytes()), text
        ran += 1
    print(f"\n{framework}: {ran} snippets")
    assert ran >= 10


def test_snippets_that_were_not_executed_are_marked() -> None:
    assert {name for name, framework in FRAMEWORKS.items() if framework.executed} <= set(RUNNERS)
    for to in OPS:
        try:
            text = answer_translate(TranslateRequest(op=numpy.broadcast_arrays(), inputs=[(3,), (3,)], to=to)).code.text
        except Problem:
            continue
        assert ("unverified" in text) == (FRAMEWORKS[to.split(".")[0]].executed is None)


def test_every_op_that_returns_its_broadcast_inputs_has_a_snippet() -> None:
    without = {name: op for name, op in OPS.items() if op.replicates and not op.snippets}
    of_shapes = {name for name in without if name.endswith(("broadcast_shapes", "broadcast_static_shape"))}
    computing = {name for name, op in without.items() if issubclass(op, Elementwise | MatrixProduct | LabeledProduct)}
    assert without.keys() - of_shapes - computing == {"poputil.canBroadcastToMatch", "onnx.Gemm", "ggml.repeat"}


EXPLICIT = openvino.Broadcast3(mode="explicit", target_shape=(2, 3, 4), axes_mapping=(1,))
TEXTS = {
    "numpy.broadcast_to": """\
# x has shape (3,)
import numpy as np

t1 = x.reshape((3, 1))
y = np.broadcast_to(t1, (2, 3, 4))""",
    "ngraph.Broadcast": """\
// x has shape (3,)
// unverified: this code follows the documentation of ngraph, and was not executed
#include <ngraph/ngraph.hpp>

auto y = std::make_shared<ngraph::op::Broadcast>(x, ngraph::Shape{2, 3, 4}, ngraph::AxisSet{0, 2});""",
    "poputil.broadcastToMatch": """\
// x has shape (3,)
// unverified: this code follows the documentation of poputil, and was not executed
#include <poputil/Broadcast.hpp>

poplar::Tensor t1 = x.reshape({3, 1});
poplar::Tensor y = t1;
poputil::broadcastToMatch(y, {2, 3, 4});""",
    "mxnet.broadcast_axis": """\
# x has shape (3,)
import mxnet as mx

t1 = mx.nd.reshape(x, shape=(1, 3, 1))
y = mx.nd.broadcast_axis(t1, axis=(0, 2), size=(2, 4))""",
}


@cases("to", TEXTS)
def test_a_snippet_is_idiomatic_code(to: str) -> None:
    answer = answer_translate(TranslateRequest(op=EXPLICIT, inputs=[(3,)], to=to))
    assert answer.code.text == TEXTS[to]
    assert answer.code.language == ("c++" if to in ("ngraph.Broadcast", "poputil.broadcastToMatch") else "python")


EMPTY: list[tuple[Op, Shape, str]] = [
    (
        placed(0, shape=(0, 4)),
        (0,),
        """\
# x has shape (0,)
import mxnet as mx
mx.util.set_np_shape(True)  # else () is an unknown shape, and 0 an unknown size

t1 = x.as_np_ndarray().reshape((0, 1)).as_nd_ndarray()  # mx.nd.reshape copies a size for 0
y = mx.nd.broadcast_axis(t1, axis=(1,), size=(4,))""",
    ),
    (
        placed(shape=(2, 3)),
        (),
        """\
# x has shape ()
import mxnet as mx
mx.util.set_np_shape(True)  # else () is an unknown shape, and 0 an unknown size

t1 = x.as_np_ndarray().reshape((1, 1)).as_nd_ndarray()  # mx.nd.reshape copies a size for 0
y = mx.nd.broadcast_axis(t1, axis=(0, 1), size=(2, 3))""",
    ),
    (
        placed(0, shape=(3, 0)),
        (3,),
        """\
# x has shape (3,)
import mxnet as mx
mx.util.set_np_shape(True)  # else () is an unknown shape, and 0 an unknown size

t1 = mx.nd.reshape(x, shape=(3, 1))
y = mx.nd.broadcast_axis(t1, axis=(1,), size=(0,))""",
    ),
    (
        einops.repeat(pattern="a b -> (a b)"),
        (1, 0),
        """\
# x has shape (1, 0)
import mxnet as mx
mx.util.set_np_shape(True)  # else () is an unknown shape, and 0 an unknown size

t1 = mx.nd.broadcast_axis(x, axis=(), size=())
y = t1.as_np_ndarray().reshape((0,)).as_nd_ndarray()  # mx.nd.reshape copies a size for 0""",
    ),
]


@cases(("op", "shape", "text"), EMPTY)
def test_mxnet_snippets_enable_empty_shapes_and_sizes_of_0(op: Op, shape: Shape, text: str) -> None:
    assert answer_translate(TranslateRequest(op=op, inputs=[shape], to="mxnet.broadcast_axis")).code.text == text


def test_a_translation_to_openvino_tiles_no_scalar_without_repeats() -> None:
    answer = answer_translate(TranslateRequest(op=numpy.tile(reps=()), inputs=[()], to="openvino.Tile-1"))
    assert (answer.warnings, answer.code.text.splitlines()[-3:]) == (
        [],
        [
            "t1 = opset1.reshape(x, op.Constant(np.array((1, 1), np.int64)), special_zero=False)",
            "t2 = opset1.tile(t1, op.Constant(np.array((1, 1), np.int64)))",
            "y = opset1.reshape(t2, op.Constant(np.array((), np.int64)), special_zero=False)",
        ],
    )
