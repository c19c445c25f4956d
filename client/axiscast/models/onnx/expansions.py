"""Expansions: operands that a file expands to one shape before they meet, as they were before.

torch's exporter writes `F.mse_loss` of (n, 1) and (n,) as two Expand nodes to (n, n), and a Sub of those. The operands
of the Sub have equal shapes, so that nothing is seen there.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from onnx import NodeProto

from ...answers.two_sided import find_outer_product
from .graph_provenance import trace_of

Shape: TypeAlias = "Sequence[int | str | None] | None"
"""A shape, with None for each size that is not known; None if not even the rank is known."""
ShapeOf: TypeAlias = Callable[[str], Shape]

_WRITTEN = re.compile(r"\b(expand|expand_as|broadcast_to|repeat|tile)\(")
"""Code that expands by itself, so that all pairs are meant."""
_SAME = ("Cast", "CastLike", "Identity")
"""Ops that change no shape and no position."""


class Expansion(NamedTuple):
    """A value that holds the elements of another one again and again."""

    source: str
    axes: tuple[int | None, ...]
    """The axis of the source for each axis of the value; None if the source lacks it."""


class Operand(NamedTuple):
    """An operand as it was before it was expanded."""

    source: str
    code: str
    """What follows the source's name, such as ".T" if its axes were exchanged since."""
    shape: Sequence[int | str | None]


class Expansions:
    """The values of a graph that are expansions. Nodes are added in order; `shape_of` has the shapes of all values."""

    def __init__(self, shape_of: ShapeOf, outer: Expansions | None = None) -> None:
        self._shape_of = shape_of
        self._found: ChainMap[str, Expansion] = outer._found.new_child() if outer else ChainMap()

    def add(self, node: NodeProto) -> None:
        """Note whether the first result of a node is an expansion."""
        if node.domain or not node.input or not node.output:
            return
        source = node.input[0]
        before = self._found.get(source)
        found = None
        if node.op_type == "Expand":
            found = self._expanded(node, before)
        elif before is not None and node.op_type in _SAME:
            found = before
        elif before is not None and node.op_type == "Transpose":
            order = next((attribute.ints for attribute in node.attribute if attribute.name == "perm"), None)
            order = [*range(len(before.axes))][::-1] if order is None else order
            if sorted(order) == [*range(len(before.axes))]:
                found = Expansion(before.source, tuple(before.axes[axis] for axis in order))
        if found is not None:
            self._found[node.output[0]] = found

    def _expanded(self, node: NodeProto, before: Expansion | None) -> Expansion | None:
        shape, output = self._shape_of(node.input[0]), self._shape_of(node.output[0])
        line = next(iter(trace_of(node)[::-1]), None)
        if shape is None or (line is not None and _WRITTEN.search(line.text)):
            return None
        source, axes = (node.input[0], tuple(range(len(shape)))) if before is None else before
        rank = max(len(shape), 0 if output is None else len(output))
        return Expansion(source, (*[None] * (rank - len(shape)), *axes))

    def square(self, node: NodeProto) -> list[Operand] | None:
        """Return the operands of a node as they were before they were expanded, if two of those make a square, and
        nothing was expanded to more than their common shape. If not, return None."""
        expanded = [name in self._found for name in node.input]
        if sum(expanded) < 2:
            return None
        values = [self._value(name) for name in node.input]
        if any(value is None for value in values):
            return None
        known = [value for value in values if value is not None]
        rank = max(len(value.axes) for value in known)
        rows = [[None] * (rank - len(value.axes)) + self._sizes(value) for value in known]
        if any(_exceeds(self._shape_of(name), rows) for name in node.input):
            return None
        # Any order of the axes that is the same for all operands will do: axes that operands lack come first.
        order = sorted(range(rank), key=lambda axis: -sum(row[axis] is None for row in rows))
        aligned = [[row[axis] for axis in order] for row in rows]
        own = [[size for size in row if size is not None] for row in aligned]
        if any(row[rank - len(sizes) :] != sizes for row, sizes in zip(aligned, own, strict=True)):
            return None
        found = find_outer_product(own)
        if found is None or not all(expanded[number] for number in found.inputs):
            return None
        return [self._operand(value, [axis - rank for axis in order]) for value in known]

    def _value(self, name: str) -> Expansion | None:
        """Return a value as an expansion, one of itself if it is none; None if its rank is not known."""
        shape = self._shape_of(self._found[name].source if name in self._found else name)
        return None if shape is None else self._found.get(name, Expansion(name, tuple(range(len(shape)))))

    def _sizes(self, value: Expansion) -> list[object]:
        """Return the sizes of the source on the axes of a value: None on those that it lacks. Each size that is not
        known is another one."""
        shape = self._shape_of(value.source) or ()
        sizes = [object() if size is None else size for size in shape]
        return [None if axis is None else sizes[axis] for axis in value.axes]

    def _operand(self, value: Expansion, order: Sequence[int]) -> Operand:
        """Return the source of a value, with its axes in the order that all operands have."""
        axes = [axis for place in order if -place <= len(value.axes) and (axis := value.axes[place]) is not None]
        shape = self._shape_of(value.source) or ()
        code = "" if axes == sorted(axes) else ".T" if len(axes) == 2 else f".permute({', '.join(map(str, axes))})"
        return Operand(value.source, code, [shape[axis] for axis in axes])


def _exceeds(shape: Shape, rows: Sequence[Sequence[object]]) -> bool:
    """Return whether a shape has an axis along which no operand had elements of its own."""
    columns = [*zip(*rows, strict=True)]
    sizes = [None] * len(columns) if shape is None else [None] * (len(columns) - len(shape)) + [*shape]
    return any(
        all(size in (None, 1) for size in column) and (reached not in (None, 1) or all(size is None for size in column))
        for column, reached in zip(columns, sizes, strict=True)
    )
