"""The search for the known wordings of words/error_topics.py in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from ..plan.plan import Shape
from ..words import error_advice
from ..words.error_topics import TABLE, Topic
from .wordings import Reading, Wording, compiled, read_value

_NAMED = re.compile(r"\[\[(\w+)\|(.*?)(?:\|(\d))?\]\]")
_BEFORE = 500
"""The number of characters before the last wording in which a wording with more values may end."""
_UNKNOWN_WORDING = "unknown-wording"
"""The code of the topic of phrases about broadcasting. It is returned only if no other wording is found."""


def topic_wordings() -> Iterator[tuple[str, Topic, str]]:
    """Yield each wording in TABLE, with its topic and its explanation."""
    topic = Topic("", "")
    for line in re.sub(r"\n {6}", " ", TABLE.strip()).splitlines():
        if line.startswith(" "):
            *wordings, explanation = line.split(" |")
            yield from ((wording.strip(), topic, explanation.strip()) for wording in wordings)
        else:
            code, _, text = line.partition(": ")
            topic = Topic(code, text)


@cache
def _wordings() -> list[Wording]:
    return [compiled(text, (topic, explanation)) for text, topic, explanation in topic_wordings()]


def topic_of(text: str) -> Topic | None:
    """Return the topic of the last known wording in a string with its explanation, or None if no wording is known.

    In the string, each run of white space must be replaced by one space.
    """
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have a lower-case form of several letters
        text = lower
    every = [reading for wording in _wordings() for reading in wording.readings(lower)]
    found = [reading for reading in every if reading.message[0].code != _UNKNOWN_WORDING] or every
    if not found:
        return None
    last = max(found, key=lambda reading: reading.end)
    # The wording with the most values states the values of the message.
    near = [each for each in found if each.message[0] == last.message[0] and each.end > last.end - _BEFORE]
    return _explained(max(near, key=lambda each: (len(each.values), each.end - each.start)), text)


def _explained(reading: Reading, text: str) -> Topic:
    topic, explanation = reading.message
    values = [read_value(kind, text[start:end]) for kind, start, end in reading.values]
    sentences, _, function = f" {explanation}".partition(" =")
    parts = [sentences.strip(" +").format(*values)]
    if function:
        name, *numbers = function.split()
        advice = getattr(error_advice, name)(*[values[int(number)] for number in numbers] or values)
        parts = [] if advice is None else [*parts, advice]
    if explanation.startswith("+") or not any(parts):
        parts = [topic.text, *parts]
    return Topic(topic.code, " ".join(filter(None, parts)))


def with_names(explanation: str, names: Sequence[tuple[str, Shape | None]] = (), method: str = "add") -> str:
    """Return an explanation with the names of arrays in its code. `names` has the name and the shape of each operand.

    `method` replaces `[[method]]`.

    In `[[x|(2, 3)|0]]`, `x` is the text without a name. An operand of shape (2, 3) is taken, or operand 0 if the shape
    of this operand is unknown. In `[[x|rank 2]]`, an operand with two axes is taken.
    """

    def name(named: re.Match[str]) -> str:
        unknown, wanted, place = named.groups()
        own = [name for name, shape in names if shape is not None and wanted in (str(shape), f"rank {len(shape)}")]
        own += [name for name, shape in names[int(place) :][:1] if shape is None or not wanted] if place else []
        return own[0] if own else unknown

    return _NAMED.sub(name, explanation.replace("[[method]]", method))
