"""Tests of the README and docs/: all examples are run, and all links and files must exist."""

from __future__ import annotations

import doctest
import json
import os
import re
import runpy
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from cases import cases
from click.testing import CliRunner
from conftest import Served, run

import axiscast
from axiscast.cli import main
from axiscast.ops import FRAMEWORKS, OPS

ROOT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for folder in (".", "docs", "docs/evidence", "deploy", "examples")
    for path in sorted((ROOT / folder).glob("*.md"))
}
URL = "http://127.0.0.1:8000"
_FENCED = re.compile(r"^```(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
_IMPORTED = re.compile(r"^>>> (?:import|from) (\w+)", re.MULTILINE)


def blocks(page: str, language: str) -> list[str]:
    return [text for name, text in _FENCED.findall(PAGES[page]) if name == language]


def commands(page: str) -> list[tuple[str, str]]:
    """Each command of the console blocks with its output. A backslash continues a command on the next line."""
    parts = [part for block in blocks(page, "console") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, output) for part in parts for command, output in [re.split(r"(?<!\\)\n", part, maxsplit=1)]]


def same(printed: str, shown: str) -> bool:
    """Return whether a page shows the output of a command: by line, or as equal JSON."""
    if [line.rstrip() for line in printed.strip().splitlines()] == shown.strip().splitlines():
        return True
    return shown.startswith("{\n") and printed.startswith("{") and json.loads(printed) == json.loads(shown)


