"""The page about a problem: its meaning and its fix."""

from __future__ import annotations

from html import escape

from axiscast.wire.problems import PROBLEM_KINDS

from .html_page import generated_page, marked_text


def problem_page(code: str, docs: bool) -> str:
    """Return the page about a problem as HTML. If `docs` is false, the page does not link to the documentation."""
    status, title, remedy = PROBLEM_KINDS[code]
    links = "".join(f'<li><a href="{other}">{other}</a></li>' for other in PROBLEM_KINDS)
    content = f"""<main class="reference" id="main">
<p><b>{escape(title)}.</b> The response has status {status}.</p>
<h2>Fix</h2>
<p>{marked_text(remedy)}</p>
<p>A response has <code>detail</code>, which describes the problem in the request. It often has
<code>pointer</code>, the path of the invalid field, or <code>parameter</code>, the name of the invalid
query parameter. <code>errors</code> lists all faults of the request.</p>
</main>
<nav aria-label="Problems"><h2>All problems</h2><ul>{links}</ul></nav>"""
    description = f"{title}: what it means and how to fix it."
    return generated_page(code, description, f"problem {code}", content, "../", docs=docs)
