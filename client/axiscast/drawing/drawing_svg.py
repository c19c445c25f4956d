"""The drawing of a request as a part of an SVG document. It shows the scenes and the table of axes."""

from __future__ import annotations

from collections.abc import Sequence

from ..wire.shapes import format_shape
from .drawing import Cell, Drawing, Row
from .scenes import Layer, Scene, places_along
from .svg_document import Block, clip, escape_xml, hue_of, svg_text

MAX_DRAWN_AXES = 12
"""The maximum number of columns in a picture's table. A wider table shows only the conflict and the last columns."""
_MAX_CHARACTERS = 14
_MAX_DEPTH = 3
_MAX_SCENES = 2
"""The maximum numbers of characters per size, of planes behind the front plane, and of scenes."""
_CELL, _GAP, _SHIFT, _ROW, _WRAP_WIDTH = 44, 4, 10, 32, 900
_COPY_CLASSES = {"stretch": "copy", "new": "copy dots", "maybe": "copy sure"}
_LEGEND = {
    "stretch": "a copy along a stretched axis",
    "new": "a copy along a new axis",
    "maybe": "a copy for some sizes",
}


def drawing_block(drawing: Drawing) -> Block:
    """Return a block that shows the first scenes of a drawing, with the table of axes below them."""
    scenes = drawing.scenes[:_MAX_SCENES]
    blocks = [*map(_scene, scenes), *_legend(scenes), _table(drawing)]
    elements, y = [], 4.0
    for block in blocks:
        elements += [f'<g transform="translate(0 {y:g})">', *block.elements, "</g>"]
        y += block.height + 12
    return Block(elements, max(block.width for block in blocks), y - 12)


def _letter(number: int) -> str:
    return chr(97 + number) if number < 26 else f"input {number}"


def _scene(scene: Scene) -> Block:
    """Return the panels of a scene: one for the output, and one for each input in the shape of the output."""
    panels = [
        _panel(scene, [layer], hue_of(layer.input), f"{_letter(layer.input)} {format_shape(layer.shape)}")
        for layer in scene.layers
    ]
    panels.append(_panel(scene, scene.layers, None, f"output {format_shape(scene.shape)}"))
    elements, x, y, widest, tallest = [], 0.0, 0.0, 0.0, 0.0
    for number, panel in enumerate(panels):
        sign = "" if not number else "→" if number == len(panels) - 1 else "and"
        before = 48 if sign else 0
        if x and x + before + panel.width > _WRAP_WIDTH:
            x, y, tallest = 0, y + tallest + 12, 0
        if sign:
            elements.append(svg_text(x + 24, y + (panel.height - 22) / 2 + 5, sign, "soft", "middle"))
        elements += [f'<g transform="translate({x + before:g} {y:g})">', *panel.elements, "</g>"]
        x += before + panel.width
        widest, tallest = max(widest, x), max(tallest, panel.height)
    height = y + tallest
    if scene.omitted_layers:
        elements.append(
            svg_text(
                0,
                height + 16,
                f"the first {len(scene.layers)} of {len(scene.layers) + scene.omitted_layers} inputs",
                "soft",
            )
        )
        height += 24
    return Block(elements, widest, height)


