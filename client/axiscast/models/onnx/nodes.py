"""Functions that translate ONNX nodes that broadcast into check requests."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from onnx import GraphProto, NodeProto

from ...messages.findings import Finding, Operand, PartialSize, SizeOrName, Unchecked
from ..node_checks import NodeCheck
from ..size_expressions import as_name
from ..size_names import SizeNames
from .broadcasting import BROADCASTING_OPS, follows_rule, rule_of
from .expansions import Expansions, UnexpandedOperand
from .graph import decoded, integer_attribute, is_added, size_of, subgraphs, target_name
from .graph_provenance import GraphProvenance, lines_of
from .inference import InferredModel
from .stated_shapes import NAMED_BY_ONNX

_MATRIX_PRODUCTS = ("MatMul", "MatMulInteger")
"""The ops that multiply stacks of matrices. All axes except the last two axes broadcast."""
_NOT_MUTUAL = (*_MATRIX_PRODUCTS, "Expand", "PRelu", "Gemm")
"""The ops that broadcast, but do not broadcast all of their inputs against each other."""


class _Unsupported(Exception):
    """The exception for a node that can't be checked. Its argument is the reason."""

    def __init__(self, *reason: Any) -> None:
        self.reason = Unchecked(reason[0], tuple(map(str, reason[1:])))


ValueShape: TypeAlias = "list[PartialSize] | None"
"""The sizes of a value, or None if its rank is unknown."""
TriedShapes: TypeAlias = "Mapping[str, ValueShape]"
"""The shapes that follow from the trials with integers, keyed by the name of the value."""


Scope: TypeAlias = "ChainMap[str, ValueShape]"
"""The shapes of the values that the nodes of a graph can read, keyed by name."""


def find_node_checks(
    model: InferredModel, failing: Container[str] = (), tried: TriedShapes | None = None
) -> Iterator[NodeCheck]:
    """Yield a check for every node that broadcasts, for every node that onnx refuses, and for the failing nodes.

    If a node does not broadcast, its check has no request. The name of a node in a subgraph begins with the path of the
    subgraph.
    """
    return _walk(_Context(model, failing, tried or {}), _GraphScope(model.graph, tried or {}), "")


class _OnnxSizes:
    """A converter of a model's sizes into sizes for check requests."""

    def __init__(self, size_names: frozenset[str]) -> None:
        self._size_names = size_names
        self.names = SizeNames()
        for name in sorted(size_names, key=lambda name: (name != as_name(name), name)):
            self.names.name_of(name)

    def request_shape(self, shape: Sequence[PartialSize], repeated: Container[str] = ()) -> tuple[SizeOrName, ...]:
        """Return a shape for a check request. An unknown size becomes "?", unless `repeated` contains its name."""
        return tuple(self._request_size(size, repeated) for size in shape)

    def _request_size(self, size: PartialSize, repeated: Container[str]) -> SizeOrName:
        if isinstance(size, int):
            return size
        is_unknown = size is None or (size not in self._size_names and size not in repeated)
        return "?" if size is None or is_unknown else self.names.name_of(size)


class _Context:
    """The information about a model that is the same for all of its graphs."""

    def __init__(self, model: InferredModel, failing: Container[str], tried: TriedShapes) -> None:
        self.model, self.failing, self.tried = model, failing, tried
        self.sizes = _OnnxSizes(model.prepared.size_names)
        self._refused = {fault.node for fault in model.faults}

    def finding(self, node: NodeProto, path: str) -> Finding:
        """Return the finding for a node, before the node is checked."""
        lines = [line for line in lines_of(node) if not line.is_packaged]
        file, line = lines[-1][:2] if lines else (None, None)
        return Finding(
            path + self.model.prepared.node_names.get(node.name, node.name),
            decoded(node.op_type),
            unchecked=Unchecked("refused") if self.fault(node) else None,
            file=file,
            line=line,
            size_expressions=self.sizes.names.expressions,
        )

    def fault(self, node: NodeProto) -> bool:
        """Return whether onnx refuses a node. For a node with subgraphs, it refuses a node in a subgraph."""
        return node.name in self._refused and not any(subgraphs(node))


class _GraphScope:
    """The values that the nodes of a graph can read, including the values of enclosing graphs."""

    def __init__(self, graph: GraphProto, tried: TriedShapes, outer: _GraphScope | None = None) -> None:
        self.graph = graph
        self.shapes: Scope = (outer.shapes if outer else ChainMap()).new_child(_shapes(graph, tried))
        self.provenance: GraphProvenance = GraphProvenance(graph, outer.provenance if outer else None)
        known = outer.expansions if outer else None
        self.expansions: Expansions = Expansions(self.shapes.get, known)


def _walk(context: _Context, scope: _GraphScope, path: str) -> Iterator[NodeCheck]:
    for node in scope.graph.node:
        if is_added(node):
            continue
        finding = context.finding(node, path)
        if node.domain == "" and _has_broadcast(node, scope):
            check = _NodeReader(node, scope, context).check(finding)
            is_meant = scope.provenance.are_pairs_meant(node, check.finding.operands)
            yield check._replace(is_meant=is_meant, number=node.name)
        elif (node.domain, node.op_type) in context.model.prepared.functions:
            yield NodeCheck(replace(finding, unchecked=Unchecked("other-opset")), None, number=node.name)
        elif context.fault(node) or node.name in context.failing:
            operands = _operands(node.input, [scope.shapes.get(name) for name in node.input], context.sizes)
            yield NodeCheck(replace(finding, operands=operands), None, number=node.name)
        for attribute, inner in subgraphs(node):
            yield from _walk(context, _GraphScope(inner, context.tried, scope), f"{finding.node}/{attribute}/")
        scope.provenance.add(node)
        scope.expansions.add(node)


