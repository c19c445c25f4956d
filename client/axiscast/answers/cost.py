"""Costs: about how many milliseconds of Python a request takes, told from its shapes and attributes before it is begun.

They are rough, and rather too high: on a 2-core machine of 2025, twice what was measured. What costs more than the
event loop may be held is done on a thread (runtime/threads.py); benchmarks/load/stalls.py searches for requests that
cost more than is told here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf, prod
from typing import TYPE_CHECKING, Any

from ..ops import OPS
from ..plan.plan import Shape
from ..wire.codec import Encoding
from ..wire.dimensions import Symbol
from ..wire.prescan import Buffer, prescan_msgpack
from ..wire.problems import Problem
from .check import read_plain_check
from .footprint import BLOCK_ROWS
from .hints import MAX_SYMBOLIC_HINT_TRIES
from .limits import MAX_CONDITIONS, MAX_RANK, RequestSize, validate_request

if TYPE_CHECKING:  # which takes NumPy
    from ..wire.tensors import Tensor

REQUEST = 0.05
"""Milliseconds of any request."""
AXIS = 0.005
"""Milliseconds of an axis of an input, from alignment to answer; an input counts as one of four axes at the least."""
ATTRIBUTE_ENTRY = 0.01
"""Milliseconds of an entry of a list or a map among an op's attributes: a name of einops costs most."""
SYMBOL = 0.1
"""Milliseconds of a size that is not known, by itself."""
SYMBOLIC_TRY = 0.5
"""Milliseconds of a change that is tried for a hint where sizes are not known; of two axes or fewer next to none."""
CONDITION = 0.35
"""Milliseconds of two such sizes that meet."""
OUTPUT = 0.05
"""Milliseconds of a tensor in an answer."""
JSON_ELEMENT = 0.002
"""Milliseconds of an element in a JSON answer."""
TRANSLATED_AXIS, LENT_AXIS = 0.2, 0.6
"""Milliseconds of an axis in a translation, which tries many ways to write it: of one input, and of several, each of
which may lend its sizes."""
COLUMN_CALL, COLUMN_SIZE = 0.05, 3e-5
"""Milliseconds of an axis of a block of rows in columns, and of a size there."""
COMPARED_OP = 1.0
"""Milliseconds of each op that is compared, most of them for the hints where its sizes clash."""
WHY, WHY_CHARACTER = 0.5, 0.003
"""Milliseconds of the text of any error, and of a character of one that is made of words that messages begin with."""
SHORT_BYTES = 2**15
"""Bytes of a request that may be answered on the event loop, if most of them are those of tensors; longer ones are not
looked at."""
QUICK_BYTES = 2**11
"""Bytes of a body that are parsed and validated within a millisecond, whatever they hold: names take most."""
JSON_BYTE, MESSAGEPACK_BYTE, TENSOR_BYTE = 2e-4, 2e-5, 5e-6
"""Milliseconds in which a byte of a body is read and validated. Most bytes of MessagePack are tensors, which are not
looked at, or by one call of NumPy."""


def parse_milliseconds(nbytes: int, media: Encoding) -> float:
    """Return the milliseconds in which a body of `nbytes` is parsed and validated."""
    if nbytes <= QUICK_BYTES:
        return nbytes / (2 * QUICK_BYTES)
    return 1 + nbytes * (JSON_BYTE if media is Encoding.JSON else MESSAGEPACK_BYTE)


def body_milliseconds(body: Buffer, media: Encoding) -> float:
    """The same of a body that is there: of a short one in MessagePack the bytes of long tensors cost next to nothing,
    since they are read where they stand."""
    if media is Encoding.MSGPACK and QUICK_BYTES < len(body) <= SHORT_BYTES:
        try:
            _, bins = prescan_msgpack(body, most=QUICK_BYTES)  # which takes less than the values do
            inside = sum(end - start for start, _, end in bins)
            return parse_milliseconds(len(body) - inside, media) + inside * TENSOR_BYTE
        except Problem:
            pass  # too many values; or it will be refused
    return parse_milliseconds(len(body), media)


def check_milliseconds(request_size: RequestSize) -> float:
    """Milliseconds of the plan of a request, and of its answer."""
    op, shapes, rank, axes, entries, is_symbolic = request_size
    milliseconds = REQUEST + AXIS * (axes if entries <= rank else len(shapes) * min(max(entries, 4), MAX_RANK))
    if entries or "pattern" in op.__dict__:
        milliseconds += ATTRIBUTE_ENTRY * (entries + len(op.__dict__.get("pattern", "")) / 2)
    if not is_symbolic:
        return milliseconds
    attributes = (value for value in op.__dict__.values() if type(value) is tuple)
    return milliseconds + _symbols_milliseconds([*shapes, *attributes])


def _symbols_milliseconds(shapes: Sequence[Sequence[object]]) -> float:
    """Milliseconds that sizes which are not known add, with the search for a hint."""
    met: Counter[int] = Counter()  # how many of them on each axis, counted from the last
    for sizes in shapes:
        met.update(axis for axis, size in enumerate(reversed(sizes)) if type(size) is Symbol)
    pairs = sum(count * (count + 1) // 2 for count in met.values())
    tries = MAX_SYMBOLIC_HINT_TRIES if met and max(map(len, shapes)) > 2 else 0
    return SYMBOL * met.total() + CONDITION * min(pairs, MAX_CONDITIONS) + SYMBOLIC_TRY * tries


def row_milliseconds(row: Any) -> float:
    """Return the milliseconds of a row of a batch with integer shapes and perhaps an op; infinity for any other row."""
    question = read_plain_check(row)
    if question is None:
        return inf
    try:
        return check_milliseconds(validate_request(question.op, tuple(question.inputs), of_integers=True))
    except Problem:
        return REQUEST


def columns_milliseconds(inputs: Sequence[Tensor]) -> float:
    """Milliseconds of columns (n, rank): NumPy is called a few times for each axis of each block of rows, and works on
    each size."""
    shapes = [tensor.shape for tensor in inputs]
    rows = max((shape[0] for shape in shapes if shape), default=0)
    calls = sum(shape[-1] for shape in shapes if shape) * -(-max(rows, 1) // BLOCK_ROWS)
    return REQUEST + COLUMN_CALL * calls + COLUMN_SIZE * sum(map(prod, shapes))


def compare_milliseconds(shapes: Sequence[Sequence[object]]) -> float:
    """Milliseconds of what every op answers to these shapes, the target's among them."""
    rank = max(map(len, shapes), default=0)
    each = COMPARED_OP + AXIS * len(shapes) * max(min(rank, MAX_RANK), 4)
    targeted = sum(op.target is not None for op in OPS.values())
    asked = max(targeted, len(OPS) - targeted)  # those with a target, or those without
    return asked * (each + _symbols_milliseconds(shapes))


def why_milliseconds(characters: int) -> float:
    """Milliseconds in which the text of an error of this length is read, without the check in it."""
    return WHY + WHY_CHARACTER * characters


def translate_milliseconds(shapes: Sequence[Shape]) -> float:
    """Milliseconds of the steps and their code."""
    return REQUEST + (TRANSLATED_AXIS if len(shapes) == 1 else LENT_AXIS) * sum(max(len(shape), 4) for shape in shapes)
