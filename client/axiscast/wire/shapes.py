"""The types of shape fields, and the conversion between shapes and strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, MappingView, Sequence, Set
from itertools import groupby
from operator import index
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, FailFast, Field
from pydantic_core import PydanticCustomError

MAX_SIZE = 2**63 - 1
"""The largest valid size, which is also the largest int64."""


def as_int(value: Any) -> int:
    """Return a Python or NumPy integer as an int. A bool or a float is not an integer (law P1 in plan/plan.py)."""
    if type(value) is int:
        return value
    is_bool = type(value).__name__ in ("bool", "bool_")  # older NumPy releases read a NumPy bool as an integer
    if is_bool or not hasattr(type(value), "__index__"):
        raise PydanticCustomError("not_an_integer", "must be an integer, not {found}", {"found": json_type_name(value)})
    return index(value)


def as_list(value: Any) -> Any:
    """Return the items of a sequence or a NumPy array as a list.

    Strings, numbers and collections without an order are refused.
    """
    if isinstance(value, (list, tuple, range)):
        return list(value)
    if hasattr(type(value), "tolist") and getattr(value, "ndim", None):  # a NumPy array
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return list(value)
    facts = {"found": json_type_name(value)}
    raise PydanticCustomError("not_a_list", "must be a list of integers such as [2, 3], not {found}", facts)


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""The type of an attribute that scales values without changing any shape: a finite number."""


def is_unordered(value: Any) -> bool:
    """Return whether a value is a set, or a view of the keys, values or items of a map."""
    return isinstance(value, (Set, MappingView))


def in_order(value: Any) -> Any:
    """Return a value unchanged, unless it is a collection without an order. pydantic would accept it as a list."""
    if not isinstance(value, (list, tuple)) and is_unordered(value):
        raise PydanticCustomError("not_a_list", "must be a list, not {found}", {"found": json_type_name(value)})
    return value


def is_one_integer(value: Any) -> bool:
    """Return whether a value is a single integer: a Python or NumPy integer, but not an array with axes."""
    return hasattr(type(value), "__index__") and not getattr(value, "ndim", 0)


def _distinct(values: Any) -> list[int]:
    """Return the distinct integers in a sequence or a set, in ascending order."""
    listed = values if isinstance(values, Set) else as_list(values)
    return [value for value, _ in groupby(sorted(map(as_int, listed)))]


