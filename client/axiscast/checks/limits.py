"""Limits of requests and responses. Each limit is checked before memory is allocated or results are computed.

Limits that an operator may want to change are settings. All other limits are constants, each with its reason.
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
    """A maximum allowed number, and the error message for a number that exceeds this maximum.

    The message is a format string. `{limit}` is the limit, and `{count}` the actual number. `pointer` is the location
    in the request.
    """

    def __new__(cls, limit: int, message: str, pointer: str | None = None) -> Self:
        self = super().__new__(cls, limit)
        self._message, self._pointer = message, pointer
        return self

    _message: str
    _pointer: str | None

    def check(self, count: int) -> None:
        """Raise Problem (work-too-large) if the count exceeds the limit."""
        if count > self:
            raise self.problem({"count": count})

    def problem(self, figures: dict[str, Any], code: str = "work-too-large") -> Problem:
        """Return the problem. Its message contains these figures.

        The figures `elements` and `nbytes` are also fields of the problem.
        """
        fields: dict[str, Any] = {
            name: int64_or_text(figures[name]) for name in ("elements", "nbytes") if name in figures
        }
        message = self._message.format(limit=int(self), **figures)
        return Problem(code, message, pointer=self._pointer, **fields, limit=int(self))


MAX_RANK = Limit(64, "a shape has {count} axes, but the limit is {limit}")
"""The maximum rank of a NumPy array."""
MAX_LISTED_AXES = Limit(
    10_000,
    "{inputs} inputs with up to {rank} axes have {count} axes in total, but the limit is {limit}: send fewer inputs in "
    "one request",
)
"""The maximum total number of axes in all outputs. The response lists all axes, which takes about 50 ms."""
MAX_SYMBOLIC_AXES = Limit(
    2000,
    "the inputs have {count} axes in total, but with symbolic sizes the limit is {limit}: send equal shapes only once",
)
"""The maximum total number of axes in all inputs if a size is symbolic. This many axes take about 50 ms."""
MAX_CONDITIONS = Limit(
    200, "the symbolic sizes have {count} or more conditions, but the limit is {limit}: give equal sizes the same name"
)
"""The maximum number of conditions on symbolic sizes. This many conditions take about 50 ms.

Twenty different names on one axis have 190 conditions.
"""
MAX_SYMBOLIC_MILLISECONDS = Limit(
    250,
    "the symbolic sizes in this request would take about {count} ms, but the limit is {limit} ms: send several "
    "requests, or fewer symbolic sizes",
)
"""The maximum estimated time, in milliseconds, for a comparison or a batch with symbolic sizes.

Comparing twenty names on one axis takes about 100 ms.
"""
MAX_TRANSLATED_INPUTS = Limit(
    256,
    "a translation of {count} inputs has steps for each of them, but the limit is {limit} inputs: send fewer inputs",
    pointer="/inputs",
)
"""The maximum number of inputs in a translation. The limit keeps the generated code short enough to read."""
MAX_BATCH_ROWS = Limit(
    10_000,
    "requests: has {count} requests, but the limit of a batch is {limit}: send several batches, or columns if all "
    "requests have the same op and ranks",
    pointer="/requests",
)
"""The maximum number of requests in a batch. In most cases, this number of requests takes about 0.5 s."""
MAX_BATCH_SECONDS = 2.0
"""The CPU time, in seconds, after which a batch starts no further row.

One row with many inputs or symbols may take a second.
"""
MAX_COLUMN_SIZES = Limit(
    2**25,
    "the rows have {count} sizes, including the sizes in the response, but the limit of a batch is {limit}: send "
    "fewer rows in one request",
    pointer="/inputs",
)
"""The maximum total number of sizes in the columns and the response. This many sizes take 256 MiB and 0.5 s."""
MAX_LOOKUPS = Limit(
    2**28,
    "the window over merged axes has no strides, and its elements need {count} lookups, but the limit is {limit}: "
    "request smaller windows, or the whole output",
    pointer="/window",
)
"""The maximum product of elements and merged axes in a window that no strides can describe.

A window of this size takes about two seconds.
"""
MAX_JSON_ELEMENTS = Limit(
    2**17,
    "the JSON response would have {elements} elements, {lists} lists and {nbytes} bytes, but the limit is {limit} "
    "elements and lists, and {limit_bytes} bytes: request MessagePack (Accept: application/vnd.msgpack), which "
    "streams, "
    '"layout": "strided", or a "window" of the output',
)
"""The maximum number of elements and lists in a JSON response.

