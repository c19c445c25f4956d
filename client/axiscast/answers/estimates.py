"""Estimates of the time and the memory that a request takes, made from its shapes and attributes before work begins.

Estimates are upper bounds. Time is in milliseconds of Python. `python benchmarks/estimates.py` prints the measured time
beside the estimate for each time constant. A service runs longer work on a thread. Memory is in bytes, and a service
reserves it before the work. tests/runtime/test_memory_estimates.py fails if a request takes more than its estimate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import inf, prod
from typing import TYPE_CHECKING, Any

from ..ops import OPS
from ..plan.plan import Shape
from ..wire.codec import Encoding
from ..wire.dimensions import Symbol
from ..wire.prescan import Buffer, prescan_msgpack
from ..wire.problems import Problem
from .hints import MAX_SYMBOLIC_HINT_TRIES
from .limits import MAX_CONDITIONS, MAX_LISTED_AXES, MAX_RANK, MIN_COUNTED_AXES, RequestSize, validate_request
from .plain_check import read_plain_check

if TYPE_CHECKING:  # which imports NumPy
    from ..wire.tensors import Tensor

REQUEST_MS = 0.05
"""Milliseconds of any request."""
AXIS_MS = 0.005
"""Milliseconds of each axis of an input, from its alignment to the response."""
ATTRIBUTE_ENTRY_MS = 0.01
"""Milliseconds of each entry of a list or map among an op's attributes."""
SYMBOL_MS = 0.1
"""Milliseconds of each symbolic size."""
CONDITION_MS = 0.35
"""Milliseconds of each condition on symbolic sizes."""
SYMBOLIC_HINT_TRY_MS = 0.5
"""Milliseconds of each change that the search for a hint tries on symbolic sizes."""
COMPARED_OP_MS = 1.0
"""Milliseconds of each op in a comparison."""
TRANSLATED_AXIS_MS = 0.2
"""Milliseconds of each axis in a translation of one input."""
TRANSLATED_AXIS_OF_SEVERAL_MS = 0.6
"""Milliseconds of each axis in a translation of several inputs, each of which may be a source of missing sizes."""
COLUMN_CALL_MS = 0.05
"""Milliseconds of NumPy's calls for one axis in one block of rows."""
COLUMN_SIZE_MS = 3e-5
"""Milliseconds of each size in columns."""
OUTPUT_MS = 0.05
"""Milliseconds of each tensor in a response."""
JSON_ELEMENT_MS = 0.002
"""Milliseconds of each element in a JSON response."""
SUMMED_ELEMENT_MS = 1e-4
"""Milliseconds of each element that a gradient sums."""
JSON_BYTE_MS = 2e-4
"""Milliseconds of each byte of a long JSON body, to parse and validate it."""
MSGPACK_BYTE_MS = 2e-5
"""Milliseconds of each byte of a long MessagePack body, most of which are tensors."""
TENSOR_BYTE_MS = 5e-6
"""Milliseconds of each byte of the tensors in a MessagePack body."""
ERROR_TEXT_MS = 0.5
"""Milliseconds of the text of an error, without the check that is found in it."""
ERROR_CHARACTER_MS = 0.003
"""Milliseconds of each character of the text of an error."""
QUICK_BODY_BYTES = 2**11
"""Bytes of a body that is parsed and validated within a millisecond, whatever its content is."""
MAX_SCANNED_BODY_BYTES = 2**15
"""Bytes of the longest MessagePack body that is scanned for tensors to estimate it."""

AXIS_BYTES = 750
"""Bytes of each axis of each output, as Python objects and as text."""
COMPARED_AXIS_BYTES = 300
"""Bytes of each axis of each op in a comparison."""
HINTS_BYTES = 8000
"""Bytes of a conflict or a warning with its hints, in a response with several."""
CONDITION_BYTES = 6000
"""Bytes of a condition on symbolic sizes, which may contain several long names."""
JSON_ELEMENT_BYTES = 120
"""Bytes of each element, or empty list, of a JSON response."""
JSON_COPIES = 8
"""Bytes of a JSON response for each byte of its tensors: an element may be a long string of wide characters."""
BLOCK_ROWS = 2**14
"""Rows of columns in one block: the sizes of two axes and the intermediate results fit into a core's own cache."""


