"""The SVG documents of pictures: their style sheet, their paragraphs and their other blocks.

A picture contains no script and loads no external resource. Its colors follow the reader's color scheme.
"""

from __future__ import annotations

import re
import textwrap
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import NamedTuple

_MAX_LINES = 8
"""The maximum number of lines per paragraph. Code can have five times as many."""
_LINE, _MIN_WIDTH, _MARGIN = 21, 600, 20
_HUES = [
    ("#c2e1ff", "#337bd0", "#0859ac", "#284972", "#64a1ee", "#88c1ff"),
    ("#ffd5b3", "#b86000", "#943e00", "#673c14", "#d98941", "#f6ab6b"),
    ("#c0ebc8", "#1b9247", "#007026", "#235430", "#5cb572", "#83d494"),
    ("#f2d1f9", "#a059b1", "#7e388e", "#5b3862", "#c282d0", "#e0a4ee"),
    ("#abebf3", "#0091a4", "#006f82", "#00535c", "#00b5c5", "#44d4e2"),
    ("#ebdeae", "#967700", "#765600", "#554704", "#b89d2b", "#d6bd5c"),
    ("#d9d9ff", "#736ace", "#5549aa", "#444171", "#9792ec", "#b6b3ff"),
    ("#ffcfc5", "#c35141", "#9e2e21", "#6c352d", "#e47d6d", "#ffa08f"),
]
"""The fill, edge and text color of each input, in light and dark color schemes. The web page uses the same hues."""
_PALETTE = {
    "card": ("#fff", "#1c2126"),
    "ink": ("#1b2127", "#e6e8ea"),
    "soft": ("#5d6670", "#9aa4ae"),
    "line": ("#dcdcd6", "#31383f"),
    "edge": ("#7f868e", "#6c7680"),
    "fix": ("#e6f4ea", "#17301f"),
    "yes": ("#17703f", "#6fce97"),
    "no": ("#b3261e", "#ff8a80"),
    "bad": ("#fbe6e3", "#4a2422"),
    "maybe": ("#8a5300", "#e2b45c"),
    "stretch": ("#1f57b5", "#8ab8ff"),
    "new": ("#8326a3", "#dd9bf5"),
}
"""The other colors, in light and dark color schemes."""


def _colors(scheme: int) -> list[str]:
    """Return the CSS rules for a color scheme: 0 for light, 1 for dark."""
    palette, first = {name: pair[scheme] for name, pair in _PALETTE.items()}, 3 * scheme
    return [
        f"text{{fill:{palette['ink']}}}",
        *(f".{name}{{fill:{palette[name]}}}" for name in ("soft", "yes", "no", "maybe", "stretch", "new")),
        *(f"rect.{name}{{fill:{palette[name]}}}" for name in ("card", "fix", "bad")),
        *(f".{name}{{stroke:{palette[name]}}}" for name in ("line", "edge")),
        f".product rect.marked{{stroke:{palette['ink']}}}",
        f".conflict .marked{{fill:{palette['no']}}}",
        f".conflict rect.marked{{fill:{palette['bad']};stroke:{palette['no']}}}",
        *(f".f{hue}{{fill:{colors[first]}}}" for hue, colors in enumerate(_HUES)),
        *(f".e{hue}{{stroke:{colors[first + 1]}}}" for hue, colors in enumerate(_HUES)),
        *(f".t{hue}{{fill:{colors[first + 2]}}}" for hue, colors in enumerate(_HUES)),
        *(f".g{hue}{{stop-color:{colors[first]}}}" for hue, colors in enumerate(_HUES)),
    ]


_SHAPES = [
    ".mono{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}",
    *(".bold{font-weight:600}", ".head{font-size:20px;font-weight:600}", ".small{font-size:12px}", ".none{fill:none}"),
    *(".cell{stroke-width:2}", ".copy{fill-opacity:.4;stroke-opacity:.7;stroke-dasharray:5 3}"),
    *(".dots{stroke-dasharray:2 3}", ".sure{fill-opacity:1}"),
    "rect.marked{stroke-width:4}",
]


def _scoped(rules: Iterable[str]) -> str:
    """Return CSS rules that apply only to axiscast's pictures, even if a notebook shows other pictures beside them."""
    return "".join(f".axiscast {rule}" for rule in rules)


STYLE = f"{_scoped([*_SHAPES, *_colors(0)])}@media(prefers-color-scheme:dark){{{_scoped(_colors(1))}}}"
"""The style sheet that all pictures share, so that pictures in the same document do not affect each other."""
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'sha256-"
    + b64encode(sha256(STYLE.encode()).digest()).decode()
    + "'; sandbox; frame-ancestors 'none'"
)
"""The Content-Security-Policy of a response with a picture. The policy allows only the picture's style sheet."""


