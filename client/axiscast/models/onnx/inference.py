"""Shape inference for an ONNX model with onnx. Shapes that onnx can't infer are taken from the file."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto
from onnx.helper import make_node, make_tensor
from onnx.shape_inference import InferenceError, infer_shapes

from ...messages.findings import Contradiction
from ...wire.wording import printable
from ..size_expressions import as_name, canonical, names_in
from .broadcasting import follows_rule
from .file import load_model, not_inferred
from .graph import SCALAR, all_graphs, all_nodes, decoded, dimensions_of, graphs_with_paths, subgraphs, target_name
from .stated_shapes import NAMED_BY_ONNX, StatedShapes, find_contradictions, forget_shapes

MAX_VECTOR_ELEMENTS = 2**20
"""The maximum number of elements in a vector for which onnx propagates values. One vector takes 140 MB and 0.2 s."""
_FIRST_IR_WITH_METADATA = 10
_FAULT = re.compile(r"\(op_type:(?P<op>[^,)]*)(?:, node name: (?P<node>[^)]*))?\): (?P<message>.*)")
_ERROR_PREFIX = re.compile(r"^\[\w+\] ")
_FOLLOWING_FAULT = re.compile(
    r"existing (shape|elem type)|expected to have type but instead is null|Input type was null|is null"
)
"""The pattern of onnx messages about a shape that the file states, or about an input whose node has failed."""


class InferenceFault(NamedTuple):
    """A message from onnx about a shape that can't be inferred."""

    node: str | None
    """The index of the node, or None if the message does not contain a node's name."""
    message: str


class PreparedModel(NamedTuple):
    """A model that is prepared for shape inference. Each node's name is its index, and all dynamic sizes have names."""

    model: ModelProto
    opset: int
    node_names: dict[str, str]
    """The name that each node has in the file, keyed by the index of the node."""
    size_names: frozenset[str]
    """The names of sizes in the file. All other names of sizes are generated for unknown sizes."""
    assumable: frozenset[str]
    """The names of the inputs' sizes, both in the form of the file and in the form of check requests."""
    stated: dict[str, StatedShapes]
    """The shapes that the file states, keyed by the path of the graph."""
    functions: frozenset[tuple[str, str]]
    """The domain and the name of each function that could not be inlined because it uses another opset."""


class InferredModel(NamedTuple):
    """A model in which functions are inlined and shapes are inferred."""

    graph: GraphProto
    prepared: PreparedModel
    faults: list[InferenceFault]
    contradictions: tuple[tuple[NodeProto, Contradiction], ...] = ()


def prepare_model(path: Path, assume: Mapping[str, int] | None = None) -> PreparedModel:
    """Read a model from a file, and prepare it for shape inference.

    `assume` contains integers for named sizes. Raises UnusableModel if the file is missing or is not a model.
    """
    model = load_model(path)
    try:
        return _prepare(model, assume or {})
    except Exception as error:  # onnx raises many types of exceptions for invalid models
        raise not_inferred(error) from None


def _prepare(model: ModelProto, assume: Mapping[str, int]) -> PreparedModel:
    opset = max((entry.version for entry in model.opset_import if entry.domain == ""), default=0)
    # The new version permits metadata on nodes. In the oldest versions, constants also had to be inputs.
    model.ir_version = max(model.ir_version, _FIRST_IR_WITH_METADATA)
    node_names = _number_nodes(model.graph)
    graphs = list(all_graphs(model.graph))
    for graph in graphs:
        _remove_constant_inputs(graph)
    names = {decoded(size.dim_param) for graph in graphs for size in dimensions_of(graph.input) if size.dim_param}
    known = {name: assume[as_name(name)] for name in names if as_name(name) in assume} | dict(assume)
    size_names = _normalize_sizes(graphs, known)
    names |= _name_free_sizes(model.graph, size_names, assume)
    stated = {path: forget_shapes(graph) for path, graph in graphs_with_paths(model.graph)}
    if follows_rule("Expand", opset):
        model.graph.initializer.append(make_tensor(SCALAR, TensorProto.FLOAT, [], [0.0]))
        _add_targets(model.graph, ChainMap())
    assumable = frozenset(each for name in names for each in (name, as_name(name), *names_in(name)))
    functions = frozenset((function.domain, function.name) for function in model.functions)
    return PreparedModel(model, opset, node_names, size_names, assumable, stated, functions)


def _number_nodes(graph: GraphProto) -> dict[str, str]:
    """Rename each node to its index, so that error messages identify the node. Return the old names, keyed by index."""
    names = {}
    for number, node in enumerate(all_nodes(graph)):
        names[str(number)] = decoded(node.name or next(iter(node.output), "") or node.op_type)
        node.name = str(number)
    return names


