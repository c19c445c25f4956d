"""Messages of findings: they name the operands, propose one fix, and show no generated names."""

from __future__ import annotations

from typing import Any

import pytest

import axiscast
from axiscast import Finding, Operand
from axiscast.models.formats.finding_message import describe_finding
from axiscast.models.formats.operation_code import reshape_code

Shape = tuple[int | str, ...]


def finding(op: str, *operands: tuple[str, Shape], **fields: Any) -> Finding:
    values = tuple(Operand(f"input {number}", name, shape) for number, (name, shape) in enumerate(operands))
    answer = axiscast.check("onnx.Max", *(shape for _, shape in operands))
    return Finding("node_1", op, values, answer, **fields)


SQUARES = [
    ("Sub", [("linear", ("batch", 1)), ("y", ("batch",))],
     "linear (batch, 1) - y (batch,) gives (batch, batch): every element of linear is combined with every element of "
     "y. Write linear.squeeze(-1) - y. "
     "If you want all pairs, write linear - y[None]."),
    ("Sub", [("y", ("batch",)), ("linear", ("batch", 1))],
     "y (batch,) - linear (batch, 1) gives (batch, batch): every element of y is combined with every element of "
     "linear. Write y - linear.squeeze(-1). "
     "If you want all pairs, write y[None] - linear."),
    ("aten.mul.Tensor", [("linear", (8, 1)), ("y", (8,))],
     "linear (8, 1) * y (8,) gives (8, 8): every element of linear is combined with every element of y. Write "
     "linear.squeeze(-1) * y. If you want all "
     "pairs, write linear * y[None]."),
    ("GreaterOrEqual", [("/score/Gemm_output_0", ("n", 1)), ("/Relu_output_0", ("n",))],
     "score (n, 1) >= Relu (n,) gives (n, n): every element of score is combined with every element of Relu. Write "
     "score.squeeze(-1) >= Relu. If you "
     "want all pairs, write score >= Relu[None]."),
    ("Add", [("linear", ("n", 1)), ("mul_2", ("n",))],
     "linear (n, 1) + mul_2 (n,) gives (n, n): every element of linear is combined with every element of mul_2. Write "
     "linear.squeeze(-1) + mul_2. If "
     "you want all pairs, write linear + mul_2[None]."),
    ("torch.nn.functional.mse_loss", [("", (5, 1)), ("", (5,))],
     "mse_loss(a (5, 1), b (5,)) broadcasts to (5, 5): every element of a is combined with every element of b. Write "
     "mse_loss(a.squeeze(-1), b). "
     "If you want all pairs, write mse_loss(a, b[None])."),
    ("jax.lax.select_n", [("", (5, 1)), ("", (5,)), ("", (5,))],
     "select_n(a (5, 1), b (5,), c (5,)) broadcasts to (5, 5): every element of a is combined with every element of b. "
     "Write select_n(a.squeeze(-1), b, c)."),
    ("Where", [("mask", ("n",)), ("x", ("n", 1)), ("zero", ())],
     "Where(mask (n,), x (n, 1), zero ()) broadcasts to (n, n): every element of mask is combined with every element "
     "of x. "
     "Write Where(mask, x.squeeze(-1), zero). If you want all pairs, write Where(mask[None], x, zero)."),
    ("Mul", [("scale", (4, 4)), ("h", (4, 4, 1))],
     "scale (4, 4) * h (4, 4, 1) gives (4, 4, 4): every index of axis 0 is combined with every index of axis 2. "
     "Write scale * h.squeeze(-1). If you want all pairs, write scale[None] * h."),
    ("Mul", [("h", (5, 1, 1)), ("w", (5,))],
     "h (5, 1, 1) * w (5,) gives (5, 1, 5): every index of axis 0 is combined with every index of axis 2. "
     "Write h * w[:, None, None]. If you want all pairs, write h * w[None, None]."),
    ("Sum", [("a", ("n",)), ("b", ("n",)), ("c", ("n", 1)), ("d", ("n", 1))],
     "Sum(a (n,), b (n,), c (n, 1), d (n, 1)) broadcasts to (n, n): every element of a is combined with every element "
     "of c. "
     "Give all operands the same axes."),
    ("Add", [("x", ("unk__23", 1)), ("y", ("unk__23",))],
     "x (?, 1) + y (?,) gives (?, ?): every element of x is combined with every element of y. Write x.squeeze(-1) + y. "
     "If you want all pairs, write "
     "x + y[None]."),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "message"), SQUARES)
