"""Messages of findings: they name the operands, propose one fix, and show no generated names."""

from __future__ import annotations

from typing import Any, Literal

import pytest

import axiscast
from axiscast import Finding, Operand
from axiscast.messages.findings import Contradiction, Failure, Quantity, Requirement, SizeRule, Unchecked
from axiscast.words.findings import finding_text, group_text, unchecked_text

Shape = tuple[int | str, ...]


def finding(op: str, *operands: tuple[str, Shape], checked: str = "onnx.Max", **fields: Any) -> Finding:
    values = tuple(Operand(f"input {number}", name, shape) for number, (name, shape) in enumerate(operands))
    warn = [fields.pop("warn")] if "warn" in fields else []
    answer = axiscast.check(checked, *(shape for _, shape in operands), warn=warn)
    return Finding("node_1", op, values, answer, **fields)


SQUARES = [
    ("Sub", [("linear", ("batch", 1)), ("y", ("batch",))],
     "linear (batch, 1) - y (batch,) gives (batch, batch): every element of linear is combined with every "
     "element of y. Write `linear.squeeze(-1) - y`. If shape (batch, batch) is intended, write `linear - "
     "y[None]`."),
    ("Sub", [("y", ("batch",)), ("linear", ("batch", 1))],
     "y (batch,) - linear (batch, 1) gives (batch, batch): every element of y is combined with every element of"
     " linear. Write `y - linear.squeeze(-1)`. If shape (batch, batch) is intended, write `y[None] - linear`."),
    ("aten.mul.Tensor", [("linear", (8, 1)), ("y", (8,))],
     "linear (8, 1) * y (8,) gives (8, 8): every element of linear is combined with every element of y. Write "
     "`linear.squeeze(-1) * y`. If shape (8, 8) is intended, write `linear * y[None]`."),
    ("GreaterOrEqual", [("/score/Gemm_output_0", ("n", 1)), ("/Relu_output_0", ("n",))],
     "score (n, 1) >= Relu (n,) gives (n, n): every element of score is combined with every element of Relu. "
     "Write `score.squeeze(-1) >= Relu`. If shape (n, n) is intended, write `score >= Relu[None]`."),
    ("Add", [("linear", ("n", 1)), ("mul_2", ("n",))],
     "linear (n, 1) + mul_2 (n,) gives (n, n): every element of linear is combined with every element of mul_2."
     " Write `linear.squeeze(-1) + mul_2`. If shape (n, n) is intended, write `linear + mul_2[None]`."),
    ("torch.nn.functional.mse_loss", [("", (5, 1)), ("", (5,))],
     "mse_loss(a (5, 1), b (5,)) broadcasts to (5, 5): every element of a is combined with every element of b. "
     "Write `mse_loss(a.squeeze(-1), b)`. If shape (5, 5) is intended, write `mse_loss(a, b[None])`."),
    ("jax.lax.select_n", [("", (5, 1)), ("", (5,)), ("", (5,))],
     "select_n(a (5, 1), b (5,), c (5,)) broadcasts to (5, 5): every element of a is combined with every "
     "element of b. Write `select_n(a.squeeze(-1), b, c)`."),
    ("Where", [("mask", ("n",)), ("x", ("n", 1)), ("zero", ())],
     "Where(mask (n,), x (n, 1), zero ()) broadcasts to (n, n): every element of mask is combined with every "
     "element of x. Write `Where(mask, x.squeeze(-1), zero)`. If shape (n, n) is intended, write "
     "`Where(mask[None], x, zero)`."),
    ("Mul", [("scale", (4, 4)), ("h", (4, 4, 1))],
     "scale (4, 4) * h (4, 4, 1) gives (4, 4, 4): scale is repeated along output axis 0, and h along output "
     "axis 2. Write `scale * h.squeeze(-1)`. If shape (4, 4, 4) is intended, write `scale[None] * h`."),
    ("Mul", [("h", (5, 1, 1)), ("w", (5,))],
     "h (5, 1, 1) * w (5,) gives (5, 1, 5): h is repeated along output axis 2, and w along output axis 0. Write"
     " `h * w[:, None, None]`. If shape (5, 1, 5) is intended, write `h * w[None, None]`."),
    ("Sum", [("a", ("n",)), ("b", ("n",)), ("c", ("n", 1)), ("d", ("n", 1))],
     "Sum(a (n,), b (n,), c (n, 1), d (n, 1)) broadcasts to (n, n): every element of a is combined with every "
     "element of c. Give all operands the same shape."),
    ("Add", [("x", ("unk__23", 1)), ("y", ("unk__23",))],
     "x (?, 1) + y (?,) gives (?, ?): every element of x is combined with every element of y. Write "
     "`x.squeeze(-1) + y`. If shape (?, ?) is intended, write `x + y[None]`."),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "message"), SQUARES)
