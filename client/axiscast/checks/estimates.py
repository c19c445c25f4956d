"""Estimates of a request's time and memory, computed from its shapes and attributes before the work starts.

All estimates are upper bounds. Times are in milliseconds. `python benchmarks/estimates.py` prints the
measured time and the estimate for each time constant. A service runs requests with a long estimated time on a thread.
Memory is in bytes, and a service reserves the estimated memory before the work starts.
tests/runtime/test_memory_estimates.py fails if a request needs more memory than its estimate.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING

from ..ops import OPS, are_all_loaded
from ..plan.plan import Shape
from ..wire.codec import Encoding
from ..wire.dimensions import Symbol
from ..wire.prescan import Buffer, prescan_msgpack
from ..wire.problems import Problem
from .hints.hints import MAX_SYMBOLIC_HINT_TRIES
from .limits import MAX_COLUMN_SIZES, MAX_CONDITIONS, MAX_LISTED_AXES, MAX_RANK, MIN_COUNTED_AXES, RequestSize

if TYPE_CHECKING:  # this module imports NumPy
    from ..wire.tensors import Tensor

LOADING_MS = 300.0
"""The estimated time, in milliseconds, of the first request that needs all ops."""
REQUEST_MS = 0.05
"""The estimated time, in milliseconds, that every request needs."""
AXIS_MS = 0.005
"""The estimated time, in milliseconds, per input axis. It covers all work from alignment to the response."""
ATTRIBUTE_ENTRY_MS = 0.01
"""The estimated time, in milliseconds, per entry of a list or map in an op's attributes."""
LETTER_MS = 0.01
"""The estimated time, in milliseconds, per character of an equation, for parsing it and naming the axes."""
SYMBOL_MS = 0.1
"""The estimated time, in milliseconds, per symbolic size."""
CONDITION_MS = 0.2
"""The estimated time, in milliseconds, per condition on symbolic sizes."""
SYMBOLIC_HINT_TRY_MS = 0.5
"""The estimated time, in milliseconds, per changed symbolic request that the search for a hint tries."""
LISTED_CONDITION_MS = 0.01
"""The estimated time, in milliseconds, for writing a condition on symbolic sizes to the result of one op."""
COMPARED_ALIGNMENTS = 20
"""The maximum number of different alignments of the ops in a comparison of one or two inputs, and 3 of more inputs."""
COMPARED_OP_MS = 1.0
"""The estimated time, in milliseconds, per op in a comparison."""
TRANSLATED_AXIS_MS = 0.2
"""The estimated time, in milliseconds, per axis in a translation of one input."""
TRANSLATED_AXIS_OF_SEVERAL_MS = 0.6
"""The estimated time, in milliseconds, per axis in a translation of several inputs that may supply sizes."""
COLUMN_CALL_MS = 0.05
"""The estimated time, in milliseconds, that NumPy calls take per axis and block of rows."""
COLUMN_SIZE_MS = 3e-5
"""The estimated time, in milliseconds, per size in the columns of a vectorized batch."""
OUTPUT_MS = 0.05
"""The estimated time, in milliseconds, per tensor in a response."""
JSON_ELEMENT_MS, JSON_REPEAT_MS = 0.001, 5e-5
"""The estimated time, in milliseconds, per distinct element in a JSON response, and per element or empty list."""
SUMMED_ELEMENT_MS = 1e-4
"""The estimated time, in milliseconds, per element that is summed into a gradient."""
JSON_BYTE_MS = 2e-4
"""The estimated time, in milliseconds, for parsing and validating one byte of a long JSON body."""
MSGPACK_BYTE_MS = 2e-5
"""The estimated time, in milliseconds, for parsing and validating one byte of a long MessagePack body."""
TENSOR_BYTE_MS = 1e-6
"""The estimated time, in milliseconds, per byte of the tensors in a MessagePack body."""
ERROR_TEXT_MS = 0.5
"""The estimated time, in milliseconds, for parsing any error message, without the check that it describes."""
ERROR_CHARACTER_MS = 0.003
"""The estimated time, in milliseconds, per character of an error message."""
QUICK_BODY_BYTES = 2**11
"""The size, in bytes, up to which any body is parsed and validated within a millisecond."""
MAX_SCANNED_BODY_BYTES = 2**20
"""The maximum size, in bytes, of a MessagePack body that is scanned for tensors to estimate its time."""
MAX_NUMBERS_BYTES, MAX_QUICK_TEXTS = 5000, 2**7
"""The maximum size, in bytes, of a JSON body that is parsed within a millisecond if it consists mostly of numbers, and
the maximum number of quotes and lists in such a body."""

