"""einops: repeat, whose pattern names axes, replicates new ones, splits and merges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from ..schema.shapes import MAX_SIZE, Integer, few
from .base import Op

ELLIPSIS = "..."
"""The axes that a pattern leaves unnamed, each one standing for itself."""
MERGED_ELLIPSIS = "(...)"
"""The same inside parentheses: merged with what stands beside it."""
NAMED_ELLIPSIS = "…"
"""The one character, which einops takes for a name: of one axis, like any other."""
Groups = tuple[tuple[str, ...], ...]
"""One side of a pattern: for each axis the names that it is made of; a 1, or (), on the left is made of none."""

_TOKEN = re.compile(r"[()]|[^ ()]+")


class repeat(Op):
    """Say where an input's named axes go: new names are replicated, parentheses split (left) and merge (right)."""

    name: Literal["einops.repeat"] = "einops.repeat"
    pattern: str = Field(
        max_length=1000,
        description="Left -> right, names between spaces (no other white space).",
        examples=["h w -> h w c"],
    )
    axes_lengths: Annotated[dict[str, Integer], BeforeValidator(few)] = Field(
        default={}, description="The length of each new name, and of others to be checked.", examples=[{"c": 3}]
    )

    @model_validator(mode="after")
    def _pattern_can_be_read(self) -> Self:
        left, right = self.sides()
        known = {name for group in left for name in group}
        wanted = {ELLIPSIS if name == MERGED_ELLIPSIS else name for group in right for name in group}
        for name in sorted(known - wanted):
            raise _unreadable(f"{name!r} stands on the left only: repeat drops no axis")
        new = [name for name in wanted - known if not is_fixed(name)]
        for name in sorted(set(new) - set(self.axes_lengths)):
            if name == ELLIPSIS:
                raise _unreadable("... stands on the right only: write it on the left too")
            raise _unreadable(f"{name!r} is new, and axes_lengths does not say how long it is", "axes_lengths")
        for name in sorted(name for name in self.axes_lengths if not _is_name(name) or name not in known | wanted):
            raise _unreadable(f"{name!r} is not in the pattern", "axes_lengths")
        for group in left:
            unknown = [name for name in group if name not in self.axes_lengths]
            if len(unknown) > 1:
                said = f"of ({' '.join(group)}) all lengths but one must be in axes_lengths"
                raise _unreadable(said, "axes_lengths")
        return self

    def __hash__(self) -> int:
        return hash((self.pattern, *sorted(self.axes_lengths.items())))

    def highest_rank(self, shapes: Sequence[Sequence[object]]) -> int:
        left, right = self.sides()
        unnamed = max(len(shapes[0]) - len(left) + 1, 0) if (ELLIPSIS,) in left else 0
        return max(super().highest_rank(shapes), *(unnamed + sum(map(len, side)) for side in (left, right)))

    def sides(self) -> tuple[Groups, Groups]:
        """The left and the right side. A new axis of fixed length on the right has that number, primed to be
        one of a kind, for its name."""
        return _sides(self.pattern)


def length_of(name: str) -> int:
    """The fixed length that a name of `sides` stands for: 3 for the second 3 of a pattern, which is called 3'."""
    return int(name.rstrip("'"))


def is_fixed(name: str) -> bool:
    """Whether a name of `sides` stands for a fixed length."""
    return name.rstrip("'").isdecimal()


@lru_cache(256)
def _sides(pattern: str) -> tuple[Groups, Groups]:
    parts = pattern.split("->")
    if len(parts) != 2:
        raise _unreadable("has one ->, with names on both sides, such as 'h w -> h w c'")
    return _groups(parts[0], is_left=True), _groups(parts[1], is_left=False)


def _groups(text: str, is_left: bool) -> Groups:
    groups: list[tuple[str, ...]] = []
    inside: list[str] | None = None
    seen: dict[str, int] = {}
    for token in _TOKEN.findall(text):
        if token == "(":
            if inside is not None:
                raise _unreadable("has parentheses inside parentheses")
            inside = []
        elif token == ")":
            if inside is None:
                raise _unreadable("has a ) without its (")
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
        raise _unreadable("has a ( without its )")
    return tuple(groups)


def _named(token: str, is_left: bool, is_inside: bool, seen: dict[str, int]) -> str:
    if token in (ELLIPSIS, NAMED_ELLIPSIS):
        if {ELLIPSIS, NAMED_ELLIPSIS} & seen.keys():
            raise _unreadable("has ... twice on one side")
        seen[token] = 1
        if token == NAMED_ELLIPSIS:
            return token
        if is_left and is_inside:
            raise _unreadable("has ... inside parentheses on the left, where it can't be told apart")
        return MERGED_ELLIPSIS if is_inside else ELLIPSIS
    if token.isdecimal():
        if is_left or not 0 < int(token) <= MAX_SIZE:
            raise _unreadable(f"has {token[:20]} as an axis: numbers above 0 stand on the right only; name it")
        return _unique(str(int(token)), seen)
    if not _is_name(token):
        raise _unreadable(f"has {token[:40]!r}, which is no name: letters, digits and inner underscores")
    if token in seen:
        raise _unreadable(f"names {token[:40]!r} twice on one side")
    seen[token] = 1
    return token


def _is_name(text: str) -> bool:
    """Whether einops takes a name: an identifier of letters, digits (of any script, without marks) and underscores."""
    letters = text.replace("_", "a")
    return text.isidentifier() and letters.isalnum() and not text.startswith("_") and not text.endswith("_")


def _unique(number: str, seen: dict[str, int]) -> str:
    """A name that no axis of this side has; `seen` counts the axes by what the pattern calls them."""
    times = seen.get(number, 0)
    seen[number] = times + 1
    return number + "'" * times


def _unreadable(said: str, field: str = "pattern") -> PydanticCustomError:
    return PydanticCustomError("pattern", "{said}", {"said": said, "field": field})
