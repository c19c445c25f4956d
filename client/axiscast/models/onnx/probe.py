"""Probe: tries a model with several sets of sizes, and finds the rules of the nodes that fail."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...messages.findings import Failure, PartialSize, Requirement, SizeRule
from .concrete_inference import ConcreteInference
from .concrete_values import UNKNOWN_SIZE, KnownValue, known_shape
from .inference import PreparedModel
from .probe_sizes import STEP, choose_sizes, free_sizes, numbers_in
from .solver import Solver, apply_rules
from .trials import Trials

_MAX_RULES = 12
"""The maximum number of nodes for which the probe solves a model."""


class ProbeResult(NamedTuple):
    """The results of a probe of a model, for nodes that are identified by their indices."""

    failures: dict[str, Failure]
    unsolved: set[str]
    """The failing nodes for which the limits of the search permit no result."""
    fitting: set[str]
    """The nodes that run in all trials in which their sizes are known."""
    sizes: tuple[dict[str, int], ...] = ()
    """The sets of sizes that were tried."""
    shapes: Mapping[str, list[PartialSize] | None] = {}
    """The shapes of values, with the names of the sizes that they follow in all trials."""


@dataclass
class Probe:
    """The trials of a model. `example` contains sizes with which the user runs the model."""

    prepared: PreparedModel
    ranges: Mapping[str, str]
    example: Mapping[str, int]
    failures: dict[str, Failure] = field(default_factory=dict)
    rules: list[SizeRule] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.trials = Trials(self.prepared, self.ranges)
        self._failed: dict[str, ConcreteInference] = {}
        """The first trial in which each failing node fails."""
        self._first: dict[str, int] = {}
        self._rules_of: dict[str, tuple[SizeRule, ...]] = {}
        """The rules that were found for the failing nodes."""

    def run(self) -> ProbeResult:
        """Run the trials, and solve for the sizes at which the failing nodes run."""
        free, avoided = free_sizes(self.prepared), numbers_in(self.prepared)
        sets = [choose_sizes(free, avoided, 1, 5, 37), choose_sizes(free, avoided, STEP, 2, 2)] if free else [{}]
        if free:
            sets.append(choose_sizes(free, frozenset(), 1, 2, 67))
        self._first = sets[0]
        trials = self._run(sets)
        for _ in range(_MAX_RULES):
            number = next((number for number in self._failed if number not in self.failures), None)
            if number is None:
                break
            failed = next(trial for trial in trials if trial.state(number) == "fails")
            found = Solver(self.trials, number, failed, self.rules, self.example).solve()
            self.rules += found
            self._rules_of[number] = (*self._rules_of.get(number, ()), *found)
            if found:
                trials = self._run(sets)
            self._attribute(number, trials)
        unsolved = self._failed.keys() - self.failures.keys()
        fitting = {number for trial in trials for number in trial.fits} - self._failed.keys()
        sizes = tuple(trial.sizes for trial in trials if trial.sizes)
        return ProbeResult(self.failures, unsolved, fitting, sizes, _named_shapes(trials))

    def shapes_at_other_sizes(self, number: str, sizes: Collection[int]) -> Iterator[list[list[int]] | None]:
        """For each axis of an input of the model that has one of these sizes, yield the node's shapes at another size.

        If the node does not run at the other size, yield None.
        """
        for value in self.prepared.model.graph.input:
            for axis, size in enumerate(value.type.tensor_type.shape.dim):
                if size.dim_value in sizes and not self.trials.is_exhausted:
                    changed = {(value.name, axis): size.dim_value + 1}
                    trial = self.trials.run(apply_rules(self.rules, self._first), number, changed)
                    shapes = [known_shape(each.type) for each in trial.inputs.get(number, ())]
                    runs = trial.state(number) == "fits"
                    yield [shape for shape in shapes if shape is not None] if runs else None

    def _run(self, sets: list[dict[str, int]]) -> list[ConcreteInference]:
        """Try the sets of sizes with the rules that are known, and record the nodes that fail."""
        trials = [self.trials.run(apply_rules(self.rules, sizes)) for sizes in sets]
        numbers = {number: trial for trial in reversed(trials) for number in trial.failing}
        for number in sorted(numbers, key=int):
            self._failed.setdefault(number, numbers[number])
        return trials

    def _broken(self, number: str) -> Requirement | None:
        trial = self._failed[number]
        index = trial.broken(number)
        return None if index is None else trial.requirement(number, index)

    def _attribute(self, solved: str, trials: list[ConcreteInference]) -> None:
        """Record the failures of the nodes that the rules of the solved node explain, or of this node without rules."""
        rules = self._rules_of[solved]
        for number, trial in self._failed.items():
            still_fails = any(each.state(number) == "fails" for each in trials)
            if number in self.failures or (still_fails and (number != solved or rules)):
                continue
            shapes = tuple(map(_shape, trial.inputs.get(number, ())))
            self.failures[number] = Failure(
                trial.sizes, self._broken(number), shapes, self._rules_of.get(number, rules)
            )


def _named_shapes(trials: Sequence[ConcreteInference]) -> dict[str, list[PartialSize] | None]:
    """Return the shapes of the values that have known ranks in all trials."""
    names: dict[tuple[int, ...], str] = {}
    for name in trials[0].sizes:
        names.setdefault(tuple(trial.sizes[name] for trial in trials), name)
    found: dict[str, list[PartialSize] | None] = {}
    for name in trials[0].shapes:
        shapes = [trial.shapes.get(name) for trial in trials]
        known = [shape for shape in shapes if shape is not None]
        if len(known) == len(trials) and len({*map(len, known)}) == 1:
            found[name] = [_named_size(sizes, names) for sizes in zip(*known, strict=True)]
    return found


def _named_size(sizes: tuple[int, ...], names: Mapping[tuple[int, ...], str]) -> PartialSize:
    """Return an integer that is the same in all trials, or the name that has these sizes, or None."""
    if UNKNOWN_SIZE in sizes:
        return None
    return sizes[0] if len({*sizes}) == 1 else names.get(sizes)


def _shape(value: KnownValue) -> tuple[PartialSize, ...] | None:
    shape = known_shape(value.type)
    return None if shape is None else tuple(None if size == UNKNOWN_SIZE else size for size in shape)
