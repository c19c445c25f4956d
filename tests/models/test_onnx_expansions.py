"""Operands that are expanded to a common shape first: a square is still found."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx_models import Check, checks, parsed

from axiscast.words.operation_code import operation_code


@pytest.fixture
def check(tmp_path: Path) -> Check:
    return checks(tmp_path)


INPUTS = "(float[n,1] p, float[n] y, float[1,n] row, float[n,n] full, float[m,1] q, float[n] z)"
SHAPE = "s = Shape(y) nn = Concat<axis = 0>(s, s)"
RUN_TIME = """one = Constant<value_ints = [1]>() sp = Shape(p) sy = Shape(y) wide = Concat<axis = 0>(one, sy)
    nn = Max(sp, wide)"""
SQUARES = {
    "as torch exports a loss": (
        f"{SHAPE} a = Expand(p, nn) b = Expand(y, nn) d = Sub(a, b)",
        ("p (n, 1) - y (n,)", 0, 1),
    ),
    "the other way round": (f"{SHAPE} a = Expand(p, nn) b = Expand(y, nn) d = Sub(b, a)", ("y (n,) - p (n, 1)", 1, 0)),
    "a shape that is computed from both": (
        f"{RUN_TIME} a = Expand(p, nn) b = Expand(y, nn) d = Sub(a, b)",
        ("p (n, 1) - y (n,)", 0, 1),
    ),
    "casts and identities between": (
        f"{SHAPE} a = Expand(p, nn) b = Expand(y, nn) a2 = Cast<to = 1>(a) a3 = Identity(a2) b2 = Identity(b) "
        "d = Mul(a3, b2)",
        ("p (n, 1) * y (n,)", 0, 1),
    ),
    "both transposed": (
        f"{SHAPE} a = Expand(p, nn) b = Expand(y, nn) a2 = Transpose(a) b2 = Transpose<perm = [1, 0]>(b) "
        "d = Sub(a2, b2)",
        ("p (n, 1) - y (n,)", 0, 1),
    ),
    "one transposed": (
        f"{SHAPE} a = Expand(row, nn) b = Expand(y, nn) a2 = Transpose(a) d = Sub(a2, b)",
        ("row.T (n, 1) - y (n,)", 0, 1),
    ),
    "expanded twice": (
        f"{SHAPE} a = Expand(p, nn) a2 = Expand(a, nn) b = Expand(y, nn) d = Sub(a2, b)",
        ("p (n, 1) - y (n,)", 0, 1),
    ),
    "three operands": (
        f"{SHAPE} a = Expand(p, nn) b = Expand(y, nn) t = Constant<value_float = 2.0>() d = Sum(a, b, t)",
        ("Sum(p (n, 1), y (n,), t ())", 0, 1),
    ),
}


@pytest.mark.parametrize(("nodes", "expected"), SQUARES.values(), ids=SQUARES)
def test_two_expanded_operands_make_a_square(check: Check, nodes: str, expected: tuple[str, int, int]) -> None:
    report = check(f"{INPUTS} => (float[] o) {{{nodes} o = Relu(d)}}")
    (finding,) = (finding for finding in report.findings if "square" in finding.kinds)
    assert finding.answer
    (warning,) = (warning for warning in finding.answer.warnings if warning.code == "square")
    assert warning.hint
    assert warning.all_pairs
    assert (finding.node, finding.output, warning.hint.suffix, warning.all_pairs.suffix) == (
        "d", ("n", "n"), ".squeeze(-1)", "[None]",
    )  # fmt: skip
    assert (operation_code(finding), warning.hint.input, warning.all_pairs.input) == expected


RIGHT = {
    "element by element": f"{SHAPE} one = Constant<value_ints = [1]>() n1 = Concat<axis = 0>(s, one) "
    "a = Expand(p, n1) b = Expand(p, n1) d = Sub(a, b)",
    "two vectors": f"{SHAPE} a = Expand(y, nn) b = Expand(z, nn) d = Sub(a, b)",
    "two columns": f"{SHAPE} a = Expand(p, nn) b = Expand(p, nn) d = Sub(a, b)",
    "the axis is written out": f"{SHAPE} a = Expand(p, nn) b = Expand(row, nn) d = Sub(a, b)",
    "another size": "s = Shape(y) t = Shape<start = 0, end = 1>(q) mn = Concat<axis = 0>(t, s) "
    "a = Expand(q, mn) b = Expand(y, mn) d = Sub(a, b)",
    "expanded to one more axis": f"{SHAPE} two = Constant<value_ints = [2]>() big = Concat<axis = 0>(two, nn) "
    "a = Expand(p, big) b = Expand(y, big) d = Sub(a, b)",
    "a vector and its transpose": f"{SHAPE} a = Expand(y, nn) b = Transpose(a) d = Sub(a, b)",
    "another operand has both axes": f"{SHAPE} a = Expand(p, nn) b = Expand(y, nn) d = Sum(full, a, b)",
    "only one of them": f"{SHAPE} a = Expand(y, nn) d = Sub(a, full)",
    "repeated along the same axis": f"{SHAPE} a = Expand(p, nn) b = Expand(y, nn) a2 = Transpose(a) d = Sub(a2, b)",
}


@pytest.mark.parametrize("nodes", RIGHT.values(), ids=RIGHT)
def test_other_expansions_have_no_warning(check: Check, nodes: str) -> None:
    report = check(f"{INPUTS} => (float[] o) {{{nodes} o = Relu(d)}}")
    assert report.counts["square"] == 0, str(report)


def test_branches_see_the_expansions_of_the_outer_graph(check: Check) -> None:
    graph = f"""(float[n,1] p, float[n] y, bool t) => (float[] o) {{{SHAPE} a = Expand(p, nn) b = Expand(y, nn)
        o = If(t) <then_branch = g () => (float[] d) {{d = Sub(a, b)}},
                   else_branch = h () => (float[] e) {{e = Neg(a)}}>}}"""
    (finding,) = check(graph).findings
    assert (finding.node, [operand.name for operand in finding.operands]) == ("o/then_branch/d", ["p", "y"])


@pytest.mark.parametrize(
    ("code", "squares"),
    [
        ("loss = F.mse_loss(p, y)", 1),
        ("d = p.expand(-1, n) - y.expand(n, n)", 0),
        ("d = p.expand_as(c) - torch.broadcast_to(y, (n, n))", 0),
    ],
)
def test_an_explicit_expansion_in_the_code_is_intended(check: Check, code: str, squares: int) -> None:
    model = parsed(f"{INPUTS} => (float[] d) {{{SHAPE} a = Expand(p, nn) b = Expand(y, nn) d = Sub(a, b)}}")
    for node in model.graph.node:
        node.metadata_props.add(
            key="pkg.torch.onnx.stack_trace", value=f'File "/home/me/net.py", line 7, in forward\n    {code}'
        )
    assert check(model).counts["square"] == squares
