"""The steps of a translation, and the reasons why a translation is impossible."""

from __future__ import annotations

import pytest
from cases import cases

from axiscast.drawing.terminal_text import translation_as_text
from axiscast.messages import TranslateAnswer, TranslateRequest
from axiscast.ops import Op, einops, mxnet, ngraph, numpy, onnx, openvino, poputil, stablehlo, torch, xarray
from axiscast.translation.translate import answer_translate
from axiscast.wire.problems import Problem

Shape = tuple[int, ...]


def ask(op: Op, *shapes: Shape, to: str) -> TranslateAnswer:
    return answer_translate(TranslateRequest(op=op, inputs=shapes, to=to))


def said(op: Op, *shapes: Shape, to: str) -> list[str]:
    """Return a line for each step."""
    return translation_as_text(ask(op, *shapes, to=to)).split("\n\n")[0].splitlines()


PLACED = stablehlo.broadcast_in_dim(shape=(3, 5, 4), broadcast_dimensions=(2, 0))
STEPS: list[tuple[Op, list[Shape], str, list[str]]] = [
    (
        ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}),
        [(3,)],
        "stablehlo.broadcast_in_dim",
        ["1. stablehlo.broadcast_in_dim(shape=(2, 3), broadcast_dimensions=(1,))"],
    ),
    (
        openvino.Broadcast1(mode="explicit", target_shape=(1, 16, 50, 50), axes_mapping=(1,)),
        [(16,)],
        "torch.expand",
        ["1. reshape(shape=(16, 1, 1))", "2. torch.expand(size=(1, 16, 50, 50))"],
    ),
    (
        PLACED,
        [(4, 3)],
        "numpy.broadcast_to",
        ["1. transpose(permutation=(1, 0))", "2. reshape(shape=(3, 1, 4))", "3. numpy.broadcast_to(shape=(3, 5, 4))"],
    ),
    (
        PLACED,
        [(1, 3)],  # only an axis of size 1 changes its place: a reshape does it
        "openvino.Broadcast-1",
        [
            "1. reshape(shape=(3, 1))",
            "2. openvino.Broadcast-1(mode=explicit, target_shape=(3, 5, 4), axes_mapping=(0, 2))",
        ],
    ),
    (
        PLACED,
        [(1, 3)],
        "jax.lax.broadcast",
        ["1. reshape(shape=(3,))", "2. jax.lax.broadcast(sizes=(5, 4))", "3. transpose(permutation=(2, 0, 1))"],
    ),
    (
        torch.expand(size=(2, -1)),
        [(1, 3)],
        "ngraph.Broadcast",
        ["1. reshape(shape=(3,))", "2. ngraph.Broadcast(shape=(2, 3), broadcast_axes=(0,))"],
    ),
    (numpy.broadcast_arrays(), [(2, 1), (3,)], "torch.broadcast_tensors", ["1. torch.broadcast_tensors()"]),
    (
        numpy.broadcast_arrays(),
        [(2, 1), (3,)],
        "onnx.Expand",
        ["1. input 0: onnx.Expand(shape=(2, 3))", "2. input 1: onnx.Expand(shape=(2, 3))"],
    ),
    (
        numpy.broadcast_arrays(),
        [(1, 3), (2, 1)],
        "xarray.broadcast",
        [
            "1. input 0: reshape(shape=(3,))",
            "2. input 1: reshape(shape=(2,))",
            "3. xarray.broadcast(dims=(('d0',), ('d1',)), exclude=())",
            "4. input 0: transpose(permutation=(1, 0))",
            "5. input 1: transpose(permutation=(1, 0))",
        ],
    ),
    (
        xarray.broadcast(dims=(("x", "y"), ("y", "x"))),
        [(2, 3), (3, 2)],
        "numpy.broadcast_arrays",
        ["1. input 1: transpose(permutation=(1, 0))", "2. numpy.broadcast_arrays()"],
    ),
    (
        ngraph.BroadcastLike(initial_broadcast_axes={1}),
        [(2,), (2, 3)],
        "mxnet.broadcast_like",
        ["1. input 0: reshape(shape=(2, 1))", "2. mxnet.broadcast_like()"],
    ),
    (
        mxnet.broadcast_like(lhs_axes=(0,), rhs_axes=(1,)),
        [(1,), (1, 5)],
        "ngraph.BroadcastLike",
        [
            "1. input 0: reshape(shape=())",
            "2. input 1: reshape(shape=(5,))",
            "3. ngraph.BroadcastLike(initial_broadcast_axes=(0,))",
        ],
    ),
    (
        torch.broadcast_tensors(),
        [(1,) * 33 + (2,), (3, 1)],  # NumPy's takes 32 axes
        "numpy.broadcast_arrays",
        [
            "1. input 0: reshape(shape=(1, 2))",
            "2. numpy.broadcast_arrays()",
            f"3. input 0: reshape(shape={(1,) * 32 + (3, 2)})",
            f"4. input 1: reshape(shape={(1,) * 32 + (3, 2)})",
        ],
    ),
    (
        stablehlo.broadcast_in_dim(shape=(3, 5, 4), broadcast_dimensions=(2, 0)),
        [(4, 1)],
        "einops.repeat",
        ["1. einops.repeat(pattern=a0 1 -> 3 5 a0)"],
    ),
    (
        numpy.broadcast_arrays(),
        [(2, 1), (3,)],
        "einops.repeat",
        ["1. input 0: einops.repeat(pattern=a0 1 -> a0 3)", "2. input 1: einops.repeat(pattern=a0 -> 2 a0)"],
    ),
    (
        einops.repeat(pattern="h w -> (h c) w", axes_lengths={"c": 2}),
        [(2, 3)],
        "einops.repeat",
        ["1. einops.repeat(pattern=a0 a1 -> (a0 2) a1)"],
    ),
    (
        einops.repeat(pattern="h w -> (h c) w", axes_lengths={"c": 2}),
        [(2, 3)],
        "torch.expand",
        ["1. reshape(shape=(2, 1, 3))", "2. torch.expand(size=(2, 2, 3))", "3. reshape(shape=(4, 3))"],
    ),
    (
        einops.repeat(pattern="(a b) -> b a", axes_lengths={"a": 2}),
        [(6,)],
        "numpy.broadcast_to",
        ["1. reshape(shape=(2, 3))", "2. transpose(permutation=(1, 0))", "3. numpy.broadcast_to(shape=(3, 2))"],
    ),
    (
        einops.repeat(pattern="(a b) c -> (a b) 4 (c d)", axes_lengths={"a": 2, "d": 1}),
        [(6, 3)],  # what is split is merged again
        "ngraph.Broadcast",
        ["1. ngraph.Broadcast(shape=(6, 4, 3), broadcast_axes=(1,))"],
    ),
    (einops.repeat(pattern="1 w -> 3 w"), [(1, 4)], "onnx.Expand", ["1. onnx.Expand(shape=(3, 4))"]),
    (
        einops.repeat(pattern="h w c -> (h w) 2 c"),
        [(2, 3, 5)],  # merged by the reshape that is needed anyway
        "tensorflow.broadcast_to",
        ["1. reshape(shape=(6, 1, 5))", "2. tensorflow.broadcast_to(shape=(6, 2, 5))"],
    ),
]