def count_conditions(shapes: Sequence[Sequence[object]]) -> tuple[int, int]:
    """Return the number of symbolic sizes in these shapes, and the largest possible number of conditions on them."""
    symbols = sum(type(size) is Symbol for shape in shapes for size in shape)
    others = len(shapes) - 1
    if not others:  # each size meets an integer of the op
        return symbols, min(symbols, MAX_CONDITIONS)
    pairs = max(map(len, shapes), default=0) * len(shapes) * others // 2
    return symbols, min(pairs, symbols * others, MAX_CONDITIONS)


def time_estimate(request: RequestSize) -> float:
    """Return the milliseconds of a check, or of the plan of another request."""
    op, shapes, rank, axes, entries, is_symbolic = request
    if entries > rank:
        axes = len(shapes) * min(max(entries, MIN_COUNTED_AXES), MAX_RANK)
    milliseconds = REQUEST_MS + AXIS_MS * axes
    if entries or "pattern" in op.__dict__:
        milliseconds += ATTRIBUTE_ENTRY_MS * (entries + len(op.__dict__.get("pattern", "")) / 2)
    return milliseconds + _symbols_time(_shapes_with_symbols(request)) if is_symbolic else milliseconds


def memory_estimate(request: RequestSize, tensors: Iterable[Tensor] = ()) -> int:
    """Return the bytes of the output shapes, of the arrays made from `tensors`, and of all intermediate objects."""
    nbytes = AXIS_BYTES * request.axes + sum(tensor.decoded_bytes() for tensor in tensors)
    if names := request.op.output_dims():
        nbytes += _names_memory({name for dims in names for name in dims}, len(request.shapes))
    return nbytes + _symbols_memory(_shapes_with_symbols(request)) if request.is_symbolic else nbytes


def _shapes_with_symbols(request: RequestSize) -> list[Sequence[object]]:
    """Return the shapes of the inputs, and the symbolic sizes among the attributes as one shape more."""
    attribute = [size for _, _, size in request.op.symbols()]
    return [*request.shapes, attribute] if attribute else [*request.shapes]


def _symbols_time(shapes: Sequence[Sequence[object]]) -> float:
    """Return the milliseconds that symbolic sizes add, with the search for a hint."""
    symbols, conditions = count_conditions(shapes)
    tries = MAX_SYMBOLIC_HINT_TRIES if symbols and max(map(len, shapes)) > 2 else 0
    return SYMBOL_MS * symbols + CONDITION_MS * conditions + SYMBOLIC_HINT_TRY_MS * tries


def _symbols_memory(shapes: Sequence[Sequence[object]]) -> int:
    """Return the bytes of the conditions on symbolic sizes, and of their names in every output."""
    names = {size for shape in shapes for size in shape if type(size) is Symbol}
    return CONDITION_BYTES * count_conditions(shapes)[1] + _names_memory(names, len(shapes))


def _names_memory(names: Iterable[str], outputs: int) -> int:
    """Return the bytes of a response in which each output may list all these names."""
    return 3 * outputs * sum(len(json.dumps(name)) for name in names)


def parse_time_estimate(nbytes: int, media: Encoding) -> float:
    """Return the milliseconds in which a body of `nbytes` is parsed and validated."""
    if nbytes <= QUICK_BODY_BYTES:
        return nbytes / (2 * QUICK_BODY_BYTES)
    return 1 + nbytes * (JSON_BYTE_MS if media is Encoding.JSON else MSGPACK_BYTE_MS)


