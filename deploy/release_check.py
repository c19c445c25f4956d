"""Check whether a tag can be released, and list what is missing.

    python deploy/release_check.py                      # the version in pyproject.toml
    python deploy/release_check.py --tag v0.1.0         # also the name of the tag
    python deploy/release_check.py --repository URL     # write the address of the repository into all files

A line that begins with "fix" is an error in the files. A line that begins with "owner" needs an account, a decision or
a network that developers do not have, and names the command to run. The exit status is 1 if there is such a line.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Container, Iterator
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path

PLACEHOLDER = "https://repository" + ".invalid/axiscast"
"""The address of the repository in all files until the owner of the repository sets it."""
_SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
_RELEASE = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_HEADING = re.compile(r"^## \[(.+?)\](?: - (.+))?$", re.MULTILINE)
_NAMED_VERSION = re.compile(
    r"axiscast-(\d[\w.]*?)(?=-py3|\.tar\.gz)|\baxiscast(?:==|:)(\d[\w.]*\w)|\bnewTag: [\"']?(\d[\w.]*\w)"
    r"|\b(?:the tag |rev: |axiscast@)`?v(\d[\w.]*\w)"
)
"""A file name, requirement or image tag of this project with a version."""
_BEFORE_VERSION = re.compile(r"\bbefore\s+(?:version\s+)?(\d+\.\d+(?:\.\d+)?)\b", re.IGNORECASE)
_UNRELEASED = re.compile(r"not\s+yet\s+(?:available|published|released)|(?:before|after)\s+the\s+first\s+release", re.I)
_USES = re.compile(r"^\s*(?:- )?uses:\s*[\"']?([^\s\"'#@]+)@([^\s\"'#]+)", re.MULTILINE)
_DOCKERFILE_IMAGE = re.compile(r"^(?:ARG BASE=|FROM |COPY --from=)([^\s$]\S*)", re.MULTILINE)
_WORKFLOW_IMAGE = re.compile(r"^\s*(?:image|container): ([^\s$]\S*)", re.MULTILINE)


def check_versions(root: Path, tag: str | None) -> Iterator[str]:
    version = project_version(root)
    if not _RELEASE.fullmatch(version):
        yield f"fix pyproject.toml: {version!r} is not the version of a release, such as 0.1.0"
    exported = _assigned((root / "client/axiscast/__init__.py").read_text(), "__version__")
    if exported != version:
        yield f"fix client/axiscast/__init__.py: __version__ is {exported!r}, but pyproject.toml has {version!r}"
    if tag not in (None, f"v{version}"):
        yield f"fix the tag: {tag!r} is not 'v{version}', the version in pyproject.toml"


def check_changelog(root: Path, version: str, today: date) -> Iterator[str]:
    """Yield the errors in CHANGELOG.md, whose newest release must be `version`, with a date."""
    text = (root / "CHANGELOG.md").read_text()
    headings = [*_HEADING.finditer(text)]
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    sections = {heading[1]: text[heading.end() : end] for heading, end in zip(headings, ends, strict=True)}
    dates = {heading[1]: heading[2] for heading in headings if heading[1] != "Unreleased"}
    newest = next(iter(dates), None)
    if re.search(r"^[-*#]", sections.pop("Unreleased", ""), re.MULTILINE):
        yield f"owner: CHANGELOG.md: move the changes of [Unreleased] to [{version}]"
    elif newest != version:
        yield f"fix CHANGELOG.md: the newest release is [{newest}], but pyproject.toml has {version!r}"
    for name, written in dates.items():
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", written or "") or not _is_past(written, today):
            yield f"fix CHANGELOG.md: [{name}] has the date {written!r}. Write a past date as YYYY-MM-DD"
        for kind in re.findall(r"^### (.+)$", sections[name], re.MULTILINE):
            if kind not in _SECTIONS:
                yield f"fix CHANGELOG.md: [{name}] has the section {kind!r}. The sections are {', '.join(_SECTIONS)}"


def check_documents(root: Path, version: str, files: list[str]) -> Iterator[str]:
    """Yield each line of a document or a manifest that names another version, or that a release makes untrue."""
    for path in files:
        if not path.endswith((".md", ".yaml", ".yml")) or path.startswith("tests/") or path == "CHANGELOG.md":
            continue
        text = (root / path).read_text()
        for found in _NAMED_VERSION.finditer(text):
            named = next(filter(None, found.groups()))
            if named != version:
                yield f"fix {path}:{_line(text, found)}: {found[0]!r} names version {named}, which is not {version}"
        for found in _BEFORE_VERSION.finditer(text):
            if _numbers(found[1]) <= _numbers(version):
                yield f"fix {path}:{_line(text, found)}: {found[0]!r} is in the past once {version} is released"
        for found in _UNRELEASED.finditer(text):
            words = " ".join(found[0].split())
            yield f"fix {path}:{_line(text, found)}: {words!r} is untrue once {version} is released"


def check_placeholder(root: Path, files: list[str]) -> Iterator[str]:
    holding = [path for path in files if PLACEHOLDER.encode() in (root / path).read_bytes()]
    if holding:
        command = "make repository URL=https://github.com/OWNER/axiscast"
        yield f"owner: {PLACEHOLDER} is a placeholder in {', '.join(holding)}. Run: {command}"


def check_pins(root: Path, files: list[str]) -> Iterator[str]:
    """Yield each action, image and locked package without a hash, with the command that prints or writes the hash."""
    for path in files:
        if path.startswith(".github/workflows/"):
            finder = unpinned_in_workflow
        elif path.endswith("Dockerfile"):
            finder = unpinned_in_dockerfile
        elif re.search(r"requirements[^/]*\.txt$", path):
            finder = unpinned_in_lock
        else:
            continue
        yield from finder(path, (root / path).read_text())


def unpinned_in_workflow(path: str, text: str) -> Iterator[str]:
    for found in _USES.finditer(text):
        if not re.fullmatch(r"[0-9a-f]{40}", found[2]):
            repository = "/".join(found[1].split("/")[:2])
            command = f"git ls-remote https://github.com/{repository} '{found[2]}*'"
            yield f"owner: {path}:{_line(text, found)}: {found[1]}@{found[2]} has no commit hash. Run: {command}"
    yield from _without_digest(path, text, _WORKFLOW_IMAGE)


def unpinned_in_dockerfile(path: str, text: str) -> Iterator[str]:
    stages = re.findall(r"^FROM .* AS (\S+)", text, re.MULTILINE | re.IGNORECASE)
    yield from _without_digest(path, text, _DOCKERFILE_IMAGE, {*stages, "scratch"})


def unpinned_in_lock(path: str, text: str) -> Iterator[str]:
    lines = [*text.splitlines(), ""]
    for number, (line, following) in enumerate(pairwise(lines), 1):
        if line[:1].isalnum() and "--hash=sha256:" not in line + (following if following[:1] == " " else ""):
            yield f"fix {path}:{number}: {line.split()[0]} has no hash. Run: make lock"


def _without_digest(path: str, text: str, images: re.Pattern[str], stages: Container[str] = ()) -> Iterator[str]:
    for found in images.finditer(text):
        image = found[1]
        if image not in stages and not re.search(r"@sha256:[0-9a-f]{64}$", image):
            command = f"docker buildx imagetools inspect --format '{{{{.Manifest.Digest}}}}' {image}"
            if found[0].startswith("ARG BASE="):
                command = "make pin-base"
            yield f"owner: {path}:{_line(text, found)}: {image} has no digest. Run: {command}"


def problems(root: Path, tag: str | None = None, today: date | None = None) -> list[str]:
    """Return what prevents the release of the files that git tracks below `root`."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    files = [path for path in listed.split("\0") if path and (root / path).is_file()]
    version = project_version(root)
    return [
        *check_versions(root, tag),
        *check_changelog(root, version, today or datetime.now(UTC).date()),
        *check_documents(root, version, files),
        *check_placeholder(root, files),
        *check_pins(root, files),
    ]


