"""The nodes of a model that broadcast, and what to ask of each."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from onnx import GraphProto, NodeProto

from ..finding import Finding, Operand, Size
from ..node_checks import Question
from ..size_expressions import as_name
from .expansions import Expansions
from .expansions import Operand as Unexpanded
from .graph import is_added, size_of, subgraphs, target_of, text
from .graph_provenance import Ancestry, trace_of
from .inference import EXPAND_OPSET, Model
from .stated_shapes import NAMED_BY_ONNX, is_by_file, output_of_file

Scope: TypeAlias = "ChainMap[str, _Value]"
"""What is known of each value that a graph sees."""

_SINCE = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater", "PRelu"), 7),
    **dict.fromkeys(("Max", "Min", "Mean", "Sum"), 8),
    "Gemm": 7,
    "MatMul": 1,
    "MatMulInteger": 10,
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

_MATRICES = ("MatMul", "MatMulInteger")
"""The ops whose inputs are stacks of matrices: all axes but the last two broadcast."""

_RULE = {op: f"onnx.{op}" for op in (*_ANY_NUMBER, "Where", "PRelu", "Gemm", "MatMul")} | {
    "MatMulInteger": "onnx.MatMul"
}
"""The op that says the rule of each that is not as Add."""
_ONE_WAY = "tensorflow.broadcast_to"
"""ONNX's unidirectional rule, which has no limit on ranks either."""
_EXACT = "ngraph.Broadcast"
"""Sizes must be equal, and axes are new only where they are named."""


class _NotJudged(Exception):
    """Why a node can't be judged."""


class _Value(NamedTuple):
    """What is known of a value."""

    shape: list[int | str | None] | None
    """Sizes, names of sizes, and None where there is neither; None where not even the rank is known."""
    by_file: bool = False


def questions(model: Model) -> Iterator[Question]:
    """What to ask of every node that broadcasts, those of subgraphs named with the path to them; and every other node
    that keeps onnx from inferring shapes, with no question."""
    faults = {fault.node: fault.said for fault in reversed(model.faults) if fault.node is not None}
    return _walk(model, model.graph, ChainMap(), None, None, "", _Names(model.sizes, model.assumable), faults)


def _walk(
    model: Model,
    graph: GraphProto,
    outer: Scope,
    before: Ancestry | None,
    outer_expansions: Expansions | None,
    path: str,
    names: _Names,
    faults: Mapping[str, str],
) -> Iterator[Question]:
    scope = outer.new_child(_values(graph))
    ancestry = Ancestry(graph, before)
    expansions = Expansions(lambda name: scope.get(name, _UNKNOWN).shape, outer_expansions)
    for node in graph.node:
        if is_added(node):
            continue
        name = path + model.names.get(node.name, node.name)
        fault = "" if any(subgraphs(node)) else faults.get(node.name)
        reason = f"onnx says: {fault}" if fault else ""
        found = Finding(name, text(node.op_type), reason=reason, assumable=names.assumable, **_source(node))
        if node.domain == "" and _broadcasts(node, scope):
            unexpanded = expansions.square(node) if _meets(node, model.opset) else None
            question = _question(found, node, scope, model.opset, names, unexpanded)
            is_meant = ancestry.is_meant(node, question.finding.operands)
            yield question._replace(is_meant=is_meant, number=node.name)
        elif (node.domain, node.op_type) in model.functions:
            reason = "this function is written for another opset than the model"
            yield Question(replace(found, reason=reason), None, number=node.name)
        elif fault:
            operands = _operands(node.input, [scope.get(source, _UNKNOWN) for source in node.input], names)
            yield Question(replace(found, operands=operands), None, number=node.name)
        for attribute, inner in subgraphs(node):
            yield from _walk(model, inner, scope, ancestry, expansions, f"{name}/{attribute}/", names, faults)
        ancestry.add(node)
        expansions.add(node)


_UNKNOWN = _Value(None)


