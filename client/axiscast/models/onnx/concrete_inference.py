"""A trial: the shapes of a model at given sizes, inferred node by node.

With numbers for all sizes, the values that shapes are computed from are numbers as well. Each node that computes such
a value from known ones is executed, by onnx's reference implementation, so that no shape depends on an op whose values
`infer_shapes` does not follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, defs
from onnx.helper import make_opsetid
from onnx.numpy_helper import from_array, to_array
from onnx.shape_inference import infer_node_outputs

from ...wire.shapes import MAX_SIZE
from ..size_expressions import canonical
from .file import KEPT_ELEMENTS, first_line
from .graph import all_graphs, places, sizes_of, subgraphs, text
from .inference import InferenceFault, Model, Source

_FOLLOWED = frozenset(
    """Abs Add And Cast Ceil Concat ConstantOfShape CumSum Div Equal Expand Floor Gather Greater GreaterOrEqual Identity
    Less LessOrEqual Max Min Mod Mul Neg Not Or Pow Range ReduceMax ReduceMin ReduceProd ReduceSum Reshape ScatterND
    Slice Split Sqrt Squeeze Sub Tile Transpose Unsqueeze Where Xor""".split()  # noqa: SIM905
)
"""The ops that are executed, if all their inputs are known and their outputs are short."""


class Kept(NamedTuple):
    """What a trial knows of a value: its type, with its shape, and its elements if they are few and known."""

    type: TypeProto
    value: np.ndarray | None = None


@dataclass
class Trial:
    """The shapes of a model at given sizes."""

    source: Source
    sizes: Mapping[str, int]
    """The number for each name. A size whose name is missing stays unknown."""
    faults: list[InferenceFault] = field(default_factory=list)
    too_small: bool = False
    """Whether some size would become less than one, as that of a convolution over a tiny image."""
    failed: dict[str, list[Kept]] = field(default_factory=dict)
    """What is known of the inputs of each node that has a fault, by its number."""
    fits: set[str] = field(default_factory=set)
    """The numbers of the nodes that onnx inferred from inputs whose sizes are all known."""
    reached: set[str] = field(default_factory=set)
    """The numbers of the nodes that may run at these sizes: not those of a branch that is not taken."""
    executed: dict[tuple[str, ...], list[np.ndarray] | None] = field(default_factory=dict)
    """The results of nodes that were executed, which other trials may use as well."""

    def run(self) -> Model:
        """Return the model with the shapes at these sizes."""
        model = ModelProto()
        model.CopyFrom(self.source.model)
        for graph in all_graphs(model.graph):
            for size in sizes_of(graph.input):
                if size.dim_param:
                    settled = canonical(text(size.dim_param), self.sizes)
                    if isinstance(settled, int) and settled <= MAX_SIZE:
                        size.dim_value = settled
        self._opsets = {entry.domain: entry.version for entry in model.opset_import}
        self._imports = [make_opsetid(domain, version) for domain, version in self._opsets.items()]
        self._stated = dict(zip(places(model.graph), self.source.stated, strict=True))
        self._walk(model.graph, "", {})
        functions = frozenset((function.domain, function.name) for function in model.functions)
        nothing: frozenset[str] = frozenset()
        return Model(model.graph, self.source.opset, functions, nothing, nothing, self.source.names, self.faults)

    def _walk(
        self, graph: GraphProto, place: str, outer: Mapping[str, Kept], inputs: Sequence[Kept] = ()
    ) -> dict[str, Kept]:
        """Infer the nodes of a graph, note their shapes in it, and return what is known of its values."""
        known = dict(outer)
        for value, given in zip(graph.input, inputs, strict=False):
            value.type.CopyFrom(given.type)
        known.update({value.name: Kept(value.type) for value in graph.input})
        known.update({tensor.name: _constant(tensor) for tensor in graph.initializer})
        outputs = {value.name: value for value in graph.output}
        made: set[str] = set()
        for node in graph.node:
            self.reached.add(node.name)
            found = self._outputs(node, known)
            for name, kept in zip(node.output, found, strict=False):
                if not name or name in made:  # a second value of one name makes no valid graph
                    continue
                made.add(name)
                self._complete(kept.type, self._stated[place].get(name))
                known[name] = kept
                if name in outputs:
                    outputs[name].type.CopyFrom(kept.type)
                else:
                    graph.value_info.append(ValueInfoProto(name=name, type=kept.type))
        return known

    def _outputs(self, node: NodeProto, known: Mapping[str, Kept]) -> list[Kept]:
        """What is known of each output of a node."""
        inner = _INNER.get(node.op_type) if node.domain == "" else None
        if inner is not None:
            return inner(self, node, known)
        if (node.domain, node.op_type) == ("", "Constant"):
            return [_constant_of(node)]
        inputs = [known.get(name, _UNKNOWN) if name else _UNKNOWN for name in node.input]
        types = self._inferred(node, inputs)
        if types is None:
            return [Kept(TypeProto()) for _ in node.output]
        values = self._executed(node, inputs, types)
        return [Kept(type_, value) for type_, value in zip(types, values, strict=True)]

    def _inferred(self, node: NodeProto, inputs: Sequence[Kept]) -> list[TypeProto] | None:
        """The types that onnx infers of a node, or None. A fault counts if the shapes of all inputs are known."""
        version = self._opsets.get(node.domain)
        if version is None or not defs.has(node.op_type, domain=node.domain):
            return None
        by_name = {name: kept for name, kept in zip(node.input, inputs, strict=True) if name}
        if any(not kept.type.WhichOneof("value") for kept in by_name.values()):
            return None
        data = {name: from_array(kept.value, name) for name, kept in by_name.items() if kept.value is not None}
        try:
            schema = defs.get_schema(node.op_type, version, node.domain)
            found = infer_node_outputs(
                schema, node, {name: kept.type for name, kept in by_name.items()}, data, opset_imports=self._imports
            )
        except Exception as error:  # onnx raises whatever a node's faults lead to
            if all(shape_of(kept.type) is not None for kept in by_name.values()):
                self.faults.append(InferenceFault(node.name, _said(error)))
                self.failed[node.name] = list(inputs)
            return None
        types = [found.get(name, TypeProto()) for name in node.output]
        if said := _unfit(node, [kept.type for kept in inputs], types):
            self.faults.append(InferenceFault(node.name, said))
            self.failed[node.name] = list(inputs)
            return None
        if all((shape := shape_of(kept.type)) is not None and _ANY not in shape for kept in by_name.values()):
            self.fits.add(node.name)
        if any(size < 0 for type_ in types for size in shape_of(type_) or ()) or (
            node.op_type not in ("Slice", "Gather", "NonZero") and _vanishes(types, inputs)
        ):
            self.too_small = True
            for type_ in types:
                type_.tensor_type.ClearField("shape")
        return types

    def _executed(
        self, node: NodeProto, inputs: Sequence[Kept], types: Sequence[TypeProto]
    ) -> Sequence[np.ndarray | None]:
        """The elements of each output of a node, if they are few and follow from known ones."""
        unknown = [None] * len(types)
        if node.domain or any(_count(type_) > KEPT_ELEMENTS for type_ in types):
            return unknown
        if node.op_type in ("Shape", "Size"):
            return [_measured(node, inputs[0].type)]
        if node.op_type not in _FOLLOWED or not node.input:
            return unknown
        if any(kept.value is None for name, kept in zip(node.input, inputs, strict=True) if name):
            return unknown
        values = [kept.value for kept in inputs]
        attributes = [attribute.SerializeToString().hex() for attribute in node.attribute]
        given = [f"{value.dtype}{value.shape}{value.tobytes().hex()}" if value is not None else "" for value in values]
        key = (node.op_type, *attributes, *given)
        if key not in self.executed:
            self.executed[key] = _run(node, values, self._opsets)
        found = self.executed[key]
        return unknown if found is None or len(found) != len(types) else found

    def _complete(self, type_: TypeProto, stated: ValueInfoProto | None) -> None:
        """Give a value the sizes that the file states in terms of the inputs', if nothing else is known of them."""
        if stated is None or not stated.type.tensor_type.HasField("shape"):
            return
        shape = type_.tensor_type.shape
        of_file = stated.type.tensor_type.shape.dim
        if not type_.tensor_type.HasField("shape"):
            if type_.WhichOneof("value") in (None, "tensor_type"):
                type_.CopyFrom(stated.type)
                for size in sizes_of([ValueInfoProto(type=type_)]):
                    self._settle(size, text(size.dim_param))
            return
        for size, theirs in zip(shape.dim, of_file, strict=True) if len(shape.dim) == len(of_file) else ():
            if not size.HasField("dim_value"):
                if theirs.HasField("dim_value"):
                    size.dim_value = theirs.dim_value
                else:
                    self._settle(size, text(theirs.dim_param))

    def _settle(self, size: object, name: str) -> None:
        settled = canonical(name, self.sizes) if name else None
        if isinstance(settled, int) and settled <= MAX_SIZE:
            size.dim_value = settled  # type: ignore[attr-defined]
        elif name:
            size.Clear()  # type: ignore[attr-defined]

    def _if(self, node: NodeProto, known: Mapping[str, Kept]) -> list[Kept]:
        """The outputs of the branch that is taken, or what those of both have in common."""
        graphs = dict(subgraphs(node))
        condition = known.get(node.input[0], _UNKNOWN).value if node.input else None
        if condition is not None and condition.size == 1:
            graphs = {name: graph for name, graph in graphs.items() if (name == "then_branch") == bool(condition)}
        found = []
        for name, graph in graphs.items():
            values = self._walk(graph, f"{node.name}/{name}", known)
            found.append([values.get(value.name, _UNKNOWN) for value in graph.output])
        return [
            _common([branch[number] for branch in found if number < len(branch)]) for number in range(len(node.output))
        ]

    def _loop(self, node: NodeProto, known: Mapping[str, Kept]) -> list[Kept]:
        """The outputs of a loop, from its first step: a state keeps the sizes that a step does not change."""
        graphs = list(subgraphs(node))
        if len(graphs) != 1:
            return [Kept(TypeProto()) for _ in node.output]
        ((name, body),) = graphs
        states = [known.get(name, _UNKNOWN) for name in node.input[2:]]
        first = [Kept(value.type) for value in body.input[:2]]
        values = self._walk(body, f"{node.name}/{name}", known, [*first, *(Kept(state.type) for state in states)])
        after = [values.get(value.name, _UNKNOWN) for value in body.output[1:]]
        kept = [_common([state, step]) for state, step in zip(states, after, strict=False)]
        return [*kept, *(_stacked(step.type, 0) for step in after[len(states) :])]

    def _scan(self, node: NodeProto, known: Mapping[str, Kept]) -> list[Kept]:
        """The outputs of a scan over the first axes; of one over other axes nothing is known."""
        graphs = list(subgraphs(node))
        count = next((entry.i for entry in node.attribute if entry.name == "num_scan_inputs"), 0)
        plain = {entry.name for entry in node.attribute} <= {"body", "num_scan_inputs"}
        inputs = [known.get(name, _UNKNOWN) for name in node.input]
        if not plain or self.source.opset < 9 or len(graphs) != 1:
            return [Kept(TypeProto()) for _ in node.output]
        ((name, body),) = graphs
        states, scanned = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
        values = self._walk(
            body,
            f"{node.name}/{name}",
            known,
            [*(Kept(each.type) for each in states), *(_unstacked(each) for each in scanned)],
        )
        after = [values.get(value.name, _UNKNOWN) for value in body.output]
        kept = [_common([state, step]) for state, step in zip(states, after, strict=False)]
        length = next((shape[0] for each in scanned if (shape := shape_of(each.type))), 0)
        return [*kept, *(_stacked(step.type, length) for step in after[len(states) :])]


