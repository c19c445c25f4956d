"""The size solver, compared with an enumeration of all sizes."""

from __future__ import annotations

import random
from itertools import product

from cases import cases

from axiscast.plan.size_solver import Clause, SizeSolver

INTEGERS = [1, 2, 3, 4]
"""The sizes of the first variables."""
Model = tuple[int, ...]


def holds(clause: Clause, model: Model) -> bool:
    if any(model[number] == 1 for number in clause.unless):
        return True
    if clause.equation is None:
        return False
    one, other = (model[number] for number in clause.equation)
    return one % other == 0 if clause.divides else one == other


def some_clause(draw: random.Random, variables: list[int]) -> Clause:
    one, other = draw.choice(variables), draw.choice([*variables, 0, 1, 2])
    return draw.choice(
        [
            Clause((one, draw.choice([1, 2, 3])), divides=True),
            Clause((one, other)),
            Clause((one, other), (one,)),
            Clause((one, other), tuple({one, other}.intersection(variables))),
        ]
    )


@cases("seed", range(4))
def test_the_solver_agrees_with_the_enumeration_of_all_sizes(seed: int) -> None:
    draw = random.Random(seed)
    left = followed = 0
    for _ in range(400):
        spans = [sorted((draw.randint(0, 3), draw.randint(0, 8))) for _ in range(draw.choice([2, 3]))]
        bounds = [*((size, size) for size in INTEGERS), *((low, high) for low, high in spans)]
        variables = [*range(len(INTEGERS), len(bounds))]
        clauses = [some_clause(draw, variables) for _ in range(draw.randint(1, 4))]
        ways = product(*(range(low, high + 1) for low, high in bounds))
        models = [model for model in ways if all(holds(clause, model) for clause in clauses)]
        sizes = SizeSolver(bounds)
        assert all(map(sizes.add, clauses)) is bool(models), clauses
        if not models:
            continue
        left += 1
        for clause in (*(some_clause(draw, variables) for _ in range(5)), Clause(None, (draw.choice(variables),))):
            follows = all(holds(clause, model) for model in models)
            assert sizes.entails(clause) is follows, (bounds, clauses, clause)
            followed += follows
        one, other = draw.sample(variables, 2)
        some = any(model[one] == 1 != model[other] for model in models)
        assert sizes.admits([one], [other]) is some, (bounds, clauses)
    assert left > 100
    assert followed > 100
