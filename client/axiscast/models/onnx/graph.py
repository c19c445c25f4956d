"""Graphs of an ONNX model: their nodes, subgraphs and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import FunctionProto, GraphProto, NodeProto, TensorShapeProto, ValueInfoProto

OnnxDimension = TensorShapeProto.Dimension
PartialSize = int | str | None
"""A size, its name, or None if it has neither."""


def target_name(shape_value: str) -> str:
    """Return the name of the value that is added to the graph to find a shape. The value has that shape."""
    return f"axiscast target {shape_value}"


SCALAR = target_name("")
"""The name of the constant that the added nodes expand."""


def is_added(node: NodeProto) -> bool:
    """Return whether a node was added to find the shape in a value."""
    return list(node.input[:1]) == [SCALAR]


def decoded(name: str | bytes) -> str:
    """Return a name in the file as text, with escapes for bytes that are not UTF-8."""
    return name if isinstance(name, str) else name.decode(errors="backslashreplace")


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """Yield the subgraphs of a node, such as the body of a loop, with the names of their attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield decoded(attribute.name), attribute.g
        for number, graph in enumerate(attribute.graphs):
            yield f"{decoded(attribute.name)}[{number}]", graph


def graphs_with_paths(graph: GraphProto, path: str = "") -> Iterator[tuple[str, GraphProto]]:
    """Yield a graph and its subgraphs with their paths, each subgraph after the graph that contains it."""
    yield path, graph
    for node in graph.node:
        for attribute, inner in subgraphs(node):
            yield from graphs_with_paths(inner, f"{node.name}/{attribute}")


def all_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """Yield a graph and its subgraphs. Shape inference keeps their order."""
    return (each for _, each in graphs_with_paths(graph))


def all_nodes(owner: GraphProto | FunctionProto) -> Iterator[NodeProto]:
    """Yield all nodes of a graph or function, including those of subgraphs."""
    for node in owner.node:
        yield node
        for _, graph in subgraphs(node):
            yield from all_nodes(graph)


def dimensions_of(values: Iterable[ValueInfoProto]) -> Iterator[OnnxDimension]:
    """Yield the dimensions of all values."""
    for value in values:
        yield from value.type.tensor_type.shape.dim


def size_of(dimension: OnnxDimension) -> PartialSize:
    """Return the size of a dimension, or its name, or None if it has neither."""
    return dimension.dim_value if dimension.HasField("dim_value") else decoded(dimension.dim_param) or None


def integer_attribute(node: NodeProto, name: str) -> int | None:
    """Return an integer attribute of a node, or None if the node does not have it."""
    return next((attribute.i for attribute in node.attribute if attribute.name == name), None)
