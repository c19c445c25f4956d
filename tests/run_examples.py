"""Tests of the examples: the commands in their README, and the workflow that checks a model.

`make examples` runs them, with node from the Python index, and with curl, jq and go of the machine.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import STDOUT
from typing import Any

import onnx
import pytest
import yaml
from conftest import PATIENCE, Served, run, started, wait_for

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
BLOCKS = re.findall(r"^```console\n(.*?)^```$", (EXAMPLES / "README.md").read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = [part.partition("\n")[::2] for block in BLOCKS for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
DASK = [pair for pair in COMMANDS if pair[0].startswith("python dask/")]


@pytest.fixture(scope="module")
def typescript(service: Served) -> None:
    """Generate the types of the TypeScript example, and check the example with them."""
    folder = EXAMPLES / "typescript"
    programs = folder / "node_modules" / ".bin"
    generate = [programs / "openapi-typescript", f"{service.url}/openapi.json", "--output", "axiscast_api.ts"]
    for command in (generate, [programs / "tsc"]):
        done = run(command, cwd=folder, env=ENVIRONMENT)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("typescript")
@pytest.mark.parametrize(("command", "output"), [pair for pair in COMMANDS if pair not in DASK])
def test_every_command_prints_the_documented_output(command: str, output: str, service: Served) -> None:
    asked = ["bash", "-c", command.replace("http://127.0.0.1:8000", service.url)]
    done = run(asked, cwd=EXAMPLES, env=ENVIRONMENT)
    assert (done.stderr, done.stdout) == ("", output)


def test_every_program_is_run() -> None:
    patterns = ("node/*.mjs", "curl/*.sh", "go/*.go", "typescript/check.ts", "dask/*.py")
    programs = [path for pattern in patterns for path in EXAMPLES.glob(pattern)]
    assert len(programs) == 12
    for program in programs:
        assert any(str(program.relative_to(EXAMPLES)) in command for command, _ in COMMANDS), program


def test_the_step_of_the_workflow_fails_for_a_model_that_does_not_fit(tmp_path: Path) -> None:
    (job,) = yaml.safe_load((EXAMPLES / "ci/models.yaml").read_text())["jobs"].values()
    header = '<ir_version: 10, opset_import: ["": 21]>'
    (tmp_path / "models").mkdir()
    for name, bias, status in (("fits", "64,1,1", 0), ("bias", "64", 1)):
        graph = f"{header} g (float[N,64,7,7] x, float[{bias}] bias) => (float[] y) {{y = Add(x, bias)}}"
        onnx.save(onnx.parser.parse_model(graph), tmp_path / f"models/{name}.onnx")
        done = run(["bash", "-c", job["steps"][-1]["run"]], cwd=tmp_path, env=ENVIRONMENT)
        assert (done.returncode, done.stderr) == (status, "")
        assert ("::error file=models/bias.onnx," in done.stdout) == bool(status)
    assert "Write x + bias[:, None, None]." in done.stdout


def is_half_written(result: Path) -> bool:
    return sum(path.is_file() for path in result.glob("c/**/*")) >= 64


def in_dask_environment(command: str) -> dict[str, Any]:
    """Return a process in which four processes together cannot hold the result of 2 GiB: each has 448 MiB at most."""
    environment = os.environ | {"PATH": f"{sys.prefix}-dask/bin:{os.environ['PATH']}"}
    return {"command": ["bash", "-c", f"ulimit -d {448 * 1024}; {command}"], "cwd": EXAMPLES, "env": environment}


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Return the process ids of the workers of a Dask cluster."""
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    found = [int(child) for path in children for child in path.read_text().split()]
    return [child for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_dask_writes_the_whole_result_although_a_worker_is_killed(tmp_path: Path) -> None:
    (write, progress), (compare, compared) = DASK[:2]
    result, log = tmp_path / "result.zarr", tmp_path / "log"
    write = "exec " + write.replace("result.zarr", str(result))
    with log.open("w") as output, started(**in_dask_environment(write), stdout=output, stderr=STDOUT) as process:
        assert wait_for(lambda: process.poll() is not None or is_half_written(result))
        assert process.poll() is None, log.read_text()
        workers = workers_of(process)
        assert len(workers) == 3
        os.kill(workers[0], signal.SIGKILL)
        assert process.wait(PATIENCE) == 0, log.read_text()
    assert progress.rpartition("|")[0] in log.read_text()
    done = run(**in_dask_environment(compare.replace("result.zarr", str(result))))
    assert (done.stderr, done.stdout) == ("", compared)


def test_the_blocks_of_dask_and_of_the_library_are_compared_in_one_table() -> None:
    (command, table) = DASK[2]
    done = run(**in_dask_environment(command))
    header, line, *rows = table.splitlines()
    assert done.stdout.splitlines()[:2] == [header, line]
    assert [row.split(" | ")[0] for row in done.stdout.splitlines()[2:]] == [row.split(" | ")[0] for row in rows]
