"""Limits: what is refused before anything is allocated or summed. Settings where an operator would change them,
constants with their reasons where not.

A limit is a number that bears its refusal: the sentence in which the figures of a request take the place of the braces.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, Self

from ..ops import Op, exceeds_rank
from ..plan.plan import Shape
from ..wire.dimensions import Symbol
from ..wire.problems import Problem
from ..wire.shapes import format_shape


class Limit(int):
    """The most that there may be of something.

    `text` says in a refusal how much there is, how much there may be (`{most}`), and what to do; `counted` is its name
    for what is counted, `pointer` the place in the request.
    """

    def __new__(cls, most: int, text: str, counted: str = "count", pointer: str | None = None) -> Self:
        limit = super().__new__(cls, most)
        limit._text, limit._counted, limit._pointer = text, counted, pointer
        return limit

    _text: str
    _counted: str
    _pointer: str | None

    def check(self, count: int) -> None:
        """Raises Problem (work-too-large) where there is more."""
        if count > self:
            raise self.problem({self._counted: count})

    def problem(self, figures: dict[str, Any], code: str = "work-too-large") -> Problem:
        """The refusal, with the figures that its text needs; `elements` and `nbytes` are in its document too."""
        facts = {name: int64_or_text(figures[name]) for name in ("elements", "nbytes") if name in figures}
        text = self._text.format(most=int(self), **figures)
        return Problem(code, text, pointer=self._pointer, **facts, limit=int(self))


MAX_RANK = Limit(64, "a shape has {count} axes; this service takes up to {most}")
"""NumPy's own: an array of more axes can't be made."""
MAX_LISTED_AXES = Limit(
    10_000,
    "{inputs} inputs of up to {rank} axes make {count} axes; this service takes up to {most}: "
    "send fewer inputs at once",
)
"""Inputs times output rank (4 at the least) of one request: what an answer lists; some 50 ms of work."""
MAX_SYMBOLIC_AXES = Limit(
    2000,
    "the inputs have {count} axes; where sizes are not known this service takes up to {most}: "
    "send inputs of equal shape once",
)
"""Axes of all inputs together, where sizes are symbolic: some 50 ms of work."""
MAX_CONDITIONS = Limit(
    200,
    "the sizes that are not known and meet put {count} conditions or more on each other; this service weighs up to "
    "{most}: give one name to sizes that are equal",
)
"""Conditions that symbolic sizes are weighed by: some 50 ms of work. Twenty names that all meet on one axis have
190."""
MAX_TRANSLATED_INPUTS = Limit(
    256,
    "a translation has steps for each of its {count} inputs; this service writes them for up to {most}: send fewer",
    pointer="/inputs",
)
"""Inputs of one translation, which has steps for each of them: code for people."""
MAX_BATCH_ROWS = Limit(
    10_000,
    "requests: there are {count}; one batch takes up to {most}: send several, or columns, where all have one op and "
    "inputs of the same rank",
    pointer="/requests",
)
"""Requests in one batch of rows: some 0.5 s of work as a rule."""
MAX_BATCH_SECONDS = 2.0
"""Of the processor; then a batch begins no further row: one of many inputs or symbols may take a second."""
MAX_COLUMN_SIZES = Limit(
    2**25,
    "the rows have {count} sizes, those of the answer counted; one batch takes up to {most}: send fewer rows at once",
    pointer="/inputs",
)
"""Sizes in the columns of a batch and of its answer, where 10^6 rows have some ten million: 256 MiB, 0.5 s."""
MAX_ROWS_ALONE = Limit(
    100_000,
    "{count} rows do not broadcast, and which axis is to blame must be found row by row for this op: one batch "
    "takes up to {most} such rows",
    pointer="/inputs",
)
"""Rows of columns that are looked at one by one, where the op's rule needs that: some 0.5 s."""
MAX_WORK_ELEMENTS = Limit(
    2**28,
    "the gradients have {elements} elements to sum, replicated axes counted once; this service sums up to {most}: "
    "send the gradient in slices and add the results",
    counted="elements",
)
"""Elements that one backprop may sum: about a second of one core."""
MAX_RESULT_ELEMENTS = Limit(
    2**26,
    "the gradients of the inputs have {elements} elements; this service makes up to {most} at once: send the gradient "
    "in slices and join the results",
    counted="elements",
)
"""Elements of the gradients that one backprop makes: each is held in up to 16 bytes. A gradient whose strides
overlap may ask for more than its own bytes."""
MAX_LOOKUPS = Limit(
    2**28,
    "no strides read this window of merged axes, and its elements take {count} lookups; this service does up to "
    "{most}: ask for smaller windows, or for the whole output",
    pointer="/window",
)
"""Elements of a window that has no strides, times the axes that are merged in it: some two seconds."""
MAX_JSON_ELEMENTS = Limit(
    2**17,
    "a JSON answer holds up to {most} elements and lists of them, of {most_bytes} bytes in all, and this one would "
    "hold {elements} elements in {lists} lists, of {nbytes} bytes: ask for MessagePack "
    '(Accept: application/vnd.msgpack), which streams, for "layout": "strided", or for a "window" of the output',
)
"""Elements in a JSON answer, and lists that hold them, which is built whole: some 50 MB and 0.3 s meanwhile."""
MAX_JSON_BYTES = 4 * 2**20
"""Bytes of those elements: strings may be long."""
MAX_ADDRESS = Limit(
    2**63 - 1,
    "the output {shape} spans {nbytes} bytes, more than the 2^63-1 that an array can: its shape can be checked, "
    "not sent",
)
"""Bytes that an array's shape may span, replicated ones included."""
OUTPUT_TEXT = (
    "the outputs, the largest {shape}, take {nbytes} bytes; this service sends up to {most}: ask for "
    "layout strided, which costs only the bytes of the inputs, or for a window of the output"
)
"""The text of the limit that is a setting, AXISCAST_MAX_OUTPUT_BYTES."""


