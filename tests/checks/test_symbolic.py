"""Checks of symbolic sizes, compared with all integers that the symbols stand for."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from cases import cases
from facts import formulas
from symbolic_truth import Request, Truth, holds, requests, truth
from test_vectors import FOLDER, SYMBOLIC_FILES

from axiscast.checks.check import answer_check
from axiscast.messages import CheckAnswer, CheckRequest
from axiscast.messages.validation import validate
from axiscast.ops import OPS
from axiscast.ops.families import Tile
from axiscast.wire.problems import Problem

REQUESTS_PER_RULE, REQUESTS_PER_OP = 60, 10
FIRST = set({op.align: name for name, op in reversed([*OPS.items()])}.values())
"""Return the first op of each rule, by its name."""


def ask(request: Request) -> CheckAnswer:
    return answer_check(validate(CheckRequest, request))


def faults(request: Request, answer: CheckAnswer, real: Truth) -> list[str]:
    """Return the errors of a response, and the fields that could be narrower."""
    if answer.compatible is not real.compatible:
        return [f"compatible is {answer.compatible}, not {real.compatible}"]
    if answer.compatible is False:
        return [] if answer.conflict else ["no conflict"]
    found = []
    conditions = [condition.model_dump(exclude_unset=True) for condition in answer.conditions]
    meant = [plan is not None for _, _, plan in real.cases]

    def said(condition: dict[str, Any]) -> list[bool]:
        return [holds(condition, filled, names) for filled, names, _ in real.cases]

    def are_meant(*columns: list[bool]) -> bool:
        """Return whether the conditions with these values are all true in exactly the cases that fit."""
        return [all(values) for values in zip([True] * len(meant), *columns, strict=True)] == meant

    columns = [said(condition) for condition in conditions]
    if not are_meant(*columns):
        found.append("the conditions are not those under which it fits")
    for number, condition in enumerate(conditions):
        rest = [*columns[:number], *columns[number + 1 :]]
        if are_meant(*rest):
            found.append(f"not needed: {condition['message']}")
        for part in condition["any"] if len(condition["any"]) > 1 else []:
            shorter = {"any": [other for other in condition["any"] if other is not part]}
            if are_meant(*rest, said(shorter)):
                found.append(f"not needed: {part} of {condition['message']}")
    plans = real.plans
    if any(plan.result is not None for _, plan in plans):
        for axis, size in enumerate(answer.shape):
            if size not in (best := real.tightest([(plan.result or ())[axis] for _, plan in plans])):
                found.append(f"size {axis} of the result is {size}, not {best}")
    for number, output in enumerate(answer.broadcast_inputs):
        placements = [plan.outputs[number] for _, plan in plans]
        dimensions = [(size, [placed.shape[axis] for placed in placements]) for axis, size in enumerate(output.shape)]
        if repeats_axes(request["op"]["name"]):
            found += [f"size {axis} is {size}" for axis, (size, values) in enumerate(dimensions)
                      if size not in real.tightest(values)]  # fmt: skip
            continue  # with integers, an axis that is not repeated has no factors
        for axis, size in enumerate(output.factors or []):
            dimensions.append((size, [placed.output_shape[axis] for placed in placements]))
        for place, (size, values) in enumerate(dimensions):
            if size not in (best := real.tightest(values)):
                found.append(f"output {number}, size {place} is {size}, not {best}")
        divided = any(
            placed.merges is not None or list(placed.input_shape) != filled["inputs"][placed.input]
            for placed, filled in zip(placements, [filled for filled, _, plan in real.cases if plan], strict=True)
        )
        # A split may leave certain sizes as they are, (3, 1) for one; factors are there all the same.
        splits = "(" in request["op"].get("pattern", "")
        if (output.factors is not None) is not divided and (divided or not splits):
            found.append(f"output {number} factors")
        every = set(placements[0].broadcast_axes).intersection(*(placed.broadcast_axes for placed in placements))
        some = {axis for placed in placements for axis in placed.broadcast_axes}
        if ([*output.broadcast_axes], [*output.maybe_broadcast_axes]) != (sorted(every), sorted(some - every)):
            found.append(f"output {number} broadcast axes")
        if output.axes != placements[0].output_axes or output.input != placements[0].input:
            found.append(f"output {number} axes")
    return found


def repeats_axes(name: str) -> bool:
    return issubclass(OPS[name], Tile) or name.startswith("ggml.")


@pytest.mark.parametrize("name", OPS)
def test_a_symbolic_response_is_correct_and_as_narrow_as_possible(name: str) -> None:
    wrong = {}
    verdicts: Counter[bool | None] = Counter()
    for request in requests(name, "suite", REQUESTS_PER_RULE if name in FIRST else REQUESTS_PER_OP):
        checked = validate(CheckRequest, request)
        if checked.op.needs_integers():
            with pytest.raises(Problem, match="supports integer sizes only"):
                answer_check(checked)
            continue
        answer = answer_check(checked)
        verdicts[answer.compatible] += 1
        if found := faults(request, answer, truth(request)):
            wrong[str(request)] = found
    assert wrong == {}
    if (
        name in FIRST
        and not issubclass(OPS[name], Tile)
        and not name.startswith("octave.")
        and name not in ("poputil.expandToMatchRanks", "jax.lax.broadcast", "xarray.broadcast")
    ):
        assert len(verdicts) == 3, verdicts


def vectors(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]


def span(size: int | str) -> tuple[float, float]:
    """Return the smallest and the largest value of a size without a name."""
    if isinstance(size, int):
        return size, size
    low, _, high = size.replace("?", "0..").partition("..")
    return int(low), float(high or "inf")


def covers(theirs: int | str, ours: int | str) -> bool:
    if theirs == ours or theirs == "?" or str(theirs).startswith("unk__"):
        return True
    if str(theirs).isidentifier() or str(ours).isidentifier():
        return str(theirs).isidentifier() and isinstance(ours, int)
    (low, high), (own_low, own_high) = span(theirs), span(ours)
    return low <= own_low and own_high <= high


@cases("name", SYMBOLIC_FILES)
def test_every_vector_file_has_the_expected_number_of_cases(name: str) -> None:
    assert len(vectors(name)) == SYMBOLIC_FILES[name]


@cases("vector", vectors("symbolic"), ids=lambda vector: vector["id"])
def test_a_symbolic_response_is_correct_and_at_least_as_narrow_as_the_framework(vector: dict[str, Any]) -> None:
    answer = ask({"op": vector["op"], "inputs": vector["inputs"]})
    assert answer.compatible is {True: True, False: False, "some": None}[vector["possible"]]
    for output in answer.outputs:
        for ours, values, equal in zip(output.shape, vector["axis_values"], vector["axis_equals"], strict=True):
            if len(values) == 1:
                assert ours == values[0]
            elif equal:
                assert ours in equal
            else:
                low, high = span(ours)
                assert (low, high if high != float("inf") else max(values)) == (min(values), max(values))
    if answer.outputs and vector["reported_sound"]:
        for theirs in vector["outputs_reported"]:
            assert all(map(covers, theirs, answer.outputs[0].shape))


@cases("vector", vectors("openvino-dynamic"), ids=lambda vector: vector["id"])
def test_a_symbolic_response_agrees_with_the_tests_of_openvino(vector: dict[str, Any]) -> None:
    answer = ask({"op": vector["op"], "inputs": vector["inputs"]})
    assert answer.compatible is vector["compatible"]
    if answer.conflict is not None:
        assert answer.conflict.code in vector["conflict_codes"]
        assert answer.conflict.axis == vector["conflict_axis"]
    for output, expected in zip(answer.broadcast_inputs, vector.get("outputs", []), strict=True):
        assert output.model_dump(mode="json", include=set(expected)) == expected


def test_an_unknown_size_with_5_gives_5_and_a_name_with_1_gives_the_name() -> None:
    answer = ask({"inputs": [["?", "N"], [5, 1]]})
    (one, other) = answer.broadcast_inputs
    assert answer.compatible is None
    assert one.shape == other.shape == (5, "N")
    assert (one.broadcast_axes, one.maybe_broadcast_axes) == ((), (0,))
    assert (other.broadcast_axes, other.maybe_broadcast_axes) == ((), (1,))
    assert [condition.model_dump(exclude_unset=True, exclude={"message"}) for condition in answer.conditions] == [
        {"code": "equal", "any": [{"equal": ({"input": 0, "axis": 0}, 5)}, {"equal": ({"input": 0, "axis": 0}, 1)}]}
    ]


TEXTS: list[tuple[Request, bool | None, list[str], list[int | str]]] = [
    ({"inputs": [["N"], ["M"]]}, None, ["N == M or N == 1 or M == 1"], ["?"]),
    ({"inputs": [["N"], ["M"]], "assume": {"N": "2.."}}, None, ["N == M or M == 1"], ["N"]),
    ({"inputs": [["N"], ["M"]], "assume": {"N": "2..", "M": "2.."}}, None, ["N == M"], ["N"]),
    ({"inputs": [["N"], ["M"]], "assume": {"N": 1}}, True, [], ["M"]),
    ({"inputs": [["N", "N"], ["N", 1]]}, True, [], ["N", "N"]),
    ({"inputs": [["N"], [3], ["M"]]}, None, ["N == 3 or N == 1", "M == 3 or M == 1"], [3]),
    ({"inputs": [["N"]], "op": {"name": "ngraph.Broadcast", "shape": ["?", "M"], "broadcast_axes": [0]}},
     None, ["N == M"], ["?", "M"]),
    ({"inputs": [["2..4"]], "op": {"name": "numpy.broadcast_to", "shape": ["?"]}},
     None, ["inputs[0][0] == shape[0]"], ["2..4"]),
    ({"inputs": [["N"]], "op": {"name": "torch.expand", "size": [2, -1]}}, True, [], [2, "N"]),
    ({"inputs": [["N", 3], ["M", 6]], "op": {"name": "ggml.repeat"}}, None, ["N divides M"], ["M", 6]),
    ({"inputs": [["N"], [6]], "op": {"name": "ggml.repeat"}, "assume": {"N": "4.."}}, None, ["N == 6"], [6]),
    ({"inputs": [["N"], ["M"]], "op": {"name": "ggml.repeat"}, "assume": {"N": 4}}, None, ["4 divides M"], ["M"]),
    ({"inputs": [["N"], ["?"]], "op": {"name": "ggml.repeat"}, "assume": {"N": 0}}, None, ["inputs[1][0] == 0"], [0]),
    ({"inputs": [["N", "T"], ["N"]], "op": {"name": "ggml.add"}}, True, [], ["N", "T"]),
    ({"inputs": [["N"]], "op": {"name": "numpy.tile", "reps": [2, "K"]}, "assume": {"N": "2..4", "K": "1..3"}},
     True, [], [2, "2..12"]),
    ({"inputs": [["N", "M"]], "op": {"name": "numpy.broadcast_to", "shape": ["M", "N"]}}, None, ["N == M"], ["M", "N"]),
    ({"inputs": [["N", "N", "M"], ["M", 3, 3]]}, None, ["N == 3 or N == 1", "M == 3 or M == 1"], ["1..3", 3, 3]),
    ({"inputs": [[1], ["N"]], "op": {"name": "ngraph.BroadcastLike", "initial_broadcast_axes": []}},
     None, ["N == 1"], [1]),
    ({"inputs": [["N", 3]], "op": {"name": "mxnet.broadcast_axis", "axis": 0, "size": "K"}},
     None, ["N == 1"], ["K", 3]),
    ({"inputs": [["N", "M"]], "op": {"name": "einops.repeat", "pattern": "a b -> b (a c)", "axes_lengths": {"c": 2}},
      "assume": {"N": "2..3"}}, True, [], ["M", "4..6"]),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "compatible", "texts", "shape"), TEXTS, ids=[str(case[0]) for case in TEXTS])
def test_conditions_are_exact(
    request_: Request, compatible: bool | None, texts: list[str], shape: list[int | str]
) -> None:
    answer = ask(request_)
    assert answer.compatible is compatible
    assert formulas(answer.conditions) == texts
    assert answer.shape == tuple(shape)
