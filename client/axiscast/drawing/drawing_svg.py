"""The drawing of a request as a part of an SVG document. It shows the scenes and the table of axes."""

from __future__ import annotations

from collections.abc import Sequence

from ..wire.shapes import format_shape
from .drawing import Cell, Drawing, Row
from .scenes import Layer, Panel, Scene, letter_of, places_along
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


def drawing_rows(drawing: Drawing) -> list[list[Block]]:
    """Return the parts of a drawing, row by row: the table, the arrays side by side, each scene, and the legend."""
    scenes = drawing.scenes[:_MAX_SCENES]
    kind, sign = ("product", "\u00d7") if drawing.is_product else ("conflict", "and")
    arrays = [_array(panel, kind) for panel in drawing.panels]
    signs = ["=" if panel.name == "result" else sign for panel in drawing.panels]
    rows = [_joined(arrays, signs), *(_scene(scene, drawing.is_product) for scene in scenes), _legend(scenes)]
    return [[_table(drawing)], *(row for row in rows if row)]


def drawing_block(drawing: Drawing) -> Block:
    """Return a drawing as one block. A row that is too wide is wrapped."""
    elements, y, widest = [], 4.0, 0.0
    for row in drawing_rows(drawing):
        x, tallest = 0.0, 0.0
        for block in row:
            if x and x + block.width > _WRAP_WIDTH:
                x, y, tallest = 0, y + tallest + 12, 0
            elements += [f'<g transform="translate({x:g} {y:g})">', *block.elements, "</g>"]
            x += block.width
            widest, tallest = max(widest, x), max(tallest, block.height)
        y += tallest + 12
    return Block(elements, widest, y - 12)


def _joined(panels: Sequence[Block], signs: Sequence[str]) -> list[Block]:
    """Return panels, each except the first with a sign on its left."""
    joined = [*panels[:1]]
    for sign, panel in zip(signs[1:], panels[1:], strict=True):
        middle = svg_text(24, (panel.height - 22) / 2 + 5, sign, "soft", "middle")
        joined.append(
            Block([middle, '<g transform="translate(48 0)">', *panel.elements, "</g>"], 48 + panel.width, panel.height)
        )
    return joined


def _scene(scene: Scene, is_operand: bool) -> list[Block]:
    """Return the panels of a scene: one for the output, and one for each input in the shape of the output."""
    layers, omitted = scene.layers, scene.omitted_layers
    panels = [_panel(scene, [layer], letter_of(layer.input), layer.shape) for layer in layers]
    panels.append(_panel(scene, layers, "operand" if is_operand else "output", scene.shape, is_output=True))
    joined = _joined(panels, [*["and"] * len(layers), "→"])
    if omitted:
        note = f"the first {len(layers)} of {len(layers) + omitted} inputs"
        joined.append(Block([svg_text(12, 16, note, "soft")], 12 + 7.2 * len(note), 24))
    return joined


def _array(panel: Panel, kind: str) -> Block:
    """Return the cells of an array, in which the cells along the marked axis stand out."""
    shape, axes = panel.shape, tuple(range(len(panel.shape)))
    layers = [] if panel.input is None else [Layer(panel.input, shape, shape, axes, ("",) * len(shape))]
    scene = Scene(shape, tuple((size,) for size in shape), layers, 0)
    block = _panel(scene, layers, panel.name, shape, panel.marked)
    return block._replace(elements=[f'<g class="{kind}">', *block.elements, "</g>"])


def _panel(
    scene: Scene,
    layers: Sequence[Layer],
    name: str,
    shape: Sequence[object],
    marked: int | None = None,
    is_output: bool = False,
) -> Block:
    """Return the front plane of an array. Rectangles behind the front plane represent further planes."""
    slots = [places_along(size) for size in scene.shape]
    columns, rows = (slots[-1] if slots else [0]), (slots[-2] if len(slots) > 1 else [0])
    hue = None if is_output or not layers else hue_of(layers[0].input)
    caption = clip(f"{name} {format_shape(shape)}", 40)
    label = _caption(caption.partition(" ")[2], name, hue, marked)
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
                is_marked = marked is not None and not any(at for axis, at in enumerate(place) if axis != marked)
                elements += _cell(scene, layers, hue, place, x, y, " marked" if is_marked else "")
    elements.append(f'<text y="{top + height + 20}">{label}</text>')
    return Block(elements, max(width + top, 8.5 * len(caption)), top + height + 26)


