"""Checks in which an op splits an axis of symbolic size."""

from __future__ import annotations

from cases import cases
from facts import formulas
from symbolic_truth import Request
from test_symbolic import ask

from axiscast import Client
from axiscast.drawing.terminal_text import check_as_text
from axiscast.ops import einops


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


@cases(("request_", "compatible", "texts", "shape"), SPLITS, ids=[str(case[0]) for case in SPLITS])
def test_an_axis_is_split_if_its_size_is_divisible(
    request_: Request, compatible: bool | None, texts: list[str], shape: list[int | str]
) -> None:
    answer = ask(request_)
    assert (answer.compatible, [*answer.shape]) == (compatible, shape)
    assert formulas(answer.conditions) == texts


def test_a_divisor_is_sent_with_the_name_or_location_that_it_divides(client: Client) -> None:
    op = einops.repeat(pattern="(a b) (c d) -> c (b a) d e", axes_lengths={"b": 3, "c": 2, "e": 5})
    answer = client.check(op, ("N", "2..7"))
    assert [condition.model_dump(exclude_unset=True, exclude={"message"}) for condition in answer.conditions] == [
        {"code": "divides", "any": [{"divides": (3, "N")}]},
        {"code": "divides", "any": [{"divides": (2, {"input": 0, "axis": 1})}]},
    ]
    (output,) = answer.broadcast_inputs
    assert answer.outputs[0].elements is None
    assert (output.shape, output.factors) == ((2, "N", "1..3", 5), (2, 3, "?", "1..3", 5))
    assert (output.axes, output.broadcast_axes, output.maybe_broadcast_axes) == ((2, 1, 0, 3), (4,), ())
    assert (
        client.check(einops.repeat(pattern="a -> a b", axes_lengths={"a": 3, "b": 2}), ("N",))
        .broadcast_inputs[0]
        .factors
        is None
    )


SPLIT_CONFLICTS: list[tuple[Request, int]] = [
    (repeat("(a b) c -> a b c", {"b": 3}, ["4..5", 4]), 0),
    (repeat("(a b) -> a b", {"b": 3}, ["N"], N=7), 0),
    (repeat("(a b) (c d) -> a b c d", {"b": 2, "d": 3}, ["N", "N"], N="1..5"), 1),
    (repeat("(a b) (c d) -> a b c d", {"b": 3, "d": 2}, ["N", "N"], N="1..5"), 1),
    (repeat("(a b) (c d) -> a b c d", {"b": 3, "c": 2, "d": 2}, ["N", "N"]), 1),
    (repeat("a (b c) -> a b c", {"a": 8, "b": 3}, ["N", "N"]), 1),
    (repeat("(a b) -> a b", {"b": 0}, ["N"]), 0),
    (repeat("(a b c) -> a b c", {"a": 2**62, "b": 2**62, "c": 2**62}, ["N"]), 0),
    (repeat("a -> a b", {"a": 6, "b": 2}, ["N"], N="7.."), 0),
]


@cases(("request_", "axis"), SPLIT_CONFLICTS, ids=[str(case[0]) for case in SPLIT_CONFLICTS])
def test_an_axis_that_cannot_be_split_is_a_conflict_without_an_output_axis(request_: Request, axis: int) -> None:
    conflict = ask(request_).conflict
    assert conflict is not None
    assert (conflict.code, conflict.axis, conflict.axes) == ("size-mismatch", None, (axis,))
    assert (conflict.inputs, conflict.sizes) == ((0,), (request_["inputs"][0][0],))


def test_the_diagram_and_the_text_show_quotients() -> None:
    split = repeat("(a b) (c d) (e f) -> a b c d e f g", {"b": 3, "d": 2, "f": 1, "g": 5}, ["N", "2..8", "N"])
    answer = ask({**split, "explain": True})
    conditions = " and ".join(condition.message for condition in answer.conditions)
    assert check_as_text(answer) == (
        "axis       0   1          2   3   4   5   6\n"
        "input 0  N/3   3   (2..8)/2   2   N   1   +\n"
        "         -----------------------------------\n"
        "output     ?   3       1..4   2   N   1   5\n"
        "+ new axis\n\n"
        f"compatible if {conditions}: (?, 3, 1..4, 2, N, 1, 5)"
    )
