"""What an ONNX node requires of the sizes of its inputs, as pairs of integers that must have a relation.

onnx's shape inference checks only a part of these requirements, and reports a failure as text. Here, a failure has the
two sizes that do not fit, so that the sizes at which the node runs can be calculated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from math import prod

import numpy as np
from onnx import NodeProto
from pydantic import ValidationError

from ...messages.findings import Quantity, Requirement, RequirementKind
from ...ops.numpy import einsum
from ...plan.alignment import Alignment, ShapeMismatch, align_right, align_second_to_first
from ...plan.relations import Relation
from .broadcasting import BROADCASTING_OPS, follows_rule, rule_of
from .concrete_values import UNKNOWN_SIZE, KnownValue
from .graph import decoded

NodeInputs = Sequence[KnownValue]
InputShapes = Sequence["list[int] | None"]
Rule = Callable[["NodeReader"], Iterator[Requirement]]

_KINDS: dict[Relation, RequirementKind] = {
    Relation.BROADCAST: "broadcast",
    Relation.BROADCAST_TO: "broadcast-to",
    Relation.EQUAL: "equal",
}


class NodeReader:
    """The shapes, integers and attributes of a node. Sizes that are not known are UNKNOWN_SIZE."""

    def __init__(self, node: NodeProto, inputs: NodeInputs, shapes: InputShapes, opset: int) -> None:
        self.node, self.opset, self.shapes, self._inputs = node, opset, shapes, inputs
        self._attributes = {decoded(attribute.name): attribute for attribute in node.attribute}

    def shape(self, number: int) -> list[int] | None:
        """Return the shape of an input, or None if the input is missing or has an unknown rank."""
        return self.shapes[number] if number < len(self.shapes) and self.node.input[number] else None

    def integers(self, number: int) -> list[int] | None:
        """Return the elements of an input that contains known integers, or None."""
        array = self._inputs[number].array if number < len(self._inputs) else None
        return None if array is None or array.dtype.kind not in "iu" else [int(each) for each in array.reshape(-1)]

    def array(self, number: int) -> np.ndarray | None:
        """Return the known elements of an input, or None."""
        return self._inputs[number].array if number < len(self._inputs) else None

    def size(self, number: int, axis: int) -> Quantity | None:
        """Return a size of an input, or None if the input does not have the axis."""
        shape = self.shape(number)
        if shape is None or not -len(shape) <= axis < len(shape):
            return None
        return Quantity(shape[axis], number, axis % len(shape))

    def integer(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        return self._attributes[name].i if name in self._attributes else default

    def integer_list(self, name: str) -> list[int]:
        """Return an attribute that is a list of integers, or an empty list."""
        return [*self._attributes[name].ints] if name in self._attributes else []

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute that is a text."""
        return decoded(self._attributes[name].s) if name in self._attributes else default


def requirements(node: NodeProto, inputs: NodeInputs, shapes: InputShapes, opset: int) -> list[Requirement]:
    """Return the requirements of a node whose sizes are known. For an unsupported op, the list is empty.

    `shapes` are the shapes of the inputs, with UNKNOWN_SIZE for unknown sizes, or None for an unknown rank.
    """
    rule = _RULES.get(node.op_type) if node.domain == "" else None
    if rule is None:
        return []
    found = rule(NodeReader(node, inputs, shapes, opset))
    return [each for each in found if UNKNOWN_SIZE not in (each.left.value, each.right.value)]


def _pair(kind: RequirementKind, left: Quantity | None, right: Quantity | int | None) -> Iterator[Requirement]:
    """Yield the requirement, if both quantities exist."""
    right = Quantity(right) if isinstance(right, int) else right
    if left is not None and right is not None:
        yield Requirement(kind, left, right)


def _aligned(alignment: Alignment, numbers: Sequence[int] | None = None) -> Iterator[Requirement]:
    """Yield what an alignment requires of the sizes on each axis. The last axis comes first.

    `numbers` are the inputs of the node that are aligned, by default all. A target is the value of input 1.
    """
    for axis in reversed(alignment.axes):
        common: Quantity | None = None
        for number, place, value in axis.terms:
            if number is None:
                size = Quantity(value, 1, place, "value")
            else:
                size = Quantity(value, numbers[number] if numbers else number, place)
            if common is not None:
                yield Requirement(_KINDS[axis.relation], common, size)
            if common is None or common.value == 1:
                common = size


