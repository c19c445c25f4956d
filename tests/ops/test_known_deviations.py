"""The warning release-differs: cases with and without every condition, as found by `python -m releases`."""

from __future__ import annotations

from random import Random

from cases import cases
from releases.cases import drawn_groups, hint_cases
from releases.claims import SAID, Case
from releases.environments import ENVIRONMENTS, NOT_RUN
from test_check import ask, codes

from axiscast.ops import (
    FRAMEWORKS,
    OPS,
    Op,
    array_api,
    dask,
    einops,
    jax,
    keras,
    litert,
    mindspore,
    mlx,
    mxnet,
    ngraph,
    numpy,
    onnx,
    openvino,
    opt_einsum,
    paddle,
    poputil,
    tensorflow,
    tfjs,
    tinygrad,
    torch,
)

Shapes = list[tuple[int, ...]]
ALTERNATING: Shapes = [(2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2)]


def pdpd(axis: int | None = None) -> Op:
    return openvino.Add1(auto_broadcast="pdpd", axis=axis)


DIFFERS: dict[str, tuple[Op, Shapes]] = {
    "canBroadcastToMatch, 0 against 3": (poputil.canBroadcastToMatch(), [(0,), (3,)]),
    "canBroadcastToMatch, a product that wraps": (poputil.canBroadcastToMatch(), [(2**32,), (2**33,)]),
    "BroadcastLike, an arg that is not a scalar": (ngraph.BroadcastLike(initial_broadcast_axes=(0,)), [(3,), (2, 3)]),
    "OpenVINO, axes repeated": (openvino.Broadcast1(mode="explicit", target_shape=(2,), axes_mapping=(0, 0)), [(1, 1)]),
    "OpenVINO, a -1 in the target": (openvino.Broadcast3(target_shape=(-1,)), [(3,)]),
    "OpenVINO, a -1 under a scalar's axis": (
        openvino.Broadcast1(mode="explicit", target_shape=(-1,), axes_mapping=(0,)),
        [()],
    ),
    "OpenVINO, a -1 that pdpd does not reach": (
        openvino.Broadcast1(mode="pdpd", target_shape=(3, -1), axis=1),
        [(2, 2)],
    ),
    "OpenVINO, a -1 that pdpd reaches": (openvino.Broadcast1(mode="pdpd", target_shape=(2, -1), axis=1), [(3,)]),
    "OpenVINO, an input of size 0": (openvino.Broadcast3(target_shape=(2, 0)), [(0,)]),
    "OpenVINO, a scalar to a scalar, version 1": (openvino.Broadcast1(target_shape=()), [()]),
    "OpenVINO, a scalar to a scalar, version 3": (openvino.Broadcast3(target_shape=()), [()]),
    "OpenVINO, a scalar and a scalar": (openvino.Broadcast3(mode="bidirectional", target_shape=()), [()]),
    "OpenVINO, 1 against a 0 of the target": (openvino.Broadcast3(mode="bidirectional", target_shape=(0, 1)), [(1, 2)]),
    "OpenVINO, pdpd beyond the target": (openvino.Broadcast1(mode="pdpd", target_shape=(2, 3), axis=3), [(3,)]),
    "OpenVINO, a -2 in the target": (openvino.Broadcast3(target_shape=(-2, 3)), [(3,)]),
    "OpenVINO, a 1 against a 0 of the first operand": (pdpd(), [(0,), (1,)]),
    "OpenVINO, a 1 against a 0 from axis 1 on": (pdpd(1), [(2, 0, 3), (1, 3)]),
    "OpenVINO, a 0 against a 1 of the first operand": (pdpd(), [(1,), (0,)]),
    "OpenVINO, a 0 against a 1, right-aligned": (pdpd(-1), [(2, 1, 3), (0, 3)]),
    "ONNX, X that would expand": (onnx.PRelu(), [(1, 3), (2, 3)]),
    "ONNX, X of a lower rank": (onnx.PRelu(), [(3,), (2, 3)]),
    "MindSpore, -2 beside a 0": (mindspore.broadcast_to(shape=(0, -2)), [(1,)]),
    "MindSpore, -2 beside a 0 that is kept": (mindspore.broadcast_to(shape=(-2, -1)), [(0,)]),
    "MindSpore, -2 without a 0": (mindspore.broadcast_to(shape=(-2, 3)), [(3,)]),
    "PyTorch, -3 beside a 0 that is kept": (torch.expand(size=(-3, -1)), [(0,)]),
    "PyTorch, -1 for a scalar beside a 0": (torch.expand(size=(0, -1)), [()]),
    "Paddle, -2 on an axis that is there": (paddle.expand(shape=(2, -2)), [(3,)]),
    "Paddle, -2 as the last of 8 sizes": (paddle.expand(shape=(*[1] * 7, -2)), [(2,)]),
    "Paddle, -2 on each of 8 axes": (paddle.broadcast_to(shape=(-2,) * 8), [(2,) * 8]),
    "Paddle, 2 against 0": (paddle.expand_as(), [(2,), (0,)]),
    "Paddle, 0 against 1": (paddle.expand_as(), [(0,), (1,)]),
    "TensorFlow, 6 axes that alternate": (tensorflow.broadcast_to(shape=(2,) * 6), [(2, 1, 2, 1, 2, 1)]),
    "TensorFlow, operands that alternate": (tensorflow.add(), ALTERNATING),
    "TensorFlow.js, a new axis of size 0": (tfjs.broadcastTo(shape=(0, 3)), [(3,)]),
    "TensorFlow.js, a 1 for a 0 beside a 1": (tfjs.broadcastTo(shape=(1, 0)), [(1,)]),
    "TensorFlow.js, a choice whose input 1 would be empty": (tfjs.where(), [(0,), (1,), (1,)]),
    "TensorFlow.js, stacks of 2 and of 3": (tfjs.matMul(), [(2, 1, 1, 2), (3, 2, 1)]),
    "TensorFlow.js, a stack that expands after its first axis": (tfjs.matMul(), [(2, 1, 1, 2), (2, 3, 2, 1)]),
    "TensorFlow.js, an empty stack and a matrix": (tfjs.matMul(), [(0, 2, 3), (3, 4)]),
    "Keras, 6 axes that alternate": (keras.broadcast_to(shape=(2,) * 6), [(2, 1, 2, 1, 2, 1)]),
    "TensorFlow, a product of rank 13": (tensorflow.matmul(), [(1,) * 11 + (2, 3), (3, 2)]),
    "TensorFlow, a choice of rank 9": (tensorflow.where(), [(2,), (2,) * 9, ()]),
    "Keras, a choice of rank 9": (keras.where(), [(2,), (2,) * 9, ()]),
    "Keras, operands that alternate": (keras.add(), ALTERNATING),
    "Keras, a product of rank 13": (keras.matmul(), [(1,) * 11 + (2, 3), (1, 3, 2)]),
    "Keras, a bias of axis 1": (keras.add(), [(2, 3, 1), (3,)]),
    "Keras, a bias of axis 1 that no rule takes": (keras.add(), [(2, 3, 4), (3,)]),
    "Keras, a bias of the last axis": (keras.add(), [(2, 3, 3), (3, 1)]),
    "Keras, a bias with more axes": (keras.add(), [(1, 2), (1, 1, 2)]),
    "Keras, a bias with a size 0": (keras.add(), [(2, 0, 2), (2, 0, 1)]),
    "array API, 33 axes": (array_api.broadcast_arrays(), [(1,) * 33, (3,)]),
    "array API, shapes with 33 axes": (array_api.broadcast_shapes(), [(3,), (1,) * 33]),
    "LiteRT, 9 axes that are broadcast": (litert.ADD(), [(1,) * 8 + (2,), (2,)]),
    "LiteRT, a slope for 9 axes": (litert.PRELU(), [(1,) * 8 + (2,), (2,)]),
    "LiteRT, a choice of one element": (litert.SELECT_V2(), [(1,), (1,), ()]),
    "LiteRT, a choice of 9 axes": (litert.SELECT_V2(), [(2,) * 9, (), ()]),
    "Dask, a summed axis of 1 against 3": (dask.matmul(), [(2, 1), (3, 4)]),
    "Dask, stacks of 3 and 0": (dask.matmul(), [(3, 1, 2), (0, 2, 2)]),
    "Dask, a summed axis of 1 against 2 in stacks of 0 and 3": (dask.matmul(), [(0, 1, 1), (3, 2, 2)]),
    "Dask, a summed axis of 0 against 3": (dask.matmul(), [(2, 0), (3, 4)]),
    "MindSpore, an empty tensor that is broadcast": (mindspore.maximum(), [(0,), (1,)]),
    "MindSpore, 9 axes that are broadcast": (mindspore.maximum(), [(2,) + (1,) * 8, (2,)]),
    "MindSpore, a sum over no elements": (mindspore.matmul(), [(2, 0), (0, 4)]),
    "Paddle, a stack of 3 and one of 0": (paddle.matmul(), [(3, 2, 2), (0, 2, 1)]),
    "Paddle, stacks of which the longer has a 1": (paddle.matmul(), [(1, 1, 1, 3), (2, 3, 0)]),
    "MXNet, a choice of rank 6": (mxnet.np_where(), [(1,) * 6, (1,) * 6, (1,) * 6]),
    "MXNet, a choice that expands to 0": (mxnet.np_where(), [(2, 1), (2, 0), ()]),
    "TensorFlow, a choice of rank 9 between equals": (tensorflow.where(), [(2,) * 9] * 3),
    "Dask, -3 for a 1": (dask.broadcast_to(shape=(-3,)), [(1,)]),
    "Dask, -1 on a new axis": (dask.broadcast_to(shape=(-1, 3)), [(3,)]),
    "tinygrad, -3 for a 1": (tinygrad.expand(shape=(-3,)), [(1,)]),
    "tinygrad, -3 on a new axis": (tinygrad.expand(shape=(-3, 3)), [(3,)]),
    "MXNet, 6 axes that alternate": (mxnet.broadcast_to(shape=(2,) * 6), [(2, 1, 2, 1, 2, 1)]),
    "MXNet, 7 axes and a 0 that keeps": (mxnet.broadcast_to(shape=(2,) * 6 + (0,)), [(2, 1, 2, 1, 2, 1, 2)]),
    "MXNet, a 1 beside a size 0": (mxnet.broadcast_to(shape=(3, 0)), [(1, 0)]),
    "MXNet, more than 3 axes that expand": (mxnet.broadcast_to(shape=(2, 1, 2, 1, 2, 1, 2, 3)), [(1,) * 7 + (3,)]),
    "MXNet, operands that alternate": (mxnet.broadcast_add(), ALTERNATING),
    "einops, -1 for a new axis": (einops.repeat(pattern="a -> a n", axes_lengths={"n": -1}), [(3,)]),
    "NumPy, a 0 before a 3 on a diagonal": (numpy.einsum(equation="ll->l"), [(0, 3)]),
    "NumPy, a 0 before a 1 beside an ellipsis of no axes": (numpy.einsum(equation="...ijj->ij"), [(2, 0, 1)]),
    "opt_einsum, a 0 before a 1 on a diagonal": (opt_einsum.contract(equation="ii->i"), [(0, 1)]),
    "opt_einsum, a 0 and a 1 of three operands": (
        opt_einsum.contract(equation="I,I,I...,II..."),
        [(1,), (0,), (1, 1, 3), (1, 1, 1, 3)],
    ),
    "einops, a 0 before a 3 on a diagonal": (einops.einsum(pattern="l l -> l"), [(0, 3)]),
    "JAX, a 1 on a diagonal": (jax.einsum(equation="ii->i"), [(1, 3)]),
    "JAX, a 1 on a diagonal of two operands": (jax.einsum(equation="B,BB->"), [(3,), (1, 3)]),
    "Paddle, a letter after a repeated one": (paddle.einsum(equation="iij->j"), [(2, 2, 3)]),
    "Paddle, two repeated letters": (paddle.einsum(equation="iikk->ik"), [(2, 2, 3, 3)]),
    "Paddle, an ellipsis after a repeated letter": (
        paddle.einsum(equation="aa...,jaa...->..."),
        [(1, 3), (2, 1, 1, 3)],
    ),
    "Paddle, three operands and ellipses of 0 and 2 axes": (
        paddle.einsum(equation="...,...,...->..."),
        [(3,), (1, 3), (1,)],
    ),
    "Paddle, an unknown letter beside a 0": (paddle.einsum(equation="a,iBka->Bzk"), [(2,), (4, 1, 0, 2)]),
    "Paddle, an unknown letter for one tensor with a 0": (paddle.einsum(equation="jj->jz"), [(0, 1)]),
    "Paddle, a 1 that expands in eight axes": (paddle.einsum(equation="abcdefgh,a->a"), [(1,) * 8, (2,)]),
    "Paddle, a new axis that expands among eight": (
        paddle.einsum(equation="...abcde,...->...abcde"),
        [(2,) * 6, (2, 2, 2)],
    ),
    "Paddle, an ellipsis in an operand of nine axes": (paddle.einsum(equation="...a->...a"), [(1,) * 9]),
    "Paddle, an unknown letter beside an ellipsis": (paddle.einsum(equation="ab...->...wa"), [(2, 4, 4, 3)]),
    "Paddle, a digit in the output": (paddle.einsum(equation="I,I->1"), [(3,), (3,)]),
    "MLX, a 1 beside a 0": (mlx.einsum(equation="kj,j->k"), [(4, 0), (1,)]),
    "MLX, a sum over a 0": (mlx.einsum(equation="IjB->B"), [(2, 0, 2)]),
    "TensorFlow, three operands and an ellipsis in the output": (tensorflow.einsum(equation="i,i,i->...i"), [(2,)] * 3),
    "TensorFlow, a diagonal of seven axes": (tensorflow.einsum(equation="aabcdefg->a"), [(2,) * 8]),
    "TensorFlow, a line break after the equation": (tensorflow.einsum(equation="ij,jk->ik\n"), [(2, 3), (3, 4)]),
    "TensorFlow, an ellipsis twice": (tensorflow.einsum(equation="......->..."), [(2, 3)]),
    "TensorFlow, a 0 before a 3 on a diagonal": (tensorflow.einsum(equation="BB,->"), [(0, 3), ()]),
    "TensorFlow, a 0 before a 2 on a diagonal of three operands": (
        tensorflow.einsum(equation="aa,aa,a->a"),
        [(0, 2), (0, 0), (1,)],
    ),
    "TensorFlow, a 0 before a 2 of two operands": (tensorflow.einsum(equation="iIj,jiI->j"), [(0, 0, 2), (2, 2, 0)]),
    "TensorFlow, a stack of (3, 1) and a matrix": (tensorflow.matmul(), [(3, 1, 8, 5), (5, 4)]),
    "TensorFlow, a stack of (3, 1) beside a transposed matrix": (
        tensorflow.matmul(transpose_b=True),
        [(3, 1, 8, 5), (4, 5)],
    ),
    "Keras, stacks of (3, 1) and 1": (keras.matmul(), [(3, 1, 8, 5), (1, 5, 4)]),
    "TensorFlow, an ellipsis of (3, 1) and a scalar": (tensorflow.einsum(equation="ja...,->ja..."), [(2, 3, 3, 1), ()]),
    "TensorFlow, an ellipsis of 3 and a letter of 1": (
        tensorflow.einsum(equation="b...jk,bkl->...bjl"),
        [(1, 3, 8, 5), (1, 5, 4)],
    ),
    "TensorFlow, an ellipsis of (3, 1) in the last of three operands": (
        tensorflow.einsum(equation="kl,lm,...jk->...jm"),
        [(5, 4), (4, 2), (3, 1, 8, 5)],
    ),
    "einops, -2 beside a 0": (einops.repeat(pattern="-> n m", axes_lengths={"n": -2, "m": 0}), [()]),
}


