"""Where the values of an ONNX graph come from, as the rule of what is meant asks it (lineage.py)."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from ..finding import Operand
from ..provenance import Fact, Frame, frames, is_meant, made, way_of_new_axis
from .graph import text

_TRACE = "pkg.torch.onnx.stack_trace"
_COMPARISONS = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}
_NEW_AXIS = {"Unsqueeze", "Reshape"}
_SHAPE = _NEW_AXIS | {"Squeeze", "Flatten", "Transpose", "Slice", "Identity", "Expand"}
"""Ops whose first input is data, and whose other inputs state a shape or places."""
_NAMES = """Abs Add And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Clip Cos Div Elu Equal Erf Exp
    Floor Greater GreaterOrEqual LeakyRelu Less LessOrEqual Log Max Mean Min Mod Mul Neg Not Or Pow PRelu Reciprocal
    Relu Round Sigmoid Sign Sin Softplus Sqrt Sub Sum Tanh Where Xor"""
_ELEMENTWISE = {*_NAMES.split()}
_DISCRETE = {
    TensorProto.BOOL,
    *(TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64),
    *(TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64),
}


def trace_of(node: NodeProto) -> list[Frame]:
    """Return the lines that a node comes from, as torch's exporter notes them, the innermost last."""
    return frames(text(next((entry.value for entry in node.metadata_props if entry.key == _TRACE), "")))


class Ancestry:
    """What is known of each value that a graph sees. Nodes are added in order."""

    def __init__(self, graph: GraphProto, outer: Ancestry | None = None) -> None:
        self._facts: ChainMap[str, Fact] = outer._facts.new_child() if outer else ChainMap()
        self._types: ChainMap[str, int] = outer._types.new_child() if outer else ChainMap()
        values: tuple[ValueInfoProto, ...] = (*graph.input, *graph.output, *graph.value_info)
        self._types.update((value.name, value.type.tensor_type.elem_type) for value in values)
        self._types.update((tensor.name, tensor.data_type) for tensor in graph.initializer)
        self._facts.update((value.name, made()) for value in graph.input)
        for tensor in graph.initializer:
            self._facts[tensor.name] = made(is_index=tensor.data_type in _DISCRETE)

    def add(self, node: NodeProto) -> None:
        """Note what is known of the results of a node."""
        op, own = node.op_type, node.domain == ""
        is_shape, keeps = op in _SHAPE and own, op in _ELEMENTWISE and own
        operands = list(node.input[:1] if is_shape else node.input)
        before = [fact for name in operands if (fact := self._facts.get(name)) is not None]
        frame = next(iter(trace_of(node)[::-1]), None)
        is_index = own and (
            op == "Range" or (op == "Constant" and any(self._types.get(name) in _DISCRETE for name in node.output))
        )
        way = way_of_new_axis(frame) if own and op in _NEW_AXIS else "reduction" if _keeps_axis(node) else ""
        for name in node.output:
            self._facts[name] = made(before, keeps=is_shape or keeps, is_index=is_index, way=way, frame=frame)

    def is_meant(self, node: NodeProto, operands: Sequence[Operand]) -> bool:
        """Return whether the inputs of a node are meant to meet in all pairs, if they make a square."""
        types = {self._types.get(operand.name) for operand in operands}
        return is_meant(
            [self._facts.get(operand.name, Fact()) for operand in operands],
            [operand.shape or () for operand in operands],
            next(iter(trace_of(node)[::-1]), None),
            is_discrete=node.op_type in _COMPARISONS or types <= _DISCRETE,
        )


def _keeps_axis(node: NodeProto) -> bool:
    """Return whether a node is a reduction that keeps its axes, as it does by default."""
    if not node.op_type.startswith(("Reduce", "ArgM")):
        return False
    return all(attribute.i for attribute in node.attribute if attribute.name == "keepdims")
