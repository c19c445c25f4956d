"""The README's examples, run as they stand against a running service."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import Served, run

README = (Path(__file__).parent.parent / "README.md").read_text()
URL = "http://127.0.0.1:8000"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """Each command of the console blocks, with the output that stands below it."""
    parts = [part for block in blocks("console") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """This Python's commands first; a stand-in for curl where the machine has none."""
    path = [str(Path(sys.executable).parent), os.environ["PATH"]]
    if shutil.which("curl") is None:
        stand_in = tmp_path_factory.mktemp("bin") / "curl"
        stand_in.write_text(f"#!{sys.executable}\n{(Path(__file__).parent / 'curl.py').read_text()}")
        stand_in.chmod(0o755)
        path.insert(0, str(stand_in.parent))
    return os.environ | {"PATH": os.pathsep.join(path)}


@pytest.mark.xdist_group("readme")  # the file commands share a folder
def test_every_command_prints_what_the_readme_says(service: Served, folder: Path, environment: dict[str, str]) -> None:
    assert len(commands()) >= 8
    for command, output in commands():
        done = run(
            ["bash", "-c", command.replace(URL, service.url)],
            cwd=folder, env=environment,
        )  # fmt: skip
        printed = [line.rstrip() for line in done.stdout.strip().splitlines()]
        assert (done.stderr, printed) == ("", output.strip().splitlines()), command


def test_every_python_example_prints_what_the_readme_says(service: Served) -> None:
    source = "\n".join(blocks("python")).replace(URL, service.url)
    test = doctest.DocTestParser().get_doctest(source, {}, "README", "README.md", 0)
    assert len(test.examples) >= 15
    report: list[str] = []
    results = doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
    test.globs["client"].close()
    assert results.failed == 0, "".join(report)


def test_the_picture_is_a_real_drawing() -> None:
    (command, drawing) = commands()[0]
    assert "format=text" in command
    picture = blocks("")[0]
    assert [line[:23].rstrip() for line in picture.splitlines()[:5]] == drawing.splitlines()[:5]


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_a_link_leads_somewhere(link: str) -> None:
    assert link.startswith("http") or (Path(__file__).parent.parent / link).exists()