def set_repository(root: Path, url: str) -> list[str]:
    """Replace the placeholder by the address of the repository, and return the changed files."""
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+){2,}", url) or url.endswith((".git", ".invalid")):
        raise ValueError(f"{url!r} is not the address of a repository. Write it as https://github.com/OWNER/axiscast")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    changed = []
    for path in filter(None, listed.split("\0")):
        if (root / path).is_file() and PLACEHOLDER.encode() in (content := (root / path).read_bytes()):
            content = content.replace(PLACEHOLDER.encode(), url.encode())
            if path == ".github/CODEOWNERS":
                content = content.replace(b"@OWNER", b"@" + url.split("/")[3].encode())
            (root / path).write_bytes(content)
            changed.append(path)
    return changed


def project_version(root: Path) -> str:
    return str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])


def _assigned(source: str, name: str) -> object:
    """Return the literal that a module assigns to a name, or None."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in node.targets
        ):
            return ast.literal_eval(node.value)
    return None


def _is_past(written: str, today: date) -> bool:
    try:
        return date.fromisoformat(written) <= today
    except ValueError:
        return False


def _numbers(version: str) -> list[int]:
    numbers = [int(number) for number in re.findall(r"\d+", version)[:3]]
    return numbers + [0] * (3 - len(numbers))


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start() + len(found[0]) - len(found[0].lstrip())) + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", help="the tag to release, such as v0.1.0")
    parser.add_argument(
        "--repository", metavar="URL", help="the address of the repository, which replaces the placeholder"
    )
    options = parser.parse_args()
    root = Path(__file__).parents[1]
    if options.repository:
        try:
            print("changed:", *set_repository(root, options.repository))
        except ValueError as error:
            parser.error(str(error))
        return
    found = problems(root, options.tag or None)
    print(*found, sep="\n")
    fixes = sum(line.startswith("fix") for line in found)
    print(f"release-check: {fixes} to fix, {len(found) - fixes} for an owner of the accounts")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
