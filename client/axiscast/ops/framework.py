"""What the ops of one framework share: their place in the catalogue, their release, the words of a snippet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Language:
    """How a snippet's language writes a comment, a value and a shape."""

    name: str
    """As an answer's `code.language` says it."""
    comment: str
    """What begins a comment that ends with its line."""
    value: Callable[[Any], str]
    """An attribute of an op as source text."""
    shape: Callable[[Sequence[int]], str] | None = None
    """A tensor's shape as source text, where it is not written as an attribute is."""


@dataclass(frozen=True)
class Framework:
    """What the ops of one framework share. The texts are templates of one step each: answers/snippets.py says which
    fields they may have."""

    order: int
    """Its place in the catalogue: frameworks stand there by ascending order, then by name."""
    reference: tuple[str, str]
    """The package and the version that the rules were held against."""
    language: Language
    preamble: str
    """What comes before the first step."""
    transpose: str
    """Empty where an op of the framework places any axis anywhere, so that none is moved before or after it."""
    reshape: str
    empty_preamble: str = ""
    """What follows `preamble` where a tensor is a scalar or has a size 0."""
    empty_reshape: str | None = None
    """A reshape from or to such a shape, where it has words of its own."""
    executed: str | None = None
    """The release on which every template was run and gave the same bytes; None: they were only read."""


def _python(value: Any) -> str:
    """A Python literal; of a map, keyword arguments that follow others."""
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
