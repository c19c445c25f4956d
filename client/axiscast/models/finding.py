"""Finding: the facts about one operation of a model or program that broadcasts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..messages import CheckAnswer, Condition, DimensionPlace

SizeOrName = int | str
Verdict = Literal["compatible", "depends", "incompatible", "unchecked"]
ReportKind = Literal[
    "incompatible", "square", "mutual-stretch", "rank-promotion", "contradicted", "pinned", "depends", "unchecked"
]
SUSPICIOUS: tuple[ReportKind, ...] = ("square", "mutual-stretch", "rank-promotion")
"""The kinds of findings that are warnings of a check, by their codes."""
_PLACEHOLDER = re.compile("unk__[0-9]+|unknown_[0-9]+")


@dataclass(frozen=True, slots=True)
class Operand:
    """A value that an operation broadcasts."""

    role: str
    """The operand's place in messages: "input 0", "input 1" and so on, or "target"."""
    name: str
    shape: tuple[SizeOrName, ...] | None
    """The sizes of the operand, or None if its rank is unknown."""
    by_file: bool = False
    """Whether some size is known only from the file, and does not follow from the model's inputs."""


class PinnedSize(NamedTuple):
    """A named size that the file declares free, although the model runs at one number only."""

    name: str
    size: int
    or_one: bool = False
    """Whether the size may also be 1, because 1 broadcasts."""

    def __str__(self) -> str:
        return f"{self.name} = {self.size}{' or 1' if self.or_one else ''}"


class TrialSummary(NamedTuple):
    """The results of a node at several sets of sizes."""

    outcome: Literal["fits", "partly", "fails"]
    """Whether the node fits at all sets of sizes, at some of them, or at none."""
    sizes: Mapping[str, int] = {}
    """The first set of sizes at which the node fails."""
    sets: int = 0
    """The number of sets of sizes that were tried."""
    needs: str = ""
    """The condition that makes the node fit, such as "h to be a multiple of 32", or "" if it is unknown."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The facts about one operation that broadcasts."""

    node: str
    """The name of the node in the model, after the path of its subgraph."""
    op: str
    """The name of the operation in its framework, such as "Add" or "aten.add.Tensor"."""
    operands: tuple[Operand, ...] = ()
    answer: CheckAnswer | None = None
    """The result of the check, or None if the node is unchecked."""
    reason: str = ""
    """Why the node is unchecked."""
    file: str | None = None
    """The source file of the node, as the model recorded it."""
    line: int | None = None
    assumable: tuple[str, ...] = ()
    """The named sizes of the model's inputs, for which the user can assume a number."""
    tried: TrialSummary | None = None
    """The results at several sets of sizes, if they decide more than a check of named sizes."""
    pins: tuple[PinnedSize, ...] = ()
    """The named sizes that must be one number for the operation to fit."""
    size_expressions: Mapping[str, str] = field(default_factory=dict)
    """The expression that messages show for the name of a size, such as Min(512, seq) for Min_512_seq."""
    contradiction: str = ""
    """A sentence about a shape in the file that contradicts the inferred shape, or "" if there is none."""

    @property
    def verdict(self) -> Verdict:
        """Whether the operation broadcasts for all sizes, for some, or for none."""
        if self.tried is not None and self.tried.outcome != "fails":
            return "compatible" if self.tried.outcome == "fits" else "depends"
        if self.answer is None:
            return "unchecked" if self.reason else "depends" if self.pins else "compatible"
        return _VERDICTS[self.answer.compatible]

    @property
    def kinds(self) -> tuple[ReportKind, ...]:
        """The kinds of this finding, the most severe first. The tuple is empty if the operation simply fits."""
        kinds: list[ReportKind] = []
        if (verdict := self.verdict) in ("incompatible", "unchecked"):
            kinds.append(verdict)
        codes = {warning.code for warning in self.answer.warnings} if self.answer else set()
        kinds += [kind for kind in SUSPICIOUS if kind in codes]
        if self.contradiction:
            kinds.append("contradicted")
        if verdict == "depends":
            kinds.append("pinned" if self.pins else "depends")
        return tuple(kinds)

    @property
    def output(self) -> tuple[SizeOrName, ...] | None:
        """The common shape of the operands, or None if it is unknown. For MatMul it is that of the first operand."""
        return tuple(self.answer.outputs[0].shape) if self.answer and self.answer.outputs else None

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions on the sizes, as text."""
        return tuple(condition.text for condition in self._conditions())

    @property
    def has_local_conditions(self) -> bool:
        """Whether a condition is about an unnamed size, so that its text has another meaning in another node."""
        return any(self.unnamed_in_conditions())

    def alternatives(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the pairs of sizes in each condition. The condition holds if one of its pairs is equal."""
        for condition in self._conditions():
            yield [tuple(equation.equal or (None, None)) for equation in condition.any]

    def unnamed_in_conditions(self) -> Iterator[bool]:
        """Yield for each condition whether it is about an unnamed size."""
        for condition in self._conditions():
            sides = [side for each in condition.any for side in (*(each.equal or ()), *(each.divides or ()))]
            yield any(isinstance(side, DimensionPlace) or is_placeholder(str(side)) for side in sides)

    def _conditions(self) -> list[Condition]:
        return self.answer.conditions if self.answer else []

    def as_json(self) -> dict[str, Any]:
        """Return the finding as values that JSON can express."""
        operands = [
            {"role": operand.role, "name": operand.name, "shape": None if operand.shape is None else [*operand.shape]}
            | ({"by_file": True} if operand.by_file else {})
            for operand in self.operands
        ]
        result: dict[str, Any] = (
            {"reason": self.reason} if self.answer is None else {"answer": self.answer.model_dump(exclude_unset=True)}
        )
        if self.tried is not None:
            result["tried"] = {**self.tried._asdict(), "sizes": {**self.tried.sizes}}
        if self.pins:
            result["pins"] = [pin._asdict() for pin in self.pins]
        if self.contradiction:
            result["contradiction"] = self.contradiction
        return {
            "node": self.node,
            "op_type": self.op,
            "verdict": self.verdict,
            "kinds": [*self.kinds],
            "file": self.file,
            "line": self.line,
            "inputs": operands,
            **result,
        }


def is_placeholder(name: str) -> bool:
    """Return whether this name was generated, by onnx or by axiscast, for a size without a name."""
    return _PLACEHOLDER.fullmatch(name) is not None


_VERDICTS: dict[bool | None, Verdict] = {True: "compatible", None: "depends", False: "incompatible"}