def _panel(scene: Scene, layers: Sequence[Layer], hue: int | None, caption: str) -> Block:
    """Return the front plane of an input or the output. Rectangles behind the front plane represent further planes.

    `hue` is the color of the input, or None for the output.
    """
    slots = [places_along(size) for size in scene.shape]
    columns, rows = (slots[-1] if slots else [0]), (slots[-2] if len(slots) > 1 else [0])
    caption = clip(caption, 40)
    name, _, shape = caption.partition(" ")
    color = "" if hue is None else f"t{hue}"
    label = f'<tspan class="mono bold {color}">{escape_xml(name)}</tspan>'
    label += f'<tspan class="mono soft"> {escape_xml(shape)}</tspan>'
    if 0 in scene.shape:
        box = f'<rect class="none edge cell copy" x="1" y="1" width="120" height="{_CELL}" rx="6"/>'
        texts = [svg_text(61, _CELL / 2 + 5, "no elements", "soft", "middle"), f'<text y="{_CELL + 20}">{label}</text>']
        return Block([box, *texts], max(122, 8.5 * len(caption)), _CELL + 26)
    depth = min(_MAX_DEPTH, len(slots[-3]) - 1) if len(slots) > 2 else 0
    side, top = _CELL + _GAP, depth * _SHIFT
    width, height = len(columns) * side - _GAP, len(rows) * side - _GAP
    elements = [
        f'<rect {_paint(layers, hue, "copy")} x="{back * _SHIFT + 1}" y="{top - back * _SHIFT + 1}" '
        f'width="{width - 2}" height="{height - 2}" rx="6"/>'
        for back in range(depth, 0, -1)
    ]
    if depth:
        elements.append(f'<rect class="card" y="{top}" width="{width}" height="{height}" rx="6"/>')
    for down, row in enumerate(rows):
        for right, column in enumerate(columns):
            x, y = right * side, top + down * side
            if row is None or column is None:
                elements.append(svg_text(x + _CELL / 2, y + _CELL / 2 + 4, "…", "soft", "middle"))
            else:
                place = [0] * (len(slots) - 2) + [row, column][-len(slots) :] if slots else []
                elements += _cell(scene, layers, hue, place, x, y)
    elements.append(f'<text y="{top + height + 20}">{label}</text>')
    return Block(elements, max(width + top, 8.5 * len(caption)), top + height + 26)


def _paint(layers: Sequence[Layer], hue: int | None, kind: str) -> str:
    """Return the SVG attributes that color a cell. A cell of the output has the colors of all inputs that it reads."""
    edge = "edge" if hue is None else f"e{hue}"
    if len(layers) == 1:
        return f'class="cell f{hue_of(layers[0].input)} {edge} {kind}"'
    hues = "-".join(str(hue_of(layer.input)) for layer in layers)
    return f'class="cell {edge} {kind}" fill="url(#axiscast-{hues})"'


def _cell(
    scene: Scene, layers: Sequence[Layer], hue: int | None, place: Sequence[int], x: float, y: float
) -> list[str]:
    """Return a cell with the names of the elements that the cell reads. Names of copied elements are grey."""
    found = [layer.element(scene.factors_at(place)) for layer in layers]
    copy = "" if hue is None else found[0].copy
    labels = [_label(layer, element.indices) for layer, element in zip(layers, found, strict=True)]
    paint = _paint(layers, hue, _COPY_CLASSES.get(copy, ""))
    elements = [f'<rect {paint} x="{x + 1:g}" y="{y + 1:g}" width="{_CELL - 2}" height="{_CELL - 2}" rx="6"/>']
    size = min(14.0, 1.5 * (_CELL - 6) / max(map(len, labels)), (_CELL - 6) / len(labels))
    step = (_CELL - 10) / len(labels)
    for number, label in enumerate(labels):
        side = 0 if len(labels) == 1 else -1 if number == 0 else 1 if number == len(labels) - 1 else 0
        at, anchor = x + _CELL / 2 + side * (_CELL / 2 - 5), {-1: "start", 0: "middle", 1: "end"}[side]
        down = y + 5 + step * (number + 0.5) + size / 3
        elements.append(svg_text(at, down, label, "soft" if copy else "bold", anchor, size))
    return elements


def _label(layer: Layer, index: Sequence[int]) -> str:
    """Return the name of an element: the input's letter and the last three indices, without axes of size 1."""
    shown = [at for at, size in zip(index, layer.shape, strict=False) if size != 1][-3:]
    if max(shown, default=0) > 99999:
        return f"{_letter(layer.input)}…"
    return _letter(layer.input) + ("," if max(shown, default=0) > 9 else "").join(map(str, shown))


def _legend(scenes: Sequence[Scene]) -> list[Block]:
    kinds = {kind for scene in scenes if 0 not in scene.shape for layer in scene.layers for kind in layer.kinds}
    elements, x = [], 0.0
    for kind, meaning in _LEGEND.items():
        if kind in kinds:
            shape = f'x="{x + 1:g}" y="1" width="14" height="14" rx="3"'
            elements += [
                f'<rect class="none edge cell {_COPY_CLASSES[kind]}" {shape}/>',
                svg_text(x + 22, 12, meaning, "soft small"),
            ]
            x += 36 + 6.6 * len(meaning)
    return [Block(elements, x, 16)] if elements else []


