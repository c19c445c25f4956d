"""The conversion of a drawing into plain text."""

from __future__ import annotations

from .drawing import Cell, Drawing, Row

_LEGEND = {"*": "* stretched", "~": "~ stretched for some sizes", "+": "+ new axis", "^": "^ conflict"}


def drawing_as_text(drawing: Drawing) -> str:
    """Return the table of a drawing as text with aligned columns and a horizontal rule above the outputs."""
    rank = len(drawing.heads)
    rows = [Row("axis", [Cell(head) for head in drawing.heads]), *drawing.rows]
    texts = [[""] * (rank - len(row.cells)) + [_text(cell) for cell in row.cells] for row in rows]
    texts[0] = [f"{head or ' '} " for head in drawing.heads]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    label = max(len(row.name) for row in rows) + 2
    lines = [
        (row.name.ljust(label) + "  ".join(map(str.rjust, cells, widths))).rstrip()
        for row, cells in zip(rows, texts, strict=True)
    ]
    if drawing.ruled is not None:
        lines.insert(drawing.ruled + 1, " " * label + "-" * max(sum(widths) + 2 * (rank - 1), 1))
    if drawing.omitted_inputs:
        lines.append(f"and {drawing.omitted_inputs} more inputs")
    marks = {cell.mark for row in drawing.rows for cell in row.cells}
    legend = "   ".join(text for mark, text in _LEGEND.items() if mark in marks)
    return "\n".join([*lines, legend] if legend else lines)


def _text(cell: Cell) -> str:
    if not cell.size:
        return cell.mark and f"{cell.mark} "
    return f"{cell.size}{cell.mark or ' '}"
