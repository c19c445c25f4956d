"""Shape inference for an ONNX model with given sizes, which visits node after node.

If all sizes are known integers, the values from which a model computes shapes are also known. Nodes that compute such
values are executed with onnx's reference implementation. Therefore shapes are known even after ops for which onnx's
`infer_shapes` computes no values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, defs
from onnx.helper import make_opsetid
from onnx.numpy_helper import from_array
from onnx.shape_inference import infer_node_outputs

from ...messages.findings import Requirement
from ...wire.shapes import MAX_SIZE
from ..size_expressions import canonical
from .broadcasting import BROADCASTING_OPS
from .concrete_values import (
    UNKNOWN_SIZE,
    KnownValue,
    add_first_axis,
    constant_value,
    element_count,
    known_shape,
    loses_all_elements,
    merge_values,
    shape_output,
    unknown_value,
)
from .graph import OnnxDimension, decoded, subgraphs
from .inference import PreparedModel
from .probe_sizes import add_expressions
from .requirements import requirements

_EXECUTED_OPS = frozenset(
    """Abs Add And Cast Ceil Concat Constant ConstantOfShape CumSum Div Equal Expand Floor Gather Greater GreaterOrEqual
    Identity Less LessOrEqual Max Min Mod Mul Neg Not Or Pow Range ReduceMax ReduceMin ReduceProd ReduceSum Reshape
    ScatterND Slice Split Sqrt Squeeze Sub Tile Transpose Unsqueeze Where Xor""".split()  # noqa: SIM905
)
"""The ops that are executed if the values of all inputs are known and the outputs are short."""
_MAY_BE_EMPTY = ("Slice", "Gather", "NonZero")
"""The ops whose output may be empty even if the model runs correctly."""
_MAX_COMPUTED_ELEMENTS = 2**10
"""The maximum number of elements of a value that is computed, such as the positions of a sequence."""


class _LastNodeReached(Exception):
    """The exception that ends inference after the last node of interest."""


@dataclass
class SharedResults:
    """The results for a model that do not depend on its sizes."""

    executed: dict[tuple[object, ...], list[np.ndarray] | None] = field(default_factory=dict)
    """The results of executed nodes, keyed by the op, its attributes and its inputs."""
    constants: dict[tuple[str, str], KnownValue] = field(default_factory=dict)
    """The initializers and the outputs of Constant nodes, keyed by the path of the graph and the name."""


@dataclass
class ConcreteInference:
    """The shape inference of a model for one set of sizes, and its results. Nodes are identified by their indices."""

    prepared: PreparedModel
    sizes: dict[str, int]
    """The integers for named sizes. If a named size has no integer, the size stays unknown."""
    last: str | None = None
    """The node after which inference ends, or None."""
    required: dict[str, list[Requirement]] = field(default_factory=dict)
    """What each node requires of its sizes."""
    inputs: dict[str, Sequence[KnownValue]] = field(default_factory=dict)
    shapes: dict[str, list[int] | None] = field(default_factory=dict)
    """The shapes of the nodes' outputs, keyed by the name of the value."""
    visited: set[str] = field(default_factory=set)
    """The nodes that may run with these sizes. Nodes in a branch that is not taken do not run."""
    failing: set[str] = field(default_factory=set)
    """The nodes that fail with these sizes."""
    fits: set[str] = field(default_factory=set)
    """The nodes whose input sizes are all known, and that do not fail."""
    changed: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """Other sizes for axes of inputs, keyed by the name of the input and the axis."""
    shared: SharedResults = field(default_factory=SharedResults)
    """Results that inference with other sizes can also use."""

    def run(self) -> ConcreteInference:
        """Infer all shapes for these sizes, and return this object with the results."""
        model = self.prepared.model
        self._opsets = {entry.domain: entry.version for entry in model.opset_import}
        self._opset_imports = [make_opsetid(domain, version) for domain, version in self._opsets.items()]
        self._numbers = add_expressions(self.prepared, self.sizes)
        with suppress(_LastNodeReached):
            self._infer_graph(model.graph, "", {})
        return self

    def state(self, number: str) -> Literal["fits", "fails", "unknown"]:
        """Return whether a node fits or fails with these sizes. A node without known sizes is "unknown"."""
        if number in self.failing:
            return "fails"
        return "fits" if number in self.fits else "unknown"

    def broken(self, number: str) -> int | None:
        """Return the index of the first requirement of a node that does not hold, or None."""
        required = self.required.get(number, [])
        return next((index for index, each in enumerate(required) if not each.holds), None)

    def requirement(self, number: str, index: int) -> Requirement | None:
        """Return one requirement of a node, or None if its sizes are unknown."""
        required = self.required.get(number, [])
        return required[index] if index < len(required) else None

    def _number(self, expression: str) -> int | None:
        """Return the value of a size expression, or None if the value is unknown or too large."""
        value = canonical(expression, self._numbers) if expression else None
        return value if isinstance(value, int) and value <= MAX_SIZE else None

    def _infer_graph(
        self, graph: GraphProto, path: str, outer: Mapping[str, KnownValue], inputs: Sequence[KnownValue] = ()
    ) -> dict[str, KnownValue]:
        """Infer the shapes of all nodes in a graph, and return the graph's values."""
        values = dict(outer)
        values.update({value.name: KnownValue(self._declared_type(value)) for value in graph.input})
        values.update({value.name: given for value, given in zip(graph.input, inputs, strict=False)})
        values.update({tensor.name: self._constant(path, tensor.name, tensor) for tensor in graph.initializer})
        results: set[str] = set()
        for node in graph.node:
            self.visited.add(node.name)
            for name, value in zip(node.output, self._outputs(node, values, path), strict=False):
                if not name or name in results:  # two values with the same name are invalid
                    continue
                results.add(name)
                if node.name not in self.failing:
                    self._complete(value.type, self.prepared.stated[path].get(name))
                values[name] = value
                self.shapes[name] = known_shape(value.type)
            if node.name == self.last:
                raise _LastNodeReached
        return values

    def _declared_type(self, value: ValueInfoProto) -> TypeProto:
        """Return the type that the file declares for an input, with integers for the named sizes."""
        type_ = TypeProto()
        type_.CopyFrom(value.type)
        for axis, size in enumerate(type_.tensor_type.shape.dim):
            number = self.changed.get((value.name, axis), self._number(decoded(size.dim_param)))
            if number is not None:
                size.dim_value = number
        return type_

    def _constant(self, path: str, name: str, tensor: TensorProto) -> KnownValue:
        """Return the value of an initializer, or of a Constant node with a tensor."""
        key = (path, name)
        if key not in self.shared.constants:
            self.shared.constants[key] = constant_value(tensor)
        return self.shared.constants[key]

    def _outputs(self, node: NodeProto, values: Mapping[str, KnownValue], path: str) -> list[KnownValue]:
        """Return the output values of a node, computed from the values that are known."""
        if node.domain == "" and (infer_subgraphs := _WITH_SUBGRAPHS.get(node.op_type)):
            return infer_subgraphs(self, node, values)
        tensor = next((attribute.t for attribute in node.attribute if attribute.name == "value"), None)
        if (node.domain, node.op_type) == ("", "Constant") and tensor is not None:
            return [self._constant(f"{path}/", node.name, tensor)]
        inputs = [values.get(name, unknown_value()) if name else unknown_value() for name in node.input]
        types = self._output_types(node, inputs)
        if types is None:
            return [unknown_value() for _ in node.output]
        arrays = self._output_arrays(node, inputs, types)
        return [KnownValue(type_, array) for type_, array in zip(types, arrays, strict=True)]

    def _output_types(self, node: NodeProto, inputs: Sequence[KnownValue]) -> list[TypeProto] | None:
        """Return the types of a node's outputs, or None if the types can't be inferred.

        A node fails if a requirement does not hold, or if onnx refuses inputs whose ranks are all known.
        """
        by_name = {name: value for name, value in zip(node.input, inputs, strict=True) if name}
        if node.domain not in self._opsets or not defs.has(node.op_type, domain=node.domain):
            return None
        if any(not value.type.WhichOneof("value") for value in by_name.values()):
            return None
        all_shapes = [known_shape(value.type) for value in inputs]
        shapes = [shape for name, shape in zip(node.input, all_shapes, strict=True) if name]
        is_empty = any(0 in shape for shape in shapes if shape)
        required = [] if is_empty else requirements(node, inputs, all_shapes, self.prepared.opset)
        self.required[node.name] = required
        self.inputs[node.name] = inputs
        if not all(each.holds for each in required):
            self.failing.add(node.name)
            return None
        try:
            types = self._infer_node(node, by_name)
        except Exception:  # onnx raises many types of exceptions for an invalid node
            if not is_empty and None not in shapes:
                self.failing.add(node.name)
            return None
        if not is_empty and all(shape is not None and UNKNOWN_SIZE not in shape for shape in shapes):
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
        needs_data = node.op_type == "Expand" or node.op_type not in BROADCASTING_OPS
        data = {
            name: from_array(value.array, name)
            for name, value in inputs.items()
            if needs_data and value.array is not None
        }
        found = infer_node_outputs(schema, node, types, data, opset_imports=self._opset_imports)
        return [found.get(name, TypeProto()) for name in node.output]

    def _output_arrays(
        self, node: NodeProto, inputs: Sequence[KnownValue], types: Sequence[TypeProto]
    ) -> Sequence[np.ndarray | None]:
        """Return the elements of each output of a node, with None for each output that is unknown or long."""
        unknown = [None] * len(types)
        if node.domain or any(element_count(type_) > _MAX_COMPUTED_ELEMENTS for type_ in types):
            return unknown
        if node.op_type in ("Shape", "Size"):
            return [shape_output(node, inputs[0].type)]
        if node.op_type not in _EXECUTED_OPS:
            return unknown
        arrays = [value.array for value in inputs]
        if any(array is None for name, array in zip(node.input, arrays, strict=True) if name):
            return unknown
        attributes = [attribute.SerializeToString() for attribute in node.attribute]
        contents = [None if array is None else (array.dtype.char, array.shape, array.tobytes()) for array in arrays]
        key = (node.op_type, *attributes, *contents)
        if key not in self.shared.executed:
            self.shared.executed[key] = _run(node, arrays, self._opsets)
        found = self.shared.executed[key]
        return unknown if found is None or len(found) != len(types) else found

    def _complete(self, type_: TypeProto, stated: ValueInfoProto | None) -> None:
        """Replace the unknown sizes in a value's type by the sizes that the file states."""
        if stated is None or not stated.type.tensor_type.HasField("shape"):
            return
        if not type_.tensor_type.HasField("shape") and type_.WhichOneof("value") in (None, "tensor_type"):
            type_.CopyFrom(stated.type)
        dims, stated_dims = type_.tensor_type.shape.dim, stated.type.tensor_type.shape.dim
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
        """Return the outputs of a Loop node, inferred from the first step of the loop.

        The first two inputs control the loop, and the others are its states. In the final states, only the sizes that
        the step does not change are known. All other outputs of the step are stacked along a new first axis.
        """
        bodies = list(subgraphs(node))
        if len(bodies) != 1:
            return [unknown_value() for _ in node.output]
        ((name, body),) = bodies
        states = [values.get(name, unknown_value()) for name in node.input[2:]]
        types = [*(value.type for value in body.input[:2]), *(state.type for state in states)]
        inner = self._infer_graph(body, f"{node.name}/{name}", values, [*map(KnownValue, types)])
        # The first output of the body is the condition of the loop.
        outputs = [inner.get(value.name, unknown_value()) for value in body.output[1:]]
        final_states = [merge_values([state, output]) for state, output in zip(states, outputs, strict=False)]
        return [*final_states, *(add_first_axis(output.type) for output in outputs[len(states) :])]


_WITH_SUBGRAPHS: dict[str, Callable[[ConcreteInference, NodeProto, Mapping[str, KnownValue]], list[KnownValue]]] = {
    "If": ConcreteInference._if,
    "Loop": ConcreteInference._loop,
}


def _run(node: NodeProto, arrays: Sequence[np.ndarray | None], opsets: Mapping[str, int]) -> list[np.ndarray] | None:
    """Execute a node with known inputs. Return the outputs, or None if the reference implementation fails."""
    from onnx.reference import ReferenceEvaluator

    feeds = {name: array for name, array in zip(node.input, arrays, strict=True) if name}
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(array) for array in ReferenceEvaluator(node, opsets=dict(opsets)).run(None, feeds)]
    except Exception:  # onnx raises many types of exceptions, and shape inference reports the error
        return None