@cases(("op", "shapes"), DIFFERS.values(), ids=DIFFERS)
def test_a_request_on_which_the_release_differs_has_the_warning(op: Op, shapes: Shapes) -> None:
    assert "release-differs" in codes(ask(op, *shapes))


REFUSES: dict[str, tuple[Op, Shapes]] = {
    "Paddle, an unknown letter and more tensors than operands": (paddle.einsum(equation="i->ij"), [(0,), (1,)]),
    "OpenVINO, 0 against 3 in pdpd mode": (pdpd(), [(0,), (3,)]),
    "OpenVINO, 3 against 0 in pdpd mode": (pdpd(), [(3,), (0,)]),
    "OpenVINO, 0 against 1 and 1 against 0 in pdpd mode": (pdpd(), [(1, 0), (0, 1)]),
    "ONNX, a slope that no rule takes": (onnx.PRelu(), [(2, 3), (2,)]),
    "MindSpore, -1 on a new axis": (mindspore.broadcast_to(shape=(-1, 0, -2)), [(1,)]),
    "PyTorch, sizes that differ": (torch.expand(size=(-2, 0)), [(3,)]),
    "Paddle, -1 on a new axis too": (paddle.expand(shape=(-1, -2)), [(3,)]),
    "Paddle, -2 as the last of 9 sizes": (paddle.expand(shape=(*[1] * 8, -2)), [(2,)]),
    "Paddle, -2 after a new axis before 8": (paddle.broadcast_to(shape=(1, *[-2] * 8)), [(2,) * 8]),
    "Paddle, -2 for a tensor of more axes": (paddle.expand(shape=(-2,)), [(1, 3)]),
    "Paddle, sizes that differ too": (paddle.expand(shape=(2, -2)), [(3, 3)]),
    "PyTorch, the product of two scalars": (torch.matmul(), [(), ()]),
    "Paddle, an empty tensor of higher rank": (paddle.expand_as(), [(0, 2), (2,)]),
    "Dask, a summed axis of 5 against 2 in stacks of 3 and 0": (dask.matmul(), [(3, 1, 5), (0, 2, 2)]),
    "Dask, a summed axis of 2 against 3": (dask.matmul(), [(2, 2), (3, 4)]),
    "Dask, -3 for a 3": (dask.broadcast_to(shape=(-3,)), [(3,)]),
    "tinygrad, -3 for a 3": (tinygrad.expand(shape=(-3,)), [(3,)]),
    "NumPy, a 3 before a 0 on a diagonal": (numpy.einsum(equation="ll->l"), [(3, 0)]),
    "NumPy, a 0 on a summed diagonal": (numpy.einsum(equation="jj->"), [(0, 4)]),
    "NumPy, a 0 on a diagonal of two operands": (numpy.einsum(equation="...kk,...->..."), [(0, 2), ()]),
    "opt_einsum, a 0 before a 2 on a diagonal": (opt_einsum.contract(equation="ii->i"), [(0, 2)]),
    "JAX, a 2 on a diagonal of 3": (jax.einsum(equation="ii->i"), [(2, 3)]),
    "Paddle, an unknown letter": (paddle.einsum(equation="i->z"), [(3,)]),
    "TensorFlow, a 2 before a 0": (tensorflow.einsum(equation="i,i->i"), [(2,), (0,)]),
    "TensorFlow, a 2 before a 0 on a diagonal of three operands": (
        tensorflow.einsum(equation="aa,aa,a->a"),
        [(2, 0), (0, 0), (1,)],
    ),
}


