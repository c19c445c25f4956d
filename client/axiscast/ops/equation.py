"""The equations of einsum: the labels of the axes of each operand and of the result."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from ..plan.alignment import ShapeMismatch

ELLIPSIS = "..."
"""The label that stands for all axes without a letter in a term of the equation."""
MAX_EQUATION_CHARACTERS = 2**13
"""The maximum length of an equation, which is enough for 1,000 operands of rank 7."""
Labels = tuple[str, ...]

_TOKEN = re.compile(r"\.\.\.| +|.", re.DOTALL)


class ParsedEquation(NamedTuple):
    """The labels of each operand, and the labels of the result."""

    operands: tuple[Labels, ...]
    result: Labels


class OutputEllipsis(Enum):
    """The rule for whether the output must have an ellipsis if an operand has an ellipsis."""

    OPTIONAL = auto()
    """If the output has no ellipsis, the axes of the ellipsis are summed."""
    FOR_AXES = auto()
    """The output needs an ellipsis if the ellipsis of an operand stands for at least one axis."""
    REQUIRED = auto()


@dataclass(frozen=True)
class Dialect:
    """The differences between frameworks in the equations that they accept."""

    letters_only: bool = True
    """Whether a label must be a letter from A to Z or a to z. If not, any other character can be a label too."""
    splits_symbols: bool = True
    """Whether spaces may separate the characters of `->` and `...`."""
    ignores_case: bool = False
    """Whether an uppercase letter and its lowercase form, such as A and a, are the same label."""
    repeats_output: bool = False
    """Whether a letter or `...` may occur twice in the output. The result is then 0 outside the diagonal."""
    repeats_empty_ellipsis: bool = False
    """Whether `...` may occur twice in the output if it stands for no axes."""
    implies_shared_ellipsis: bool = True
    """Whether an omitted output includes an ellipsis if several operands have an ellipsis."""


@lru_cache(256)
def parse_equation(text: str, dialect: Dialect) -> ParsedEquation:
    """Return the labels in an equation. Without `->`, the output consists of all letters that occur once, sorted.

    Raises ShapeMismatch (invalid-attribute) if a framework with this dialect refuses the equation.
    """
    equation = split_equation(text, dialect)
    check_result(text, equation, dialect.repeats_output)
    return equation


def split_equation(text: str, dialect: Dialect) -> ParsedEquation:
    """Return the labels in an equation, as `parse_equation` does, but without checking the letters of the output."""
    folded = text.lower() if dialect.ignores_case else text
    left, *right = (folded.replace(" ", "") if dialect.splits_symbols else folded).split("->")
    if len(right) > 1:
        raise invalid_equation("second-arrow", "equation", text)
    operands = tuple([_labels(part, text, dialect) for part in left.split(",")])
    if not right:
        return ParsedEquation(operands, _implicit_result(operands, dialect))
    return equation_of(operands, _labels(right[0], text, dialect, is_output=True))


def equation_of(operands: tuple[Labels, ...], result: Labels) -> ParsedEquation:
    """Return the parsed equation for the labels of the operands and of the result.

    If no operand has an ellipsis, the ellipsis of the result stands for no axes and is removed.
    """
    if any(ELLIPSIS in labels for labels in operands):
        return ParsedEquation(operands, result)
    return ParsedEquation(operands, tuple(label for label in result if label != ELLIPSIS))


def check_result(
    text: str, equation: ParsedEquation, may_repeat: bool = False, word: str = "letter", what: str = "equation"
) -> None:
    """Raise ShapeMismatch if the result has an unknown label, or repeats a label that must not repeat."""
    known = set(chain.from_iterable(equation.operands))
    for label in equation.result:
        if label not in known:
            raise invalid_equation("unknown-label", what, text, word, label)
    named = (label for label in equation.result if label != ELLIPSIS)
    if not may_repeat and (repeated := _first_repeated(named)) is not None:
        raise invalid_equation("repeated-label", what, text, word, repeated)


def _labels(part: str, text: str, dialect: Dialect, is_output: bool = False) -> Labels:
    """Return the labels of an operand or of the output."""
    if part.isalpha() and part.isascii():  # most operands have neither spaces nor an ellipsis
        return tuple(part)
    labels = [token for token in _TOKEN.findall(part) if not token.startswith(" ")]
    may_repeat = is_output and (dialect.repeats_output or dialect.repeats_empty_ellipsis)
    if labels.count(ELLIPSIS) > 1 and not may_repeat:
        raise invalid_equation("output-ellipses" if is_output else "operand-ellipses", "equation", text)
    for label in labels:
        if label == ELLIPSIS or (label.isascii() and label.isalpha()):
            continue
        if dialect.letters_only or label in ".,->":
            allowed = "letters" if dialect.letters_only else "characters"
            raise invalid_equation(f"not-{allowed}", "equation", text, label)
    return tuple(labels)


def _implicit_result(operands: tuple[Labels, ...], dialect: Dialect) -> Labels:
    counts: dict[str, int] = {}
    for label in chain.from_iterable(operands):
        counts[label] = counts.get(label, 0) + 1
    shared = counts.pop(ELLIPSIS, 0)
    has_ellipsis = shared == 1 or (shared > 1 and dialect.implies_shared_ellipsis)
    return ((ELLIPSIS,) if has_ellipsis else ()) + tuple(sorted(label for label, count in counts.items() if count == 1))


def _first_repeated(labels: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            return label
        seen.add(label)
    return None


def invalid_equation(reason: str, *facts: Any) -> ShapeMismatch:
    """Return the conflict for an equation, a pattern or another attribute that a framework refuses."""
    return ShapeMismatch("invalid-attribute", reason, *facts)
