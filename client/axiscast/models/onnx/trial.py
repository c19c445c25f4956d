"""Trial: the results for a model with one set of sizes, and functions that combine the results of several trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Literal, NamedTuple

from ..finding import Finding, PinnedSize, TrialSummary
from .concrete_values import KnownValue, known_shape

State = Literal["fits", "conflict", "fault", "unknown"]
_FAILED: tuple[State, ...] = ("conflict", "fault")


class Trial(NamedTuple):
    """The results for a model that was tried with one set of sizes."""

    sizes: dict[str, int]
    nodes: dict[str, Finding]
    """The findings for all nodes that broadcast or fail, keyed by the index of the node."""
    failed: dict[str, list[KnownValue]]
    """The inputs of each node for which onnx reports an error, keyed by the index of the node."""
    fits: set[str]
    """The indices of the nodes whose input sizes are all known and fit together."""
    reached: set[str]
    """The indices of the nodes that may run with these sizes."""
    too_small: bool
    """Whether a size in the model would be less than one."""

    def state(self, number: str) -> State:
        """Return the state of a node in this trial.

        "fits" means that the shapes broadcast, "conflict" that they do not, and "fault" that onnx reports an error.
        """
        finding = self.nodes.get(number)
        if number not in self.reached:
            return "unknown"
        if finding is None or (finding.answer is None and number not in self.failed):
            return "fits" if number in self.fits else "unknown"
        if any(0 in (operand.shape or ()) for operand in finding.operands):
            return "unknown"
        if finding.answer is None:
            return "fault"
        return "conflict" if finding.answer.conflict else "fits" if finding.answer.compatible else "unknown"

    def fails(self, number: str) -> bool:
        """Return whether a node can't run with these sizes."""
        return self.state(number) in _FAILED


def fails_always(number: str, trials: Sequence[Trial]) -> bool:
    """Return whether a node fails in every trial in which its state is known.

    If there are two or more trials, the node must fail in at least two trials.
    """
    states = [trial.state(number) for trial in trials]
    failing = sum(state in _FAILED for state in states)
    return "fits" not in states and failing >= min(2, len(trials))


def fails_once(number: str, trials: Sequence[Trial]) -> bool:
    """Return whether a node fails in exactly one trial and has an unknown state in all other trials."""
    states = [trial.state(number) for trial in trials]
    return "fits" not in states and sum(state in _FAILED for state in states) == 1


def fails_partly(number: str, trials: Sequence[Trial]) -> bool:
    """Return whether a node fails in some trials and works in other trials."""
    states = {trial.state(number) for trial in trials}
    return "fits" in states and bool(states & {*_FAILED})


def complete_failure(number: str, trials: Sequence[Trial]) -> Finding:
    """Return the finding for a node that always fails. It is based on the first trial in which the node fails."""
    first = next(trial for trial in trials if trial.fails(number))
    failures = sum(trial.fails(number) for trial in trials)
    tried = TrialSummary("fails", first.sizes, failures) if first.sizes else None
    return replace(first.nodes[number], tried=tried, pins=_pins(number, trials))


def partial_failure(number: str, trials: Sequence[Trial], multiples: Mapping[str, int]) -> Finding:
    """Return the finding for a node that fails in some trials and works in other trials."""
    first = next(trial for trial in trials if trial.fails(number))
    needs_multiples = first is trials[0] and trials[1].state(number) == "fits"
    needs = " and ".join(f"{name} to be a multiple of {factor}" for name, factor in multiples.items())
    tried = TrialSummary("partly", first.sizes, len(trials), needs if needs_multiples else "")
    return replace(first.nodes[number], tried=tried)


def _pins(number: str, trials: Sequence[Trial]) -> tuple[PinnedSize, ...]:
    """Return the named size and the integer that conflict in a node, if all its conflicts are between these two.

    If the node has no such size, the tuple is empty.
    """
    conflicts = [trial for trial in trials if trial.state(number) == "conflict"]
    pairs = [trial.nodes[number].conflicting_sizes for trial in conflicts]
    fixed = set.intersection(*map(set, pairs)) if pairs else set()
    if len(fixed) != 1 or any(len(pair) != 2 for pair in pairs):
        return ()
    (fixed_size,) = fixed
    others = [next((size for size in pair if size != fixed_size), 0) for pair in pairs]
    for name in conflicts[0].sizes:
        if [trial.sizes.get(name) for trial in conflicts] == others:
            return (PinnedSize(name, fixed_size),)
    return ()


def pin_candidates(name: str, number: str, trials: Sequence[Trial]) -> list[int]:
    """Return the values to which a failing node may pin a named size, with the most likely value first.

    The first value makes the number of elements in the node's input equal to the number in a target shape. The other
    values are constants among the node's inputs, from the largest to the smallest.
    """
    failing = [(trial.sizes, trial.failed[number]) for trial in trials if number in trial.failed]
    if not failing or any(name not in sizes for sizes, _ in failing):
        return []
    fitting = {_fitting_size(sizes[name], inputs) for sizes, inputs in failing}
    exact = [size for size in fitting if size] if len(fitting) == 1 else []
    shapes = [[known_shape(value.type) or [] for value in inputs] for _, inputs in failing]
    used = zip([sizes[name] for sizes, _ in failing], shapes, strict=True)
    if not all(any(size in shape for shape in each) for size, each in used):
        return exact
    constants = set.intersection(*({size for shape in each for size in shape} for each in shapes))
    constants |= _integers(failing[0][1])
    constants -= {0, failing[0][0][name], *exact}
    return [*exact, *sorted(constants, reverse=True)]


def _integers(inputs: Sequence[KnownValue]) -> set[int]:
    """Return all elements of the integer vectors among the inputs, and the sum of each vector."""
    integers: set[int] = set()
    for value in inputs:
        if value.array is not None and value.array.dtype.kind == "i" and value.array.ndim <= 1:
            integers |= {int(element) for element in value.array.reshape(-1)} | {int(value.array.sum())}
    return integers


def _fitting_size(size: int, inputs: Sequence[KnownValue]) -> int:
    """Return the size with which the first input has as many elements as the target shape, or 0 if none exists.

    `size` is the current value. The target shape is the second input, as in a Reshape node. A 0 in the target shape
    stands for the corresponding size of the first input.
    """
    shape = known_shape(inputs[0].type) if inputs else None
    target = inputs[1].array if len(inputs) == 2 else None
    if shape is None or target is None or target.ndim != 1 or target.dtype.kind != "i" or -1 in target:
        return 0
    sizes = [shape[axis] if length == 0 and axis < len(shape) else int(length) for axis, length in enumerate(target)]
    elements, needed = prod(shape), prod(sizes)
    return needed * size // elements if elements and needed * size % elements == 0 else 0