AXIS_BYTES = 750
"""The estimated memory, in bytes, that each axis of an output takes as Python objects and as text."""
COMPARED_AXIS_BYTES = 300
"""The estimated memory, in bytes, per op and axis in a comparison."""
HINTS_BYTES = 10_000
"""The estimated memory, in bytes, of one conflict or warning and its hints, in a response that can have several."""
CONDITION_BYTES = 6000
"""The estimated memory, in bytes, per condition on symbolic sizes. A condition may contain several long names."""
JSON_ELEMENT_BYTES, JSON_REPEAT_BYTES = 128, 24
"""The estimated memory, in bytes, per distinct element in a JSON response, and per element or empty list."""
JSON_COPIES = 8
"""The maximum number of bytes in a JSON response per byte of its tensors.

This maximum occurs if an element is a long string of wide characters.
"""
BLOCK_ROWS = 2**14
"""The number of rows in one block of columns.

For a block, the sizes of two axes and the intermediate results fit into the cache of one CPU core.
"""


def loading_time_estimate(module: str) -> float:
    """Return the estimated time, in milliseconds, for loading a module and all ops. It is 0 if they are loaded."""
    return 0.0 if module in sys.modules and are_all_loaded() else LOADING_MS


def count_conditions(shapes: Sequence[Sequence[object]]) -> tuple[int, int]:
    """Return the number of symbolic sizes in these shapes, and the maximum number of conditions on these sizes."""
    symbols = sum(type(size) is Symbol for shape in shapes for size in shape)
    others = len(shapes) - 1
    if not others:  # each size is compared with an integer in the op's attributes
        return symbols, min(symbols, MAX_CONDITIONS)
    pairs = max(map(len, shapes), default=0) * len(shapes) * others // 2
    return symbols, min(pairs, symbols * others, MAX_CONDITIONS)


def time_estimate(request: RequestSize) -> float:
    """Return the estimated time, in milliseconds, of a check, or of computing the plan of another request."""
    op, shapes, rank, axes, entries, is_symbolic = request
    if entries > rank:
        axes = len(shapes) * min(max(entries, MIN_COUNTED_AXES), MAX_RANK)
    milliseconds = REQUEST_MS + AXIS_MS * axes
    if entries or "pattern" in op.__dict__:
        milliseconds += ATTRIBUTE_ENTRY_MS * (entries + len(op.__dict__.get("pattern", "")) / 2)
    if "equation" in op.__dict__:
        milliseconds += LETTER_MS * len(op.__dict__["equation"])
    return milliseconds + _symbols_time(_shapes_with_symbols(request)) if is_symbolic else milliseconds


def memory_estimate(request: RequestSize, tensors: Iterable[Tensor] = ()) -> int:
    """Return the estimated memory, in bytes, for output shapes, arrays from `tensors` and intermediate objects."""
    nbytes = AXIS_BYTES * request.axes + sum(tensor.decoded_bytes() for tensor in tensors)
    if names := request.op.output_dims():
        nbytes += _names_memory({name for dims in names for name in dims}, len(request.shapes))
    return nbytes + _symbols_memory(_shapes_with_symbols(request)) if request.is_symbolic else nbytes


def _shapes_with_symbols(request: RequestSize) -> list[Sequence[object]]:
    """Return the input shapes, and the symbolic sizes in the op's attributes as one additional shape."""
    attribute = [size for _, _, size in request.op.symbols()]
    return [*request.shapes, attribute] if attribute else [*request.shapes]


def _symbols_time(shapes: Sequence[Sequence[object]]) -> float:
    """Return the estimated additional time, in milliseconds, for symbolic sizes and for their hint search."""
    symbols, conditions = count_conditions(shapes)
    tries = MAX_SYMBOLIC_HINT_TRIES if symbols and max(map(len, shapes)) > 2 else 0
    return SYMBOL_MS * symbols + CONDITION_MS * conditions + SYMBOLIC_HINT_TRY_MS * tries


def _symbols_memory(shapes: Sequence[Sequence[object]]) -> int:
    """Return the estimated memory, in bytes, for the conditions on symbolic sizes and the names in all outputs."""
    names = {size for shape in shapes for size in shape if type(size) is Symbol}
    return CONDITION_BYTES * count_conditions(shapes)[1] + _names_memory(names, len(shapes))


def _names_memory(names: Iterable[str], outputs: int) -> int:
    """Return the estimated size, in bytes, of a response if every output lists all these names."""
    return 3 * outputs * sum(len(json.dumps(name)) for name in names)


def parse_time_estimate(nbytes: int, media: Encoding) -> float:
    """Return the estimated time, in milliseconds, for parsing and validating a body of `nbytes` bytes."""
    if nbytes <= QUICK_BODY_BYTES:
        return nbytes / (2 * QUICK_BODY_BYTES)
    return 1 + nbytes * (JSON_BYTE_MS if media is Encoding.JSON else MSGPACK_BYTE_MS)