MIN_COUNTED_AXES = 4
"""Axes that limits and estimates count for an input or output of a lower rank."""


class RequestSize(NamedTuple):
    """A request and its size, from which limits and estimates are computed."""

    op: Op
    shapes: tuple[Shape, ...]
    rank: int
    """The largest rank of an input or output; an upper bound."""
    axes: int
    """The number of axes of all outputs."""
    entries: int
    """The number of entries of the lists and maps among the op's attributes."""
    is_symbolic: bool
    """Whether the request has symbolic sizes."""


def validate_request(op: Op, shapes: tuple[Shape, ...], all_static: bool = False) -> RequestSize:
    """Return the size of a request. Pass `all_static` if all sizes of the inputs are known to be integers.

    Raises Problem: invalid-request for a number of inputs that the op never takes, and for symbolic sizes if the op
    needs integers; work-too-large for too many axes, unless the rule of the op refuses them already.
    """
    if wrong := op.input_count_problem(len(shapes)):
        raise Problem("invalid-request", wrong, pointer="/inputs")
    rank = op.highest_rank(shapes)
    if rank > MAX_RANK and not exceeds_rank(op, shapes):
        raise MAX_RANK.problem({"count": rank})
    axes = len(shapes) * max(min(rank, MAX_RANK), MIN_COUNTED_AXES)
    if axes > MAX_LISTED_AXES:
        raise MAX_LISTED_AXES.problem({"count": axes, "inputs": len(shapes), "rank": rank})
    entries, is_symbolic = 0, False
    for shape in () if all_static else shapes:  # loops, since every request passes here
        for size in shape:
            if type(size) is not int and isinstance(size, Symbol):
                is_symbolic = True
    if len(op.__dict__) > 1:  # else it has a name alone
        for value in op.__dict__.values():
            if type(value) is tuple:
                entries += len(value)
                is_symbolic = is_symbolic or Symbol in map(type, value)
            elif type(value) is dict:
                entries += len(value)
    if is_symbolic and op.needs_integers():
        in_op = None if any(Symbol in map(type, shape) for shape in shapes) else next(op.symbols())[0]
        raise Problem(
            "invalid-request",
            f"{op.name} takes known sizes only, because its rule compares them: "
            "write an integer in place of each name, range and ?",
            pointer=f"/op/{in_op}" if in_op else "/inputs",
        )
    return RequestSize(op, shapes, rank, axes, entries, is_symbolic)


def validate_output_bytes(
    shapes: Sequence[Shape], itemsizes: Sequence[int], limit: int, text: str = OUTPUT_TEXT
) -> None:
    """Raises Problem (output-too-large) where dense outputs of these shapes exceed `limit` bytes in all."""
    nbytes = sum(prod(shape) * itemsize for shape, itemsize in zip(shapes, itemsizes, strict=True))
    if nbytes > limit:
        largest = max(shapes, key=prod)
        figures = {"shape": format_shape(largest), "elements": sum(map(prod, shapes)), "nbytes": nbytes}
        raise Limit(limit, text).problem(figures, "output-too-large")


def validate_span(shape: Shape, itemsize: int) -> None:
    """Raises Problem (output-too-large) for a shape that no array can have, even when it is only a view."""
    nbytes = prod(max(size, 1) for size in shape) * itemsize
    if nbytes > MAX_ADDRESS:
        figures = {"shape": format_shape(shape), "elements": prod(shape), "nbytes": nbytes}
        raise MAX_ADDRESS.problem(figures, "output-too-large")


def validate_json_size(elements: int, lists: int, nbytes: int) -> None:
    """Raises Problem (output-too-large) for a JSON answer of too many elements and lists, or of too many bytes."""
    if elements + lists > MAX_JSON_ELEMENTS or nbytes > MAX_JSON_BYTES:
        figures = {"most_bytes": MAX_JSON_BYTES, "elements": elements, "lists": lists, "nbytes": nbytes}
        raise MAX_JSON_ELEMENTS.problem(figures, "output-too-large")


def int64_or_text(number: int) -> int | str:
    """A number that any reader of int64 keeps: a decimal string beyond 2^63-1."""
    return number if number <= 2**63 - 1 else str(number)
