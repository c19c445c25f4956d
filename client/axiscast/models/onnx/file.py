"""An ONNX file: read, with its weights forgotten and its functions inlined.

The file is somebody else's. A fault of it is reported in one line, and the cost of reading it is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from math import prod
from pathlib import Path

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, TensorProto
from onnx.inliner import inline_local_functions

from ...errors import UnusableModel
from ...wire.wording import close_matches, did_you_mean
from .graph import all_nodes, subgraphs, text
from .stated_shapes import OUTPUT_OF_FILE

MAX_BYTES = 2**31 - 1
"""Protobuf's own limit. A larger model keeps its weights in other files, and those are not read."""
MAX_NODES = 100_000
"""Nodes when functions are inlined, each kilobyte of a function counted as one: half a minute of work."""
KEPT_ELEMENTS = 256
"""Elements of a constant that shapes may be computed from. A larger one is a weight: its values are dropped."""


def load(path: Path) -> ModelProto:
    """Return the model in a file, its functions inlined and the values of its weights dropped. Raises UnusableModel."""
    if not path.is_file():
        if path.exists():
            raise UnusableModel("is no file")
        stems = close_matches(path.stem, [file.stem for file in path.parent.glob("*.onnx")])
        raise UnusableModel(f"does not exist{did_you_mean([str(path.with_name(f'{stem}.onnx')) for stem in stems])}")
    if (size := path.stat().st_size) > MAX_BYTES:
        raise UnusableModel(f"has {size} bytes, and a model {MAX_BYTES} at most: save its weights as external data")
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise UnusableModel(f"can't be read: {error.strerror}") from None
    except Exception as error:  # onnx raises whatever its parsers do: what matters is that the file is none
        raise UnusableModel(f"is no ONNX model: {first_line(error)}") from None
    if not model.HasField("graph") or not model.opset_import:
        raise UnusableModel("is no ONNX model: it has no graph, or names no opset")
    try:
        _tidy(model)
        _judge_nodes(model)
        return _inlined(model)
    except UnusableModel:
        raise
    except Exception as error:  # as above
        raise not_inferred(error) from None


def not_inferred(error: Exception) -> UnusableModel:
    """Return the exception for a model that onnx can't work with."""
    return UnusableModel(f"is an ONNX model whose shapes onnx can't infer: {first_line(error)}")


def first_line(error: Exception) -> str:
    """Return the first line of a message, without what could steer a terminal."""
    first = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return printable(first)


def printable(line: str) -> str:
    """Return a line of onnx's without what could steer a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in line[:300])


def _tidy(model: ModelProto) -> None:
    """Give ONNX's own domain one name, forget the values of large constants (only their shapes matter, and each step
    copies the model), and whatever stands where forget_shapes writes."""
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            entry.domain = _domain(entry.domain)
    for owner in (model.graph, *model.functions):
        for node in all_nodes(owner):
            node.domain = _domain(node.domain)
            for entry in [entry for entry in node.metadata_props if entry.key == OUTPUT_OF_FILE]:
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
    return Counter((node.domain, node.op_type, node.overload) for node in all_nodes(owner))


def _inlined_count(called: Counter[tuple[str, str, str]], nodes: dict[tuple[str, str, str], int]) -> int:
    return sum(nodes.get(key, 1) * times for key, times in called.items())


def _inlined(model: ModelProto) -> ModelProto:
    """The model without its functions, where their opset is the model's. A node's name says whose it was."""
    for function in model.functions:
        for node in all_nodes(function):
            node.name = f"{text(function.name)}/{text(node.name) or text(node.op_type)}"
    return inline_local_functions(model) if model.functions else model
