"""A probe of a model: it is tried at several sets of sizes, and what fails at each of them fails when it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from ..finding import Finding, Pin, Tried
from ..node_checks import CheckBatch, Progress, judged
from ..size_expressions import as_name
from .concrete_inference import Kept, Trial, shape_of
from .graph import all_nodes
from .inference import Source
from .nodes import questions
from .probe_sizes import (
    STEP,
    FreeSize,
    choices,
    free_sizes,
    given_by_file,
    numbers_in,
    of_expressions,
    within,
)

MAX_VISITS = 300_000
"""Nodes that are visited in all trials of a model together: half a minute of work."""
_MOST_FIXED = 8
"""Names that ops fix, or sums of others, that are looked for."""
_MOST_NAMES = 40
"""Names up to which sums are looked for, and names that an op fixes."""
_MOST_CANDIDATES = 6
"""Numbers that are tried for a name that an op seems to fix."""
_DIVIDING = frozenset({"Reshape", "Split", "SpaceToDepth", "DepthToSpace", "Flatten"})
"""Ops that sizes may have to be multiples for."""

State = Literal["fits", "conflict", "fault", "unknown"]


class Outcome(NamedTuple):
    """What a trial came to."""

    sizes: dict[str, int]
    nodes: dict[str, Finding]
    """What was found of each node that broadcasts or fails, by its number."""
    failed: dict[str, list[Kept]]
    fits: set[str]
    reached: set[str]
    too_small: bool

    def state(self, number: str) -> State:
        """Return what became of a node."""
        found = self.nodes.get(number)
        if number not in self.reached:
            return "unknown"
        if found is None or (found.answer is None and number not in self.failed):
            return "fits" if number in self.fits else "unknown"
        if any(0 in (operand.shape or ()) for operand in found.operands):
            return "unknown"
        if found.answer is None:
            return "fault"
        return "conflict" if found.answer.conflict else "fits" if found.answer.compatible else "unknown"

    def fails(self, number: str) -> bool:
        """Return whether a node can't be executed at these sizes."""
        return self.state(number) in ("conflict", "fault")


class Probed(NamedTuple):
    """What a probe found."""

    findings: dict[str, Finding]
    """What there is to say of nodes that fail at some sizes at least, by their numbers."""
    settled: set[str]
    """The numbers of nodes that fit at all sizes that were tried."""
    sizes: tuple[dict[str, int], ...]
    """The sets of sizes."""
    notes: tuple[str, ...]
    """What was not tried, and why."""


