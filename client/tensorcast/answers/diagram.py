"""The drawing of a request: axes aligned, what stretches, what is new, where sizes conflict."""

from __future__ import annotations

from ..ops import Op
from ..plan.alignment import Alignment, Conflict
from ..plan.plan import Placement, Plan, Shape
from .symbolic import SymbolicPlacement, SymbolicPlan

MAX_INPUTS = 8
"""Inputs that are drawn; a drawing of more says how many are left out."""

_LEGEND = {"*": "* stretched", "~": "~ stretched for some sizes", "+": "+ new axis", "^": "^ conflict"}


def draw(
    op: Op, shapes: tuple[Shape, ...], alignment: Alignment | None, outcome: Plan | SymbolicPlan | Conflict
) -> str:
    """Plain text: a line for each input, the target and each output, a column for each axis.

    `alignment` is None where the rule found none; then the shapes stand as they are, aligned right.
    """
    target = getattr(op, op.target) if op.target else None
    plan = None if isinstance(outcome, Conflict) else outcome
    rows = [
        (f"input {number}", _input_cells(alignment, plan, number) if alignment else _plain(shape))
        for number, shape in enumerate(shapes[:MAX_INPUTS])
    ]
    if target is not None:
        rows.append(("target", _plain(target)))
    ruled = len(rows)
    if plan is not None:
        outputs = list(map(_output_cells, plan.outputs[:MAX_INPUTS]))
        alike = len({*map(tuple, outputs)}) == 1
        name = "output" if len(outputs) == 1 else "outputs"
        rows += [
            (name if alike else f"output {number}", cells)
            for number, cells in enumerate(outputs[:1] if alike else outputs)
        ]
    rank = max(len(cells) for _, cells in rows)
    if rank == 0:
        rows = [(name, ["() "]) for name, _ in rows]
    if isinstance(outcome, Conflict) and outcome.axis is not None:
        rows.append(("", ["^ " if axis == outcome.axis else "" for axis in range(rank)]))
    axes = [f"{axis} " for axis in range(rank)] or ["  "]
    lines = _lay_out([("axis", axes), *rows], ruled + 1 if plan and plan.outputs else None)
    if len(shapes) > MAX_INPUTS:
        lines.append(f"and {len(shapes) - MAX_INPUTS} more inputs")
    marks = set("".join(cell for _, cells in rows for cell in cells))
    legend = "   ".join(text for mark, text in _LEGEND.items() if mark in marks)
    return "\n".join([*lines, legend] if legend else lines)


def _plain(shape: tuple[object, ...]) -> list[str]:
    return [f"{size} " for size in shape]


def _input_cells(alignment: Alignment, plan: Plan | SymbolicPlan | None, number: int) -> list[str]:
    """An input's sizes, each in the column of its output axis, with a mark."""
    own = next((output for output in alignment.outputs if output.input == number), None)
    shown = sorted({axis for output in alignment.outputs for axis in output.axes}) or range(len(alignment.axes))
    cells = []
    for column, axis in enumerate(own.axes if own else shown):
        term = next(
            (term for term in alignment.axes[axis].terms if term.input == number and term.axis is not None),
            None,
        )
        if term is None:
            cells.append("+ " if own else "")
        else:
            cells.append(f"{term.size}{_mark(plan, number, column) if own else ' '}")
    return cells


def _output_cells(output: Placement | SymbolicPlacement) -> list[str]:
    """An output's sizes, each in the column of the last axis that is merged into it."""
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
    """Lines of equal columns, short rows aligned right, with a rule before one of them."""
    rank = len(rows[0][1])
    padded = [(name, [""] * (rank - len(cells)) + cells) for name, cells in rows]
    widths = [max(len(cells[axis]) for _, cells in padded) for axis in range(rank)]
    label = max(len(name) for name, _ in rows) + 2
    lines = [(name.ljust(label) + "  ".join(map(str.rjust, cells, widths))).rstrip() for name, cells in padded]
    if rule_before is not None:
        lines.insert(rule_before, " " * label + "-" * max(sum(widths) + 2 * (rank - 1), 1))
    return lines