_UNKNOWN = Kept(TypeProto())
_INNER: dict[str, Callable[[Trial, NodeProto, Mapping[str, Kept]], list[Kept]]] = {
    "If": Trial._if,
    "Loop": Trial._loop,
    "Scan": Trial._scan,
}


def _constant(tensor: TensorProto) -> Kept:
    """What is known of an initializer."""
    type_ = TypeProto()
    type_.tensor_type.elem_type = tensor.data_type
    type_.tensor_type.shape.SetInParent()
    for size in tensor.dims:
        type_.tensor_type.shape.dim.add(dim_value=size)
    external = tensor.data_location == TensorProto.EXTERNAL
    short = prod(tensor.dims) <= KEPT_ELEMENTS and tensor.data_type != TensorProto.STRING
    try:
        return Kept(type_, to_array(tensor) if short and not external else None)
    except (ValueError, TypeError):  # of a tensor that has fewer elements than its sizes say
        return Kept(type_)


def _constant_of(node: NodeProto) -> Kept:
    """What is known of the output of Constant."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            return _constant(attribute.t)
        if attribute.name in ("value_int", "value_ints"):
            whole = attribute.i if attribute.name == "value_int" else list(attribute.ints)
            return _constant(from_array(np.array(whole, np.int64)))
        if attribute.name in ("value_float", "value_floats"):
            real = attribute.f if attribute.name == "value_float" else list(attribute.floats)
            return _constant(from_array(np.array(real, np.float32)))
    return Kept(TypeProto())


def shape_of(type_: TypeProto) -> list[int] | None:
    """The shape of a tensor, an unknown size as 0x7fffffff; None if the rank is unknown."""
    if not type_.tensor_type.HasField("shape"):
        return None
    return [size.dim_value if size.HasField("dim_value") else _ANY for size in type_.tensor_type.shape.dim]


_ANY = 2**31 - 1


def _unfit(node: NodeProto, inputs: Sequence[TypeProto], types: Sequence[TypeProto]) -> str:
    """What keeps a node from running that onnx does not look at: the elements of a Reshape, and the batch of the state
    that a recurrent node begins with. Empty if nothing does."""
    if node.domain or not types:
        return ""
    if node.op_type == "Reshape":
        before, after = _count(inputs[0]), _count(types[0])
        whole = _ANY not in (*(shape_of(inputs[0]) or (_ANY,)), *(shape_of(types[0]) or (_ANY,)))
        return f"{before} elements can't have the shape of {after}" if whole and before != after else ""
    if node.op_type in ("RNN", "GRU", "LSTM"):
        layout = any(entry.name == "layout" and entry.i for entry in node.attribute)
        shape = shape_of(inputs[0]) or []
        for state in inputs[5:7]:
            own = shape_of(state) or []
            if len(own) == len(shape) == 3 and own[0 if layout else 1] != shape[0 if layout else 1] and _ANY not in own:
                return f"a batch of {shape[0 if layout else 1]} can't begin with a state for {own[0 if layout else 1]}"
    return ""


def _vanishes(types: Iterable[TypeProto], inputs: Iterable[Kept]) -> bool:
    """Whether an output has no elements although every input has some."""
    return any(0 in (shape_of(type_) or ()) for type_ in types) and not any(
        0 in (shape_of(kept.type) or ()) or (kept.value is not None and 0 in kept.value) for kept in inputs
    )


def _count(type_: TypeProto) -> int:
    shape = shape_of(type_)
    return _ANY if shape is None else prod(shape)


def _measured(node: NodeProto, type_: TypeProto) -> np.ndarray | None:
    """The value of Shape or Size; None if a size is unknown."""
    shape = shape_of(type_)
    if shape is None or _ANY in shape:
        return None
    if node.op_type == "Size":
        return np.array(prod(shape), np.int64)
    ends = {attribute.name: attribute.i for attribute in node.attribute}
    return np.array(shape[ends.get("start", 0) : ends.get("end", len(shape))], np.int64)


def _run(node: NodeProto, values: Sequence[np.ndarray | None], opsets: Mapping[str, int]) -> list[np.ndarray] | None:
    """What a node makes of known values; None if the reference implementation can't execute it."""
    from onnx.reference import ReferenceEvaluator

    feeds = {name: value for name, value in zip(node.input, values, strict=True) if name}
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(made) for made in ReferenceEvaluator(node, opsets=dict(opsets)).run(None, feeds)]
    except Exception:  # onnx raises whatever the node's own faults lead to; inference reports those
        return None


