"""Functions that write operations as code in messages, such as "linear (n, 1) - y (n,)"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..messages.findings import Finding, SizeOrName, is_placeholder
from ..wire.shapes import format_shape
from ..wire.wording import printable
from .names import input_letter

_OPERATORS = {
    "+": "add add_any",
    "-": "sub subtract",
    "*": "mul multiply",
    "/": "div divide true_divide",
    "//": "floor_divide",
    "%": "mod remainder rem",
    "**": "pow",
    "@": "matmul matmulinteger",
    "==": "eq equal",
    "!=": "ne not_equal",
    "<": "lt less",
    "<=": "le lessorequal less_equal",
    ">": "gt greater",
    ">=": "ge greaterorequal greater_equal",
    "&": "and bitwise_and bitwiseand logical_and",
    "|": "or bitwise_or bitwiseor logical_or",
    "^": "xor bitwise_xor bitwisexor logical_xor",
}
_OPERATOR_OF = {op: operator for operator, ops in _OPERATORS.items() for op in ops.split()}
_TORCHSCRIPT_NAME = re.compile(r"/(?:(?:.*/)?(?P<module>[^/]+)/)?(?P<op>[^/]+)_output_0")
"""The pattern of value names from torch's older exporter. Such a name contains a module path and an operation."""
_MODULE_OPS = re.compile(r"(Gemm|Conv|ConvTranspose)(_[0-9]+)?")
"""The pattern of operations that are the only operation of their module. The module's name is enough to identify
them."""


def operation_code(
    finding: Finding, suffixes: Mapping[int, str] | None = None, with_shapes: Sequence[int] | None = None
) -> str:
    """Return an operation as code that contains the names of its operands.

    `suffixes` contains code to append to the names of operands, such as ".squeeze(-1)". `with_shapes` lists the
    operands whose shapes are shown after their names. By default, all shapes are shown.
    """
    suffixes = suffixes or {}
    numbers = range(len(finding.operands))
    with_shapes = numbers if with_shapes is None else with_shapes
    parts = {
        number: name_and_shape(finding, number)
        if number in with_shapes
        else operand_name(finding, number) + suffixes.get(number, "")
        for number in numbers
    }
    target = next((number for number, operand in enumerate(finding.operands) if operand.role == "target"), None)
    if target is not None and op_name(finding) == "Expand":
        parts[target] = f"shape={_target_shape(finding, target)}"
    elif target is not None:  # show the target first, because the other operands broadcast to it
        parts = {target: parts.pop(target)} | parts
    if is_call(finding):
        return f"{op_name(finding)}({', '.join(parts.values())})"
    return f" {_operator(finding)} ".join(parts.values())


def is_call(finding: Finding) -> bool:
    """Return whether the code for an operation is a function call, rather than an operator such as "-"."""
    return len(finding.operands) != 2 or not _operator(finding)


def _operator(finding: Finding) -> str:
    return _OPERATOR_OF.get(op_name(finding).lower().rstrip("_"), "")


def op_name(finding: Finding) -> str:
    """Return the short name of an operation, such as "sub" for "aten.sub.Tensor"."""
    parts = finding.op.split(".")
    return printable(parts[1] if parts[0] == "aten" and len(parts) > 1 else parts[-1])


def operand_name(finding: Finding, number: int) -> str:
    """Return the name of an operand, without the parts that an exporter has added.

    If the operand has no name, return a letter.
    """
    name = finding.operands[number].name
    if not name:
        return input_letter(number)
    if scripted := _TORCHSCRIPT_NAME.fullmatch(name):
        module, op = scripted["module"], scripted["op"]
        name = op if not module else module if _MODULE_OPS.fullmatch(op) else f"{module}.{op}"
    return printable(name.rpartition("::")[2] or name)


def name_and_shape(finding: Finding, number: int) -> str:
    """Return the name and the shape of an operand, as text."""
    shape = finding.operands[number].shape
    shown = "of unknown rank" if shape is None else format_shape(shown_sizes(finding, shape))
    return f"{operand_name(finding, number)} {shown}"


def shown_sizes(finding: Finding, shape: Sequence[SizeOrName]) -> list[str]:
    """Return the sizes of a shape for messages, with "?" in place of each unnamed size."""
    return ["?" if is_placeholder(str(size)) else shown_size(finding, size) for size in shape]


def shown_size(finding: Finding, size: SizeOrName) -> str:
    """Return a size for messages: an integer, a name, or the expression that a name stands for."""
    return finding.size_expressions.get(str(size), str(size))


def _target_shape(finding: Finding, number: int) -> str:
    """Return the target shape that an operand contains, preceded by the operand's name if the shape is not constant."""
    shape = finding.operands[number].shape or ()
    value = format_shape(shown_sizes(finding, shape))
    return value if all(isinstance(size, int) for size in shape) else f"{operand_name(finding, number)} {value}"


def known_shapes(finding: Finding) -> list[Sequence[SizeOrName]]:
    """Return the shapes of the operands, with () in place of unknown shapes."""
    return [operand.shape or () for operand in finding.operands]
