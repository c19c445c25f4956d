"""The sizes that a failing node may need, from its inputs in the trials of a probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Protocol

from ..finding import Finding
from .concrete_values import KnownValue, shape_of


class FailedTrial(Protocol):
    """A trial in which nodes failed."""

    @property
    def sizes(self) -> Mapping[str, int]: ...

    @property
    def failed(self) -> Mapping[str, list[KnownValue]]: ...


def conflicting_sizes(finding: Finding) -> tuple[int, ...]:
    """Return the sizes of a finding's conflict, which are two unless the conflict is of another kind."""
    conflict = finding.answer.conflict if finding.answer else None
    return tuple(size for size in conflict.sizes if isinstance(size, int)) if conflict else ()


def fixed_size_candidates(name: str, number: str, trials: Sequence[FailedTrial]) -> list[int]:
    """Return the numbers to which a failing node may pin a named size, the most likely first.

    The first is the number that makes the node's elements fit a target shape. The others are constants among the
    node's inputs, from the largest to the smallest.
    """
    failing = [(trial.sizes, trial.failed[number]) for trial in trials if number in trial.failed]
    if not failing or any(name not in sizes for sizes, _ in failing):
        return []
    fitting = {_fitting_size(sizes[name], inputs) for sizes, inputs in failing}
    exact = [size for size in fitting if size] if len(fitting) == 1 else []
    shapes = [[shape_of(value.type) or [] for value in inputs] for _, inputs in failing]
    is_input_size = all(
        any(sizes[name] in shape for shape in each) for (sizes, _), each in zip(failing, shapes, strict=True)
    )
    if not is_input_size:
        return exact
    constants = set.intersection(*({size for shape in each for size in shape} for each in shapes))
    constants |= _integers(failing[0][1])
    constants -= {0, failing[0][0][name], *exact}
    return [*exact, *sorted(constants, reverse=True)]


def _integers(inputs: Sequence[KnownValue]) -> set[int]:
    """Return the elements of the integer vectors among some inputs, and the sum of each vector."""
    integers: set[int] = set()
    for value in inputs:
        if value.array is not None and value.array.dtype.kind == "i" and value.array.ndim <= 1:
            integers |= {int(element) for element in value.array.reshape(-1)} | {int(value.array.sum())}
    return integers


def _fitting_size(size: int, inputs: Sequence[KnownValue]) -> int:
    """Return the number in place of `size` that gives the first input the elements of a target shape, or 0.

    The target shape is the second input, as in a Reshape, where 0 stands for the size of the first input.
    """
    shape = shape_of(inputs[0].type) if inputs else None
    target = inputs[1].array if len(inputs) == 2 else None
    if shape is None or target is None or target.ndim != 1 or target.dtype.kind != "i" or -1 in target:
        return 0
    sizes = [shape[axis] if length == 0 and axis < len(shape) else int(length) for axis, length in enumerate(target)]
    elements, needed = prod(shape), prod(sizes)
    return needed * size // elements if elements and needed * size % elements == 0 else 0
