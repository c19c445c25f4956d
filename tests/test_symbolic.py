"""Symbolic sizes: never wrong, never looser than need be."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from symbolic_truth import Request, Truth, holds, requests, truth

from tensorcast.schema.messages import CheckAnswer, CheckRequest
from tensorcast.schema.ops import OPS
from tensorcast.schema.validation import validated
from tensorcast_service.check import check

REQUESTS_PER_OP = 60


def ask(request: Request) -> CheckAnswer:
    return check(validated(CheckRequest, request))


def faults(request: Request, answer: CheckAnswer, real: Truth) -> list[str]:
    """What an answer says that is not so, or not as precisely as it could."""
    if answer.compatible is not real.compatible:
        return [f"compatible is {answer.compatible}, not {real.compatible}"]
    if answer.compatible is False:
        return [] if answer.conflict else ["no conflict"]
    found = []
    conditions = [condition.model_dump(exclude_unset=True) for condition in answer.conditions]
    meant = [plan is not None for _, _, plan in real.cases]

    def said(conditions: list[dict[str, Any]]) -> list[bool]:
        return [all(holds(one, filled, names) for one in conditions) for filled, names, _ in real.cases]

    if said(conditions) != meant:
        found.append("the conditions are not those under which it fits")
    for number, condition in enumerate(conditions):
        rest = [*conditions[:number], *conditions[number + 1 :]]
        if said(rest) == meant:
            found.append(f"not needed: {condition['text']}")
        for part in condition["any"] if len(condition["any"]) > 1 else []:
            shorter = {"any": [other for other in condition["any"] if other is not part]}
            if said([*rest, shorter]) == meant:
                found.append(f"not needed: {part} of {condition['text']}")
    plans = real.plans
    for number, output in enumerate(answer.outputs):
        placements = [plan.outputs[number] for _, plan in plans]
        for axis, said_size in enumerate(output.shape):
            best = real.tightest([placed.shape[axis] for placed in placements])
            if said_size not in best:
                found.append(f"output {number} axis {axis} is {said_size}, not {best}")
        every = set(placements[0].broadcast_axes).intersection(*(placed.broadcast_axes for placed in placements))
        some = {axis for placed in placements for axis in placed.broadcast_axes}
        if (output.broadcast_axes, output.maybe_broadcast_axes) != (sorted(every), sorted(some - every)):
            found.append(f"output {number} broadcast axes")
        if output.axes != list(placements[0].output_axes) or output.input != placements[0].input:
            found.append(f"output {number} axes")
    return found


@pytest.mark.parametrize("name", OPS)
def test_an_answer_is_the_truth_and_as_tight_as_the_notation_can_say(name: str) -> None:
    wrong = {}
    verdicts: Counter[bool | None] = Counter()
    for request in requests(name, "suite", REQUESTS_PER_OP):
        answer = ask(request)
        verdicts[answer.compatible] += 1
        if found := faults(request, answer, truth(request)):
            wrong[str(request)] = found
    assert wrong == {}
    assert len(verdicts) == 3 or name in ("poputil.expandToMatchRanks", "jax.lax.broadcast", "xarray.broadcast"), (
        verdicts
    )