The response is built as a whole, which takes about 50 MB of memory and 0.3 s.
"""
MAX_JSON_BYTES = 4 * 2**20
"""The maximum size, in bytes, of the tensors in a JSON response. An element may be a long string."""
MAX_ADDRESS = Limit(
    2**63 - 1,
    "the output {shape} spans {nbytes} bytes, but an array spans at most 2^63-1: only its shape can be checked",
)
"""The maximum size, in bytes, of an array with this shape. Replicated elements count too."""
OUTPUT_TEXT = (
    "the outputs have {nbytes} bytes (the largest shape is {shape}), but the limit is {limit}: request layout "
    "'strided', which sends only the bytes of the inputs, or a window of the output"
)
"""The error message for the setting AXISCAST_MAX_OUTPUT_BYTES."""
MIN_COUNTED_AXES = 4
"""The minimum number of axes that limits and estimates count for each input or output."""


class RequestSize(NamedTuple):
    """A request and its size, which are compared with the limits and used for the estimates."""

    op: Op
    shapes: tuple[Shape, ...]
    rank: int
    """An upper bound for the rank of every input and output."""
    axes: int
    """The total number of axes in all outputs."""
    entries: int
    """The total number of entries in the lists and maps of the op's attributes."""
    is_symbolic: bool
    """Whether the request has symbolic sizes."""


def validate_request(op: Op, shapes: tuple[Shape, ...]) -> RequestSize:
    """Return the size of a request.

    Raises Problem (invalid-request) if the op never accepts this number of inputs, or if the op needs integers and a
    size is symbolic. Raises Problem (work-too-large) if there are too many axes, unless the op's rule already refuses
    them.
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
    for shape in shapes:  # every request runs this code, and loops are the fastest form
        for size in shape:
            if type(size) is not int and isinstance(size, Symbol):
                is_symbolic = True
    if len(op.__dict__) > 1:  # otherwise the name is the op's only attribute
        for value in op.__dict__.values():
            if type(value) is tuple:
                is_symbolic = is_symbolic or Symbol in map(type, value)
            if type(value) in (tuple, dict):
                entries += len(value)
    if is_symbolic and op.needs_integers():
        attribute = None if any(Symbol in map(type, shape) for shape in shapes) else next(op.symbols())[0]
        raise Problem(
            "invalid-request",
            f"{op.name} supports integer sizes only, because its rule compares them: replace each name, range and ? "
            f"with an integer",
            pointer=f"/op/{attribute}" if attribute else "/inputs",
        )
    return RequestSize(op, shapes, rank, axes, entries, is_symbolic)


def validate_output_bytes(
    shapes: Sequence[Shape], itemsizes: Sequence[int], limit: int, text: str = OUTPUT_TEXT
) -> None:
    """Raise Problem (output-too-large) with this text if dense outputs with these shapes exceed `limit` bytes."""
    nbytes = sum(prod(shape) * itemsize for shape, itemsize in zip(shapes, itemsizes, strict=True))
    if nbytes > limit:
        largest = max(shapes, key=prod)
        figures = {"shape": format_shape(largest), "elements": sum(map(prod, shapes)), "nbytes": nbytes}
        raise Limit(limit, text).problem(figures, "output-too-large")


def validate_span(shape: Shape, itemsize: int) -> None:
    """Raise Problem (output-too-large) if no array can have this shape, not even as a view."""
    nbytes = prod(max(size, 1) for size in shape) * itemsize
    if nbytes > MAX_ADDRESS:
        figures = {"shape": format_shape(shape), "elements": prod(shape), "nbytes": nbytes}
        raise MAX_ADDRESS.problem(figures, "output-too-large")


def validate_json_size(elements: int, lists: int, nbytes: int) -> None:
    """Raise Problem (output-too-large) if a JSON response has too many elements and lists, or too many bytes."""
    if elements + lists > MAX_JSON_ELEMENTS or nbytes > MAX_JSON_BYTES:
        figures = {"limit_bytes": MAX_JSON_BYTES, "elements": elements, "lists": lists, "nbytes": nbytes}
        raise MAX_JSON_ELEMENTS.problem(figures, "output-too-large")


def int64_or_text(number: int) -> int | str:
    """Return the integer itself, or a decimal string if int64 cannot represent the integer."""
    return number if number <= 2**63 - 1 else str(number)
