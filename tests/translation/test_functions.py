"""Functions that compute, such as add, matmul and einsum, are translated to functions that compute the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import cases
from snippet_runners import RUNNERS, Array, runs
from test_snippets import distinct
from test_translate import Shape, ask

import axiscast
from axiscast.ops import OPS, Op, einops, mxnet, numpy, octave, onnx, tensorflow, torch
from axiscast.wire.problems import Problem

CODE: list[tuple[Op, list[Shape], str, str]] = [
    (numpy.matmul(), [(8, 2, 3), (3, 4)], "torch.matmul", "y = torch.matmul(x0, x1)"),
    (numpy.matmul(), [(2, 3), (3,)], "jax", "y = jax.numpy.matmul(x0, x1)"),
    (mxnet.broadcast_add(), [(2, 3), (3,)], "torch.add", "y = torch.add(x0, x1)"),
    (torch.add(), [(2, 3), (3,)], "numpy.add", "y = np.add(x0, x1)"),
    (torch.add(), [(2, 3), (3,)], "tensorflow", "y = tf.add(x0, x1)"),
    (onnx.Add(), [(2, 3), (3,)], "openvino", "y = opset1.add(x0, x1)"),
    (torch.einsum(equation="ij,jk->ik"), [(2, 3), (3, 4)], "numpy", "y = np.einsum('ij,jk->ik', x0, x1)"),
    (torch.einsum(equation="ij,jk->ik"), [(2, 3), (3, 4)], "einops", "y = einops.einsum(x0, x1, 'i j, j k -> i k')"),
    (einops.einsum(pattern="row k, k -> row"), [(2, 3), (3,)], "torch", "y = torch.einsum('ab,b->a', x0, x1)"),
    (tensorflow.matmul(transpose_b=True), [(2, 3), (4, 3)], "numpy",
     "t1 = x1.transpose((1, 0))\ny = np.matmul(x0, t1)"),
    (octave.plus(), [(2, 3), (2,)], "numpy", "t1 = x1.reshape((2, 1))\ny = np.add(x0, t1)"),
    (onnx.Where(), [(2, 1), (3,), ()], "torch", "y = torch.where(x0, x1, x2)"),
    (numpy.add(), [(2, 1), (3,)], "onnx", 'nodes.append(helper.make_node("Add", ["x0", "x1"], ["y"]))'),
    (numpy.add(), [(2, 1), (3,)], "mxnet", "y = mx.nd.broadcast_add(x0, x1)"),
]  # fmt: skip


@cases(("op", "shapes", "to", "code"), CODE)
def test_the_code_calls_the_function_that_computes_the_same(op: Op, shapes: list[Shape], to: str, code: str) -> None:
    assert ask(op, *shapes, to=to).code.text.endswith(f"\n{code}")


def test_an_alias_keeps_its_name_on_the_wire() -> None:
    answer = axiscast.translate("numpy.multiply", (2, 3), (3,), to="torch")
    assert answer.model_dump()["steps"] == [{"op": {"name": "torch.mul"}, "input": None}]
    assert axiscast.TranslateAnswer.model_validate(answer.model_dump()).steps[0].op.alias == "torch.mul"
    assert answer.code.text.endswith("y = torch.mul(x0, x1)")


REFUSED: list[tuple[str, str, str]] = [
    ("numpy.add", "torch.mul", "torch.mul is not known to compute the same as numpy.add: translate to torch.add"),
    ("numpy.mod", "openvino", "openvino is not known to compute the same as numpy.mod"),  # another sign
    ("numpy.divide", "openvino", "openvino is not known to compute the same as numpy.divide"),  # rounds integers
    ("numpy.matmul", "torch.add", "torch.add is not known to compute the same as numpy.matmul: translate to torch.m"),
    ("numpy.matmul", "tensorflow", "tensorflow.matmul"),  # takes no vector
]


@cases(("op", "to", "detail"), REFUSED)
def test_a_function_is_never_replaced_by_another_one(op: str, to: str, detail: str) -> None:
    with pytest.raises(axiscast.Untranslatable, match=detail):
        axiscast.translate(op, (3,), (3,), to=to)


def test_code_that_only_broadcasts_says_so() -> None:
    text = ask(numpy.add(), (2, 3), (3,), to="torch.broadcast_tensors").code.text
    assert "# this code only broadcasts the inputs of numpy.add, and does not compute" in text


COMPUTED: list[tuple[Op, list[Shape], Callable[..., Any]]] = [
    (torch.add(), [(2, 1), (3,)], np.add),
    (octave.plus(), [(2, 3), (2,)], lambda a, b: a + b[:, None]),
    (torch.matmul(), [(5, 2, 3), (3, 4)], np.matmul),
    (tensorflow.matmul(transpose_b=True), [(2, 3), (4, 3)], lambda a, b: a @ b.T),
    (torch.einsum(equation="bij,bjk->bik"), [(5, 2, 3), (5, 3, 4)], np.matmul),
    (einops.einsum(pattern="row k, k col -> col row"), [(2, 3), (3, 4)], lambda a, b: (a @ b).T),
]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("framework", RUNNERS)
def test_the_code_computes_the_values_of_the_original(framework: str) -> None:
    execute, ran = runs(framework), 0
    for op, shapes, expected in COMPUTED:
        try:
            answer = ask(op, *shapes, to=framework)
        except Problem:
            continue
        arrays: list[Array] = distinct(shapes)
        (given,) = execute(answer.code.text, dict(zip(("x0", "x1"), arrays, strict=True)), ["y"])
        np.testing.assert_allclose(np.asarray(given), expected(*arrays), err_msg=answer.code.text, rtol=1e-6)
        ran += 1
    if any(name.startswith(f"{framework}.") and name.endswith((".add", ".Add")) for name in OPS):
        assert ran >= 2