def _broadcasts(node: NodeProto, scope: Scope) -> bool:
    """Whether an op has anything to broadcast: Gemm a third input, MatMul more than two matrices."""
    if node.op_type == "Gemm":
        return len(node.input) > 2 and bool(node.input[2])
    if node.op_type in _MATRICES:
        shapes = [scope.get(source, _UNKNOWN).shape for source in node.input]
        return any(shape is None or len(shape) > 2 for shape in shapes)
    return node.op_type in _SINCE


def _meets(node: NodeProto, opset: int) -> bool:
    """Return whether all inputs of a node broadcast against each other."""
    return opset >= _SINCE[node.op_type] and node.op_type not in (*_MATRICES, "Expand", "PRelu", "Gemm")


def _values(graph: GraphProto) -> dict[str, _Value]:
    values = {name: _UNKNOWN for node in graph.node for name in node.output}
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.HasField("shape"):
            shape = [size_of(size) for size in value.type.tensor_type.shape.dim]
            values[value.name] = _Value(shape, is_by_file(value))
    return values | {tensor.name: _Value([*tensor.dims]) for tensor in graph.initializer}


def _source(node: NodeProto) -> dict[str, Any]:
    """The file and line that a node comes from, as torch's exporter notes them: the last outside of packages."""
    own = [frame[:2] for frame in trace_of(node) if not frame.is_packaged]
    return dict(zip(("file", "line"), own[-1], strict=True)) if own else {}


class _Names:
    """A name on the wire for each name of a size: the same for the same, and no two alike."""

    def __init__(self, sizes: frozenset[str], assumable: Iterable[str]) -> None:
        self._sizes = sizes
        self.assumable = tuple(sorted(name for name in assumable if name == as_name(name)))
        self._on_wire: dict[str, str] = {}
        self._taken: set[str] = set()
        for name in sorted(sizes, key=lambda name: (name != as_name(name), name)):
            self._name(name)

    def on_wire(self, shape: Sequence[int | str | None], repeated: Container[str] = ()) -> tuple[Size, ...]:
        """A shape as it is asked; a size that is not known has a name where it is `repeated`."""
        return tuple(self._size(size, repeated) for size in shape)

    def _size(self, size: int | str | None, repeated: Container[str]) -> Size:
        if isinstance(size, int):
            return size
        return "?" if size is None or (size not in self._sizes and size not in repeated) else self._name(size)

    def _name(self, name: str) -> str:
        if name not in self._on_wire:
            legal = unique = as_name(name)
            number = 1
            while unique in self._taken:
                number += 1
                unique = f"{legal}_{number}"
            self._taken.add(unique)
            self._on_wire[name] = unique
        return self._on_wire[name]


def _operands(
    sources: Sequence[str], values: Sequence[_Value], names: _Names, repeated: Container[str] = ()
) -> tuple[Operand, ...]:
    shapes = [None if value.shape is None else names.on_wire(value.shape, repeated) for value in values]
    return tuple(
        Operand(f"input {number}", text(source), shape, value.by_file)
        for number, (source, shape, value) in enumerate(zip(sources, shapes, values, strict=True))
    )


