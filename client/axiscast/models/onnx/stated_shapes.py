"""The shapes that an ONNX file states for the outputs of its nodes, in `value_info`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from onnx import GraphProto, NodeProto, TensorShapeProto, ValueInfoProto

from ..finding import Contradiction, PartialSize
from .graph import OnnxDimension, decoded, size_of

NAMED_BY_ONNX = re.compile("unk__[0-9]+")
"""The pattern of names that onnx generates for sizes that it can't infer."""
STATED_OUTPUT = "axiscast.output"
"""The metadata key under which an Expand node stores the output shape that the file states."""
_BY_FILE = "axiscast.by_file"
"""The metadata key that marks values with a size that is only stated in the file."""

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
    for node in graph.node:
        if node.op_type == "Expand" and (output := stated.get(next(iter(node.output), ""))) is not None:
            sizes = [size_of(size) for size in output.type.tensor_type.shape.dim]
            node.metadata_props.add(key=STATED_OUTPUT, value=json.dumps(sizes))
    return stated


def stated_output(node: NodeProto) -> list[PartialSize] | None:
    """Return the output shape that the file states for an Expand node, or None if the file does not state it."""
    stated = [entry.value for entry in node.metadata_props if entry.key == STATED_OUTPUT]
    return json.loads(stated[-1]) if stated else None


def restore_shapes(graph: GraphProto, inferred: GraphProto, stated: StatedShapes, input_names: frozenset[str]) -> bool:
    """Add the inferred shapes to a graph, and complete these shapes with stated sizes.

    Return whether any stated size was used. A stated shape may prevent onnx from inferring a node again. For this
    reason, the inferred shapes are also added.
    """
    uses_stated = False
    known = {value.name: value for value in (*inferred.value_info, *inferred.output)}
    inputs = {value.name for value in graph.input}
    outputs = {value.name: value for value in graph.output}
    for name in dict.fromkeys((*known, *stated)):
        value = known.get(name)
        if value is None or not value.type.tensor_type.HasField("shape"):
            value = stated.get(name)
            uses_stated = uses_stated or value is not None
        elif name in stated:
            uses_stated = _complete(value, stated[name], input_names) or uses_stated
        if value is None or name in inputs:
            continue
        if any(NAMED_BY_ONNX.fullmatch(size.dim_param) for size in value.type.tensor_type.shape.dim):
            continue  # onnx may be able to infer this size in the next pass
        if name in outputs:
            outputs[name].CopyFrom(value)
        else:
            graph.value_info.append(value)
    return uses_stated


def _complete(value: ValueInfoProto, stated: ValueInfoProto, input_names: frozenset[str]) -> bool:
    """Replace the unknown sizes of a value by stated sizes. Return whether any size was replaced."""
    is_completed = False
    own, theirs = value.type.tensor_type.shape.dim, stated.type.tensor_type.shape.dim
    if len(own) == len(theirs):
        for size, stated_size in zip(own, theirs, strict=True):
            if not _is_known(size, input_names) and _is_known(stated_size, None):
                size.CopyFrom(stated_size)
                is_completed = True
    return is_completed


def copy_shapes(graph: GraphProto) -> dict[str, list[OnnxDimension]]:
    """Return a copy of the shapes in a graph, keyed by the name of the value."""
    shapes: dict[str, list[OnnxDimension]] = {}
    for value in (*graph.value_info, *graph.output):
        if value.type.tensor_type.HasField("shape"):
            copy = TensorShapeProto()
            copy.CopyFrom(value.type.tensor_type.shape)
            shapes[value.name] = list(copy.dim)
    return shapes


def _is_known(size: OnnxDimension, names: frozenset[str] | None) -> bool:
    """Return whether a size is an integer or has a name. If `names` is given, the name must be in `names`."""
    return size.HasField("dim_value") or bool(size.dim_param and (names is None or size.dim_param in names))


def mark_by_file(graph: GraphProto, inferred: dict[str, list[OnnxDimension]], input_names: frozenset[str]) -> None:
    """Mark the values that have a size that onnx did not infer."""
    for value in (*graph.value_info, *graph.output):
        sizes = value.type.tensor_type.shape.dim
        before = inferred.get(value.name, ())
        if len(sizes) != len(before) or any(
            _is_known(size, None)
            and not _is_known(earlier, input_names)
            and not NAMED_BY_ONNX.fullmatch(size.dim_param)
            for size, earlier in zip(sizes, before, strict=True)
        ):
            value.metadata_props.add(key=_BY_FILE)


def is_by_file(value: ValueInfoProto) -> bool:
    """Return whether a value has sizes that are only stated in the file."""
    return any(entry.key == _BY_FILE for entry in value.metadata_props)


def find_contradictions(
    graph: GraphProto, inferred: Mapping[str, list[OnnxDimension]], stated: StatedShapes
) -> Iterator[tuple[NodeProto, Contradiction]]:
    """Yield the node of each value whose inferred shape differs from the stated shape, and the contradiction.

    Two shapes differ if their ranks differ, or if they have different numbers on an axis.
    """
    for node in graph.node:
        for name in node.output:
            if name not in inferred or name not in stated:
                continue
            by_inputs = [size_of(size) for size in inferred[name]]
            by_file = [size_of(size) for size in stated[name].type.tensor_type.shape.dim]
            if len(by_inputs) != len(by_file) or any(
                isinstance(one, int) and isinstance(other, int) and one != other
                for one, other in zip(by_inputs, by_file, strict=True)
            ):
                yield node, Contradiction(decoded(name), tuple(by_file), tuple(by_inputs))
