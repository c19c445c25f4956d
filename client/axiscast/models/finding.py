"""A finding: what is known of one operation of a model, or of a program, that broadcasts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ..messages import CheckAnswer, Condition, DimensionPlace

Size = int | str
Verdict = Literal["compatible", "depends", "incompatible", "not_judged"]
Kind = Literal[
    "incompatible", "square", "mutual-stretch", "rank-promotion", "stated", "pinned", "depends", "not_judged"
]
SUSPICIOUS: tuple[Kind, ...] = ("square", "mutual-stretch", "rank-promotion")
"""The kinds that are warnings of a check, by their codes."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A value that an operation broadcasts: what the question calls it, its name, and its shape."""

    role: str
    """Such as "input 0", by which messages refer to it, or "target"."""
    name: str
    shape: tuple[Size, ...] | None
    """None where the rank is not known."""
    by_file: bool = False
    """Whether some size is one that only the file states, and that does not follow from the inputs."""


class Pin(NamedTuple):
    """A name of a size that the file declares free, although the model runs with one number only."""

    name: str
    size: int
    or_one: bool = False
    """Whether 1 fits as well, since it is broadcast."""

    def __str__(self) -> str:
        return f"{self.name} = {self.size}{' or 1' if self.or_one else ''}"


class Tried(NamedTuple):
    """What became of a node when the model was tried at several sets of sizes."""

    outcome: Literal["fits", "partly", "fails"]
    """At all of them, some or none."""
    sizes: Mapping[str, int] = {}
    """The first set of sizes at which it fails."""
    sets: int = 0
    """How many sets were tried."""
    needs: str = ""
    """What would let it fit at all of them, such as "h to be a multiple of 32"; empty if that is not known."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one operation: `answer` is that of check; where there is none, `reason` says why."""

    node: str
    """Its name in the model; in a subgraph with the path to it."""
    op: str
    """What it is called where it stands, such as "Add" or "aten.add.Tensor"."""
    operands: tuple[Operand, ...] = ()
    answer: CheckAnswer | None = None
    reason: str = ""
    file: str | None = None
    """The source file that it comes from, as the model recorded it."""
    line: int | None = None
    assumable: tuple[str, ...] = ()
    """The names of sizes of the model's inputs, each of which can be assumed to be a number."""
    tried: Tried | None = None
    """What became of it at several sets of sizes, if those say more than the names of sizes do."""
    pins: tuple[Pin, ...] = ()
    """The names of sizes that must have one number for it to fit."""
    stated: str = ""
    """How a shape that the file states contradicts the one that follows from the inputs; empty if none does."""

    @property
    def verdict(self) -> Verdict:
        """Whether it broadcasts: for all sizes, some or none."""
        if self.tried is not None and self.tried.outcome != "fails":
            return "compatible" if self.tried.outcome == "fits" else "depends"
        if self.answer is None:
            return "not_judged" if self.reason else "depends" if self.pins else "compatible"
        return _VERDICTS[self.answer.compatible]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What there is to say of it, the gravest first; empty where it simply fits."""
        kinds: list[Kind] = []
        if (verdict := self.verdict) in ("incompatible", "not_judged"):
            kinds.append(verdict)
        codes = {warning.code for warning in self.answer.warnings} if self.answer else set()
        kinds += [kind for kind in SUSPICIOUS if kind in codes]
        if self.stated:
            kinds.append("stated")
        if verdict == "depends":
            kinds.append("pinned" if self.pins else "depends")
        return tuple(kinds)

    @property
    def output(self) -> tuple[Size, ...] | None:
        """The shape that its operands are broadcast to, of MatMul that of its first one; None where there is none, or
        none is known."""
        return tuple(self.answer.outputs[0].shape) if self.answer and self.answer.outputs else None

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must hold of the sizes, each in words, where it depends on them."""
        return tuple(condition.text for condition in self._conditions())

    @property
    def names_places(self) -> bool:
        """Whether a condition speaks of a size by its place, so that the same words mean another in another node."""
        return any(
            isinstance(side, DimensionPlace) or is_made_up(str(side))
            for condition in self._conditions()
            for equation in condition.any
            for side in (*(equation.equal or ()), *(equation.divides or ()))
        )

    def alternatives(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the pairs of sizes of each condition: one of the pairs must be equal."""
        for condition in self._conditions():
            yield [tuple(equation.equal or (None, None)) for equation in condition.any]

    def unknown_in_conditions(self) -> Iterator[bool]:
        """Yield of each condition whether it is of a size that has no name, or one that onnx made up."""
        for pairs in self.alternatives():
            sides = [side for pair in pairs for side in pair]
            yield any(isinstance(side, DimensionPlace) or is_made_up(str(side)) for side in sides)

    def _conditions(self) -> Iterator[Condition]:
        return iter(self.answer.conditions if self.answer else ())

    def as_json(self) -> dict[str, Any]:
        """The finding as plain values."""
        operands = [
            {"role": operand.role, "name": operand.name, "shape": None if operand.shape is None else [*operand.shape]}
            | ({"by_file": True} if operand.by_file else {})
            for operand in self.operands
        ]
        result: dict[str, Any] = (
            {"reason": self.reason} if self.answer is None else {"answer": self.answer.model_dump(exclude_unset=True)}
        )
        return {
            "node": self.node,
            "op_type": self.op,
            "verdict": self.verdict,
            "kinds": [*self.kinds],
            "file": self.file,
            "line": self.line,
            "inputs": operands,
            **result,
            **self._tried_as_json(),
        }

    def _tried_as_json(self) -> dict[str, Any]:
        """What was tried, pinned and stated as plain values; only what there is."""
        found: dict[str, Any] = {}
        if self.tried is not None:
            found["tried"] = {**self.tried._asdict(), "sizes": {**self.tried.sizes}}
        if self.pins:
            found["pins"] = [pin._asdict() for pin in self.pins]
        if self.stated:
            found["stated"] = self.stated
        return found


_MADE_UP = re.compile("unk__[0-9]+|unknown_[0-9]+")


def is_made_up(name: str) -> bool:
    """Return whether a size without a name was given this one, by onnx or here."""
    return _MADE_UP.fullmatch(name) is not None


_VERDICTS: dict[bool | None, Verdict] = {True: "compatible", None: "depends", False: "incompatible"}
