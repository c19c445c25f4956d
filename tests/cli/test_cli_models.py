"""axiscast check model.onnx: formats, options, exit statuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import run
from onnx import helper
from onnx_models import parsed, saved

from axiscast.cli import main
from axiscast.messages.findings import Unchecked
from axiscast.words.findings import unchecked_text

Check = Callable[..., Result]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Run `axiscast check model.onnx` for a model in an empty folder. Without `probe`, no sizes are tried."""
    monkeypatch.chdir(tmp_path)

    def run(model: Any, *arguments: str, opset: int = 21, probe: bool = False) -> Result:
        saved(tmp_path / "model.onnx", model, opset)
        return CliRunner().invoke(main, ["check", "model.onnx", *([] if probe else ["--no-probe"]), *arguments])

    return run


THREE = """(float[N,64,7,7] x, float[64] bias, float[M,1,7,1] m) => (float[] y)
    {a = Add(x, bias) b = Add(x, m) y = Mul(x, x)}"""
SUMMARY = "model.onnx: 3 nodes broadcast: 1 compatible, 1 needs, 0 pinned, 1 incompatible, 0 unchecked\n"


def entries(check: Check) -> list[str]:
    """Return the entry of each node of THREE in a text report."""
    (report,) = json.loads(check(THREE, "--json").output)["models"]
    labelled = zip(("Add a: incompatible", "Add b: needs", "Mul y"), report["nodes"], strict=True)
    return [f"model.onnx: {label}\n  {node['message']}\n\n" for label, node in labelled]


def test_the_text_report_lists_findings_and_with_all_every_node(check: Check) -> None:
    conflict, needs, fits = entries(check)
    done = check(THREE)
    assert (done.exit_code, done.output) == (1, conflict + needs + SUMMARY)
    assert check(THREE, "--all").output == conflict + needs + fits + SUMMARY
    assert check(THREE, "--format", "text").output == conflict + needs + SUMMARY


@pytest.mark.parametrize("arguments", [["--json"], ["--format", "json"]])
def test_the_json_report_contains_every_node(check: Check, arguments: list[str]) -> None:
    (report,) = json.loads(check(THREE, *arguments).output)["models"]
    assert report["counts"] == {
        "nodes": 3, "compatible": 1, "needs": 1, "pinned": 0, "incompatible": 1, "unchecked": 0, "square": 0,
        "contradicted": 0,
    }  # fmt: skip
    assert (report["path"], report["errors"]) == ("model.onnx", [])
    assert [(node["node"], node["op_type"], node["verdict"]) for node in report["nodes"]] == [
        ("a", "Add", "incompatible"), ("b", "Add", "needs"), ("y", "Mul", "compatible"),
    ]  # fmt: skip


def test_each_model_gets_a_report_and_the_worst_sets_the_exit_status(check: Check, tmp_path: Path) -> None:
    saved(tmp_path / "good.onnx", "(float[2] x) => (float[] o) {o = Add(x, x)}")
    (tmp_path / "bad.onnx").write_text("no model")
    conflict, needs, _ = entries(check)
    done = check(THREE, "good.onnx", "bad.onnx", "absent.onnx")
    assert done.exit_code == 1
    assert done.output.startswith(conflict + needs + SUMMARY + "good.onnx: 1 nodes broadcast: 1 compatible")
    assert "\nbad.onnx: is not an ONNX model" in done.output
    assert done.output.endswith("\nabsent.onnx: does not exist\n")
    assert "0 nodes" not in done.output
    for names, status in {"good.onnx": 0, "good.onnx bad.onnx": 2, "absent.onnx good.onnx good.onnx": 2}.items():
        assert CliRunner().invoke(main, ["check", *names.split()]).exit_code == status
    done = CliRunner().invoke(main, ["check", "good.onnx", "model.onnx", "bad.onnx", "--json"])
    models = json.loads(done.output)["models"]
    assert [model["path"] for model in models] == ["good.onnx", "model.onnx", "bad.onnx"]
    assert models[2]["errors"][0].startswith("is not an ONNX model")


