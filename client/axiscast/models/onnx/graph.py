"""Functions that read the nodes, subgraphs and sizes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import FunctionProto, GraphProto, NodeProto, TensorShapeProto, ValueInfoProto

from ...messages.findings import PartialSize

OnnxDimension = TensorShapeProto.Dimension


def target_name(shape_value: str) -> str:
    """Return the name of the value that axiscast adds to a graph to find out which shape `shape_value` contains.

    The added value has this shape, so that onnx infers the shape.
    """
    return f"axiscast target {shape_value}"


SCALAR = target_name("")
"""The name of the scalar constant that the added Expand nodes expand."""


def is_added(node: NodeProto) -> bool:
    """Return whether axiscast added this node to find the shape that a value contains."""
    return list(node.input[:1]) == [SCALAR]


def decoded(name: str | bytes) -> str:
    """Return a name from the file as a string. Bytes that are not valid UTF-8 are replaced by escapes."""
    return name if isinstance(name, str) else name.decode(errors="backslashreplace")


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """Yield the subgraphs of a node, such as the body of a loop, each with the name of its attribute."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield decoded(attribute.name), attribute.g
        for number, graph in enumerate(attribute.graphs):
            yield f"{decoded(attribute.name)}[{number}]", graph


def graphs_with_paths(graph: GraphProto, path: str = "") -> Iterator[tuple[str, GraphProto]]:
    """Yield a graph and all its subgraphs, each with its path. A graph precedes its subgraphs."""
    yield path, graph
    for node in graph.node:
        for attribute, inner in subgraphs(node):
            yield from graphs_with_paths(inner, f"{node.name}/{attribute}")


def all_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """Yield a graph and all its subgraphs. The order stays the same after shape inference."""
    return (each for _, each in graphs_with_paths(graph))


def all_nodes(owner: GraphProto | FunctionProto) -> Iterator[NodeProto]:
    """Yield all nodes of a graph or function, including the nodes in subgraphs."""
    for node in owner.node:
        yield node
        for _, graph in subgraphs(node):
            yield from all_nodes(graph)


def dimensions_of(values: Iterable[ValueInfoProto]) -> Iterator[OnnxDimension]:
    """Yield the dimensions in the shapes of all given values."""
    for value in values:
        yield from value.type.tensor_type.shape.dim


def size_of(dimension: OnnxDimension) -> PartialSize:
    """Return the size or the name of a dimension, or None if the dimension has neither a size nor a name."""
    return dimension.dim_value if dimension.HasField("dim_value") else decoded(dimension.dim_param) or None


def integer_attribute(node: NodeProto, name: str) -> int | None:
    """Return the value of an integer attribute of a node, or None if the node does not have the attribute."""
    return next((attribute.i for attribute in node.attribute if attribute.name == name), None)
