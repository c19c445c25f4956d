"""The warnings about inputs that broadcast. test_quiet.py tests which of them are in every response."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, permutations, product

import numpy as np
from cases import cases
from test_cli import run

import axiscast
from axiscast.checks.two_sided import TwoSidedBroadcast, find_outer_product, find_two_sided, find_two_sided_in_rows
from axiscast.drawing.terminal_text import check_as_text
from axiscast.messages import CheckAnswer, Warned
from axiscast.messages.check_request import WarningKind
from axiscast.ops import julia, numpy, poputil

Shape = tuple[int, ...]
MUTUAL = numpy.broadcast_arrays()
ALL: list[WarningKind] = ["square", "mutual-stretch", "rank-promotion"]


def warned(*shapes: Sequence[int | str], **options: object) -> dict[str, Warned]:
    answer = axiscast.check(MUTUAL, *shapes, warn=ALL, **options)  # type: ignore[arg-type]
    return {warning.code: warning for warning in answer.warnings}


# ---- The predicate, beside its definition


def squares_and_stretches(shapes: Sequence[Shape]) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:
    """Return all two-sided broadcasts by their definition, and those that are accidental outer products.

    Each is (first, second, axis, other). The first input expands along `axis`, where the second has another size than
    1. The second input expands along `other`, where the first has another size than 1.
    """
    rank = max(map(len, shapes))
    rows = [["new"] * (rank - len(shape)) + list(shape) for shape in shapes]
    stretches, squares = set(), set()
    for (first, one), (second, two) in permutations(enumerate(rows), 2):
        for axis, other in permutations(range(rank), 2):
            stretch = one[axis] in ("new", 1) and two[other] in ("new", 1)
            if stretch and two[axis] not in ("new", 1) and one[other] not in ("new", 1):
                stretches.add((first, second, axis, other))
                if one[axis] == "new" and two[axis] == one[other]:
                    squares.add((first, second, axis, other))
    return squares, stretches


def broadcasts(shapes: Sequence[Shape]) -> bool:
    columns = zip(*((1,) * (3 - len(shape)) + shape for shape in shapes), strict=True)
    return all(len(set(column) - {1}) <= 1 for column in columns)


def small_requests() -> Iterator[tuple[Shape, ...]]:
    """Yield all shapes that broadcast, with one to three inputs, ranks 0 to 3 and sizes 1 to 3."""
    shapes = [shape for rank in range(4) for shape in product((1, 2, 3), repeat=rank)]
    for count in (1, 2, 3):
        for inputs in combinations_with_replacement(shapes, count):
            for ordered in {inputs, inputs[::-1], inputs[1:] + inputs[:1]}:
                if broadcasts(ordered):
                    yield ordered


def test_two_sided_broadcasts_match_their_definition_for_all_small_shapes() -> None:
    kinds: Counter[str | None] = Counter()
    for shapes in small_requests():
        found = find_two_sided(shapes)
        squares, stretches = squares_and_stretches(shapes)
        kind = "square" if squares else "mutual-stretch" if stretches else None
        assert (found and found.kind) == kind, shapes
        if found:
            assert (*found.inputs, *found.axes) in (squares or stretches), (shapes, found)
        alone = find_outer_product(shapes)
        assert alone == (found if kind == "square" else None), shapes
        padded = [(None,) * (3 - len(shape)) + shape for shape in shapes]
        in_rows = find_two_sided_in_rows(padded)
        assert (in_rows and in_rows.kind) == kind, shapes
        kinds[kind] += 1
    assert min(kinds.values()) > 500, kinds


def test_a_two_sided_broadcast_of_many_inputs_is_found_without_testing_each_pair() -> None:
    """The inputs form three million pairs."""
    chain = [(1,) * (64 - rank) + (2,) * rank for rank in range(64)] * 40
    assert find_two_sided(chain) is None
    assert find_two_sided([*chain, (3, *[1] * 63)]) is not None
    assert find_two_sided([*chain, (2,), (2, 1)]) == TwoSidedBroadcast("square", (2560, 2561), (62, 63))


# ---- The warnings

SILENT = [
    [(5, 5), (), ()],  # as Where(mask, scalar, scalar) has them
    [(8, 3, 32, 32), (3, 1, 1)],
    [(2, 3), (1, 3)],
    [(1, 3), (1, 1, 1)],
]


@cases("shapes", SILENT)
def test_inputs_that_only_expand_to_a_third_one_are_not_two_sided(shapes: list[Shape]) -> None:
    assert set(warned(*shapes)) <= {"rank-promotion"}


def test_a_scalar_has_no_rank_promotion() -> None:
    for shapes in ([()], [(), (2, 3)], [(2, 3), ()], [(), (), ()], [("N",), ()]):
        assert warned(*shapes) == {}
    for shapes in ([(3,), (2, 3)], [(), (2, 3), (3,), (3,)]):
        short, long = shapes.index((3,)), shapes.index((2, 3))
        assert warned(*shapes)["rank-promotion"].inputs == (short, long)


SQUARES: list[tuple[list[Shape], list[Shape] | None]] = [
    ([(5, 1), (5,)], [(5,), (5,)]),
    ([(0,), (0, 1)], [(0,), (0,)]),
    ([(4, 4), (4, 4, 1)], [(4, 4), (4, 4)]),
    ([(5,), (5, 1, 1)], [(5, 1, 1), (5, 1, 1)]),  # removing one axis is not enough
    ([(5,), (3, 5, 1)], [(5,), (3, 5)]),
    ([(5,), (5, 1), (3, 1, 1)], [(5,), (5,), (3, 1, 1)]),
    ([(4, 4), (4, 4, 1), (2, 1, 1, 1)], [(4, 4), (4, 4), (2, 1, 1, 1)]),
    ([(5,), (5,), (5, 1)], [(5,), (5,), (5,)]),
    ([(5,), (5,), (5, 1), (5, 1)], None),  # two changes would be needed
    ([(5,), *[(5, 1)] * 8], None),  # more inputs than hints are searched for
]


@cases(("shapes", "inputs"), SQUARES)
def test_an_outer_product_has_one_fix(shapes: list[Shape], inputs: list[Shape] | None) -> None:
    (square,) = axiscast.check(MUTUAL, *shapes, warn=ALL).warnings
    assert square.code == "square"
    assert (square.hint and square.hint.request and square.hint.request.inputs) == inputs


def test_the_change_for_all_pairs_has_no_warning() -> None:
    tried = 0
    for shapes in small_requests():
        if len(shapes) > 1 and (square := warned(*shapes).get("square")) and square.all_pairs:
            assert square.all_pairs.request is not None
            meant = square.all_pairs.request.inputs
            assert np.broadcast_shapes(*meant) == np.broadcast_shapes(*shapes) == square.all_pairs.output
            assert "square" not in warned(*meant)
            tried += 1
    assert tried > 500


def test_every_hint_of_an_outer_product_removes_the_warning() -> None:
    hints = 0
    for shapes in small_requests():
        if len(shapes) > 1 and (square := warned(*shapes).get("square")) and square.hint:
            assert square.hint.request is not None
            answer = axiscast.check(square.hint.request)
            assert answer.compatible
            assert "square" not in [warning.code for warning in answer.warnings]
            hints += 1
    assert hints > 500


def test_two_sided_broadcasts_without_an_outer_product_have_no_hint() -> None:
    found = warned((8, 1, 6, 1), (7, 1, 5))
    assert [*found] == ["mutual-stretch", "rank-promotion"]
    assert found["mutual-stretch"].hint is None
    assert list(warned((5, 1), (1, 5))) == ["mutual-stretch"]  # both axes are written out


def test_left_aligned_axes_may_be_an_outer_product() -> None:
    answer = axiscast.check(julia.broadcast(), (5,), (1, 5), warn=ALL)
    (square,) = answer.warnings
    assert square.hint is not None
    assert square.hint.request == axiscast.CheckRequest(op=julia.broadcast(), inputs=[(5,), (5,)])
    (promotion,) = axiscast.check(julia.broadcast(), (5,), (5, 1), warn=ALL).warnings
    assert promotion.code == "rank-promotion"


def test_an_op_that_expands_nothing_has_no_outer_product() -> None:
    answer = axiscast.check(poputil.expandToMatchRanks(), (5,), (5, 1), warn=ALL)
    assert [warning.code for warning in answer.warnings] == ["rank-promotion"]


# ---- Sizes that are not known


def kind_of(answer: CheckAnswer) -> str | None:
    return next((one.code for one in answer.warnings if one.code in ("square", "mutual-stretch")), None)


def fillings(shapes: Sequence[Sequence[int | str]]) -> Iterator[list[Shape]]:
    """Return the shapes with a size other than 1 for each name and each "?"."""
    symbols = [
        size if size != "?" else (number, axis)
        for number, shape in enumerate(shapes)
        for axis, size in enumerate(shape)
        if isinstance(size, str)
    ]
    names = list(dict.fromkeys(symbols))
    for values in product((0, 2, 3), repeat=len(names)):
        filled = dict(zip(names, values, strict=True))
        yield [
            tuple(
                size if isinstance(size, int) else filled[size if size != "?" else (number, axis)]
                for axis, size in enumerate(shape)
            )
            for number, shape in enumerate(shapes)
        ]


def test_symbolic_warnings_hold_for_all_sizes_other_than_1() -> None:
    shapes = [shape for rank in range(3) for shape in product((1, 2, "N", "M", "?"), repeat=rank)]
    kinds: Counter[str | None] = Counter()
    for inputs in [*product(shapes, repeat=2), *product(shapes[1:6], shapes[6::4], shapes[6::6])]:
        answer = axiscast.check(MUTUAL, *inputs, warn=ALL)
        if answer.compatible is False or not any(isinstance(size, str) for shape in inputs for size in shape):
            continue
        met = [squares_and_stretches(filled) for filled in fillings(inputs) if broadcasts(filled)]
        always_square = bool(met) and all(squares for squares, _ in met)
        always = bool(met) and all(stretches for _, stretches in met)
        kind = "square" if always_square else "mutual-stretch" if always else None
        assert kind_of(answer) == kind, inputs
        kinds[kind] += 1
    assert len(kinds) == 3
    assert min(kinds.values()) > 10, kinds


def test_the_most_common_bug_has_a_warning_with_names() -> None:
    square = warned(("N", 1), ("N",))["square"]
    assert square.hint is not None
    assert square.hint.request is not None
    assert square.hint.request.inputs == [("N",), ("N",)]
    assert "square" in warned(("N", 1), ("M",), (7, "N"), ("M", 1))  # M is N, since both meet


def test_assumptions_about_a_name_affect_the_warnings() -> None:
    assert set(warned(("N", 1), ("N",), assume={"N": 1})) == {"rank-promotion"}
    assert "square" in warned(("N", 1), (5,), assume={"N": "5..5"})
    assert "mutual-stretch" in warned(("N", 1), (5,), assume={"N": "5..6"})
    assert "square" in warned(("N", 1), (2,), assume={"N": "1..2"})


# ---- Where warnings are told


def test_the_text_has_the_warning_of_an_outer_product_once() -> None:
    answer = axiscast.check(MUTUAL, (5,), (5, 1))
    assert check_as_text(answer).splitlines() == [
        "compatible: (5, 5)",
        f"warning (square): {answer.warnings[0].message}",
    ]


def test_a_comparison_has_each_warning_once() -> None:
    results = {result.op["name"]: result for result in axiscast.compare((5,), (5, 1))}
    assert [one.code for one in results["torch.broadcast_tensors"].warnings] == ["square"]
    done = run("compare", "5", "5,1")
    assert (done.stdout.count("warning (square)"), done.stdout.count("\nhint: ")) == (1, 0)


def test_rows_of_a_batch_have_warnings() -> None:
    fits, square = axiscast.check_batch([{"inputs": [(5,), (5,)]}, {"inputs": [(5,), (5, 1)]}])
    assert isinstance(fits, CheckAnswer)
    assert isinstance(square, CheckAnswer)
    assert (kind_of(fits), kind_of(square)) == (None, "square")
