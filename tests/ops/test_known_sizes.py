"""Rules give the same result for integers, columns and symbolic sizes, or refuse columns and symbolic sizes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from pydantic import ValidationError
from symbolic_truth import holds
from test_batch import SHAPE_ATTRIBUTES
from test_symbolic import FIRST
from test_vectors import FILES, OP, vectors

from axiscast.checks.batch_columns import checked
from axiscast.checks.check import check_to_dict
from axiscast.checks.symbolic.symbolic import lower_symbolic
from axiscast.comparison import compare as comparison
from axiscast.messages import CheckRequest, CompareRequest
from axiscast.ops import OPS, Op, lower
from axiscast.ops.families import Unidirectional
from axiscast.plan.alignment import Alignment, Input, ShapeMismatch, align_mapped, are_integers, wrong_rank
from axiscast.plan.plan import Shape
from axiscast.plan.relations import Relation
from axiscast.wire.dimensions import Symbol
from axiscast.wire.problems import Problem

SIZES = [0, 1, 1, 1, 2, 2, 3, 4, 6]
ROWS = 5
"""The number of requests for each op and its attributes."""
ATTRIBUTES_PER_RULE, ATTRIBUTES_PER_OP = 30, 4
"""The maximum number of vectors whose attributes differ, such as the equations of an einsum.

