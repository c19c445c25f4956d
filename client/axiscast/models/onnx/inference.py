"""A model: an ONNX file, with the shapes of its values as far as onnx can infer them."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto
from onnx.helper import make_node, make_tensor
from onnx.shape_inference import InferenceError, infer_shapes

from ..size_expressions import as_name, canonical, names_in
from .file import load, not_inferred, printable
from .graph import SCALAR, all_graphs, all_nodes, sizes_of, subgraphs, target_of, text
from .stated_shapes import NAMED_BY_ONNX, contradictions, forget_shapes, mark, recall, shapes_in

MAX_VECTOR = 2**20
"""Elements of a vector beside which onnx may follow values: some 140 MB and 0.2 s each."""
EXPAND_OPSET = 8
"""The first opset that has Expand."""


class InferenceFault(NamedTuple):
    """What keeps onnx from inferring a shape, in its words, and the number of the node; None where it names none."""

    node: str | None
    said: str


class Source(NamedTuple):
    """A model before inference: its nodes have numbers for names, its free sizes have names."""

    model: ModelProto
    opset: int
    names: dict[str, str]
    """The name of each node in the file, by its number."""
    sizes: frozenset[str]
    """The names of sizes that the file uses. Any other name was given to a size that is not known."""
    assumable: frozenset[str]
    """The names of sizes of the inputs, as the file has them and as questions do."""
    stated: list[dict[str, ValueInfoProto]]
    """The shapes that the file states of the values that nodes make, by name, of each graph."""


class Model(NamedTuple):
    """A model with its functions inlined and its shapes inferred."""

    graph: GraphProto
    opset: int
    functions: frozenset[tuple[str, str]]
    """Domain and name of each function that could not be inlined, since it is written for another opset."""
    sizes: frozenset[str]
    """The names of sizes that the file uses. Any other name was given to a size that is not known."""
    assumable: frozenset[str]
    """The names of sizes of the inputs, as the file has them and as questions do."""
    names: dict[str, str]
    """The name of each node in the file: in the graph it has a number."""
    faults: list[InferenceFault]
    """What keeps onnx from inferring more."""
    contradictions: tuple[tuple[str, str, str, str], ...] = ()
    """Shapes that the file states and that inference contradicts: the node's number, the value, the op, in words."""


def read(path: Path, assume: Mapping[str, int] | None = None) -> Model:
    """The model in a file, with the sizes that are assumed in place of their names. Raises UnusableModel."""
    return inferred(source(path, assume))


def source(path: Path, assume: Mapping[str, int] | None = None) -> Source:
    """Return the model in a file, with the sizes that are assumed in place of their names. Raises UnusableModel."""
    model = load(path)
    try:
        return _prepared(model, assume or {})
    except Exception as error:  # onnx raises whatever its parsers do
        raise not_inferred(error) from None


def _prepared(model: ModelProto, assume: Mapping[str, int]) -> Source:
    """The model ready for inference: with numbers for names, and without the shapes that the file states."""
    opset = max((entry.version for entry in model.opset_import if entry.domain == ""), default=0)
    model.ir_version = max(
        model.ir_version, 10
    )  # constants had to be inputs before 4; and nothing had metadata before 10
    names = _number_nodes(model.graph)
    graphs = list(all_graphs(model.graph))
    for graph in graphs:
        constants = {tensor.name for tensor in graph.initializer}
        constants |= {tensor.values.name for tensor in graph.sparse_initializer}
        inputs = [value for value in graph.input if value.name not in constants]
        del graph.input[:]
        graph.input.extend(inputs)
    stated = {text(size.dim_param) for graph in graphs for size in sizes_of(graph.input) if size.dim_param}
    by_name = {name: assume[as_name(name)] for name in stated if as_name(name) in assume} | dict(assume)
    sizes = _settle_sizes(graphs, by_name)
    unused = (name for number in count() if (name := f"unknown_{number}") not in sizes)
    for size in sizes_of(model.graph.input):
        # What is not known is the same size wherever the value goes.
        if not (size.HasField("dim_value") or size.dim_param):
            size.dim_param = name = next(unused)
            stated.add(name)
            if name in assume:
                size.dim_value = assume[name]
    shapes_of_file = [forget_shapes(graph) for graph in graphs]
    if opset >= EXPAND_OPSET:
        model.graph.initializer.append(make_tensor(SCALAR, TensorProto.FLOAT, [], [0.0]))
        _add_targets(model.graph, ChainMap())
    assumable = frozenset(name for size in stated for name in (size, as_name(size), *names_in(size)))
    return Source(model, opset, names, sizes, assumable, shapes_of_file)


