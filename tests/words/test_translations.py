"""The table of sentences about translations that are impossible."""

from __future__ import annotations

import pytest
from cases import cases

from axiscast.messages import TranslateRequest
from axiscast.ops import Op, einops, mxnet, ngraph, numpy, poputil
from axiscast.plan.plan import Shape
from axiscast.translation.translate import answer_translate
from axiscast.wire.problems import Problem

WHY_NOT: list[tuple[Op, list[Shape], str, str]] = [
    (
        ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}),
        [(3,)],
        "numpy.broadcast_arrays",
        "numpy.broadcast_arrays has no attribute for the size 2 of output axis 0 of (2, 3), along which input 0 of "
        "shape (3,) is replicated",
    ),
    (
        numpy.broadcast_to(shape=(2, 3)),
        [(3,)],
        "ngraph.BroadcastLike",
        "ngraph.BroadcastLike takes 2 inputs, but this request has 1",
    ),
    (
        poputil.canBroadcastToMatch(),
        [(3,), (3,)],
        "numpy.broadcast_arrays",
        "poputil.canBroadcastToMatch has no outputs: there is nothing to translate",
    ),
    (
        numpy.broadcast_arrays(),
        [(3,), (3,)],
        "poputil.canBroadcastToMatch",
        "poputil.canBroadcastToMatch has no outputs: there is nothing to translate",
    ),
    (
        numpy.broadcast_arrays(),
        [(3,), (3,)],
        "numpy.add",
        "numpy.add does not return its broadcast inputs: translate to numpy.broadcast_arrays or numpy.broadcast_to or "
        "numpy.tile",
    ),
    (
        einops.repeat(pattern="h w -> (h 2) w"),
        [(4, 3)],
        "xarray.broadcast",
        "xarray.broadcast has no attribute for the size 2 of output axis 1 of (4, 2, 3) (then merged to (8, 3)), "
        "along which input 0 of shape (4, 3) is replicated",
    ),
    (
        mxnet.broadcast_like(lhs_axes=(0,), rhs_axes=(1,)),
        [(1, 3), (5, 4)],
        "numpy.broadcast_arrays",
        "numpy.broadcast_arrays has no attribute for the size 4 of output axis 0 of (4, 3), along which input 0 of "
        "shape (1, 3) is replicated",
    ),
    (
        numpy.add(),
        [(2, 1), (1, 3)],
        "torch.expand_as",
        "torch.expand_as has no attribute for the size 3 of output axis 1 of (2, 3), along which input 0 of shape "
        "(2, 1) is replicated",
    ),
    (
        numpy.broadcast_arrays(),
        [(3,), (2, 3)],
        "poputil.expandToMatchRanks",
        "poputil.expandToMatchRanks can't replicate elements, but input 0 of shape (3,) is replicated along output "
        "axis 0 of (2, 3)",
    ),
    (
        numpy.broadcast_to(shape=(0, 3)),
        [(1, 3)],
        "mxnet.broadcast_to",
        "mxnet.broadcast_to has no attribute for the size 0 of output axis 0 of (0, 3), along which input 0 of "
        "shape (1, 3) is replicated",
    ),
    (
        numpy.broadcast_to(shape=(2,) * 9),
        [()],
        "paddle.expand",
        "paddle.expand takes at most 8 axes, but the output (2, 2, 2, 2, 2, 2, 2, 2, 2) has 9 axes whose size is not 1",
    ),
    (
        einops.repeat(pattern="a b -> (a b) z", axes_lengths={"z": 2}),
        [(2**63 - 1, 2)],
        "onnx.Expand",
        "onnx.Expand has no attribute for the size 2 of output axis 1 of (18446744073709551614, 2), along which input "
        "0 of shape (9223372036854775807, 2) is replicated",
    ),
    (
        numpy.matmul(),
        [(3,), (3,)],
        "tensorflow.matmul",
        "no tensorflow.matmul with these shapes was found, even with reshapes and transpositions before and after it",
    ),
    (
        numpy.broadcast_arrays(),
        [(2, 3), (2, 3)],
        "torch.expand_as",
        "no equivalent torch.expand_as was found, even with reshapes and transpositions before and after it",
    ),
    (
        numpy.broadcast_arrays(),
        [(3,), (3,)],
        "ggml.repeat",
        "ggml.repeat does not return its broadcast inputs: no other op of ggml returns them either",
    ),
]


@cases(("op", "shapes", "to", "why"), WHY_NOT)
def test_an_impossible_translation_is_a_problem_with_the_reason(op: Op, shapes: list[Shape], to: str, why: str) -> None:
    with pytest.raises(Problem) as caught:
        answer_translate(TranslateRequest(op=op, inputs=shapes, to=to))
    assert (caught.value.code, caught.value.pointer, caught.value.detail) == ("untranslatable", "/to", why)