def _caption(shape: str, name: str, hue: int | None, marked: int | None) -> str:
    """Return the name and the shape of an array, in which the size of the marked axis is bold."""
    sizes = shape.split(", ")
    if marked is not None and 0 <= marked < len(sizes):
        before, after = "(" * (marked == 0), ")" * (marked == len(sizes) - 1)
        size = sizes[marked].strip("(),")
        sizes[marked] = f'{before}<tspan class="bold marked">{escape_xml(size)}</tspan>{after}'
    color = "" if hue is None else f"t{hue}"
    named = f'<tspan class="mono bold {color}">{escape_xml(name)}</tspan>'
    return f'{named}<tspan class="mono soft"> {", ".join(sizes)}</tspan>'


def _paint(layers: Sequence[Layer], hue: int | None, kind: str) -> str:
    """Return the SVG attributes that color a cell. A cell of the output has the colors of all inputs that it reads."""
    edge = "edge" if hue is None else f"e{hue}"
    if not layers:
        return f'class="cell none {edge} {kind}"'
    if len(layers) == 1:
        return f'class="cell f{hue_of(layers[0].input)} {edge} {kind}"'
    hues = "-".join(str(hue_of(layer.input)) for layer in layers)
    return f'class="cell {edge} {kind}" fill="url(#axiscast-{hues})"'


def _cell(
    scene: Scene, layers: Sequence[Layer], hue: int | None, place: Sequence[int], x: float, y: float, marked: str
) -> list[str]:
    """Return a cell with the names of the elements that the cell reads. Names of copied elements are grey."""
    found = [layer.element(scene.factors_at(place)) for layer in layers]
    copy = "" if hue is None else found[0].copy
    labels = [_label(layer, element.indices) for layer, element in zip(layers, found, strict=True)]
    paint = _paint(layers, hue, _COPY_CLASSES.get(copy, "") + marked)
    elements = [f'<rect {paint} x="{x + 1:g}" y="{y + 1:g}" width="{_CELL - 2}" height="{_CELL - 2}" rx="6"/>']
    size = min(14.0, 1.35 * (_CELL - 6) / max(map(len, labels), default=1), (_CELL - 6) / max(1, len(labels)))
    step = (_CELL - 10) / max(1, len(labels))
    for number, label in enumerate(labels):
        side = 0 if len(labels) == 1 else -1 if number == 0 else 1 if number == len(labels) - 1 else 0
        at, anchor = x + _CELL / 2 + side * (_CELL / 2 - 5), {-1: "start", 0: "middle", 1: "end"}[side]
        down = y + 5 + step * (number + 0.5) + size / 3
        elements.append(svg_text(at, down, label, "soft" if copy else f"bold{marked}", anchor, size))
    if not layers:
        return elements
    reads = ";".join(
        f"{letter_of(layer.input)}[{', '.join(map(str, element.indices))}]"
        for layer, element in zip(layers, found, strict=True)
    )
    output = f' data-output="[{", ".join(map(str, place))}]"' if hue is None else ""
    return [f'<g data-reads="{reads}"{output}>', *elements, "</g>"]


def _label(layer: Layer, index: Sequence[int]) -> str:
    """Return the name of an element: the input's letter and the last three indices, without axes of size 1."""
    shown = [at for at, size in zip(index, layer.shape, strict=False) if size != 1][-3:]
    if max(shown, default=0) > 99999:
        return f"{letter_of(layer.input)}…"
    return letter_of(layer.input) + ("," if max(shown, default=0) > 9 else "").join(map(str, shown))


def _legend(scenes: Sequence[Scene]) -> list[Block]:
    kinds = {kind for scene in scenes if 0 not in scene.shape for layer in scene.layers for kind in layer.kinds}
    legend = []
    for kind, meaning in _LEGEND.items():
        if kind in kinds:
            cell = f'<rect class="none edge cell {_COPY_CLASSES[kind]}" x="1" y="1" width="14" height="14" rx="3"/>'
            legend.append(Block([cell, svg_text(22, 12, meaning, "soft small")], 36 + 6.6 * len(meaning), 16))
    return legend


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
        max(6.6 * len(head), *(8.7 * len(size + new) for size, new in column)) + 24
        for head, column in zip(heads, zip(*texts, strict=True), strict=True)
    ]
    left = 12 + 8.7 * max(len(_row_name(row)) for row in rows)
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
        hue = "" if row.input is None else f" t{hue_of(row.input)}"
        elements.append(svg_text(0, y + 21, _row_name(row), f"mono bold{hue}"))
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
    if mark == "~" and size != "1":
        return size, f"{to} if 1"
    return size, to if mark in ("*", "~") else ""


def _row_name(row: Row) -> str:
    return row.name if row.input is None else letter_of(row.input)