def _question(
    found: Finding,
    node: NodeProto,
    scope: Scope,
    opset: int,
    names: _Names,
    unexpanded: Sequence[Unexpanded] | None = None,
) -> Question:
    """What to ask of a node; of its operands as they were before they were expanded, if those are given."""
    sources = list(node.input)
    values = [scope.get(source, _UNKNOWN) for source in sources]
    if unexpanded is not None:
        sources = [each.source + each.code for each in unexpanded]
        values = [_Value([*each.shape], scope.get(each.source, _UNKNOWN).by_file) for each in unexpanded]
    if node.op_type == "Expand" and len(sources) > 1:
        held = scope.get(target_of(sources[1]), _UNKNOWN) if sources[1] else _UNKNOWN
        values[1] = _target(held, output_of_file(node))
    often = Counter(size for value in values for size in value.shape or () if isinstance(size, str))
    operands = _operands(sources, values, names, {size for size, times in often.items() if times > 1})
    try:
        _judge_count(node, len(sources))
        if unknown := [value.name for value in operands if value.shape is None]:
            raise _NotJudged(f"rank unknown: {', '.join(unknown)}")
        op, inputs, target = _asked(node, opset, [[*(value.shape or ())] for value in operands])
    except _NotJudged as reason:
        return Question(replace(found, operands=operands, reason=str(reason)), None)
    parts = [replace(operands[number], role=f"input {place}") for place, number in enumerate(inputs)]
    request = {"op": op, "inputs": [[*(part.shape or ())] for part in parts]}
    if target is not None:
        parts.append(replace(operands[target], role="target"))
    return Question(replace(found, operands=tuple(parts)), request)


def _target(target: _Value, output: list[int | str | None] | None) -> _Value:
    """The shape that a node expands to; what is not known of it is taken from the output that the file states. Where
    the output has it of the input instead, that fits as well."""
    if output is None or target.shape is None:
        return target if output is None else _Value(output, by_file=True)
    if len(target.shape) != len(output):
        return target
    known = [
        stated if size is None or (isinstance(size, str) and NAMED_BY_ONNX.fullmatch(size)) else size
        for size, stated in zip(target.shape, output, strict=True)
    ]
    return _Value(known, target.by_file or known != target.shape)


def _judge_count(node: NodeProto, count: int) -> None:
    """Raises _NotJudged for a number of inputs that the op does not take."""
    op = node.op_type
    least, most = (1, count) if op in _ANY_NUMBER else (3, 3) if op in ("Where", "Gemm") else (2, 2)
    if not least <= count <= most:
        wanted = "some" if op in _ANY_NUMBER else least
        raise _NotJudged(f"{op} takes {wanted} inputs, and this node has {count}")


def _asked(node: NodeProto, opset: int, shapes: list[list[Size]]) -> tuple[dict[str, Any], Sequence[int], int | None]:
    """The op that says a node's rule, the inputs that it takes, and the one whose shape or value is its target."""
    op = node.op_type
    if opset < _SINCE[op]:
        if op in _ANY_NUMBER:
            return _alike(shapes)
        if _SINCE[op] == 7 and op not in ("PRelu", "Gemm"):
            return _by_axis(node, *shapes)
        raise _NotJudged(f"opset {opset} has no {op}, or one of another rule")
    if op == "Expand":
        return {"name": "onnx.Expand", "shape": shapes[1]}, (0,), 1
    transposed = {name: 1 for name in ("transA", "transB") if op == "Gemm" and _integer(node, name)}
    return {"name": _RULE.get(op, "onnx.Add"), **transposed}, range(len(shapes)), None


def _integer(node: NodeProto, name: str) -> int | None:
    """An attribute of a node; None where it has none of this name."""
    return next((attribute.i for attribute in node.attribute if attribute.name == name), None)


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
    if not _integer(node, "broadcast"):
        return _alike([one, other])
    if all(size == 1 for size in other):
        return {"name": _ONE_WAY, "shape": one}, (1,), 0
    if all(size == 1 or isinstance(size, str) for size in other):
        raise _NotJudged("before opset 7 it matters whether all sizes of input 1 are 1, and that is not known")
    axis = _integer(node, "axis")
    start = len(one) - len(other) if axis is None else axis
    if axis is not None and axis < 0:
        raise _NotJudged("before opset 7 no rule says what a negative axis means")
    if start >= 0 and any(theirs == 1 != mine for mine, theirs in zip(one[start:], other, strict=False)):
        raise _NotJudged("before opset 7 the rule has no size 1 that is stretched, and yet models have")
    new = [axis for axis in range(len(one)) if not start <= axis < start + len(other)]
    return {"name": _EXACT, "shape": one, "broadcast_axes": new}, (1,), 0
