"""The HTML template of all pages, and the template of /ops and /problems, whose content is generated from tables."""

from __future__ import annotations

import re
from html import escape


def html_page(title: str, description: str, content: str) -> str:
    """Return an HTML page. `content` is HTML, beginning with links and scripts. The other arguments are escaped."""
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{escape(description)}">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
{content}"""


def generated_page(
    title: str, description: str, heading: str, content: str, root: str, script: str = "", *, docs: bool = True
) -> str:
    """Return an HTML page in the style of the page at /. `root` is the relative path to /: "" or "../".

    `title` and `description` are escaped. `heading` and `content` are HTML, and `content` has an element with the id
    `main`. `script` is a file in static/. If `docs` is false, the page does not link to the documentation.
    """
    module = f'<script type="module" src="{root}static/{script}"></script>\n' if script else ""
    links = "".join(f'<a href="{root}{path}">{name}</a>' for path, name in _DOCS.items())
    nav = f'<nav aria-label="Documentation">{links}</nav>\n' if docs else ""
    return html_page(
        f"{title} · axiscast",
        description,
        f"""<link rel="stylesheet" href="{root}static/page.css">
{module}<a class="skip" href="#main">Skip to the content</a>
<header>
  <h1><a href="{root or "."}">axiscast</a> {heading}</h1>
  <p>{escape(description)}</p>
  {nav}</header>
{content}
""",
    )


def marked_text(text: str) -> str:
    """Return plain text as HTML, with `<code>` elements for the parts between backticks."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


_DOCS = {"ops": "All ops", "docs": "API", "openapi.json": "OpenAPI"}