class Block(NamedTuple):
    """A block of a picture: its SVG elements, positioned from its top left corner, and its size in pixels."""

    elements: list[str]
    width: float
    height: float

    def as_svg(self) -> str:
        """Return the block as an SVG document without a style sheet, for a page that has the style sheet."""
        width, height = f"{self.width + 4:g}", f"{self.height + 4:g}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="axiscast" width="{width}" height="{height}" '
            f'viewBox="-2 -2 {width} {height}" font-size="14"><defs>{_gradients([self])}</defs>'
            f"{''.join(self.elements)}</svg>"
        )


class Paragraph(NamedTuple):
    """A paragraph of a picture. Its lines are wrapped at the width of the picture."""

    text: str
    kind: str = ""
    """A space-separated list of classes: "head", "yes", "no", "maybe", "soft", "mono", "fix" (in a box)."""


def svg_document(title: str, parts: Iterable[Paragraph | Block]) -> str:
    """Return an SVG document that shows these blocks from top to bottom. All text is escaped."""
    blocks = [part for part in parts if part != Paragraph("")]
    width = max([_MIN_WIDTH, *(block.width for block in blocks if isinstance(block, Block))])
    body, y = [], float(_MARGIN)
    for part in blocks:
        block = _paragraph(part, width) if isinstance(part, Paragraph) else part
        body += [f'<g transform="translate({_MARGIN} {y:g})">', *block.elements, "</g>"]
        y += block.height + 8
    whole, tall = width + 2 * _MARGIN, y + _MARGIN - 8
    font = 'class="axiscast" font-family="system-ui,sans-serif" font-size="14"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole:g}" height="{tall:g}" viewBox="0 0 {whole:g} {tall:g}" '
        f'{font} role="img"><title>{escape_xml(title)}</title><style>{STYLE}</style><defs>{_gradients(blocks)}</defs>'
        f'<rect class="card line cell" x="1" y="1" width="{whole - 2:g}" height="{tall - 2:g}" rx="8"/>'
        f"{''.join(body)}</svg>\n"
    )


_INVALID = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape_xml(text: str) -> str:
    """Return a string that is escaped for XML. A character that XML does not allow is replaced by a question mark."""
    return escape(_INVALID.sub("?", text))


def svg_text(x: float, y: float, text: str, kind: str = "", anchor: str = "", size: float = 0) -> str:
    """Return an SVG text element. `kind` lists its classes. `size` is its font size in pixels, or 0 for the default."""
    classes = f' class="{kind}"' if kind else ""
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    sized = f' font-size="{size:g}"' if size else ""
    return f'<text x="{x:g}" y="{y:g}"{classes}{anchored}{sized}>{escape_xml(text)}</text>'


def clip(text: str, length: int) -> str:
    """Return the string, shortened to `length` characters if it is longer. An ellipsis replaces the removed end."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _paragraph(paragraph: Paragraph, width: float) -> Block:
    """Return a paragraph whose lines are wrapped at a width, which is estimated from an average letter."""
    text, kind = paragraph
    kinds = kind.split()
    line, letter = (28, 11.8) if "head" in kinds else (_LINE, 8.5 if "mono" in kinds else 7.2)
    pad = 10 if "fix" in kinds else 0
    lines: list[str] = []
    for given in text.split("\n"):
        lines += textwrap.wrap(given, int((width - 2 * pad) / letter)) or [""]
    limit = 5 * _MAX_LINES if "mono" in kinds else _MAX_LINES
    if len(lines) > limit:
        lines[limit - 1 :] = [f"{lines[limit - 1]}…"]
    height = line * len(lines) + pad
    box = [f'<rect class="fix" width="{width:g}" height="{height:g}" rx="6"/>'] if pad else []
    kept = f'<g class="{kind}" xml:space="preserve">' if "mono" in kinds else "<g>"
    texts = [svg_text(pad, pad / 2 + line * (row + 0.75), one, kind) for row, one in enumerate(lines)]
    return Block([*box, kept, *texts, "</g>"], width, height)


def hue_of(number: int) -> int:
    """Return the index of an input's color. After the last color, the colors repeat."""
    return number % len(_HUES)


def _gradients(blocks: Sequence[Block | Paragraph]) -> str:
    """Return the SVG gradients that output cells use. Two gradients with the same name are identical."""
    names = {
        name for block in blocks if isinstance(block, Block) for one in block.elements for name in _URL.findall(one)
    }
    gradients = []
    for name in sorted(names):
        hues = name.split("-")[1:]
        stops = "".join(
            f'<stop class="g{hue}" offset="{number / len(hues):g}"/>'
            f'<stop class="g{hue}" offset="{(number + 1) / len(hues):g}"/>'
            for number, hue in enumerate(hues)
        )
        gradients.append(f'<linearGradient id="{name}" x2="1" y2="1">{stops}</linearGradient>')
    return "".join(gradients)


_URL = re.compile(r"url\(#([a-z0-9-]+)\)")
