"""The rule that decides if an outer product is intended, and the facts of the ONNX check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cases import cases
from onnx_models import parsed, saved

import axiscast
from axiscast.checks.two_sided import find_outer_product
from axiscast.models.formats.github import workflow_commands
from axiscast.models.formats.repository import Repository
from axiscast.models.intent import OperandPair, Origin, has_operand_with_both_axes, is_meant

ROW = Origin(source="y")
HERE = {way: Origin(way, is_here=True, source="x") for way in ("index", "unsqueeze", "reduction")}
BEFORE = {way: Origin(way, source="x") for way in ("index", "unsqueeze", "reduction")}
RANGE = Origin(source="a range", is_index=True)

MEANT = {
    "x[:, None] * y": OperandPair((HERE["index"], ROW)),
    "y - x[:, None]": OperandPair((ROW, HERE["index"])),
    "column - x": OperandPair((BEFORE["unsqueeze"], Origin(source=BEFORE["unsqueeze"].source))),
    "x.sum(1, keepdim=True) - x": OperandPair((BEFORE["reduction"], Origin(source=BEFORE["reduction"].source))),
    "earlier <= range": OperandPair((Origin("unsqueeze", source="i", is_index=True), RANGE)),
    "x.unsqueeze(1) >= y": OperandPair((HERE["unsqueeze"], ROW), is_discrete=True),
    "lengths.unsqueeze(1) - range": OperandPair((HERE["unsqueeze"], RANGE)),
    "a library's x.unsqueeze(1) - y": OperandPair((HERE["unsqueeze"], ROW), is_installed=True),
    "where(pairs, x, y)": OperandPair((BEFORE["unsqueeze"], ROW), has_operand_with_both_axes=True),
}
MISTAKES = {
    "column - y": OperandPair((Origin(source="x"), ROW)),
    "values whose origin is not known": OperandPair((Origin(), Origin())),
    "x = x[:, None], then x - y": OperandPair((BEFORE["index"], ROW)),
    "x = x.unsqueeze(1), then x - y": OperandPair((BEFORE["unsqueeze"], ROW)),
    "x = x.unsqueeze(1), then x == y": OperandPair((BEFORE["unsqueeze"], ROW), is_discrete=True),
    "x / y.unsqueeze(1)": OperandPair((ROW, HERE["unsqueeze"])),
    "x.sum(1, keepdim=True) - y": OperandPair((HERE["reduction"], ROW)),
    "x.argmax(1, keepdim=True) == y": OperandPair((HERE["reduction"], ROW), is_discrete=True),
    "column - range": OperandPair((Origin(source="x"), RANGE)),
    "mse_loss(x[:, None], x)": OperandPair((HERE["index"], Origin(source="x")), is_loss=True),
}


@cases("pair", MEANT.values(), ids=MEANT)
def test_an_outer_product_is_intended(pair: OperandPair) -> None:
    assert is_meant(pair)
    assert is_meant(pair._replace(origins=pair.origins[::-1]))


@cases("pair", MISTAKES.values(), ids=MISTAKES)
def test_an_outer_product_is_not_intended(pair: OperandPair) -> None:
    assert not is_meant(pair)
    assert not is_meant(pair._replace(origins=pair.origins[::-1]))


@cases(
    ("shapes", "expected"),
    [
        ([(5,), (5, 1)], False),
        ([(5,), (5, 1), (5, 5)], True),
        ([(5,), (5, 1), (1, 5)], False),
        ([(5,), (5, 1), (2, 5, 5)], True),
        ([(4, 5), (4, 1, 5), (4, 4, 1)], True),
        ([(4, 5), (4, 1, 5), (4, 1, 1)], False),
    ],
)
def test_an_operand_may_have_both_axes_of_an_outer_product(shapes: Any, expected: bool) -> None:
    found = find_outer_product(shapes)
    assert found is not None
    assert has_operand_with_both_axes(shapes, found) is expected


FILE = "/home/me/net.py"
PACKAGE = "/usr/lib/python3.12/site-packages/net.py"
AXIS = "axis = Constant <value_ints = [1]> ()\n"
RANGE_NODES = """
    start = Constant <value_int = 0> ()  step = Constant <value_int = 1> ()
    shape = Shape (x)  zero = Constant <value_int = 0> ()  n = Gather (shape, zero)
    i = Range (start, n, step)
