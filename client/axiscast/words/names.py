"""The names by which sentences call the inputs of a request."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from ..plan.alignment import Input, Target
from ..wire.shapes import format_shape

_PRIMARIES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
"""The expressions to which code such as `.squeeze(-1)` can be appended without parentheses."""


class Names(NamedTuple):
    """The source code of the inputs and of the target, or empty strings if the reader's code is unknown."""

    inputs: Sequence[str] = ()
    target: str = ""

    def input(self, number: int) -> str:
        """Return the name of an input in a sentence.

        >>> Names(["bias"]).input(0), Names().input(0)
        ('bias', 'input 0')
        """
        return self._given(number) or f"input {number}"

    def code(self, number: int, unknown: str = "x") -> str:
        """Return the name of an input in code, or `unknown`. An index or a method call can be appended.

        >>> Names(["a + b"]).code(0), Names().code(0)
        ('(a + b)', 'x')
        """
        code = self._given(number)
        return as_primary(code) if code else unknown

    def owner(self, owner: Input | Target, begins_sentence: bool = False) -> str:
        """Return the name and the shape of an input or a target."""
        if isinstance(owner, Input):
            unnamed = f"{'I' if begins_sentence else 'i'}nput {owner.number}"
            return f"{self._given(owner.number) or unnamed} of shape {format_shape(owner.shape)}"
        if owner.shape is None:
            return "the op's attribute"
        return f"{self.target or 'the target'} {format_shape(owner.shape)}"

    def _given(self, number: int) -> str:
        return self.inputs[number] if number < len(self.inputs) else ""


UNNAMED = Names()
"""The names if nothing is known about the reader's code: input 0, input 1 and so on."""


def as_primary(code: str) -> str:
    """Return code in parentheses, unless an index or a method call can be appended to it as it is.

    >>> as_primary("np.ones((3, 4)).T[0]"), as_primary("a + b")
    ('np.ones((3, 4)).T[0]', '(a + b)')
    """
    try:
        node = ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"({code})" if code else ""
    return code if isinstance(node, _PRIMARIES) else f"({code})"


def capitalized(text: str) -> str:
    """Return a clause that begins a sentence."""
    return text[:1].upper() + text[1:]
