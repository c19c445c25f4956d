"""What an ONNX node requires of the sizes of its inputs, as pairs of integers that must have a relation.

onnx's shape inference checks only a part of these requirements, and reports a failure as text. Here, a failure has the
two sizes that do not fit, so that the sizes at which the node runs can be calculated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import prod

import numpy as np
from onnx import NodeProto

from ...messages.findings import Quantity, Requirement, RequirementKind
from .concrete_values import UNKNOWN_SIZE, KnownValue
from .graph import decoded

NodeInputs = Sequence[KnownValue]
InputShapes = Sequence["list[int] | None"]
Rule = Callable[["NodeReader"], Iterator[Requirement]]

_SAME_SHAPE_OPSET = {**dict.fromkeys(("Max", "Min", "Mean", "Sum"), 8)}
"""The ops that require equal shapes before the given opset. The other elementwise ops broadcast from opset 7 on."""
_FIRST_BROADCASTING_OPSET = 7


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

    def integer_list(self, name: str, default: Sequence[int] = ()) -> list[int]:
        """Return an attribute that is a list of integers."""
        return [*self._attributes[name].ints] if name in self._attributes else [*default]

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


def _broadcast(reader: NodeReader, numbers: Sequence[int] | None = None, skip: int = 0) -> Iterator[Requirement]:
    """Yield what broadcasting requires: on each axis from the right, all sizes are equal or 1.

    The last `skip` axes do not broadcast.
    """
    numbers = range(len(reader.shapes)) if numbers is None else numbers
    shapes = {number: shape for number in numbers if (shape := reader.shape(number)) is not None}
    for axis in range(1 + skip, max(map(len, shapes.values()), default=0) + 1):
        sizes = [
            Quantity(shape[-axis], number, len(shape) - axis) for number, shape in shapes.items() if len(shape) >= axis
        ]
        common = sizes[0]
        for size in sizes[1:]:
            yield Requirement("broadcast", common, size)
            common = size if common.value == 1 else common


def _broadcast_onto(reader: NodeReader, number: int, target: Sequence[Quantity]) -> Iterator[Requirement]:
    """Yield what expanding an input to the target requires."""
    shape = reader.shape(number) or []
    if len(shape) > len(target):
        yield Requirement("at-most", Quantity(len(shape), number, what="rank"), Quantity(len(target)))
    for axis in range(1, min(len(shape), len(target)) + 1):
        yield Requirement("broadcast-to", Quantity(shape[-axis], number, len(shape) - axis), target[-axis])


def _elementwise(reader: NodeReader) -> Iterator[Requirement]:
    if reader.opset >= _SAME_SHAPE_OPSET.get(reader.node.op_type, _FIRST_BROADCASTING_OPSET):
        yield from _broadcast(reader)


def _axes(reader: NodeReader, number: int, first: int = 0) -> list[Quantity]:
    shape = reader.shape(number) or []
    return [Quantity(size, number, axis) for axis, size in enumerate(shape)][first:]


def _prelu(reader: NodeReader) -> Iterator[Requirement]:
    if reader.opset >= _FIRST_BROADCASTING_OPSET and reader.shape(0) is not None:
        yield from _broadcast_onto(reader, 1, _axes(reader, 0))


def _expand(reader: NodeReader) -> Iterator[Requirement]:
    shape, target = reader.shape(0), reader.integers(1)
    if shape is None or target is None:
        return
    for axis in range(1, min(len(shape), len(target)) + 1):
        size = Quantity(shape[-axis], 0, len(shape) - axis)
        yield Requirement("broadcast", size, Quantity(target[-axis], 1, len(target) - axis, "value"))


def _matmul(reader: NodeReader, second: int = 1) -> Iterator[Requirement]:
    one, other = reader.shape(0), reader.shape(second)
    if not one or not other:
        return
    yield from _pair("equal", reader.size(0, -1), reader.size(second, -2 if len(other) > 1 else -1))
    if len(one) > 1 and len(other) > 1:
        yield from _broadcast(reader, (0, second), skip=2)


def _gemm(reader: NodeReader) -> Iterator[Requirement]:
    flips = reader.integer("transA", 0), reader.integer("transB", 0)
    yield from _pair("equal", reader.size(0, 0 if flips[0] else 1), reader.size(1, 1 if flips[1] else 0))
    rows, columns = reader.size(0, 1 if flips[0] else 0), reader.size(1, 0 if flips[1] else 1)
    if rows is not None and columns is not None and reader.opset >= _FIRST_BROADCASTING_OPSET:
        yield from _broadcast_onto(reader, 2, (rows, columns))


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


def _split_to_sequence(reader: NodeReader) -> Iterator[Requirement]:
    parts, shape = reader.integers(1), reader.shape(1)
    if parts and shape:
        yield from _pair("equal", reader.size(0, reader.integer("axis", 0)), sum(parts))


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
    terms = reader.text("equation").replace(" ", "").partition("->")[0].split(",")
    sizes: dict[str, Quantity] = {}
    for number, term in enumerate(terms):
        rank = len(reader.shape(number) or ())
        before, dots, after = term.partition("...")
        named = [*zip(before, range(len(before)), strict=True)]
        named += zip(after, range(rank - len(after), rank), strict=True)
        named += [(f"...{axis}", axis - len(after)) for axis in range(len(before) - rank + len(after), 0) if dots]
        for letter, axis in named:
            size = reader.size(number, axis)
            known = sizes.get(letter)
            if size is not None and known is not None:
                yield Requirement("broadcast", known, size)
            if size is not None and (known is None or known.value == 1):
                sizes[letter] = size


def _layer_norm(reader: NodeReader) -> Iterator[Requirement]:
    shape = reader.shape(0)
    if shape is not None:
        target = _axes(reader, 0, reader.integer("axis", -1) % max(len(shape), 1))
        for number in (1, 2):
            yield from _broadcast_onto(reader, number, target)


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


def _col2im(reader: NodeReader) -> Iterator[Requirement]:
    image, block = reader.integers(1), reader.integers(2)
    if not image or not block or len(image) != len(block):
        return
    rank = len(image)
    strides, dilations = reader.integer_list("strides", [1] * rank), reader.integer_list("dilations", [1] * rank)
    pads = reader.integer_list("pads", [0] * 2 * rank)
    padded = [size + pads[axis] + pads[axis + rank] for axis, size in enumerate(image)]
    spans = [step * (size - 1) for step, size in zip(dilations, block, strict=True)]
    counts = [(size - span - 1) // step + 1 for size, span, step in zip(padded, spans, strides, strict=True)]
    yield from _pair("equal", reader.size(0, 2), prod(counts))
    yield from _pair("multiple", reader.size(0, 1), prod(block))


def _first_axes(reader: NodeReader) -> Iterator[Requirement]:
    yield from _pair("equal", reader.size(0, 0), reader.size(1, 0))


def _roi_align(reader: NodeReader) -> Iterator[Requirement]:
    yield from _pair("equal", reader.size(1, 0), reader.size(2, 0))


def _suppression(reader: NodeReader) -> Iterator[Requirement]:
    yield from _first_axes(reader)
    yield from _pair("equal", reader.size(0, 1), reader.size(1, 2))


def _reverse_sequence(reader: NodeReader) -> Iterator[Requirement]:
    yield from _pair("equal", reader.size(0, reader.integer("batch_axis", 1)), reader.size(1, 0))


BROADCASTING_OPS = """Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual
    Max Mean Min Mod Mul Or Pow StringConcat Sub Sum Where Xor""".split()  # noqa: SIM905
"""The ops that broadcast all of their inputs against each other."""
_RULES: dict[str, Rule] = {
    **dict.fromkeys(BROADCASTING_OPS, _elementwise),
    **dict.fromkeys(("RNN", "GRU", "LSTM"), _recurrent),
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization"), _channel_norm),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _layer_norm),
    **dict.fromkeys(("MatMul", "MatMulInteger"), _matmul),
    **dict.fromkeys(("Conv", "ConvInteger"), _conv),
    "Col2Im": _col2im,
    "Concat": _concat,
    "ConvTranspose": _conv_transpose,
    "DepthToSpace": _depth_to_space,
    "Einsum": _einsum,
    "Expand": _expand,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Gemm": _gemm,
    "GridSample": _first_axes,
    "GroupNormalization": _group_norm,
    "NonMaxSuppression": _suppression,
    "PRelu": _prelu,
    "Pad": _pad,
    "Reshape": _reshape,
    "ReverseSequence": _reverse_sequence,
    "RoiAlign": _roi_align,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "SplitToSequence": _split_to_sequence,
    "Squeeze": _squeeze,
    "TopK": _topk,
}