def _broadcast(reader: NodeReader) -> Iterator[Requirement]:
    """Yield what the rule of the op requires. An input of unknown rank is treated as a scalar."""
    if not follows_rule(reader.node.op_type, reader.opset):
        return
    kind = rule_of(reader.node.op_type)
    known = [reader.shape(number) for number in range(len(reader.shapes))][: kind.max_inputs]
    if not kind.takes(len(known)):
        return
    op = kind.model_validate({name: int(reader.integer(name, 0) != 0) for name in kind.transposes})
    try:
        yield from _aligned(op.align(tuple(tuple(shape or ()) for shape in known)))
    except ShapeMismatch:
        if None not in known:
            yield from _rank_limit(reader, len(known) - 1, len(known[0] or ()))


def _rank_limit(reader: NodeReader, number: int, rank: int) -> Iterator[Requirement]:
    own = Quantity(len(reader.shape(number) or ()), number, what="rank")
    yield Requirement("at-most", own, Quantity(rank))


def _expand(reader: NodeReader) -> Iterator[Requirement]:
    shape, target = reader.shape(0), reader.integers(1)
    if shape is not None and target is not None:
        yield from _aligned(align_right((tuple(shape),), tuple(target)))


def _axes(reader: NodeReader, number: int, first: int = 0) -> list[Quantity]:
    shape = reader.shape(number) or []
    return [Quantity(size, number, axis) for axis, size in enumerate(shape)][first:]


def _concat(reader: NodeReader) -> Iterator[Requirement]:
    known = [number for number in range(len(reader.shapes)) if reader.shape(number) is not None]
    for one, other in pairwise(known):
        rank, other_rank = (len(reader.shape(number) or ()) for number in (one, other))
        if rank != other_rank:
            yield Requirement("equal", Quantity(rank, one, what="rank"), Quantity(other_rank, other, what="rank"))
            return
        for axis in set(range(rank)) - {reader.integer("axis", 1) % max(rank, 1)}:
            yield from _pair("equal", reader.size(one, axis), reader.size(other, axis))


def _reshape(reader: NodeReader) -> Iterator[Requirement]:
    shape, target = reader.shape(0), reader.integers(1) if len(reader.shapes) > 1 else reader.integer_list("shape")
    if shape is None or target is None or UNKNOWN_SIZE in shape:
        return
    copies = not reader.integer("allowzero", 0)
    sizes = [shape[axis] if size == 0 and copies and axis < len(shape) else size for axis, size in enumerate(target)]
    elements, others = Quantity(prod(shape), 0, what="elements"), prod(size for size in sizes if size != -1)
    if -1 in sizes and others:
        yield Requirement("multiple", elements, Quantity(others))
    elif -1 not in sizes:
        yield Requirement("equal", elements, Quantity(others))


def _split(reader: NodeReader) -> Iterator[Requirement]:
    parts = reader.integers(1) if len(reader.shapes) > 1 and reader.node.input[1] else reader.integer_list("split")
    size, outputs = reader.size(0, reader.integer("axis", 0)), len(reader.node.output)
    if parts:
        yield from _pair("equal", size, sum(parts))
    elif parts is not None and outputs and not reader.integer("num_outputs", 0):
        yield from _pair("multiple", size, outputs)


def _topk(reader: NodeReader) -> Iterator[Requirement]:
    size = reader.size(0, reader.integer("axis", -1))
    for count in (reader.integers(1) or [])[:1]:
        yield from _at_most(Quantity(count, 1, what="value"), size)


def _at_most(left: Quantity, right: Quantity | None) -> Iterator[Requirement]:
    yield from _pair("at-most", left, right)


def _indexes(indices: Sequence[int] | None, number: int, size: Quantity | None) -> Iterator[Requirement]:
    """Yield that the size is large enough for all indices, of which negative ones count from the end."""
    if indices:
        yield from _at_most(Quantity(max(max(indices) + 1, -min(indices)), number, what="value"), size)


def _gather(reader: NodeReader) -> Iterator[Requirement]:
    yield from _indexes(reader.integers(1), 1, reader.size(0, reader.integer("axis", 0)))


def _gather_elements(reader: NodeReader) -> Iterator[Requirement]:
    axis, rank = reader.integer("axis", 0), len(reader.shape(0) or ())
    for other in range(rank):
        size = reader.size(1, other)
        if other != axis % rank and size is not None:
            yield from _at_most(size, reader.size(0, other))
    yield from _gather(reader)


def _scatter_elements(reader: NodeReader) -> Iterator[Requirement]:
    for axis in range(len(reader.shape(1) or ())):
        yield from _pair("equal", reader.size(1, axis), reader.size(2, axis))
    yield from _gather_elements(reader)


def _index_tuples(reader: NodeReader, first: int) -> Iterator[Requirement]:
    array = reader.array(1)
    if array is not None and array.ndim and array.size:
        for column in range(array.shape[-1]):
            yield from _indexes([int(each) for each in array[..., column].flat], 1, reader.size(0, first + column))