def body_time_estimate(body: Buffer, media: Encoding) -> float:
    """Return the milliseconds in which this body is parsed and validated.

    The bytes of tensors in a short MessagePack body cost little, since they are not copied.
    """
    if media is Encoding.MSGPACK and QUICK_BODY_BYTES < len(body) <= MAX_SCANNED_BODY_BYTES:
        try:
            _, bins = prescan_msgpack(body, max_values=QUICK_BODY_BYTES)
            tensor_bytes = sum(end - start for start, _, end in bins)
            return parse_time_estimate(len(body) - tensor_bytes, media) + tensor_bytes * TENSOR_BYTE_MS
        except Problem:
            pass  # the body has too many values, or is invalid
    return parse_time_estimate(len(body), media)


def row_time_estimate(row: Any) -> float:
    """Return the milliseconds of a batch row with integer shapes and perhaps an op; infinity for any other row."""
    request = read_plain_check(row)
    if request is None:
        return inf
    try:
        return time_estimate(validate_request(request.op, tuple(request.inputs), all_static=True))
    except Problem:
        return REQUEST_MS


def columns_time_estimate(inputs: Sequence[Tensor]) -> float:
    """Return the milliseconds of a vectorized batch of columns (n, rank)."""
    shapes = [tensor.shape for tensor in inputs]
    rows = max((shape[0] for shape in shapes if shape), default=0)
    blocks = -(-max(rows, 1) // BLOCK_ROWS)
    axes = sum(shape[-1] for shape in shapes if shape)
    return REQUEST_MS + COLUMN_CALL_MS * axes * blocks + COLUMN_SIZE_MS * sum(map(prod, shapes))


def columns_memory_estimate(rows: int, output_sizes: int, input_sizes: int) -> int:
    """Return the bytes of the response to a vectorized batch, and of the intermediate results of one block.

    Each row has `input_sizes` sizes in the request and `output_sizes` in the response.
    """
    return (8 * output_sizes + 9) * rows + 16 * (output_sizes + input_sizes) * min(rows, BLOCK_ROWS)


def compare_time_estimate(shapes: Sequence[Sequence[object]]) -> float:
    """Return the milliseconds of a comparison of these shapes, which include the target."""
    rank = max(map(len, shapes), default=0)
    each = COMPARED_OP_MS + AXIS_MS * len(shapes) * max(min(rank, MAX_RANK), MIN_COUNTED_AXES)
    with_target = sum(op.target is not None for op in OPS.values())
    return max(with_target, len(OPS) - with_target) * (each + _symbols_time(shapes))


def compare_memory_estimate(shapes: Sequence[Sequence[object]]) -> int:
    """Return the bytes of a comparison of these shapes, which include the target."""
    rank = max(min(max(map(len, shapes), default=0), MAX_RANK), MIN_COUNTED_AXES)
    frameworks = {name.split(".")[0] for name, op in OPS.items() if op.max_inputs is None}  # each has its own result
    each = AXIS_BYTES * min(len(shapes) * rank, MAX_LISTED_AXES) + _symbols_memory(shapes)
    return len(frameworks) * each + len(OPS) * (COMPARED_AXIS_BYTES * rank + HINTS_BYTES)


def translate_time_estimate(shapes: Sequence[Shape]) -> float:
    """Return the milliseconds of the steps of a translation and their code."""
    axis = TRANSLATED_AXIS_MS if len(shapes) == 1 else TRANSLATED_AXIS_OF_SEVERAL_MS
    return REQUEST_MS + axis * sum(max(len(shape), MIN_COUNTED_AXES) for shape in shapes)


def why_time_estimate(characters: int) -> float:
    """Return the milliseconds in which the text of an error is parsed, without the check that is found in it."""
    return ERROR_TEXT_MS + ERROR_CHARACTER_MS * characters


def json_memory_estimate(elements: int, nbytes: int) -> int:
    """Return the bytes of a JSON response with this number of elements and lists, whose tensors have `nbytes`."""
    return JSON_ELEMENT_BYTES * elements + JSON_COPIES * nbytes
