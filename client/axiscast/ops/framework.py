"""What the ops of one framework have in common: catalogue position, tested release and snippet templates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Language:
    """The language of snippets: how it writes a comment, a value and a shape."""

    name: str
    """The value of `code.language` in responses."""
    comment: str
    """The characters that begin a line comment."""
    value: Callable[[Any], str]
    """Returns an attribute of an op as source code."""
    shape: Callable[[Sequence[int]], str] | None = None
    """Returns the shape of a tensor as source code, or None if `value` does it."""


@dataclass(frozen=True)
class Framework:
    """What the ops of one framework have in common.

    `transpose`, `reshape` and `empty_reshape` are templates of one step. answers/snippets.py lists their fields.
    """

    order: int
    """The position in the catalogue, which sorts frameworks by this number and then by name."""
    reference: tuple[str, str]
    """The package and the version against which the rules were tested."""
    language: Language
    preamble: str
    """The source code before the first step, such as imports."""
    transpose: str
    """The template of a transposition. It is empty if an op of the framework can itself reorder axes."""
    reshape: str
    empty_preamble: str = ""
    """The source code after `preamble` if a tensor is a scalar or has a size 0."""
    empty_reshape: str | None = None
    """The template of a reshape from or to a scalar or a shape with a size 0, if it differs from `reshape`."""
    executed: str | None = None
    """The release with which every template was executed and gave the right bytes, or None if none was executed."""


def _python(value: Any) -> str:
    """Return a Python literal, or for a dict the keyword arguments that follow other arguments."""
    if isinstance(value, dict):
        return "".join(f", {name}={item}" for name, item in value.items())
    return repr(value)


PYTHON = Language("python", "#", _python)
CPP = Language("c++", "//", lambda value: f"{{{', '.join(map(str, value))}}}")
MLIR = Language(
    "mlir",
    "//",
    lambda value: f"[{', '.join(map(str, value))}]",
    lambda shape: f"tensor<{''.join(f'{size}x' for size in shape)}f32>",
)
