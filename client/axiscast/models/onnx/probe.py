"""Probe: tries a model with several sets of sizes, to find nodes that fail for all sets or for some sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

from ..finding import Finding, PinnedSize, TrialSummary
from ..node_checks import CheckBatch, Progress, check_nodes
from ..size_expressions import as_name
from .concrete_inference import ConcreteInference, ExecutedNodes
from .graph import all_nodes
from .inference import PreparedModel
from .nodes import find_node_checks
from .probe_sizes import STEP, add_expressions, choose_sizes, clamp_to_ranges, free_sizes, metadata_sizes, numbers_in
from .trial import Trial, complete_failure, fails_always, fails_once, fails_partly, partial_failure, pin_candidates

MAX_VISITS = 300_000
"""The maximum total number of nodes that all trials of a model visit. Visiting this number takes half a minute."""
_MAX_EXPLANATIONS = 8
"""The maximum number of names for which the probe finds an explanation, such as a pinned size or a sum."""
_MAX_NAMES = 40
"""The maximum number of dynamic sizes. If a model has more, the probe does not search for explanations."""
_MAX_CANDIDATES = 6
"""The maximum number of sizes that are tried for names that a node may pin."""
_DIVIDING_OPS = frozenset({"Reshape", "Split", "SpaceToDepth", "DepthToSpace", "Flatten"})
"""The ops that may require divisible sizes."""


class ProbeResult(NamedTuple):
    """The results of a probe of a model."""

    findings: dict[str, Finding]
    """The findings for nodes that fail for at least one set of sizes, keyed by the index of the node."""
    fitting: set[str]
    """The indices of the nodes whose shapes broadcast for all sets of sizes that were tried."""
    sizes: tuple[dict[str, int], ...]
    """The sets of sizes that were tried."""
    notes: tuple[str, ...]
    """Notes about named sizes that the probe could not choose freely. Each note states the reason."""


@dataclass
class Probe:
    """A series of trials of a model with several sets of sizes."""

    prepared: PreparedModel
    check_batch: CheckBatch
    ranges: Mapping[str, str]
    """The ranges that the user assumes for named sizes."""
    example: Mapping[str, int]
    """The sizes with which the user runs the model."""
    progress: Progress | None = None
    pins: dict[str, PinnedSize] = field(default_factory=dict)
    """The sizes that nodes without broadcasting pin to one integer, keyed by the index of the node."""
    sums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The sizes that must be the sum of other sizes. The keys and the values are size names."""
    factors: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The sizes that must be a multiple of a factor, keyed by name.

    The value consists of the factor, and of the index of the node that requires it.
    """
    left_out: dict[str, str] = field(default_factory=dict)
    """The names that get no integer. The value is the index of the node that would fail."""

    def __post_init__(self) -> None:
        self._free = free_sizes(self.prepared)
        self._avoided = numbers_in(self.prepared)
        self._executed: ExecutedNodes = {}
        self._ops = {node.name: node.op_type for node in all_nodes(self.prepared.model.graph)}
        self._visits = 0
        self._pinning: dict[str, Finding] = {}

    def run(self) -> ProbeResult:
        """Run all trials. Return the nodes that fail for every set of sizes, and the nodes that fail for some sets."""
        trials = self._explained_trials()
        numbers = dict.fromkeys(number for trial in trials for number in (*trial.nodes, *trial.failed))
        partly = [number for number in numbers if fails_partly(number, trials)]
        multiples = self._multiples(partly, trials)
        needs_more = len(trials) > 1 and any(fails_once(number, trials) for number in numbers)
        if needs_more and not self._is_exhausted():
            trials.append(self._try(self._smaller_sizes(multiples, trials)))
            numbers.update(dict.fromkeys(trials[-1].nodes))
        findings: dict[str, Finding] = {}
        for number in numbers:
            if fails_always(number, trials):
                failure = complete_failure(number, trials)
                findings[number] = self._upper_limit(number, failure, trials) or failure
            elif fails_partly(number, trials):
                findings[number] = partial_failure(number, trials, multiples)
        for number, pin in self.pins.items():
            findings[number] = replace(self._pinning[number], pins=(pin,))
        fitting = {number for number in numbers if all(trial.state(number) == "fits" for trial in trials)}
        sizes = tuple(trial.sizes for trial in trials if trial.sizes)
        return ProbeResult(findings, fitting, sizes, self._notes())

    def _explained_trials(self) -> list[Trial]:
        """Explain as many names as possible, and return the trials with the resulting sizes."""
        trials = self._trials()
        for _ in range(_MAX_EXPLANATIONS):
            if not self._explain_name(trials):
                break
            trials = self._trials()
        return trials

    def _sets_of_sizes(self) -> list[dict[str, int]]:
        """Return the sets of sizes to try, without duplicates."""
        if not self._free:
            return [{}]
        sets = [choose_sizes(self._free, self._avoided, step, equal_generated=False) for step in (1, STEP)]
        if any(size.has_generated_name for size in self._free):
            sets += [choose_sizes(self._free, self._avoided, step, equal_generated=True) for step in (1, STEP)]
        for example in (self.example, metadata_sizes(self.prepared)):
            names = [(size.name, key) for size in self._free for key in (size.name, as_name(size.name))]
            known = {name: example[key] for name, key in names if key in example}
            if known:
                sets.append({**sets[0], **known})
        return [each for number, each in enumerate(sets) if each not in sets[:number]]

    def _trials(self) -> list[Trial]:
        trials: list[Trial] = []
        for sizes in self._sets_of_sizes():
            if trials and self._is_exhausted():
                break
            trials.append(self._try(sizes))
        if self._free and all(trial.too_small for trial in trials) and not self._is_exhausted():
            trials.append(self._try(choose_sizes(self._free, self._avoided, STEP * STEP, equal_generated=True)))
        return trials

    def _is_exhausted(self) -> bool:
        """Return whether the limit on visited nodes does not permit another trial."""
        return self._visits + len(self._ops) > MAX_VISITS

    def _try(self, sizes: Mapping[str, int]) -> Trial:
        """Try the model with one set of sizes, after adjusting sizes that must be fixed values, multiples or sums."""
        used = clamp_to_ranges(sizes, self.ranges)
        used.update((name, used[name] * factor) for name, (factor, _) in self.factors.items())
        used.update((pin.name, pin.size) for pin in self.pins.values())
        used.update({name: sum(used[part] for part in parts) for name, parts in self.sums.items()})
        for name in self.left_out:
            used.pop(name, None)
        inference = ConcreteInference(self.prepared, add_expressions(self.prepared, used), executed=self._executed)
        checks = list(find_node_checks(inference.run()))
        self._visits += len(self._ops)
        findings = check_nodes(checks, self.check_batch, None, self.progress)
        nodes = {check.number: finding for check, finding in zip(checks, findings, strict=True)}
        return Trial(used, nodes, inference.failed, inference.fits, inference.reached, inference.too_small)

    def _smaller_sizes(self, multiples: Mapping[str, int], trials: Sequence[Trial]) -> dict[str, int]:
        """Return the smallest set of sizes that meets the required multiples."""
        if not multiples:
            return choose_sizes(self._free, self._avoided, STEP // 4, equal_generated=True)
        smallest = {name: trials[1].sizes[name] // STEP * multiple for name, multiple in multiples.items()}
        return {name: smallest.get(name, size) for name, size in trials[0].sizes.items()}

    def _upper_limit(self, number: str, failure: Finding, trials: Sequence[Trial]) -> Finding | None:
        """Return a finding with an upper limit for a size, or None if no limit explains why a node fails.

        There is such a limit if the size was above some value in all trials, and the node's shapes fit with a smaller
        size.
        """
        for pin in failure.pins:
            was_above = all(trial.sizes.get(pin.name, 0) > pin.size for trial in trials)
            if not was_above or pin.size < 3 or self._is_exhausted():
                continue
            if self._fits_at(number, pin.name, pin.size - 1, trials[0]):
                needs = f"{pin.name} to be at most {pin.size}"
                return replace(failure, pins=(), tried=TrialSummary("partly", trials[0].sizes, len(trials), needs))
        return None

    def _multiples(self, partly: Sequence[str], trials: Sequence[Trial]) -> dict[str, int]:
        """For each size that must be a multiple of a power of two, return this power of two.

        The result is empty unless some nodes fail with prime sizes and fit with multiples of these primes.
        """
        failing = [number for number in partly if trials[0].fails(number) and trials[1].state(number) == "fits"]
        if not failing:
            return {}
        fitting = [number for number in trials[1].nodes if trials[1].state(number) == "fits"] + failing
        multiples: dict[str, int] = {}
        for size in self._free:
            prime = trials[1].sizes.get(size.name, 0) // STEP
            if not prime:
                continue
            exponent = STEP.bit_length() - 1
            while exponent and not self._is_exhausted() and size.name not in self.sums:
                trial = self._try({**trials[1].sizes, size.name: prime << (exponent - 1)})
                if any(trial.fails(number) for number in fitting):
                    break
                exponent -= 1
            if exponent:
                multiples[size.name] = 1 << exponent
        return multiples

    def _explain_name(self, trials: Sequence[Trial]) -> bool:
        """Find one name whose size must be a certain integer, a sum of other sizes or a multiple of another size.

        Return whether a name was found.
        """
        if len(self._free) > _MAX_NAMES:
            return False
        for number in dict.fromkeys(number for trial in trials for number in trial.nodes):
            if number in self.pins or not fails_always(number, trials):
                continue
            if all(trial.state(number) != "fault" for trial in trials):
                if self._find_sum(number, trials):
                    return True
            elif not self._is_exhausted() and (self._find_pin(number, trials) or self._find_left_out(number, trials)):
                return True
        return False

    def _find_sum(self, number: str, trials: Sequence[Trial]) -> bool:
        """Find a name whose size must be the sum of two other sizes. Return whether a name was found.

        For example, the length of an attention mask is the length of the cache plus the number of new tokens.
        """
        conflicts = [trial for trial in trials if trial.state(number) == "conflict"]
        pairs = [trial.nodes[number].conflicting_sizes for trial in conflicts]
        for total in self._free:
            sizes = [trial.sizes.get(total.name) for trial in conflicts]
            if total.name in self.sums or any(size not in pair for size, pair in zip(sizes, pairs, strict=True)):
                continue
            others = [pair[0] if pair[1] == size else pair[1] for size, pair in zip(sizes, pairs, strict=True)]
            for parts in combinations(self._free, 2):
                sums = [sum(trial.sizes.get(part.name, 0) for part in parts) for trial in conflicts]
                if total not in parts and sums == others:
                    self.sums[total.name] = tuple(part.name for part in parts)
                    return True
        return False

    def _find_pin(self, number: str, trials: Sequence[Trial]) -> bool:
        """Find a name whose size must be a certain integer, or a multiple of it. Return whether a name was found.

        The op of the node does not broadcast, and the node fails with any other size.
        """
        candidates = [
            (size.name, candidate)
            for size in self._free
            if size.name not in self.factors and size.name not in self.sums
            for candidate in pin_candidates(size.name, number, trials)
        ]
        for name, candidate in candidates[:_MAX_CANDIDATES]:
            fits = [self._fits_at(number, name, times * candidate, trials[0]) for times in (1, 2, 3)]
            if all(fits):
                self.factors[name] = (candidate, number)
                return True
            if fits[0]:
                failed = next(trial for trial in trials if trial.fails(number))
                self._pinning[number] = replace(failed.nodes[number], reason="", answer=None)
                self.pins[number] = PinnedSize(name, candidate)
                return True
        return False

    def _fits_at(self, number: str, name: str, size: int, trial: Trial) -> bool:
        return self._try({**trial.sizes, name: size}).state(number) == "fits"

    def _find_left_out(self, number: str, trials: Sequence[Trial]) -> bool:
        """Find a size that the node must divide, and assign no integer to it. Return whether such a size was found."""
        if self._ops[number] not in _DIVIDING_OPS:
            return False
        for size in self._free:
            if size.name in self.left_out:
                continue
            self.left_out[size.name] = number
            if not self._try(trials[0].sizes).fails(number):
                return True
            del self.left_out[size.name]
        return False

    def _notes(self) -> tuple[str, ...]:
        def node(number: str) -> str:
            return f"{self._ops[number]} {self.prepared.node_names.get(number, number)}"

        notes = []
        for name, number in self.left_out.items():
            notes.append(f"{name} was not tried with numbers, because {node(number)} fits only for some numbers")
        for name, (factor, number) in self.factors.items():
            notes.append(f"{name} was tried only with multiples of {factor}, because {node(number)} needs such a size")
        sums = [f"{name} was tried as {' + '.join(parts)}" for name, parts in self.sums.items()]
        return (*notes, *sums)