def test_a_square_shows_the_operation_a_fix_and_the_explicit_form(
    op: str, operands: list[tuple[str, Shape]], message: str
) -> None:
    assert finding_text(finding(op, *operands)) == message


CONFLICTS = [
    ("Add", [("x", (2, 3)), ("bias", (2,))],
     "x (2, 3) + bias (2,) does not broadcast: axis -1 has size 3 in x and 2 in bias. Write `x + bias[:, "
     "None]`."),
    ("Mul", [("x", (8, 64, 7, 7)), ("scale", (64,))],
     "x (8, 64, 7, 7) * scale (64,) does not broadcast: axis -1 has size 7 in x and 64 in scale. Write `x * "
     "scale[:, None, None]`."),
    ("Div", [("a", (3, 4)), ("b", (4, 3))],
     "a (3, 4) / b (4, 3) does not broadcast: axis -2 has size 3 in a and 4 in b. Write `a.T / b`."),
    ("Max", [("a", (2,)), ("b", (3,)), ("c", (4,))],
     "Max(a (2,), b (3,), c (4,)) does not broadcast: axis -1 has size 2 in a, 3 in b and 4 in c."),
    ("PRelu", [("x", (3,)), ("slope", (2, 3))],
     "PRelu(x (3,), slope (2, 3)) does not broadcast. Input 1 of shape (2, 3) has 2 axes, but the target (3,) has "
     "only 1. The op can add axes, but can't remove them."),
    ("MatMul", [("x", (3, 2)), ("y", (4, 3))],
     "x (3, 2) @ y (4, 3) does not fit: axis 1 of x has size 2, but axis 0 of y has size 4. Transpose x to (2, 3) "
     "and y to (3, 4): the result is (2, 4)."),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "message"), CONFLICTS)
def test_a_conflict_names_the_operands_and_their_common_axis(
    op: str, operands: list[tuple[str, Shape]], message: str
) -> None:
    assert finding_text(finding(op, *operands, checked=f"onnx.{op}")) == message


def test_a_conflict_with_a_target_names_the_input() -> None:
    answer = axiscast.check({"name": "onnx.Expand", "shape": (5, 4)}, (3, 1))
    operands = (Operand("input 0", "x", (3, 1)), Operand("target", "shape", (5, 4)))
    assert finding_text(Finding("e", "Expand", operands, answer)) == (
        "Expand(x (3, 1), shape=(5, 4)) does not broadcast: axis -2 has size 3 in x and 5 in the target."
    )
    answer = axiscast.check({"name": "torch.expand", "size": (2, 4)}, (3,))
    operands = (Operand("input 0", "x", (3,)), Operand("target", "y", (2, 4)))
    assert finding_text(Finding("e", "torch.add_", operands, answer)) == (
        "y (2, 4) + x (3,) does not broadcast: axis -1 has size 3 in x and 4 in the target."
    )


WARNINGS = [
    ([("x", (8, 1, 6, 1)), ("y", (7, 1, 5))], "mutual-stretch",
     "x (8, 1, 6, 1) + y (7, 1, 5) gives (8, 7, 6, 5): x is repeated along output axis 1, and y along output axis 0. "
     "If this is not intended, check whether one of them lacks an axis."),
    ([("x", (2, 3)), ("y", (3,))], "rank-promotion",
     "y (3,) gets new axes on the left to match x (2, 3)."),
]  # fmt: skip


