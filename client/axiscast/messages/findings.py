"""Finding: the check result for one operation of a model or program, as facts. words/findings.py has its sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import le
from typing import Any, Literal, NamedTuple

from ..plan import relations
from .check_answer import CheckAnswer

__all__ = ["Finding", "Operand"]

SizeOrName = int | str
PartialSize = int | str | None
"""A size: an integer, a name, or None if the size is unknown and has no name."""
FindingVerdict = Literal["compatible", "needs", "pinned", "incompatible", "unchecked"]
ReportKind = Literal[
    "incompatible", "pinned", "square", "mutual-stretch", "rank-promotion", "contradicted", "needs", "unchecked"
]
SUSPICIOUS: tuple[ReportKind, ...] = ("square", "mutual-stretch", "rank-promotion")
"""The kinds of findings that a check reports as warnings. Each kind has the same name as the warning's code."""
_PLACEHOLDER = re.compile("unk__[0-9]+|unknown_[0-9]+")


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand that an operation broadcasts."""

    role: str
    """The name that answers use for the operand: "input 0", "input 1" and so on, or "target"."""
    name: str
    shape: tuple[SizeOrName, ...] | None
    """The sizes of the operand, or None if its rank is unknown."""


class Quantity(NamedTuple):
    """An integer in a requirement."""

    value: int
    input: int | None = None
    """The number of the input to which the integer belongs, or None if it is a constant."""
    axis: int | None = None
    """The axis whose size is the integer, or None if the integer is another property."""
    what: Literal["size", "elements", "rank", "value"] = "size"
    """The property of the input: the size of an axis, the number of elements or axes, or one of its elements."""


RequirementKind = Literal["equal", "broadcast", "broadcast-to", "multiple", "at-most"]
_HOLDS = {
    "equal": relations.Relation.EQUAL.holds,
    "broadcast": relations.Relation.BROADCAST.holds,
    "broadcast-to": relations.Relation.BROADCAST_TO.holds,
    "multiple": relations.Relation.DIVISIBLE.holds,
    "at-most": le,
}


class Requirement(NamedTuple):
    """A relation between two integers that an operation requires."""

    kind: RequirementKind
    left: Quantity
    right: Quantity

    @property
    def holds(self) -> bool:
        """Whether the two integers have the relation."""
        return bool(_HOLDS[self.kind](self.left.value, self.right.value))


class SizeRule(NamedTuple):
    """A rule that a named size must follow, because the operation fails otherwise."""

    name: str
    kind: Literal["equal", "multiple", "at-most", "at-least"]
    size: int = 0
    """The integer of the rule. If there are `terms`, it is added to their sum."""
    terms: tuple[tuple[str, int], ...] = ()
    """The other named sizes in the rule, each with its factor."""
    or_one: bool = False
    """Whether the named size may also be 1, because an axis of size 1 broadcasts."""

    @property
    def is_pin(self) -> bool:
        """Whether the rule permits only one integer."""
        return self.kind == "equal" and not self.terms


class Failure(NamedTuple):
    """The failure of an operation at a set of sizes, and the rules with which the operation runs."""

    sizes: Mapping[str, int]
    """The named sizes of the trial in which the operation fails."""
    requirement: Requirement | None
    """What the operation requires, or None if onnx refuses it for an unknown reason."""
    shapes: tuple[tuple[PartialSize, ...] | None, ...] = ()
    """The shapes of the operands in this trial."""
    rules: tuple[SizeRule, ...] = ()
    """The rules with which the operation runs, or () if no sizes were found at which it runs."""


class Contradiction(NamedTuple):
    """A shape that the file states for a value, and the shape that follows from the inputs."""

    value: str
    stated: tuple[PartialSize, ...]
    inferred: tuple[PartialSize, ...]


class Unchecked(NamedTuple):
    """The reason why an operation could not be checked."""

    code: Literal[
        "unknown-rank", "other-opset", "input-count", "undefined",
        "refused", "unsolved", "limit",
    ]  # fmt: skip
    details: tuple[str, ...] = ()
    """The names and numbers in the sentence about the reason."""


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """The check result for one operation."""

    node: str
    """The name of the node in the model. For a node in a subgraph, the path of the subgraph comes before the name."""
    op: str
    """The name of the operation in its framework, such as "Add" or "aten.add.Tensor"."""
    operands: tuple[Operand, ...] = ()
    answer: CheckAnswer | None = None
    """The answer to the operation's check with named sizes, or None if there is no answer."""
    unchecked: Unchecked | None = None
    """The reason why the operation is unchecked."""
    file: str | None = None
    """The path of the source file that created the node, as recorded in the model."""
    line: int | None = None
    failure: Failure | None = None
    """The failure of the operation in a trial with integers."""
    passes_trials: bool = False
    """Whether the operation was tried with integers and did not fail."""
    size_expressions: Mapping[str, str] = field(default_factory=dict)
    """The expressions that messages show in place of size names, such as Min(512, seq) for Min_512_seq."""
    contradiction: Contradiction | None = None

    def __repr__(self) -> str:
        where = f" at {self.file}:{self.line}" if self.file else f" at {self.node}" if self.node else ""
        shapes = " and ".join(f"{operand.name} {operand.shape}".lstrip() for operand in self.operands)
        return f"<Finding {self.op}{where}: {shapes} give {self.output}, {', '.join(self.kinds) or self.verdict}>"

    @property
    def verdict(self) -> FindingVerdict:
        """Whether the operation runs at all sizes, at some sizes, or at none."""
        if self.failure is not None:
            rules = self.failure.rules
            return "incompatible" if not rules else "pinned" if all(rule.is_pin for rule in rules) else "needs"
        if self.passes_trials:
            return "compatible"
        if self.answer is None:
            return "unchecked" if self.unchecked else "compatible"
        return _VERDICTS[self.answer.compatible]

    @property
    def kinds(self) -> tuple[ReportKind, ...]:
        """The kinds of this finding, the most severe kind first. The tuple is empty if the operation has no problem."""
        codes = {warning.code for warning in self.answer.warnings} if self.answer is not None else set()
        found = {self.verdict, *codes, "contradicted" if self.contradiction else ""}
        return tuple(kind for kind in _KINDS if kind in found)

    @property
    def output(self) -> tuple[SizeOrName, ...] | None:
        """The shape of the operation's output, or None if it is unknown."""
        return self.answer.outputs[0].shape if self.answer is not None and self.answer.outputs else None

    def as_json(self) -> dict[str, Any]:
        """Return the finding as a plain map that can be encoded as JSON."""
        operands = [
            {"role": operand.role, "name": operand.name, "shape": None if operand.shape is None else [*operand.shape]}
            for operand in self.operands
        ]
        facts: dict[str, Any] = (
            {"answer": self.answer.model_dump(exclude_unset=True)} if self.answer is not None else {}
        )
        if self.unchecked and self.verdict == "unchecked":
            facts["unchecked"] = self.unchecked._asdict()
        if self.failure is not None:
            requirement = self.failure.requirement
            sides = requirement and {"left": requirement.left._asdict(), "right": requirement.right._asdict()}
            facts["failure"] = {
                "sizes": {**self.failure.sizes},
                "requirement": requirement and {"kind": requirement.kind, **(sides or {})},
                "shapes": [shape and [*shape] for shape in self.failure.shapes],
                "rules": [{**rule._asdict(), "terms": dict(rule.terms)} for rule in self.failure.rules],
            }
        if self.contradiction:
            facts["contradiction"] = self.contradiction._asdict()
        return {
            "node": self.node,
            "op_type": self.op,
            "verdict": self.verdict,
            "kinds": [*self.kinds],
            "file": self.file,
            "line": self.line,
            "inputs": operands,
            **facts,
        }


def is_placeholder(name: str) -> bool:
    """Return whether onnx or axiscast generated this name for an unnamed size."""
    return _PLACEHOLDER.fullmatch(name) is not None


_VERDICTS: dict[bool | None, FindingVerdict] = {True: "compatible", None: "needs", False: "incompatible"}
_KINDS: tuple[ReportKind, ...] = ("incompatible", "unchecked", "pinned", *SUSPICIOUS, "contradicted", "needs")
