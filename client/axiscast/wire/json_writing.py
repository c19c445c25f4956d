"""Conversion of arrays to JSON text, nested like the shape of the array. json_lists.py reads the text back."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from pydantic_core import to_json

from .cancellation import checkpoint
from .codec import Encoding, encode
from .dates import date_count
from .json_lists import MAX_EXACT_INTEGER, NAT, Array, kind_of

CHUNK_ELEMENTS = 512
"""The number of elements that one call of an encoder writes. A call takes at most about 0.5 ms and holds the GIL."""
_POWERS_OF_TEN = 10.0 ** np.arange(13)


def nested_lists(array: Array, repeats: Sequence[bool]) -> Iterator[bytes]:
    """Yield the elements of an array as nested JSON lists. A complex number is a list of two numbers.

    Each distinct element is converted once. Along the axes in `repeats`, which are replicated, its text is repeated.
    """
    shape, texts = array.shape, ["[]"]
    if array.size:
        once = array[(*(slice(1) if repeat else slice(None) for repeat in repeats), ...)]
        elements = np.ascontiguousarray(once).reshape(-1)
        if elements.dtype.kind == "c":
            shape, repeats, elements = (*shape, 2), [*repeats, False], elements.view(elements.real.dtype)
        texts = _texts(elements)
    else:  # each list above the axis of size 0 has the same text
        shape = shape[: shape.index(0)]
        repeats = [True] * len(shape)
    between = ","  # the text between two items of an axis, which closes and opens all inner lists
    for size, repeat in zip(reversed(shape), reversed(repeats), strict=True):
        checkpoint()
        if repeat:
            texts = [between.join([text] * size) for text in texts]
        elif size > 1:
            texts = [between.join(texts[start : start + size]) for start in range(0, len(texts), size)]
        between = f"]{between}["
    yield b"[" * len(shape)
    yield texts[0].encode()
    yield b"]" * len(shape)


def _texts(elements: Array) -> list[str]:
    """Return the JSON text of each element of a flat array. The elements are not complex numbers."""
    kind = kind_of(elements.dtype)
    if kind == "f":
        elements = _shortest_doubles(elements)
    texts: list[str] = []
    for start in range(0, len(elements), CHUNK_ELEMENTS):
        checkpoint()
        texts += _encoded(elements[start : start + CHUNK_ELEMENTS], kind)
    return texts


def _encoded(elements: Array, kind: str) -> list[str]:
    """Return the JSON text of each element. Floats are float64."""
    if kind == "U":
        return [encode(value, Encoding.JSON).decode() for value in elements.tolist()]
    return to_json(_plain_values(elements, kind), inf_nan_mode="strings")[1:-1].decode().split(",")


def _plain_values(elements: Array, kind: str) -> list[Any]:
    if kind == "i":
        integers = elements.astype(np.int64) if elements.dtype.kind == "V" else elements
        is_wide, limit = integers.itemsize == 8, MAX_EXACT_INTEGER
        large = is_wide and bool(((integers > limit) | (integers < -limit)).any())
        return list(map(_exact_integer, integers.tolist())) if large else integers.tolist()
    if kind == "m":
        return ["NaT" if count == NAT else _exact_integer(count) for count in elements.view(np.int64).tolist()]
    if kind == "M":
        return _dates(elements)
    if kind == "S":
        return [base64.b64encode(value).decode() for value in elements.tolist()]
    values: list[Any] = elements.tolist()
    return values


def _shortest_doubles(elements: Array) -> Array:
    """Return, for each float, the float64 nearest to the shortest decimal number that is read back as this float.

    NumPy's text is this decimal number, but takes 20 times as long as the arithmetic for most float32 values: a decimal
    of 6 digits is tried first, which no float32 changes, and then more digits. Within the bounds, the powers of ten and
    all products are exact in float64, so `rint` finds the nearest decimal and the quotient is correctly rounded.
    """
    if elements.itemsize == 8:
        return elements
    with np.errstate(invalid="ignore"):  # of signalling NaNs
        floats = elements.astype(np.float32) if elements.dtype.kind == "V" or elements.itemsize == 1 else elements
        exact = floats.astype(np.float64)
    sizes, doubles = np.abs(exact), exact.copy()
    is_usual = (sizes >= 1e-4) & (sizes < 2**24) & (floats.dtype == np.float32)
    others, rest, digits = np.flatnonzero(~is_usual & (sizes != 0)), np.flatnonzero(is_usual), 6
    for start in range(0, len(others), CHUNK_ELEMENTS):
        checkpoint()
        some = others[start : start + CHUNK_ELEMENTS]
        doubles[some] = floats[some].astype("U32").astype(np.float64)
    while rest.size:
        scales = _POWERS_OF_TEN[np.maximum(digits - 1 - np.floor(np.log10(sizes[rest])).astype(int), 0)]
        doubles[rest] = decimals = np.rint(exact[rest] * scales) / scales
        rest = rest[decimals.astype(np.float32) != exact[rest]]
        digits += 1
    return doubles


def _dates(dates: Array) -> list[Any]:
    """Return each date as an ISO 8601 string.

    If reading the string back would give a different date, return the integer count of the unit instead.
    """
    unit = np.datetime_data(dates.dtype)
    texts, counts = np.datetime_as_string(dates).tolist(), dates.view(np.int64).tolist()
    return [
        text if (NAT if text == "NaT" else date_count(text, *unit)) == count else count
        for text, count in zip(texts, counts, strict=True)
    ]


def _exact_integer(value: int) -> int | str:
    return value if abs(value) <= MAX_EXACT_INTEGER else str(value)
