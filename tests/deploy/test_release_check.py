"""Tests of deploy/release_check.py, which refuses a tag if its files disagree or something is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from conftest import run

import axiscast

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy/release_check.py"
PLACEHOLDER = "https://repository" + ".invalid/axiscast"
TODAY = date(2026, 11, 23)
COMMIT = "3d3c42e5aac5ba805825da76410c181273ba90b1"
DIGEST = "sha256:" + "0" * 64
FILES = {
    "pyproject.toml": '[project]\nname = "axiscast"\nversion = "0.2.0"\n',
    "client/axiscast/__init__.py": '__version__ = "0.2.0"\n',
    "CHANGELOG.md": "## [Unreleased]\n\n## [0.2.0] - 2026-11-20\n\n### Added\n\n- A.\n\n## [0.1.0] - 2026-10-01\n",
    "docs/installation.md": "pip install axiscast==0.2.0\npip install axiscast-0.2.0-py3-none-any.whl\n",
    "SECURITY.md": "Write to https://example.org. Before 1.0, we fix only the newest release.\n",
    "deploy/kubernetes.yaml": "image: axiscast:0.2.0\n",
    "deploy/requirements.txt": f"click==8.1 \\\n    --hash={DIGEST}\nh11==0.16 --hash={DIGEST}\n",
    "Dockerfile": f"ARG BASE=python:3.12@{DIGEST}\nFROM ${{BASE}} AS build\nFROM build\nCOPY --from=build /a /b\n",
    ".github/CODEOWNERS": "* @OWNER\n",
    ".github/workflows/gate.yml": f"jobs:\n  a:\n    steps:\n      - uses: actions/checkout@{COMMIT} # v7.0.1\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def release_check() -> Callable[..., list[str]]:
    import runpy

    return runpy.run_path(str(SCRIPT))["problems"]  # type: ignore[no-any-return]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert run(["git", "init", "-q"], cwd=tmp_path).returncode == 0
    assert run(["git", "add", "."], cwd=tmp_path).returncode == 0
    return tmp_path


def test_a_complete_tree_is_accepted(tree: Path, release_check: Callable[..., list[str]]) -> None:
    assert release_check(tree, "v0.2.0", TODAY) == []
    assert release_check(tree, None, TODAY) == []


@pytest.mark.parametrize("tag", ["v0.2.1", "0.2.0", "v0.2", "v0.2.0rc1"])
def test_a_tag_of_another_version_is_refused(tag: str, tree: Path, release_check: Callable[..., list[str]]) -> None:
    assert release_check(tree, tag, TODAY) == [f"fix the tag: '{tag}' is not 'v0.2.0', the version in pyproject.toml"]


FAULTS = [
    ("pyproject.toml", 'version = "0.2.0"', 'version = "0.2.0.dev0"', "'0.2.0.dev0' is not the version of a release"),
    ("client/axiscast/__init__.py", "0.2.0", "0.1.0", "__version__ is '0.1.0', but pyproject.toml has '0.2.0'"),
    ("client/axiscast/__init__.py", "__version__", "version", "__version__ is None, but pyproject.toml has '0.2.0'"),
    ("CHANGELOG.md", "[0.2.0]", "[0.1.9]", "the newest release is [0.1.9], but pyproject.toml has '0.2.0'"),
    ("CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- B.\n", "move the changes of [Unreleased] to [0.2.0]"),
    ("CHANGELOG.md", "\n\n## [0.2.0] - 2026-11-20", "", "move the changes of [Unreleased] to [0.2.0]"),
    ("CHANGELOG.md", " - 2026-11-20", "", "[0.2.0] has the date None"),
    ("CHANGELOG.md", "2026-11-20", "2026-11-24", "[0.2.0] has the date '2026-11-24'. Write a past date"),
    ("CHANGELOG.md", "2026-11-20", "2026-13-20", "[0.2.0] has the date '2026-13-20'"),
    ("CHANGELOG.md", "2026-10-01", "1 October 2026", "[0.1.0] has the date '1 October 2026'"),
    ("CHANGELOG.md", "### Added", "### News", "[0.2.0] has the section 'News'. The sections are Added, Changed, "),
    ("docs/installation.md", "==0.2.0", "==0.1.0", "docs/installation.md:1: 'axiscast==0.1.0' names version 0.1.0"),
    ("docs/installation.md", "-0.2.0-", "-0.2.0.dev0-", "docs/installation.md:2: 'axiscast-0.2.0.dev0' names version"),
    ("deploy/kubernetes.yaml", "0.2.0", "0.1.9", "deploy/kubernetes.yaml:1: 'axiscast:0.1.9' names version 0.1.9"),
    ("deploy/kubernetes.yaml", "image: axiscast:0.2.0", "{newTag: 0.1.0}", "'newTag: 0.1.0' names version 0.1.0"),
    ("deploy/kubernetes.yaml", "image: axiscast:0.2.0", "rev: v0.1.0", "'rev: v0.1.0' names version 0.1.0"),
    ("SECURITY.md", "Before 1.0", "At the tag `v0.1.0`. Before 1.0", "'the tag `v0.1.0' names version 0.1.0"),
    ("SECURITY.md", "Before 1.0", "Before version 0.2.0", "'Before version 0.2.0' is in the past once"),
    ("SECURITY.md", "Before 1.0", "Before 0.2", "SECURITY.md:1: 'Before 0.2' is in the past"),
    ("SECURITY.md", "Before 1.0", "After the\nfirst release", "'After the first release' is untrue once 0.2.0"),
    ("SECURITY.md", "https://example.org", PLACEHOLDER + "/security", "is a placeholder in SECURITY.md. Run: make rep"),
    ("Dockerfile", f"@{DIGEST}", "", "owner: Dockerfile:1: python:3.12 has no digest. Run: make pin-base"),
    ("Dockerfile", "FROM build\n", "FROM debian:12\n", "Dockerfile:3: debian:12 has no digest. Run: docker buildx"),
    ("Dockerfile", "--from=build", "--from=busybox", "owner: Dockerfile:4: busybox has no digest"),
    (".github/workflows/gate.yml", COMMIT, "v7",
     "owner: .github/workflows/gate.yml:4: actions/checkout@v7 has no commit hash. Run: "
     "git ls-remote https://github.com/actions/checkout 'v7*'"),
    (".github/workflows/gate.yml", COMMIT, COMMIT[:12], "actions/checkout@3d3c42e5aac5 has no commit hash"),
    (".github/workflows/gate.yml", "steps:", "container: debian:12\n    steps:", "gate.yml:3: debian:12 has no digest"),
    ("deploy/requirements.txt", f"click==8.1 \\\n    --hash={DIGEST}", "click==8.1", "click==8.1 has no hash. Run:"),
    ("deploy/requirements.txt", f"h11==0.16 --hash={DIGEST}", "h11>=0.16", "requirements.txt:3: h11>=0.16 has no"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new", "message"), FAULTS, ids=[fault[3][:50] for fault in FAULTS])
def test_a_fault_is_refused(
    path: str, old: str, new: str, message: str, tree: Path, release_check: Callable[..., list[str]]
) -> None:
    text = FILES[path]
    assert old in text
    (tree / path).write_text(text.replace(old, new))
    found = release_check(tree, "v0.2.0", TODAY)
    assert any(message in line for line in found), found
    if path != "pyproject.toml":
        assert len(found) == 1


def test_the_owner_sets_the_address_by_one_command(tree: Path) -> None:
    (tree / "SECURITY.md").write_text(f"Report at <{PLACEHOLDER}/security>.\n")
    (tree / ".github/CODEOWNERS").write_text(f"# {PLACEHOLDER}\n* @OWNER\n")
    (tree / "deploy/release_check.py").write_text(SCRIPT.read_text())
    command = [sys.executable, tree / "deploy/release_check.py", "--repository"]
    for wrong in ("github.com/a/b", "https://github.com/b", "https://github.com/a/b/", "https://github.com/a/b.git"):
        assert run([*command, wrong]).returncode == 2
    done = run([*command, "https://github.com/someone/axiscast"])
    assert (done.returncode, done.stdout) == (0, "changed: .github/CODEOWNERS SECURITY.md\n")
    assert (tree / ".github/CODEOWNERS").read_text() == "# https://github.com/someone/axiscast\n* @someone\n"
    assert (tree / "SECURITY.md").read_text() == "Report at <https://github.com/someone/axiscast/security>.\n"


def test_the_files_of_the_project_name_its_version() -> None:
    done = run([sys.executable, SCRIPT, "--tag", f"v{axiscast.__version__}"])
    fixes = [line for line in done.stdout.splitlines() if line.startswith("fix ") and "[Unreleased]" not in line]
    assert (fixes, done.stderr) == ([], "")
    assert run([sys.executable, "-m", "axiscast", "--version"]).stdout == f"axiscast, version {axiscast.__version__}\n"
