"""The class that replaces size expressions by names in check requests."""

from __future__ import annotations

from ..wire.wording import printable
from .size_expressions import as_name

_MAX_SHOWN_LETTERS = 80


class SizeNames:
    """The names that replace size expressions. Two expressions have the same name only if they are equal."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self.expressions: dict[str, str] = {}
        """The expressions to show in messages, keyed by name, if the name differs from the expression."""

    def name_of(self, expression: str) -> str:
        """Return the name for a size expression. The name is a valid identifier."""
        if expression not in self._names:
            name = identifier = as_name(expression)
            number = 1
            while name in self._taken:
                number += 1
                name = f"{identifier}_{number}"
            self._taken.add(name)
            self._names[expression] = name
            if name != expression and len(expression) <= _MAX_SHOWN_LETTERS:
                self.expressions[name] = printable(expression)
        return self._names[expression]
