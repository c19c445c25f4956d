"""A model: an ONNX file, with the shapes of its values as far as onnx can infer them.

The file is somebody else's: what is wrong with it is said in one line, and what it may cost is bounded.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import count
from math import prod
from pathlib import Path
from typing import NamedTuple

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, ValueInfoProto
from onnx.helper import make_node, make_tensor
from onnx.inliner import inline_local_functions
from onnx.shape_inference import InferenceError, infer_shapes

from ..errors import UnusableModel
from ..schema.names import meant, near
from .expressions import as_name, canonical, names_in

MAX_BYTES = 2**31 - 1
"""Protobuf's own limit. A larger model keeps its weights in other files, and those are not read."""
MAX_NODES = 100_000
"""Nodes when functions are inlined, each kilobyte of a function counted as one: half a minute of work."""
MAX_VECTOR = 2**20
"""Elements of a vector beside which onnx may follow values: some 140 MB and 0.2 s each."""
KEPT_ELEMENTS = 256
"""Elements of a constant that shapes may be computed from. A larger one is a weight: its values are dropped."""
EXPAND_OPSET = 8
"""The first opset that has Expand."""


Dimension = TensorShapeProto.Dimension


class InferenceFault(NamedTuple):
    """What keeps onnx from inferring a shape, in its words, and the number of the node; None where it names none."""

    node: str | None
    said: str


class Model(NamedTuple):
    """A model with its functions inlined and its shapes inferred."""

    graph: GraphProto
    opset: int
    functions: frozenset[tuple[str, str]]
    """Domain and name of each function that could not be inlined, since it is written for another opset."""
    sizes: frozenset[str]
    """The names of sizes that the file uses. Any other name was given to a size that is not known."""
    assumable: frozenset[str]
    """The names of sizes of the inputs, as the file has them and as questions do."""
    names: dict[str, str]
    """The name of each node in the file: in the graph it has a number."""
    faults: list[InferenceFault]
    """What keeps onnx from inferring more."""


def read(path: Path, assume: Mapping[str, int] | None = None) -> Model:
    """The model in a file, with the sizes that are assumed in place of their names. Raises UnusableModel."""
    if not path.is_file():
        if path.exists():
            raise UnusableModel("is no file")
        stems = near(path.stem, [file.stem for file in path.parent.glob("*.onnx")])
        raise UnusableModel(f"does not exist{meant([str(path.with_name(f'{stem}.onnx')) for stem in stems])}")
    if (size := path.stat().st_size) > MAX_BYTES:
        raise UnusableModel(f"has {size} bytes, and a model {MAX_BYTES} at most: save its weights as external data")
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise UnusableModel(f"can't be read: {error.strerror}") from None
    except Exception as error:  # onnx raises whatever its parsers do: what matters is that the file is none
        raise UnusableModel(f"is no ONNX model: {_line(error)}") from None
    if not model.HasField("graph") or not model.opset_import:
        raise UnusableModel("is no ONNX model: it has no graph, or names no opset")
    try:
        _tidy(model)
        _judge_nodes(model)
        return _inferred(_inlined(model), assume or {})
    except UnusableModel:
        raise
    except Exception as error:  # as above
        raise UnusableModel(f"is an ONNX model whose shapes onnx can't infer: {_line(error)}") from None


def target_of(name: str) -> str:
    """The name of a value that was added: it has the shape that the value `name` holds, to which a node expands."""
    return f"tensorcast target {name}"


_SCALAR = target_of("")


def is_added(node: NodeProto) -> bool:
    """Whether a node makes such a value."""
    return list(node.input[:1]) == [_SCALAR]


