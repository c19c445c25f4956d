"""A model: an ONNX file, with the shapes of its values as far as onnx can infer them.

The file is somebody else's: what is wrong with it is said in one line, and what it may cost is bounded.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import count
from math import prod
from pathlib import Path
from typing import NamedTuple

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto
from onnx.helper import make_node, make_tensor
from onnx.inliner import inline_local_functions
from onnx.shape_inference import InferenceError, infer_shapes

MAX_BYTES = 2**31 - 1
"""Protobuf's own limit. A larger model keeps its weights in other files, and those are not read."""
MAX_NODES = 100_000
"""Nodes when functions are inlined, each kilobyte of a function counted as one: half a minute of work."""
KEPT_ELEMENTS = 256
"""Elements of a constant that shapes may be computed from. A larger one is a weight: its values are dropped."""
EXPAND_OPSET = 8
"""The first opset that has Expand."""


class UnusableModel(Exception):
    """Why a file is no model, or none that can be judged; the file is the sentence's subject."""


class Model(NamedTuple):
    """A model with its functions inlined and its shapes inferred."""

    graph: GraphProto
    opset: int
    functions: frozenset[tuple[str, str]]
    """Domain and name of each function that could not be inlined, since it is written for another opset."""
    sizes: frozenset[str]
    """The names of sizes that the file uses. Any other name was given to a size that is not known."""
    error: str
    """The first thing that keeps onnx from inferring more, in its words; empty where there is none."""


def read(path: Path) -> Model:
    """The model in a file. Raises UnusableModel."""
    if not path.is_file():
        raise UnusableModel("is no file" if path.exists() else "does not exist")
    if (size := path.stat().st_size) > MAX_BYTES:
        raise UnusableModel(f"has {size} bytes, and a model {MAX_BYTES} at most: save its weights as external data")
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise UnusableModel(f"can't be read: {error.strerror}") from None
    except Exception as error:  # onnx raises whatever its parsers do: what matters is that the file is none
        raise UnusableModel(f"is no ONNX model: {_line(error)}") from None
    if not model.HasField("graph") or not model.opset_import:
        raise UnusableModel("is no ONNX model: it has no graph, or names no opset")
    try:
        _tidy(model)
        _judge_nodes(model)
        return _inferred(_inlined(model))
    except UnusableModel:
        raise
    except Exception as error:  # as above
        raise UnusableModel(f"is an ONNX model whose shapes onnx can't infer: {_line(error)}") from None


def target_of(name: str) -> str:
    """The name of a value that was added: it has the shape that the value `name` holds, to which a node expands."""
    return f"tensorcast target {name}"


_SCALAR = target_of("")


def is_added(node: NodeProto) -> bool:
    """Whether a node makes such a value."""
    return list(node.input[:1]) == [_SCALAR]


