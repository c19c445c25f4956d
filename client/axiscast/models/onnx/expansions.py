"""The detection of operands that an ONNX file expands to a common shape before an op combines these operands.

torch's exporter converts `F.mse_loss` with shapes (n, 1) and (n,) to two Expand nodes and a Sub node. Both Expand nodes
expand to (n, n). The inputs of the Sub node have equal shapes, so the accidental outer product ("square") is visible
only in the shapes before the expansion.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from onnx import NodeProto

from ...checks.two_sided import find_outer_product
from ...messages.findings import PartialSize
from .graph_provenance import innermost_line

PartialShape: TypeAlias = "Sequence[PartialSize] | None"
"""A shape in which unknown sizes are None, or None if the rank is also unknown."""

_EXPLICIT_EXPANSION = re.compile(r"\b(expand|expand_as|broadcast_to|repeat|tile)\(")
"""The pattern of source code that expands an array explicitly, and therefore means to combine all pairs."""
_KEEP_SHAPE = ("Cast", "CastLike", "Identity")
"""The ops that change neither the shape of a tensor nor the order of its elements."""


UnexpandedOperand = tuple[str, list[PartialSize]]
"""The code and the shape of an operand before its expansion, such as "x.T" if the expanded value was transposed."""


class Expansion(NamedTuple):
    """A value that repeats the elements of another value, which is called its source."""

    source: str
    axes: tuple[int | None, ...]
    """For each axis of the value, the corresponding axis of the source, or None if the source has no such axis."""


class Expansions:
    """The values in a graph that are expansions of other values.

    The nodes of the graph must be added in order. `shape_of` is a function that returns the shape of a value.
    """

    def __init__(self, shape_of: Callable[[str], PartialShape], outer: Expansions | None = None) -> None:
        self._shape_of = shape_of
        self._expansions: ChainMap[str, Expansion] = outer._expansions.new_child() if outer else ChainMap()

    def add(self, node: NodeProto) -> None:
        """Process a node. If its first output is an expanded value, record the expansion."""
        if node.domain or not node.input or not node.output:
            return
        before = self._expansions.get(node.input[0])
        result = None
        if node.op_type == "Expand":
            result = self._expanded(node, before)
        elif before is not None and node.op_type in _KEEP_SHAPE:
            result = before
        elif before is not None and node.op_type == "Transpose":
            axes = [*range(len(before.axes))]
            permutation = next((attribute.ints for attribute in node.attribute if attribute.name == "perm"), axes[::-1])
            if sorted(permutation) == axes:
                result = Expansion(before.source, tuple(before.axes[axis] for axis in permutation))
        if result is not None:
            self._expansions[node.output[0]] = result

    def _expanded(self, node: NodeProto, before: Expansion | None) -> Expansion | None:
        """Return the expansion of an Expand node, or None if the user's code expands the array explicitly."""
        shape, output = self._shape_of(node.input[0]), self._shape_of(node.output[0])
        line = innermost_line(node)
        if shape is None or (line is not None and _EXPLICIT_EXPANSION.search(line.code)):
            return None
        source, axes = before or _no_expansion(node.input[0], len(shape))
        rank = max(len(shape), 0 if output is None else len(output))
        return Expansion(source, (*[None] * (rank - len(shape)), *axes))

    def square(self, node: NodeProto) -> list[UnexpandedOperand] | None:
        """Return the operands of a node before their expansion, if two operands form an outer product ("square").

        Return None if there is no outer product, or if an operand was expanded to more than the operands' common shape.
        """
        is_expanded = [name in self._expansions for name in node.input]
        if sum(is_expanded) < 2:
            return None
        values = [value for name in node.input if (value := self._value(name)) is not None]
        if len(values) < len(node.input):
            return None
        rank = max(len(value.axes) for value in values)
        rows = [[None] * (rank - len(value.axes)) + self._sizes(value) for value in values]
        if any(_exceeds(self._shape_of(name), rows) for name in node.input):
            return None
        # Put the axes that are missing in some sources first, so that the sources are right-aligned.
        order = sorted(range(rank), key=lambda axis: -sum(row[axis] is None for row in rows))
        aligned = [[row[axis] for axis in order] for row in rows]
        shapes = [[size for size in row if size is not None] for row in aligned]
        if any(row[rank - len(shape) :] != shape for row, shape in zip(aligned, shapes, strict=True)):
            return None
        found = find_outer_product(shapes)
        if found is None or not all(is_expanded[number] for number in found.inputs):
            return None
        return [self._unexpanded(value, [axis - rank for axis in order]) for value in values]

    def _value(self, name: str) -> Expansion | None:
        """Return the expansion that produces a value, or None if the rank of the value is unknown.

        A value that is not expanded is treated as an expansion of itself.
        """
        expansion = self._expansions.get(name)
        shape = self._shape_of(expansion.source if expansion else name)
        return None if shape is None else expansion or _no_expansion(name, len(shape))

    def _sizes(self, value: Expansion) -> list[object]:
        """For each axis of a value, return the size in the source, or None if the source has no such axis.

        Each unknown size is represented by a new object, because it must not be equal to any other size.
        """
        sizes = [object() if size is None else size for size in self._shape_of(value.source) or ()]
        return [None if axis is None else sizes[axis] for axis in value.axes]

    def _unexpanded(self, value: Expansion, order: Sequence[int]) -> UnexpandedOperand:
        """Return the source of a value as an operand whose axes are in the given order.

        The axes in `order` are counted from the last one.
        """
        axes: list[int] = []
        for axis in order:
            source_axis = value.axes[axis] if -axis <= len(value.axes) else None
            if source_axis is not None:
                axes.append(source_axis)
        shape = self._shape_of(value.source) or ()
        code = ".T" if len(axes) == 2 else f".permute({', '.join(map(str, axes))})"
        if axes == sorted(axes):
            code = ""
        return value.source + code, [shape[axis] for axis in axes]


def _no_expansion(name: str, rank: int) -> Expansion:
    """Return the expansion for a value that is not expanded, which is its own source."""
    return Expansion(name, tuple(range(rank)))


def _exceeds(shape: PartialShape, rows: Sequence[Sequence[object]]) -> bool:
    """Return whether a shape has an axis that was expanded even though no operand needs the expansion.

    The size on such an axis is larger than 1, but no row has a size larger than 1. An unknown size is treated as larger
    than 1 if no row has the axis.
    """
    rank = len(rows[0])
    reached = [None] * rank if shape is None else [None] * (rank - len(shape)) + [*shape]
    for axis, size in enumerate(reached):
        column = [row[axis] for row in rows]
        is_single = all(each in (None, 1) for each in column)
        is_new = all(each is None for each in column)
        if is_single and (size not in (None, 1) or is_new):
            return True
    return False
