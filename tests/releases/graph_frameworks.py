"""Frameworks whose operations run as the nodes of a model or as the code of another language."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from operations import Array, Framework, even


class TensorFlowJs(Framework):
    def __init__(self) -> None:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from languages.interpreter import javascript

        tf = javascript()

        def product(op: dict[str, Any], x: list[Array]) -> list[Any]:
            swaps = (str(op.get(name, False)).lower() for name in ("transposeA", "transposeB"))
            return [tf.call(f"tf.matMul(x0, x1, {', '.join(swaps)})", *x)]

        self.runs = {
            "broadcastTo": lambda op, x: [tf.call(f"tf.broadcastTo(x0, {[*op['shape']]})", *x)],
            "add": lambda op, x: [tf.call("tf.add(x0, x1)", *x)],
            "where": lambda op, x: [tf.call("tf.where(x0, x1, x2)", even(x[0]), *x[1:])],
            "matMul": product,
        }


class LiteRt(Framework):
    isolated = True

    def __init__(self) -> None:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from litert_models import run

        self.runs = {
            "BROADCAST_TO": lambda op, x: [run("BROADCAST_TO", x, [*op["shape"]])],
            "ADD": lambda op, x: [run("ADD", x)],
            "SELECT_V2": lambda op, x: [run("SELECT_V2", [even(x[0]), *x[1:]])],
            "PRELU": lambda op, x: [run("PRELU", [-x[0], x[1]])],
        }


class Onnx(Framework):
    """Run by onnxruntime; onnx infers the shape."""

    def __init__(self) -> None:
        import onnxruntime
        from onnx import TensorProto, helper, numpy_helper

        onnxruntime.set_default_logger_severity(4)

        def run(op: dict[str, Any], x: list[Array]) -> list[Any]:
            kind = op["name"].partition(".")[2]
            x = [even(x[0]), *x[1:]] if kind == "Where" else x
            names = [f"x{number}" for number in range(len(x))]
            taken = [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape))
                for name, array in zip(names, x, strict=True)
            ]
            constants = []
            for name in {"shape", "repeats"} & set(op):
                constants.append(numpy_helper.from_array(np.array(op[name], np.int64), name))
            attributes = {name: value for name, value in op.items() if name not in ("name", "shape", "repeats")}
            attributes |= {name: float(op[name]) for name in ("alpha", "beta") if name in op}
            node = helper.make_node(kind, [*names, *(one.name for one in constants)], ["y"], **attributes)
            given = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
            graph = helper.make_graph([node], "one", taken, given, constants)
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            return list(session.run(None, dict(zip(names, x, strict=True))))

        kinds = ("Expand", "Add", "Sum", "Max", "Min", "Mean", "Where", "PRelu", "MatMul", "Gemm", "Tile")
        self.runs = dict.fromkeys(kinds, run)


class OpenVino(Framework):
    isolated = True

    def __init__(self) -> None:
        import openvino
        from openvino import op as ops
        from openvino import opset1
        from openvino.utils.node_factory import NodeFactory

        self.openvino, self.opset1, self.ops = openvino, opset1, ops
        self.factories = {name: NodeFactory(name) for name in ("opset1", "opset3")}
        self.runs = {
            "Broadcast-1": lambda op, x: [self._broadcast("opset1", op, x)],
            "Broadcast-3": lambda op, x: [self._broadcast("opset3", op, x)],
            "Add-1": lambda op, x: [self._add(op, x)],
            "Tile-1": lambda op, x: [self._node("opset1", "Tile", x, [self._constant(op["repeats"])], {})],
        }

    def _broadcast(self, opset: str, op: dict[str, Any], x: list[Array]) -> Any:
        mode = op.get("mode", "numpy")
        inputs = [self._constant(op["target_shape"])]
        if mode in ("explicit", "pdpd"):  # pdpd ignores it, and is not made without
            inputs.append(self._constant(op.get("axes_mapping", [])))
        attributes = {"mode": mode, "mode.auto_broadcast_axis": op.get("axis", 0)} if mode == "pdpd" else {"mode": mode}
        return self._node(opset, "Broadcast", x, inputs, attributes)

    def _add(self, op: dict[str, Any], x: list[Array]) -> Any:
        attributes: dict[str, Any] = {"auto_broadcast": op.get("auto_broadcast", "numpy")}
        if "axis" in op:
            attributes["auto_broadcast.auto_broadcast_axis"] = op["axis"]
        return self._node("opset1", "Add", x, [], attributes)

    def _constant(self, values: list[int]) -> Any:
        kind, shape = self.openvino.Type.i64, self.openvino.Shape([len(values)])
        return self.ops.Constant(kind, shape, values).output(0)

    def _node(self, opset: str, kind: str, x: list[Array], more: list[Any], attributes: dict[str, Any]) -> Any:
        parameters = [self.opset1.parameter(array.shape, np.float32) for array in x]
        node = self.factories[opset].create(kind, [*(one.output(0) for one in parameters), *more], attributes)
        return _Inferred(self, node, parameters, x)

    def to_numpy(self, tensor: Any) -> Array:
        array: Array = tensor.run()
        return array


class _Inferred:
    """A node whose shape OpenVINO has inferred, and which its CPU plugin is yet to run."""

    def __init__(self, framework: OpenVino, node: Any, parameters: list[Any], x: list[Array]) -> None:
        self.framework, self.node, self.parameters, self.x = framework, node, parameters, x
        partial = node.get_output_partial_shape(0)
        self.shape = [size.get_length() if size.is_static else -1 for size in partial]

    def run(self) -> Array:
        openvino = self.framework.openvino
        model = openvino.Model([self.framework.opset1.result(self.node)], self.parameters)
        array: Array = openvino.compile_model(model, "CPU")(self.x)[0]
        return array