def text(name: str | bytes) -> str:
    """A name of the file, which may be no UTF-8."""
    return name if isinstance(name, str) else name.decode(errors="backslashreplace")


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The graphs that a node holds, such as a loop's body, each with its attribute."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield text(attribute.name), attribute.g
        for number, graph in enumerate(attribute.graphs):
            yield f"{text(attribute.name)}[{number}]", graph


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all that its nodes hold, in an order that inference keeps."""
    yield graph
    for node in graph.node:
        for _, inner in subgraphs(node):
            yield from _graphs(inner)


def _nodes(owner: GraphProto | FunctionProto) -> Iterator[NodeProto]:
    """All nodes, those of graphs that nodes hold included."""
    for node in owner.node:
        yield node
        for _, graph in subgraphs(node):
            yield from _nodes(graph)


def _line(error: Exception) -> str:
    first = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return "".join(letter if letter.isprintable() else "?" for letter in first[:300])


def _tidy(model: ModelProto) -> None:
    """Give ONNX's own domain one name, and forget the values of large constants: only their shapes matter, and
    each step copies the model."""
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            entry.domain = _domain(entry.domain)
    for owner in (model.graph, *model.functions):
        for node in _nodes(owner):
            node.domain = _domain(node.domain)
            _forget_weights(attribute.t for attribute in node.attribute if attribute.HasField("t"))
            for _, graph in subgraphs(node):
                _forget_weights(graph.initializer)
    _forget_weights(model.graph.initializer)


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _forget_weights(tensors: Iterable[TensorProto]) -> None:
    for tensor in tensors:
        if prod(tensor.dims) > KEPT_ELEMENTS:
            shell = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
            shell.data_location = TensorProto.EXTERNAL  # so that nobody looks for them
            tensor.CopyFrom(shell)


def _judge_nodes(model: ModelProto) -> None:
    """Raises UnusableModel for functions that call themselves, and for too many nodes."""
    functions = {(function.domain, function.name, function.overload): function for function in model.functions}
    calls = {key: _called(function) for key, function in functions.items()}
    nodes: dict[tuple[str, str, str], int] = {}
    try:
        for key in TopologicalSorter({key: called.keys() & calls for key, called in calls.items()}).static_order():
            nodes[key] = max(_inlined_count(calls[key], nodes), functions[key].ByteSize() // 1000)
    except CycleError as error:
        raise UnusableModel(f"has a function that calls itself, {text(error.args[1][0][1])[:100]!r}") from None
    total = _inlined_count(_called(model.graph), nodes)
    if total > MAX_NODES:
        raise UnusableModel(f"has some {total} nodes, functions counted at each call, and {MAX_NODES} are the most")


def _called(owner: GraphProto | FunctionProto) -> Counter[tuple[str, str, str]]:
    return Counter((node.domain, node.op_type, node.overload) for node in _nodes(owner))


def _inlined_count(called: Counter[tuple[str, str, str]], nodes: dict[tuple[str, str, str], int]) -> int:
    return sum(nodes.get(key, 1) * times for key, times in called.items())


def _inlined(model: ModelProto) -> ModelProto:
    """The model without its functions, where their opset is the model's. A node's name says whose it was."""
    for function in model.functions:
        for node in _nodes(function):
            node.name = f"{text(function.name)}/{text(node.name) or text(node.op_type)}"
    return inline_local_functions(model) if model.functions else model


def _inferred(model: ModelProto) -> Model:
    """The model with the shapes that follow from its inputs and constants. What the file says of other values may be
    older than those: it counts where nothing follows."""
    opset = max((entry.version for entry in model.opset_import if entry.domain == ""), default=0)
    model.ir_version = max(model.ir_version, 4)  # before it, constants had to be inputs as well
    graphs = list(_graphs(model.graph))
    for graph in graphs:
        constants = {tensor.name for tensor in graph.initializer}
        constants |= {tensor.values.name for tensor in graph.sparse_initializer}
        inputs = [value for value in graph.input if value.name not in constants]
        del graph.input[:]
        graph.input.extend(inputs)
    sizes = _named_sizes(graphs)
    unused = (name for number in count() if (name := f"unknown_{number}") not in sizes)
    shapes_of_file = [_forget_shapes(graph) for graph in graphs]
    for value in (*model.graph.input, *(value for shapes in shapes_of_file for value in shapes.values())):
        # What is not known is the same size wherever the value goes.
        for size in value.type.tensor_type.shape.dim:
            if not (size.HasField("dim_value") or size.dim_param):
                size.dim_param = next(unused)
    error = _error(model)
    if opset >= EXPAND_OPSET:
        model.graph.initializer.append(make_tensor(_SCALAR, TensorProto.FLOAT, [], [0.0]))
        _add_targets(model.graph, ChainMap())
    inferred = infer_shapes(model, data_prop=True)
    if _recall(graphs, _graphs(inferred.graph), shapes_of_file):
        inferred = infer_shapes(model, data_prop=True)
    functions = frozenset((function.domain, function.name) for function in model.functions)
    return Model(inferred.graph, opset, functions, sizes, error)


def _named_sizes(graphs: Iterable[GraphProto]) -> frozenset[str]:
    """The names of sizes. A size that is negative or named "?" is made one that is not known, as which it is meant."""
    names = set()
    for graph in graphs:
        for value in (*graph.input, *graph.output, *graph.value_info):
            for size in value.type.tensor_type.shape.dim:
                if size.dim_value < 0 or size.dim_param == "?":
                    size.Clear()
                if size.dim_param:
                    names.add(text(size.dim_param))
    return frozenset(names)


def _forget_shapes(graph: GraphProto) -> dict[str, ValueInfoProto]:
    """The shapes that a graph had for its values, by their names, once those of all but its inputs are taken off it."""
    shapes = {}
    for value in (*graph.value_info, *graph.output):
        if value.type.tensor_type.HasField("shape"):
            shapes[value.name] = ValueInfoProto()
            shapes[value.name].CopyFrom(value)
            value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    return shapes


def _recall(
    graphs: Iterable[GraphProto], inferred: Iterable[GraphProto], shapes_of_file: Iterable[dict[str, ValueInfoProto]]
) -> bool:
    """Whether there are values of which no shape was inferred; the graphs get back what the file said of them."""
    recalled = False
    for graph, inferred_graph, shapes in zip(graphs, inferred, shapes_of_file, strict=True):
        for value in (*inferred_graph.value_info, *inferred_graph.output):
            if value.type.tensor_type.HasField("shape"):
                shapes.pop(value.name, None)
        recalled = recalled or bool(shapes)
        for value in graph.output:
            if value.name in shapes:
                value.CopyFrom(shapes.pop(value.name))
        graph.value_info.extend(shapes.values())
    return recalled


def _error(model: ModelProto) -> str:
    try:
        infer_shapes(model, strict_mode=True, data_prop=True)
    except InferenceError as error:
        return _line(error).rpartition("Inference error(s): ")[2]
    return ""


def _add_targets(graph: GraphProto, outer: ChainMap[str, GraphProto]) -> None:
    """Let inference say what it knows of each shape that a node expands to: a scalar that is expanded to it has just
    that shape. It knows most in the graph where the value is made, which may be an `outer` one."""
    homes = outer.new_child(dict.fromkeys((value.name for value in (*graph.input, *graph.initializer)), graph))
    homes.update((name, graph) for node in graph.node for name in node.output)
    for node in list(graph.node):
        if (node.domain, node.op_type) == ("", "Expand") and len(node.input) == 2:
            name = node.input[1]
            target = target_of(name)
            scope = next((scope for scope in homes.maps if name in scope), None)
            if scope is not None and target not in scope:
                scope[name].node.append(make_node("Expand", [_SCALAR, name], [target]))
                scope[target] = scope[name]
        for _, inner in subgraphs(node):
            _add_targets(inner, homes)
