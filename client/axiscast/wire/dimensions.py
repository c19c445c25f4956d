"""The dimensions in check requests: integers, and symbols that stand for unknown sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, PlainValidator, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, PydanticKnownError

from .shapes import MAX_SIZE, StopAtFirstError, as_int, as_list, is_one_integer, one_or_list_of

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RANGE = re.compile(r"([0-9]{1,19})\.\.([0-9]{1,19})?")
_PATTERN = rf"^(\?|{_NAME.pattern}|[0-9]+\.\.[0-9]*)$"


class Symbol(str):
    """An unknown size, written as ``?``, as a range such as ``1..8`` or ``2..``, or as a name.

    Symbols with the same name stand for the same size. Every other symbol is a separate unknown size, so these symbols
    are compared by identity. Raises ValueError for any other string.
    """

    __slots__ = ("high", "low", "name")
    low: int
    high: int
    """The largest possible size. If the range has no upper end, the value is MAX_SIZE."""
    name: str | None

    def __new__(cls, text: str) -> Symbol:
        symbol = super().__new__(cls, text)
        symbol.low, symbol.high, symbol.name = 0, MAX_SIZE, None
        if span := _RANGE.fullmatch(text):
            symbol.low, symbol.high = int(span[1]), int(span[2] or MAX_SIZE)
            if not symbol.low <= symbol.high <= MAX_SIZE:
                raise ValueError(
                    f"the range {text} must go from a smaller to a larger size, and sizes are at most 2^63-1"
                )
        elif _NAME.fullmatch(text) and len(text) <= 100:
            symbol.name = text
        elif text != "?":
            raise ValueError('must be an integer, a name such as "N", a range such as "1..8" or "2..", or "?"')
        return symbol

    def __floordiv__(self, divisor: int) -> Symbol | Quotient:
        return self if divisor == 1 else Quotient(self, divisor)


@dataclass(frozen=True, slots=True)
class Quotient:
    """An unknown size divided by an integer, which is the size of one part if an op splits an axis."""

    whole: Symbol
    divisor: int

    def __str__(self) -> str:
        return f"({self.whole})/{self.divisor}" if ".." in self.whole else f"{self.whole}/{self.divisor}"


def as_dimension(value: Any) -> int | Symbol:
    """Return a size as an integer or a Symbol. None becomes ``?`` because Keras uses None for an unknown size."""
    if type(value) is int and 0 <= value <= MAX_SIZE:
        return value
    return _bounded(value, 0)


def _bounded(value: Any, lowest: int) -> int | Symbol:
    if value is None:
        return Symbol("?")
    if isinstance(value, str):
        try:
            return Symbol(value)
        except ValueError as error:
            raise PydanticCustomError("not_a_size", "{reason}", {"reason": str(error)}) from None
    size = as_int(value)
    if size < lowest:
        raise PydanticKnownError("greater_than_equal", {"ge": lowest})
    if size > MAX_SIZE:
        raise PydanticKnownError("less_than_equal", {"le": MAX_SIZE})
    return size


def _is_one_size(value: Any) -> bool:
    """Return whether a value is a single size: an integer, or a string that is a symbol."""
    if not isinstance(value, str):
        return is_one_integer(value)
    try:
        return bool(Symbol(value))
    except ValueError:
        return False


def _schemas(lowest: int) -> list[JsonSchemaValue]:
    """Return the JSON Schemas of an integer and of a symbol."""
    integer = {"type": "integer", "minimum": lowest, "maximum": MAX_SIZE}
    symbol = {"type": "string", "pattern": _PATTERN, "description": "Not for tensors: a name, a range such as 2.. or ?"}
    return [integer, symbol]


def _schema(lowest: int) -> WithJsonSchema:
    unknown = {"type": "null", "description": "Not for tensors: the same as ?"}
    return WithJsonSchema({"anyOf": [*_schemas(lowest), unknown]})


Dimension = Annotated[Any, PlainValidator(as_dimension), _schema(0)]
DimensionShape = Annotated[tuple[Dimension, ...], StopAtFirstError(), BeforeValidator(as_list)]
"""The type of an input shape in a check request. A dimension is an integer or a symbol."""

if TYPE_CHECKING:
    # An op's constructor accepts any sequence, and the op stores a tuple.
    Dimensions = Sequence[Any]
    DimensionOrDimensions = int | str | Sequence[Any]
else:
    _Attribute = Annotated[Any, PlainValidator(lambda value: _bounded(value, -(2**63))), _schema(-(2**63))]
    Dimensions = Annotated[tuple[_Attribute, ...], StopAtFirstError(), BeforeValidator(as_list)]
    """A shape as an attribute. The op defines the meaning of negative sizes; only a check accepts symbols."""
    DimensionOrDimensions = one_or_list_of(
        _Attribute, Annotated[Any, WithJsonSchema({"anyOf": _schemas(-(2**63))})], _is_one_size
    )
    """A size or a list of sizes."""