@pytest.mark.parametrize(("operands", "kind", "message"), WARNINGS)
def test_a_warning_names_the_operands(
    operands: list[tuple[str, Shape]], kind: Literal["mutual-stretch", "rank-promotion"], message: str
) -> None:
    assert finding_text(finding("Add", *operands, warn=kind), kind) == message


NEEDS = [
    ("Add", [("x", ("batch", 8, "seq", 8)), ("Unsqueeze_7", (1, 1, "?", 8))],
     "x (batch, 8, seq, 8) + Unsqueeze_7 (1, 1, ?, 8) needs seq == Unsqueeze_7.shape[2] or seq == 1 or "
     "Unsqueeze_7.shape[2] == 1."),
    ("Add", [("x", ("N", 64)), ("m", ("M", 1))], "x (N, 64) + m (M, 1) needs N == M or N == 1 or M == 1."),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "message"), NEEDS)
def test_conditions_name_unknown_sizes_by_their_operands(
    op: str, operands: list[tuple[str, Shape]], message: str
) -> None:
    assert finding_text(finding(op, *operands)) == message


def test_an_operation_without_shapes_has_only_its_name() -> None:
    assert finding_text(Finding("n", "Relu")) == "Relu runs."
    found = Finding("n", "Add", (Operand("input 0", "x", (2, 3)),), failure=Failure({}, None))
    assert finding_text(found) == "Add(x (2, 3)) fails. onnx reports an error."


def failed(op: str, requirement: Requirement | None, *rules: SizeRule) -> Finding:
    operands = (Operand("input 0", "x", ("batch", "seq", 8)), Operand("input 1", "k", ("K", 1)))
    return Finding("n", op, operands, failure=Failure({"batch": 5, "seq": 7}, requirement, (), rules))


PINNED = "although the file declares {0} as dynamic. It fails, for example, if batch = 5 and seq = 7: {1}. Perhaps the "
PINNED += (
    "model's code has a constant in place of {0}. Read the size from the shape of the input, or export {0} with a "
)
PINNED += "fixed size."
SEQ, ELEMENTS = Quantity(7, 0, 1), Quantity(280, 0, what="elements")
FAILURES = [
    (failed("Add", Requirement("broadcast", SEQ, Quantity(12, 1, 0)), SizeRule("seq", "equal", 12, or_one=True)),
     "x (batch, seq, 8) + k (K, 1) runs only with seq = 12 or 1, "
     + PINNED.format("seq", "x.shape[1] is 7, but k.shape[0] is 12")),
    (failed("Reshape", Requirement("equal", ELEMENTS, Quantity(192)),
            SizeRule("batch", "equal", 2), SizeRule("seq", "equal", 12)),
     "Reshape(x (batch, seq, 8), k (K, 1)) runs only with batch = 2 and seq = 12, "
     + PINNED.format("batch and seq", "x.size is 280, but must be 192")),
    (failed("Reshape", Requirement("multiple", ELEMENTS, Quantity(32)), SizeRule("seq", "multiple", 4)),
     "Reshape(x (batch, seq, 8), k (K, 1)) needs seq to be a multiple of 4. "
     "It fails, for example, if batch = 5 and seq = 7: x.size is 280, but must be a multiple of 32."),
    (failed("TopK", Requirement("at-most", Quantity(10, 1, what="value"), SEQ), SizeRule("seq", "at-least", 10)),
     "TopK(x (batch, seq, 8), k (K, 1)) needs seq to be at least 10. "
     "It fails, for example, if batch = 5 and seq = 7: the value of k is 10, but x.shape[1] is 7."),
    (failed("Add", Requirement("broadcast", SEQ, Quantity(9, 1, 0)),
            SizeRule("seq", "equal", -1, (("batch", 2),))),
     "x (batch, seq, 8) + k (K, 1) needs seq = 2 * batch - 1. "
     "It fails, for example, if batch = 5 and seq = 7: x.shape[1] is 7, but k.shape[0] is 9."),
    (failed("Split", Requirement("equal", SEQ, Quantity(12))),
     "No sizes were found at which Split(x (batch, seq, 8), k (K, 1)) runs. "
     "It fails, for example, if batch = 5 and seq = 7: x.shape[1] is 7, but must be 12."),
    (failed("Split", Requirement("equal", Quantity(12), SEQ)),
     "No sizes were found at which Split(x (batch, seq, 8), k (K, 1)) runs. "
     "It fails, for example, if batch = 5 and seq = 7: x.shape[1] is 7, but must be 12."),
    (failed("Gather", Requirement("at-most", SEQ, Quantity(4))),
     "No sizes were found at which Gather(x (batch, seq, 8), k (K, 1)) runs. "
     "It fails, for example, if batch = 5 and seq = 7: x.shape[1] is 7, but must be at most 4."),
    (failed("Custom", None, SizeRule("seq", "equal", 3)),
     "Custom(x (batch, seq, 8), k (K, 1)) runs only with seq = 3, "
     + PINNED.format("seq", "onnx reports an error")),
]  # fmt: skip