def _gather_nd(reader: NodeReader) -> Iterator[Requirement]:
    batch = reader.integer("batch_dims", 0)
    for axis in range(batch):
        yield from _pair("equal", reader.size(0, axis), reader.size(1, axis))
    yield from _index_tuples(reader, batch)


def _scatter_nd(reader: NodeReader) -> Iterator[Requirement]:
    yield from _index_tuples(reader, 0)
    indices, data = reader.shape(1), reader.shape(0)
    if not indices or data is None or indices[-1] == UNKNOWN_SIZE:
        return
    wanted = _axes(reader, 1)[:-1] + _axes(reader, 0, indices[-1])
    for axis, size in enumerate(wanted):
        yield from _pair("equal", reader.size(2, axis), size)


def _einsum(reader: NodeReader) -> Iterator[Requirement]:
    shapes = [reader.shape(number) for number in range(len(reader.shapes))]
    with suppress(ValidationError, ShapeMismatch):  # the equation is invalid, or a rank does not fit
        op = einsum(equation=reader.text("equation"))
        if None not in shapes and op.input_count_problem(len(shapes)) is None:
            yield from _aligned(op.align(tuple(tuple(shape or ()) for shape in shapes)))


def _layer_norm(reader: NodeReader) -> Iterator[Requirement]:
    shape = tuple(reader.shape(0) or ())
    axis = reader.integer("axis", -1) % max(len(shape), 1)
    for number in (1, 2) if reader.shape(0) is not None else ():
        scale = tuple(reader.shape(number) or ())
        yield from _rank_limit(reader, number, len(shape) - axis)
        if len(scale) <= len(shape):
            yield from _aligned(align_second_to_first((shape, scale), len(shape) - len(scale)), (0, number))


def _channel_norm(reader: NodeReader) -> Iterator[Requirement]:
    for number in range(1, len(reader.shapes)):
        yield from _pair("equal", reader.size(0, 1), reader.size(number, 0))


def _group_norm(reader: NodeReader) -> Iterator[Requirement]:
    yield from _pair("multiple", reader.size(0, 1), reader.integer("num_groups", 1))


def _conv(reader: NodeReader) -> Iterator[Requirement]:
    kernel = reader.size(1, 1)
    if kernel is not None and kernel.value != UNKNOWN_SIZE:
        yield from _pair("equal", reader.size(0, 1), kernel._replace(value=kernel.value * reader.integer("group", 1)))


def _conv_transpose(reader: NodeReader) -> Iterator[Requirement]:
    yield from _pair("equal", reader.size(0, 1), reader.size(1, 0))


def _space_to_depth(reader: NodeReader) -> Iterator[Requirement]:
    for axis in (2, 3):
        yield from _pair("multiple", reader.size(0, axis), reader.integer("blocksize", 1))


def _depth_to_space(reader: NodeReader) -> Iterator[Requirement]:
    yield from _pair("multiple", reader.size(0, 1), reader.integer("blocksize", 1) ** 2)


def _recurrent(reader: NodeReader) -> Iterator[Requirement]:
    batch = 0 if reader.integer("layout", 0) else 1
    yield from _pair("equal", reader.size(0, 2), reader.size(1, 2))
    yield from _pair("equal", reader.size(0, batch), reader.size(4, 0))
    for number in (5, 6):
        yield from _pair("equal", reader.size(0, batch), reader.size(number, batch))


def _squeeze(reader: NodeReader) -> Iterator[Requirement]:
    axes = reader.integers(1) if len(reader.shapes) > 1 else reader.integer_list("axes")
    for axis in axes or ():
        yield from _pair("equal", reader.size(0, axis), 1)


def _pad(reader: NodeReader) -> Iterator[Requirement]:
    pads = reader.integers(1) if len(reader.shapes) > 1 else reader.integer_list("pads")
    shape = reader.shape(0)
    if pads is None or shape is None or reader.text("mode", "constant") != "reflect":
        return
    axes = reader.integers(3) or [*range(len(shape))]
    for place, pad in enumerate(pads):
        if pad > 0:
            yield from _at_most(Quantity(pad + 1, 1, what="value"), reader.size(0, axes[place % len(axes)]))


_RULES: dict[str, Rule] = {
    **dict.fromkeys(BROADCASTING_OPS, _broadcast),
    **dict.fromkeys(("RNN", "GRU", "LSTM"), _recurrent),
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization"), _channel_norm),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _layer_norm),
    **dict.fromkeys(("Conv", "ConvInteger"), _conv),
    "Concat": _concat,
    "ConvTranspose": _conv_transpose,
    "DepthToSpace": _depth_to_space,
    "Einsum": _einsum,
    "Expand": _expand,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "GroupNormalization": _group_norm,
    "Pad": _pad,
    "Reshape": _reshape,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "TopK": _topk,
}
