"""Limits: what is refused before anything is allocated or summed. Settings where an operator would change
them, constants with their reasons where not."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..ops import Op
from ..ops.rules import exceeds_rank
from ..plan.plan import Shape
from ..schema.problems import Problem
from ..schema.shapes import format_shape

MAX_RANK = 64
"""NumPy's own: an array of more axes can't be made."""
MAX_AXES = 10_000
"""Inputs times output rank (4 at the least) of one request: what an answer lists; some 50 ms of work."""
MAX_SYMBOLIC_AXES = 2000
"""Axes of all inputs together, where sizes are symbolic: some 50 ms of work."""
MAX_CONDITIONS = 200
"""Conditions that symbolic sizes are weighed by: some 50 ms of work. Twenty names that all meet on one axis have
190."""
MAX_TRANSLATED_INPUTS = 256
"""Inputs of one translation, which has steps for each of them: code for people."""
MAX_BATCH_ROWS = 10_000
"""Requests in one batch of rows: some 0.5 s of work as a rule."""
MAX_BATCH_SECONDS = 2.0
"""Time after which a batch begins no further row: a row of many inputs or symbols may take a second."""
MAX_COLUMN_SIZES = 2**25
"""Sizes in the columns of a batch and of its answer, where 10^6 rows have some ten million: 256 MiB, 0.5 s."""
MAX_ROWS_ALONE = 100_000
"""Rows of columns that are looked at one by one, where the op's rule needs that: some 0.5 s."""
MAX_WORK_ELEMENTS = 2**28
"""Elements that one backprop may sum: about a second of one core."""
MAX_RESULT_ELEMENTS = 2**26
"""Elements of the gradients that one backprop makes: each is held in up to 16 bytes. A gradient whose strides
overlap may ask for more than its own bytes."""
MAX_LOOKUPS = 2**28
"""Elements of a window that has no strides, times the axes that are merged in it: some two seconds."""
MAX_JSON_ELEMENTS = 2**17
"""Elements in a JSON answer, which is built whole: some 50 MB and 0.3 s while it is built."""
MAX_JSON_BYTES = 4 * 2**20
"""Bytes of those elements: strings may be long."""
MAX_ADDRESS = 2**63 - 1
"""Bytes that an array's shape may span, replicated ones included."""


def judge_ranks(op: Op, shapes: tuple[Shape, ...]) -> None:
    """Raises Problem (work-too-large) for too many axes, unless the op's own rule already refuses them."""
    rank = op.highest_rank(shapes)
    if rank > MAX_RANK and not exceeds_rank(op, shapes):
        raise Problem("work-too-large", f"a shape has {rank} axes; this service takes up to {MAX_RANK}", limit=MAX_RANK)
    axes = len(shapes) * max(min(rank, MAX_RANK), 4)
    if axes > MAX_AXES:
        raise Problem(
            "work-too-large",
            f"{len(shapes)} inputs of up to {rank} axes make {axes} axes; this service takes up to {MAX_AXES}: "
            "send fewer inputs at once",
            limit=MAX_AXES,
        )


def judge_symbolic_axes(count: int) -> None:
    """Raises Problem (work-too-large) for too many axes of inputs in a request with symbols."""
    if count > MAX_SYMBOLIC_AXES:
        raise Problem(
            "work-too-large",
            f"the inputs have {count} axes; where sizes are not known this service takes up to {MAX_SYMBOLIC_AXES}: "
            "send inputs of equal shape once",
            limit=MAX_SYMBOLIC_AXES,
        )


def judge_conditions(count: int) -> None:
    """Raises Problem (work-too-large) for too many conditions on symbolic sizes."""
    if count > MAX_CONDITIONS:
        raise Problem(
            "work-too-large",
            f"the sizes that are not known and meet put {count} conditions or more on each other; this service weighs "
            f"up to {MAX_CONDITIONS}: give one name to sizes that are equal",
            limit=MAX_CONDITIONS,
        )


def judge_translation(inputs: int) -> None:
    """Raises Problem (work-too-large) for a translation of too many inputs."""
    if inputs > MAX_TRANSLATED_INPUTS:
        raise Problem(
            "work-too-large",
            f"a translation has steps for each of its {inputs} inputs; this service writes them for up to "
            f"{MAX_TRANSLATED_INPUTS}: send fewer",
            pointer="/inputs",
            limit=MAX_TRANSLATED_INPUTS,
        )


def judge_rows(count: int) -> None:
    """Raises Problem (work-too-large) for too many requests in one batch."""
    if count > MAX_BATCH_ROWS:
        raise Problem(
            "work-too-large",
            f"requests: there are {count}; one batch takes up to {MAX_BATCH_ROWS}: send several, "
            "or columns, where all have one op and inputs of the same rank",
            pointer="/requests",
            limit=MAX_BATCH_ROWS,
        )


