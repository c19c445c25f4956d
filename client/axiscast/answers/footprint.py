"""Footprints: bytes of memory that an answer takes while it is made, at the most, told before anything is made.

Whoever shares memory out reserves them: the service does, before it calls what makes the answer. What works in a
process of its own need not. tests/runtime/test_footprints.py measures them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from ..ops import OPS
from ..wire.dimensions import Symbol
from .limits import MAX_CONDITIONS, MAX_LISTED_AXES, MAX_RANK, RequestSize

if TYPE_CHECKING:
    from ..wire.tensors import Tensor

AXIS_BYTES = 750
"""Bytes of each axis of each output, as objects and as text; an output counts as one of four axes at the least."""
COMPARED_BYTES = 300
"""Bytes of each axis of each op that is compared."""
HINTS_BYTES = 8000
"""Bytes of a conflict or a warning with its hints, besides its axes, where there are several: in a batch of rows, in a
comparison. A single one is too small to be counted."""
CONDITION_BYTES = 6000
"""Bytes of a condition on symbolic sizes, which may name several by long names."""
JSON_ELEMENT_BYTES = 120
"""Bytes of an element, or an empty list, of a JSON answer: its text twice."""
JSON_TIMES = 8
"""A JSON answer takes so many times the bytes of its elements besides: they may be long strings of wide characters."""


BLOCK_ROWS = 2**14
"""Rows of columns that are settled at once: their sizes on two axes, and what is worked out of them, stay in the core's
own cache."""


def answer_bytes(request_size: RequestSize) -> int:
    """Bytes of the shapes that come out, and of all that leads to them."""
    nbytes = AXIS_BYTES * request_size.axes
    if names := request_size.op.output_dims():
        nbytes += _text_bytes({name for dims in names for name in dims}, len(request_size.shapes))
    if request_size.is_symbolic:
        shapes: list[Sequence[object]] = [*request_size.shapes]
        if len(request_size.op.__dict__) > 1:  # its attributes may be a shape too, which the inputs meet
            shapes.append([size for _, _, size in request_size.op.symbols()])
        nbytes += _symbols_bytes(shapes, request_size.rank)
    return nbytes


def _symbols_bytes(shapes: Sequence[Sequence[object]], rank: int) -> int:
    """Return the bytes of the conditions on symbolic sizes, and of their names in every output.

    A condition is about two sizes on one axis, of different shapes, at least one of them symbolic.
    """
    symbols = [size for size in chain.from_iterable(shapes) if type(size) is Symbol]
    pairs = rank * len(shapes) * (len(shapes) - 1) // 2
    conditions = min(pairs, len(symbols) * (len(shapes) - 1), MAX_CONDITIONS)
    return CONDITION_BYTES * conditions + _text_bytes(set(symbols), len(shapes))


def tensors_bytes(request_size: RequestSize, tensors: Iterable[Tensor]) -> int:
    """Bytes of the same, and of the arrays that are made of these tensors."""
    return answer_bytes(request_size) + sum(tensor.decoded_bytes() for tensor in tensors)


def _text_bytes(names: Iterable[str], outputs: int) -> int:
    """Bytes of an answer in which each output may list all of these names."""
    return 3 * outputs * sum(len(json.dumps(name)) for name in names)


def compared_bytes(shapes: Sequence[Sequence[object]]) -> int:
    """Bytes of what every op answers to these shapes, the target's among them."""
    rank = max(min(max(map(len, shapes), default=0), MAX_RANK), 4)
    frameworks = {name.split(".")[0] for name, op in OPS.items() if op.max_inputs is None}  # an answer of each is kept
    each = AXIS_BYTES * min(len(shapes) * rank, MAX_LISTED_AXES) + _symbols_bytes(shapes, rank)
    return len(frameworks) * each + len(OPS) * (COMPARED_BYTES * rank + HINTS_BYTES)


def columns_bytes(count: int, answered: int, asked: int) -> int:
    """Bytes of the answer to `count` rows: `answered` sizes in each, and what is worked out in a block of inputs that
    have `asked` sizes in each."""
    return (8 * answered + 9) * count + 16 * (answered + asked) * min(count, BLOCK_ROWS)


def json_bytes(elements: int, nbytes: int) -> int:
    """Bytes of a JSON answer of so many elements (and lists without one) of `nbytes` in all."""
    return JSON_ELEMENT_BYTES * elements + JSON_TIMES * nbytes