# --- the table -------------------------------------------------------------------------------------


def _table(drawing: Drawing) -> Block:
    """Return the table of axes, with a colored column for a conflict."""
    rank = len(drawing.heads)
    rows = [row._replace(cells=[Cell()] * (rank - len(row.cells)) + row.cells) for row in drawing.rows]
    marks = next((row.cells for row in rows if not row.name), [])
    rows = [row for row in rows if row.name]
    blamed = [column for column, cell in enumerate(marks) if cell.mark]
    shown = _shown_columns(rank, blamed)
    texts = [[_size_texts(row, column, drawing.reached) for column in shown] for row in rows]
    heads = [_head(drawing.heads[column]) for column in shown]
    widths = [
        max(len(text[0]) + len(text[1]) for text in column) * 8.7 + 28
        for column in zip(*texts, [(head, "") for head in heads], strict=True)
    ]
    left = 108.0
    ends = [left + sum(widths[: number + 1]) for number in range(len(widths))]
    elements, top = [], 26
    for number, (column, end, width) in enumerate(zip(shown, ends, widths, strict=True)):
        if column in blamed:
            elements.append(
                f'<rect class="bad" x="{end - width:g}" y="{top}" width="{width:g}" height="{_ROW * len(rows)}"/>'
            )
        elements.append(svg_text(end - width / 2, 18, heads[number], "soft small", "middle"))
    for down, row in enumerate(rows):
        y = top + _ROW * down
        kind = "edge" if down == drawing.ruled else "line"
        elements.append(f'<path class="{kind}" d="M0 {y}H{ends[-1]:g}"/>')
        elements += _row_name(row, y + 21)
        is_output = drawing.ruled is not None and down >= drawing.ruled
        for column, end, width, (size, new) in zip(shown, ends, widths, texts[down], strict=True):
            color = "no bold" if column in blamed and size else "bold" if is_output else ""
            content = f'<tspan class="mono {color}">{escape_xml(size)}</tspan>'
            content += (
                f'<tspan class="mono {"new" if row.cells[column].mark == "+" else "stretch"}">{escape_xml(new)}</tspan>'
            )
            elements.append(f'<text x="{end - width / 2:g}" y="{y + 21}" text-anchor="middle">{content}</text>')
    height = top + _ROW * len(rows)
    for note in _notes(drawing, rank, shown):
        elements.append(svg_text(0, height + 16, note, "soft small"))
        height += 22
    return Block(elements, ends[-1], height)


def _shown_columns(rank: int, blamed: Sequence[int]) -> list[int]:
    """Return the indices of the drawn columns: all columns, or the conflict and the last columns."""
    last = range(max(0, rank - MAX_DRAWN_AXES), rank)
    first = [column for column in blamed if column not in last][:1]
    return [*first, *last[len(first) :]]


def _notes(drawing: Drawing, rank: int, shown: Sequence[int]) -> list[str]:
    inputs, axes = drawing.omitted_inputs, rank - len(shown)
    notes = [f"and {inputs} more input{'s' if inputs > 1 else ''}"] if inputs else []
    return [*notes, f"and {axes} more ax{'e' if axes > 1 else 'i'}s on the left"] if axes else notes


def _head(name: str) -> str:
    return f"axis {name}" if name[:1].isdigit() else name


def _size_texts(row: Row, column: int, reached: Sequence[str]) -> tuple[str, str]:
    """Return the size that a cell shows, and how broadcasting changes the size."""
    size, mark, _ = row.cells[column]
    size = clip(size, _MAX_CHARACTERS)
    to = f" → {clip(reached[column], _MAX_CHARACTERS)}" if column < len(reached) and reached[column] else ""
    if mark == "+":
        return "", f"new{to}"
    return size, to if mark == "*" else " ~" if mark == "~" else ""


def _row_name(row: Row, y: float) -> list[str]:
    if row.input is None:
        return [svg_text(0, y, row.name, "bold")]
    letter = f"{_letter(row.input)} " if row.input < 26 else ""
    name = f'<tspan class="bold t{hue_of(row.input)}">{letter}</tspan><tspan class="soft">{row.name}</tspan>'
    return [f'<text y="{y:g}">{name}</text>']
