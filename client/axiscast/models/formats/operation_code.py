"""Operations as code: an expression of the operands by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...answers.warnings import input_letter
from ...wire.shapes import format_shape
from ..display import printable
from ..finding import Finding, Size, is_made_up

_WORDS = {
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
_SYMBOLS = {word: symbol for symbol, words in _WORDS.items() for word in words.split()}
"""The operator of each operation that has one."""
_SCRIPTED = re.compile(r"/(?:(?:.*/)?(?P<scope>[^/]+)/)?(?P<op>[^/]+)_output_0")
"""The name that torch's older exporter gives to a value: the path of the module, and the operation."""
_MODULES = re.compile(r"(Gemm|Conv|ConvTranspose)(_[0-9]+)?")
"""Operations that are all that their module does."""


def expression(finding: Finding, codes: Mapping[int, str] | None = None, shaped: Sequence[int] | None = None) -> str:
    """Return the operation as code, each operand by its name. `codes` follow the names of operands. Operands have their
    shapes behind them; if `shaped` is given, only these."""
    codes = codes or {}
    operands = finding.operands
    shaped = range(len(operands)) if shaped is None else shaped
    parts = {
        number: named(finding, number) if number in shaped else name(finding, number) + codes.get(number, "")
        for number in range(len(operands))
    }
    target = next((number for number, operand in enumerate(operands) if operand.role == "target"), None)
    if target is not None and op_name(finding) == "Expand":
        parts[target] = f"shape={_wanted(finding, target)}"
    elif target is not None:  # the first operand, into which the others fit
        parts = {target: parts.pop(target)} | parts
    if is_call(finding):
        return f"{op_name(finding)}({', '.join(parts.values())})"
    return f" {_symbol(finding)} ".join(parts.values())


def is_call(finding: Finding) -> bool:
    """Return whether an operation is written as a call of a function, and not with an operator."""
    return len(finding.operands) != 2 or not _symbol(finding)


def _symbol(finding: Finding) -> str:
    return _SYMBOLS.get(op_name(finding).lower().rstrip("_"), "")


def op_name(finding: Finding) -> str:
    """Return the short name of an operation: "sub" of "aten.sub.Tensor"."""
    parts = finding.op.split(".")
    return printable(parts[1] if parts[0] == "aten" and len(parts) > 1 else parts[-1])


def name(finding: Finding, number: int) -> str:
    """Return what an operand is called: its name, without what an exporter put around it; or a letter."""
    own = finding.operands[number].name
    if not own:
        return input_letter(number)
    if scripted := _SCRIPTED.fullmatch(own):
        scope, op = scripted["scope"], scripted["op"]
        own = (scope if _MODULES.fullmatch(op) else f"{scope}.{op}") if scope else op
    return printable(own.rpartition("::")[2] or own)


def named(finding: Finding, number: int) -> str:
    """Return an operand's name with its shape."""
    shape = finding.operands[number].shape
    return f"{name(finding, number)} {'of unknown rank' if shape is None else format_shape(shown(shape))}"


def shown(shape: Sequence[Size]) -> list[Size]:
    """Return a shape without names that were made up."""
    return ["?" if is_made_up(str(size)) else size for size in shape]


def _wanted(finding: Finding, number: int) -> str:
    """Return the shape that an operand holds; unless its sizes are numbers, with its name."""
    shape = finding.operands[number].shape or ()
    value = format_shape(shown(shape))
    return value if all(isinstance(size, int) for size in shape) else f"{name(finding, number)} {value}"


def is_own_name(finding: Finding, number: int) -> bool:
    """Return whether an operand has a name that is not the number of an operation, such as mul_2."""
    own = finding.operands[number].name
    return bool(own) and not _SCRIPTED.fullmatch(own) and not re.search(r"_[0-9]+$", own)


def shapes_of(finding: Finding) -> list[Sequence[Size]]:
    """Return the shapes of the operands; of one that has no known rank, ()."""
    return [operand.shape or () for operand in finding.operands]


def reshaping(old: Sequence[str], new: Sequence[str]) -> str:
    """Return the code that follows a name to take a shape to another one: new axes, fewer leading ones, or two that
    are swapped; "" if it is none of these.

    >>> reshaping(["64"], ["64", "1", "1"]), reshaping(["1", "3"], ["3"]), reshaping(["3", "4"], ["4", "3"])
    ('[:, None, None]', '.squeeze(0)', '.swapaxes(0, 1)')
    """
    if len(new) > len(old):
        rest, index = [*old], []
        for size in new:
            is_own = bool(rest) and rest[0] == size
            index.append(":" if is_own else "None")
            rest = rest[1:] if is_own else rest
        while index and index[-1] == ":":
            index.pop()
        fits = not rest and all(size == "1" or place == ":" for size, place in zip(new, index, strict=False))
        return f"[{', '.join(index)}]" if fits and index else ""
    less = len(old) - len(new)
    if less:
        fits = [*old[less:]] == [*new] and {*old[:less]} == {"1"}
        axes = "0" if less == 1 else str(tuple(range(less)))
        return f".squeeze({axes})" if fits else ""
    differ = [axis for axis, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
    if len(differ) == 2 and [old[axis] for axis in differ] == [new[axis] for axis in differ[::-1]]:
        return f".swapaxes({differ[0]}, {differ[1]})"
    return ""
