"""A graph of an ONNX model: its nodes, those of the graphs that they hold, and the sizes of its values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import FunctionProto, GraphProto, NodeProto, TensorShapeProto, ValueInfoProto

Dimension = TensorShapeProto.Dimension


def target_of(name: str) -> str:
    """The name of a value that was added: it has the shape that the value `name` holds, to which a node expands."""
    return f"axiscast target {name}"


SCALAR = target_of("")


def is_added(node: NodeProto) -> bool:
    """Whether a node makes such a value."""
    return list(node.input[:1]) == [SCALAR]


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


def all_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all that its nodes hold, in an order that inference keeps."""
    yield graph
    for node in graph.node:
        for _, inner in subgraphs(node):
            yield from all_graphs(inner)


def places(graph: GraphProto, place: str = "") -> Iterator[str]:
    """Yield where each of all_graphs stands: the name of the node that holds it, and of the attribute."""
    yield place
    for node in graph.node:
        for attribute, inner in subgraphs(node):
            yield from places(inner, f"{node.name}/{attribute}")


def all_nodes(owner: GraphProto | FunctionProto) -> Iterator[NodeProto]:
    """All nodes, those of graphs that nodes hold included."""
    for node in owner.node:
        yield node
        for _, graph in subgraphs(node):
            yield from all_nodes(graph)


def sizes_of(values: Iterable[ValueInfoProto]) -> Iterator[Dimension]:
    """Return the sizes of some values, one after another."""
    for value in values:
        yield from value.type.tensor_type.shape.dim


def size_of(size: Dimension) -> int | str | None:
    """A size or its name; None where there is neither."""
    return size.dim_value if size.HasField("dim_value") else text(size.dim_param) or None