The first number applies to one op of each rule, and the second number to the other ops with this rule.
"""
RANKS_PER_RULE, RANKS_PER_OP = 6, 2
"""The maximum number of further vectors, with other ranks."""


class Row(NamedTuple):
    """A request with integer sizes: the inputs, and the target if the op has one."""

    shapes: tuple[Shape, ...]
    target: Shape | None


def instances() -> Iterator[tuple[Op, tuple[Shape, ...]]]:
    """Yield every op of the catalogue with the attributes and shapes of its example and of its vectors."""
    for kind in OPS.values():
        yield kind.example()
    found: dict[str, list[dict[str, Any]]] = {}
    by_attributes: dict[str, dict[str, Any]] = {}
    for name in FILES:
        for vector in vectors(name):
            op, target = vector["op"], _attribute(vector["op"]["name"])
            found.setdefault(op["name"], []).append(vector)
            by_attributes.setdefault(json.dumps({key: key == target or value for key, value in op.items()}), vector)
    drawn = []
    for name in found:
        its = [vector for vector in by_attributes.values() if vector["op"]["name"] == name]
        most = ATTRIBUTES_PER_RULE if name in FIRST else ATTRIBUTES_PER_OP
        drawn += random.Random(name).sample(its, min(len(its), most))
    for name, its in found.items():
        drawn += random.Random(name).sample(its, min(len(its), RANKS_PER_RULE if name in FIRST else RANKS_PER_OP))
    for vector in drawn:
        if 2**62 in vector["op"].get(_attribute(vector["op"]["name"]) or "", ()):
            continue  # columns refuse a merged axis that is too long: see test_batch.py
        with suppress(ValidationError):
            yield OP.validate_python(vector["op"]), tuple(map(tuple, vector["inputs"]))


def _attribute(name: str) -> str | None:
    """Return the attribute of an op that can be a column or contain symbolic sizes."""
    return SHAPE_ATTRIBUTES.get(name)


def rows(op: Op, shapes: Sequence[Shape], attribute: str | None) -> list[Row]:
    """Yield requests similar to one of this op: with the same ranks and many sizes that fit."""
    draw = random.Random(f"{op!r} {shapes}")
    target = None if attribute is None else getattr(op, attribute)

    def near(shape: Shape) -> Shape:
        return tuple(size if draw.random() < 0.6 else draw.choice(SIZES) for size in shape)

    return [Row(tuple(map(near, shapes)), None if target is None else near(tuple(target))) for _ in range(ROWS)]


def with_target(op: Op, attribute: str | None, target: Any) -> Op:
    return op if target is None or attribute is None else op.model_copy(update={attribute: tuple(target)})


def verdict(op: Op, shapes: tuple[Shape, ...]) -> list[list[int]] | None:
    """Return the output shapes for integer sizes, or None if they do not fit."""
    try:
        return [list(output.shape) for output in lower(op, shapes).outputs]
    except ShapeMismatch:
        return None


def differences(op: Op, shapes: Sequence[Shape], attribute: str | None) -> list[str]:
    """Return the requests for which columns or symbolic sizes disagree with integers."""
    drawn = rows(op, shapes, attribute)
    wanted = [verdict(with_target(op, attribute, row.target), row.shapes) for row in drawn]
    if op.compares_sizes():
        with pytest.raises(Problem, match="compares"):
            in_columns(op, drawn, attribute)
        found = wanted
    else:
        found = in_columns(op, drawn, attribute)
    differ = [
        f"columns: {row}" for row, one, other in zip(drawn, wanted, found, strict=True)
        if one != other and not (one is None and other is None)
    ]  # fmt: skip
    draw = random.Random(str(shapes))
    for row, one in zip(drawn, wanted, strict=True):
        differ += symbols_differ(op, row, attribute, one, draw)
    return differ


def in_columns(op: Op, drawn: Sequence[Row], attribute: str | None) -> list[list[list[int]] | None]:
    inputs = [np.array([row.shapes[number] for row in drawn], np.int64) for number in range(len(drawn[0].shapes))]
    inputs = [values.reshape(len(drawn), -1) for values in inputs]
    targets = {}
    if attribute is not None and drawn[0].target is not None:
        targets[attribute] = np.array([row.target for row in drawn], np.int64).reshape(len(drawn), -1)
        columns = [tuple(map(_column, values.T)) for values in targets.values()]
        op = op.model_copy(update=dict(zip(targets, columns, strict=True)))
    answer = checked(op, inputs, targets)
    return [
        [output[row].tolist() for output in answer.broadcast_inputs] if answer.compatible[row] else None
        for row in range(len(drawn))
    ]


def _column(values: Any) -> Any:
    from axiscast.plan.column import Column

    return Column(values)


def symbols_differ(
    op: Op, row: Row, attribute: str | None, wanted: list[list[int]] | None, draw: random.Random
) -> list[str]:
    """Return how the result of a request with names for some sizes disagrees with the result for these sizes."""
    names: dict[str, int] = {}
    share = draw.random() < 0.5

    def lifted(size: int) -> Any:
        if size < 0 or draw.random() < 0.5:
            return size
        name = f"s{size}" if share else f"n{len(names)}"
        names[name] = size
        return Symbol(name)

    shapes = tuple(tuple(map(lifted, shape)) for shape in row.shapes)
    target = None if row.target is None else tuple(map(lifted, row.target))
    if not names:
        return []
    try:
        plan = lower_symbolic(with_target(op, attribute, target), shapes, {})
        fits = all(holds(one.model_dump(exclude_unset=True), {}, names) for one in plan.conditions)
    except ShapeMismatch:
        fits = False
    said = f"symbols: {shapes} {target} where {names}"
    if fits != (wanted is not None):
        return [said]
    if wanted is None:
        return []
    shown = [output.shape for output in plan.outputs]
    agree = [
        len(one) == len(other) and all(may_be(size, value, names) for size, value in zip(one, other, strict=True))
        for one, other in zip(shown, wanted, strict=True)
    ]
    return [] if all(agree) else [f"{said}: {shown}, not {wanted}"]


def may_be(shown: int | str, value: int, names: dict[str, int]) -> bool:
    """Return whether a size in a symbolic result can be this integer."""
    if isinstance(shown, int) or shown in names:
        return names.get(shown, shown) == value  # type: ignore[arg-type]
    low, _, high = (shown if shown != "?" else "0..").partition("..")
    return int(low) <= value and (not high or value <= int(high))


def test_columns_and_symbolic_sizes_agree_with_integers_for_every_op() -> None:
    names, refusing = set(), set()
    for op, shapes in instances():
        attribute = _attribute(op.name)
        if op.needs_integers():
            with pytest.raises(Problem, match="compares"):
                in_columns(op, rows(op, shapes, attribute), attribute)
            refusing.add(op.name)
        else:
            assert differences(op, shapes, attribute) == [], op
        names.add(op.name)
    assert names == set(OPS)


# ---- An op that compares sizes in `align`, as a future op may do


class Compared(Unidirectional):
    """An op in which each size of the input divides the size in `shape`: (2, 3) fits (4, 6)."""

    name: Literal["numpy.compared"] = "numpy.compared"
    link = "https://numpy.org"

    def align(self, shapes: tuple[Shape, ...]) -> Alignment:
        (shape,), target = shapes, tuple(self.shape)
        if len(shape) != len(target):
            raise wrong_rank(0, shape, len(target), len(target))
        if all(self.fits(have, want) for have, want in zip(shape, target, strict=True)):
            ones = (1,) * len(shape)
            return align_mapped((ones,), target, tuple(range(len(target))), Relation.BROADCAST_TO)
        raise ShapeMismatch("size-mismatch", Relation.FROM_ONE, sizes=(2, 3), owners=(Input(0, shape),))

    def fits(self, have: int, want: int) -> bool:
        return have == want or (have > 0 and want % have == 0)


class Guarded(Compared):
    """The same op, which refuses every size that is not an integer."""

    def fits(self, have: int, want: int) -> bool:
        return are_integers(have, want) and super().fits(have, want)


class Careful(Guarded):
    """The same op, which declares that it needs integers."""

    def needs_integers(self) -> bool:
        return True


TILED = ((2, 3),)


def test_an_op_that_needs_integers_without_declaring_it_is_found() -> None:
    op = Guarded(shape=(4, 6))
    assert verdict(op, TILED) == [[4, 6]]
    assert any(said.startswith("columns") for said in differences(op, TILED, "shape"))
    assert any(said.startswith("symbols") for said in differences(op, TILED, "shape"))
    assert check_to_dict(
        CheckRequest.model_construct(inputs=(("N", 3),), op=op.model_copy(update={"shape": (4, 6)}))
    )  # the op still returns a result


def test_columns_are_refused_if_an_op_compares_them_without_declaring_it() -> None:
    for attribute in (None, "shape"):
        drawn = rows(Compared(shape=(4, 6)), TILED, attribute)
        with pytest.raises(Problem, match="does not accept columns"):
            in_columns(Compared(shape=(4, 6)), drawn, attribute)


def test_an_op_that_declares_needs_integers_refuses_columns_and_symbolic_sizes() -> None:
    op = Careful(shape=(4, 6))
    assert check_to_dict(CheckRequest.model_construct(inputs=TILED, op=op))["compatible"] is True
    with pytest.raises(Problem) as raised:
        in_columns(op, rows(op, TILED, None), None)
    assert (raised.value.code, raised.value.pointer) == ("invalid-request", "/op")
    assert raised.value.detail == (
        "numpy.compared does not accept columns, because its rule compares sizes: send each check as a row of a batch"
    )
    for shapes, target, pointer in (
        ([("N", 3)], (4, 6), "/inputs"),
        ([(2, 3)], ("N", 6), "/op/shape"),
        ([("N", 3)], ("N", 3), "/inputs"),
        ([("?", 3)], (4, 6), "/inputs"),
    ):
        symbolic = [tuple(Symbol(size) if isinstance(size, str) else size for size in shape) for shape in shapes]
        target = tuple(Symbol(size) if isinstance(size, str) else size for size in target)  # type: ignore[misc]
        with pytest.raises(Problem) as raised:
            check_to_dict(CheckRequest.model_construct(inputs=symbolic, op=op.model_copy(update={"shape": target})))  # type: ignore[arg-type]
        assert raised.value.pointer == pointer
        assert raised.value.detail == (
            "numpy.compared supports integer sizes only, because its rule compares them: replace each name, range "
            "and ? with an integer"
        )


def test_a_comparison_skips_an_op_that_needs_integers_and_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "OPS", {**OPS, "numpy.compared": Careful})
    monkeypatch.setattr(comparison, "_kinds", comparison._kinds.__wrapped__)  # the cache does not contain this op
    known = comparison.answer_compare(CompareRequest(inputs=[(2, 3)], shape=(4, 6)))
    assert "numpy.compared" in {result.op["name"] for result in known.results}
    assert known.left_out == []
    for inputs, shape in (([("N", 3)], (4, 6)), ([(2, 3)], ("N", 6))):
        unknown = comparison.answer_compare(CompareRequest(inputs=inputs, shape=shape))
        assert "numpy.compared" not in {result.op["name"] for result in unknown.results}
        assert "numpy.compared" in unknown.left_out
