"""The table of relations: each row has the same meaning for integers, NumPy arrays and symbolic sizes."""

import numpy as np
import pytest
from cases import cases

from axiscast.plan.alignment import Alignment, Axis, Output, Term, align_right, align_to_target
from axiscast.plan.relations import Relation
from axiscast.plan.resolution import try_resolve
from axiscast.plan.size_solver import SizeSolver, SymbolicSize

SIZES = (0, 1, 2, 3, 6)

# For each relation, the pairs of a size and another size (a target, a divisor) that it admits: written by hand.
ADMITTED = {
    Relation.BROADCAST: {
        (0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3), (1, 6), (2, 1), (2, 2), (3, 1), (3, 3), (6, 1), (6, 6),
    },
    Relation.BROADCAST_TO: {(0, 0), (1, 0), (1, 1), (1, 2), (1, 3), (1, 6), (2, 2), (3, 3), (6, 6)},
    Relation.EQUAL: {(0, 0), (1, 1), (2, 2), (3, 3), (6, 6)},
    Relation.FROM_ONE: {(1, 0), (1, 1), (1, 2), (1, 3), (1, 6)},
    Relation.DIVISIBLE: {
        (0, 1), (1, 1), (2, 1), (3, 1), (6, 1), (0, 2), (2, 2), (6, 2), (0, 3), (3, 3), (6, 3), (0, 6), (6, 6),
    },
    Relation.TILES: {
        (0, 0), (1, 0), (1, 1), (1, 2), (1, 3), (1, 6), (2, 0), (2, 2), (2, 6), (3, 0), (3, 3), (3, 6), (6, 0), (6, 6),
    },
}  # fmt: skip
PAIRS = [(size, other) for size in SIZES for other in SIZES]
CASES = [
    pytest.param(relation, size, other, id=f"{relation.name} {size} {other}")
    for relation in Relation
    for size, other in PAIRS
    if relation is not Relation.DIVISIBLE or other != 0
]


def test_every_relation_has_a_row_of_admitted_pairs():
    assert set(ADMITTED) == set(Relation)


@cases(("relation", "size", "other"), CASES)
def test_a_relation_admits_these_integers(relation, size, other):
    axis = Axis(relation, (Term(0, 0, size), Term(None, None, other)))
    assert (try_resolve(Alignment(((),), None, (axis,), ())) is not None) == ((size, other) in ADMITTED[relation])


@cases("relation", Relation)
def test_a_relation_admits_the_same_sizes_in_arrays(relation):
    for other in SIZES[relation is Relation.DIVISIBLE :]:
        admitted = np.broadcast_to(relation.holds(np.array(SIZES), other), len(SIZES))
        assert admitted.tolist() == [(size, other) in ADMITTED[relation] for size in SIZES]


@cases(("relation", "size", "other"), CASES)
def test_a_relation_admits_the_same_sizes_in_the_solver(relation, size, other):
    solver = SizeSolver([(1, 1), (size, size), (other, other)])
    clause = relation.holds(SymbolicSize(1), SymbolicSize(2))
    assert solver.entails(clause) == ((size, other) in ADMITTED[relation])


@cases("target", [None, (1, 3), (2, 1), (2, 3)])
@cases("shape", [(1, 1), (2, 1), (2, 3), (0, 3), (3,), (2,), ()])
def test_the_fast_path_of_right_aligned_shapes_follows_the_table(shape, target):
    right = align_right((shape, (2, 1))) if target is None else align_to_target(shape, target)
    general = Alignment(right.input_shapes, right.target, right.axes, tuple(Output(*one) for one in right.outputs))
    plan = try_resolve(general)
    assert right.broadcast_shape() == (None if plan is None else plan.outputs[0].output_shape)


@cases("relation", Relation)
def test_the_ways_to_find_the_common_size_agree_on_random_sizes(relation):
    rows = np.random.default_rng(7).choice([0, 1, 1, 2, 3, 6], size=(400, 3))
    rows = rows[rows[:, 2] > 0] if relation is Relation.DIVISIBLE else rows
    common, fits = relation.common_size(list(rows.T))
    for row, size, is_fit in zip(rows.tolist(), common.tolist(), fits.tolist(), strict=True):
        axis = Axis(relation, tuple(Term(number, 0, own) for number, own in enumerate(row)))
        plan = try_resolve(Alignment(((),) * 3, None, (axis,), (), result=(0,)))
        assert (None if plan is None else plan.result) == ((size,) if is_fit else None)
        assert relation.common_size(row) == (size, is_fit)


def test_the_fast_path_of_right_aligned_shapes_agrees_with_the_table_on_random_shapes():
    draw, fitting = np.random.default_rng(8), 0
    for _ in range(2000):
        shapes = [tuple(draw.choice([0, 1, 1, 2, 3], size=rank).tolist()) for rank in draw.integers(0, 5, size=3)]
        right = align_right(tuple(shapes[:2]), shapes[2] if draw.random() < 0.5 else None)
        columns = [axis.relation.common_size([term.size for term in axis.terms]) for axis in right.axes]
        expected = tuple(size for size, _ in columns) if all(fits for _, fits in columns) else None
        assert right.broadcast_shape() == expected
        fitting += expected is not None
    assert 200 < fitting < 1800