@cases(("op", "shapes"), REFUSES.values(), ids=REFUSES)
def test_a_request_that_the_release_refuses_too_has_no_warning(op: Op, shapes: Shapes) -> None:
    answer = ask(op, *shapes)
    assert answer.compatible is False
    assert codes(answer) == []


AGREES: dict[str, tuple[Op, Shapes]] = {
    "LiteRT, 9 axes of equal sizes": (litert.ADD(), [(2,) * 9, (2,) * 9]),
    "LiteRT, a choice of scalars": (litert.SELECT_V2(), [(), (), ()]),
    "LiteRT, a choice of two elements": (litert.SELECT_V2(), [(1,), (2,), (1,)]),
    "array API, 32 axes": (array_api.broadcast_arrays(), [(1,) * 32, (3,)]),
    "canBroadcastToMatch": (poputil.canBroadcastToMatch(), [(2,), (2,)]),
    "BroadcastLike of a scalar": (ngraph.BroadcastLike(initial_broadcast_axes=(0,)), [(), (2,)]),
    "OpenVINO": (openvino.Broadcast3(target_shape=(2, 3)), [(3,)]),
    "OpenVINO, a scalar to a scalar, explicit": (
        openvino.Broadcast1(mode="explicit", target_shape=(), axes_mapping=()),
        [()],
    ),
    "OpenVINO, a scalar to one element": (openvino.Broadcast1(target_shape=(1,)), [()]),
    "OpenVINO, a 0 of the target on a new axis": (
        openvino.Broadcast3(mode="bidirectional", target_shape=(0, 1)),
        [(2,)],
    ),
    "OpenVINO, 0 against 0 in pdpd mode": (pdpd(1), [(2, 0), (0,)]),
    "OpenVINO, a 0 that input 1 does not meet": (pdpd(1), [(0, 2), (2,)]),
    "ONNX, empty stacks": (onnx.MatMul(), [(1, 2, 3), (0, 3, 4)]),
    "ONNX, stacks that broadcast, K 0": (onnx.MatMul(), [(2, 1, 0), (0, 3)]),
    "TensorFlow, 5 axes that alternate": (tensorflow.broadcast_to(shape=(2,) * 5), [(2, 1, 2, 1, 2)]),
    "TensorFlow, 6 axes, two of them alike": (tensorflow.broadcast_to(shape=(2,) * 6), [(2, 2, 1, 2, 1, 2)]),
    "TensorFlow, an axis of size 1 between": (tensorflow.broadcast_to(shape=(2, 1, 2, 2, 2, 2)), [(2, 1, 2, 1, 2, 1)]),
    "TensorFlow, no elements": (tensorflow.broadcast_to(shape=(2, 2, 2, 2, 2, 0)), [(2, 1, 2, 1, 2, 1)]),
    "TensorFlow, a choice of rank 8": (tensorflow.where(), [(2,), (2,) * 8, ()]),
    "TensorFlow, a stack of (4, 1) whose matrices have 4 rows": (tensorflow.matmul(), [(4, 1, 4, 5), (5, 4)]),
    "TensorFlow, a stack of (20, 1) whose matrices have one row": (tensorflow.matmul(), [(20, 1, 1, 5), (5, 4)]),
    "TensorFlow, a stack of (3, 2)": (tensorflow.matmul(), [(3, 2, 8, 5), (5, 4)]),
    "TensorFlow, a stack of (1, 3)": (tensorflow.matmul(), [(1, 3, 8, 5), (5, 4)]),
    "TensorFlow, a stack of (3, 1, 1)": (tensorflow.matmul(), [(3, 1, 1, 8, 5), (5, 4)]),
    "TensorFlow, two stacks of (3, 1)": (tensorflow.matmul(), [(3, 1, 8, 5), (3, 1, 5, 4)]),
    "TensorFlow, a stack of (3, 1) of transposed matrices": (
        tensorflow.matmul(transpose_a=True),
        [(3, 1, 5, 8), (5, 4)],
    ),
    "TensorFlow, an ellipsis of (3, 1) in the second operand": (
        tensorflow.einsum(equation="kl,...jk->...jl"),
        [(5, 4), (3, 1, 8, 5)],
    ),
    "Keras, a stack of (3, 1) and a matrix": (keras.matmul(), [(3, 1, 8, 5), (5, 4)]),
    "Paddle, nine letters beside another operand": (paddle.einsum(equation="abcdefghi,k->"), [(1,) * 9, (4,)]),
    "TensorFlow, a product of rank 12": (tensorflow.matmul(), [(1,) * 10 + (2, 3), (3, 2)]),
    "TensorFlow.js, a 0 beside an axis that expands to 2": (tfjs.broadcastTo(shape=(2, 0)), [(1,)]),
    "TensorFlow.js, a 0 that is in the input": (tfjs.broadcastTo(shape=(1, 0)), [(0,)]),
    "TensorFlow.js, a choice whose condition is not empty": (tfjs.where(), [(1,), (0,), (1,)]),
    "TensorFlow.js, a matrix for each of a stack": (tfjs.matMul(), [(2, 3, 1, 2), (2, 1)]),
    "TensorFlow.js, a stack without its first axis": (tfjs.matMul(), [(2, 3, 1, 2), (1, 3, 2, 1)]),
    "MXNet, 7 axes beside axes of size 1": (mxnet.broadcast_add(), [(2,) * 7, (1,) * 7]),
    "MXNet, 7 axes of size 1 beside others": (mxnet.broadcast_add(), [(1,) * 7, (2,) * 7]),
    "MXNet, 5 axes that alternate": (mxnet.broadcast_to(shape=(2,) * 5), [(2, 1, 2, 1, 2)]),
    "MXNet, one axis beside a size 0": (mxnet.broadcast_axis(axis=0, size=3), [(1, 0)]),
    "MXNet, mx.np beside a size 0": (mxnet.np_broadcast_to(shape=(3, 0)), [(1, 0)]),
    "tinygrad, -1 for a 1": (tinygrad.expand(shape=(-1, 3)), [(1, 3)]),
    "Keras, a bias that is aligned": (keras.add(), [(2, 3, 4), (3, 1)]),
    "Keras, a product of 13 axes with a matrix": (keras.matmul(), [(1,) * 11 + (2, 3), (3, 2)]),
    "Paddle, a repeated letter after the others": (paddle.einsum(equation="jii->j"), [(3, 2, 2)]),
    "Paddle, a letter between and after its repetition": (paddle.einsum(equation="kiik->"), [(2, 3, 3, 2)]),
    "Paddle, a letter after a repeated one of size 0": (paddle.einsum(equation="iij->j"), [(0, 0, 3)]),
    "Paddle, a 1 on a diagonal": (paddle.einsum(equation="ii->i"), [(1, 3)]),
    "Paddle, two ellipses in the output": (paddle.einsum(equation="I...,I...->......"), [(3, 3), (3,)]),
    "JAX, an ellipsis of no axes twice in the output": (jax.einsum(equation="...,...->......"), [(), ()]),
    "MLX, a 0 in the result": (mlx.einsum(equation="kj,j->kj"), [(4, 0), (0,)]),
    "TensorFlow, a diagonal of six axes": (tensorflow.einsum(equation="aabcdef->a"), [(2,) * 7]),
    "TensorFlow, seven axes without a diagonal": (tensorflow.einsum(equation="abcdefg->a"), [(2,) * 7]),
    "TensorFlow, two operands and an ellipsis in the output": (tensorflow.einsum(equation="i,i->...i"), [(2,)] * 2),
    "MindSpore, empty tensors of equal shapes": (mindspore.maximum(), [(0,), (0,)]),
    "MindSpore, an empty tensor and a scalar": (mindspore.maximum(), [(0, 2), ()]),
    "MindSpore, 9 axes and a scalar": (mindspore.maximum(), [(2,) * 9, ()]),
    "MindSpore, a product without elements": (mindspore.matmul(), [(0, 0), (0, 4)]),
    "Paddle, a 1 that expands in seven axes": (paddle.einsum(equation="abcdefg,a->a"), [(1,) * 7, (2,)]),
    "Paddle, eight axes of which none expands": (paddle.einsum(equation="abcdefgh,a->a"), [(2,) * 8, (1,)]),
    "Paddle, a 1 beside a 0 in eight axes": (paddle.einsum(equation="abcdefgh,a->a"), [(1,) * 8, (0,)]),
    "Paddle, stacks that broadcast, of equal ranks": (paddle.matmul(), [(3, 1, 2), (1, 2, 0)]),
}