def _said(error: Exception) -> str:
    return first_line(error).rpartition("] ")[2]


def _common(kept: Sequence[Kept]) -> Kept:
    """What several values have in common: their sizes where they are equal."""
    if not kept or any(each.type.WhichOneof("value") != "tensor_type" for each in kept):
        return Kept(TypeProto())
    shapes = [shape_of(each.type) for each in kept]
    type_ = TypeProto()
    type_.CopyFrom(kept[0].type)
    if any(shape is None or len(shape) != len(shapes[0] or ()) for shape in shapes):
        type_.tensor_type.ClearField("shape")
        return Kept(type_)
    for axis, size in enumerate(type_.tensor_type.shape.dim):
        if len({shape[axis] for shape in shapes if shape is not None}) > 1:
            size.Clear()
    return Kept(type_, kept[0].value if len(kept) == 1 else None)


def _stacked(type_: TypeProto, length: int) -> Kept:
    """A value with an axis more in front, of an unknown length if `length` is 0."""
    stacked = TypeProto()
    stacked.CopyFrom(type_)
    shape = shape_of(type_)
    if shape is not None:
        del stacked.tensor_type.shape.dim[:]
        first = stacked.tensor_type.shape.dim.add()
        if length:
            first.dim_value = length
        stacked.tensor_type.shape.dim.extend(type_.tensor_type.shape.dim)
    return Kept(stacked)


def _unstacked(kept: Kept) -> Kept:
    """A value without its first axis."""
    type_ = TypeProto()
    type_.CopyFrom(kept.type)
    if shape_of(kept.type):
        del type_.tensor_type.shape.dim[0]
    return Kept(type_)
