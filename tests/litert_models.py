"""Runs LiteRT models of one operator. This file imports LiteRT and NumPy, but not axiscast."""

from __future__ import annotations

from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

Array = np.ndarray[Any, np.dtype[Any]]
_OPTIONS = {"ADD": "Add", "BROADCAST_TO": "BroadcastTo", "SELECT_V2": "SelectV2"}
"""The name of an operator's options in the schema. PRELU has none."""
_TYPES = {"b": schema.TensorType.BOOL, "f": schema.TensorType.FLOAT32, "i": schema.TensorType.INT32}


def run(operator: str, inputs: list[Array], target: list[int] | None = None) -> Array:
    """Return the output of an operator. `target` is a constant after the inputs. Raises what LiteRT raises."""
    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES  # XNNPACK does not print the shapes in its errors
    interpreter = Interpreter(model_content=_model(operator, inputs, target), experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    for details, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(details["index"], array)
    interpreter.invoke()
    result: Array = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return result


def _model(operator: str, inputs: list[Array], target: list[int] | None) -> bytes:
    model, graph, code, node = schema.ModelT(), schema.SubGraphT(), schema.OperatorCodeT(), schema.OperatorT()
    model.version, model.buffers, model.subgraphs, model.operatorCodes = 3, [schema.BufferT()], [graph], [code]
    code.builtinCode = getattr(schema.BuiltinOperator, operator)
    code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1 + (target is not None)
    graph.tensors = [_tensor(f"x{number}", array) for number, array in enumerate(inputs)]
    graph.inputs = [*range(len(inputs))]
    if target is not None:
        sizes = np.array(target, np.int32)
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(sizes.tobytes(), np.uint8)
        model.buffers.append(buffer)
        graph.tensors.append(_tensor("target", sizes, buffer=1))
    node.inputs = [*range(len(graph.tensors))]
    graph.tensors.append(_tensor("y", np.zeros((), np.float32)))
    node.outputs = graph.outputs = [len(graph.tensors) - 1]
    if operator in _OPTIONS:
        name = f"{_OPTIONS[operator]}Options"
        node.builtinOptionsType, node.builtinOptions = (
            getattr(schema.BuiltinOptions, name),
            getattr(schema, f"{name}T")(),
        )
    graph.operators = [node]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _tensor(name: str, array: Array, buffer: int = 0) -> Any:
    tensor = schema.TensorT()
    tensor.name, tensor.shape, tensor.type, tensor.buffer = name, [*array.shape], _TYPES[array.dtype.kind], buffer
    return tensor
