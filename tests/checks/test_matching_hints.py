"""Checks with conditions explain the sizes that depend on them, and suggest the axes on which names meet themselves."""

from __future__ import annotations

from cases import cases
from test_cli import run
from test_symbolic import ask

import axiscast


def hints_of(
    op: str, *shapes: tuple[int | str, ...], **options: object
) -> list[tuple[str, list[tuple[int | str, ...]]]]:
    """Return the text and the inputs of each hint."""
    answer = axiscast.check(op, *shapes, **options)
    assert answer.compatible is None
    requests = [hint.request for hint in answer.hints if hint.request is not None]
    assert len(requests) == len(answer.hints)
    assert all(map(axiscast.check, requests))
    return [(hint.code, request.inputs) for hint, request in zip(answer.hints, requests, strict=True)]


def test_a_bias_that_meets_the_last_axis_gets_a_hint_to_meet_its_own_name() -> None:
    assert hints_of("onnx.Add", ("N", "C", "H", "W"), ("C",)) == [("reshape", [("N", "C", "H", "W"), ("C", 1, 1)])]


@cases(
    ("op", "shapes", "reshaped"),
    [
        ("torch.add", [("C",), ("N", "C", "H", "W")], [("C", 1, 1), ("N", "C", "H", "W")]),  # the first input
        ("numpy.add", [("B", "T", "D"), ("B", "D")], [("B", "T", "D"), ("B", 1, "D")]),
        ("numpy.add", [("B", "T", "D"), ("B", "T")], [("B", "T", "D"), ("B", "T", 1)]),
        ("numpy.add", [("B", "H", "Q", "K"), ("B", "K")], [("B", "H", "Q", "K"), ("B", 1, 1, "K")]),
        ("numpy.add", [("N", "C", "H", 3), ("C",)], [("N", "C", "H", 3), ("C", 1, 1)]),  # a name meets an integer
        ("numpy.add", [("N", 64, "H", "W"), (64,)], [("N", 64, "H", "W"), (64, 1, 1)]),  # an integer meets a name
        ("numpy.add", [("N", 1, "W"), ("N",)], [("N", 1, "W"), ("N", 1, 1)]),  # not (N, 1), which meets size 1
        ("numpy.add", [("A", "B"), ("B", "A")], [("B", "A"), ("B", "A")]),
        ("numpy.matmul", [("N", "K"), ("M", "K")], [("N", "K"), ("K", "M")]),
    ],
)
def test_the_first_hint_lets_each_name_meet_itself(
    op: str, shapes: list[tuple[int | str, ...]], reshaped: list[tuple[int | str, ...]]
) -> None:
    assert [inputs for _, inputs in hints_of(op, *shapes)][:1] == [reshaped]


def test_a_target_with_names_gets_a_hint_too() -> None:
    answer = axiscast.check("numpy.broadcast_to", ("C",), shape=("N", "C", "W"))
    assert [hint.request and hint.request.inputs for hint in answer.hints] == [[("C", 1)]]


@cases(
    "shapes",
    [
        [("N",), ("M",)],
        [("N", "M"), ("K",)],
        [(1, "A"), ("B",)],  # (B, 1) always fits, but it forms all pairs
        [("N", 1, "W"), ("C",)],
        [("A", "D"), ("B", "D")],
        [("N", "C", "H", "?"), ("?",)],
        [("N", "?"), ("?",)],
        [("B", "T", "D"), ("T", "E")],  # T already meets T
        [("B", "H", "Q", "K"), (1, 1, "L", "K")],
    ],
)
def test_no_hint_is_given_if_names_meet_nothing_of_their_own_elsewhere(shapes: list[tuple[int | str, ...]]) -> None:
    assert hints_of("numpy.add", *shapes) == []


def test_a_check_without_conditions_has_no_hints() -> None:
    for shapes in [("N", "C"), ("C",)], [(2, 3), (3,)], [("N", 1), ("N",)]:
        assert "hints" not in axiscast.check("numpy.add", *shapes).model_dump(exclude_unset=True)


def test_the_size_of_an_axis_on_which_two_sizes_meet_is_explained() -> None:
    answer = ask({"inputs": [["N", "C", "H", "W"], ["C"]]})
    assert answer.outputs[0].shape == ("N", "C", "H", "?")
    assert [(size.axis, size.message) for size in answer.axis_sizes] == [(3, "C if W == 1, else W")]
    bounded = ask({"inputs": [["N", "W"], ["C"]], "assume": {"W": "1..8", "C": "1..8"}})
    assert [(size.axis, size.message) for size in bounded.axis_sizes] == [(1, "C if W == 1, else W")]
    two = ask({"inputs": [["A", "B"], ["C", "D"]]})
    assert [(size.axis, size.message) for size in two.axis_sizes] == [
        (0, "C if A == 1, else A"),
        (1, "D if B == 1, else B"),
    ]
    product = ask({"op": "numpy.matmul", "inputs": [["A", 2, 3], ["B", 3, "M"]]})
    assert [(size.axis, size.message) for size in product.axis_sizes] == [(0, "B if A == 1, else A")]


def test_a_scalar_has_no_axis_whose_size_is_explained() -> None:
    answer = ask({"op": {"name": "torch.einsum", "equation": "i,i->"}, "inputs": [["N"], ["M"]]})
    assert [answer.shape, answer.axis_sizes] == [(), []]


@cases(
    "inputs",
    [
        [["N", 3], ["M", 3]],
        [["?", "N"], ["?", "N"]],  # the sizes have no names
        [["A"], ["B"], ["C"]],  # three sizes meet
        [["N", 1], ["N"]],
    ],
)
def test_other_sizes_are_not_explained(inputs: list[list[int | str]]) -> None:
    assume = {"M": "2.."} if "M" in inputs[1] else {}
    assert ask({"inputs": inputs, "assume": assume}).axis_sizes == []


def test_the_command_prints_the_size_and_the_hint() -> None:
    answer = axiscast.check("onnx.Add", ("N", "C", "H", "W"), ("C",))
    ended = run("check", "N,C,H,W", "C", "--op", "onnx.Add")
    assert ended.stdout.splitlines()[-3:] == [
        f"compatible if {answer.conditions[0].message}: (N, C, H, ?)",
        "output axis 3 has size C if W == 1, else W",
        f"hint: {answer.hints[0].message}",
    ]
    assert ended.returncode == 0
