"""The diagram of a request as text: aligned axes, expanded axes, new axes and conflicts."""

from __future__ import annotations

from ..ops import Op
from ..plan.alignment import Alignment, Conflict
from ..plan.plan import Placement, Plan, Shape
from .symbolic import SymbolicPlacement, SymbolicPlan

MAX_DRAWN_INPUTS = 8
"""The maximum number of inputs in a diagram. If there are more, the diagram ends with the number of missing inputs."""

_LEGEND = {"*": "* stretched", "~": "~ stretched for some sizes", "+": "+ new axis", "^": "^ conflict"}


Row = tuple[str, list[str]]
"""A row of the diagram: its label and its cells."""


def draw(
    op: Op, shapes: tuple[Shape, ...], alignment: Alignment | None, outcome: Plan | SymbolicPlan | Conflict
) -> str:
    """Return the diagram, with a line for each input, the target and each output, and a column for each axis.

    The diagram of a matrix product also has a column for the summed axis and a line for the result. If `alignment` is
    None, the op's rule found no alignment, and the diagram shows the shapes right-aligned.
    """
    if alignment is not None and alignment.result is not None:
        heads, rows, ruled = _product(shapes, alignment, outcome)
    else:
        heads, rows, ruled = _broadcast(op, shapes, alignment, outcome)
    lines = _lay_out([("axis", heads), *rows], ruled)
    if len(shapes) > MAX_DRAWN_INPUTS:
        lines.append(f"and {len(shapes) - MAX_DRAWN_INPUTS} more inputs")
    marks = set("".join(cell for _, cells in rows for cell in cells))
    legend = "   ".join(text for mark, text in _LEGEND.items() if mark in marks)
    return "\n".join([*lines, legend] if legend else lines)


def _broadcast(
    op: Op, shapes: tuple[Shape, ...], alignment: Alignment | None, outcome: Plan | SymbolicPlan | Conflict
) -> tuple[list[str], list[Row], int | None]:
    """Return the column headings, the rows, and the number of the line that is below a horizontal rule."""
    target = getattr(op, op.target) if op.target else None
    plan = None if isinstance(outcome, Conflict) else outcome
    rows = [
        (f"input {number}", _input_cells(alignment, plan, number) if alignment else _plain(shape))
        for number, shape in enumerate(shapes[:MAX_DRAWN_INPUTS])
    ]
    if target is not None:
        rows.append(("target", _plain(target)))
    ruled = len(rows) + 1 if plan and plan.outputs else None
    if plan is not None:
        outputs = list(map(_output_cells, plan.outputs[:MAX_DRAWN_INPUTS]))
        alike = len({*map(tuple, outputs)}) == 1
        name = "output" if len(outputs) == 1 else "outputs"
        rows += [
            (name if alike else f"output {number}", cells)
            for number, cells in enumerate(outputs[:1] if alike else outputs)
        ]
    rank = max(len(cells) for _, cells in rows)
    if rank == 0:
        rows = [(name, ["() "]) for name, _ in rows]
    if isinstance(outcome, Conflict):
        blamed = outcome.axis
        if (
            blamed is None and alignment is None and len(outcome.axes) == len(shapes) == 1
        ):  # the diagram is right-aligned
            blamed = outcome.axes[0]
        if blamed is not None:
            rows.append(("", ["^ " if axis == blamed else "" for axis in range(rank)]))
    return [f"{axis} " for axis in range(rank)] or ["  "], rows, ruled


def _product(
    shapes: tuple[Shape, ...], alignment: Alignment, outcome: Plan | SymbolicPlan | Conflict
) -> tuple[list[str], list[Row], int | None]:
    """Return the same values as `_broadcast` for a matrix product. Each operand has only some of the product's axes."""
    result = alignment.result or ()
    columns = [axis for axis, met in enumerate(alignment.axes) if met.terms]
    heads = [f"{result.index(axis)} " if axis in result else "sum " for axis in columns]
    plan = None if isinstance(outcome, Conflict) else outcome
    rows = [
        (f"input {number}", [_operand_cell(alignment, plan, number, axis) for axis in columns])
        for number in range(min(len(shapes), MAX_DRAWN_INPUTS))
    ]
    if plan is not None:
        sizes = dict(zip(result, plan.result or (), strict=True))
        cells = [f"{sizes[axis]} " if axis in sizes else "" for axis in columns]
        return heads, [*rows, ("result", cells if result else [*cells[:-1], "() "])], len(rows) + 1
    blamed = {outcome.axis} if isinstance(outcome, Conflict) else set()
    if isinstance(outcome, Conflict) and outcome.axes:
        place = outcome.inputs[0], outcome.axes[0]
        blamed = {axis for axis in columns if place in [term[:2] for term in alignment.axes[axis].terms]}
    return heads, [*rows, ("", ["^ " if axis in blamed else "" for axis in columns])], None


def _operand_cell(alignment: Alignment, plan: Plan | SymbolicPlan | None, number: int, axis: int) -> str:
    """Return the size of an operand on an axis with its mark, or only a mark if the operand does not have the axis."""
    own = next((output for output in alignment.outputs if output.input == number and axis in output.axes), None)
    for term in alignment.axes[axis].terms:
        if term.input == number and term.axis is not None:
            return f"{term.size}{_mark(plan, number, own.axes.index(axis)) if own else ' '}"
    return "+ " if own else ""


def _plain(shape: tuple[object, ...]) -> list[str]:
    return [f"{size} " for size in shape]


def _input_cells(alignment: Alignment, plan: Plan | SymbolicPlan | None, number: int) -> list[str]:
    """Return the sizes of an input with their marks. Each size is in the column of its output axis."""
    own = next((output for output in alignment.outputs if output.input == number), None)
    shown = sorted({axis for output in alignment.outputs for axis in output.axes}) or range(len(alignment.axes))
    cells = []
    for column, axis in enumerate(own.axes if own else shown):
        terms = (term for term in alignment.axes[axis].terms if term.input == number and term.axis is not None)
        term = next(terms, None)
        if term is None:
            cells.append("+ " if own else "")
        else:
            cells.append(f"{term.size}{_mark(plan, number, column) if own else ' '}")
    return cells


def _output_cells(output: Placement | SymbolicPlacement) -> list[str]:
    """Return the sizes of an output. A merged size is in the column of the last axis that is merged into it."""
    cells, merges = _plain(output.shape), output.merges
    if merges is None:
        return cells
    return [cell for count, size in zip(merges, cells, strict=True) for cell in (*[""] * (count - 1), size)]


def _mark(plan: Plan | SymbolicPlan | None, number: int, column: int) -> str:
    for placed in plan.outputs if plan else ():
        if placed.input == number and column in placed.broadcast_axes:
            return "*"
        if isinstance(placed, SymbolicPlacement) and placed.input == number and column in placed.maybe_broadcast_axes:
            return "~"
    return " "


def _lay_out(rows: list[tuple[str, list[str]]], rule_before: int | None) -> list[str]:
    """Return the lines of a table with aligned columns, right-aligned rows, and a rule above one line."""
    rank = len(rows[0][1])
    padded = [(name, [""] * (rank - len(cells)) + cells) for name, cells in rows]
    widths = [max(len(cells[axis]) for _, cells in padded) for axis in range(rank)]
    label = max(len(name) for name, _ in rows) + 2
    lines = [(name.ljust(label) + "  ".join(map(str.rjust, cells, widths))).rstrip() for name, cells in padded]
    if rule_before is not None:
        lines.insert(rule_before, " " * label + "-" * max(sum(widths) + 2 * (rank - 1), 1))
    return lines
