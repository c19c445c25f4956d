"""The cases of an op: drawn around its conditions, and those of the vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from axiscast.checks.hints.hints import find_hints
from axiscast.ops import Op

from .claims import Case
from .draws import Drawn, draw, is_small, neighbour

DRAWS = 100
"""Requests drawn for each one wanted, at most."""
NEIGHBOURS = 6
"""Neighbours of each warned request that are tried."""
VECTORS = Path(__file__).parents[1] / "vectors"
SYMBOLIC = ("symbolic", "openvino-dynamic")
"""Files of vectors whose sizes are not all integers."""


@dataclass
class Group:
    """The cases of one condition; `near` are neighbours of the warned ones that have no warning."""

    warned: list[Case] = field(default_factory=list)
    near: list[Case] = field(default_factory=list)


def drawn_groups(kind: type[Op], count: int, random: Random) -> dict[str, Group]:
    """Return, for each warning, up to `count` cases that have it and similar cases that do not.

    Under "", cases without a warning are in `near`.
    """
    groups = {"": Group()}
    seen: set[str] = set()
    has_conditions = kind.has_deviations()
    for number in range(DRAWS * count):
        case = _made(kind, draw(kind, random), seen)
        if case and case.warning:
            _add_with_neighbours(kind, case, groups, count, random, seen)
        elif case and len(groups[""].near) < count:
            groups[""].near.append(case)
        is_full = all(len(one.near) >= count <= len(one.warned) + (not name) * count for name, one in groups.items())
        if is_full and (not has_conditions or number > DRAWS * count // 4):
            break
    return groups


def _add_with_neighbours(
    kind: type[Op], case: Case, groups: dict[str, Group], count: int, random: Random, seen: set[str]
) -> None:
    own = groups.setdefault(case.warning or "", Group())
    if len(own.warned) < count:
        own.warned.append(case)
    if len(own.warned) == count == len(own.near):
        return
    for one in (_made(kind, neighbour(case.drawn, random), seen) for _ in range(NEIGHBOURS)):
        if one and one.warning and len(group := groups.setdefault(one.warning, Group()).warned) < count:
            group.append(one)
        elif one and one.warning is None and len(own.near) < count:
            own.near.append(one)


def _made(kind: type[Op], drawn: Drawn, seen: set[str]) -> Case | None:
    """The case; None if the op does not take such a request, or if it was drawn before."""
    attributes, shapes = drawn
    target = attributes.get(kind.target) if kind.target else None
    if repr(drawn) in seen or not is_small((*shapes, target or ())):
        return None
    seen.add(repr(drawn))
    try:
        op = kind(**attributes)
    except ValueError:
        return None
    return None if op.input_count_problem(len(shapes)) else Case(op, drawn)


def hint_cases(case: Case) -> Iterator[Case]:
    """The requests of the hints for a case that the rule refuses, if they have the op of the case."""
    hints = find_hints(case.op, case.drawn[1], conflict=case.conflict) if case.conflict is not None else []
    for hint in hints:
        op, inputs = hint["request"]["op"], hint["request"]["inputs"]
        attributes = {key: _frozen(value) for key, value in op.items() if key != "name"}
        if op["name"] == case.op.name:
            yield Case(type(case.op)(**attributes), (attributes, tuple(map(tuple, inputs))))


def vector_cases(kind: type[Op]) -> list[Case]:
    """The requests of the vectors of integer sizes; the suite tests the rule against their results."""
    seen: set[str] = set()
    made = (_made(kind, drawn, seen) for drawn in _vectors(kind.model_fields["name"].default))
    return [case for case in made if case]


def _vectors(name: str) -> Iterator[Drawn]:
    for path in sorted(path for path in VECTORS.glob("*.jsonl") if path.stem not in SYMBOLIC):
        for line in path.read_text().splitlines():
            vector: dict[str, Any] = json.loads(line)
            if vector["op"]["name"] == name:
                attributes = {key: _frozen(value) for key, value in vector["op"].items() if key != "name"}
                yield attributes, tuple(map(tuple, vector["inputs"]))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
