"""Symbols in requests: invalid ones, limits, drawings, URLs, the client and the command line."""

from __future__ import annotations

import re

import httpx
import pytest
from cases import cases
from facts import formulas
from symbolic_truth import Request
from test_cli import run
from test_symbolic import ask

import axiscast
from axiscast import Client, InvalidRequest
from axiscast.checks.limits import MAX_CONDITIONS
from axiscast.drawing.terminal_text import check_as_text
from axiscast.messages.tensors import BackpropRequest, BroadcastRequest
from axiscast.messages.validation import validate
from axiscast.ops import numpy
from axiscast.wire.problems import Problem


def test_elements_and_bytes_are_absent_if_unknown() -> None:
    known, none, open_ended = ask({"op": "xarray.broadcast", "inputs": []} | {
        "op": {"name": "xarray.broadcast", "dims": [["a"], ["b"], ["c"]], "exclude": ["a", "b", "c"]},
        "inputs": [["3..3"], [0], ["N"]], "dtype": "float32",
    }).outputs  # fmt: skip
    assert (known.elements, known.nbytes, none.elements, none.nbytes) == (3, 12, 0, 0)
    assert (open_ended.elements, open_ended.nbytes) == (None, None)


def test_equal_names_on_several_axes_lead_to_a_conflict() -> None:
    conflict = ask({"inputs": [["N", "N"], [3, 4]], "assume": {"N": "2.."}}).conflict
    assert conflict is not None
    assert (conflict.code, conflict.axis, conflict.inputs, conflict.sizes) == ("size-mismatch", 1, (0, 1), ("N", 4))


def test_a_conflict_of_integers_beside_symbols_has_its_message_and_hints() -> None:
    conflict = ask({"inputs": [["N", 64, 7, 7], [64]]}).conflict
    assert conflict is not None
    assert (conflict.axis, conflict.sizes) == (3, (7, 64))
    (hint,) = conflict.hints
    assert hint.request is not None
    assert hint.request.inputs == [("N", 64, 7, 7), (64, 1, 1)]
    conflict = ask(
        {"op": {"name": "numpy.broadcast_to", "shape": ["N", 4]}, "inputs": [["N"]], "assume": {"N": "5.."}}
    ).conflict
    assert conflict is not None
    assert [(hint.code, hint.shape, hint.output) for hint in conflict.hints] == [("reshape", ("N", 1), ("N", 4))]


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


@cases(("request_", "pointer", "said"), BAD, ids=[str(case[0]) for case in BAD])
def test_an_invalid_symbol_is_an_invalid_request(request_: Request, pointer: str, said: str) -> None:
    with pytest.raises(Problem) as caught:
        ask(request_)
    assert (caught.value.code, caught.value.pointer) == ("invalid-request", pointer)
    assert said in caught.value.detail


@cases("model", [BroadcastRequest, BackpropRequest])
def test_tensors_have_no_symbols(model: type[BroadcastRequest] | type[BackpropRequest]) -> None:
    op = {"name": "numpy.broadcast_to", "shape": ["N", 3]}
    gradients = {"gradients": []} if model is BackpropRequest else {}
    with pytest.raises(Problem, match="op/shape: must contain only integers: N on axis 0 is allowed only in check"):
        validate(model, {"op": op, "inputs": [], **gradients})
    if model is BackpropRequest:
        with pytest.raises(Problem, match="inputs/0/0: must be an integer, not 'N'"):
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
    answer = ask({"inputs": [["N", "?", 1], ["M", 5, 4]], "explain": True})
    one, other = (f"({condition.message})" for condition in answer.conditions)
    assert check_as_text(answer) == (
        "axis     0   1   2\n"
        "input 0  N~  ?~  1*\n"
        "input 1  M~  5   4\n"
        "         ----------\n"
        "output   ?   5   4\n"
        "* stretched   ~ stretched for some sizes\n\n"
        f"compatible if {one} and {other}: (?, 5, 4)\n"
        "output axis 0 has size M if N == 1, else N"
    )
    many = check_as_text(ask({"inputs": [["?"]] * 30 + [[5]]}))
    assert many.endswith(" and 10 more conditions: (5,)")


def test_a_url_takes_symbols(http: httpx.Client) -> None:
    answer = http.get("/v1/check", params={"input": ["8,N,?,2..4", "(1,M,5,1)"], "assume": '{"N": "2.."}'}).json()
    assert answer["compatible"] is None
    assert [condition["any"] for condition in answer["conditions"]] == [
        [{"equal": ["N", "M"]}, {"equal": ["M", 1]}],
        [{"equal": [{"input": 0, "axis": 2}, 5]}, {"equal": [{"input": 0, "axis": 2}, 1]}],
    ]
    assert answer["outputs"][0]["shape"] == [8, "N", 5, "2..4"]
    assert answer["broadcast_inputs"][0]["maybe_broadcast_axes"] == [2]
    target = http.get("/v1/check?input=N&op=numpy.broadcast_to&shape=2xN").json()
    assert target["detail"].startswith("shape: write a shape as")
    target = http.get("/v1/check?input=N&op=numpy.broadcast_to&shape=2,N").json()
    assert (target["compatible"], target["conditions"]) == (True, [])
    for wrong in ("N:2..", "3"):
        problem = http.get("/v1/check", params={"input": "N", "assume": wrong})
        assert (problem.status_code, problem.json()["parameter"]) == (422, "assume")


def test_a_client_sends_symbols_and_reads_null(client: Client) -> None:
    answer = client.check("numpy.broadcast_arrays", ("N", 1), (1, "M"), assume={"N": "2.."})
    assert (answer.compatible, answer.shape) == (True, ("N", "M"))
    answer = client.check(numpy.broadcast_to(shape=("N", 3)), ("?",))
    assert answer.compatible is None
    assert formulas(answer.conditions) == ["inputs[0][0] == 3 or inputs[0][0] == 1"]
    assert client.can_broadcast((2, 3), (3,)) is True
    with pytest.raises(InvalidRequest, match="is allowed only in check"):
        client.broadcast(numpy.broadcast_to(shape=("N", 3)), [1, 2, 3])


def test_the_command_line_takes_symbols() -> None:
    done = run("check", "N,1", "1,M", "--assume", "N=2..", "--assume", "M=3")
    assert done.returncode == 0
    assert "\ncompatible: (N, 3)\n" in done.stdout + "\n"
    assert run("check", "N", "M").returncode == 0
    assert (
        f"compatible if {axiscast.check(('N',), ('M',)).conditions[0].message}: (?,)" in run("check", "N", "M").stdout
    )
    assert run("check", "2..4", "5..").returncode == 1
    split = ("--op", "einops.repeat", "--pattern", "(a b) -> b a", "--axes-lengths", '{"b": 3}')
    assert re.search(r"\ncompatible if [^\n]+: \(3, \?\)\n", run("check", "N", *split).stdout)
    for wrong in ("N", "=3", "N=2,3", "N=a b"):
        done = run("check", "N", "--assume", wrong)
        assert (done.returncode, "--assume" in done.stderr) == (2, True)
    done = run("broadcast", "pyproject.toml", "--shape", "N,3", "-o", "x.npy")
    assert done.returncode == 2


def test_a_check_of_integers_has_no_symbolic_fields() -> None:
    answer = ask({"inputs": [[3, 1], [4]]}).model_dump(exclude_unset=True)
    assert set(answer) == {"compatible", "op", "shape", "outputs", "broadcast_inputs", "warnings"}
    assert set(answer["outputs"][0]) == {"shape", "elements"}
    assert set(answer["broadcast_inputs"][0]) == {"input", "shape", "axes", "broadcast_axes"}
