"""The names by which sentences call the inputs of a request."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from string import ascii_lowercase
from typing import NamedTuple

from ..plan.alignment import Input, Target
from ..wire.shapes import format_shape

_PRIMARIES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
"""The expressions to which code such as `.squeeze(-1)` can be appended without parentheses."""


class Names(NamedTuple):
    """The source code of the inputs and of the target, or empty strings if the reader's code is unknown."""

    inputs: Sequence[str] = ()
    target: str = ""

    def input(self, number: int, begins_sentence: bool = False) -> str:
        """Return the name of an input in a sentence.

        >>> Names(["bias"]).input(0), Names().input(0)
        ('bias', 'input 0')
        """
        return self._given(number) or f"{'I' if begins_sentence else 'i'}nput {number}"

    def code(self, number: int) -> str:
        """Return the name of an input in code, to which an index or a method call can be appended.

        >>> Names(["a + b"]).code(0), Names().code(1)
        ('(a + b)', 'b')
        """
        code = self._given(number)
        return as_primary(code) if code else input_letter(number)

    def array(self, number: int) -> str:
        """Return the name of an input in code that states its number if it has no name.

        >>> Names(["a + b"]).array(0), Names().array(1)
        ('(a + b)', 'inputs[1]')
        """
        code = self._given(number)
        return as_primary(code) if code else f"inputs[{number}]"

    def changed(self, number: int, suffix: str) -> str:
        """Return an input in code to which a suffix is appended. If it has no name, state which letter stands for it.

        >>> Names(["bias"]).changed(0, "[None]"), Names().changed(1, "[None]")
        ('`bias[None]`', 'input 1 as `b[None]`')
        """
        return f"{'' if self._given(number) else f'input {number} as '}`{self.code(number)}{suffix}`"

    def owner(self, owner: Input | Target, begins_sentence: bool = False) -> str:
        """Return the name and the shape of an input or a target."""
        if isinstance(owner, Input):
            return f"{self.input(owner.number, begins_sentence)} of shape {format_shape(owner.shape)}"
        return f"{self.target or 'the target'} {format_shape(owner.shape or ())}"

    def _given(self, number: int) -> str:
        return self.inputs[number] if number < len(self.inputs) else ""


def input_letter(number: int) -> str:
    """Return the letter that names an input in code: a, b, c and so on.

    >>> input_letter(1), input_letter(30)
    ('b', 'inputs[30]')
    """
    return ascii_lowercase[number] if number < len(ascii_lowercase) else f"inputs[{number}]"


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


def joined(texts: Sequence[str]) -> str:
    """Return texts separated by commas and "and".

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))
