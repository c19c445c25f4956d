"""Broadcasting bugs from upstream issues, and correct code, as evidence for the rule of intended pairs.

Each is a function of arrays. `@bug` and `@right` name its source and the shapes of its arguments: "n 1" is (n, 1),
a letter is a size, the same letter the same size, and "n:int" gives integers. In a bug the line that ends in "# bug"
is the one that broadcasts by mistake. The code is written for this project after the description of each source.

A case belongs to the half "choose" or "report" by a hash of its name. The rule was chosen on the former.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from inspect import getsourcelines
from typing import Any, Literal, NamedTuple

SIZES = {"n": 6, "b": 4, "t": 5, "d": 3, "h": 7, "w": 9, "c": 2, "s": 8}
"""The size of each letter. All differ, so that only sizes that must be equal are equal."""


class Case(NamedTuple):
    """A function with the shapes of its arguments and its source."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[str, ...], ...]
    """The sizes of each argument, as letters and numbers."""
    types: tuple[str, ...]
    """The type of each argument: "float", "int" or "bool"."""
    source: str
    is_bug: bool

    @property
    def half(self) -> Literal["choose", "report"]:
        return "report" if sha256(self.name.encode()).digest()[0] & 1 else "choose"

    @property
    def file(self) -> str:
        return self.function.__code__.co_filename

    @property
    def lines(self) -> set[int]:
        """Return the lines that are marked as the bug."""
        source, first = getsourcelines(self.function)
        return {first + number for number, line in enumerate(source) if line.rstrip().endswith("# bug")}

    @property
    def arguments(self) -> Iterator[tuple[tuple[int, ...], str]]:
        """Return the shape and the type of each argument."""
        for sizes, kind in zip(self.shapes, self.types, strict=True):
            yield tuple(int(size) if size.isdigit() else SIZES[size] for size in sizes), kind


def _case(source: str, is_bug: bool, cases: list[Case], arguments: tuple[str, ...]) -> Callable[[Any], Any]:
    parts = [argument.partition(":") for argument in arguments]

    def keep(function: Any) -> Any:
        shapes = tuple(tuple(shape.split()) for shape, _, _ in parts)
        types = tuple(kind or "float" for _, _, kind in parts)
        cases.append(Case(function.__name__, function, shapes, types, source, is_bug))
        return function

    return keep


def bug(cases: list[Case], source: str, *arguments: str) -> Callable[[Any], Any]:
    """Add a function with a bug to the cases."""
    return _case(source, True, cases, arguments)


def right(cases: list[Case], source: str, *arguments: str) -> Callable[[Any], Any]:
    """Add a correct function to the cases."""
    return _case(source, False, cases, arguments)