@pytest.mark.parametrize(("found", "message"), FAILURES)
def test_a_failure_states_the_rule_the_numbers_and_the_fix(found: Finding, message: str) -> None:
    assert finding_text(found) == message


UNCHECKED = [
    ("Add", Unchecked("unknown-rank", ("x", "y")), "the number of axes is unknown for x and y"),
    ("Add", Unchecked("other-opset"), "it is in a function that imports a different opset version than the model"),
    ("Gemm", Unchecked("input-count", ("Gemm", "3", "4")), "Gemm takes 3 inputs, but this node has 4"),
    ("Mod", Unchecked("undefined", ("6", "Mod")), "opset 6 either has no Mod or defines it differently"),
    ("Add", Unchecked("refused"), "onnx can't infer its output from these inputs"),
    ("Add", Unchecked("unsolved"), "the search for sizes at which it runs reached its limit"),
    ("Add", Unchecked("limit", ("a check has at most 64 axes",)), "a check has at most 64 axes"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "reason", "sentence"), UNCHECKED)
def test_a_reason_not_to_check_has_its_sentence(op: str, reason: Unchecked, sentence: str) -> None:
    assert unchecked_text(reason) == sentence
    operands = (Operand("input 0", "x", None), Operand("input 1", "y", None))
    found = Finding("n", op, operands, unchecked=reason)
    code = {"Gemm": "Gemm(x of unknown rank, y of unknown rank)"}.get(op)
    code = code or f"x of unknown rank {'+' if op == 'Add' else '%'} y of unknown rank"
    assert finding_text(found) == f"{code} could not be checked: {sentence}."
    assert group_text([found, found]) == "2 nodes could not be checked"


def test_a_group_has_the_needs_of_its_findings() -> None:
    multiple = failed("Reshape", Requirement("multiple", ELEMENTS, Quantity(32)), SizeRule("seq", "multiple", 4))
    pinned = failed("Add", None, SizeRule("seq", "equal", 3))
    assert group_text([multiple] * 3) == "3 nodes need seq to be a multiple of 4"
    assert group_text([pinned] * 2) == "2 nodes run only with seq = 3"


def test_a_contradiction_states_both_shapes() -> None:
    found = Finding("y", "Relu", contradiction=Contradiction("y", ("N", 9), ("N", 8, None)))
    assert finding_text(found, "contradicted") == (
        "The file states shape (N, 9) for y, but the inputs of this node give (N, 8, ?)."
    )


def test_the_repr_states_the_operation_the_shapes_and_the_kinds() -> None:
    found = finding("Sub", ("p", (8, 1)), ("y", (8,)), file="train.py", line=8)
    assert repr(found) == "<Finding Sub at train.py:8: p (8, 1) and y (8,) give (8, 8), square>"
    assert repr(finding("Sub", ("", (8, 1)), ("", (1,)))) == (
        "<Finding Sub at node_1: (8, 1) and (1,) give (8, 1), compatible>"
    )
