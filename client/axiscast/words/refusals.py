"""The sentences about the reasons why an op refuses shapes or attributes, except for sizes that differ."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter
from typing import Any

from ..plan.alignment import Count, Input, Reason, Target
from ..plan.plan import Shape
from ..wire.shapes import format_shape, shorten
from ..wire.wording import axis_count, count_of, quoted
from .names import UNNAMED, Names

REFUSALS: dict[str, str] = {
    "max-rank": "The op takes at most {0} axes, but this request needs {1}.",
    "own-rank": "{0} has {0:axes}, but the op takes {1:range}.",
    "not-scalar": "{0} must be a scalar. To take values from a tensor, use {1}.",
    "removed-axes": "{0} has {0:axes}, but {1} has only {1:rank}. The op can add axes, but can't remove them.",
    "unequal-ranks": "{0} has {0:axes}, but {1} has {1:rank}, and the op does not add axes. {2}",
    "added-axes": "{0} has {0:axes} and {1}={2:list} adds {2:count}, but {3} has {3:rank}. List exactly the target "
    "axes that the input lacks.",
    "not-inside": "{0} starts at axis {1}, so it does not fit inside {2}. The op can't add axes to input 0.",
    "not-at-end": "{0} starts at axis {1}, but must reach the last axis of {2}. Give it {3} axes, or write {4}=-1 to "
    "align it on the right.",
    "term-rank": "{0} has {0:axes}, but its term {1:text} in the {2} {3:text} requires {4:range}.",
    "left-rank": "{0} has {0:axes}, but the left side of {1:text} requires {2:range}.",
    "entries": "{0}={1:list} has {1:entries}, but {2} has {2:axes}. The op needs {3:needed}.",
    "unequal-counts": "{0}={1:list} has {1:entries}, but {2}={3:list} has {3:entries}. Both must have the same number "
    "of entries.",
    "no-axes": "{0} and {1} are empty. Name an axis in each, or omit both.",
    "outside": "{0}={1:list} names axis {2}, but {3} {3:numbers}.",
    "below-right-aligned": "{0}={1} is not valid. Axes are numbered from 0, and -1 aligns the input on the right.",
    "repeated-axis": "{0}={1:list} names axis {2} twice. Name each axis once.",
    "repeated-name": "{0} gives two axes of {2} the same name: {1:list}. Rename one of them.",
    "unsorted": "{0}={1:list} must be in ascending order, because the op does not transpose. Transpose the input "
    "first.",
    "kept-new-axis": "{0}={1:shape} has {2} on axis {3}. {2} keeps the size of an existing axis, but {4} does not have "
    "this axis: write its size.",
    "negative-size": "{0}={1:shape} has {2} on axis {3}, but the op does not accept {2} as a size.",
    "negative-count": "{0}={1:shape} has {2} for output axis {3}. The number of copies must not be negative.",
    "too-many-copies": "{0}={1:shape} makes {2} copies of size {4} on output axis {3}. The axis would then have size "
    "{5}, but the largest size is 2^63-1.",
    "negative-length": "{0} gives {1:name} the length {2}. A length must not be negative.",
    "second-arrow": "The {0} {1:text} has '->' more than once.",
    "einsum-arrows": "The {0} {1:text} needs one '->', as in 'b i j, b j k -> b i k'.",
    "unknown-label": "The {0} {1:text} has the {2} {3:name} in its output, but no operand has this {2}.",
    "repeated-label": "The {0} {1:text} has the {2} {3:name} twice in its output. Each {2} may occur there only once.",
    "operand-ellipses": "The {0} {1:text} has '...' twice in one operand.",
    "output-ellipses": "The {0} {1:text} has '...' twice in its output.",
    "summed-ellipsis": "The {0} {1:text} has no '...' in its output, but the op can't sum over the axes of '...'. Add "
    "'...' to the output.",
    "not-letters": "The {0} {1:text} contains {2:name}. Only letters (a-z, A-Z), commas, '...' and one '->' are "
    "allowed.",
    "not-characters": "The {0} {1:text} contains {2:name}, which can't name an axis.",
    "not-names": "The {0} {1:text} contains {2:name}. Only '...' and names such as i or height_2 are allowed.",
    "pattern-arrows": "The pattern must contain one '->', with names on both sides, as in 'h w -> h w c'.",
    "nested-parentheses": "The pattern has parentheses inside parentheses.",
    "unopened-parenthesis": "The pattern has a ')' without a '(' before it.",
    "unclosed-parenthesis": "The pattern has a '(' without a ')' after it.",
    "side-ellipses": "The pattern has '...' twice on one side.",
    "merged-ellipsis": "The pattern has '...' inside parentheses on its left side. Write names instead of '...' there.",
    "number-as-axis": "The pattern has the number {0:number} as an axis. Use a name: only the right side may contain "
    "numbers, and they must be positive.",
    "not-name": "The pattern contains {0:name}, which is not a valid name. A name has letters, digits and underscores, "
    "but does not begin or end with an underscore.",
    "side-name-twice": "The pattern has {0:name} twice on one side.",
    "left-only-name": "The pattern has {0:name} only on its left side, but {1} can't remove axes. Use einops.reduce.",
    "right-only-name": "The pattern has {0:name} only on its right side, but rearrange can't add axes. Use "
    "einops.repeat.",
    "right-only-ellipsis": "The pattern has '...' only on its right side. Write it on the left side too.",
    "missing-length": "The pattern adds the axis {0:name}, but axes_lengths gives no length for it.",
    "missing-lengths": "To split an axis into ({0}), axes_lengths needs the lengths of all of these names except one.",
    "unknown-name": "axes_lengths has {0:name}, which is not in the pattern.",
    "no-function": "no {0} with these shapes was found, even with reshapes and transpositions before and after it",
    "no-equivalent": "no equivalent {0} was found, even with reshapes and transpositions before and after it",
    "no-outputs": "{0} has no outputs: there is nothing to translate",
    "no-inputs-but": "{0} does not return its broadcast inputs: translate to {1}",
    "no-inputs": "{0} does not return its broadcast inputs: no other op of {1} returns them either",
    "output-rank": "{0} takes at most {1} axes, but the output {2:shape} has {3} axes whose size is not 1",
    "input-count": "{0} takes {1}, but this request has {2}",
    "no-replication": "{0} can't replicate elements, but {1} is replicated along {2:place}",
    "no-size": "{0} has no attribute for the size {3} of {2:place}, along which {1} is replicated",
}
"""The sentence for each reason, with places for its facts. _FORMS has the forms of the facts, such as `axes`."""


def _numbers_text(rank: int) -> str:
    """Return which axes a shape of this rank has."""
    if rank < 2:
        return "has only axis 0" if rank else "is a scalar, which has no axes"
    return f"has only axes 0 {'and' if rank == 2 else 'to'} {rank - 1}"


def _place_text(axis: int, shape: Shape, merged: Shape | None) -> str:
    then = "" if merged is None else f" (then merged to {format_shape(merged)})"
    return f"output axis {axis} of {format_shape(shape)}{then}"


def _count_text(count: Count) -> str:
    low, high = count
    if high is None:
        return f"at least {low}"
    return str(low) if low == high else f"at most {high}"


_FORMS: dict[str, Callable[[Any], str]] = {
    "axes": lambda owner: axis_count(owner.shape),
    "rank": lambda owner: str(len(owner.shape)),
    "numbers": lambda owner: _numbers_text(len(owner.shape)),
    "shape": format_shape,
    "list": shorten,
    "count": lambda values: str(len(values)),
    "entries": lambda values: count_of(len(values), "entry", "entries"),
    "needed": lambda count: f"{_count_text(count)} {'entry' if count.low == 1 else 'entries'}",
    "range": _count_text,
    "place": lambda place: _place_text(*place),
    "text": quoted,
    "name": lambda text: repr(text[:40]),
    "number": lambda text: text[:20],
}


def refusal_text(reason: Reason, names: Names = UNNAMED) -> str:
    """Return why an op refuses a request. An input or a target without a form is its name and shape."""
    code, *facts = reason
    parts = []
    for text, place, form, _ in Formatter().parse(REFUSALS[code]):
        parts.append(text)
        if place is not None:
            fact = facts[int(place)]
            if form:
                parts.append(_FORMS[form](fact))
            elif isinstance(fact, (Input, Target)):
                parts.append(names.owner(fact, place == "0"))
            else:
                parts.append(str(fact))
    return "".join(parts)
