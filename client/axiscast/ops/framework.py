"""The properties that all ops in one framework share: catalogue position, tested release and snippet templates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Language:
    """The programming language of snippets: its notation for comments, values and shapes."""

    name: str
    """The value of `code.language` in responses."""
    comment: str
    """The characters that begin a line comment."""
    value: Callable[[Any], str]
    """The function that returns an op's attribute as source code."""
    shape: Callable[[Sequence[int]], str] | None = None
    """The function that returns a tensor's shape as source code. None means that `value` formats shapes too."""


def _python(value: Any) -> str:
    """Return a value as a Python literal. For a dict, return keyword arguments that follow other arguments."""
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


class NamedSize(NamedTuple):
    """A size that code reads from a tensor when it runs, and the number that stands for it until then."""

    name: str
    number: int
    tensor: str | None
    """The name of the input that has this size, or None if only an attribute has it. Code then uses `name`."""
    axis: int


@dataclass(frozen=True, kw_only=True)
class Framework:
    """The properties that all ops in one framework share.

    `transpose`, `reshape`, `empty_reshape` and `calls` have templates for one step. translation/snippets.py lists their
    fields.
    """

    order: int
    """The position in the catalogue. Frameworks are sorted by this number, and then by name."""
    reference: tuple[str, str]
    """The package and the version against which the rules were tested."""
    link: str = ""
    """The URL of the documentation of an op that defines no `link`.

    `{name}` stands for the op's name, and `{function}` for the part after the last dot.
    """
    max_rank: int | None = None
    """The maximum rank of an op that defines no `max_rank`, or None if the framework has no limit."""
    language: Language = PYTHON
    preamble: str = ""
    """The source code before the first step, such as imports."""
    transpose: str = ""
    """The template for a transposition. It is empty if a broadcasting op in the framework can also reorder axes."""
    reshape: str = ""
    new_axis: str = "None"
    """The index that adds an axis to an array in Python, or an empty string if arrays have no indices."""
    has_array_methods: bool = True
    """Whether arrays have NumPy's methods squeeze and swapaxes."""
    empty_preamble: str = ""
    """The source code that follows `preamble` if a tensor is a scalar or has a size 0."""
    empty_reshape: str | None = None
    """The template for a reshape from or to a scalar or a shape with a size 0. None means that `reshape` is used."""
    calls: Mapping[str, str] = field(default_factory=dict)
    """The template for a call of a function that computes, keyed by the module of the function."""
    size: str | Callable[[str, Sequence[NamedSize]], str] | None = "{x}.shape[{axis}]"
    """The template for one size of the tensor `x`, which has the fields `axis` and `axis1`, the axis counted from 1.

    If code is a graph, this is a function that rewrites its sizes. None means that code needs integers.
    """
    executed: str | None = None
    """The release on which every template was executed and gave the correct bytes, or None if none was executed."""