def _has_broadcast(node: NodeProto, scope: _GraphScope) -> bool:
    """Return whether a node broadcasts.

    A Gemm node broadcasts only if it has a third input. A matrix product broadcasts only if the rank of an input is
    unknown or greater than 2.
    """
    if node.op_type == "Gemm":
        return len(node.input) > 2 and bool(node.input[2])
    if node.op_type in _MATRIX_PRODUCTS:
        shapes = [scope.shapes.get(name) for name in node.input]
        return any(shape is None or len(shape) > 2 for shape in shapes)
    return node.op_type in BROADCASTING_OPS


def _shapes(graph: GraphProto, tried: TriedShapes) -> dict[str, ValueShape]:
    """Return the shapes of the values in a graph. Sizes that onnx can't infer come from the trials."""
    shapes: dict[str, ValueShape] = dict.fromkeys(name for node in graph.node for name in node.output)
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.HasField("shape"):
            shapes[value.name] = [size_of(size) for size in value.type.tensor_type.shape.dim]
    shapes = {name: _completed(shape, tried.get(name)) for name, shape in shapes.items()}
    return shapes | {tensor.name: [*tensor.dims] for tensor in graph.initializer}


def _completed(shape: ValueShape, other: ValueShape) -> ValueShape:
    """Return a shape whose unknown sizes are replaced by the sizes of another shape."""
    if shape is None or other is None or len(shape) != len(other):
        return other if shape is None else shape
    is_unknown = [size is None or (isinstance(size, str) and NAMED_BY_ONNX.fullmatch(size)) for size in shape]
    sizes = zip(shape, other, is_unknown, strict=True)
    return [new if unknown and new is not None else size for size, new, unknown in sizes]


def _operands(
    names: Sequence[str], shapes: Sequence[ValueShape], sizes: _OnnxSizes, repeated: Container[str] = ()
) -> tuple[Operand, ...]:
    requested = [None if shape is None else sizes.request_shape(shape, repeated) for shape in shapes]
    return tuple(
        Operand(f"input {number}", decoded(name), shape)
        for number, (name, shape) in enumerate(zip(names, requested, strict=True))
    )


@dataclass
class _NodeReader:
    """An object that translates one node into a check request."""

    node: NodeProto
    scope: _GraphScope
    context: _Context

    def check(self, finding: Finding) -> NodeCheck:
        """Return the check for the node. If the node is unsupported, the check has no request."""
        names, shapes = self._inputs()
        counts = Counter(size for shape in shapes for size in shape or () if isinstance(size, str))
        repeated = {size for size, times in counts.items() if times > 1}
        operands = _operands(names, shapes, self.context.sizes, repeated)
        try:
            self._require_support(len(names))
            if unknown := [operand.name for operand in operands if operand.shape is None]:
                raise _Unsupported("unknown-rank", *unknown)
        except _Unsupported as unsupported:
            return NodeCheck(replace(finding, operands=operands, unchecked=unsupported.reason), None)
        inputs = [[*(operand.shape or ())] for operand in operands]
        kind = rule_of(self.node.op_type)
        op: dict[str, Any] = {"name": kind.model_fields["name"].default}
        op |= {name: 1 for name in kind.transposes if integer_attribute(self.node, name)}
        if kind.target is not None:  # Expand, whose second input is the target
            op[kind.target] = inputs.pop()
            operands = (operands[0], replace(operands[1], role="target"))
        return NodeCheck(replace(finding, operands=operands), {"op": op, "inputs": inputs})

    def _inputs(self) -> tuple[list[str], list[ValueShape]]:
        """Return the names and shapes of the inputs.

        If the file expanded the inputs of an outer product ("square"), return the names and shapes before the
        expansion. For the second input of an Expand node, return the shape that the input contains.
        """
        node, scope = self.node, self.scope
        names = list(node.input)
        shapes = [scope.shapes.get(name) for name in names]
        if unexpanded := self._unexpanded():
            names, shapes = [name for name, _ in unexpanded], [shape for _, shape in unexpanded]
        if node.op_type == "Expand" and len(names) > 1:
            target = scope.shapes.get(target_name(names[1])) if names[1] else None
            # A size of the output may come from the input, but a target with this size also fits.
            shapes[1] = _completed(target, self.context.tried.get(node.output[0]))
        return names, shapes

    def _unexpanded(self) -> Sequence[UnexpandedOperand] | None:
        op = self.node.op_type
        is_mutual = follows_rule(op, self.context.model.prepared.opset) and op not in _NOT_MUTUAL
        return self.scope.expansions.square(self.node) if is_mutual else None

    def _require_support(self, count: int) -> None:
        """Raise _Unsupported if the rule is not supported, or if the op does not accept this number of inputs."""
        op, opset = self.node.op_type, self.context.model.prepared.opset
        if not follows_rule(op, opset):
            raise _Unsupported("undefined", opset, op)
        expected = 2 if op == "Expand" else rule_of(op).max_inputs
        if count != (expected or max(count, 1)):
            raise _Unsupported("input-count", op, expected or "one or more", count)
