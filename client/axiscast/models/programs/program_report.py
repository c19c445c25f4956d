"""The report for a program, and other code that the checks of torch and jax programs share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...messages import CheckRequest
from ...messages.findings import Finding, Operand, SizeOrName
from ...messages.validation import validate
from ..intent import FindingKind, validate_kinds
from ..node_checks import NodeCheck, check_nodes
from ..report import Report
from ..size_expressions import canonical
from ..size_names import SizeNames

_WORD = re.compile(r"\w+")


def report_program(
    name: str,
    operations: Sequence[NodeCheck],
    assume: Mapping[str, int | str],
    kinds: Sequence[FindingKind] = ("square",),
) -> Report:
    """Check the operations of a program and return a report.

    Raises InvalidRequest if `assume` is invalid. Raises ValueError if `kinds` contains an unknown kind.
    """
    kinds = validate_kinds(kinds)
    assumed = validate(CheckRequest, {"inputs": [], "assume": assume}).assume or {}
    sizes = {name: size if isinstance(size, int) else str(size) for name, size in assumed.items()}
    return Report(name, tuple(check_nodes(operations, sizes, kinds=kinds)))


def operation_check(finding: Finding, is_meant: bool) -> NodeCheck:
    """Return the check of an operation that broadcasts its operands against each other."""
    shapes = [[*(operand.shape or ())] for operand in finding.operands]
    return NodeCheck(finding, {"op": {"name": "torch.broadcast_tensors"}, "inputs": shapes}, is_meant)


class ProgramSizes:
    """A converter of a program's sizes into sizes for check requests. Equal size expressions get the same name.

    `given_names` contains the names that the user has chosen for symbols of the framework.
    """

    def __init__(self, given_names: Mapping[str, str] | None = None) -> None:
        self._given_names = dict(given_names or {})
        self.names = SizeNames()

    def size(self, size: Any) -> SizeOrName:
        """Return the size for a check request: an integer, or a name for the framework's symbolic expression."""
        if isinstance(size, int):
            return size
        expression = canonical(_WORD.sub(lambda word: self._given_names.get(word[0], word[0]), str(size)))
        return expression if isinstance(expression, int) else self.names.name_of(expression)

    def operands(self, values: Sequence[tuple[str, Sequence[Any]]]) -> tuple[Operand, ...]:
        """Return operands with these names and shapes. The sizes in the shapes are the framework's own objects."""
        named = [(name, tuple(map(self.size, shape))) for name, shape in values]
        return tuple(Operand(f"input {number}", name, shape) for number, (name, shape) in enumerate(named))
