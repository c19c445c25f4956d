"""What an ONNX file states of the shapes that its nodes make, as torch's exporter writes it (`value_info`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from onnx import GraphProto, NodeProto, TensorShapeProto, ValueInfoProto

from .graph import Dimension, size_of, text

NAMED_BY_ONNX = re.compile("unk__[0-9]+")
"""The names that onnx gives to sizes that it does not know."""
OUTPUT_OF_FILE = "axiscast.output"
"""Where a node that expands keeps the shape that the file states of its output."""


def forget_shapes(graph: GraphProto) -> dict[str, ValueInfoProto]:
    """The shapes that the file states of what nodes make, by name, once those of all but the inputs are taken off."""
    made = {name for node in graph.node for name in node.output}
    shapes = {}
    for value in (*graph.value_info, *graph.output):
        if value.type.tensor_type.HasField("shape"):
            if value.name in made:
                shapes[value.name] = ValueInfoProto()
                shapes[value.name].CopyFrom(value)
            value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    for node in graph.node:
        if node.op_type == "Expand" and (stated := shapes.get(next(iter(node.output), ""))) is not None:
            sizes = [size_of(size) for size in stated.type.tensor_type.shape.dim]
            node.metadata_props.add(key=OUTPUT_OF_FILE, value=json.dumps(sizes))
    return shapes


def output_of_file(node: NodeProto) -> list[int | str | None] | None:
    """The shape that the file states of what an Expand makes; None where it states none."""
    stated = [entry.value for entry in node.metadata_props if entry.key == OUTPUT_OF_FILE]
    return json.loads(stated[-1]) if stated else None


def recall(
    graphs: Iterable[GraphProto],
    inferred: Iterable[GraphProto],
    shapes_of_file: Iterable[dict[str, ValueInfoProto]],
    of_inputs: frozenset[str],
) -> bool:
    """Whether the file knows sizes that were not inferred. The graphs then get those, and all that were: what the file
    says may keep a node from being inferred, and nothing that is known is to be lost by that."""
    recalled = False
    for graph, inferred_graph, stated in zip(graphs, inferred, shapes_of_file, strict=True):
        known = {value.name: value for value in (*inferred_graph.value_info, *inferred_graph.output)}
        inputs = {value.name for value in graph.input}
        outputs = {value.name: value for value in graph.output}
        for name in dict.fromkeys((*known, *stated)):
            value = known.get(name)
            if value is None or not value.type.tensor_type.HasField("shape"):
                value = stated.get(name)
                recalled = recalled or value is not None
            elif name in stated:
                own, theirs = value.type.tensor_type.shape.dim, stated[name].type.tensor_type.shape.dim
                for size, of_file in zip(own, theirs, strict=True) if len(own) == len(theirs) else ():
                    if not _is_known(size, of_inputs) and _is_known(of_file, None):
                        size.CopyFrom(of_file)
                        recalled = True
            sizes = () if value is None else value.type.tensor_type.shape.dim
            if value is None or name in inputs or any(NAMED_BY_ONNX.fullmatch(size.dim_param) for size in sizes):
                continue  # a size that has a name of onnx's own may now be inferred
            if name in outputs:
                outputs[name].CopyFrom(value)
            else:
                graph.value_info.append(value)
    return recalled


def shapes_in(graph: GraphProto) -> dict[str, list[Dimension]]:
    """A copy of the sizes of what is known to have a rank, by name."""
    shapes: dict[str, list[Dimension]] = {}
    for value in (*graph.value_info, *graph.output):
        if value.type.tensor_type.HasField("shape"):
            copy = TensorShapeProto()
            copy.CopyFrom(value.type.tensor_type.shape)
            shapes[value.name] = list(copy.dim)
    return shapes


def _is_known(size: Dimension, names: frozenset[str] | None) -> bool:
    """Whether a size is a number or has a name, one of `names` if those are all."""
    return size.HasField("dim_value") or bool(size.dim_param and (names is None or size.dim_param in names))


def mark(graph: GraphProto, before: dict[str, list[Dimension]], of_inputs: frozenset[str]) -> None:
    """Note at each value of which more is known than `before` that the file says so."""
    for value in (*graph.value_info, *graph.output):
        sizes = value.type.tensor_type.shape.dim
        earlier = before.get(value.name, ())
        if len(sizes) != len(earlier) or any(
            _is_known(size, None) and not _is_known(known, of_inputs) and not NAMED_BY_ONNX.fullmatch(size.dim_param)
            for size, known in zip(sizes, earlier, strict=True)
        ):
            value.metadata_props.add(key=_BY_FILE)


_BY_FILE = "axiscast.by_file"


def is_by_file(value: ValueInfoProto) -> bool:
    """Whether sizes of a value are known from the file alone."""
    return any(entry.key == _BY_FILE for entry in value.metadata_props)


def contradictions(
    graph: GraphProto, shapes: Mapping[str, list[Dimension]], stated: Mapping[str, ValueInfoProto]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield each value whose inferred shape has another rank, or another number on an axis, than the file states: the
    number of its node, its name, the op, and what is wrong in words."""
    for node in graph.node:
        for name in node.output:
            if name in shapes and name in stated:
                found = [size_of(size) for size in shapes[name]]
                said = [size_of(size) for size in stated[name].type.tensor_type.shape.dim]
                if len(found) != len(said) or any(
                    isinstance(one, int) and isinstance(other, int) and one != other
                    for one, other in zip(found, said, strict=True)
                ):
                    words = f"the file states {_written(said)} for {text(name)}, and its inputs give {_written(found)}"
                    yield node.name, text(name), text(node.op_type), words


def _written(shape: Iterable[int | str | None]) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"
