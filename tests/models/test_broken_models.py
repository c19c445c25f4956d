"""Broken models, as users break them: each is reported at its node and line, with a hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import Check, checks, parsed

from axiscast import Finding
from axiscast.messages.findings import SizeRule
from axiscast.words.findings import finding_text
from axiscast.words.operation_code import operation_code


@pytest.fixture
def check(tmp_path: Path) -> Check:
    return checks(tmp_path)


def exported(graph: str, **weights: tuple[int, ...]) -> Any:
    """Return a model as torch exports it: node `n` comes from line 10 + n of net.py, called by a library."""
    model = parsed(graph)
    for number, node in enumerate(model.graph.node):
        trace = f'  File "/home/me/net.py", line {10 + number}, in forward\n    x\n'
        trace += '  File "/v/site-packages/torch/f.py", line 1, in linear'
        node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
    for name, shape in weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(shape, np.float32), name))
    return model


def only(check: Check, model: Any, **options: Any) -> Finding:
    (finding,) = check(model, **options).findings
    return finding


def test_a_bias_of_the_channels_conflicts_with_the_width(check: Check) -> None:
    model = exported("(float[N,3,9,9] x) => (float[] y) {c = Conv(x, w) y = Add(c, bias)}", w=(64, 3, 3, 3), bias=(64,))
    finding = only(check, model)
    assert (finding.node, finding.op, finding.file, finding.line) == ("y", "Add", "/home/me/net.py", 11)
    assert [operand.shape for operand in finding.operands] == [("N", 64, 7, 7), (64,)]
    assert [hint.shape for hint in finding.answer.conflict.hints][:1] == [(64, 1, 1)]


def test_a_loss_over_all_pairs_is_a_square(check: Check) -> None:
    """`(pred - y)**2` raises no error, and the loss is a mean over (B, B)."""
    graph = "(float[B,8] x, float[B] y) => (float[] l) {p = MatMul(x, w) d = Sub(p, y) l = Pow(d, two)}"
    report = check(exported(graph, w=(8, 1), two=()))
    (finding,) = report.findings
    assert (finding.node, finding.line, finding.kinds, finding.output) == ("d", 11, ("square",), ("B", "B"))
    assert operation_code(finding) == "p (B, 1) - y (B,)"
    assert finding_text(finding) in str(report)
    assert (report.exit_status(), report.exit_status("incompatible")) == (1, 0)


def test_an_edited_weight_conflicts_although_the_stated_shapes_are_outdated(check: Check) -> None:
    graph = """(float[N,8] x) => (float[N,8] y) <float[8] scale, float[N,8] s, float[N,8] r>
        {s = Mul(x, scale) r = Relu(s) y = Add(r, x)}"""
    finding = only(check, exported(graph, scale=(9,)), probe=True)
    assert (finding.node, finding.line, finding.answer.conflict.sizes) == ("s", 10, (8, 9))


def test_positions_that_were_fixed_at_export_are_reported(check: Check) -> None:
    graph = """(float[B,seq,32] x) => (float[] y)
        {a = Add(x, pos) b = Mul(x, pos) c = Relu(x) y = Sub(c, pos)}"""
    report = check(exported(graph, pos=(12, 32)), probe=True)
    assert [(found.node, found.line, found.kinds) for found in report.findings] == [
        ("a", 10, ("pinned",)), ("b", 11, ("pinned",)), ("y", 13, ("pinned",)),
    ]  # fmt: skip
    assert [found.failure and found.failure.rules for found in report.findings] == [
        (SizeRule("seq", "equal", 12, or_one=True),)
    ] * 3
    assert report.exit_status() == 1
    report = check(exported(graph, pos=(12, 32)), assume={"seq": 16})
    assert [found.node for found in report.findings if found.verdict == "incompatible"] == ["a", "b", "y"]


def test_a_mask_without_the_head_axis_conflicts(check: Check) -> None:
    graph = "(float[2,4,12,12] scores, bool[2,12,12] mask, float zero) => (float[] y) {y = Where(mask, scores, zero)}"
    finding = only(check, exported(graph))
    assert (finding.node, finding.op, finding.line) == ("y", "Where", 10)
    assert (finding.answer.conflict.axis, finding.answer.conflict.sizes) == (1, (2, 4))
    assert [hint.shape for hint in finding.answer.conflict.hints] == [(2, 1, 12, 12)]


def test_heads_that_were_not_transposed_conflict(check: Check) -> None:
    finding = only(check, exported("(float[B,12,4,8] q, float[B,4,12,8] rotated) => (float[] y) {y = Mul(q, rotated)}"))
    assert (finding.node, finding.op, finding.line) == ("y", "Mul", 10)
    assert finding.answer.conflict.hints[0].axes == (1, 2)


def test_the_bias_of_another_layer_conflicts(check: Check) -> None:
    graph = "(float[N,16] x) => (float[] y) {h = Gemm<transB = 1>(x, w, b) y = Gemm(h, v, b)}"
    finding = only(check, exported(graph, w=(32, 16), b=(32,), v=(32, 8)))
    assert (finding.node, finding.op, finding.line, finding.verdict) == ("y", "Gemm", 11, "incompatible")


def test_a_slope_per_channel_conflicts_with_the_width(check: Check) -> None:
    finding = only(check, exported("(float[N,64,7,7] x) => (float[] y) {y = PRelu(x, slope)}", slope=(64,)))
    assert (finding.node, finding.line, finding.verdict) == ("y", 10, "incompatible")
    assert finding.answer.conflict.hints[0].shape == (64, 1, 1)


def test_a_slope_with_an_extra_batch_axis_conflicts(check: Check) -> None:
    finding = only(check, exported("(float[64,7,7] x) => (float[] y) {y = PRelu(x, slope)}", slope=(1, 64, 1, 1)))
    assert (finding.node, finding.line, finding.verdict) == ("y", 10, "incompatible")
    assert finding.answer.conflict.hints[0].shape == (64, 1, 1)


def test_matrix_stacks_with_different_numbers_of_heads_conflict(check: Check) -> None:
    graph = "(float[B,8,S,64] q, float[B,64,S] k) => (float[] y) {y = MatMul(q, k)}"
    finding = only(check, exported(graph), assume={"B": 2})
    assert (finding.node, finding.line, finding.verdict) == ("y", 10, "incompatible")
    assert finding.answer.conflict.hints[0].shape == (2, 1, 64, "S")
