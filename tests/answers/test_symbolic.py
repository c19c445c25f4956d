"""Responses with symbolic sizes are correct, and as narrow as possible."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import httpx
import pytest
from symbolic_truth import Request, Truth, holds, requests, truth
from test_cli import run
from test_vectors import FOLDER, SYMBOLIC_FILES

from axiscast import Client, InvalidRequest
from axiscast.answers.check import answer_check
from axiscast.answers.limits import MAX_CONDITIONS
from axiscast.answers.terminal_text import check_as_text
from axiscast.messages import CheckAnswer, CheckRequest
from axiscast.messages.tensors import BackpropRequest, BroadcastRequest
from axiscast.messages.validation import validate
from axiscast.ops import OPS, einops, ngraph, numpy
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
    if answer.result is not None:
        for axis, size in enumerate(answer.result.shape):
            if size not in (best := real.tightest([(plan.result or ())[axis] for _, plan in plans])):
                found.append(f"size {axis} of the result is {size}, not {best}")
    elif any(plan.result is not None for _, plan in plans):
        found.append("no result")
    for number, output in enumerate(answer.outputs):
        placements = [plan.outputs[number] for _, plan in plans]
        dimensions = [(size, [placed.shape[axis] for placed in placements]) for axis, size in enumerate(output.shape)]
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
        counts = {placed.elements for placed in placements}
        if output.elements != (counts.pop() if len(counts) == 1 else None):
            found.append(f"output {number} elements")
        every = set(placements[0].broadcast_axes).intersection(*(placed.broadcast_axes for placed in placements))
        some = {axis for placed in placements for axis in placed.broadcast_axes}
        if (output.broadcast_axes, output.maybe_broadcast_axes) != (sorted(every), sorted(some - every)):
            found.append(f"output {number} broadcast axes")
        if output.axes != list(placements[0].output_axes) or output.input != placements[0].input:
            found.append(f"output {number} axes")
    return found


@pytest.mark.parametrize("name", OPS)
def test_a_symbolic_response_is_correct_and_as_narrow_as_possible(name: str) -> None:
    wrong = {}
    verdicts: Counter[bool | None] = Counter()
    for request in requests(name, "suite", REQUESTS_PER_RULE if name in FIRST else REQUESTS_PER_OP):
        answer = ask(request)
        verdicts[answer.compatible] += 1
        if found := faults(request, answer, truth(request)):
            wrong[str(request)] = found
    assert wrong == {}
    if name in FIRST and name not in ("poputil.expandToMatchRanks", "jax.lax.broadcast", "xarray.broadcast"):
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


@pytest.mark.parametrize("name", SYMBOLIC_FILES)
def test_every_vector_file_has_the_expected_number_of_cases(name: str) -> None:
    assert len(vectors(name)) == SYMBOLIC_FILES[name]


@pytest.mark.parametrize("vector", vectors("symbolic"), ids=lambda vector: vector["id"])
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


@pytest.mark.parametrize("vector", vectors("openvino-dynamic"), ids=lambda vector: vector["id"])
def test_a_symbolic_response_agrees_with_the_tests_of_openvino(vector: dict[str, Any]) -> None:
    answer = ask({"op": vector["op"], "inputs": vector["inputs"]})
    assert answer.compatible is vector["compatible"]
    if answer.conflict is not None:
        assert answer.conflict.code in vector["conflict_codes"]
        assert answer.conflict.axis == vector["conflict_axis"]
    for output, expected in zip(answer.outputs, vector.get("outputs", []), strict=True):
        assert output.model_dump(include=set(expected)) == expected


def test_an_unknown_size_with_5_gives_5_and_a_name_with_1_gives_the_name() -> None:
    answer = ask({"inputs": [["?", "N"], [5, 1]]})
    (one, other) = answer.outputs
    assert answer.compatible is None
    assert one.shape == other.shape == [5, "N"]
    assert (one.broadcast_axes, one.maybe_broadcast_axes) == ([], [0])
    assert (other.broadcast_axes, other.maybe_broadcast_axes) == ([], [1])
    assert [condition.model_dump(exclude_unset=True) for condition in answer.conditions] == [
        {
            "any": [{"equal": ({"input": 0, "axis": 0}, 5)}, {"equal": ({"input": 0, "axis": 0}, 1)}],
            "text": "inputs[0][0] == 5 or inputs[0][0] == 1",
        }
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
def test_conditions_have_a_text(
    request_: Request, compatible: bool | None, texts: list[str], shape: list[int | str]
) -> None:
    answer = ask(request_)
    assert answer.compatible is compatible
    assert [condition.text for condition in answer.conditions] == texts
    assert answer.outputs[0].shape == shape


def repeat(pattern: str, lengths: dict[str, int], shape: list[int | str], **assume: int | str) -> Request:
    op = {"name": "einops.repeat", "pattern": pattern, "axes_lengths": lengths}
    return {"op": op, "inputs": [shape], **({"assume": assume} if assume else {})}


SPLITS: list[tuple[Request, bool | None, list[str], list[int | str]]] = [
    (repeat("(a b) c -> a b c d", {"b": 3, "d": 2}, ["N", 4]), None, ["3 divides N"], ["?", 3, 4, 2]),
    (repeat("(a b) c -> c (b a)", {"b": 3}, ["N", 4]), None, ["3 divides N"], [4, "N"]),
    (repeat("(a b) -> (a d) b", {"b": 3, "d": 3}, ["N"]), None, ["3 divides N"], ["N", 3]),
    (repeat("(a b) -> (a d) b", {"b": 3, "d": 6}, ["4..17"]), None, ["3 divides inputs[0][0]"], ["12..30", 3]),
    (repeat("(a b) -> a b", {"b": 3}, ["?"]), None, ["3 divides inputs[0][0]"], ["?", 3]),
    (repeat("(a b) -> a b", {"b": 3}, ["2.."]), None, ["3 divides inputs[0][0]"], ["1..", 3]),
    (repeat("(a b) -> a b", {"b": 3}, ["4..8"]), None, ["inputs[0][0] == 6"], [2, 3]),
    (repeat("(a b) -> a b", {"b": 3}, ["0..2"]), None, ["inputs[0][0] == 0"], [0, 3]),
    (repeat("(a b) -> a b", {"b": 3}, ["N"], N=6), True, [], [2, 3]),
    (repeat("(a b) -> a b", {"b": 1}, ["N"]), True, [], ["N", 1]),
    (repeat("(a b) ... -> b ... a", {"b": 2}, ["N", "M", "?"]), None, ["2 divides N"], [2, "M", "?", "?"]),
    (repeat("(a b) (c d) -> a d (b c)", {"b": 2, "d": 3}, ["N", "N"], N="1..20"),
     None, ["6 divides N"], ["3..9", 3, "4..12"]),
    (repeat("(a b) (c d) -> (a c) b d", {"b": 2, "d": 3}, ["N", "M"], N="1..5", M="4..8"),
     None, ["2 divides N", "M == 6"], ["N", 2, 3]),
    (repeat("(a b) (c d) -> (a c) b d", {"b": 2, "d": 3}, ["N", "N"], N="0..6"), None, ["6 divides N"], ["N", 2, 3]),
    (repeat("(a b) (c d) -> (a c) b d", {"b": 2, "d": 4}, ["N", "N"], N="0..8"), None, ["4 divides N"], ["0..8", 2, 4]),
    (repeat("(a b) c -> (a c) b", {"b": 6}, ["N", "1..2"]), None, ["6 divides N"], ["?", 6]),
    (repeat("(a b) (c d) -> a b c d", {"b": 2, "c": 2, "d": 3}, ["N", "N"]), None, ["N == 6"], [3, 2, 2, 3]),
    (repeat("(a b) (c d) e -> (a b) (c d) e", {"b": 2, "d": 3, "e": 6}, ["N", "N", "N"]), None, ["N == 6"], [6, 6, 6]),
    (repeat("a b -> (a b) c", {"c": 2}, ["N", "N"], N="0..1"), True, [], ["N", 2]),
    (repeat("(a b) -> a b", {"a": 0, "b": 3}, ["N"]), None, ["N == 0"], [0, 3]),
    (repeat("(a b) c -> (a c) b", {"b": 3, "c": 0}, ["N", 0]), None, ["3 divides N"], [0, 3]),
    (repeat("(a b) (c d) -> a b c d", {"b": 2**62, "d": 6}, ["N", "N"]), None, ["N == 0"], [0, 2**62, 0, 6]),
    (repeat("(a b) -> a b", {"b": 2**62}, ["N"], N="1.."), None, [f"N == {2**62}"], [1, 2**62]),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "compatible", "texts", "shape"), SPLITS, ids=[str(case[0]) for case in SPLITS])
def test_an_axis_is_split_if_its_size_is_divisible(
    request_: Request, compatible: bool | None, texts: list[str], shape: list[int | str]
) -> None:
    test_conditions_have_a_text(request_, compatible, texts, shape)


def test_a_divisor_is_sent_with_the_name_or_location_that_it_divides(client: Client) -> None:
    op = einops.repeat(pattern="(a b) (c d) -> c (b a) d e", axes_lengths={"b": 3, "c": 2, "e": 5})
    answer = client.check(op, ("N", "2..7"))
    assert [condition.model_dump(exclude_unset=True) for condition in answer.conditions] == [
        {"any": [{"divides": (3, "N")}], "text": "3 divides N"},
        {"any": [{"divides": (2, {"input": 0, "axis": 1})}], "text": "2 divides inputs[0][1]"},
    ]
    (output,) = answer.outputs
    assert (output.shape, output.factors) == ([2, "N", "1..3", 5], [2, 3, "?", "1..3", 5])
    assert (output.axes, output.broadcast_axes, output.maybe_broadcast_axes) == ([2, 1, 0, 3], [4], [])
    assert output.elements is None
    assert (
        client.check(einops.repeat(pattern="a -> a b", axes_lengths={"a": 3, "b": 2}), ("N",)).outputs[0].factors
        is None
    )


SPLIT_CONFLICTS: list[tuple[Request, str]] = [
    (repeat("(a b) c -> a b c", {"b": 3}, ["4..5", 4]),
     "Axis 0 of input 0 of shape (4..5, 4) has size 4..5: the pattern splits (a b) by 3, which does not divide it."),
    (repeat("(a b) -> a b", {"b": 3}, ["N"], N=7),
     "Axis 0 of input 0 of shape (N,) has size N, where N is 7: the pattern splits (a b) by 3, which does not divide "
     "it."),
    (repeat("(a b) (c d) -> a b c d", {"b": 2, "d": 3}, ["N", "N"], N="1..5"),
     "Axis 1 of input 0 of shape (N, N) has size N, where N is 2..4, a multiple of 2: the pattern splits (c d) by 3, "
     "which does not divide it."),
    (repeat("(a b) (c d) -> a b c d", {"b": 3, "d": 2}, ["N", "N"], N="1..5"),
     "Axis 1 of input 0 of shape (N, N) has size N, where N is 3: the pattern splits (c d) by 2, which does not divide "
     "it."),
    (repeat("(a b) (c d) -> a b c d", {"b": 3, "c": 2, "d": 2}, ["N", "N"]),
     "Axis 1 of input 0 of shape (N, N) has size N, where N is a multiple of 3: the pattern needs c=2 * d=2."),
    (repeat("a (b c) -> a b c", {"a": 8, "b": 3}, ["N", "N"]),
     "Axis 1 of input 0 of shape (N, N) has size N, where N is 8: the pattern splits (b c) by 3, which does not divide "
     "it."),
    (repeat("(a b) -> a b", {"b": 0}, ["N"]),
     "Axis 0 of input 0 of shape (N,) has size N: the pattern splits (a b) by 0, which does not divide it."),
    (repeat("(a b c) -> a b c", {"a": 2**62, "b": 2**62, "c": 2**62}, ["N"]),
     f"Axis 0 of input 0 of shape (N,) has size N: the pattern needs a={2**62} * b={2**62} * c={2**62}."),
    (repeat("a -> a b", {"a": 6, "b": 2}, ["N"], N="7.."),
     "Axis 0 of input 0 of shape (N,) has size N, where N is 7..: the pattern needs a=6."),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "message"), SPLIT_CONFLICTS, ids=[str(case[0]) for case in SPLIT_CONFLICTS])
def test_an_axis_that_cannot_be_split_is_a_conflict_without_an_output_axis(request_: Request, message: str) -> None:
    conflict = ask(request_).conflict
    assert conflict is not None
    assert (conflict.code, conflict.message) == ("size-mismatch", message)
    assert (conflict.axis, conflict.inputs, conflict.sizes) == (None, [0], [request_["inputs"][0][0]])


def test_elements_and_bytes_are_null_if_unknown() -> None:
    known, none, open_ended = ask({"op": "xarray.broadcast", "inputs": []} | {
        "op": {"name": "xarray.broadcast", "dims": [["a"], ["b"], ["c"]], "exclude": ["a", "b", "c"]},
        "inputs": [["3..3"], [0], ["N"]], "dtype": "float32",
    }).outputs  # fmt: skip
    assert (known.elements, known.nbytes, none.elements, none.nbytes) == (3, 12, 0, 0)
    assert (open_ended.elements, open_ended.nbytes) == (None, None)


def test_equal_names_on_several_axes_lead_to_a_conflict() -> None:
    conflict = ask({"inputs": [["N", "N"], [3, 4]], "assume": {"N": "2.."}}).conflict
    assert conflict is not None
    assert (conflict.code, conflict.axis, conflict.inputs, conflict.sizes) == ("size-mismatch", 1, [0, 1], ["N", 4])
    assert conflict.message == (
        "On output axis 1, input 0 of shape (N, N) has size N but input 1 of shape (3, 4) has size 4, where N is 3: "
        "the sizes must be equal or 1."
    )


def test_a_conflict_of_integers_beside_symbols_has_its_message_and_hints() -> None:
    conflict = ask({"inputs": [["N", 64, 7, 7], [64]]}).conflict
    assert conflict is not None
    assert (conflict.axis, conflict.sizes) == (3, [7, 64])
    (hint,) = conflict.hints
    assert (hint.text, hint.inputs) == (
        "reshape input 1 to (64, 1, 1), x[:, None, None]: the shapes then fit", [("N", 64, 7, 7), (64, 1, 1)]
    )  # fmt: skip
    conflict = ask(
        {"op": {"name": "numpy.broadcast_to", "shape": ["N", 4]}, "inputs": [["N"]], "assume": {"N": "5.."}}
    ).conflict
    assert conflict is not None
    assert conflict.hints[1].text == "ngraph.Broadcast with broadcast_axes=[1] fits: the output is (N, 4)"
    assert conflict.hints[1].op == ngraph.Broadcast(shape=("N", 4), broadcast_axes=(1,))


BAD: list[tuple[Request, str, str]] = [
    ({"inputs": [["3..1"]]}, "/inputs/0/0", "the range 3..1 must go from a smaller to a larger size, and sizes are "
    "at most 2^63-1"),
    ({"inputs": [[1, "N M"]]}, "/inputs/0/1", 'must be an integer, a name such as "N", a range such as "1..8"'),
    ({"inputs": [["-1..2"]]}, "/inputs/0/0", "must be an integer, a name"),
    ({"inputs": [["0..9223372036854775808"]]}, "/inputs/0/0", "sizes are at most 2^63-1"),
    ({"inputs": [["é"]]}, "/inputs/0/0", "must be an integer, a name"),
    ({"inputs": [["N"]], "assume": {"K": 3}}, "/assume/K", "no shape contains this name: the names are N"),
    ({"inputs": [[3]], "assume": {"K": 3}}, "/assume/K", "no shape contains a name"),
    ({"inputs": [["N"]], "assume": {"N": "M"}}, "/assume/N", "to make two sizes equal, use one name for both"),
    ({"inputs": [["N"]], "assume": {"N": "x y"}}, "/assume/N", "must be an integer, a name"),
    ({"inputs": [["N"]], "assume": ["N"]}, "/assume", 'must be a map, such as {"N": "2.."}'),
    ({"inputs": [["N"]], "op": {"name": "numpy.broadcast_to", "shape": [".."]}}, "/op/shape/0", "must be an integer"),
    ({"inputs": [["N"]], "op": {"name": "ngraph.Broadcast", "shape": [3], "broadcast_axes": ["N"]}},
     "/op/broadcast_axes", "must be an integer"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "pointer", "said"), BAD, ids=[str(case[0]) for case in BAD])
def test_an_invalid_symbol_is_an_invalid_request(request_: Request, pointer: str, said: str) -> None:
    with pytest.raises(Problem) as caught:
        ask(request_)
    assert (caught.value.code, caught.value.pointer) == ("invalid-request", pointer)
    assert said in caught.value.detail


@pytest.mark.parametrize("model", [BroadcastRequest, BackpropRequest])
def test_tensors_have_no_symbols(model: type[BroadcastRequest] | type[BackpropRequest]) -> None:
    op = {"name": "numpy.broadcast_to", "shape": ["N", 3]}
    gradients = {"gradients": []} if model is BackpropRequest else {}
    with pytest.raises(Problem, match="op/shape: must contain only integers: N on axis 0 is allowed only in check"):
        validate(model, {"op": op, "inputs": [], **gradients})
    if model is BackpropRequest:
        with pytest.raises(Problem, match="inputs/0/0: must be an integer, not a string"):
            validate(model, {"inputs": [["N"]], **gradients})


def test_the_largest_number_of_conditions_is_accepted_and_one_more_is_refused() -> None:
    assert len(ask({"inputs": [["?"]] * 200 + [[5]]}).conditions) == MAX_CONDITIONS
    for inputs in ([["?"]] * 201 + [[5]], [["?"]] * 21, [["N"] * 32] * 63):
        with pytest.raises(Problem) as caught:
            ask({"inputs": inputs})
        assert caught.value.code == "work-too-large"
    same = {"op": "torch.broadcast_tensors", "inputs": [["N", "M", 1, 3] * 16] * 30}
    assert ask(same).compatible is True


def test_the_diagram_and_the_text_show_the_symbols() -> None:
    assert check_as_text(ask({"inputs": [["N", "?", 1], ["M", 5, 4]], "explain": True})) == (
        "axis     0   1   2\n"
        "input 0  N~  ?~  1*\n"
        "input 1  M~  5   4\n"
        "         ----------\n"
        "outputs  ?   5   4\n"
        "* stretched   ~ stretched for some sizes\n\n"
        "compatible if (N == M or N == 1 or M == 1) and (inputs[0][1] == 5 or inputs[0][1] == 1): (?, 5, 4)"
    )
    many = check_as_text(ask({"inputs": [["?"]] * 30 + [[5]]}))
    assert many.endswith(" and 10 more conditions: (5,)")


def test_the_diagram_and_the_text_show_quotients() -> None:
    split = repeat("(a b) (c d) (e f) -> a b c d e f g", {"b": 3, "d": 2, "f": 1, "g": 5}, ["N", "2..8", "N"])
    assert check_as_text(ask({**split, "explain": True})) == (
        "axis       0   1          2   3   4   5   6\n"
        "input 0  N/3   3   (2..8)/2   2   N   1   +\n"
        "         -----------------------------------\n"
        "output     ?   3       1..4   2   N   1   5\n"
        "+ new axis\n\n"
        "compatible if 3 divides N and 2 divides inputs[0][1]: (?, 3, 1..4, 2, N, 1, 5)"
    )


def test_a_url_takes_symbols(http: httpx.Client) -> None:
    answer = http.get("/v1/check", params={"input": ["8,N,?,2..4", "(1,M,5,1)"], "assume": '{"N": "2.."}'}).json()
    assert answer["compatible"] is None
    assert [condition["text"] for condition in answer["conditions"]] == [
        "N == M or M == 1",
        "inputs[0][2] == 5 or inputs[0][2] == 1",
    ]
    assert answer["outputs"][0]["shape"] == [8, "N", 5, "2..4"]
    assert answer["outputs"][0]["maybe_broadcast_axes"] == [2]
    target = http.get("/v1/check?input=N&op=numpy.broadcast_to&shape=2xN").json()
    assert target["detail"].startswith("shape: write a shape as")
    target = http.get("/v1/check?input=N&op=numpy.broadcast_to&shape=2,N").json()
    assert (target["compatible"], target["conditions"]) == (True, [])
    for wrong in ("N:2..", "3"):
        problem = http.get("/v1/check", params={"input": "N", "assume": wrong})
        assert (problem.status_code, problem.json()["pointer"]) == (422, "/assume")


def test_a_client_sends_symbols_and_reads_null(client: Client) -> None:
    answer = client.check("numpy.broadcast_arrays", ("N", 1), (1, "M"), assume={"N": "2.."})
    assert (answer.compatible, answer.outputs[0].shape) == (True, ["N", "M"])
    answer = client.check(numpy.broadcast_to(shape=("N", 3)), ("?",))
    assert answer.compatible is None
    assert answer.conditions[0].text == "inputs[0][0] == 3 or inputs[0][0] == 1"
    assert client.can_broadcast((2, 3), (3,)) is True
    with pytest.raises(InvalidRequest, match="is allowed only in check"):
        client.broadcast(numpy.broadcast_to(shape=("N", 3)), [1, 2, 3])


def test_the_command_line_takes_symbols() -> None:
    done = run("check", "N,1", "1,M", "--assume", "N=2..", "--assume", "M=3")
    assert done.returncode == 0
    assert "\ncompatible: (N, 3)\n" in done.stdout + "\n"
    assert run("check", "N", "M").returncode == 0
    assert "compatible if N == M or N == 1 or M == 1: (?,)" in run("check", "N", "M").stdout
    assert run("check", "2..4", "5..").returncode == 1
    split = ("--op", "einops.repeat", "--pattern", "(a b) -> b a", "--axes-lengths", '{"b": 3}')
    assert "\ncompatible if 3 divides N: (3, ?)\n" in run("check", "N", *split).stdout
    for wrong in ("N", "=3", "N=2,3", "N=a b"):
        done = run("check", "N", "--assume", wrong)
        assert (done.returncode, "--assume" in done.stderr) == (2, True)
    done = run("broadcast", "pyproject.toml", "--shape", "N,3", "-o", "x.npy")
    assert done.returncode == 2


def test_a_check_of_integers_has_no_symbolic_fields() -> None:
    answer = ask({"inputs": [[3, 1], [4]]}).model_dump(exclude_unset=True)
    assert set(answer) == {"compatible", "op", "outputs", "warnings"}
    assert set(answer["outputs"][0]) == {"shape", "input", "axes", "broadcast_axes", "elements"}