def judge_columns(sizes: int) -> None:
    """Raises Problem (work-too-large) for columns that hold, or are answered by, too many sizes."""
    if sizes > MAX_COLUMN_SIZES:
        raise Problem(
            "work-too-large",
            f"the rows have {sizes} sizes, those of the answer counted; one batch takes up to {MAX_COLUMN_SIZES}: "
            "send fewer rows at once",
            pointer="/inputs",
            limit=MAX_COLUMN_SIZES,
        )


def judge_rows_alone(count: int) -> None:
    """Raises Problem (work-too-large) for too many rows that must be looked at one by one."""
    if count > MAX_ROWS_ALONE:
        raise Problem(
            "work-too-large",
            f"{count} rows do not broadcast, and which axis is to blame must be found row by row for this op: one "
            f"batch takes up to {MAX_ROWS_ALONE} such rows",
            pointer="/inputs",
            limit=MAX_ROWS_ALONE,
        )


def judge_output(shapes: Sequence[Shape], itemsizes: Sequence[int], limit: int) -> None:
    """Raises Problem (output-too-large) where dense outputs of these shapes exceed `limit` bytes in all."""
    elements = sum(map(prod, shapes))
    nbytes = sum(prod(shape) * itemsize for shape, itemsize in zip(shapes, itemsizes, strict=True))
    if nbytes > limit:
        largest = max(shapes, key=prod)
        raise Problem(
            "output-too-large",
            f"the outputs, the largest {format_shape(largest)}, take {nbytes} bytes; this service sends up to {limit}: "
            'ask for "layout": "strided", which costs only the bytes of the inputs, or for a "window" of the output',
            elements=exact(elements),
            nbytes=exact(nbytes),
            limit=limit,
        )


def judge_address(shape: Shape, itemsize: int) -> None:
    """Raises Problem (output-too-large) for a shape that no array can have, even when it is only a view."""
    nbytes = prod(max(size, 1) for size in shape) * itemsize
    if nbytes > MAX_ADDRESS:
        raise Problem(
            "output-too-large",
            f"the output {format_shape(shape)} spans {nbytes} bytes, more than the 2^63-1 that an array can: "
            "its shape can be checked with /v1/check, not sent",
            elements=exact(prod(shape)),
            nbytes=exact(nbytes),
            limit=MAX_ADDRESS,
        )


def judge_result(elements: int) -> None:
    """Raises Problem (work-too-large) for gradients of more elements than are held at once."""
    if elements > MAX_RESULT_ELEMENTS:
        raise Problem(
            "work-too-large",
            f"the gradients of the inputs have {elements} elements; this service makes up to {MAX_RESULT_ELEMENTS} at "
            "once: send the gradient in slices and join the results",
            elements=exact(elements),
            limit=MAX_RESULT_ELEMENTS,
        )


def judge_gather(lookups: int) -> None:
    """Raises Problem (work-too-large) for a window of merged axes that is looked up element by element."""
    if lookups > MAX_LOOKUPS:
        raise Problem(
            "work-too-large",
            f"no strides read this window of merged axes, and its elements take {lookups} lookups; this service does "
            f"up to {MAX_LOOKUPS}: ask for smaller windows, or for the whole output",
            pointer="/window",
            limit=MAX_LOOKUPS,
        )


def judge_json(elements: int, nbytes: int) -> None:
    """Raises Problem (output-too-large) for a JSON answer of too many elements or bytes."""
    if elements > MAX_JSON_ELEMENTS or nbytes > MAX_JSON_BYTES:
        raise Problem(
            "output-too-large",
            f"a JSON answer holds up to {MAX_JSON_ELEMENTS} elements of {MAX_JSON_BYTES} bytes in all, and this one "
            f"would hold {elements} of {nbytes}: ask for MessagePack (Accept: application/vnd.msgpack), which streams, "
            'or for "layout": "strided"',
            elements=exact(elements),
            nbytes=exact(nbytes),
            limit=MAX_JSON_ELEMENTS,
        )


def judge_work(elements: int) -> None:
    """Raises Problem (work-too-large) for a backprop that would read too many elements."""
    if elements > MAX_WORK_ELEMENTS:
        raise Problem(
            "work-too-large",
            f"the gradients have {elements} elements to sum, replicated axes counted once; this service sums up to "
            f"{MAX_WORK_ELEMENTS}: send the gradient in slices and add the results",
            elements=exact(elements),
            limit=MAX_WORK_ELEMENTS,
        )


def exact(number: int) -> int | str:
    """A number that any reader of int64 keeps: a decimal string beyond 2^63-1."""
    return number if number <= 2**63 - 1 else str(number)
