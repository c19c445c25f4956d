"""The nodes of a model that broadcast, and what to ask of each."""

from __future__ import annotations

import re
from collections import ChainMap, Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from onnx import GraphProto, NodeProto

from .model import EXPAND_OPSET, Model, is_added, subgraphs, target_of, text

Size = int | str
Shape = list[int | str | None] | None
"""Sizes, names of sizes, and None where there is neither; None where not even the rank is known."""
Scope = ChainMap[str, Shape]
"""The shape of each value that a graph sees."""

_SINCE = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater", "PRelu"), 7),
    **dict.fromkeys(("Max", "Min", "Mean", "Sum"), 8),
    "Expand": EXPAND_OPSET,
    "Where": 9,
    "Mod": 10,
    "BitShift": 11,
    **dict.fromkeys(("LessOrEqual", "GreaterOrEqual"), 12),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), 18),
    "StringConcat": 20,
}
"""Each op that broadcasts, and the opset since which it does so by the rule of today."""
_ANY_NUMBER = ("Max", "Min", "Mean", "Sum")
"""The ops of any number of inputs. Before the opset since which they broadcast, all inputs had to have one shape."""

_MUTUAL = {"name": "torch.broadcast_tensors"}
"""ONNX's multidirectional rule, which like this op has no limit on ranks."""
_ONE_WAY = "tensorflow.broadcast_to"
"""ONNX's unidirectional rule, which has no limit on ranks either."""
_EXACT = "ngraph.Broadcast"
"""Sizes must be equal, and axes are new only where they are named."""


class Value(NamedTuple):
    """A value that a node broadcasts: what the question calls it, its name, and its shape where the rank is known."""

    role: str
    name: str
    shape: list[Size] | None


@dataclass(frozen=True, slots=True)
class Node:
    """A node that broadcasts: what to ask of it, a check request; or why it is not judged."""

    name: str
    op_type: str
    values: list[Value]
    question: dict[str, Any] | None
    reason: str = ""

    @property
    def is_mutual(self) -> bool:
        """Whether the inputs stretch to each other, and to nothing else."""
        return self.question is not None and self.question["op"] is _MUTUAL


class _NotJudged(Exception):
    """Why a node can't be judged."""


def nodes(model: Model) -> Iterator[Node]:
    """Every node that broadcasts, those of subgraphs named with the path to them."""
    return _walk(model, model.graph, ChainMap(), "", _Names(model.sizes))


def _walk(model: Model, graph: GraphProto, outer: Scope, path: str, names: _Names) -> Iterator[Node]:
    scope = outer.new_child(_shapes(graph))
    for node in graph.node:
        if is_added(node):
            continue
        name = path + text(node.name or next(iter(node.output), "") or node.op_type)
        if node.domain == "" and node.op_type in _SINCE:
            yield _node(node, name, scope, model.opset, names)
        elif (node.domain, node.op_type) in model.functions:
            yield Node(name, text(node.op_type), [], None, "this function is written for another opset than the model")
        for attribute, inner in subgraphs(node):
            yield from _walk(model, inner, scope, f"{name}/{attribute}/", names)


def _shapes(graph: GraphProto) -> dict[str, Shape]:
    shapes: dict[str, Shape] = dict.fromkeys(name for node in graph.node for name in node.output)
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.HasField("shape"):
            shapes[value.name] = [
                size.dim_value if size.HasField("dim_value") else text(size.dim_param) or None
                for size in value.type.tensor_type.shape.dim
            ]
    return shapes | {tensor.name: list(tensor.dims) for tensor in graph.initializer}


class _Names:
    """A name on the wire for each name of a size: the same for the same, and no two alike."""

    def __init__(self, sizes: frozenset[str]) -> None:
        self._sizes = sizes
        self._on_wire: dict[str, str] = {}
        self._taken: set[str] = set()
        for name in sorted(sizes, key=lambda name: (name != self._legal(name), name)):
            self._name(name)

    def on_wire(self, shape: Sequence[int | str | None], repeated: set[str]) -> list[Size]:
        """A shape as it is asked; a size that is not known has a name where it is `repeated`."""
        return [self._size(size, repeated) for size in shape]

    def _size(self, size: int | str | None, repeated: set[str]) -> Size:
        if isinstance(size, int):
            return size
        return "?" if size is None or (size not in self._sizes and size not in repeated) else self._name(size)

    def _name(self, name: str) -> str:
        if name not in self._on_wire:
            legal = unique = self._legal(name)
            number = 1
            while unique in self._taken:
                number += 1
                unique = f"{legal}_{number}"
            self._taken.add(unique)
            self._on_wire[name] = unique
        return self._on_wire[name]

    @staticmethod
    def _legal(name: str) -> str:
        letters = re.sub(r"[^A-Za-z0-9_]", "_", name[:80])
        return letters if re.match(r"[A-Za-z_]", letters) else f"_{letters}"


