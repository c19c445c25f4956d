"""GraphProvenance: determines from which code and values each value in an ONNX graph was computed."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from ...messages.findings import Operand
from ..provenance import Provenance, SourceLine, are_pairs_meant, axis_origin_on_line, derive, source_lines
from .graph import decoded

_TRACE_KEY = "pkg.torch.onnx.stack_trace"
_COMPARISONS = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}
_ADD_AXIS = {"Unsqueeze", "Reshape"}
_CHANGE_SHAPE = _ADD_AXIS | {"Squeeze", "Flatten", "Transpose", "Slice", "Identity", "Expand"}
"""The ops whose first input contains data, and whose other inputs contain shapes, axes or positions."""
_ELEMENTWISE = frozenset(
    """Abs Add And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Clip Cos Div Elu Equal Erf Exp
    Floor Greater GreaterOrEqual LeakyRelu Less LessOrEqual Log Max Mean Min Mod Mul Neg Not Or Pow PRelu Reciprocal
    Relu Round Sigmoid Sign Sin Softplus Sqrt Sub Sum Tanh Where Xor""".split()  # noqa: SIM905
)
_DISCRETE_TYPES = {
    TensorProto.BOOL,
    *(TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64),
    *(TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64),
}


def lines_of(node: NodeProto) -> list[SourceLine]:
    """Return a node's source lines, which torch's exporter writes into the metadata. The last line is the innermost."""
    return source_lines(decoded(next((entry.value for entry in node.metadata_props if entry.key == _TRACE_KEY), "")))


def innermost_line(node: NodeProto) -> SourceLine | None:
    """Return the innermost source line of a node, or None if the model does not contain source lines."""
    return next(reversed(lines_of(node)), None)


class GraphProvenance:
    """The provenance of every value that a graph can read. The nodes of the graph must be added in order."""

    def __init__(self, graph: GraphProto, outer: GraphProvenance | None = None) -> None:
        self._values: ChainMap[str, Provenance] = outer._values.new_child() if outer else ChainMap()
        self._types: ChainMap[str, int] = outer._types.new_child() if outer else ChainMap()
        values: tuple[ValueInfoProto, ...] = (*graph.input, *graph.output, *graph.value_info)
        self._types.update((value.name, value.type.tensor_type.elem_type) for value in values)
        self._types.update((tensor.name, tensor.data_type) for tensor in graph.initializer)
        self._values.update((value.name, derive()) for value in graph.input)
        for tensor in graph.initializer:
            self._values[tensor.name] = derive(is_index=tensor.data_type in _DISCRETE_TYPES)

    def add(self, node: NodeProto) -> None:
        """Process a node, and record the provenance of its outputs."""
        op, is_standard = node.op_type, node.domain == ""
        changes_shape = is_standard and op in _CHANGE_SHAPE
        names = list(node.input[:1] if changes_shape else node.input)
        operands = [value for name in names if (value := self._values.get(name)) is not None]
        line = innermost_line(node)
        if is_standard and op in _ADD_AXIS:
            axis_origin = axis_origin_on_line(line)
        else:
            axis_origin = "reduction" if _is_keepdims_reduction(node) else ""
        for name in node.output:
            self._values[name] = derive(
                operands,
                keeps=changes_shape or (is_standard and op in _ELEMENTWISE),
                is_index=is_standard and self._makes_positions(node),
                axis_origin=axis_origin,
                line=line,
            )

    def _makes_positions(self, node: NodeProto) -> bool:
        is_discrete = any(self._types.get(name) in _DISCRETE_TYPES for name in node.output)
        return node.op_type == "Range" or (node.op_type == "Constant" and is_discrete)

    def are_pairs_meant(self, node: NodeProto, operands: Sequence[Operand]) -> bool:
        """Return whether the user means to combine all pairs if a node's inputs form an outer product ("square")."""
        types = {self._types.get(operand.name) for operand in operands}
        return are_pairs_meant(
            [self._values.get(operand.name, Provenance()) for operand in operands],
            [operand.shape or () for operand in operands],
            innermost_line(node),
            is_discrete=node.op_type in _COMPARISONS or types <= _DISCRETE_TYPES,
        )


def _is_keepdims_reduction(node: NodeProto) -> bool:
    """Return whether a node is a reduction that keeps the reduced axes, which is the default in ONNX."""
    if not node.op_type.startswith(("Reduce", "ArgM")):
        return False
    return all(attribute.i for attribute in node.attribute if attribute.name == "keepdims")
