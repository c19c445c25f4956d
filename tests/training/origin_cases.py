"""The cases of functions with an outer product of equal sizes, in accidental_products.py and intended_products.py."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

N = 8
Shape = tuple[int, ...]
Function = Callable[..., Any]


class Case(NamedTuple):
    """A function, the shapes of its inputs, and whether its outer product is reported."""

    function: Function
    shapes: tuple[Shape, ...]
    is_reported: bool


CASES: dict[str, Case] = {}


def bug(*shapes: Shape) -> Callable[[Function], Function]:
    return _added(shapes, True)


def right(*shapes: Shape) -> Callable[[Function], Function]:
    return _added(shapes, False)


def false_alarm(*shapes: Shape) -> Callable[[Function], Function]:
    """Add a function that means its outer product, but has the form of an accident."""
    return _added(shapes, True)


def _added(shapes: tuple[Shape, ...], is_reported: bool) -> Callable[[Function], Function]:
    def add(function: Any) -> Function:
        code = function.__code__.replace(co_name="forward")  # torch.export records lines of such functions only
        CASES[function.__name__] = Case(FunctionType(code, function.__globals__), shapes, is_reported)
        return CASES[function.__name__].function

    return add