"""


def squares(tmp_path: Path, nodes: str, *lines: tuple[str, int, str], results: str = "z") -> int:
    """Return the number of outer products in the report of a graph whose last nodes have these source lines."""
    types = {"z": "float", "c": "bool", "k": "int64"}
    outputs = ", ".join(f"{types[name]}[m, k] {name}" for name in results)
    model = parsed(f"(float[n] x, float[n] y) => ({outputs}) {{ {AXIS}{nodes} }}")
    for node, (file, line, code) in zip([*model.graph.node][-len(lines) :], lines, strict=True) if lines else ():
        trace = f'File "{file}", line {line}, in forward\n    {code}'
        node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
    return axiscast.check_model(saved(tmp_path / "net.onnx", model)).counts["square"]


@cases(
    ("expected", "nodes", "lines"),
    [
        (0, "u = Unsqueeze (x, axis) z = Mul (u, y)", [(FILE, 7, "z = x[:, None] * y")] * 2),
        (0, "u = Unsqueeze (x, axis) z = Mul (u, y)", [(FILE, 7, "z = x[..., np.newaxis] * y")] * 2),
        (1, "u = Unsqueeze (x, axis) z = Mul (u, y)", [(FILE, 7, "z = x.unsqueeze(1) * y")] * 2),
        (0, "u = Unsqueeze (x, axis) z = Mul (u, y)", [(PACKAGE, 7, "z = x.unsqueeze(1) * y")] * 2),
        (1, "u = Unsqueeze (x, axis) z = Mul (u, y)", [(FILE, 7, "x = x[:, None]"), (FILE, 8, "z = x * y")]),
        (1, "u = Unsqueeze (x, axis) z = Mul (u, y)", []),
        (0, "u = Unsqueeze (x, axis) z = Sub (u, x)", []),
        (0, "u = Unsqueeze (x, axis) v = Exp (u) w = Neg (x) z = Sub (v, w)", []),
        (1, "t = Add (x, y) u = Unsqueeze (x, axis) z = Sub (u, t)", []),
        (1, "u = Unsqueeze (x, axis) s = ReduceSum <keepdims = 1> (u, axis) z = Sub (s, y)", []),
    ],
)
def test_the_lines_and_sources_of_an_onnx_graph_are_found(
    tmp_path: Path, expected: int, nodes: str, lines: list[tuple[str, int, str]]
) -> None:
    assert squares(tmp_path, nodes, *lines) == expected


@cases(
    ("expected", "nodes", "lines"),
    [
        (0, "u = Unsqueeze (i, axis) c = GreaterOrEqual (u, i)", []),
        (0, "j = Range (start, n, step) u = Unsqueeze (i, axis) c = LessOrEqual (j, u)", []),
        (0, "u = Unsqueeze (x, axis) c = Less (u, y)", [(FILE, 7, "c = x.unsqueeze(1) < y")] * 2),
        (1, "u = Unsqueeze (x, axis) c = Less (u, y)", [(FILE, 7, "x = x.unsqueeze(1)"), (FILE, 8, "c = x < y")]),
    ],
)
def test_a_causal_mask_in_an_onnx_graph_is_intended(
    tmp_path: Path, expected: int, nodes: str, lines: list[tuple[str, int, str]]
) -> None:
    assert squares(tmp_path, RANGE_NODES + nodes, *lines, results="c") == expected


def test_a_choice_between_pairs_in_an_onnx_graph_is_intended(tmp_path: Path) -> None:
    mask = "p = Unsqueeze (i, axis) q = GreaterOrEqual (p, i) u = Unsqueeze (x, axis) z = Where (q, u, y)"
    assert squares(tmp_path, RANGE_NODES + mask) == 0


def test_a_subgraph_has_the_origins_of_outer_values(tmp_path: Path) -> None:
    branch = "{u_name} = g () => (float[m, k] {out}) {{ {out} = Sub (u, {other}) }}"
    then, other = (
        branch.format(u_name=name, out=out, other=y)
        for name, out, y in (("then_branch", "a", "x"), ("else_branch", "b", "y"))
    )
    nodes = f"u = Unsqueeze (x, axis) c = Constant <value = bool {{1}}> () z = If (c) <{then}, {other}>"
    assert squares(tmp_path, nodes) == 1


KINDS: dict[str, list[tuple[str, ...]]] = {
    "square": [("square",), (), (), (), ()],
    "every-square": [("square",), ("square",), (), (), ()],
    "mutual-stretch": [(), (), ("mutual-stretch",), (), ()],
    "rank-promotion": [("rank-promotion",), ("rank-promotion",), (), ("rank-promotion",), ()],
}
TRIES = """
    u = Unsqueeze (x, axis)  v = Unsqueeze (y, zeroth)
    one = Sub (column, y)  two = Sub (u, x)  three = Add (column, row)  four = Add (rows, y)  five = Neg (rows)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_select_the_findings_of_a_model(tmp_path: Path, kind: Any) -> None:
    path = saved(
        tmp_path / "net.onnx",
        "(float[n] x, float[n] y, float[n, 1] column, float[1, m] row, float[2, n] rows) => "
        "(float[a, b] one, float[c, d] two, float[e, f] three, float[g, h] four, float[2, n] five) "
        f"{{ {AXIS} zeroth = Constant <value_ints = [0]> () {TRIES} }}",
    )
    report = axiscast.check_model(path, kinds=(kind,))
    found = [finding.kinds for finding in report.nodes]
    assert found == KINDS[kind][: len(found)]
    assert report.exit_status() == int(any(found))
    assert report.counts.get(found[0][0] if found[0] else kind, 1) >= 1
    annotations = [line for line in workflow_commands([report], Repository()) if line.startswith("::warning")]
    assert len(annotations) == len(report.findings)


def test_unknown_kinds_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "net.onnx", "(float[n] x) => (float[n] z) { z = Neg (x) }")
    for kinds in ("square", (), ("squares",)):
        with pytest.raises((ValueError, TypeError), match="kinds"):
            axiscast.check_model(path, kinds=kinds)  # type: ignore[arg-type]
