"""The HTML page /ops: the catalogue of ops, with the rule, attributes, example and results of each op."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib import import_module
from inspect import cleandoc
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from axiscast.catalogue import list_ops
from axiscast.checks.check import answer_check
from axiscast.messages import CheckRequest, CompareRequest, Comparison, OpEntry
from axiscast.messages.attribute_text import format_attribute
from axiscast.ops import OPS
from axiscast.wire.shapes import format_shape

from .html_page import generated_page, marked_text

_DIFFERENCES: list[tuple[list[tuple[int, ...]], tuple[int, ...] | None]] = [
    ([(2, 3), (3,)], None),
    ([(2, 3), (2,)], None),
    ([(3, 1), (1, 4)], None),
    ([(0,), (1,)], None),
    ([(0,), (2,)], None),
    ([(3,)], (2, 3)),
    ([(3,)], (2, -1)),
    ([(3,)], (-1, 3)),
    ([(2, 1)], (0, 3)),
    ([(1, 3)], (3,)),
    ([(3, 1)], (1, 4)),
    ([(0,)], (-2,)),
]
"""Example requests for which ops give different results. Each request has inputs, and a target for ops with a
target."""


@cache
def reference() -> str:
    """Return the page /ops as HTML. All text is escaped, even though no text comes from clients."""
    from axiscast.comparison.compare import answer_compare

    answers: dict[str, list[str]] = defaultdict(list)
    for inputs, target in _DIFFERENCES:
        for result in answer_compare(CompareRequest(inputs=inputs, shape=target)).results:
            for op in (result.op, *result.also):
                answers[op["name"]].append(_answer(op, inputs, target, result))
    frameworks = [(name, list(entries)) for name, entries in groupby(list_ops().ops, _framework)]
    links = "".join(f'<li><a href="#{name}">{name}</a></li>' for name, _ in frameworks)
    sections = "\n".join(_section(name, entries, answers) for name, entries in frameworks)
    content = f"""<nav aria-label="Frameworks"><ul>{links}</ul></nav>
<main class="reference" id="main">
<p><label for="filter">Filter</label> <input type="search" id="filter" placeholder="torch.mul" autocomplete="off"></p>
<p id="found" role="status"></p>
{sections}
</main>"""
    description = "The broadcasting rules of all frameworks, with examples."
    return generated_page("All ops", description, "ops", content, "", "ops.js")


def _framework(entry: OpEntry) -> str:
    return entry.name.split(".")[0]


def _section(name: str, entries: Sequence[OpEntry], answers: dict[str, list[str]]) -> str:
    """Return the HTML section about a framework: the docstring of the framework's module, and its ops."""
    of = entries[0].reference
    rule = "".join(_paragraphs(cleandoc(import_module(OPS[entries[0].name].__module__).__doc__ or "")))
    articles = "\n".join(_article(entry, answers[entry.name]) for entry in entries)
    return f"""<section id="{name}" aria-labelledby="{name}-title">
<h2 id="{name}-title">{name}</h2> <p class="help">Tested with {escape(f"{of.package} {of.version}")}.</p>
{rule}
{articles}
</section>"""


def _article(entry: OpEntry, answers: Sequence[str]) -> str:
    """Return the HTML article about an op."""
    name, low, high = entry.name, entry.inputs.min, entry.inputs.max
    count = f"{low} or more inputs" if high is None else f"{low} input{'s' if low > 1 else ''}"
    if high not in (None, low):
        count = f"{low} to {high} inputs"
    attributes = "".join(
        _term(
            f"<code>{attribute}</code>{'' if attribute in entry.attributes['required'] else ' optional'}",
            schema.get("description", ""),
        )
        for attribute, schema in entry.attributes["properties"].items()
    )
    question = CheckRequest(op=entry.example["op"], inputs=entry.example["inputs"], explain=True)
    table = f"<table><tr><th scope=col>shapes</th><th scope=col>result</th></tr>{''.join(answers)}</table>"
    names = escape(" ".join((name, *entry.aliases)).lower())
    return f"""<article id="{name}" data-names="{names}">
<h3><a href="#{name}">{name}</a></h3>
<p>{marked_text(entry.doc)} <span class="help">{count}.</span>
<a href="{escape(entry.link)}" rel="noreferrer">Definition</a></p>
{f"<dl>{attributes}</dl>" if attributes else ""}
<p>Example: {_link(entry.example["op"], entry.example["inputs"])}</p>
<pre tabindex="0" role="region" aria-label="{name}, drawn">{escape(answer_check(question).diagram or "")}</pre>
{table if answers else ""}
</article>"""


def _answer(op: dict[str, Any], inputs: list[Any], target: tuple[int, ...] | None, result: Comparison) -> str:
    """Return a table row that shows a request and the result of an op for this request."""
    if result.conflict is None:
        shapes = dict.fromkeys(format_shape(output.shape) for output in result.outputs)
        verdict = f'<span class="yes">✓ {" and ".join(shapes) or "yes"}</span>'
    else:
        verdict = f'<span class="no">✗ {result.conflict.code}</span>'
    differs = "".join(f"<p>{marked_text(one.message)}</p>" for one in result.warnings if one.code == "release-differs")
    return f"<tr><th scope=row>{_link(op, inputs)}</th><td>{verdict}{differs}</td></tr>"


def _link(op: dict[str, Any], inputs: Sequence[Sequence[int]]) -> str:
    """Return an HTML link to the page for a request. The link text shows the shapes and attributes."""
    attributes = {key: value for key, value in op.items() if key != "name"}
    pairs = [("op", op["name"]), *(("input", format_attribute(shape)) for shape in inputs)]
    pairs += [(key, format_attribute(value)) for key, value in attributes.items()]
    words = " with ".join(map(format_shape, inputs))
    said = ", ".join(
        f"{key} = {format_shape(value) if type(value) is list and all(type(size) is int for size in value) else value}"
        for key, value in attributes.items()
    )
    href = escape(f"./?{urlencode(pairs, safe=',()')}")
    return f'<a href="{href}">{escape(": ".join(filter(None, (words, said))))}</a>'


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of plain text as HTML. A paragraph with two columns becomes a definition list."""
    for paragraph in text.split("\n\n"):
        rows = [re.split("  +", line) for line in paragraph.splitlines()]
        if all(len(row) == 2 for row in rows):
            yield f"<dl>{''.join(_term(f'<code>{term}</code>', description) for term, description in rows)}</dl>"
        else:
            yield f"<p>{marked_text(paragraph)}</p>"


def _term(term: str, description: str) -> str:
    return f"<dt>{term}</dt><dd>{marked_text(description)}</dd>"
