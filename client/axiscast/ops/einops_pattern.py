"""Parsing of einops patterns into groups of axis names, with generated names for axes of fixed length."""

import re
from functools import lru_cache

from ..wire.shapes import MAX_SIZE
from .equation import ParsedEquation, equation_of, invalid_equation

ELLIPSIS = "..."
"""The token for the unnamed axes of a pattern, if these axes stay separate."""
MERGED_ELLIPSIS = "(...)"
"""The token for the unnamed axes of a pattern, if parentheses merge these axes."""
NAMED_ELLIPSIS = "…"
"""The ellipsis character U+2026, which einops reads as the name of a single axis."""
Groups = tuple[tuple[str, ...], ...]
"""One side of a pattern: a group of names per axis. A 1 or () on the left is an empty group."""

_TOKEN = re.compile(r"[()]|[^ ()]+")


def fixed_length(name: str) -> int | None:
    """Return the fixed length in a name that `sides` returned: 3 for "3'1", the name of the second 3 in a pattern.

    For any other name, return None.
    """
    number = name.partition("'")[0]
    return int(number) if number.isdecimal() else None


@lru_cache(256)
def parse_pattern(pattern: str) -> tuple[Groups, Groups]:
    """Return the left side and the right side of a pattern. Raises ShapeMismatch if einops refuses the pattern."""
    parts = pattern.split("->")
    if len(parts) != 2:
        raise invalid_equation("pattern-arrows")
    return _groups(parts[0], is_left=True), _groups(parts[1], is_left=False)


def _groups(text: str, is_left: bool) -> Groups:
    groups: list[tuple[str, ...]] = []
    inside: list[str] | None = None
    seen: dict[str, int] = {}
    for token in _TOKEN.findall(text):
        if token == "(":
            if inside is not None:
                raise invalid_equation("nested-parentheses")
            inside = []
        elif token == ")":
            if inside is None:
                raise invalid_equation("unopened-parenthesis")
            groups.append(tuple(inside) if inside or is_left else (_unique("1", seen),))
            inside = None
        elif token.isdecimal() and int(token) == 1:
            if inside is None:
                groups.append(() if is_left else (_unique("1", seen),))
        else:
            name = _named(token, is_left, inside is not None, seen)
            if inside is None:
                groups.append((name,))
            else:
                inside.append(name)
    if inside is not None:
        raise invalid_equation("unclosed-parenthesis")
    return tuple(groups)


def _named(token: str, is_left: bool, is_inside: bool, seen: dict[str, int]) -> str:
    if token in (ELLIPSIS, NAMED_ELLIPSIS):
        if {ELLIPSIS, NAMED_ELLIPSIS} & seen.keys():
            raise invalid_equation("side-ellipses")
        seen[token] = 1
        if token == NAMED_ELLIPSIS:
            return token
        if is_left and is_inside:
            raise invalid_equation("merged-ellipsis")
        return MERGED_ELLIPSIS if is_inside else ELLIPSIS
    if token.isdecimal():
        if is_left or not 0 < int(token) <= MAX_SIZE:
            raise invalid_equation("number-as-axis", token)
        return _unique(str(int(token)), seen)
    if not is_name(token):
        raise invalid_equation("not-name", token)
    if token in seen:
        raise invalid_equation("side-name-twice", token)
    seen[token] = 1
    return token


def is_name(text: str) -> bool:
    """Return whether einops accepts a name.

    A name consists of letters and digits from any script, without combining marks. Underscores are allowed only inside
    a name.
    """
    letters = text.replace("_", "a")
    return text.isidentifier() and letters.isalnum() and not text.startswith("_") and not text.endswith("_")


def _unique(number: str, seen: dict[str, int]) -> str:
    """Return a unique name for an axis of fixed length.

    `seen` maps a length, as written, to the number of axes with this length on the same side of the pattern.
    """
    times = seen.get(number, 0)
    seen[number] = times + 1
    return f"{number}'{times}" if times else number


@lru_cache(256)
def split_einsum(pattern: str) -> ParsedEquation:
    """Return the names in a pattern for einops.einsum, such as "b i j, b j k -> b i k".

    Raises ShapeMismatch if einops refuses the names, but does not compare the names of both sides.
    """
    left, *right = pattern.split("->")
    if len(right) != 1:
        raise invalid_equation("einsum-arrows", "pattern", pattern)
    operands = tuple([_einsum_names(part, pattern, "operand-ellipses") for part in left.split(",")])
    return equation_of(operands, _einsum_names(right[0], pattern, "output-ellipses"))


def _einsum_names(part: str, pattern: str, repeated: str) -> tuple[str, ...]:
    names = tuple([name for name in part.split(" ") if name])
    if names.count(ELLIPSIS) > 1:
        raise invalid_equation(repeated, "pattern", pattern)
    for name in names:
        if name not in (ELLIPSIS, "_") and not is_name(name):
            raise invalid_equation("not-names", "pattern", pattern, name)
    return names


def expand_side(side: Groups, unnamed: tuple[str, ...]) -> Groups:
    """Return one side of a pattern, in which the names `unnamed` replace `...`."""
    groups: list[tuple[str, ...]] = []
    for group in side:
        if group == (ELLIPSIS,):
            groups += [(name,) for name in unnamed]
        elif MERGED_ELLIPSIS in group:
            position = group.index(MERGED_ELLIPSIS)
            groups.append((*group[:position], *unnamed, *group[position + 1 :]))
        else:
            groups.append(group)
    return tuple(groups)
