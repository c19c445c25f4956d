"""Shapes: how a list of sizes is typed, read from text and written for people."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from operator import index
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, FailFast, Field
from pydantic_core import PydanticCustomError

MAX_SIZE = 2**63 - 1  # what an int64 shape can say


def as_int(value: Any) -> int:
    """An integer, NumPy's included; a bool or a float is no integer (law P1)."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise PydanticCustomError("not_an_integer", "must be an integer, not {found}", {"found": json_type_name(value)})
    return index(value)


def as_list(value: Any) -> Any:
    """A list of what an ordered or unordered collection holds; a string or a number is none."""
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
"""An attribute that scales values and changes no shape: a finite number."""


def _distinct(values: list[Any]) -> list[int]:
    """The integers of a list, each once, ascending."""
    return [value for value, _ in groupby(sorted(map(as_int, values)))]


def json_type_name(value: Any) -> str:
    """What JSON would call a value, for messages; never the value itself."""
    if value is None:
        return "null"
    kinds: dict[type, str] = {bool: "a boolean", int: "an integer", float: "a float", str: "a string"}
    kinds |= {bytes: "binary data", memoryview: "binary data", list: "a list", tuple: "a list", dict: "a map"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def limit_names(value: Any) -> Any:
    """A map that is not too large to be validated: every fault in it would be held."""
    if isinstance(value, dict) and len(value) > MAX_ASSUMED_NAMES:
        facts = {"count": len(value), "most": MAX_ASSUMED_NAMES}
        raise PydanticCustomError("too_many_names", "names {count} sizes; {most} are the most", facts)
    return value


MAX_ASSUMED_NAMES = 1000


class StopAtFirstError(FailFast):
    """Validation of a list ends with its first fault: a million faults would each be held to report one."""

    __hash__ = object.__hash__  # unlike its base, it may stand in a union


def one_or_list_of(item: Any, *kinds: type) -> Any:
    """The type of a tuple of such items, for which one value of these kinds may be written without a list."""
    read = BeforeValidator(
        lambda value: [value] if isinstance(value, kinds) else as_list(value),
        json_schema_input_type=tuple[item, ...] | item,
    )
    return Annotated[tuple[item, ...], StopAtFirstError(), read]


Integer = Annotated[int, Field(ge=-(2**63), le=MAX_SIZE), BeforeValidator(as_int)]
SizeField = Annotated[int, Field(ge=0, le=MAX_SIZE), BeforeValidator(as_int)]
ShapeField = Annotated[tuple[SizeField, ...], StopAtFirstError(), BeforeValidator(as_list)]
"""A shape as a tensor has it: sizes from 0 to 2^63-1; () is a scalar."""

if TYPE_CHECKING:
    # What an op's constructor takes. What the op holds is always a tuple.
    Integers = Sequence[int]
    AxisSet = Collection[int]
    IntegerOrIntegers = int | Sequence[int]
else:
    Integers = Annotated[tuple[Integer, ...], StopAtFirstError(), BeforeValidator(as_list)]
    """A shape, or a list of axes, as an attribute may say it: negative numbers mean what the op says."""
    AxisSet = Annotated[
        tuple[Integer, ...], StopAtFirstError(), BeforeValidator(lambda value: _distinct(as_list(value)))
    ]
    """A set of axes: order and repeats are ignored."""
    IntegerOrIntegers = one_or_list_of(Integer, int)
    """One integer, or a list of them."""

MAX_SHAPE_CHARACTERS = 2000
"""Characters of a shape as text: 64 sizes of 20 digits, with room."""
_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_BRACKETS = re.compile(rf"(?:{_NAME} ?[:=] ?)?(?:{_NAME} ?)?(?:\((.*)\)|\[(.*)\])")
_TIMES = re.compile(r"(?<=[0-9]) ?x ?(?=-?[0-9])|([A-Za-z_][A-Za-z0-9_]*)")
"""An x between two sizes, or a name, which may hold one."""
_COMMA = re.compile(r" ?[,\u00d7] ?")
_BY = re.compile(r" ?\u00d7 ?| x | ")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_SYMBOL = re.compile(r"\?|[A-Za-z_][A-Za-z0-9_]*|[0-9]+\.\.[0-9]*")


def parse_shape(text: str) -> list[int | str]:
    """The sizes written as ``8,1,6,1``, ``8x1x6x1`` (with the sign too), ``8 1 6 1``, ``(8, 1)``, ``[8, 1]``, or as a
    program prints them: ``torch.Size([8, 1])``, ``x.shape: (8, 1)``, ``f32[8,1]``. Symbols, as in ``8,N,?,2..4``;
    ``None`` and ``null`` are ``?``.

    The empty string, ``()`` and ``[]`` are a scalar. Raises ValueError, with what would be right. The page reads the
    same (sizesOf in question.js).
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
        raise ValueError("write a shape as 8,1,6,1 or 8x1x6x1, a scalar as (), and sizes not known as N,?,2..8")
    return [int(part) if _INTEGER.fullmatch(part) else part for part in parts]


def shorten(values: Sequence[object]) -> str:
    """A list for a message, its middle left out where it is long."""
    listed = list(values)
    if len(listed) <= _BRIEF:
        return str(listed)
    return f"[{', '.join(map(str, listed[: _BRIEF - 1]))}, ..., {listed[-1]}]"


def format_shape(shape: Iterable[object]) -> str:
    """A shape as Python writes a tuple: ``(8, 1, 6)``, ``(3,)``, ``()``; its middle left out where it is long."""
    sizes = tuple(shape)
    if len(sizes) > _BRIEF:
        sizes = (*sizes[: _BRIEF - 1], "...", sizes[-1])
    return _TEXTS[len(sizes)] % sizes


_BRIEF = 70
"""Entries that a message lists: every shape that is answered has fewer axes."""
_TEXTS = ["()", "(%s,)", *(f"({', '.join(['%s'] * rank)})" for rank in range(2, _BRIEF + 2))]
"""For each rank what becomes its text: answers are full of them, and this is the quick way."""