def inferred(source: Source) -> Model:
    """Return the model with the shapes that follow from its inputs and constants. A shape that the file states counts
    only if nothing follows, since it may be older. Raises UnusableModel."""
    model, names = ModelProto(), source.names
    model.CopyFrom(source.model)
    graphs = list(all_graphs(model.graph))
    of_inputs = frozenset(size.dim_param for graph in graphs for size in sizes_of(graph.input))
    try:
        found, faults = _with_shapes(model, names)
        before = [shapes_in(graph) for graph in all_graphs(found.graph)]
        wrong = [
            each
            for graph, shapes, stated in zip(all_graphs(found.graph), before, source.stated, strict=True)
            for each in contradictions(graph, shapes, stated)
        ]
        if recall(graphs, all_graphs(found.graph), source.stated, of_inputs):
            found, faults = _with_shapes(model, names)
            for graph, shapes in zip(all_graphs(found.graph), before, strict=True):
                mark(graph, shapes, of_inputs)
    except Exception as error:  # as above
        raise not_inferred(error) from None
    functions = frozenset((function.domain, function.name) for function in model.functions)
    return Model(found.graph, source.opset, functions, source.sizes, source.assumable, names, faults, tuple(wrong))


def _number_nodes(graph: GraphProto) -> dict[str, str]:
    """The name of each node, by the number that takes its place, so that errors say which node they are of."""
    names = {}
    for number, node in enumerate(all_nodes(graph)):
        names[str(number)] = text(node.name or next(iter(node.output), "") or node.op_type)
        node.name = str(number)
    return names


def _with_shapes(model: ModelProto, names: Mapping[str, str]) -> tuple[ModelProto, list[InferenceFault]]:
    """The model with all shapes that onnx infers, and what it says where it can't."""
    follow = _follows_values(model)
    try:
        return infer_shapes(model, strict_mode=True, data_prop=follow), []
    except InferenceError as error:
        said = str(error).partition("Inference error(s): ")[2] or str(error)
    try:
        return infer_shapes(model, data_prop=follow), list(_faults(said))
    except InferenceError as error:
        said = re.sub("node name: ([0-9]+)", lambda match: f"node name: {names.get(match[1], match[1])}", str(error))
        raise InferenceError(said) from None


def _follows_values(model: ModelProto) -> bool:
    """Whether onnx may follow the values that shapes are computed from. It makes a list as long as each vector that is
    added or multiplied, whatever the vector holds: of 2^62 elements it would never end."""
    try:
        plain = infer_shapes(model).graph
    except InferenceError:  # it will be raised again
        return False
    return not any(
        len(shape) == 1 and shape[0] > MAX_VECTOR
        for graph in all_graphs(plain)
        for shape in (
            *(
                [size.dim_value for size in sizes_of([value])]
                for value in (*graph.input, *graph.output, *graph.value_info)
            ),
            *(tensor.dims for tensor in graph.initializer),
        )
    )


_FAULT = re.compile(r"\(op_type:(?P<op>[^,)]*)(?:, node name: (?P<node>[^)]*))?\): (?P<said>.*)")
_ERROR = re.compile(r"^\[\w+\] ")
_IDLE = re.compile(r"existing (shape|elem type)|expected to have type but instead is null|Input type was null|is null")
"""Said of what the file states otherwise, or of a node one of whose inputs is not known since another node failed."""


def _faults(said: str) -> Iterator[InferenceFault]:
    """What onnx says of single nodes, the innermost of those that hold each other; of none where it names none."""
    for line in filter(None, map(str.strip, said.splitlines())):
        found = None
        rest = line
        while match := _FAULT.search(rest):
            found, rest = match, match["said"]
        if not _IDLE.search(rest):
            yield InferenceFault(found["node"] if found else None, printable(_ERROR.sub("", rest)))


def _settle_sizes(graphs: Iterable[GraphProto], assume: Mapping[str, int]) -> frozenset[str]:
    """The names of sizes, once those that are assumed are the integers, and equal expressions are one. A size that is
    negative or named "?" is made one that is not known, as which it is meant; so is one that onnx once named itself."""
    names = set()
    for graph in graphs:
        for size in sizes_of((*graph.input, *graph.output, *graph.value_info)):
            if size.dim_value < 0 or size.dim_param == "?" or NAMED_BY_ONNX.fullmatch(text(size.dim_param)):
                size.Clear()
            if size.dim_param:
                settled = canonical(text(size.dim_param), assume)
                if isinstance(settled, int):
                    size.dim_value = settled
                else:
                    size.dim_param = settled
                    names.add(settled)
    return frozenset(names)


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
                scope[name].node.append(make_node("Expand", [SCALAR, name], [target]))
                scope[target] = scope[name]
        for _, inner in subgraphs(node):
            _add_targets(inner, homes)
