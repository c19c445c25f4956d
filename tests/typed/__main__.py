"""The errors that a type checker reports for right and wrong uses of the public names.

Run python -m typed mypy, or python -m typed pyright, in tests. The ops of every framework are included, each with an
attribute that it does not have.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from conftest import run

from axiscast.ops import OPS

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
PYRIGHT = HERE.parent / "clients" / "node_modules" / "pyright" / "index.js"
COMMANDS: dict[str, list[str | Path]] = {
    "mypy": [BIN / "mypy", "--strict", "--no-error-summary", "--hide-error-context", "--config-file="],
    "pyright": [BIN / "node", PYRIGHT, "--pythonpath", sys.executable],
}
REPORTED = re.compile(r"^ *(.+?\.py):(\d+)(?::\d+)?(?: -|:) error: ", re.MULTILINE)


def expected(path: Path) -> set[tuple[str, int]]:
    """Return the lines for which an error is expected."""
    lines = path.read_text().splitlines()
    return {(path.name, number) for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def uses_of_ops() -> str:
    """Return one right and two wrong uses of each op."""
    lines = ["import axiscast", "from axiscast.ops import Op", "kind: type[Op]"]
    for kind in OPS.values():
        framework = kind.__module__.rpartition(".")[2]
        lines += [
            f"kind = axiscast.{framework}.{kind.__name__}",
            f"axiscast.{framework}.{kind.__name__}(no_such_attribute=1)  # wrong",
            f"axiscast.{framework}.{kind.__name__}_  # wrong",
        ]
    return "\n".join([*lines, ""])


def main() -> None:
    with TemporaryDirectory() as folder:
        uses = Path(folder) / "uses_of_ops.py"
        uses.write_text(uses_of_ops())
        files = [HERE / "right.py", HERE / "wrong.py", uses]
        done = run([*COMMANDS[sys.argv[1]], *files], env=os.environ | {"MYPYPATH": ""}, cwd=HERE)
        wanted = set().union(*map(expected, files))
    found = {(Path(name).name, int(line)) for name, line in REPORTED.findall(done.stdout)}
    if found != wanted or not wanted:
        print(done.stdout[-3000:], done.stderr[-3000:], sep="\n")
        sys.exit(f"not reported: {sorted(wanted - found)[:9]}; reported, but right: {sorted(found - wanted)[:9]}")
    print(f"{sys.argv[1]} reported the {len(wanted)} wrong uses, and no right one")


main()
