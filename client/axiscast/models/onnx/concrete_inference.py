"""Shape inference for an ONNX model with given sizes, which visits node after node.

If all sizes are known integers, the values from which a model computes shapes are also known. Nodes that compute such
values are executed with onnx's reference implementation. Therefore shapes are known even after ops for which onnx's
`infer_shapes` computes no values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto, defs
from onnx.helper import make_opsetid
from onnx.numpy_helper import from_array
from onnx.shape_inference import infer_node_outputs

from ...wire.shapes import MAX_SIZE
from ..size_expressions import canonical
from .concrete_values import (
    UNKNOWN_SIZE,
    KnownValue,
    add_first_axis,
    constant_output,
    constant_value,
    element_count,
    is_fully_known,
    known_shape,
    loses_all_elements,
    merge_values,
    remove_first_axis,
    shape_output,
    unknown_value,
)
from .file import MAX_CONSTANT_ELEMENTS, first_line
from .graph import OnnxDimension, all_graphs, decoded, dimensions_of, graphs_with_paths, integer_attribute, subgraphs
from .inference import InferenceFault, InferredModel, PreparedModel

_EXECUTED_OPS = frozenset(
    """Abs Add And Cast Ceil Concat ConstantOfShape CumSum Div Equal Expand Floor Gather Greater GreaterOrEqual Identity
    Less LessOrEqual Max Min Mod Mul Neg Not Or Pow Range ReduceMax ReduceMin ReduceProd ReduceSum Reshape ScatterND
    Slice Split Sqrt Squeeze Sub Tile Transpose Unsqueeze Where Xor""".split()  # noqa: SIM905
)
"""The ops that are executed if the values of all inputs are known and the outputs are short."""
_MAY_BE_EMPTY = ("Slice", "Gather", "NonZero")
"""The ops whose output may be empty even if the model runs correctly."""
_FIRST_SCAN_OPSET = 9

ExecutedNodes = dict[tuple[str, ...], "list[np.ndarray] | None"]
"""The results of executed nodes, keyed by the op, its attributes and its inputs."""


@dataclass
class ConcreteInference:
    """The shape inference of a model for one set of sizes, and its results."""

    prepared: PreparedModel
    sizes: Mapping[str, int]
    """The integers for named sizes. If a named size has no integer, the size stays unknown."""
    faults: list[InferenceFault] = field(default_factory=list)
    too_small: bool = False
    """Whether any size would be less than one, such as the output size of a convolution over a very small image."""
    failed: dict[str, list[KnownValue]] = field(default_factory=dict)
    """The inputs of each node for which onnx reports an error, keyed by the index of the node."""
    fits: set[str] = field(default_factory=set)
    """The indices of the nodes whose input sizes are all known and fit together."""
    reached: set[str] = field(default_factory=set)
    """The indices of the nodes that may run with these sizes. Nodes in a branch that is not taken do not run."""
    executed: ExecutedNodes = field(default_factory=dict)
    """The results of executed nodes. Inference with other sizes can use the same results."""

    def run(self) -> InferredModel:
        """Infer all shapes for these sizes, and return the model with the inferred shapes."""
        model = ModelProto()
        model.CopyFrom(self.prepared.model)
        for graph in all_graphs(model.graph):
            for size in dimensions_of(graph.input):
                if (number := self._number(decoded(size.dim_param))) is not None:
                    size.dim_value = number
        self._opsets = {entry.domain: entry.version for entry in model.opset_import}
        self._opset_imports = [make_opsetid(domain, version) for domain, version in self._opsets.items()]
        paths = [path for path, _ in graphs_with_paths(model.graph)]
        self._stated = dict(zip(paths, self.prepared.stated, strict=True))
        self._infer_graph(model.graph, "", {})
        without_names = self.prepared._replace(size_names=frozenset(), assumable=frozenset())
        return InferredModel(model.graph, without_names, self.faults)

    def _number(self, expression: str) -> int | None:
        """Return the value of a size expression, or None if the value is unknown or too large."""
        value = canonical(expression, self.sizes) if expression else None
        return value if isinstance(value, int) and value <= MAX_SIZE else None

    def _infer_graph(
        self, graph: GraphProto, path: str, outer: Mapping[str, KnownValue], inputs: Sequence[KnownValue] = ()
    ) -> dict[str, KnownValue]:
        """Infer the shapes of all nodes in a graph, add the shapes to the graph, and return the graph's values."""
        values = dict(outer)
        for declared, given in zip(graph.input, inputs, strict=False):
            declared.type.CopyFrom(given.type)
        values.update({value.name: KnownValue(value.type) for value in graph.input})
        values.update({tensor.name: constant_value(tensor) for tensor in graph.initializer})
        outputs = {value.name: value for value in graph.output}
        results: set[str] = set()
        for node in graph.node:
            self.reached.add(node.name)
            for name, value in zip(node.output, self._outputs(node, values), strict=False):
                if not name or name in results:  # two values with the same name are invalid
                    continue
                results.add(name)
                self._complete(value.type, self._stated[path].get(name))
                values[name] = value
                if name in outputs:
                    outputs[name].type.CopyFrom(value.type)
                else:
                    graph.value_info.append(ValueInfoProto(name=name, type=value.type))
        return values

    def _outputs(self, node: NodeProto, values: Mapping[str, KnownValue]) -> list[KnownValue]:
        """Return the output values of a node, computed from the values that are known."""
        if node.domain == "" and (infer_subgraphs := _WITH_SUBGRAPHS.get(node.op_type)):
            return infer_subgraphs(self, node, values)
        if (node.domain, node.op_type) == ("", "Constant"):
            return [constant_output(node)]
        inputs = [values.get(name, unknown_value()) if name else unknown_value() for name in node.input]
        types = self._output_types(node, inputs)
        if types is None:
            return [unknown_value() for _ in node.output]
        arrays = self._output_arrays(node, inputs, types)
        return [KnownValue(type_, array) for type_, array in zip(types, arrays, strict=True)]

    def _output_types(self, node: NodeProto, inputs: Sequence[KnownValue]) -> list[TypeProto] | None:
        """Return the types of a node's outputs, or None if the types can't be inferred.

        If inference fails, an error is recorded only if the ranks of all inputs are known.
        """
        by_name = {name: value for name, value in zip(node.input, inputs, strict=True) if name}
        if node.domain not in self._opsets or not defs.has(node.op_type, domain=node.domain):
            return None
        if any(not value.type.WhichOneof("value") for value in by_name.values()):
            return None
        try:
            types = self._infer_node(node, by_name)
        except Exception as error:  # onnx raises many types of exceptions for an invalid node
            if all(known_shape(value.type) is not None for value in by_name.values()):
                self._record_fault(node, inputs, first_line(error).rpartition("] ")[2])
            return None
        if fault := _unchecked_fault(node, [value.type for value in inputs], types):
            self._record_fault(node, inputs, fault)
            return None
        if all(is_fully_known(value.type) for value in by_name.values()):
            self.fits.add(node.name)
        has_negative = any(size < 0 for type_ in types for size in known_shape(type_) or ())
        if has_negative or (node.op_type not in _MAY_BE_EMPTY and loses_all_elements(types, inputs)):
            self.too_small = True
            for type_ in types:
                type_.tensor_type.ClearField("shape")
        return types

    def _infer_node(self, node: NodeProto, inputs: Mapping[str, KnownValue]) -> list[TypeProto]:
        """Return the types that onnx infers for the outputs of a node."""
        schema = defs.get_schema(node.op_type, self._opsets[node.domain], node.domain)
        types = {name: value.type for name, value in inputs.items()}
        data = {name: from_array(value.array, name) for name, value in inputs.items() if value.array is not None}
        found = infer_node_outputs(schema, node, types, data, opset_imports=self._opset_imports)
        return [found.get(name, TypeProto()) for name in node.output]

    def _record_fault(self, node: NodeProto, inputs: Sequence[KnownValue], message: str) -> None:
        self.faults.append(InferenceFault(node.name, message))
        self.failed[node.name] = list(inputs)

    def _output_arrays(
        self, node: NodeProto, inputs: Sequence[KnownValue], types: Sequence[TypeProto]
    ) -> Sequence[np.ndarray | None]:
        """Return the elements of each output of a node, with None for each output that is unknown or long."""
        unknown = [None] * len(types)
        if node.domain or any(element_count(type_) > MAX_CONSTANT_ELEMENTS for type_ in types):
            return unknown
        if node.op_type in ("Shape", "Size"):
            return [shape_output(node, inputs[0].type)]
        if node.op_type not in _EXECUTED_OPS or not node.input:
            return unknown
        arrays = [value.array for value in inputs]
        if any(array is None for name, array in zip(node.input, arrays, strict=True) if name):
            return unknown
        attributes = [attribute.SerializeToString().hex() for attribute in node.attribute]
        contents = ["" if array is None else f"{array.dtype}{array.shape}{array.tobytes().hex()}" for array in arrays]
        key = (node.op_type, *attributes, *contents)
        if key not in self.executed:
            self.executed[key] = _run(node, arrays, self._opsets)
        found = self.executed[key]
        return unknown if found is None or len(found) != len(types) else found

    def _complete(self, type_: TypeProto, stated: ValueInfoProto | None) -> None:
        """Replace the unknown sizes in a value's type by the sizes that the file states."""
        if stated is None or not stated.type.tensor_type.HasField("shape"):
            return
        stated_dims = stated.type.tensor_type.shape.dim
        if not type_.tensor_type.HasField("shape"):
            if type_.WhichOneof("value") in (None, "tensor_type"):
                type_.CopyFrom(stated.type)
                for size in type_.tensor_type.shape.dim:
                    self._replace_name(size, decoded(size.dim_param))
            return
        dims = type_.tensor_type.shape.dim
        if len(dims) != len(stated_dims):
            return
        for size, stated_size in zip(dims, stated_dims, strict=True):
            if size.HasField("dim_value"):
                continue
            if stated_size.HasField("dim_value"):
                size.dim_value = stated_size.dim_value
            else:
                self._replace_name(size, decoded(stated_size.dim_param))

    def _replace_name(self, size: OnnxDimension, name: str) -> None:
        """Set a dimension to the value of a named size, or to unknown if the name has no value."""
        if (number := self._number(name)) is not None:
            size.dim_value = number
        elif name:
            size.Clear()

    def _if(self, node: NodeProto, values: Mapping[str, KnownValue]) -> list[KnownValue]:
        """Return the outputs of an If node.

        If the condition is known, return the outputs of the branch that is taken. Otherwise, keep only the sizes that
        are equal in both branches.
        """
        branches = dict(subgraphs(node))
        condition = values.get(node.input[0], unknown_value()).array if node.input else None
        if condition is not None and condition.size == 1:
            taken = "then_branch" if bool(condition) else "else_branch"
            branches = {name: graph for name, graph in branches.items() if name == taken}
        outputs = []
        for name, graph in branches.items():
            inner = self._infer_graph(graph, f"{node.name}/{name}", values)
            outputs.append([inner.get(value.name, unknown_value()) for value in graph.output])
        numbers = range(len(node.output))
        return [merge_values([branch[number] for branch in outputs if number < len(branch)]) for number in numbers]

    def _loop(self, node: NodeProto, values: Mapping[str, KnownValue]) -> list[KnownValue]:
        """Return the outputs of a Loop node, inferred from the first step of the loop."""
        return self._repeat(node, values, control_inputs=2, scan_inputs=0)

    def _scan(self, node: NodeProto, values: Mapping[str, KnownValue]) -> list[KnownValue]:
        """Return the outputs of a Scan node. If the node does not scan along first axes, the outputs are unknown."""
        has_default_axes = {entry.name for entry in node.attribute} <= {"body", "num_scan_inputs"}
        if not has_default_axes or self.prepared.opset < _FIRST_SCAN_OPSET:
            return [unknown_value() for _ in node.output]
        scan_inputs = integer_attribute(node, "num_scan_inputs") or 0
        return self._repeat(node, values, control_inputs=0, scan_inputs=scan_inputs)

    def _repeat(
        self, node: NodeProto, values: Mapping[str, KnownValue], control_inputs: int, scan_inputs: int
    ) -> list[KnownValue]:
        """Return the outputs of a Loop or Scan node, inferred from one step of its body.

        The inputs are control values, states and scanned values. In the final states, only the sizes that the step does
        not change are known. All other outputs of the step are stacked along a new first axis.
        """
        bodies = list(subgraphs(node))
        if len(bodies) != 1:
            return [unknown_value() for _ in node.output]
        ((name, body),) = bodies
        inputs = [values.get(name, unknown_value()) for name in node.input[control_inputs:]]
        states, scanned = inputs[: len(inputs) - scan_inputs], inputs[len(inputs) - scan_inputs :]
        types = [*(value.type for value in body.input[:control_inputs]), *(state.type for state in states)]
        step_inputs = [*map(KnownValue, types), *map(remove_first_axis, scanned)]
        inner = self._infer_graph(body, f"{node.name}/{name}", values, step_inputs)
        # The first output of a Loop body is the condition of the loop.
        outputs = [inner.get(value.name, unknown_value()) for value in body.output[1 if control_inputs else 0 :]]
        length = next((shape[0] for value in scanned if (shape := known_shape(value.type))), 0)
        final_states = [merge_values([state, output]) for state, output in zip(states, outputs, strict=False)]
        return [*final_states, *(add_first_axis(output.type, length) for output in outputs[len(states) :])]