def text(name: str | bytes) -> str:
    """A name of the file, which may be no UTF-8."""
    return name if isinstance(name, str) else name.decode(errors="backslashreplace")


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The graphs that a node holds, such as a loop's body, each with its attribute."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield text(attribute.name), attribute.g
        for number, graph in enumerate(attribute.graphs):
            yield f"{text(attribute.name)}[{number}]", graph


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all that its nodes hold, in an order that inference keeps."""
    yield graph
    for node in graph.node:
        for _, inner in subgraphs(node):
            yield from _graphs(inner)


def _nodes(owner: GraphProto | FunctionProto) -> Iterator[NodeProto]:
    """All nodes, those of graphs that nodes hold included."""
    for node in owner.node:
        yield node
        for _, graph in subgraphs(node):
            yield from _nodes(graph)


def _line(error: Exception) -> str:
    first = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return _printable(first)


def _printable(line: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in line[:300])


def _tidy(model: ModelProto) -> None:
    """Give ONNX's own domain one name, forget the values of large constants (only their shapes matter, and each step
    copies the model), and whatever stands where _forget_shapes writes."""
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            entry.domain = _domain(entry.domain)
    for owner in (model.graph, *model.functions):
        for node in _nodes(owner):
            node.domain = _domain(node.domain)
            for entry in [entry for entry in node.metadata_props if entry.key == _OUTPUT_OF_FILE]:
                node.metadata_props.remove(entry)
            _forget_weights(attribute.t for attribute in node.attribute if attribute.HasField("t"))
            for _, graph in subgraphs(node):
                _forget_weights(graph.initializer)
    _forget_weights(model.graph.initializer)


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _forget_weights(tensors: Iterable[TensorProto]) -> None:
    for tensor in tensors:
        if prod(tensor.dims) > KEPT_ELEMENTS:
            shell = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
            shell.data_location = TensorProto.EXTERNAL  # so that nobody looks for them
            tensor.CopyFrom(shell)


def _judge_nodes(model: ModelProto) -> None:
    """Raises UnusableModel for functions that call themselves, and for too many nodes."""
    functions = {(function.domain, function.name, function.overload): function for function in model.functions}
    calls = {key: _called(function) for key, function in functions.items()}
    nodes: dict[tuple[str, str, str], int] = {}
    try:
        for key in TopologicalSorter({key: called.keys() & calls for key, called in calls.items()}).static_order():
            nodes[key] = max(_inlined_count(calls[key], nodes), functions[key].ByteSize() // 1000)
    except CycleError as error:
        raise UnusableModel(f"has a function that calls itself, {text(error.args[1][0][1])[:100]!r}") from None
    total = _inlined_count(_called(model.graph), nodes)
    if total > MAX_NODES:
        raise UnusableModel(f"has some {total} nodes, functions counted at each call, and {MAX_NODES} are the most")


def _called(owner: GraphProto | FunctionProto) -> Counter[tuple[str, str, str]]:
    return Counter((node.domain, node.op_type, node.overload) for node in _nodes(owner))


def _inlined_count(called: Counter[tuple[str, str, str]], nodes: dict[tuple[str, str, str], int]) -> int:
    return sum(nodes.get(key, 1) * times for key, times in called.items())


def _inlined(model: ModelProto) -> ModelProto:
    """The model without its functions, where their opset is the model's. A node's name says whose it was."""
    for function in model.functions:
        for node in _nodes(function):
            node.name = f"{text(function.name)}/{text(node.name) or text(node.op_type)}"
    return inline_local_functions(model) if model.functions else model


def _inferred(model: ModelProto, assume: Mapping[str, int]) -> Model:
    """The model with the shapes that follow from its inputs and constants. What the file says of other values may be
    older than those: it counts where nothing follows."""
    opset = max((entry.version for entry in model.opset_import if entry.domain == ""), default=0)
    model.ir_version = max(
        model.ir_version, 10
    )  # constants had to be inputs before 4; and nothing had metadata before 10
    names = _number_nodes(model.graph)
    graphs = list(_graphs(model.graph))
    for graph in graphs:
        constants = {tensor.name for tensor in graph.initializer}
        constants |= {tensor.values.name for tensor in graph.sparse_initializer}
        inputs = [value for value in graph.input if value.name not in constants]
        del graph.input[:]
        graph.input.extend(inputs)
    stated = {text(size.dim_param) for graph in graphs for size in _sizes(graph.input) if size.dim_param}
    by_name = {name: assume[as_name(name)] for name in stated if as_name(name) in assume} | dict(assume)
    sizes = _settle_sizes(graphs, by_name)
    unused = (name for number in count() if (name := f"unknown_{number}") not in sizes)
    for size in _sizes(model.graph.input):
        # What is not known is the same size wherever the value goes.
        if not (size.HasField("dim_value") or size.dim_param):
            size.dim_param = name = next(unused)
            stated.add(name)
            if name in assume:
                size.dim_value = assume[name]
    of_inputs = frozenset(size.dim_param for graph in graphs for size in _sizes(graph.input))
    shapes_of_file = [_forget_shapes(graph) for graph in graphs]
    if opset >= EXPAND_OPSET:
        model.graph.initializer.append(make_tensor(_SCALAR, TensorProto.FLOAT, [], [0.0]))
        _add_targets(model.graph, ChainMap())
    inferred, errors = _with_shapes(model, names)
    before = [_shapes(graph) for graph in _graphs(inferred.graph)]
    if _recall(graphs, _graphs(inferred.graph), shapes_of_file, of_inputs):
        inferred, errors = _with_shapes(model, names)
        for graph, shapes in zip(_graphs(inferred.graph), before, strict=True):
            _mark(graph, shapes, of_inputs)
    functions = frozenset((function.domain, function.name) for function in model.functions)
    assumable = frozenset(name for size in stated for name in (size, as_name(size), *names_in(size)))
    return Model(inferred.graph, opset, functions, sizes, assumable, names, errors)


def _sizes(values: Iterable[ValueInfoProto]) -> Iterator[Dimension]:
    for value in values:
        yield from value.type.tensor_type.shape.dim


def _number_nodes(graph: GraphProto) -> dict[str, str]:
    """The name of each node, by the number that takes its place, so that errors say which node they are of."""
    names = {}
    for number, node in enumerate(_nodes(graph)):
        names[str(number)] = text(node.name or next(iter(node.output), "") or node.op_type)
        node.name = str(number)
    return names


def _with_shapes(model: ModelProto, names: Mapping[str, str]) -> tuple[ModelProto, list[InferenceFault]]:
    """The model with all shapes that onnx infers, and what it says where it can't."""
    follow = _follows_values(model)
    try:
        return infer_shapes(model, strict_mode=True, data_prop=follow), []
    except InferenceError as error:
        said = str(error).partition("Inference error(s): ")[2] or str(error)
    try:
        return infer_shapes(model, data_prop=follow), list(_faults(said))
    except InferenceError as error:
        said = re.sub("node name: ([0-9]+)", lambda match: f"node name: {names.get(match[1], match[1])}", str(error))
        raise InferenceError(said) from None


