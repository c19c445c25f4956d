"""Finding: the check result for one operation of a model or program that broadcasts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..messages import CheckAnswer
from ..messages.conditions import Condition, DimensionPlace

SizeOrName = int | str
Verdict = Literal["compatible", "depends", "incompatible", "unchecked"]
ReportKind = Literal[
    "incompatible", "square", "mutual-stretch", "rank-promotion", "contradicted", "pinned", "depends", "unchecked"
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
    by_file: bool = False
    """Whether a size of the operand is only stated in the model file, and can't be inferred from the model's inputs."""


class PinnedSize(NamedTuple):
    """A named size that the file declares as dynamic, although the model runs with only one value of the size."""

    name: str
    size: int
    or_one: bool = False
    """Whether the named size may also be 1, because an axis of size 1 broadcasts."""

    def __str__(self) -> str:
        return f"{self.name} = {self.size}{' or 1' if self.or_one else ''}"


class TrialSummary(NamedTuple):
    """A summary of the results for a node that was tried with several sets of sizes."""

    outcome: Literal["fits", "partly", "fails"]
    """Whether the node's shapes broadcast for all sets of sizes, for some sets, or for no set."""
    sizes: Mapping[str, int] = {}
    """The first set of sizes for which the node fails."""
    sets: int = 0
    """The number of sets of sizes that were tried."""
    needs: str = ""
    """What the node needs, such as "h to be a multiple of 32", or "" if this is unknown."""


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """The check result for one operation that broadcasts."""

    node: str
    """The name of the node in the model. For a node in a subgraph, the path of the subgraph comes before the name."""
    op: str
    """The name of the operation in its framework, such as "Add" or "aten.add.Tensor"."""
    operands: tuple[Operand, ...] = ()
    answer: CheckAnswer | None = None
    """The answer to the node's check, or None if the node is unchecked."""
    reason: str = ""
    """The reason why the node is unchecked."""
    file: str | None = None
    """The path of the source file that created the node, as recorded in the model."""
    line: int | None = None
    assumable: tuple[str, ...] = ()
    """The named sizes of the model's inputs. The user can set each of them with --assume."""
    tried: TrialSummary | None = None
    """A summary of the trials with several sets of sizes, if the trials show more than the check with named sizes."""
    pins: tuple[PinnedSize, ...] = ()
    """The named sizes that must have one particular value, because the operation fails otherwise."""
    size_expressions: Mapping[str, str] = field(default_factory=dict)
    """The expressions that messages show in place of size names, such as Min(512, seq) for Min_512_seq."""
    contradiction: str = ""
    """A sentence about a shape in the file that contradicts the inferred shape, or "" if there is no such shape."""

    def __repr__(self) -> str:
        where = f" at {self.file}:{self.line}" if self.file else f" at {self.node}" if self.node else ""
        shapes = " and ".join(f"{operand.name} {operand.shape}".lstrip() for operand in self.operands)
        return f"<Finding {self.op}{where}: {shapes} give {self.output}, {', '.join(self.kinds) or self.verdict}>"

    @property
    def verdict(self) -> Verdict:
        """Whether the operation broadcasts for all sizes, for some sizes, or for no sizes."""
        if self.tried is not None and self.tried.outcome != "fails":
            return "compatible" if self.tried.outcome == "fits" else "depends"
        if self.answer is None:
            return "unchecked" if self.reason else "depends" if self.pins else "compatible"
        return _VERDICTS[self.answer.compatible]

    @property
    def kinds(self) -> tuple[ReportKind, ...]:
        """The kinds of this finding, the most severe kind first. The tuple is empty if the operation has no problem."""
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
        """The shape to which the operands broadcast, or None if it is unknown.

        For MatMul, it is the shape to which the first operand broadcasts.
        """
        return tuple(self.answer.outputs[0].shape) if self.answer and self.answer.outputs else None

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that the sizes must satisfy, as strings."""
        return tuple(condition.text for condition in self._conditions())

    @property
    def has_local_conditions(self) -> bool:
        """Whether a condition contains an unnamed size, so that the same text means something else for another node."""
        return any(self.unnamed_in_conditions())

    def alternatives(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield each condition as pairs of sizes. A condition holds if the two sizes of at least one pair are equal."""
        for condition in self._conditions():
            yield [tuple(equation.equal or (None, None)) for equation in condition.any]

    def unnamed_in_conditions(self) -> Iterator[bool]:
        """For each condition, yield whether the condition contains an unnamed size."""
        for condition in self._conditions():
            sides = [side for each in condition.any for side in (*(each.equal or ()), *(each.divides or ()))]
            yield any(isinstance(side, DimensionPlace) or is_placeholder(str(side)) for side in sides)

    @property
    def conflicting_sizes(self) -> tuple[int, ...]:
        """The integer sizes that conflict. There are usually two of them, and none if the answer has no conflict."""
        conflict = self.answer.conflict if self.answer else None
        return tuple(size for size in conflict.sizes if isinstance(size, int)) if conflict else ()

    def _conditions(self) -> list[Condition]:
        return self.answer.conditions if self.answer else []

    def as_json(self) -> dict[str, Any]:
        """Return the finding as a plain map that can be encoded as JSON."""
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
    """Return whether onnx or axiscast generated this name for an unnamed size."""
    return _PLACEHOLDER.fullmatch(name) is not None


_VERDICTS: dict[bool | None, Verdict] = {True: "compatible", None: "depends", False: "incompatible"}
