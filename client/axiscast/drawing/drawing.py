"""The description of a drawing. The text, the SVG picture and the web page are generated from this description.

A drawing consists of a table and scenes. The table has a column for each axis and a row for each input. A scene shows
the inputs in the shape of the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..checks.symbolic.symbolic import SymbolicPlacement, SymbolicPlan
from ..ops import Op
from ..plan.alignment import Alignment, Conflict, ShapeMismatch
from ..plan.plan import Placement, Plan, Shape
from .scenes import LAYERS, Panel, Scene, letter_of, scenes_of

MAX_DRAWN_INPUTS = 8
"""The maximum number of inputs in a drawing. If there are more inputs, the drawing states how many are omitted."""


class Cell(NamedTuple):
    """A cell of the table: the size of an axis, and how the axis reaches the size of the output."""

    size: str = ""
    mark: str = ""
    """The mark of an axis: "*" if stretched, "~" if stretched for some sizes, "+" if new, "^" below a conflict."""
    axis: int | None = None
    """The index of the input's or target's axis that the cell shows, or None if the op splits or merges axes."""


class Row(NamedTuple):
    """A row of the table. If `input` is None, the row shows the target, an output, the result or the conflict marks."""

    name: str
    cells: list[Cell]
    input: int | None = None


class Drawing(NamedTuple):
    """The table and the scenes of a request."""

    heads: list[str]
    """The name of each column: the index of an output axis, or "sum" for a summed axis, and its label in an einsum.

    If an output axis has several columns, because the op merges axes, each of these columns has the index as its name.
    """
    rows: list[Row]
    """The rows. A row with fewer cells than the table has columns is right-aligned."""
    ruled: int | None
    """The index of the first row below the horizontal rule, or None if there is no output."""
    omitted_inputs: int
    scenes: list[Scene]
    reached: list[str]
    """The size in each column after broadcasting, or an empty list if these sizes are unknown."""
    conflict: Conflict | None
    shapes: tuple[Shape, ...]
    """The shapes of the inputs."""
    panels: list[Panel]
    """The arrays that conflict, or the operands and the result of a product. Otherwise, the list is empty."""

    @property
    def is_product(self) -> bool:
        """Whether the drawing shows a product that fits."""
        return self.rows[-1].name == "result"


def describe_drawing(op: Op, shapes: tuple[Shape, ...], outcome: Plan | SymbolicPlan | Conflict) -> Drawing:
    """Return the description of a drawing. Its table has a row per input, target and output, and a column per axis.

    The table of a matrix product also has a column for the summed axis and a row for the result. If the op's rule
    cannot align the shapes, the table shows them right-aligned.
    """
    alignment = _alignment(op, shapes)
    if alignment is not None and alignment.result is not None:
        heads, rows, ruled = _product(shapes, alignment, outcome)
    else:
        heads, rows, ruled = _broadcast(op, shapes, alignment, outcome)
    omitted_inputs, scenes = max(0, len(shapes) - MAX_DRAWN_INPUTS), scenes_of(shapes, outcome)
    reached = [*map(str, scenes[0].factors)] if scenes else []
    if alignment is not None and alignment.result is not None:
        reached = [cell.size for cell in rows[-1].cells]
        scenes = [scene for scene in scenes if scene.has_copies]
    panels = _panels(op, shapes, heads, rows, outcome)
    conflict = outcome if isinstance(outcome, Conflict) else None
    return Drawing(heads, rows, ruled, omitted_inputs, scenes, reached, conflict, shapes, panels)


def _panels(
    op: Op, shapes: tuple[Shape, ...], heads: list[str], rows: list[Row], outcome: Plan | SymbolicPlan | Conflict
) -> list[Panel]:
    """Return the arrays that have the axis of a conflict, or the operands and the result of a product."""
    is_conflict = isinstance(outcome, Conflict)
    columns = [column for column, head in enumerate(heads) if head.startswith("sum")]
    if is_conflict:
        columns = [column for column, cell in enumerate(rows[-1].cells) if cell.mark]
    elif rows[-1].name != "result":
        return []
    panels = []
    for row in rows:
        left = len(heads) - len(row.cells)
        axes = [row.cells[column - left].axis for column in columns if column >= left]
        marked = next((axis for axis in axes if axis is not None), None)
        if row.input is not None:
            panels.append(Panel(letter_of(row.input), row.input, shapes[row.input], marked))
        elif row.name == "target":
            panels.append(Panel("target", None, tuple(getattr(op, op.target or "")), marked))
        elif row.name == "result" and not isinstance(outcome, Conflict):
            panels.append(Panel("result", None, outcome.result or (), -1))
    return [panel for panel in panels if not is_conflict or panel.marked is not None][-LAYERS:]


def _alignment(op: Op, shapes: tuple[Shape, ...]) -> Alignment | None:
    try:
        alignment = op.align(shapes)
    except ShapeMismatch:
        return None
    return alignment if alignment.refusal is None else None


def _broadcast(
    op: Op, shapes: tuple[Shape, ...], alignment: Alignment | None, outcome: Plan | SymbolicPlan | Conflict
) -> tuple[list[str], list[Row], int | None]:
    """Return the column headings, the rows, and the index of the first row below the horizontal rule."""
    target = getattr(op, op.target) if op.target else None
    plan = None if isinstance(outcome, Conflict) else outcome
    rows = [
        Row(f"input {number}", _input_cells(alignment, plan, number) if alignment else _plain(shape), number)
        for number, shape in enumerate(shapes[:MAX_DRAWN_INPUTS])
    ]
    if target is not None:
        rows.append(Row("target", _plain(target)))
    ruled = len(rows) if plan and plan.outputs else None
    if plan is not None:
        outputs = [*map(_output_cells, plan.outputs[: min(op.output_count(len(shapes)), MAX_DRAWN_INPUTS)])]
        alike = len({*map(tuple, outputs)}) == 1
        name = "output" if len(outputs) == 1 else "outputs"
        rows += [
            Row(name if alike else f"output {number}", cells)
            for number, cells in enumerate(outputs[:1] if alike else outputs)
        ]
    rank = max(len(row.cells) for row in rows)
    if rank == 0:
        rows = [row._replace(cells=[Cell("()")]) for row in rows]
    if isinstance(outcome, Conflict):
        blamed = outcome.axis
        if (
            blamed is None and alignment is None and len(outcome.axes) == len(shapes) == 1
        ):  # the diagram is right-aligned
            blamed = outcome.axes[0]
        if blamed is not None:
            rows.append(Row("", [Cell("", "^" if axis == blamed else "") for axis in range(rank)]))
    merges = alignment.outputs[0].merges if alignment and alignment.outputs else None
    names = range(rank) if merges is None else [axis for axis, count in enumerate(merges) for _ in range(count)]
    return [str(axis) for axis in names] or [""], rows, ruled


def _product(
    shapes: tuple[Shape, ...], alignment: Alignment, outcome: Plan | SymbolicPlan | Conflict
) -> tuple[list[str], list[Row], int | None]:
    """Return the values that `_broadcast` returns, for a matrix product. Each operand has only some of the axes."""
    result = alignment.result or ()
    columns = _product_columns(alignment)
    if not columns:  # all operands are scalars
        rows = [Row(f"input {number}", [Cell("()")], number) for number in range(min(len(shapes), MAX_DRAWN_INPUTS))]
        return [""], [*rows, Row("result", [Cell("()")])], len(rows)
    heads = [str(result.index(axis)) if axis in result else "sum" for axis in columns]
    labels = [alignment.labels[axis] if alignment.labels else "" for axis in columns]
    heads = [f"{head} ({label})" if label else head for head, label in zip(heads, labels, strict=True)]
    plan = None if isinstance(outcome, Conflict) else outcome
    rows = [
        Row(f"input {number}", _input_cells(alignment, plan, number, columns), number)
        for number in range(min(len(shapes), MAX_DRAWN_INPUTS))
    ]
    if plan is not None:
        sizes = dict(zip(result, plan.result or (), strict=True))
        cells = [Cell(str(sizes.get(axis, ""))) for axis in columns]
        return heads, [*rows, Row("result", cells if result else [*cells[:-1], Cell("()")])], len(rows)
    blamed = {outcome.axis} if isinstance(outcome, Conflict) else set()
    if isinstance(outcome, Conflict) and outcome.axes:
        place = outcome.inputs[0], outcome.axes[0]
        blamed = {axis for axis in columns if place in [term[:2] for term in alignment.axes[axis].terms]}
    return heads, [*rows, Row("", [Cell("", "^" if axis in blamed else "") for axis in columns])], None


def _product_columns(alignment: Alignment) -> list[int]:
    """Return the axes of the alignment that are an axis of a drawn operand or of the result.

    An axis is omitted if all its terms come from one input and no output has it. Such an axis only represents a
    diagonal of an input.
    """
    placed = {axis for output in alignment.outputs for axis in output.axes}.union(alignment.result or ())
    columns = []
    for axis, (_, terms, _) in enumerate(alignment.axes):
        inputs = {term.input or 0 for term in terms}
        if inputs and (axis in placed or len(inputs) > 1) and min(inputs) < MAX_DRAWN_INPUTS:
            columns.append(axis)
    return columns


def _plain(shape: tuple[object, ...]) -> list[Cell]:
    return [Cell(str(size), axis=axis) for axis, size in enumerate(shape)]


def _input_cells(
    alignment: Alignment, plan: Plan | SymbolicPlan | None, number: int, columns: Sequence[int] | None = None
) -> list[Cell]:
    """Return cells with the sizes and marks of an input, one for each axis of the alignment in `columns`.

    By default, the columns are the axes of the output that the input becomes.
    """
    own = next((output for output in alignment.outputs if output.input == number), None)
    own_axes = own.axes if own else ()
    if columns is None:
        shown = sorted({axis for output in alignment.outputs for axis in output.axes})
        columns = own_axes if own else shown or range(len(alignment.axes))
    is_whole = own is None or own.split_shape in (None, alignment.input_shapes[number])
    cells = []
    for axis in columns:
        terms = (term for term in alignment.axes[axis].terms if term.input == number and term.axis is not None)
        term = next(terms, None)
        if term is None:
            cells.append(Cell("", "+" if axis in own_axes else ""))
        else:
            mark = _mark(plan, number, own_axes.index(axis)) if axis in own_axes else ""
            cells.append(Cell(str(term.size), mark, term.axis if is_whole else None))
    return cells


def _output_cells(output: Placement | SymbolicPlacement) -> list[Cell]:
    """Return cells with the sizes of an output. A merged size is in the column of the last merged axis."""
    cells, merges = _plain(output.shape), output.merges
    if merges is None:
        return cells
    return [cell for count, size in zip(merges, cells, strict=True) for cell in (*[Cell()] * (count - 1), size)]


def _mark(plan: Plan | SymbolicPlan | None, number: int, column: int) -> str:
    for placed in plan.outputs if plan else ():
        if placed.input == number and column in placed.broadcast_axes:
            return "*"
        if isinstance(placed, SymbolicPlacement) and placed.input == number and column in placed.maybe_broadcast_axes:
            return "~"
    return ""