def _follows_values(model: ModelProto) -> bool:
    """Whether onnx may follow the values that shapes are computed from. It makes a list as long as each vector that is
    added or multiplied, whatever the vector holds: of 2^62 elements it would never end."""
    try:
        plain = infer_shapes(model).graph
    except InferenceError:  # it will be raised again
        return False
    return not any(
        len(shape) == 1 and shape[0] > MAX_VECTOR
        for graph in _graphs(plain)
        for shape in (
            *(
                [size.dim_value for size in _sizes([value])]
                for value in (*graph.input, *graph.output, *graph.value_info)
            ),
            *(tensor.dims for tensor in graph.initializer),
        )
    )


_FAULT = re.compile(r"\(op_type:(?P<op>[^,)]*)(?:, node name: (?P<node>[^)]*))?\): (?P<said>.*)")
_ERROR = re.compile(r"^\[\w+\] ")
_IDLE = re.compile(r"existing (shape|elem type)|expected to have type but instead is null|Input type was null|is null")
"""Said of what the file states otherwise, or of a node one of whose inputs is not known since another node failed."""


def _faults(said: str) -> Iterator[InferenceFault]:
    """What onnx says of single nodes, the innermost of those that hold each other; of none where it names none."""
    for line in filter(None, map(str.strip, said.splitlines())):
        found = None
        rest = line
        while match := _FAULT.search(rest):
            found, rest = match, match["said"]
        if not _IDLE.search(rest):
            yield InferenceFault(found["node"] if found else None, _printable(_ERROR.sub("", rest)))


def _settle_sizes(graphs: Iterable[GraphProto], assume: Mapping[str, int]) -> frozenset[str]:
    """The names of sizes, once those that are assumed are the integers, and equal expressions are one. A size that is
    negative or named "?" is made one that is not known, as which it is meant; so is one that onnx once named itself."""
    names = set()
    for graph in graphs:
        for size in _sizes((*graph.input, *graph.output, *graph.value_info)):
            if size.dim_value < 0 or size.dim_param == "?" or NAMED_BY_ONNX.fullmatch(text(size.dim_param)):
                size.Clear()
            if size.dim_param:
                settled = canonical(text(size.dim_param), assume)
                if isinstance(settled, int):
                    size.dim_value = settled
                else:
                    size.dim_param = settled
                    names.add(settled)
    return frozenset(names)


NAMED_BY_ONNX = re.compile("unk__[0-9]+")
"""What onnx calls a size that it does not know."""


def _forget_shapes(graph: GraphProto) -> dict[str, ValueInfoProto]:
    """The shapes that the file states of what nodes make, by name, once those of all but the inputs are taken off."""
    made = {name for node in graph.node for name in node.output}
    shapes = {}
    for value in (*graph.value_info, *graph.output):
        if value.type.tensor_type.HasField("shape"):
            if value.name in made:
                shapes[value.name] = ValueInfoProto()
                shapes[value.name].CopyFrom(value)
            value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    for node in graph.node:
        if node.op_type == "Expand" and (stated := shapes.get(next(iter(node.output), ""))) is not None:
            sizes = [size_of(size) for size in stated.type.tensor_type.shape.dim]
            node.metadata_props.add(key=_OUTPUT_OF_FILE, value=json.dumps(sizes))
    return shapes


