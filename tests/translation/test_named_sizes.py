"""Translations of shapes with named sizes: the code takes the sizes from its inputs, and runs for every size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import cases
from snippet_runners import RUNNERS, runs
from test_snippets import distinct, names, placed
from test_translate import ask

import axiscast
from axiscast.engine.views import output_view
from axiscast.ops import Op, lower, mindspore, mxnet, ngraph, numpy, onnx, torch
from axiscast.wire.problems import Problem

Shape = tuple[int | str, ...]
BIAS = ngraph.Broadcast(shape=("N", "C", "H", "W"), broadcast_axes={0, 2, 3})
NEW_AXIS = ngraph.Broadcast(shape=("N", 16, 4), broadcast_axes={2})
CODE: list[tuple[Op, list[Shape], str, list[str]]] = [
    (NEW_AXIS, [("N", 16)], "torch.expand",
     ["t1 = x.reshape((x.shape[0], 16, 1))", "y = t1.expand((x.shape[0], 16, 4))"]),
    (BIAS, [("C",)], "torch.expand",
     ["# x has shape (C,), and you choose N, H, W", "import torch", "", "t1 = x.reshape((x.shape[0], 1, 1))",
      "y = t1.expand((N, x.shape[0], H, W))"]),
    (mindspore.broadcast_to(shape=(-1, 3, -1)), [("N", 1, "M")], "torch.expand",
     ["y = x.expand((x.shape[0], 3, x.shape[2]))"]),
    (mxnet.broadcast_to(shape=(0, 3)), [("N", 1)], "torch.expand", ["y = x.expand((x.shape[0], 3))"]),
    (torch.expand_as(), [(1, 3), ("N", 3)], "numpy", ["y = np.broadcast_to(x0, (x1.shape[0], 3))"]),
    (torch.expand(size=("N", 16)), [(16,)], "tensorflow", ["y = tf.broadcast_to(x, tf.TensorShape((N, 16)))"]),
    (torch.expand(size=(4, "N")), [("N",)], "tensorflow", ["y = tf.broadcast_to(x, (4, tf.shape(x)[0]))"]),
    (torch.expand(size=(4, "N")), [("N",)], "onnx.Expand",
     ['nodes.append(helper.make_node("Shape", ["x"], ["N_size"], start=0, end=1))',
      'initializers.append(numpy_helper.from_array(np.array([4], np.int64), "y_shape_0"))',
      'nodes.append(helper.make_node("Concat", ["y_shape_0", "N_size"], ["y_shape"], axis=0))',
      'nodes.append(helper.make_node("Expand", ["x", "y_shape"], ["y"]))']),
    (torch.add(), [("N", 3), (3,)], "numpy", ["y = np.add(x0, x1)"]),
]  # fmt: skip


@cases(("op", "shapes", "to", "lines"), CODE)
def test_the_code_takes_named_sizes_from_its_inputs(op: Op, shapes: list[Shape], to: str, lines: list[str]) -> None:
    text = ask(op, *shapes, to=to).code.text  # type: ignore[arg-type]
    assert text.splitlines()[-len(lines) :] == lines


def test_the_steps_contain_the_names() -> None:
    answer = axiscast.translate(NEW_AXIS, ("N", 16), to="torch.expand")
    assert [step["op"] for step in answer.model_dump()["steps"]] == [
        {"name": "reshape", "shape": ("N", 16, 1)},
        {"name": "torch.expand", "size": ("N", 16, 4)},
    ]


REFUSED: list[tuple[Op, list[Shape], str, str]] = [
    (numpy.add(), [("N",), ("M",)], "torch", "the shapes do not fit for every size"),
    (numpy.add(), [("2..",)] * 2, "torch", "2.. is a size without a name: code needs an integer, or a name such as N"),
    (numpy.tile(reps=(2,)), [("N",)], "torch.expand", r"an axis of the translation has the size 2\*N"),
    (torch.expand(size=(4, "N")), [("N",)], "stablehlo", "code for stablehlo needs integers instead of N"),
    (torch.expand(size=("N", 3)), [(3,)], "openvino", "code for openvino needs integers instead of N"),
]


@cases(("op", "shapes", "to", "detail"), REFUSED)
def test_sizes_that_code_cannot_take_are_refused(op: Op, shapes: list[Shape], to: str, detail: str) -> None:
    with pytest.raises(Problem, match=detail):
        ask(op, *shapes, to=to)  # type: ignore[arg-type]


EXECUTED: list[tuple[Op, list[Shape]]] = [
    (BIAS, [("C",)]),
    (NEW_AXIS, [("N", 16)]),
    (placed(2, 0, shape=("N", 5, "C")), [("C", "N")]),  # type: ignore[arg-type]
    (torch.expand(size=(-1, "H", -1)), [("N", 1, 4)]),
    (torch.expand_as(), [("C", 1), ("N", "C", 3)]),
    (numpy.broadcast_arrays(), [("N", 1), ("C",)]),
    (onnx.Expand(shape=(1, 3, 1)), [("N", 1, "C")]),
    (numpy.tile(reps=(2, 1, 3)), [("N", 4)]),
]
SIZES = ({"N": 2, "C": 3, "H": 4, "W": 5}, {"N": 7, "C": 5, "H": 1, "W": 2}, {"N": 1, "C": 1, "H": 6, "W": 1})


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("framework", [name for name in RUNNERS if name not in ("stablehlo", "openvino")])
def test_one_code_gives_the_bytes_of_the_original_for_every_size(framework: str) -> None:
    execute, ran = runs(framework), 0
    for op, shapes in EXECUTED:
        try:
            text = ask(op, *shapes, to=framework).code.text  # type: ignore[arg-type]
        except Problem:
            continue
        for sizes in SIZES:
            numbered: list[Any] = [tuple(sizes.get(size, size) for size in shape) for shape in shapes]  # type: ignore[call-overload]
            changed = {name: [sizes.get(size, size) for size in getattr(op, name)] for name, _, _ in op.symbols()}
            plan = lower(type(op).model_validate(op.__dict__ | changed), tuple(numbered))
            arrays = distinct(numbered)
            const = "const " if framework == "tfjs" else ""
            chosen = "".join(f"{const}{name} = {size};\n" for name, size in sizes.items())
            inputs = dict(zip(names("x", len(arrays)), arrays, strict=True))
            given = execute(chosen + text, inputs, names("y", len(plan.outputs)))
            for output, theirs in zip(plan.outputs, given, strict=True):
                ours = output_view(output, arrays[output.input]).reshape(output.shape)
                assert (ours.shape, ours.tobytes()) == (theirs.shape, np.asarray(theirs).tobytes()), text
            ran += 1
    assert ran >= len(SIZES)
