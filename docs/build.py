"""Build the documentation as a website in site/html: `make docs`.

The pages are the Markdown files of the repository, with the same paths, so all links between them remain valid. This
script adds a reference of the ops, from the catalogue, and a reference of the Python names, from their docstrings.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import axiscast
from axiscast.catalogue import list_ops
from axiscast.ops import FRAMEWORKS, OPS

ROOT = Path(__file__).parent.parent
SITE = ROOT / "site"
PAGES, HTML = SITE / "pages", SITE / "html"
_LINK = re.compile(r"\[([^][]*(?:\[[^][]*\][^][]*)*)\]\(([^()\s#]+)(#[^()\s]*)?\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"<td>.*?</td>", re.DOTALL)
_ASSET = re.compile(
    r"""<(?:script|link|img|iframe|source)\b[^>]*(?:src|href)=["']?(?:https?:)?//[^>]*>(?:</script>)?"""
)


def main() -> None:
    """Build the site. Exit with an error message if zensical finds a problem."""
    shutil.rmtree(SITE, ignore_errors=True)
    for page in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        ROOT / "deploy/README.md",
        ROOT / "examples/README.md",
        ROOT / "tests/vectors/README.md",
    ]:
        copy(page)
    (PAGES / "docs/ops.md").write_text(ops_reference())
    (PAGES / "docs/api.md").write_text(python_reference())
    shutil.copy(ROOT / "docs/zensical.toml", SITE)
    shutil.copy(ROOT / "docs/site.css", PAGES / "docs")
    if subprocess.run([Path(sys.executable).with_name("zensical"), "build", "--strict"], cwd=SITE).returncode:
        sys.exit("zensical found problems in the pages")
    pages = sorted(HTML.rglob("*.html"))
    for path in pages:
        # With the offline plugin, zensical adds a script from another host, which only pages opened as files need.
        path.write_text(_CELL.sub(_breakable, _ASSET.sub("", path.read_text())))
    print(
        f"{len(pages)} pages in {HTML.relative_to(ROOT)}: python3 -m http.server --directory {HTML.relative_to(ROOT)}"
    )


def _breakable(cell: re.Match[str]) -> str:
    """Return the code in a table cell with a possible line break after each underscore."""
    return re.sub(r"<code>.*?</code>", lambda code: code[0].replace("_", "_<wbr>"), cell[0])


def copy(page: Path) -> None:
    """Copy a page, and the files that it links to. A link to a folder becomes a link to its README, or plain text."""

    def link(match: re.Match[str]) -> str:
        words, path, anchor = match[1], match[2], match[3] or ""
        if "://" in path:
            return match[0]
        target = (page.parent / path).resolve()
        if target.is_dir():
            target = target / "README.md"
            path = f"{path.rstrip('/')}/README.md"
        if not target.exists():
            return words
        if target.suffix != ".md":
            write(target, target.read_bytes())
        return f"[{words}]({path}{anchor})"

    parts = _FENCED.split(page.read_text())  # every second part is code
    text = "".join(
        part.replace("<BLANKLINE>", "") if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts)
    )
    write(page, text.encode())


def write(path: Path, content: bytes) -> None:
    copied = PAGES / path.relative_to(ROOT)
    copied.parent.mkdir(parents=True, exist_ok=True)
    copied.write_bytes(content)


def ops_reference() -> str:
    """Return a page that describes each op, by framework, with its attributes, documentation, and an example."""
    lines = [
        "# Ops",
        "",
        f"{len(OPS)} ops of {len(FRAMEWORKS)} frameworks. `axiscast ops` and `/v1/ops` also list these ops.",
    ]
    for framework, entries in _by_framework():
        lines += ["", f"## {framework}", "", inspect.getdoc(getattr(axiscast, framework)) or ""]
        for entry in entries:
            package = f"{entry.reference.package} {entry.reference.version}"
            lines += ["", f"### {entry.name}", "", entry.doc, ""]
            lines += [
                f"Inputs: {_count(entry.inputs)}; outputs: {entry.outputs}. "
                f"[Documentation]({entry.link}) of {package}.",
                "",
            ]
            for name, schema in entry.attributes["properties"].items():
                required = "required" if name in entry.attributes["required"] else f"default `{schema.get('default')}`"
                lines += [f"- `{name}` ({required}): {schema.get('description', '')}"]
            (answer,) = axiscast.check_batch([entry.example | {"explain": True}])
            lines += ["", "```", json.dumps(entry.example), "", answer.diagram or "", "```"]
    return "\n".join(lines) + "\n"


def _by_framework() -> Iterator[tuple[str, list[axiscast.OpEntry]]]:
    for framework in FRAMEWORKS:
        yield framework, [entry for entry in list_ops().ops if entry.name.split(".")[0] == framework]


def _count(inputs: Any) -> str:
    if inputs.max is None:
        return f"{inputs.min} or more"
    return str(inputs.min) if inputs.min == inputs.max else f"{inputs.min} to {inputs.max}"


def python_reference() -> str:
    """Return a page that describes each public name. For a class, the page also describes its fields and methods."""
    lines = [
        "# Python names",
        "",
        "This page describes all names in `axiscast.__all__`, except the ops, which are on [another page](ops.md).",
        "",
    ]
    for name in sorted(set(axiscast.__all__) - set(FRAMEWORKS), key=lambda name: (name[0].isupper(), name)):
        value = getattr(axiscast, name)
        lines += [f"## {name}", "", *_described(name, value)]
        for field, info in getattr(value, "__pydantic_fields__", {}).items():
            lines += [f"- `{field}`: {info.description or ''}".rstrip(": ")]
        lines += [""]
        if inspect.isclass(value) and not issubclass(value, Exception):
            for method, function in inspect.getmembers(
                value, lambda member: inspect.isfunction(member) or inspect.ismethod(member)
            ):
                if not method.startswith("_") and function.__module__.startswith("axiscast"):
                    lines += [f"### {name}.{method}", "", *_described(f"{name}.{method}", function)]
    return "\n".join(lines) + "\n"


def _described(name: str, value: Any) -> list[str]:
    """Return the signature and the docstring as Markdown. Each example becomes a code block."""
    plain = inspect.isclass(value) and (issubclass(value, Exception) or hasattr(value, "__pydantic_fields__"))
    signature = "" if plain else name + re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
    if len(signature) > 80:
        signature = re.sub(r", (?=\**\w+(: |,|=))", ",\n    ", signature).replace("(", "(\n    ", 1)
    paragraphs = (inspect.getdoc(value) or "").split("\n\n")
    fenced = [f"```python\n{part}\n```" if part.startswith((">>>", "    ")) else part for part in paragraphs]
    return [*(["```python", signature, "```", ""] if signature else []), "\n\n".join(fenced), ""]


if __name__ == "__main__":
    main()