@dataclass
class Probe:
    """Trials of a model at several sets of sizes."""

    source: Source
    check_batch: CheckBatch
    ranges: Mapping[str, str]
    example: Mapping[str, int]
    progress: Progress | None = None
    pins: dict[str, Pin] = field(default_factory=dict)
    """The name that a node of an op that does not broadcast fixes to a number, by the number of the node."""
    sums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The names that are sums of others."""
    factors: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The numbers that names are multiples of, and the node that needs it."""
    left_out: dict[str, str] = field(default_factory=dict)
    """The names that get no number, and the node that would fail."""

    def __post_init__(self) -> None:
        self._free = free_sizes(self.source)
        self._taken = numbers_in(self.source)
        self._executed: dict[tuple[str, ...], list[np.ndarray] | None] = {}
        self._graph = {node.name: node.op_type for node in all_nodes(self.source.model.graph)}
        self._visited = 0
        self._fixing: dict[str, Finding] = {}

    def run(self) -> Probed:
        """Return what fails at every set of sizes, and what at some."""
        outcomes = self._outcomes()
        for _ in range(_MOST_FIXED):
            if not self._explains_one(outcomes):
                break
            outcomes = self._outcomes()
        findings: dict[str, Finding] = {}
        numbers = dict.fromkeys(number for outcome in outcomes for number in (*outcome.nodes, *outcome.failed))
        partly = [number for number in numbers if self._fails_partly(number, outcomes)]
        multiples = self._multiples(partly, outcomes)
        if len(outcomes) > 1 and any(self._fails_once(each, outcomes) for each in numbers) and not self._is_spent():
            outcomes.append(self._outcome(self._smaller(multiples, outcomes)))
            numbers.update(dict.fromkeys(outcomes[-1].nodes))
            partly = [number for number in numbers if self._fails_partly(number, outcomes)]
        for number in numbers:
            if self._fails_always(number, outcomes):
                failure = self._failure(number, outcomes)
                findings[number] = self._limited(number, failure, outcomes) or failure
            elif number in partly:
                findings[number] = self._note(number, outcomes, multiples)
        for number, pin in self.pins.items():
            findings[number] = replace(self._fixing[number], pins=(pin,))
        settled = {number for number in numbers if all(outcome.state(number) == "fits" for outcome in outcomes)}
        sizes = tuple(outcome.sizes for outcome in outcomes if outcome.sizes)
        return Probed(findings, settled, sizes, self._notes())

    def _sets(self) -> list[dict[str, int]]:
        """The sets of sizes to try."""
        if not self._free:
            return [{}]
        sets = [choices(self._free, self._taken, step, together=False) for step in (1, STEP)]
        if any(size.is_made_up for size in self._free):
            sets += [choices(self._free, self._taken, step, together=True) for step in (1, STEP)]
        for example in (self.example, given_by_file(self.source)):
            known = {
                size.name: example[key]
                for size in self._free
                for key in (size.name, as_name(size.name))
                if key in example
            }
            if known:
                sets.append({**sets[0], **known})
        return [each for number, each in enumerate(sets) if each not in sets[:number]]

    def _outcomes(self) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for sizes in self._sets():
            if outcomes and self._is_spent():
                break
            outcomes.append(self._outcome(sizes))
        if self._free and all(outcome.too_small for outcome in outcomes) and not self._is_spent():
            outcomes.append(self._outcome(choices(self._free, self._taken, STEP * STEP, together=True)))
        return outcomes

    def _is_spent(self) -> bool:
        return self._visited + len(self._graph) > MAX_VISITS

    def _outcome(self, sizes: Mapping[str, int]) -> Outcome:
        """Try one set of sizes, with the names that are fixed or sums in their places."""
        settled = within(sizes, self.ranges)
        settled.update((name, settled[name] * by) for name, (by, _) in self.factors.items())
        settled.update((pin.name, pin.size) for pin in self.pins.values())
        settled.update({name: sum(settled[part] for part in parts) for name, parts in self.sums.items()})
        for name in self.left_out:
            settled.pop(name, None)
        trial = Trial(self.source, of_expressions(self.source, settled), executed=self._executed)
        model = trial.run()
        self._visited += len(self._graph)
        asked = list(questions(model))
        found = judged(asked, self.check_batch, None, self.progress)
        nodes = {question.number: finding for question, finding in zip(asked, found, strict=True)}
        return Outcome(settled, nodes, trial.failed, trial.fits, trial.reached, trial.too_small)

    def _fails_always(self, number: str, outcomes: Sequence[Outcome]) -> bool:
        """Whether a node fails at each set of sizes at which its inputs are known, and at two at least if there are
        two."""
        states = [outcome.state(number) for outcome in outcomes]
        failing = sum(state in ("conflict", "fault") for state in states)
        return "fits" not in states and failing >= min(2, len(outcomes))

    def _fails_once(self, number: str, outcomes: Sequence[Outcome]) -> bool:
        """Whether a node fails at one set of sizes, and another node before it at the others."""
        states = [outcome.state(number) for outcome in outcomes]
        return "fits" not in states and sum(state in ("conflict", "fault") for state in states) == 1

    def _smaller(self, multiples: Mapping[str, int], outcomes: Sequence[Outcome]) -> dict[str, int]:
        """Sizes as small as what they are multiples of allows."""
        if not multiples:
            return choices(self._free, self._taken, STEP // 4, together=True)
        return {
            name: outcomes[1].sizes[name] // STEP * multiples[name] if name in multiples else size
            for name, size in outcomes[0].sizes.items()
        }

    def _fails_partly(self, number: str, outcomes: Sequence[Outcome]) -> bool:
        states = {outcome.state(number) for outcome in outcomes}
        return "fits" in states and bool(states & {"conflict", "fault"})

    def _failure(self, number: str, outcomes: Sequence[Outcome]) -> Finding:
        """What there is to say of a node that fails always: the first failure, and its sizes."""
        first = next(outcome for outcome in outcomes if outcome.fails(number))
        times = sum(outcome.fails(number) for outcome in outcomes)
        tried = Tried("fails", first.sizes, times) if first.sizes else None  # a model without free sizes has one set
        return replace(first.nodes[number], tried=tried, pins=self._pins(number, outcomes))

    def _limited(self, number: str, failure: Finding, outcomes: Sequence[Outcome]) -> Finding | None:
        """A note in place of a failure, if a size that was always above a number need only be at most that number."""
        for pin in failure.pins:
            above = all(outcome.sizes.get(pin.name, 0) > pin.size for outcome in outcomes)
            if not above or pin.size < 3 or self._is_spent():
                continue
            if self._fits_at(number, pin.name, pin.size - 1, outcomes[0]):
                needs = f"{pin.name} to be at most {pin.size}"
                return replace(failure, pins=(), tried=Tried("partly", outcomes[0].sizes, len(outcomes), needs))
        return None

    def _note(self, number: str, outcomes: Sequence[Outcome], multiples: Mapping[str, int]) -> Finding:
        """What there is to say of a node that fails at some sizes."""
        first = next(outcome for outcome in outcomes if outcome.fails(number))
        divides = first is outcomes[0] and outcomes[1].state(number) == "fits"
        needs = " and ".join(f"{name} to be a multiple of {by}" for name, by in multiples.items()) if divides else ""
        return replace(first.nodes[number], tried=Tried("partly", first.sizes, len(outcomes), needs))

    def _multiples(self, partly: Sequence[str], outcomes: Sequence[Outcome]) -> dict[str, int]:
        """What each name must be a multiple of, if that is why nodes fail at primes and not at their multiples."""
        if not partly:
            return {}
        small = [number for number in partly if outcomes[0].fails(number) and outcomes[1].state(number) == "fits"]
        found: dict[str, int] = {}
        fitting = [number for number in outcomes[1].nodes if outcomes[1].state(number) == "fits"] + small
        for size in self._free if small else ():
            prime = outcomes[1].sizes.get(size.name, 0) // STEP
            least = STEP.bit_length() - 1
            while prime and least and not self._is_spent() and size.name not in self.sums:
                tried = self._outcome({**outcomes[1].sizes, size.name: prime << (least - 1)})
                if any(tried.fails(number) for number in fitting):
                    break
                least -= 1
            if prime and least:
                found[size.name] = 1 << least
        return found

    def _explains_one(self, outcomes: Sequence[Outcome]) -> bool:
        """Find one name that a node fixes or that is a sum of others; False if there is none."""
        if len(self._free) > _MOST_NAMES:
            return False
        for number in dict.fromkeys(number for outcome in outcomes for number in outcome.nodes):
            if number in self.pins or not self._fails_always(number, outcomes):
                continue
            if all(outcome.state(number) != "fault" for outcome in outcomes):
                if self._is_sum(number, outcomes):
                    return True
            elif not self._is_spent() and (self._is_fixed(number, outcomes) or self._must_divide(number, outcomes)):
                return True
        return False

    def _is_sum(self, number: str, outcomes: Sequence[Outcome]) -> bool:
        """Whether the conflict is of a name that must be a sum of names of other inputs, as the length of a mask is
        that of the cache and the new tokens."""
        pairs = [_conflicting(outcome.nodes[number]) for outcome in outcomes if outcome.state(number) == "conflict"]
        sizes = [outcome.sizes for outcome in outcomes if outcome.state(number) == "conflict"]
        for own in self._free:
            values = [size.get(own.name) for size in sizes]
            if own.name in self.sums or any(value not in pair for value, pair in zip(values, pairs, strict=True)):
                continue
            others = [pair[0] if pair[1] == value else pair[1] for value, pair in zip(values, pairs, strict=True)]
            for parts in combinations(self._free, 2):
                if own not in parts and all(
                    other == sum(size.get(part.name, 0) for part in parts)
                    for other, size in zip(others, sizes, strict=True)
                ):
                    self.sums[own.name] = tuple(part.name for part in parts)
                    return True
        return False

    def _is_fixed(self, number: str, outcomes: Sequence[Outcome]) -> bool:
        """Whether one name can have but one number, since an op that does not broadcast fails at any other."""
        tried = 0
        for size in self._free:
            if size.name in self.factors or size.name in self.sums:
                continue
            for candidate in _candidates(size, number, outcomes):
                if tried == _MOST_CANDIDATES:
                    return False
                tried += 1
                fitting = [self._fits_at(number, size.name, times * candidate, outcomes[0]) for times in (1, 2, 3)]
                if all(fitting):
                    self.factors[size.name] = (candidate, number)
                    return True
                if fitting[0]:
                    failed = next(each for each in outcomes if each.fails(number))
                    self._fixing[number] = replace(failed.nodes[number], reason="", answer=None)
                    self.pins[number] = Pin(size.name, candidate)
                    return True
        return False

    def _fits_at(self, number: str, name: str, size: int, outcome: Outcome) -> bool:
        return self._outcome({**outcome.sizes, name: size}).state(number) == "fits"

    def _must_divide(self, number: str, outcomes: Sequence[Outcome]) -> bool:
        """Whether a node fails because of one size that it can't divide. That one gets no number then."""
        if self._graph[number] not in _DIVIDING:
            return False
        for size in self._free:
            if size.name in self.left_out:
                continue
            self.left_out[size.name] = number
            if not self._outcome(outcomes[0].sizes).fails(number):
                return True
            del self.left_out[size.name]
        return False

    def _pins(self, number: str, outcomes: Sequence[Outcome]) -> tuple[Pin, ...]:
        """The one name that must have one number, if the conflict of a node is always of that and the same number."""
        conflicts = [outcome for outcome in outcomes if outcome.state(number) == "conflict"]
        pairs = [_conflicting(outcome.nodes[number]) for outcome in conflicts]
        fixed = set.intersection(*(set(pair) for pair in pairs)) if pairs else set()
        if len(fixed) != 1 or any(len(pair) != 2 for pair in pairs):
            return ()
        (number_of_file,) = fixed
        values = [next((size for size in pair if size != number_of_file), 0) for pair in pairs]
        for name, size in conflicts[0].sizes.items():
            if size == values[0] and all(
                outcome.sizes.get(name) == value for outcome, value in zip(conflicts, values, strict=True)
            ):
                return (Pin(name, number_of_file),)
        return ()

    def _notes(self) -> tuple[str, ...]:
        names = self.source.names
        left = [
            f"{name} was not tried with numbers: {self._graph[number]} {names.get(number, number)} fits only some"
            for name, number in self.left_out.items()
        ]
        left += [
            f"{name} was tried with multiples of {by}, which {self._graph[number]} {names.get(number, number)} needs"
            for name, (by, number) in self.factors.items()
        ]
        sums = [f"{name} was tried as {' + '.join(parts)}" for name, parts in self.sums.items()]
        return (*left, *sums)


def _conflicting(finding: Finding) -> tuple[int, ...]:
    """The two sizes of a conflict."""
    conflict = finding.answer.conflict if finding.answer else None
    return tuple(size for size in conflict.sizes if isinstance(size, int)) if conflict else ()


def _candidates(size: FreeSize, number: str, outcomes: Sequence[Outcome]) -> list[int]:
    """The numbers that a failing node may fix a size to: constants that it meets, and what makes its elements fit."""
    failing = [(outcome.sizes, outcome.failed[number]) for outcome in outcomes if number in outcome.failed]
    if not failing or any(size.name not in sizes for sizes, _ in failing):
        return []
    shapes = [[shape_of(kept.type) or [] for kept in inputs] for _, inputs in failing]
    common = set.intersection(*({length for shape in each for length in shape} for each in shapes))
    for kept in failing[0][1]:
        if kept.value is not None and kept.value.dtype.kind == "i" and kept.value.ndim <= 1:
            common |= {int(value) for value in kept.value.reshape(-1)} | {int(kept.value.sum())}
    wanted = [_wanted(sizes[size.name], inputs) for sizes, inputs in failing]
    exact = {wanted[0]} if len(set(wanted)) == 1 and wanted[0] else set()
    met = all(
        any(sizes[size.name] in shape for shape in each) for (sizes, _), each in zip(failing, shapes, strict=True)
    )
    return [*exact, *(sorted(common - exact - {0, failing[0][0][size.name]}, reverse=True) if met else ())]


def _wanted(own: int, inputs: Sequence[Kept]) -> int:
    """The number that a size must have for a tensor to have as many elements as a target shape; 0 if there is none."""
    shape = shape_of(inputs[0].type) if inputs else None
    target = inputs[1].value if len(inputs) == 2 else None
    if shape is None or target is None or target.ndim != 1 or target.dtype.kind != "i" or -1 in target:
        return 0
    sizes = [shape[axis] if length == 0 and axis < len(shape) else int(length) for axis, length in enumerate(target)]
    have, want = int(np.prod(shape, dtype=object)), int(np.prod(sizes, dtype=object))
    return want * own // have if have and want * own % have == 0 else 0