def test_a_square_shows_the_operation_a_fix_and_the_explicit_form(
    op: str, operands: list[tuple[str, Shape]], message: str
) -> None:
    assert describe_finding(finding(op, *operands)) == message


CONFLICTS = [
    ("Add", [("x", (2, 3)), ("bias", (2,))],
     "x (2, 3) + bias (2,) does not broadcast: axis -1 is 3 in x and 2 in bias. Write x + bias[:, None]."),
    ("Mul", [("x", (8, 64, 7, 7)), ("scale", (64,))],
     "x (8, 64, 7, 7) * scale (64,) does not broadcast: axis -1 is 7 in x and 64 in scale. "
     "Write x * scale[:, None, None]."),
    ("Div", [("a", (3, 4)), ("b", (4, 3))],
     "a (3, 4) / b (4, 3) does not broadcast: axis -2 is 3 in a and 4 in b. Write a.swapaxes(0, 1) / b."),
    ("Max", [("a", (2,)), ("b", (3,)), ("c", (4,))],
     "Max(a (2,), b (3,), c (4,)) does not broadcast: axis -1 is 2 in a, 3 in b and 4 in c."),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "message"), CONFLICTS)
def test_a_conflict_names_the_operands_and_their_common_axis(
    op: str, operands: list[tuple[str, Shape]], message: str
) -> None:
    assert describe_finding(finding(op, *operands)) == message


def test_a_conflict_with_a_target_names_the_input() -> None:
    answer = axiscast.check({"name": "onnx.Expand", "shape": (5, 4)}, (3, 1))
    operands = (Operand("input 0", "x", (3, 1)), Operand("target", "shape", (5, 4)))
    assert describe_finding(Finding("e", "Expand", operands, answer)) == (
        "On output axis 0, x (3, 1) has size 3 but the target (5, 4) has size 5: the sizes must be equal or 1."
    )


DEPENDS = [
    ("Add", [("x", ("batch", 8, "seq", 8)), ("Unsqueeze_7", (1, 1, "?", "?"))],
     "x (batch, 8, seq, 8) + Unsqueeze_7 fits only if Unsqueeze_7 (1, 1, ?, ?) is (1, 1, seq or 1, 8 or 1); "
     "onnx could not infer it. Try --assume seq=13"),
    ("Add", [("x", ("N", 64)), ("m", ("M", 1))],
     "x (N, 64) + m (M, 1) fits only if N == M or N == 1 or M == 1."),
    ("Mul", [("x", ("?", 3)), ("y", ("?", 3))],
     "x (?, 3) * y (?, 3) fits only if the sizes on axis -2 are equal, or 1; onnx could not infer these sizes. "
     "Try --assume batch=13 --assume seq=17"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "message"), DEPENDS)
def test_conditions_name_unknown_sizes_by_their_operands(
    op: str, operands: list[tuple[str, Shape]], message: str
) -> None:
    assert describe_finding(finding(op, *operands, assumable=("batch", "seq"))) == message


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("64", "64 1 1", "[:, None, None]"),
        ("9 9", "9 1 9", "[:, None]"),
        ("3", "1 3", "[None]"),
        ("1 3", "3", ".squeeze(0)"),
        ("1 1 3", "3", ".squeeze((0, 1))"),
        ("3 4", "4 3", ".swapaxes(0, 1)"),
        ("2 3 4", "2 4 3", ".swapaxes(1, 2)"),
        ("2 3", "3", ""),
        ("2 3", "2 4", ""),
        ("2", "3 1", ""),
    ],
)
def test_a_change_of_shape_is_written_as_code(old: str, new: str, code: str) -> None:
    assert reshape_code(old.split(), new.split()) == code


def test_the_repr_states_the_operation_the_shapes_and_the_kinds() -> None:
    found = finding("Sub", ("p", (8, 1)), ("y", (8,)), file="train.py", line=8)
    assert repr(found) == "<Finding Sub at train.py:8: p (8, 1) and y (8,) give (8, 8), square>"
    assert repr(finding("Sub", ("", (8, 1)), ("", (1,)))) == (
        "<Finding Sub at node_1: (8, 1) and (1,) give (8, 1), compatible>"
    )