def test_annotations_and_sarif_have_the_paths_of_the_repository(check: Check, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "net.py").write_text("")
    model = parsed(THREE)
    model.graph.node[0].metadata_props.add(key="pkg.torch.onnx.stack_trace", value='File "/build/net.py", line 7, in f')
    error, notice, summary = check(model, "--format", "github").output.splitlines()
    assert error.startswith("::error file=net.py,line=7,title=axiscast%3A incompatible::model.onnx: Add a: ")
    assert notice.startswith("::notice file=model.onnx,title=axiscast%3A needs::model.onnx: Add b: ")
    assert summary == SUMMARY.strip()
    results = json.loads(check(model, "--format", "sarif").output)["runs"][0]["results"]
    places = [result["locations"][0]["physicalLocation"] for result in results]
    assert [place["artifactLocation"]["uri"] for place in places] == ["net.py", "model.onnx"]
    assert places[0]["region"] == {"startLine": 7}


def test_fail_on_sets_the_least_severe_finding_for_exit_status_1(check: Check) -> None:
    needs = "(float[N,3] x, float[M,3] y) => (float[] o) {a = Add(x, y)}"
    assert check(needs).exit_code == 0
    assert check(needs, "--fail-on", "square").exit_code == 0
    assert check(needs, "--fail-on", "needs").exit_code == 1
    assert check(needs, "--assume", "N=2", "--assume", "M=3", "--fail-on", "incompatible").exit_code == 1
    assert check(needs, "--assume", "N=2..", "--assume", "M=1", "--fail-on", "needs").exit_code == 0


def test_kinds_select_the_suspicious_broadcasts(check: Check) -> None:
    bias = "(float[N,64] x, float[64] bias) => (float[N,64] y) { y = Add(x, bias) }"
    assert check(bias).exit_code == 0
    assert check(bias, "--kinds", "mutual-stretch").exit_code == 0
    for option in (["--kinds", "rank-promotion"], ["--kinds=mutual-stretch,rank-promotion"]):
        done = check(bias, *option)
        assert (done.exit_code, "(1 suspicious)" in done.output) == (1, True), done.output
        assert ("bias (64,)" in done.output, "x (N, 64)" in done.output) == (True, True)
    done = check(bias, "--kinds", "rank")
    assert (done.exit_code, "'rank' must be one of square, every-square" in done.output) == (2, True)


def test_a_model_with_an_unchecked_node_never_exits_with_0(check: Check) -> None:
    done = check("(float[2,3] x, float[4,5] y) => (float[] o) {m = MatMul(x, y) a = Add(m, x) b = Add(m, x)}")
    assert done.exit_code == 3
    refused, unknown = unchecked_text(Unchecked("refused")), unchecked_text(Unchecked("unknown-rank", ("m",)))
    assert done.output.partition("\n")[2] == (
        f"  model.onnx: MatMul m: x (2, 3) @ y (4, 5): {refused}\n"
        f"  model.onnx: Add a: m of unknown rank + x (2, 3): {unknown}\n"
        f"  model.onnx: Add b: m of unknown rank + x (2, 3): {unknown}\n\n"
        "model.onnx: 3 nodes broadcast: 0 compatible, 0 needs, 0 pinned, 0 incompatible, 3 unchecked\n"
    )


def test_each_of_many_nodes_is_counted(check: Check) -> None:
    inputs = [helper.make_tensor_value_info(f"v{size}", 1, [size, 7, 7, 7]) for size in range(1500)]
    nodes = [helper.make_node("Add", [f"v{size}", "v2"], [f"s{size}"]) for size in range(1500)]
    model = helper.make_model(helper.make_graph(nodes, "graph", inputs, []))
    (report,) = json.loads(check(model, "--json").output)["models"]
    assert report["counts"] | {"nodes": 0} == {
        "nodes": 0, "compatible": 2, "needs": 0, "pinned": 0, "incompatible": 1498, "unchecked": 0, "square": 0,
        "contradicted": 0,
    }  # fmt: skip


