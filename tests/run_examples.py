"""Tests of the examples: the commands in their README, and the workflow that checks a model.

`make examples` runs them, with node from the Python index, and with curl, jq and go of the machine.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import onnx
import pytest
import yaml
from conftest import Served, run

EXAMPLES = Path(__file__).parents[1] / "examples"
BLOCKS = re.findall(r"^```console\n(.*?)^```$", (EXAMPLES / "README.md").read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = [part.partition("\n")[::2] for block in BLOCKS for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


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
@pytest.mark.parametrize(("command", "output"), COMMANDS)
def test_every_command_prints_the_documented_output(command: str, output: str, service: Served) -> None:
    asked = ["bash", "-c", command.replace("http://127.0.0.1:8000", service.url)]
    done = run(asked, cwd=EXAMPLES, env=ENVIRONMENT)
    assert (done.stderr, done.stdout) == ("", output)


def test_every_program_is_run() -> None:
    patterns = ("node/*.mjs", "curl/*.sh", "go/*.go", "typescript/check.ts")
    programs = [path for pattern in patterns for path in EXAMPLES.glob(pattern)]
    assert len(programs) == 6
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