_WITH_SUBGRAPHS: dict[str, Callable[[ConcreteInference, NodeProto, Mapping[str, KnownValue]], list[KnownValue]]] = {
    "If": ConcreteInference._if,
    "Loop": ConcreteInference._loop,
    "Scan": ConcreteInference._scan,
}


def _unchecked_fault(node: NodeProto, inputs: Sequence[TypeProto], outputs: Sequence[TypeProto]) -> str:
    """Return the message for an error that onnx's shape inference does not find, or "" if there is no such error.

    This function checks the number of elements in a Reshape, and the batch size of a recurrent node's initial state.
    """
    if node.domain or not outputs:
        return ""
    if node.op_type == "Reshape" and is_fully_known(inputs[0]) and is_fully_known(outputs[0]):
        before, after = element_count(inputs[0]), element_count(outputs[0])
        return f"{before} elements can't have the shape of {after}" if before != after else ""
    if node.op_type in ("RNN", "GRU", "LSTM"):
        has_batch_first = bool(integer_attribute(node, "layout"))
        shape = known_shape(inputs[0]) or []
        for state in inputs[5:7]:
            state_shape = known_shape(state) or []
            if len(state_shape) != 3 or len(shape) != 3 or UNKNOWN_SIZE in state_shape:
                continue
            batch, state_batch = shape[0 if has_batch_first else 1], state_shape[0 if has_batch_first else 1]
            if state_batch != batch:
                return f"a batch of {batch} can't begin with a state for a batch of {state_batch}"
    return ""


def _run(node: NodeProto, arrays: Sequence[np.ndarray | None], opsets: Mapping[str, int]) -> list[np.ndarray] | None:
    """Execute a node with known inputs. Return the outputs, or None if the reference implementation fails."""
    from onnx.reference import ReferenceEvaluator

    feeds = {name: array for name, array in zip(node.input, arrays, strict=True) if name}
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(array) for array in ReferenceEvaluator(node, opsets=dict(opsets)).run(None, feeds)]
    except Exception:  # onnx raises many types of exceptions, and shape inference reports the error
        return None
