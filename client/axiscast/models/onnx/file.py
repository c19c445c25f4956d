"""The reader for ONNX files. It does not load weights, and it inlines functions.

The file may come from an attacker. For this reason, each error is reported in one line, and the work and memory for
reading a file are limited.
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
from ...wire.wording import printable
from .graph import all_nodes, decoded, subgraphs

MAX_BYTES = 2**31 - 1
"""The maximum size of a file in bytes, which is Protobuf's limit. Larger models store their weights in other files."""
MAX_NODES = 100_000
"""The maximum number of nodes after functions are inlined. Checking this number of nodes takes half a minute.

Each kilobyte of a function counts as at least one node.
"""
MAX_CONSTANT_ELEMENTS = 256
"""The maximum number of elements in a constant from which shapes are computed. Larger constants are treated as
weights."""
_MAX_ERROR_LETTERS = 300

FunctionKey = tuple[str, str, str]
"""The domain, the name and the overload of an ONNX function, which together identify the function."""


def load_model(path: Path) -> ModelProto:
    """Read a model from a file. Functions are inlined, and the values of weights are removed.

    Raises UnusableModel if the file is not a model.
    """
    if (size := path.stat().st_size) > MAX_BYTES:
        raise UnusableModel(f"has {size} bytes, more than {MAX_BYTES}: save its weights as external data")
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise UnusableModel(f"can't be read: {error.strerror}") from None
    except Exception as error:  # parsers raise many types of exceptions for invalid files
        raise UnusableModel(f"is not an ONNX model: {first_line(error)}") from None
    if not model.HasField("graph") or not model.opset_import:
        raise UnusableModel("is not an ONNX model: it has no graph or no opset")
    try:
        _normalize(model)
        _check_node_count(model)
        return _inline_functions(model)
    except UnusableModel:
        raise
    except Exception as error:  # onnx raises many types of exceptions for invalid models
        raise not_inferred(error) from None


def not_inferred(error: Exception) -> UnusableModel:
    """Return the exception that reports an error of onnx for this model."""
    return UnusableModel(f"is an ONNX model whose shapes onnx can't infer: {first_line(error)}")


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message. Control characters are replaced."""
    line = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return printable(line, _MAX_ERROR_LETTERS)


def _normalize(model: ModelProto) -> None:
    """Replace all names of ONNX's default domain by one name, and remove the values of weights.

    Weights are removed because only their shapes are needed, and each later step copies the model.
    """
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            entry.domain = _normal_domain(entry.domain)
    for owner in (model.graph, *model.functions):
        for node in all_nodes(owner):
            node.domain = _normal_domain(node.domain)
            _drop_weights(attribute.t for attribute in node.attribute if attribute.HasField("t"))
            for _, graph in subgraphs(node):
                _drop_weights(graph.initializer)
    _drop_weights(model.graph.initializer)


def _normal_domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _drop_weights(tensors: Iterable[TensorProto]) -> None:
    for tensor in tensors:
        if prod(tensor.dims) > MAX_CONSTANT_ELEMENTS:
            without_values = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
            without_values.data_location = TensorProto.EXTERNAL  # tells onnx that the values are not in the file
            tensor.CopyFrom(without_values)


def _check_node_count(model: ModelProto) -> None:
    """Raise UnusableModel if a function calls itself, or if the inlined model would have too many nodes."""
    functions = {(function.domain, function.name, function.overload): function for function in model.functions}
    calls = {key: _count_ops(function) for key, function in functions.items()}
    inlined_nodes: dict[FunctionKey, int] = {}
    try:
        for key in TopologicalSorter({key: ops.keys() & calls for key, ops in calls.items()}).static_order():
            inlined_nodes[key] = max(_count_inlined(calls[key], inlined_nodes), functions[key].ByteSize() // 1000)
    except CycleError as error:
        raise UnusableModel(f"has a function that calls itself: {decoded(error.args[1][0][1])[:100]!r}") from None
    total = _count_inlined(_count_ops(model.graph), inlined_nodes)
    if total > MAX_NODES:
        raise UnusableModel(
            f"has about {total} nodes after its functions are inlined, more than the limit of {MAX_NODES}"
        )


def _count_ops(owner: GraphProto | FunctionProto) -> Counter[FunctionKey]:
    """Return the number of calls of each op or function in a graph or function."""
    return Counter((node.domain, node.op_type, node.overload) for node in all_nodes(owner))


def _count_inlined(ops: Counter[FunctionKey], inlined_nodes: dict[FunctionKey, int]) -> int:
    return sum(inlined_nodes.get(key, 1) * times for key, times in ops.items())


def _inline_functions(model: ModelProto) -> ModelProto:
    """Return the model with its functions inlined, except functions for another opset.

    In the inlined model, the name of a node begins with the name of the function.
    """
    for function in model.functions:
        for node in all_nodes(function):
            node.name = f"{decoded(function.name)}/{decoded(node.name) or decoded(node.op_type)}"
    return inline_local_functions(model) if model.functions else model
