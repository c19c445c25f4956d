"""Files of the models, and runs of them in onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper, parser

from .graphs import Constants, Sizes
from .modules import Axes

OPSET = 18
onnxruntime.set_default_logger_severity(4)


def save_graph(graph: str, constants: Constants, path: Path) -> None:
    """Write the file of a graph. A size named `a_plus_b` becomes the expression `a + b`."""
    model = parser.parse_model(f'<ir_version: 9, opset_import: ["": {OPSET}]> graph {graph}')
    for name, value in constants.items():
        array = np.ones(value, np.float32) if isinstance(value, tuple) else np.array(value, np.int64)
        if name == "mask":
            array = array.astype(_type_of(model, name))
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    for value in model.graph.input:
        for size in value.type.tensor_type.shape.dim:
            if "_plus_" in size.dim_param:
                size.dim_param = size.dim_param.replace("_plus_", " + ")
    onnx.save(model, path)


def _type_of(model: onnx.ModelProto, name: str) -> type:
    """Return the element type of a constant, which is bool for the mask of a Where."""
    where = {node.input[0] for node in model.graph.node if node.op_type == "Where"}
    sliced = {node.input[0] for node in model.graph.node if node.op_type == "Slice" and node.output[0] in where}
    return np.bool_ if name in where | sliced else np.float32


def export_module(
    forward: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    axes: Axes | dict[str, list[int]],
    path: Path,
    dynamo: bool = False,
) -> None:
    """Export a module to a file by one of torch's two exporters. Raises the exceptions of the exporter."""

    class Wrapped(torch.nn.Module):
        """Return a forward function as a module."""

        def forward(self, *arguments: torch.Tensor) -> Any:
            return forward(*arguments)

    wrapped = Wrapped().eval()
    if isinstance(forward, torch.nn.Module):
        forward.eval()
        wrapped.inner = forward
    torch.manual_seed(0)
    arguments = tuple(torch.rand(shape) for shape in inputs.values())
    if dynamo:
        shapes = tuple(dict.fromkeys(axes[value], torch.export.Dim.DYNAMIC) for value in inputs)
        program = torch.onnx.export(
            wrapped, arguments, dynamo=True, input_names=list(inputs), dynamic_shapes=(shapes,), verbose=False
        )
        program.save(path)
        if not all(file_names(path, inputs, axes).values()):
            path.unlink()
            raise ValueError("the exporter has fixed a size")
        return
    with torch.no_grad():
        torch.onnx.export(
            wrapped, arguments, path, dynamo=False, opset_version=OPSET, input_names=list(inputs), dynamic_axes=axes
        )


def file_names(path: Path, inputs: Iterable[str], axes: Axes) -> dict[str, str]:
    """Return the name in the file of each free size. The newer exporter replaces the given names by its own."""
    by_name = {value.name: value.type.tensor_type.shape.dim for value in onnx.load(path).graph.input}
    return {name: by_name[value][axis].dim_param for value in inputs for axis, name in axes[value].items()}


class Runs:
    """A session of onnxruntime that says whether a model runs at given sizes."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def __call__(self, sizes: Sizes) -> str:
        """Return the error of a run, or "" if there is none."""
        feeds = {value.name: _made(value, sizes) for value in self._session.get_inputs()}
        try:
            self._session.run(None, feeds)
        except Exception as error:  # onnxruntime has a class for each status and no common one
            return str(error).splitlines()[0]
        return ""


def _made(value: Any, sizes: Sizes) -> np.ndarray:
    """Return an input of ones."""
    shape = [size if isinstance(size, int) else _size(size, sizes) for size in value.shape]
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}
    return np.ones(shape, types[value.type])


def _size(name: str, sizes: Sizes) -> int:
    return sizes[name] if name in sizes else sum(sizes[part] for part in name.split(" + "))
