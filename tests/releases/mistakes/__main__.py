"""Runs programs with a mistake about shapes in the released frameworks, and counts what axiscast says about each.

    python -m releases.mistakes [--python PYTHON] [--drawn N] [--seed N] [--show COLUMNS] [framework ...]

(in tests; a part of `make releases`). The programs are those of written.txt, or with `--drawn` random ones of draws.py.
Each fix that is printed without a condition is applied to the program, which must then run. Each command that is
printed must find a conflict.

| column | meaning |
|---|---|
| fix | the expected fix is printed, and the program runs with it |
| exact | the answer has the facts that are expected, or a fix that is expected but not applied by this program |
| part | the answer is about this mistake, without the expected fix or facts |
| unknown | the answer says that axiscast does not know this error; `run` prints nothing |
| wrong | a printed fix fails, or a printed command finds no conflict |

The exit status is 1 if an answer is wrong, or if an error about broadcasting or a product is unknown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..environments import ENVIRONMENTS, python_of
from .draws import drawn
from .fixes import commands, fixed_programs

_HERE = Path(__file__).parent
_CLIENT = _HERE.parents[2] / "client"
OTHER_PACKAGES = {
    "pandas": ["pandas==3.1.1"],
    "scipy": ["scipy==1.17.1"],
    "sklearn": ["scikit-learn==1.9.1"],
    "polars": ["polars==2.1.0"],
}
COLUMNS = ("fix", "exact", "part", "unknown", "wrong")


class Mistake(NamedTuple):
    """A program that fails, and what an explanation of its failure must contain."""

    framework: str
    kind: str
    code: str
    is_fixable: bool
    expected: tuple[str, ...]
    """Texts of which one must be printed, for a fix. For facts, values that must all be printed."""

    def is_met(self, message: str) -> bool:
        if self.is_fixable:
            return any(text in message for text in self.expected)
        return all(re.search(rf"(?<![\w.]){re.escape(text)}(?!\w)", message) for text in self.expected)


def written(path: Path = _HERE / "written.txt") -> Iterator[Mistake]:
    """Yield the programs that were written by hand."""
    for block in path.read_text().strip().split("\n\n"):
        (first, *code, last) = block.splitlines()
        framework, kind = first.split()
        rule, _, expected = last.partition(" ")
        parts = (
            expected.split(" or ") if rule == "fix" else re.findall(r"\([^)]*\)|[^ ]+", expected.partition(" or ")[0])
        )
        yield Mistake(framework, kind, "\n".join(code), rule == "fix", tuple(parts))


def provoked(python: str, cases: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Run programs with this interpreter, and return the failure and the explanations of each."""
    lines = "\n".join(json.dumps({"framework": framework, "code": code}) for framework, code in cases)
    environment = {
        **os.environ,
        "PYTHONPATH": str(_CLIENT),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "KERAS_BACKEND": os.environ.get("KERAS_BACKEND", "tensorflow"),
    }
    done = subprocess.run(
        [python, str(_HERE / "provoke.py")], input=lines, capture_output=True, text=True, env=environment, check=False
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    if len(results) != lines.count("\n") + bool(lines):
        raise RuntimeError(f"{len(results)} results: {done.stderr[-2000:]}")
    return results


def is_reproduced(command: str) -> bool:
    done = subprocess.run([sys.executable, "-m", *shlex.split(command)], capture_output=True, check=False)
    return done.returncode == 1


def scored(python: str, mistakes: list[Mistake]) -> Iterator[tuple[Mistake, str, str, str, str]]:
    """Yield each program that fails, the side (`why` or `run`), its column, the message and the reason."""
    results = provoked(python, [(each.framework, each.code) for each in mistakes])
    fixes = [
        (number, side, code, is_conditional)
        for number, (mistake, result) in enumerate(zip(mistakes, results, strict=True))
        for side in ("why", "run")
        for code, is_conditional in fixed_programs(mistake.code, result.get(side, ""))
    ]
    outcomes = provoked(python, [(mistakes[number].framework, code) for number, _, code, _ in fixes]) if fixes else []
    failed = {}
    fixed = set()
    for (number, side, code, is_conditional), outcome in zip(fixes, outcomes, strict=True):
        if outcome["error"] is None:
            fixed.add((number, side))
        elif not is_conditional:
            failed[number, side] = f"{code} -> {outcome['error'].strip().splitlines()[-1]}"
    for number, (mistake, result) in enumerate(zip(mistakes, results, strict=True)):
        if result["error"] is None:
            yield mistake, "", "did not fail", "", ""
            continue
        for side in ("why", "run"):
            message = result[side]
            reason = failed.get((number, side), "")
            reason = reason or next((each for each in commands(message) if not is_reproduced(each)), "")
            if reason:
                column = "wrong"
            elif not message or message.startswith("axiscast does not know") or "could not explain this" in message:
                column = "unknown"
            elif mistake.is_met(message):
                column = "fix" if mistake.is_fixable and (number, side) in fixed else "exact"
            else:
                column = "part"
            yield mistake, side, column, message, reason or result["error"].strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*")
    parser.add_argument("--environments", type=Path, default=_HERE.parents[2] / ".venv-releases")
    parser.add_argument("--python", help="use this interpreter for all frameworks")
    parser.add_argument("--drawn", type=int, default=0, help="the number of random programs, instead of those by hand")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", default="", help="print the programs in these columns, such as part,wrong")
    given = parser.parse_args()
    mistakes = [Mistake(*each) for each in drawn(given.drawn, given.seed)] if given.drawn else [*written()]
    table: dict[tuple[str, str], Counter[str]] = {}
    names = given.frameworks or [*dict.fromkeys(each.framework for each in mistakes)]
    for name in names:
        python = given.python or str(python_for(name, given.environments))
        for mistake, side, column, message, reason in scored(python, [m for m in mistakes if m.framework == name]):
            if column in given.show.split(","):
                print(
                    f"--- {name} {mistake.kind}: {side} {column}",
                    mistake.code,
                    f"  expected {mistake.expected}",
                    f"  {message}",
                    f"  {reason}",
                    sep="\n",
                    flush=True,
                )
            if side:
                for group in (mistake.kind, "all"):
                    table.setdefault((side, group), Counter())[column] += 1
    print("side kind".ljust(18), *(column.rjust(8) for column in COLUMNS))
    for (side, kind), counts in sorted(table.items()):
        print(f"{side} {kind}".ljust(18), *(str(counts[column]).rjust(8) for column in COLUMNS))
    bad = sum(counts["wrong"] for counts in table.values())
    bad += sum(counts["unknown"] for (_, kind), counts in table.items() if kind in ("broadcast", "product"))
    sys.exit(bad > 0)


def python_for(name: str, folder: Path) -> Path:
    """Return the interpreter of an environment with a framework and with the dependencies of axiscast."""
    packages = ENVIRONMENTS.get(name, OTHER_PACKAGES.get(name, []))
    return python_of(f"mistakes-{name}", folder, [*packages, str(_CLIENT.parent)])


if __name__ == "__main__":
    main()
