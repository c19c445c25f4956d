"""Each file of a framework defines what its ops need. Every failure names the file and the line to write."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from string import Formatter

from cases import cases
from releases.environments import ENVIRONMENTS, NOT_RUN

from axiscast.ops import OPS, Framework, Op

FOLDER = Path(__file__).parents[2] / "client" / "axiscast" / "ops"
VECTORS = Path(__file__).parents[1] / "vectors"
OP = re.compile(r"^class .+, name=|^\w+ = declare\(", re.M)
FILES = [path.stem for path in sorted(FOLDER.glob("*.py")) if OP.search(path.read_text())]
GENERAL = r"x|y|[xy]\d|[xy]s|[xy]_shape|[xy]_rank"


@cases("file", FILES)
def test_a_file_with_ops_has_a_framework_that_is_executed_or_says_why_not(file: str) -> None:
    framework = getattr(import_module(f"axiscast.ops.{file}"), "FRAMEWORK", None)
    assert isinstance(framework, Framework), f"ops/{file}.py needs FRAMEWORK = Framework(...)"
    assert (file in ENVIRONMENTS) != (file in NOT_RUN), (
        f"tests/releases/environments.py needs {file!r} in ENVIRONMENTS with its packages, or in NOT_RUN with a reason"
    )


@cases("name", OPS)
def test_an_op_has_a_name_of_its_file_a_link_and_templates_of_known_fields(name: str) -> None:
    op, file = OPS[name], OPS[name].__module__.rpartition(".")[2]
    assert name.startswith(f"{file}."), f"ops/{file}.py: the name {name!r} must begin with {file!r} and a dot"
    assert op.link, f"ops/{file}.py: {name} needs the URL of its documentation, as its link or that of FRAMEWORK"
    for template in op.snippets:
        fields = {field for _, field, _, _ in Formatter().parse(template) if field is not None}
        unknown = {field for field in fields - set(op.model_fields) if not re.fullmatch(GENERAL, field)}
        assert not unknown, f"ops/{file}.py: {name} has unknown fields {unknown}: see translation/snippets.py"


def test_every_op_has_vectors_that_name_their_framework() -> None:
    tested = set()
    for path in sorted(VECTORS.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            vector = json.loads(line)
            tested.add(vector["op"] if isinstance(vector["op"], str) else vector["op"]["name"])
            assert vector.get("framework"), f"{path.name}, line {number}: write the framework and its version"
    missing = OPS.keys() - tested
    assert not missing, f"tests/vectors/ has no vector of {', '.join(sorted(missing))}"


def test_an_abstract_op_is_not_an_op_of_a_framework() -> None:
    assert Op not in OPS.values()
