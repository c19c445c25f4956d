"""Trials of a model with sets of sizes. A trial infers all shapes, and finds the nodes that fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from ...messages.findings import Requirement
from .concrete_inference import ConcreteInference, SharedResults
from .graph import all_nodes
from .inference import PreparedModel
from .probe_sizes import add_expressions, clamp_to_ranges

MAX_VISITS = 300_000
"""The maximum total number of nodes that all trials of a model visit. Visiting this number takes half a minute."""
State = Literal["fits", "fails", "unknown"]


class Trial(NamedTuple):
    """The results for a model that was tried with one set of sizes."""

    sizes: dict[str, int]
    inference: ConcreteInference

    def state(self, number: str) -> State:
        """Return whether a node fits or fails with these sizes. A node without known sizes is "unknown"."""
        if number in self.inference.failing:
            return "fails"
        return "fits" if number in self.inference.fits else "unknown"

    def broken(self, number: str) -> int | None:
        """Return the index of the first requirement of a node that does not hold, or None."""
        required = self.inference.required.get(number, [])
        return next((index for index, each in enumerate(required) if not each.holds), None)

    def requirement(self, number: str, index: int) -> Requirement | None:
        """Return one requirement of a node, or None if its sizes are unknown in this trial."""
        required = self.inference.required.get(number, [])
        return required[index] if index < len(required) else None


class Trials:
    """The trials of one model. `ranges` contains the ranges that the user assumes for named sizes."""

    def __init__(self, prepared: PreparedModel, ranges: Mapping[str, str]) -> None:
        self._prepared, self._ranges = prepared, ranges
        self._shared = SharedResults()
        self._done: dict[tuple[object, ...], Trial] = {}
        self._node_count = sum(1 for _ in all_nodes(prepared.model.graph))
        self._visits = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether the limit on visited nodes does not permit another trial."""
        return self._visits + self._node_count > MAX_VISITS

    def run(
        self, sizes: Mapping[str, int], last: str | None = None, changed: Mapping[tuple[str, int], int] | None = None
    ) -> Trial:
        """Try the model with one set of sizes, up to the node `last`."""
        used = clamp_to_ranges(sizes, self._ranges)
        key = (last, *used.items(), *(changed or {}).items())
        if key not in self._done:
            numbers = add_expressions(self._prepared, used)
            inference = ConcreteInference(self._prepared, numbers, last, changed=changed or {}, shared=self._shared)
            self._done[key] = Trial(used, inference.run())
            self._visits += len(inference.inputs) + 1
        return self._done[key]
