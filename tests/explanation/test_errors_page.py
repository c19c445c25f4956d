"""docs/errors.md: each section explains a message that its framework raised, and that `why` knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_why import corpus

from axiscast.explanation.diagnosis import diagnose

PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text()
SECTIONS = [
    (message, {name.lower().removeprefix("py").replace(" ", "") for name in re.split(", | and ", frameworks)})
    for frameworks, text in re.findall(r"(?m)^## (.+)\n((?:(?!## ).*\n)*)", PAGE)
    for message in re.findall(r"(?m)^### (.+)$", text)
]


def test_the_page_explains_32_messages() -> None:
    assert len({message for message, _ in SECTIONS}) == len(SECTIONS) == 32


@pytest.mark.parametrize(("message", "frameworks"), SECTIONS, ids=[message for message, _ in SECTIONS])
def test_each_section_is_about_a_recorded_message_that_why_knows(message: str, frameworks: set[str]) -> None:
    words = " ".join(message.split())
    texts = [
        line["text"] for line in corpus() if line["framework"] in frameworks and words in " ".join(line["text"].split())
    ]
    assert texts, "no framework of this section raised the message"
    assert diagnose(texts[0]).is_known
