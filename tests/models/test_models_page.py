"""docs/models.md shows the reports that the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, save

from axiscast.cli import main

PAGE = (Path(__file__).parents[2] / "docs/models.md").read_text()
MODELS = {
    "axiscast check": (
        {"prediction": ["batch", 1], "target": ["batch"]},
        [("Sub", "prediction", "target", "error"), ("Mul", "error", "error", "loss")],
    ),
    "Add y: pinned": ({"x": ["batch", "seq", 8], "pos": [1, 12, 8]}, [("Add", "x", "pos", "y")]),
}
"""A text in the example, and the inputs and nodes of its model."""


@pytest.mark.parametrize("text", MODELS)
def test_the_page_shows_what_the_command_prints(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inputs, operations = MODELS[text]
    nodes = [helper.make_node(op, [one, other], [out], out) for op, one, other, out in operations]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    outputs = [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)]
    save(helper.make_model(helper.make_graph(nodes, "graph", values, outputs)), "model.onnx")
    done = CliRunner().invoke(main, ["check", "model.onnx"])
    (example,) = [block for block in re.findall(r"```\n(.*?)```", PAGE, re.DOTALL) if text in block]
    shown = example.removeprefix("$ axiscast check model.onnx\n").rstrip()
    assert shown
    assert (done.exit_code, done.output.startswith(shown)) == (1, True), done.output