def body_time_estimate(body: Buffer, media: Encoding) -> float:
    """Return the estimated time, in milliseconds, for parsing and validating this body.

    The tensor bytes in a MessagePack body take little time, because they are not copied. In JSON, numbers take less
    time than names, so short bodies of numbers are parsed on the event loop.
    """
    if media is Encoding.JSON and QUICK_BODY_BYTES < len(body) <= MAX_NUMBERS_BYTES:
        whole = bytes(body)
        if whole.count(b'"') + whole.count(b"[") <= MAX_QUICK_TEXTS:
            return len(whole) * JSON_BYTE_MS
    if media is Encoding.MSGPACK and QUICK_BODY_BYTES < len(body) <= MAX_SCANNED_BODY_BYTES:
        try:
            _, bins = prescan_msgpack(body, max_values=QUICK_BODY_BYTES)
            tensor_bytes = sum(end - start for start, _, end in bins)
            return parse_time_estimate(len(body) - tensor_bytes, media) + tensor_bytes * TENSOR_BYTE_MS
        except Problem:
            pass  # the body is invalid or contains too many values
    return parse_time_estimate(len(body), media)


def columns_time_estimate(inputs: Sequence[Tensor]) -> float:
    """Return the estimated time, in milliseconds, of a vectorized batch whose columns are (n, rank) arrays."""
    shapes = [tensor.shape for tensor in inputs]
    rows = max((shape[0] for shape in shapes if shape), default=0)
    sizes = sum(map(prod, shapes))
    if max(rows, sizes) > MAX_COLUMN_SIZES:
        return REQUEST_MS  # such a batch is refused before a row is checked
    blocks = -(-max(rows, 1) // BLOCK_ROWS)
    axes = sum(shape[-1] for shape in shapes if shape)
    return REQUEST_MS + COLUMN_CALL_MS * axes * blocks + COLUMN_SIZE_MS * sizes


def columns_memory_estimate(rows: int, output_sizes: int, input_sizes: int) -> int:
    """Return the estimated memory, in bytes, for a vectorized batch's response and one block's intermediate results.

    Each row has `input_sizes` sizes in the request and `output_sizes` sizes in the response.
    """
    return (8 * output_sizes + 9) * rows + 16 * (output_sizes + input_sizes) * min(rows, BLOCK_ROWS)


def compare_time_estimate(shapes: Sequence[Sequence[object]]) -> float:
    """Return the estimated time, in milliseconds, for comparing these shapes (including the target)."""
    rank = max(map(len, shapes), default=0)
    each = COMPARED_OP_MS + AXIS_MS * len(shapes) * max(min(rank, MAX_RANK), MIN_COUNTED_AXES)
    with_target = sum(op.target is not None for op in OPS.values())
    each += LISTED_CONDITION_MS * count_conditions(shapes)[1]
    alignments = COMPARED_ALIGNMENTS if len(shapes) <= 2 else 3  # ops with equal alignments share the solution
    without_target = sum(op.target is None and op.takes(len(shapes)) for op in OPS.values())
    return max(with_target, without_target) * each + alignments * _symbols_time(shapes)


def compare_memory_estimate(shapes: Sequence[Sequence[object]]) -> int:
    """Return the estimated memory, in bytes, for comparing these shapes (including the target)."""
    rank = max(min(max(map(len, shapes), default=0), MAX_RANK), MIN_COUNTED_AXES)
    # The response contains at least one result for each framework.
    frameworks = {name.split(".")[0] for name, op in OPS.items() if op.max_inputs is None}
    each = AXIS_BYTES * min(len(shapes) * rank, MAX_LISTED_AXES) + _symbols_memory(shapes)
    return len(frameworks) * each + len(OPS) * (COMPARED_AXIS_BYTES * rank + HINTS_BYTES)


def translate_time_estimate(shapes: Sequence[Shape], to: str) -> float:
    """Return the estimated time, in milliseconds, for finding the steps of a translation and writing their code.

    `to` is an op, or a framework whose ops are all tried.
    """
    axis = TRANSLATED_AXIS_MS if len(shapes) == 1 else TRANSLATED_AXIS_OF_SEVERAL_MS
    tried = sum(name.startswith(f"{to}.") and bool(op.snippets) for name, op in OPS.items()) or 1
    return REQUEST_MS + tried * axis * sum(max(len(shape), MIN_COUNTED_AXES) for shape in shapes)


def why_time_estimate(characters: int) -> float:
    """Return the estimated time, in milliseconds, for parsing an error message, without the check in it."""
    return ERROR_TEXT_MS + ERROR_CHARACTER_MS * characters


def json_time_estimate(distinct: int, elements: int) -> float:
    """Return the estimated time, in milliseconds, for writing a JSON response with these elements and lists."""
    return JSON_ELEMENT_MS * distinct + JSON_REPEAT_MS * elements


def json_memory_estimate(distinct: int, elements: int, nbytes: int) -> int:
    """Return the estimated memory, in bytes, of a JSON response with these elements, lists and tensor bytes."""
    return JSON_ELEMENT_BYTES * distinct + JSON_REPEAT_BYTES * elements + JSON_COPIES * nbytes
