"""Shapes: types of shape fields, and shapes as text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from operator import index
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, FailFast, Field
from pydantic_core import PydanticCustomError

MAX_SIZE = 2**63 - 1
"""The largest size, which is the largest int64."""


def as_int(value: Any) -> int:
    """Return an integer of Python or NumPy as an int. A bool or a float is not an integer (law P1)."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise PydanticCustomError("not_an_integer", "must be an integer, not {found}", {"found": json_type_name(value)})
    return index(value)


def as_list(value: Any) -> Any:
    """Return the items of a sequence, a set or a NumPy array as a list. A string or a number is refused."""
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return list(value)
    if hasattr(type(value), "tolist") and hasattr(value, "ndim"):  # a NumPy array or scalar
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return list(value)
    raise PydanticCustomError(
        "not_a_list", "must be a list of integers such as [2, 3], not {found}", {"found": json_type_name(value)}
    )


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""The type of an attribute that scales values and changes no shape: a finite number."""


def _distinct(values: list[Any]) -> list[int]:
    """Return the distinct integers of a list in ascending order."""
    return [value for value, _ in groupby(sorted(map(as_int, values)))]


def json_type_name(value: Any) -> str:
    """Return the type of a value in the terms of JSON, such as "a list"."""
    if value is None:
        return "null"
    kinds: dict[type, str] = {bool: "a boolean", int: "an integer", float: "a float", str: "a string"}
    kinds |= {bytes: "binary data", memoryview: "binary data", list: "a list", tuple: "a list", dict: "a map"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def limit_names(value: Any) -> Any:
    """Return a map unchanged if it has at most MAX_ASSUMED_NAMES names. Validation keeps an error for each of them."""
    if isinstance(value, dict) and len(value) > MAX_ASSUMED_NAMES:
        facts = {"count": len(value), "limit": MAX_ASSUMED_NAMES}
        raise PydanticCustomError("too_many_names", "names {count} sizes: name at most {limit}", facts)
    return value


MAX_ASSUMED_NAMES = 1000
"""The largest number of names in `assume`."""


class StopAtFirstError(FailFast):
    """Stops the validation of a list at its first error. Otherwise, pydantic keeps an error for each invalid item."""

    __hash__ = object.__hash__  # the base class is not hashable, and a union needs it


def one_or_list_of(item: Any, *kinds: type) -> Any:
    """Return the type of a tuple of items. A single value of one of these types is read as a list with one item."""
    read = BeforeValidator(
        lambda value: [value] if isinstance(value, kinds) else as_list(value),
        json_schema_input_type=tuple[item, ...] | item,
    )
    return Annotated[tuple[item, ...], StopAtFirstError(), read]


Integer = Annotated[int, Field(ge=-(2**63), le=MAX_SIZE), BeforeValidator(as_int)]
SizeField = Annotated[int, Field(ge=0, le=MAX_SIZE), BeforeValidator(as_int)]
ShapeField = Annotated[tuple[SizeField, ...], StopAtFirstError(), BeforeValidator(as_list)]
"""The shape of a tensor: sizes from 0 to 2^63-1. () is a scalar."""

if TYPE_CHECKING:
    # The constructor of an op takes any sequence. The op stores a tuple.
    Integers = Sequence[int]
    AxisSet = Collection[int]
    IntegerOrIntegers = int | Sequence[int]
else:
    Integers = Annotated[tuple[Integer, ...], StopAtFirstError(), BeforeValidator(as_list)]
    """A shape or a list of axes as an attribute. The op defines the meaning of negative numbers."""
    AxisSet = Annotated[
        tuple[Integer, ...], StopAtFirstError(), BeforeValidator(lambda value: _distinct(as_list(value)))
    ]
    """A set of axes. Order and repetitions are ignored."""
    IntegerOrIntegers = one_or_list_of(Integer, int)
    """An integer or a list of integers."""

MAX_SHAPE_CHARACTERS = 2000
"""The largest length of a shape as text. 64 sizes of 20 digits have fewer characters."""
_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_BRACKETS = re.compile(rf"(?:{_NAME} ?[:=] ?)?(?:{_NAME} ?)?(?:\((.*)\)|\[(.*)\])")
_TIMES = re.compile(r"(?<=[0-9]) ?x ?(?=-?[0-9])|([A-Za-z_][A-Za-z0-9_]*)")
"""An x between two sizes, or a name, which may contain an x."""
_COMMA = re.compile(r" ?[,\u00d7] ?")
_BY = re.compile(r" ?\u00d7 ?| x | ")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_SYMBOL = re.compile(r"\?|[A-Za-z_][A-Za-z0-9_]*|[0-9]+\.\.[0-9]*")


def parse_shape(text: str) -> list[int | str]:
    """Return the sizes of a shape that is written as text.

    These are read: ``8,1,6,1``, ``8x1x6x1`` (also with the multiplication sign), ``8 1 6 1``, ``(8, 1)``, ``[8, 1]``,
    the output of programs such as ``torch.Size([8, 1])``, ``x.shape: (8, 1)`` and ``f32[8,1]``, and symbols as in
    ``8,N,?,2..4``. ``None`` and ``null`` become ``?``. The empty string, ``()`` and ``[]`` are a scalar. Raises
    ValueError for other texts. The page reads the same texts (sizesOf in question.js).
    """
    if len(text) > MAX_SHAPE_CHARACTERS:
        raise ValueError(f"a shape has at most {MAX_SHAPE_CHARACTERS} characters")
    body = " ".join(text.split())
    for _ in range(2):  # torch.Size([8, 1])
        if brackets := _BRACKETS.fullmatch(body):
            body = (brackets[1] or brackets[2] or "").strip()
    if not body:
        return []
    body = _TIMES.sub(lambda found: found[1] or "\u00d7", body.removesuffix(",").rstrip())
    parts = ["?" if part in ("None", "null") else part for part in (_COMMA if "," in body else _BY).split(body)]
    if not all(_INTEGER.fullmatch(part) or _SYMBOL.fullmatch(part) for part in parts):
        raise ValueError("write a shape as 8,1,6,1 or 8x1x6x1, a scalar as (), and unknown sizes as N,?,2..8")
    return [int(part) if _INTEGER.fullmatch(part) else part for part in parts]


def shorten(values: Sequence[object]) -> str:
    """Return a list as text for a message. The middle of a long list is omitted."""
    listed = list(values)
    if len(listed) <= _MAX_ENTRIES:
        return str(listed)
    return f"[{', '.join(map(str, listed[: _MAX_ENTRIES - 1]))}, ..., {listed[-1]}]"


def format_shape(shape: Iterable[object]) -> str:
    """Return a shape in the form of a Python tuple: ``(8, 1, 6)``, ``(3,)``, ``()``.

    The middle of a long shape is omitted.
    """
    sizes = tuple(shape)
    if len(sizes) > _MAX_ENTRIES:
        sizes = (*sizes[: _MAX_ENTRIES - 1], "...", sizes[-1])
    return _TEXTS[len(sizes)] % sizes


_MAX_ENTRIES = 70
"""The number of entries that a message lists. All valid shapes have fewer axes."""
_TEXTS = ["()", "(%s,)", *(f"({', '.join(['%s'] * rank)})" for rank in range(2, _MAX_ENTRIES + 2))]
"""For each rank, the format of a shape. Formatting with it is fast, and responses contain many shapes."""