def _remove_constant_inputs(graph: GraphProto) -> None:
    """Remove the inputs that are constants. Before IR version 4, a model listed each constant as an input too."""
    constants = {tensor.name for tensor in graph.initializer}
    constants |= {tensor.values.name for tensor in graph.sparse_initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    del graph.input[:]  # a repeated field can be changed, but not assigned
    graph.input.extend(inputs)


def _normalize_sizes(graphs: Iterable[GraphProto], assume: Mapping[str, int]) -> frozenset[str]:
    """Replace assumed sizes by integers, and expressions by their canonical form. Return the remaining names.

    A size becomes unknown if it is negative, if its name is "?", or if onnx generated its name.
    """
    names = set()
    for graph in graphs:
        for size in dimensions_of((*graph.input, *graph.output, *graph.value_info)):
            if size.dim_value < 0 or size.dim_param == "?" or NAMED_BY_ONNX.fullmatch(decoded(size.dim_param)):
                size.Clear()
            if size.dim_param:
                normalized = canonical(decoded(size.dim_param), assume)
                if isinstance(normalized, int):
                    size.dim_value = normalized
                else:
                    size.dim_param = normalized
                    names.add(normalized)
    return frozenset(names)


def _name_free_sizes(graph: GraphProto, taken: frozenset[str], assume: Mapping[str, int]) -> set[str]:
    """Give a new name to each unknown size of an input, so that all later uses of the same size are recognized."""
    names = set()
    unused = (name for number in count() if (name := f"unknown_{number}") not in taken)
    for size in dimensions_of(graph.input):
        if not (size.HasField("dim_value") or size.dim_param):
            size.dim_param = name = next(unused)
            names.add(name)
            if name in assume:
                size.dim_value = assume[name]
    return names


def _add_targets(graph: GraphProto, outer: ChainMap[str, GraphProto]) -> None:
    """For each target shape of an Expand node, add another Expand node that expands a scalar to this shape.

    The shape of the added node's output is exactly the target shape, so onnx infers the target shape. The node is added
    to the graph that computes the shape, because onnx can infer most in this graph. `outer` contains the graph of each
    value that is defined outside of `graph`.
    """
    graph_of = outer.new_child(dict.fromkeys((value.name for value in (*graph.input, *graph.initializer)), graph))
    graph_of.update((name, graph) for node in graph.node for name in node.output)
    for node in list(graph.node):
        if (node.domain, node.op_type) == ("", "Expand") and len(node.input) == 2:
            shape_value = node.input[1]
            target = target_name(shape_value)
            scope = next((scope for scope in graph_of.maps if shape_value in scope), None)
            if scope is not None and target not in scope:
                scope[shape_value].node.append(make_node("Expand", [SCALAR, shape_value], [target]))
                scope[target] = scope[shape_value]
        for _, inner in subgraphs(node):
            _add_targets(inner, graph_of)


def infer_model(prepared: PreparedModel) -> InferredModel:
    """Infer the shapes of a model from its inputs and constants, and return the model with these shapes.

    Raises UnusableModel if onnx fails.
    """
    try:
        inferred, faults = _infer(prepared.model, prepared.node_names)
    except Exception as error:  # onnx raises many types of exceptions for invalid models
        raise not_inferred(error) from None
    contradictions: list[tuple[NodeProto, Contradiction]] = []
    for graph, stated in zip(all_graphs(inferred.graph), prepared.stated.values(), strict=True):
        contradictions += find_contradictions(graph, stated)
    return InferredModel(inferred.graph, prepared, faults, tuple(contradictions))


def _infer(model: ModelProto, node_names: Mapping[str, str]) -> tuple[ModelProto, list[InferenceFault]]:
    """Return the model with all shapes that onnx infers, and onnx's messages about shapes that it can't infer.

    First, the strict mode reports faults. If there are any, the other mode infers the shapes of all other nodes.
    """
    propagate_values = _can_propagate_values(model)
    try:
        return infer_shapes(model, strict_mode=True, data_prop=propagate_values), []
    except InferenceError as error:
        message = str(error).partition("Inference error(s): ")[2] or str(error)
    try:
        return infer_shapes(model, data_prop=propagate_values), list(_parse_faults(message))
    except InferenceError as error:
        label = "node name: "
        named = re.sub(f"{label}([0-9]+)", lambda match: label + node_names.get(match[1], match[1]), str(error))
        raise InferenceError(named) from None


def _can_propagate_values(model: ModelProto) -> bool:
    """Return whether onnx may propagate the values from which shapes are computed.

    For each vector that is added or multiplied, onnx creates a list of the same length. For a vector of 2^62 elements,
    this would never end.
    """
    try:
        inferred = infer_shapes(model).graph
    except InferenceError:  # the caller's inference raises this error again
        return False
    shapes = [shape for graph in all_graphs(inferred) for shape in _all_shapes(graph)]
    return not any(len(shape) == 1 and shape[0] > MAX_VECTOR_ELEMENTS for shape in shapes)


def _all_shapes(graph: GraphProto) -> Iterator[Sequence[int]]:
    """Yield the shapes of all values and constants in a graph. Unknown sizes are 0."""
    values: tuple[ValueInfoProto, ...] = (*graph.input, *graph.output, *graph.value_info)
    for value in values:
        yield [size.dim_value for size in dimensions_of([value])]
    for tensor in graph.initializer:
        yield tensor.dims


def _parse_faults(messages: str) -> Iterator[InferenceFault]:
    """Yield onnx's messages with the indices of the nodes. If nodes are nested, yield the innermost node's index."""
    for line in filter(None, map(str.strip, messages.splitlines())):
        innermost = None
        rest = line
        while match := _FAULT.search(rest):
            innermost, rest = match, match["message"]
        if not _FOLLOWING_FAULT.search(rest):
            yield InferenceFault(innermost["node"] if innermost else None, printable(_ERROR_PREFIX.sub("", rest), 300))
