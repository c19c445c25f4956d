"""The symbol table of a request. It gives the solver in plan/size_solver.py one variable per distinct size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...messages.conditions import Side
from ...wire.dimensions import Quotient, Symbol
from ...wire.shapes import MAX_SIZE

Size = int | Symbol


class SymbolTable:
    """The variables of a request. Each integer, each name and each unnamed symbolic size has a variable."""

    def __init__(self, assume: Mapping[str, Size], places: Mapping[int, Side]) -> None:
        self._assume = assume
        self._places = places
        self._numbers: dict[tuple[str, Any], int] = {}
        self.bounds: list[tuple[int, int]] = []
        self.names: list[str | None] = []
        self.sides: list[Side] = []
        """The integer, name or location that identifies each variable in a condition."""
        self.quotients: dict[int, tuple[int, int]] = {}
        """The dividend and the divisor of each variable that is a quotient. Clauses do not contain such variables."""
        self.of(1)

    def of(self, size: Size | Quotient) -> int:
        """Return the variable for a size. Equal integers have the same variable, and so do equal names."""
        if isinstance(size, Quotient):
            whole = self.of(size.whole), size.divisor
            number = self._numbered(("quotient", whole), 0, MAX_SIZE, str(size))
            self.quotients[number] = whole
            return number
        low, high, side = self._bounded(size)
        if low == high:
            return self._numbered(("integer", low), low, high, low)
        key = ("name", side) if isinstance(side, str) else ("place", id(size))
        return self._numbered(key, low, high, side)

    def _numbered(self, key: tuple[str, Any], low: int, high: int, side: Side) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.bounds)
            self.bounds.append((low, high))
            self.names.append(side if isinstance(side, str) else None)
            self.sides.append(side)
        return self._numbers[key]

    def _bounded(self, size: Size) -> tuple[int, int, Side]:
        """Return the least and the greatest value of a size, and the integer, name or location that identifies it."""
        if isinstance(size, int):
            return size, size, size
        if size.name is None:
            return size.low, size.high, self._places[id(size)]
        assumed = self._assume.get(size.name, size)
        if isinstance(assumed, int):
            return assumed, assumed, assumed
        return assumed.low, assumed.high, size.name

    def is_integer(self, number: int) -> bool:
        return isinstance(self.sides[number], int)
