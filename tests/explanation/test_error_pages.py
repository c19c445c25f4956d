"""The pages of docs/errors: each one explains a recorded message, as `why` explains it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from test_why import corpus, rule, shapes

import axiscast

FOLDER = Path(__file__).parents[2] / "docs" / "errors"
PAGES = sorted(FOLDER.glob("*-*.md"))


def words(text: str) -> str:
    """Return a text with single blanks, and without the name of the exception at its start."""
    return re.sub(r"^[\w.]+: ", "", " ".join(text.split()))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n((?:.*\n)*?)```$", page.read_text(), re.MULTILINE)


def command_of(page: Path) -> tuple[str, str]:
    """Return the message that the page passes to `axiscast why`, and the output that the page shows."""
    (block,) = blocks(page, "console")
    command, _, output = block.partition("\n")
    return shlex.split(command.removeprefix("$ axiscast why "))[0], output


def recorded(page: Path) -> dict[str, Any]:
    """Return the line of the corpus with the message of a page. The page's name begins with the framework."""
    message = words(command_of(page)[0])
    framework = page.name.partition("-")[0]
    lines = [line for line in corpus() if line["framework"] == framework and message in words(line["text"])]
    assert lines, f"no framework raised this message: {message}"
    return lines[0]


def test_there_are_pages_for_the_25_commonest_messages() -> None:
    assert len(PAGES) >= 25


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_title_and_the_example_show_the_recorded_message(page: Path) -> None:
    text = words(recorded(page)["text"])
    title = page.read_text().partition("\n")[0].removeprefix("# ")
    assert [part for part in words(title).split("... ") if part not in text] == []
    assert words(command_of(page)[0]) in " ".join(blocks(page, "python")[0].split())
    assert 20 <= len(page.read_text().splitlines()) <= 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_states_the_op_and_the_inputs_of_the_recorded_call(page: Path) -> None:
    line, (message, output) = recorded(page), command_of(page)
    answer = axiscast.why(message)
    assert not answer.message.startswith("axiscast does not know")
    assert answer.op is None or rule(answer.op.name) == rule(line["op"])
    if line.get("holds_shapes"):
        assert answer.op is not None
        assert shapes(answer.inputs) == shapes(line["inputs"])
        stated = [
            str(tuple(shape))
            for shape in [*line["inputs"], *line.get("attributes", {}).values()]
            if isinstance(shape, list)
        ]
        assert [shape for shape in stated if shape not in output] == []
        if found := re.search(r"([\w.-]+) can't broadcast (.*?)\. ", output):
            assert found[1] in (answer.op.name, answer.op.alias)
            assert re.findall(r"\(.*?\)", found[2]) == stated
    else:
        assert answer.check is None
        sizes = {str(size) for size in answer.sizes or ()}
        assert sizes <= {str(size) for shape in line["inputs"] for size in shape} | {*re.findall(r"\d+", message)}
        assert sizes <= {*re.findall(r"\d+", output)}


def test_the_index_lists_every_page_by_framework() -> None:
    rows = re.findall(r"^\| (.+) \| \[(.*)\]\((.*-.*\.md)\) \|$", (FOLDER / "index.md").read_text(), re.MULTILINE)
    assert sorted(file for _, _, file in rows) == [page.name for page in PAGES]
    for _, message, file in rows:
        assert message in (FOLDER / file).read_text().partition("\n")[0]
    frameworks = [name.lower().removeprefix("py").replace(" ", "") for name, _, _ in rows]
    assert frameworks == [file.partition("-")[0] for _, _, file in rows]
    assert frameworks == sorted(frameworks, key=frameworks.index), "grouped by framework"