def _node(node: NodeProto, name: str, scope: Scope, opset: int, names: _Names) -> Node:
    sources = list(node.input)
    if node.op_type == "Expand":
        sources[1:2] = [target_of(source) for source in sources[1:2]]
    shapes = [scope.get(source) for source in sources]
    often = Counter(size for shape in shapes if shape is not None for size in shape if isinstance(size, str))
    repeated = {size for size, times in often.items() if times > 1}
    on_wire = [None if shape is None else names.on_wire(shape, repeated) for shape in shapes]
    values = [Value(f"input {number}", text(source), on_wire[number]) for number, source in enumerate(node.input)]
    try:
        wanted = None if node.op_type in _ANY_NUMBER else 3 if node.op_type == "Where" else 2
        if len(values) != (wanted or max(len(values), 1)):
            raise _NotJudged(f"{node.op_type} takes {wanted or 'some'} inputs, and this node has {len(values)}")
        if unknown := [f"{value.role} ({value.name})" for value in values if value.shape is None]:
            raise _NotJudged(f"rank unknown: {', '.join(unknown)}")
        op, inputs, target = _asked(node, opset, [shape for shape in on_wire if shape is not None])
    except _NotJudged as reason:
        return Node(name, node.op_type, values, None, str(reason))
    parts = [values[number]._replace(role=f"input {place}") for place, number in enumerate(inputs)]
    question = {"op": op, "inputs": [value.shape for value in parts]}
    if target is not None:
        parts.append(values[target]._replace(role="target"))
    return Node(name, node.op_type, parts, question)


def _asked(node: NodeProto, opset: int, shapes: list[list[Size]]) -> tuple[dict[str, Any], Sequence[int], int | None]:
    """The op that says a node's rule, the inputs that it takes, and the one whose shape or value is its target."""
    op = node.op_type
    if opset < _SINCE[op]:
        if op in _ANY_NUMBER:
            return _alike(shapes)
        if _SINCE[op] == 7 and op != "PRelu":
            return _by_axis(node, *shapes)
        raise _NotJudged(f"opset {opset} has no {op}, or one of another rule")
    if op == "Expand":
        return {"name": "onnx.Expand", "shape": shapes[1]}, (0,), 1
    if op == "PRelu":
        return {"name": _ONE_WAY, "shape": shapes[0]}, (1,), 0
    return _MUTUAL, range(len(shapes)), None


def _alike(shapes: list[list[Size]]) -> tuple[dict[str, Any], Sequence[int], int | None]:
    """All have one shape."""
    for number, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]):
            return {"name": _EXACT, "shape": shapes[0], "broadcast_axes": []}, (number,), 0
    axes = [str(axis) for axis in range(len(shapes[0]))]
    return {"name": "xarray.broadcast", "dims": [axes] * len(shapes)}, range(len(shapes)), None


def _by_axis(node: NodeProto, one: list[Size], other: list[Size]) -> tuple[dict[str, Any], Sequence[int], int | None]:
    """The rule before opset 7: one shape, or with `broadcast` the second one is a run of the first one's axes,
    from `axis` or at the end; or has one element."""
    attributes = {text(attribute.name): attribute.i for attribute in node.attribute}
    if not attributes.get("broadcast"):
        return _alike([one, other])
    if all(size == 1 for size in other):
        return {"name": _ONE_WAY, "shape": one}, (1,), 0
    if all(size == 1 or isinstance(size, str) for size in other):
        raise _NotJudged("before opset 7 it matters whether all sizes of input 1 are 1, and that is not known")
    start = attributes.get("axis", len(one) - len(other))
    if "axis" in attributes and start < 0:
        raise _NotJudged("before opset 7 no rule says what a negative axis means")
    if start >= 0 and any(theirs == 1 != mine for mine, theirs in zip(one[start:], other, strict=False)):
        raise _NotJudged("before opset 7 the rule has no size 1 that is stretched, and yet models have")
    new = [axis for axis in range(len(one)) if not start <= axis < start + len(other)]
    return {"name": _EXACT, "shape": one, "broadcast_axes": new}, (1,), 0