def size_of(size: Dimension) -> int | str | None:
    """A size or its name; None where there is neither."""
    return size.dim_value if size.HasField("dim_value") else text(size.dim_param) or None


def output_of_file(node: NodeProto) -> list[int | str | None] | None:
    """The shape that the file states of what an Expand makes; None where it states none."""
    stated = [entry.value for entry in node.metadata_props if entry.key == _OUTPUT_OF_FILE]
    return json.loads(stated[-1]) if stated else None


_OUTPUT_OF_FILE = "tensorcast.output"


def _recall(
    graphs: Iterable[GraphProto],
    inferred: Iterable[GraphProto],
    shapes_of_file: Iterable[dict[str, ValueInfoProto]],
    of_inputs: frozenset[str],
) -> bool:
    """Whether the file knows sizes that were not inferred. The graphs then get those, and all that were: what the file
    says may keep a node from being inferred, and nothing that is known is to be lost by that."""
    recalled = False
    for graph, inferred_graph, stated in zip(graphs, inferred, shapes_of_file, strict=True):
        known = {value.name: value for value in (*inferred_graph.value_info, *inferred_graph.output)}
        inputs = {value.name for value in graph.input}
        outputs = {value.name: value for value in graph.output}
        for name in dict.fromkeys((*known, *stated)):
            value = known.get(name)
            if value is None or not value.type.tensor_type.HasField("shape"):
                value = stated.get(name)
                recalled = recalled or value is not None
            elif name in stated:
                own, theirs = value.type.tensor_type.shape.dim, stated[name].type.tensor_type.shape.dim
                for size, of_file in zip(own, theirs, strict=True) if len(own) == len(theirs) else ():
                    if not _is_known(size, of_inputs) and _is_known(of_file, None):
                        size.CopyFrom(of_file)
                        recalled = True
            sizes = () if value is None else value.type.tensor_type.shape.dim
            if value is None or name in inputs or any(NAMED_BY_ONNX.fullmatch(size.dim_param) for size in sizes):
                continue  # a size that has a name of onnx's own may now be inferred
            if name in outputs:
                outputs[name].CopyFrom(value)
            else:
                graph.value_info.append(value)
    return recalled


def _shapes(graph: GraphProto) -> dict[str, list[Dimension]]:
    """A copy of the sizes of what is known to have a rank, by name."""
    shapes: dict[str, list[Dimension]] = {}
    for value in (*graph.value_info, *graph.output):
        if value.type.tensor_type.HasField("shape"):
            copy = TensorShapeProto()
            copy.CopyFrom(value.type.tensor_type.shape)
            shapes[value.name] = list(copy.dim)
    return shapes


def _is_known(size: Dimension, names: frozenset[str] | None) -> bool:
    """Whether a size is a number or has a name, one of `names` if those are all."""
    return size.HasField("dim_value") or bool(size.dim_param and (names is None or size.dim_param in names))


def _mark(graph: GraphProto, before: dict[str, list[Dimension]], of_inputs: frozenset[str]) -> None:
    """Note at each value of which more is known than `before` that the file says so."""
    for value in (*graph.value_info, *graph.output):
        sizes = value.type.tensor_type.shape.dim
        earlier = before.get(value.name, ())
        if len(sizes) != len(earlier) or any(
            _is_known(size, None) and not _is_known(known, of_inputs) and not NAMED_BY_ONNX.fullmatch(size.dim_param)
            for size, known in zip(sizes, earlier, strict=True)
        ):
            value.metadata_props.add(key=_BY_FILE)


_BY_FILE = "tensorcast.by_file"


def is_by_file(value: ValueInfoProto) -> bool:
    """Whether sizes of a value are known from the file alone."""
    return any(entry.key == _BY_FILE for entry in value.metadata_props)


def _add_targets(graph: GraphProto, outer: ChainMap[str, GraphProto]) -> None:
    """Let inference say what it knows of each shape that a node expands to: a scalar that is expanded to it has just
    that shape. It knows most in the graph where the value is made, which may be an `outer` one."""
    homes = outer.new_child(dict.fromkeys((value.name for value in (*graph.input, *graph.initializer)), graph))
    homes.update((name, graph) for node in graph.node for name in node.output)
    for node in list(graph.node):
        if (node.domain, node.op_type) == ("", "Expand") and len(node.input) == 2:
            name = node.input[1]
            target = target_of(name)
            scope = next((scope for scope in homes.maps if name in scope), None)
            if scope is not None and target not in scope:
                scope[name].node.append(make_node("Expand", [_SCALAR, name], [target]))
                scope[target] = scope[name]
        for _, inner in subgraphs(node):
            _add_targets(inner, homes)