def examples(page: str) -> list[doctest.Example]:
    """Return the Python examples, without those of packages that are not installed."""
    kept, source = True, ""
    for block in blocks(page, "python"):
        if names := _IMPORTED.findall(block):
            kept = all(map(find_spec, names))
        source += block if kept else ""
    return doctest.DocTestParser().get_examples(source, page)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment with the commands of this Python, and a stand-in for curl if needed."""
    path = [str(Path(sys.executable).parent), os.environ["PATH"]]
    if shutil.which("curl") is None:
        stand_in = tmp_path_factory.mktemp("bin") / "curl"
        stand_in.write_text(f"#!{sys.executable}\n{(Path(__file__).parents[1] / 'curl.py').read_text()}")
        stand_in.chmod(0o755)
        path.insert(0, str(stand_in.parent))
    return os.environ | {"PATH": os.pathsep.join(path)}


def printed(command: str, environment: dict[str, str]) -> str:
    """Return the output of a command. axiscast runs in this process."""
    text = None
    if command.startswith("axiscast "):
        own, _, command = command.partition(" | ")
        text = CliRunner().invoke(main, shlex.split(own.removesuffix(" 2>&1"))[1:], catch_exceptions=False).output
    if command:
        done = run(["bash", "-c", command], input=text, env=environment)
        text = done.stdout + done.stderr
    return text or ""


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page) and page != "examples/README.md"])
def test_every_command_prints_the_documented_output(
    page: str, service: Served, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command, output in commands(page):
        text = printed(command.replace(URL, service.url), environment)
        assert same(text, output), f"{command}\n{text}"


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)])
def test_every_python_example_prints_the_documented_output(page: str, service: Served) -> None:
    found = examples(page)
    for example in found:
        example.source = example.source.replace(URL, service.url)
    test = doctest.DocTest(found, {}, page, page, 0, "")
    report: list[str] = []
    # Messages of frameworks end with blanks, and name lines of their sources.
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS if page == "docs/errors.md" else 0
    with warnings.catch_warnings():
        results = doctest.DocTestRunner(optionflags=flags).run(test, out=report.append, clear_globs=False)
    if "client" in test.globs:
        test.globs["client"].close()
    assert results.failed == 0, "".join(report)


def test_the_javascript_of_the_http_api_prints_the_documented_output(service: Served, tmp_path: Path) -> None:
    """Run with the node of playwright and a stand-in for @msgpack/msgpack."""
    (script,) = blocks("docs/wire.md", "js")
    (printed,) = re.findall(r"prints\s`(.*)`:", PAGES["docs/wire.md"])
    package = tmp_path / "node_modules/@msgpack/msgpack"
    package.mkdir(parents=True)
    (package / "index.mjs").write_text((Path(__file__).parents[1] / "msgpack.mjs").read_text())
    (package / "package.json").write_text('{"exports": "./index.mjs"}')
    (tmp_path / "example.mjs").write_text(script.replace(URL, service.url))
    found = find_spec("playwright")
    node = Path(found.origin).parent / "driver/node" if found and found.origin else "node"
    done = run([node, "example.mjs"], cwd=tmp_path)
    assert (done.stderr, done.stdout.strip()) == ("", printed)


def test_the_examples_are_there() -> None:
    assert sum(len(commands(page)) for page in PAGES) >= 35
    assert sum(len(examples(page)) for page in PAGES) >= 60
    assert len(PAGES["README.md"].split()) <= 700, "two screens"


def test_the_picture_of_the_frameworks_is_a_real_drawing() -> None:
    drawing = next(output for command, output in commands("docs/checks.md") if "8,1,6,1 7,1,5" in command)
    picture = blocks("docs/frameworks.md", "")[0]
    assert [line[:23].rstrip() for line in picture.splitlines()[:5]] == drawing.splitlines()[:5]


def test_the_references_that_are_made_for_the_site_have_every_op_and_every_name() -> None:
    build = runpy.run_path(str(ROOT / "docs/build.py"))
    ops, names = build["ops_reference"](), build["python_reference"]()
    assert [f"### {name}" for name in OPS] == re.findall(r"^### .*", ops, re.MULTILINE)
    assert {f"## {name}" for name in {*axiscast.__all__} - {*FRAMEWORKS}} <= set(names.splitlines())
    assert "### Client.in_process" in names


SOURCES = {
    str(path.relative_to(ROOT)): path.read_text()
    for folder in ("client", "service")
    for path in sorted((ROOT / folder).rglob("*.py"))
}


@cases("name", ["CONTRIBUTING.md", *SOURCES])
def test_a_file_that_is_named_exists(name: str) -> None:
    text = PAGES.get(name) or SOURCES[name]
    named = re.findall(r"(?<![\w/.:<*-])(?:[a-z_]+/)+\w+\.(?:pyi?|js|css|md)\b", text)
    roots = [ROOT, ROOT / "client/axiscast", ROOT / "service/axiscast_service", (ROOT / name).parent]
    assert [path for path in named if not any((root / path).exists() for root in roots)] == []


def anchors(text: str) -> Iterator[str]:
    """Yield the anchor of each heading: lower-case letters and digits, joined by hyphens."""
    for heading in re.findall(r"^#+ (.*)$", _FENCED.sub("", text), re.MULTILINE):
        yield re.sub(r"[^\w\s-]", "", heading.lower()).replace(" ", "-")


def test_every_link_leads_somewhere() -> None:
    broken, count = [], 0
    for page, text in PAGES.items():
        for link in re.findall(r"\]\(([^()\s]+)\)", re.sub(r"`[^`\n]*`", "", _FENCED.sub("", text))):
            path, _, anchor = link.partition("#")
            count += 1
            if "://" in link:
                continue
            target = (ROOT / page).parent / path if path else ROOT / page
            if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
                broken.append((page, link))
    assert broken == []
    assert count >= 80


def test_the_navigation_of_the_site_contains_every_page() -> None:
    listed = re.findall(r'"([\w./-]+\.md)"', (ROOT / "docs/zensical.toml").read_text())
    made = {"docs/ops.md", "docs/api.md"}
    assert {page for page in PAGES if page.startswith("docs/")} | made <= set(listed)


def test_every_page_of_the_documentation_is_found_from_its_index() -> None:
    found = {f"docs/{link}" for link in re.findall(r"\]\(([\w./-]+\.md)", PAGES["docs/index.md"])} | {"docs/index.md"}
    assert {page for page in PAGES if page.startswith("docs/")} <= found
