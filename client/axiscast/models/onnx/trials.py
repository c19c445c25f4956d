"""Trials of a model with sets of sizes. A trial infers all shapes, and finds the nodes that fail."""

from __future__ import annotations

from collections.abc import Mapping

from .concrete_inference import ConcreteInference, SharedResults
from .graph import all_nodes
from .inference import PreparedModel
from .probe_sizes import clamp_to_ranges

MAX_VISITS = 300_000
"""The maximum total number of nodes that all trials of a model visit. Visiting this number takes half a minute."""


class Trials:
    """The trials of one model. `ranges` contains the ranges that the user assumes for named sizes."""

    def __init__(self, prepared: PreparedModel, ranges: Mapping[str, str]) -> None:
        self._prepared, self._ranges = prepared, ranges
        self._shared = SharedResults()
        self._done: dict[tuple[object, ...], ConcreteInference] = {}
        self._node_count = sum(1 for _ in all_nodes(prepared.model.graph))
        self._visits = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether the limit on visited nodes does not permit another trial."""
        return self._visits + self._node_count > MAX_VISITS

    def run(
        self, sizes: Mapping[str, int], last: str | None = None, changed: Mapping[tuple[str, int], int] | None = None
    ) -> ConcreteInference:
        """Try the model with one set of sizes, up to the node `last`."""
        used = clamp_to_ranges(sizes, self._ranges)
        key = (last, *used.items(), *(changed or {}).items())
        if key not in self._done:
            trial = ConcreteInference(self._prepared, used, last, changed=changed or {}, shared=self._shared)
            self._done[key] = trial.run()
            self._visits += len(trial.inputs) + 1
        return self._done[key]
