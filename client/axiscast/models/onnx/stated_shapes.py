"""The shapes that an ONNX file states for the outputs of its nodes, in `value_info`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onnx import GraphProto, NodeProto, ValueInfoProto

from ...messages.findings import Contradiction
from .graph import decoded, size_of

NAMED_BY_ONNX = re.compile("unk__[0-9]+")
"""The pattern of names that onnx generates for sizes that it can't infer."""
StatedShapes = dict[str, ValueInfoProto]
"""The stated shapes in one graph, keyed by the name of the value."""


def forget_shapes(graph: GraphProto) -> StatedShapes:
    """Remove all stated shapes from a graph, except those of inputs. Return the stated shapes of the nodes' outputs."""
    results = {name for node in graph.node for name in node.output}
    stated: StatedShapes = {}
    for value in (*graph.value_info, *graph.output):
        if value.type.tensor_type.HasField("shape"):
            if value.name in results:
                stated[value.name] = ValueInfoProto()
                stated[value.name].CopyFrom(value)
            value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    return stated


def find_contradictions(graph: GraphProto, stated: StatedShapes) -> Iterator[tuple[NodeProto, Contradiction]]:
    """Yield the node of each value whose inferred shape differs from the stated shape, and the contradiction.

    Two shapes differ if their ranks differ, or if they have different numbers on an axis.
    """
    values = (*graph.value_info, *graph.output)
    inferred = {value.name: value for value in values if value.type.tensor_type.HasField("shape")}
    for node in graph.node:
        for name in node.output:
            if name not in inferred or name not in stated:
                continue
            by_inputs = [size_of(size) for size in inferred[name].type.tensor_type.shape.dim]
            by_file = [size_of(size) for size in stated[name].type.tensor_type.shape.dim]
            if len(by_inputs) != len(by_file) or any(
                isinstance(one, int) and isinstance(other, int) and one != other
                for one, other in zip(by_inputs, by_file, strict=True)
            ):
                yield node, Contradiction(decoded(name), tuple(by_file), tuple(by_inputs))