def json_type_name(value: Any) -> str:
    """Return the JSON name for the type of a value, such as "a list"."""
    if value is None:
        return "null"
    kinds: dict[type, str] = {bool: "a boolean", int: "an integer", float: "a float", str: "a string"}
    kinds |= {bytes: "binary data", memoryview: "binary data", list: "a list", tuple: "a list", dict: "a map"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def limit_names(value: Any) -> Any:
    """Return a map unchanged if it has at most MAX_ASSUMED_NAMES names. Otherwise, raise an error.

    Without this limit, validation would store one error per name.
    """
    if isinstance(value, dict) and len(value) > MAX_ASSUMED_NAMES:
        facts = {"count": len(value), "limit": MAX_ASSUMED_NAMES}
        raise PydanticCustomError("too_many_names", "names {count} sizes: name at most {limit}", facts)
    return value


MAX_ASSUMED_NAMES = 1000
"""The maximum number of names in `assume`."""


class StopAtFirstError(FailFast):
    """A marker that stops the validation of a list at its first error.

    By default, pydantic stores one error for each invalid item.
    """

    __hash__ = object.__hash__  # a union requires a hashable annotation, and the base class is not hashable


def one_or_list_of(item: Any, one: Any, is_one: Callable[[Any], bool]) -> Any:
    """Return the annotation for a field that holds a tuple of items.

    A single value for which `is_one` returns True is read as a list with one item. `one` is the type of this value in
    the JSON Schema.
    """
    read = BeforeValidator(
        lambda value: [value] if is_one(value) else as_list(value), json_schema_input_type=tuple[item, ...] | one
    )
    return Annotated[tuple[item, ...], StopAtFirstError(), read]


Integer = Annotated[int, Field(ge=-(2**63), le=MAX_SIZE), BeforeValidator(as_int)]
SizeField = Annotated[int, Field(ge=0, le=MAX_SIZE), BeforeValidator(as_int)]
ShapeField = Annotated[tuple[SizeField, ...], StopAtFirstError(), BeforeValidator(as_list)]
"""The type of a tensor shape. Each size is from 0 to 2^63-1, and () is the shape of a scalar."""

if TYPE_CHECKING:
    # An op's constructor accepts any sequence, and the op stores a tuple.
    Integers = Sequence[int]
    AxisSet = Collection[int]
    IntegerOrIntegers = int | Sequence[int]
else:
    Integers = Annotated[tuple[Integer, ...], StopAtFirstError(), BeforeValidator(as_list)]
    """A shape or a list of axes as an attribute. The op defines the meaning of negative numbers."""
    AxisSet = Annotated[tuple[Integer, ...], StopAtFirstError(), BeforeValidator(_distinct)]
    """A set of axes. Order and repetitions are ignored."""
    IntegerOrIntegers = one_or_list_of(Integer, Integer, is_one_integer)
    """An integer or a list of integers."""

MAX_SHAPE_CHARACTERS = 2000
"""The maximum length of a shape string in characters. 64 sizes of 20 digits are shorter."""
_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_BRACKETS = re.compile(rf"(?:{_NAME} ?[:=] ?)?(?:{_NAME} ?)?(?:\((.*)\)|\[(.*)\])")
_TIMES = re.compile(r"(?<=[0-9]) ?x ?(?=-?[0-9])|([A-Za-z_][A-Za-z0-9_]*)")
"""Matches a name, or an "x" between two sizes. Names are matched because a name may contain an "x"."""
_COMMA = re.compile(r" ?[,\u00d7] ?")
_BY = re.compile(r" ?\u00d7 ?| x | ")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_SYMBOL = re.compile(r"\?|[A-Za-z_][A-Za-z0-9_]*|[0-9]+\.\.[0-9]*")


def parse_shape(text: str) -> list[int | str]:
    """Return the sizes in a shape string.

    The following notations are accepted: ``8,1,6,1``, ``8x1x6x1`` (also with the multiplication sign), ``8 1 6 1``,
    ``(8, 1)`` and ``[8, 1]``. Output that programs print is also accepted, such as ``torch.Size([8, 1])``, ``x.shape:
    (8, 1)`` and ``f32[8,1]``. Sizes may be symbols, as in ``8,N,?,2..4``. ``None`` and ``null`` become ``?``. The empty
    string, ``()`` and ``[]`` mean a scalar. Raises ValueError for any other string. The web page accepts the same
    notations (sizesOf in question.js).
    """
    if len(text) > MAX_SHAPE_CHARACTERS:
        raise ValueError(f"a shape can have at most {MAX_SHAPE_CHARACTERS} characters")
    body = " ".join(text.split())
    for _ in range(2):  # the second pass removes inner brackets, as in torch.Size([8, 1])
        if brackets := _BRACKETS.fullmatch(body):
            body = (brackets[1] or brackets[2] or "").strip()
    if not body:
        return []
    body = _TIMES.sub(lambda found: found[1] or "\u00d7", body.removesuffix(",").rstrip())
    parts = ["?" if part in ("None", "null") else part for part in (_COMMA if "," in body else _BY).split(body)]
    if not all(_INTEGER.fullmatch(part) or _SYMBOL.fullmatch(part) for part in parts):
        raise ValueError("write a shape as 8,1,6,1 or 8x1x6x1, a scalar as (), and unknown sizes as N, ? or 2..8")
    return [int(part) if _INTEGER.fullmatch(part) else part for part in parts]


def shorten(values: Sequence[object]) -> str:
    """Return a list as a string for a message. The middle of a long list is omitted."""
    listed = list(values)
    if len(listed) <= _MAX_ENTRIES:
        return str(listed)
    return f"[{', '.join(map(str, listed[: _MAX_ENTRIES - 1]))}, ..., {listed[-1]}]"


def format_shape(shape: Iterable[object]) -> str:
    """Return a shape as a string in Python's tuple notation: ``(8, 1, 6)``, ``(3,)``, ``()``.

    The middle of a long shape is omitted.
    """
    sizes = tuple(shape)
    if len(sizes) > _MAX_ENTRIES:
        sizes = (*sizes[: _MAX_ENTRIES - 1], "...", sizes[-1])
    return _TEXTS[len(sizes)] % sizes


_MAX_ENTRIES = 70
"""The maximum number of entries that a message lists. All valid shapes have fewer axes."""
_TEXTS = ["()", "(%s,)", *(f"({', '.join(['%s'] * rank)})" for rank in range(2, _MAX_ENTRIES + 2))]
"""The format string for a shape, indexed by rank. Formatting must be fast because responses contain many shapes."""
