"""Holds every `known_deviation` of the ops against the released frameworks, each in an environment of its own.

    python -m releases [--cases N] [--seed N] [--environments FOLDER] [framework or op ...]  (in tests; `make releases`)

For each condition, requests are drawn that it warns about, and neighbours of them that it does not warn about. The
release must differ from the rule in all of the first, in the way that the warning says, and agree in all of the second.
The rows without a condition are requests of every op that give no warning, the hints for the requests that the rule
refuses, and the vectors of tests/vectors, which must hold too. The exit status is 1 if a row does not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from axiscast.ops import OPS

from .cases import drawn_groups, hint_cases, vector_cases
from .claims import Case, Result
from .environments import ENVIRONMENTS, NOT_RUN, python_of
from .processes import run


@dataclass
class Row:
    """A line of the table."""

    op: str
    condition: str
    warned: list[bool]
    """For each warned request, whether the release differs as the warning says."""
    near: list[bool]
    """For each request without a warning, whether the release agrees."""

    @property
    def holds(self) -> bool:
        return all(self.warned) and all(self.near)

    def __str__(self) -> str:
        numbers = [len(self.warned), sum(self.warned), len(self.near), sum(self.near)]
        return (
            f"{' ' if self.holds else '!'} {''.join(f'{number:7}' for number in numbers)}  {self.op}: {self.condition}"
        )


def rows(asked: str, python: Path, count: int, seed: int) -> Iterator[Row]:
    """For each op: one row for each condition, and one each for requests without a warning, hints, and vectors.

    `asked` is the name of an op, or of a framework, for all its ops.
    """
    framework = asked.partition(".")[0]
    for name, kind in OPS.items():
        is_asked = name == asked or (name.startswith(f"{framework}.") and asked == framework)
        if not is_asked or name.endswith(("_shapes", "_static_shape")):
            continue
        groups = drawn_groups(kind, count, Random(f"{seed} {name}"))
        sides = {condition or "no warning": (group.warned, group.near) for condition, group in groups.items()}
        drawn = [case for group in groups.values() for case in (*group.warned, *group.near)]
        sides["the hints"] = ([], [hint for case in drawn for hint in hint_cases(case)][:count])
        vectors = vector_cases(kind)
        sides["the vectors"] = (
            [case for case in vectors if case.warning],
            [case for case in vectors if not case.warning],
        )
        cases = [case for pair in sides.values() for side in pair for case in side]
        results = iter(run(framework, python, [case.request for case in cases]))
        for condition, pair in sides.items():
            warned, near = ([_held(case, next(results)) for case in side] for side in pair)
            yield Row(name, condition, warned, near)


def _held(case: Case, result: Result) -> bool:
    """Whether the case holds; prints it if it does not."""
    if not case.holds(result):
        print(f"  {case.request}: {case.warning or 'no warning'}: {result}"[:500], file=sys.stderr)
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", default=[*ENVIRONMENTS], metavar="framework or op")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--environments", type=Path, default=Path(__file__).parents[2] / ".venv-releases")
    given = parser.parse_args()
    print("   warned differ   near  agree  op: condition")
    held = True
    for framework in given.frameworks:
        python = python_of(framework.partition(".")[0], given.environments)
        for row in rows(framework, python, given.cases, given.seed):
            print(row, flush=True)
            held = held and row.holds
    for framework, reason in NOT_RUN.items():
        print(f"  not run: {framework}: {reason}")
    sys.exit(not held)


if __name__ == "__main__":
    main()
