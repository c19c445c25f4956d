"""The search for the known wordings of error_topics.py in a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ..plan.plan import Shape
from .error_topics import TOPICS, Explanation
from .wordings import Reading, Wording, compiled, read_value

_NAMED = re.compile(r"\[\[(\w+)\|(.*?)(?:\|(\d))?\]\]")
_BEFORE = 500
"""The number of characters before the last wording in which a wording with more values may end."""
_BROADCASTING = (
    "cannot be broadcast", "could not be broadcast", "can't be broadcast", "cannot broadcast", "could not broadcast",
    "not broadcastable", "non-broadcastable", "must be broadcastable", "incompatible shapes", "shapes are incompatible",
    "of compatible size or scalars",
    "arrays have incompatible sizes for this operation", "matrix dimensions must agree",
)  # fmt: skip
_UNREAD = (
    "This error is about shapes that do not broadcast, but axiscast does not know this wording. Print the shapes of "
    "the operands, and check them."
)


class Topic(NamedTuple):
    """The topic of an error message, and what its values mean."""

    text: str
    explanation: Explanation


@cache
def _wordings() -> list[Wording]:
    return [
        compiled(text, Topic(topic, explanation))
        for topic, wordings in TOPICS.items()
        for text, explanation in wordings.items()
    ]


def topic_of(text: str) -> str | None:
    """Return the topic and the explanation of the last known wording in a string, or None if no wording is known.

    In the string, each run of white space must be replaced by one space.
    """
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have a lower-case form of several letters
        text = lower
    found = [reading for wording in _wordings() for reading in wording.readings(lower)]
    if not found:
        return _UNREAD if any(phrase in lower for phrase in _BROADCASTING) else None
    last = max(found, key=lambda reading: reading.end)
    # The wording with the most values states the values of the message.
    near = [each for each in found if each.message.text == last.message.text and each.end > last.end - _BEFORE]
    return _explained(max(near, key=lambda each: (len(each.values), each.end - each.start)), text)


def _explained(reading: Reading, text: str) -> str:
    topic, explanation = reading.message
    values = [read_value(kind, text[start:end]) for kind, start, end in reading.values]
    said = explanation.format(*values) if isinstance(explanation, str) else explanation(*values)
    return f"{topic} {said}".rstrip()


def with_names(explanation: str, names: Sequence[tuple[str, Shape | None]] = ()) -> str:
    """Return an explanation with the names of arrays in its code. `names` has the name and the shape of each operand.

    In `[[x|(2, 3)|0]]`, `x` is the text without a name. An operand of shape (2, 3) is taken, or operand 0 if the shape
    of this operand is unknown. In `[[x|rank 2]]`, an operand with two axes is taken.
    """

    def name(named: re.Match[str]) -> str:
        unknown, wanted, place = named.groups()
        own = [name for name, shape in names if shape is not None and wanted in (str(shape), f"rank {len(shape)}")]
        own += [name for name, shape in names[int(place) :][:1] if shape is None or not wanted] if place else []
        return own[0] if own else unknown

    return _NAMED.sub(name, explanation)