@cases(("op", "shapes"), AGREES.values(), ids=AGREES)
def test_a_request_on_which_the_release_agrees_has_no_warning(op: Op, shapes: Shapes) -> None:
    answer = ask(op, *shapes)
    assert answer.compatible is True
    assert codes(answer) == []


def test_the_script_covers_every_condition_and_checks_its_warning() -> None:
    met = set()
    for name, kind in OPS.items():
        if not kind.has_deviations() or name.split(".")[0] in NOT_RUN:
            continue
        warnings = [warning for warning in drawn_groups(kind, 20, Random(name)) if warning]
        assert warnings, name
        for warning in warnings:
            (words,) = (words for words in SAID if words in warning)
            met.add(words)
    assert met == SAID.keys()


def test_the_script_executes_the_hints_for_a_conflict() -> None:
    (hint, *_) = hint_cases(Case(numpy.einsum(equation="ij,jk->ik"), ({"equation": "ij,jk->ik"}, ((2, 3), (4, 3)))))
    assert hint.request == {"op": {"name": "numpy.einsum", "equation": "ij,kj->ik"}, "inputs": ((2, 3), (4, 3))}
    assert [array.shape for array in hint.expected or ()] == [(2, 4)]


def test_every_framework_is_executed_or_listed_with_a_reason() -> None:
    assert ENVIRONMENTS.keys() | NOT_RUN.keys() == FRAMEWORKS.keys()
    assert not ENVIRONMENTS.keys() & NOT_RUN.keys()


def test_each_environment_installs_the_release_that_the_rules_were_tested_against() -> None:
    for framework, packages in ENVIRONMENTS.items():
        name, version = FRAMEWORKS[framework].reference
        assert f"{name}=={version}" in [package.replace("[cpu]", "") for package in packages]
