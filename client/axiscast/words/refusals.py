"""The sentences about the reasons why an op refuses shapes or attributes, except for sizes that differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..plan.alignment import Count, Input, Reason, Target
from ..wire.shapes import format_shape, shorten
from ..wire.wording import axis_count, count_of, quoted
from .names import Names

REFUSALS: dict[str, str] = {
    "max-rank": "The op takes at most {0} axes, but this request has {1}.",
    "own-rank": "{0} has {0:axes}, but the op takes {1}.",
    "not-scalar": "{0} must be a scalar. To choose from a tensor, use {1}.",
    "removed-axes": "{0} has {0:axes}, but {1} has only {1:rank}: the op can add axes but not remove them.",
    "unequal-ranks": "{0} has {0:axes} and {1} has {1:rank}, but the op does not align ranks. {2}",
    "added-axes": "{0} has {0:axes} and {1} {2:list} adds {2:count}, but {3} has {3:rank}: name every axis that the "
    "input lacks and no other axis.",
    "not-inside": "{0}, placed from axis {1}, does not fit inside {2}: the op adds axes only to the second input.",
    "not-at-end": "{0}, placed from axis {1}, does not end with the last axis of {2}. The op needs {3} input axes "
    "there, or {4}=-1 to align right.",
    "term-rank": "{0} has {0:axes}, but its term {1:text} in the {2} {3:text} names {4}.",
    "left-rank": "{0} has {0:axes}, but the left side of {1:text} names {2}.",
    "entries": "{0} {1:list} has {1:entries}, but {2} has {2:axes}: the op needs {3:needed}.",
    "unequal-counts": "{0} {1:list} has {1:entries} and {2} {3:list} has {3:entries}, but both must have the same "
    "number of entries.",
    "no-axes": "{0} and {1} are empty. Name an axis in each, or omit both.",
    "outside": "{0} {1:list} names axis {2}, outside {3}: {3:numbers}.",
    "below-right-aligned": "{0} {1} is less than -1: axes are counted from 0, and -1 means right-aligned.",
    "repeated-axis": "{0} {1:list} names axis {2} twice. Name each axis once.",
    "repeated-name": "{0} repeats a name for {2}: {1:list}. Rename one of these dimensions.",
    "unsorted": "{0} {1:list} is not ascending: the op does not transpose. Transpose the input first.",
    "kept-new-axis": "{0}={1:shape} has {2} on axis {3}, a new axis of {4}: {2} keeps the size of an existing axis. "
    "Write the size of the new axis.",
    "negative-size": "{0}={1:shape} has {2} on axis {3}: the op does not accept a negative size here.",
    "negative-count": "{0}={1:shape} has {2} for output axis {3}: the number of copies must be 0 or more.",
    "too-many-copies": "{0}={1:shape} makes {2} copies of size {4} on output axis {3}: the axis would have size {5}, "
    "but the largest size is 2^63-1.",
    "negative-length": "{0} gives {1:name} the length {2}: a length must be 0 or more.",
    "second-arrow": "The {0} {1:text} has '->' more than once.",
    "einsum-arrows": "The {0} {1:text} needs one '->', as in 'b i j, b j k -> b i k'.",
    "unknown-label": "The {0} {1:text} has the {2} {3:name} in its output, but no operand has this {2}.",
    "repeated-label": "The {0} {1:text} has the {2} {3:name} twice in its output: write each {2} once.",
    "operand-ellipses": "The {0} {1:text} has '...' twice in one operand.",
    "output-ellipses": "The {0} {1:text} has '...' twice in its output.",
    "summed-ellipsis": "The {0} {1:text} has no '...' in its output, but the op does not sum the axes of '...'.",
    "not-letters": "The {0} {1:text} has {2:name}, but may contain only letters (a-z, A-Z), commas, '...' and one "
    "'->'.",
    "not-characters": "The {0} {1:text} has {2:name}, but may contain only characters, commas, '...' and one '->'.",
    "not-names": "The {0} {1:text} has {2:name}, but einsum takes only '...' and names of letters, digits and inner "
    "underscores.",
    "pattern-arrows": "pattern: must contain one '->', with names on both sides, as in 'h w -> h w c'.",
    "nested-parentheses": "pattern: has parentheses inside parentheses.",
    "unopened-parenthesis": "pattern: has a ) without its (.",
    "unclosed-parenthesis": "pattern: has a ( without its ).",
    "side-ellipses": "pattern: has '...' twice on one side.",
    "merged-ellipsis": "pattern: has '...' inside parentheses on the left, where its axes are ambiguous.",
    "number-as-axis": "pattern: has the number {0:number} as an axis: use a name, or a positive number on the right "
    "side.",
    "not-name": "pattern: has {0:name}, but a name consists of letters, digits and inner underscores.",
    "side-name-twice": "pattern: names {0:name} twice on one side.",
    "left-only-name": "pattern: {0:name} is only on the left, but {1} can't remove axes: use einops.reduce.",
    "right-only-name": "pattern: {0:name} is only on the right, but rearrange can't add axes: use einops.repeat.",
    "right-only-ellipsis": "pattern: ... is only on the right: write it on the left too.",
    "missing-length": "axes_lengths: {0:name} is new, but its length is missing.",
    "missing-lengths": "axes_lengths: ({0}) needs the lengths of all names except one.",
    "unknown-name": "axes_lengths: {0:name} is not in the pattern.",
}
"""The sentence for each reason, with places for its facts. _FORMS has the forms of the facts, such as `axes`."""

_FORMS: dict[str, Callable[[Any], str]] = {
    "axes": lambda owner: axis_count(owner.shape),
    "rank": lambda owner: str(len(owner.shape)),
    "numbers": lambda owner: f"its axes are 0 to {len(owner.shape) - 1}" if owner.shape else "a scalar has no axes",
    "shape": format_shape,
    "list": shorten,
    "count": lambda values: str(len(values)),
    "entries": lambda values: count_of(len(values), "entry", "entries"),
    "needed": lambda count: f"{_count_text(count)} {'entry' if count.low == 1 else 'entries'}",
    "text": quoted,
    "name": lambda text: repr(text[:40]),
    "number": lambda text: text[:20],
}


class _Fact:
    """A fact of a sentence. An input or a target without a form is its name and shape."""

    __slots__ = "begins_sentence", "names", "value"

    def __init__(self, value: Any, names: Names, begins_sentence: bool) -> None:
        self.value, self.names, self.begins_sentence = value, names, begins_sentence

    def __format__(self, form: str) -> str:
        if form:
            return _FORMS[form](self.value)
        if isinstance(self.value, (Input, Target)):
            return self.names.owner(self.value, self.begins_sentence)
        return _count_text(self.value) if isinstance(self.value, Count) else str(self.value)


def refusal_text(reason: Reason, names: Names) -> str:
    """Return why an op refuses a request."""
    code, *facts = reason
    return REFUSALS[code].format(*[_Fact(fact, names, place == 0) for place, fact in enumerate(facts)])


def _count_text(count: Count) -> str:
    low, high = count
    if high is None:
        return f"at least {low}"
    return str(low) if low == high else f"at most {high}"
