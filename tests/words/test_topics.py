"""The table of sentences about errors that are not about broadcasting: topics.txt.

A line without indentation is the code and the sentence of a topic. A line below it is a message. A line with more
indentation is the explanation of this message. A message without it is explained by the sentence of the topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import cases

from axiscast.explanation import topic_search
from axiscast.explanation.topic_search import topic_wordings


def read_table() -> Iterator[tuple[str, str, str]]:
    """Yield each message, with the code of its topic and the sentences about it."""
    code = topic = message = sentences = ""
    for line in Path(__file__).with_name("topics.txt").read_text().splitlines():
        if line.startswith("      "):
            sentences = line.strip()
            continue
        if message:
            yield message, code, sentences
        if line.startswith(" "):
            message, sentences = line.strip(), topic
        else:
            message, (code, _, topic) = "", line.partition(": ")
    yield message, code, sentences


MESSAGES = [*read_table()]


@cases(("message", "code", "sentences"), MESSAGES)
def test_a_message_has_its_topic_and_its_sentences(message: str, code: str, sentences: str) -> None:
    topic = topic_search.topic_of(message)
    assert topic is not None
    assert (topic.code, topic_search.with_names(topic.text)) == (code, sentences)


def test_each_topic_and_each_explanation_has_a_message() -> None:
    explained, found = topic_search._explained, set()

    def recorded(reading: topic_search.Reading, text: str) -> topic_search.Topic:
        found.add(reading.message)
        return explained(reading, text)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(topic_search, "_explained", recorded)
        for message, *_ in MESSAGES:
            topic_search.topic_of(message)
    every = {(topic, explanation) for _, topic, explanation in topic_wordings()}
    assert [*filter(None, (explanation for _, explanation in every - found))] == []
    assert {topic for topic, _ in every} == {topic for topic, _ in found}