@cases(("op", "shapes", "to", "steps"), STEPS)
def test_the_steps_are_those_that_a_user_would_write(op: Op, shapes: list[Shape], to: str, steps: list[str]) -> None:
    assert said(op, *shapes, to=to) == steps


def test_a_plain_translation_has_the_name_of_each_step() -> None:
    placed = numpy.broadcast_to(shape=(2, 3))
    answer = answer_translate(TranslateRequest(op=placed, inputs=[(3,)], to="torch.expand"))
    steps = answer.model_dump(exclude_unset=True)["steps"]
    assert [step["op"] for step in steps] == [{"name": "torch.expand", "size": (2, 3)}]
    moved = answer_translate(TranslateRequest(op=PLACED, inputs=[(4, 3)], to="numpy.broadcast_to"))
    names = [step["op"]["name"] for step in moved.model_dump(exclude_unset=True)["steps"]]
    assert names == ["transpose", "reshape", "numpy.broadcast_to"]


@cases(
    ("op", "shapes", "to", "line"),
    [
        (ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}), [(3,)], "onnx", "1. onnx.Expand(shape=(2, 3))"),
        (ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}), [(3,)], "torch", "1. torch.expand(size=(2, 3))"),
        (ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}), [(3,)], "jax", "1. jax.numpy.broadcast_to(shape=(2, 3))"),
        (onnx.Add(), [(2, 1), (3,)], "torch", "1. torch.add()"),
        (numpy.tile(reps=(2,)), [(3,)], "torch", "1. torch.tile(dims=(2,))"),  # expand needs reshapes
        (torch.expand(size=(2, 3)), [(2, 1)], "stablehlo", "broadcast_dimensions=(0, 1))"),
        (openvino.Broadcast3(mode="explicit", target_shape=(2, 3, 4), axes_mapping=(1,)), [(3,)], "onnx",
         "2. onnx.Expand(shape=(2, 3, 4))"),
    ],
)  # fmt: skip
def test_a_framework_is_translated_to_its_op_with_the_fewest_steps(
    op: Op, shapes: list[Shape], to: str, line: str
) -> None:
    assert said(op, *shapes, to=to)[-1].endswith(line)


def test_a_framework_without_a_fitting_op_is_refused_with_the_reason() -> None:
    with pytest.raises(Problem, match=r"no op of ggml can express this: .*ggml.repeat") as refused:
        ask(numpy.broadcast_to(shape=(2, 3)), (3,), to="ggml")
    assert refused.value.code == "untranslatable"
    with pytest.raises(Problem, match=r"no op of torch can express this: .*poputil.canBroadcastToMatch"):
        ask(poputil.canBroadcastToMatch(), (3,), (3,), to="torch")
    with pytest.raises(Problem, match="there is no op 'onx'"):
        ask(numpy.broadcast_to(shape=(2, 3)), (3,), to="onx")