MISUSED = [
    (["model.onnx", "3,4"], "3,4 can't be combined with a model"),
    (["3,4", "model.onnx"], "3,4 can't be combined with a model"),
    (["model.onnx", "--op", "onnx.Expand"], "--op can't be combined with a model"),
    (["model.onnx", "--broadcast-axes", "0"], "--broadcast-axes can't be combined with a model"),
    (["3,4", "--all"], "--all needs a model"),
    (["3,4", "--format", "sarif"], "--format needs a model"),
    (["3,4", "--fail-on", "needs"], "--fail-on needs a model"),
    (["model.onnx", "--fail-on", "nothing"], "'incompatible', 'square', 'needs'"),
    (["model.onnx", "--json", "--format", "sarif"], "--json means --format json"),
    (["model.onnx", "--assume", "K=3"], "--assume K: the model has no size of this name; its named sizes are M, N"),
    (["model.onnx", "--assume", "N=5", "--assume", "N=3"], "--assume 'N=5, N=3': N is given twice"),
    (["model.onnx", "--example", "K=3"], "--example K: the model has no size of this name; its named sizes are M, N"),
    (["model.onnx", "--example", "N"], "'N' must be a name and a size, such as batch=7"),
    (["model.onnx", "--example", "N=2,N=3"], "'N=3' is given twice"),
    (["3,4", "--example", "N=2"], "--example needs a model"),
    (["3,4", "--no-probe"], "--no-probe needs a model"),
    (["model.onnx", "--assume", "N=5..3"], "--assume N: the range 5..3 must go"),
]


@pytest.mark.parametrize(("arguments", "message"), MISUSED, ids=[message for _, message in MISUSED])
def test_a_mistake_suggests_the_fix(check: Check, arguments: list[str], message: str) -> None:
    check(THREE)
    done = CliRunner().invoke(main, ["check", *arguments])
    assert (done.exit_code, type(done.exception)) == (2, SystemExit)
    last = done.output.splitlines()[-1]
    assert last.startswith("Error: ")
    assert message in last


def test_sizes_are_tried_and_an_assumed_size_fits(check: Check) -> None:
    graph = "(float[batch,seq,8] x, float[1,12,8] pos) => (float[a,b,8] y) {y = Add(x, pos)}"
    assert check(graph, probe=True).exit_code == 1
    for example in (["--example", "seq=12,batch=2"], ["--example", "seq=12", "--example", "batch=2"]):
        assert "pinned" in check(graph, *example, probe=True).output
    assert check(graph, "--assume", "seq=12", probe=True).exit_code == 0
    assert check(graph, "--no-probe").exit_code == 0


def test_control_characters_in_names_do_not_reach_the_terminal(check: Check) -> None:
    model = parsed("(float[2] x, float[3] y) => (float[] o) {o = Add(x, y)}")
    model.graph.node[0].name = "\x1b[2Jnode\n" + "x" * 1000
    done = check(model)
    assert done.output.startswith("model.onnx: Add \N{REPLACEMENT CHARACTER}[2Jnode\N{REPLACEMENT CHARACTER}xxx")
    assert max(map(len, done.output.splitlines())) < 300


def test_without_onnx_the_command_first_looks_for_the_file(tmp_path: Path) -> None:
    program = "import sys; sys.modules['onnx'] = None; from axiscast.cli import main; main(['check', 'model.onnx'])"
    done = run([sys.executable, "-c", program], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "model.onnx: does not exist\n")
    (tmp_path / "model.onnx").write_bytes(b"")
    done = run([sys.executable, "-c", program], cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "Error: the check of an ONNX model needs onnx 1.23 or later: pip install 'onnx>=1.23'",
    )


def test_only_the_report_is_written_without_a_terminal(check: Check, tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", f"w{number}"], [f"y{number}"]) for number in range(2500)]
    inputs = [helper.make_tensor_value_info("x", 1, ["N"])]
    inputs += [helper.make_tensor_value_info(f"w{number}", 1, [number]) for number in range(2500)]
    saved(tmp_path / "model.onnx", helper.make_model(helper.make_graph(nodes, "graph", inputs, [])))
    done = run(
        [sys.executable, "-m", "axiscast", "check", str(tmp_path / "model.onnx"), "--no-probe", "--format", "github"]
    )
    assert (done.returncode, done.stderr) == (0, "")
