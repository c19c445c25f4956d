"""Functions that find the output shapes for symbolic sizes, and the conditions under which the shapes broadcast.

Each relation between sizes becomes clauses, such as "N equals M unless one of them is 1". The solver in
plan/size_solver.py finds out which statements follow from the clauses.

To test a statement, this module assumes the opposite, and asks the solver whether any sizes are still possible.
Examples of such statements are "this size always expands" and "this condition follows from the other conditions". The
results are exact: no condition follows from other conditions, and no range can be narrower.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from math import prod

from ...messages.conditions import Condition, DimensionPlace, Side
from ...ops import Op, align
from ...plan.alignment import Alignment, replace_fields
from ...plan.plan import Shape
from ...plan.relations import Relation
from ...plan.resolution import check_integers, integer_axes, mismatch, resolve
from ...plan.size_solver import ONE, Clause, SizeSolver, SymbolicSize
from ...wire.cancellation import checkpoint
from ...wire.dimensions import Quotient, Symbol
from ...wire.problems import Problem
from ...wire.shapes import MAX_SIZE
from ..limits import MAX_CONDITIONS, MAX_SYMBOLIC_AXES
from .conditions import conditions_of
from .symbol_table import Size, SymbolTable

SizeOrName = int | str


@dataclass(frozen=True, slots=True)
class SymbolicPlacement:
    """How one output reads one input, as in Placement. Some axes may be broadcast only for some values of a size."""

    input: int
    input_shape: tuple[Size | Quotient, ...]
    output_shape: tuple[SizeOrName, ...]
    output_axes: tuple[int, ...]
    broadcast_axes: tuple[int, ...]
    maybe_broadcast_axes: tuple[int, ...]
    shape: tuple[SizeOrName, ...]
    merges: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class SymbolicPlan:
    """The plan of an op on inputs with symbolic sizes. The shapes broadcast if and only if all conditions hold."""

    input_shapes: tuple[tuple[Size, ...], ...]
    outputs: tuple[SymbolicPlacement, ...]
    conditions: tuple[Condition, ...]
    result: tuple[SizeOrName, ...] | None
    """The shape of the operation's result, as in Plan."""
    axis_sizes: dict[int, str]
    """Texts such as "C if W == 1, else W", keyed by the axis of the result, or of the first output.

    Only an axis on which two sizes meet, and on which both can be 1, has a text.
    """
    apart: Alignment
    """The alignment of the shapes if every size that can differ from 1 does.

    A negative integer stands for an unknown size. Equal sizes have equal integers. If the sizes cannot all differ from
    1 at the same time, the alignment has no axes.
    """


def lower_symbolic(op: Op, shapes: tuple[Shape, ...], assume: Mapping[str, Size]) -> SymbolicPlan:
    """Return the plan of an op on shapes with symbolic sizes. `assume` contains the bounds of named sizes.

    Raises ShapeMismatch if the shapes broadcast for no values of the sizes. Raises Problem (work-too-large) if there
    are too many axes.
    """
    MAX_SYMBOLIC_AXES.check(sum(map(len, shapes)))
    places: dict[int, Side] = {
        id(size): DimensionPlace(input=number, axis=axis)
        for number, shape in enumerate(shapes)
        for axis, size in enumerate(shape)
        if isinstance(size, Symbol) and size.name is None
    }
    places |= {id(size): DimensionPlace(attribute=name, axis=axis) for name, axis, size in op.symbols()}
    alignment = align(op, shapes)
    if alignment.refusal is not None:
        resolve(integer_axes(alignment))  # raises the conflict of integer sizes, or else the refusal
    shared = _shared.get()
    if shared is None:
        return _plan(alignment, SymbolTable(assume, places))
    outputs = [(*output[:2], tuple(output.axes), *output[3:]) for output in alignment.outputs]
    own = alignment.input_shapes, alignment.target, alignment.axes, outputs, alignment.result, alignment.labels
    key = own, [*op.symbols()]  # unnamed sizes are equal only if they are the same object
    for known, plan in shared:
        if known == key:
            return plan
    shared.append((key, plan := _plan(alignment, SymbolTable(assume, places))))
    return plan


_shared: ContextVar[list[tuple[object, SymbolicPlan]] | None] = ContextVar("shared", default=None)
"""The plans that `shared_plans` shares, each with everything that it depends on."""


@contextmanager
def shared_plans() -> Iterator[None]:
    """While the context is open, share the plans of equal alignments. All calls must have the same `assume`."""
    token = _shared.set([])
    try:
        yield
    finally:
        _shared.reset(token)


def validate_assumptions(op: Op, shapes: Sequence[Shape], assume: Mapping[str, Size]) -> None:
    """Raise Problem (invalid-request) if `assume` has an unknown name, or a value that is not a size or a range."""
    sizes: list[Size] = [size for shape in shapes for size in shape]
    sizes += [size for _, _, size in op.symbols()]
    names = {size.name for size in sizes if isinstance(size, Symbol) and size.name}
    for name, bounds in assume.items():
        fault = None
        if name not in names:
            fault = f"no shape contains this name: the names are {', '.join(sorted(names)[:20])}" if names else None
            fault = fault or "no shape contains a name"
        elif isinstance(bounds, Symbol) and bounds.name:
            fault = 'must be a range such as "2..", or a size: to make two sizes equal, use one name for both'
        if fault:
            raise Problem("invalid-request", f"assume/{name[:60]}: {fault}", pointer=f"/assume/{name[:60]}")


def _clauses(relation: Relation, numbers: Sequence[int], sizes: SizeSolver) -> Iterator[tuple[Clause, int, int]]:
    """Yield the clauses for a relation between variables. Each clause comes with the positions of its two variables."""
    for first, second in _pairs(relation, numbers, sizes):
        clause = relation.holds(SymbolicSize(numbers[first]), SymbolicSize(numbers[second]))
        unless = tuple(number for number in clause.unless if not sizes.excludes_one(number))
        yield replace(clause, unless=unless), first, second


def _pairs(relation: Relation, numbers: Sequence[int], sizes: SizeSolver) -> Iterator[tuple[int, int]]:
    """Yield the positions of pairs of variables. If all pairs satisfy a relation, all variables satisfy it."""
    if relation.has_target:
        yield from ((position, len(numbers) - 1) for position in range(len(numbers) - 1))
        return
    first: dict[int, int] = {}  # the position at which each variable occurs first
    for position, number in enumerate(numbers):
        first.setdefault(number, position)
    if not relation.is_two_sided:
        yield from ((0, position) for position in first.values())
        return
    expanding = sorted((number for number in first if number != ONE), key=first.__getitem__)
    leader = _leader(expanding, sizes)
    if leader is None:
        MAX_CONDITIONS.check(len(expanding) * (len(expanding) - 1) // 2)
    for end, other in enumerate(expanding):
        for one in expanding[:end] if leader is None else (leader,):
            start, stop = sorted((first[one], first[other]))
            yield start, stop


def _leader(expanding: Sequence[int], sizes: SizeSolver) -> int | None:
    """Return a variable that cannot be 1, preferably an integer, or None if every variable on the axis can be 1."""
    nonunit = [number for number in expanding if sizes.excludes_one(number)]
    return min(nonunit, key=lambda number: sizes.bounds(number)[0] != sizes.bounds(number)[1], default=None)


def _plan(alignment: Alignment, variables: SymbolTable) -> SymbolicPlan:
    """Return the plan for an alignment. Raises ShapeMismatch (size-mismatch on the lowest axis) if no sizes fit."""
    terms = [[variables.of(term.size) for term in axis.terms] for axis in alignment.axes]
    input_shapes = [
        alignment.input_shapes[output.input] if output.split_shape is None else output.split_shape
        for output in alignment.outputs
    ]
    inputs = [[variables.of(size) for size in shape] for shape in input_shapes]
    sizes, clauses = _solve(alignment, terms, variables)
    pairs = zip(alignment.axes, terms, strict=True)
    candidates = [_size_candidates(axis.relation, numbers, sizes) for axis, numbers in pairs]
    axis_sizes = [_notation(sizes, variables, numbers) for numbers in candidates]

    @cache
    def expands(axis: int, number: int) -> tuple[bool, bool]:
        if alignment.axes[axis].relation is Relation.TILES:
            is_equal = Clause((number, candidates[axis][0]))
            return not sizes.entails(is_equal), not sizes.allows(is_equal)
        return _expands(sizes, number, candidates[axis])

    outputs = []
    for output, input_shape, numbers in zip(alignment.outputs, input_shapes, inputs, strict=True):
        always = set(range(len(output.axes))).difference(output.output_axes)
        sometimes: set[int] = set()
        for axis, number in zip(output.output_axes, numbers, strict=True):
            can_expand, must_expand = expands(output.axes[axis], number)
            if can_expand:
                (always if must_expand else sometimes).add(axis)
        output_shape = shape = tuple(axis_sizes[axis] for axis in output.axes)
        if output.merges is not None:
            groups = [[candidates[axis][0] for axis in group] for group in output.groups]
            shape = tuple(_product_of_sizes(sizes, variables, group) for group in groups)
        broadcast = tuple(sorted(always)), tuple(sorted(sometimes))
        fields = (output.input, input_shape, output_shape, output.output_axes, *broadcast, shape, output.merges)
        outputs.append(SymbolicPlacement(*fields))
    conditions = conditions_of(clauses, sizes, variables)
    result = None if alignment.result is None else tuple(axis_sizes[axis] for axis in alignment.result)
    shown = alignment.result
    if shown is None:
        shown = tuple(axis for output in alignment.outputs[:1] if not output.merges for axis in output.axes)
    texts = ((number, _size_text(candidates[axis], variables)) for number, axis in enumerate(shown))
    unsettled = {number: text for number, text in texts if text and isinstance(axis_sizes[shown[number]], str)}
    apart = _apart(alignment, terms, sizes)
    return SymbolicPlan(alignment.input_shapes, tuple(outputs), tuple(conditions), result, unsettled, apart)


def _size_text(candidates: Sequence[int], variables: SymbolTable) -> str | None:
    """Return the size of an axis as text, such as "C if W == 1, else W", or None if it does not depend on two names."""
    sides = [variables.sides[number] for number in candidates]
    if len(sides) != 2 or any(isinstance(side, DimensionPlace) for side in sides):
        return None
    return f"{sides[1]} if {sides[0]} == 1, else {sides[0]}"


def _apart(alignment: Alignment, variables: Sequence[Sequence[int]], sizes: SizeSolver) -> Alignment:
    """Return the alignment for the field `SymbolicPlan.apart`. `variables` lists the variables on each axis."""
    axes = []
    with sizes.trial():
        nonunit = {number for numbers in variables for number in numbers if sizes.admits(others=[number])}
        if all(map(sizes.exclude_one, nonunit)):
            for axis, numbers in zip(alignment.axes, variables, strict=True):
                stand_ins = [_stand_in(number, sizes) if number in nonunit else 1 for number in numbers]
                terms = [term._replace(size=size) for term, size in zip(axis.terms, stand_ins, strict=True)]
                axes.append(axis._replace(terms=tuple(terms)))
    return replace_fields(alignment, axes=tuple(axes))


def _stand_in(number: int, sizes: SizeSolver) -> int:
    """Return the only possible size of a variable, or else a negative integer that is the same for equal variables."""
    low, high = sizes.bounds(number)
    return low if low == high else -1 - sizes.members(number)[0]


def _solve(
    alignment: Alignment, variables_of_axes: Sequence[Sequence[int]], variables: SymbolTable
) -> tuple[SizeSolver, list[Clause]]:
    """Return the clauses that the bounds do not imply already, and a solver that contains them.

    Raises ShapeMismatch if no sizes fit.
    """
    blank, sizes = SizeSolver(variables.bounds), SizeSolver(variables.bounds)
    clauses: dict[object, Clause] = {}
    for number, (axis, numbers) in enumerate(zip(alignment.axes, variables_of_axes, strict=True)):
        check_integers(alignment, number, axis)
        for clause, start, stop in _clauses(axis.relation, numbers, blank):
            if clause.key in clauses or blank.entails(clause):
                continue
            if not sizes.allows(clause):
                conflicting = (axis.terms[start], axis.terms[stop])
                known = _known(sizes, variables, [term.size for term in conflicting])
                raise mismatch(alignment, number, axis, conflicting, known)
            sizes.add(clause)
            clauses[clause.key] = clause
            checkpoint()
            MAX_CONDITIONS.check(len(clauses))
    return sizes, list(clauses.values())


def _known(sizes: SizeSolver, variables: SymbolTable, conflicting: Iterable[Size]) -> list[tuple[str, SizeOrName, int]]:
    """Return what is known about the symbolic sizes in a conflict, as in Conflict: a name, its value, its divisor."""
    known = []
    for size in conflicting:
        number = variables.of(size)
        value = _notation(sizes, variables, [number], but=str(size))
        divisor = 1 if isinstance(value, int) else sizes.divisor(number)
        if str(value) not in (str(size), "?") or divisor > 1:
            known.append((str(size), value, divisor))
    return known


def _size_candidates(relation: Relation, numbers: Sequence[int], sizes: SizeSolver) -> list[int]:
    """Return the variables that can be the size of an axis. If a variable cannot be 1, return only this variable."""
    if not relation.is_two_sided:
        return list(numbers[-1:])
    expanding = [number for number in dict.fromkeys(numbers) if number != ONE]
    leader = _leader(expanding, sizes)
    return expanding if leader is None else [leader]


def _notation(
    sizes: SizeSolver, variables: SymbolTable, candidates: Sequence[int], but: str | None = None
) -> SizeOrName:
    """Return the most specific notation for an axis size that covers its values: an integer, a name, a range or "?".

    The returned name is never `but`.
    """
    if candidates and candidates[0] in variables.quotients:
        return _product_of_sizes(sizes, variables, candidates)
    ranges = []
    equal = dict.fromkeys(number for candidate in candidates for number in (candidate, *sizes.members(candidate)))
    named = [number for number in equal if variables.names[number] not in (None, but)]
    if sizes.admits(ones=candidates):  # the size of the axis can be 1
        ranges.append((1, 1))
        named = [
            number for number in named if number in candidates or not sizes.admits(ones=candidates, others=[number])
        ]
    for candidate in candidates:
        with sizes.trial():
            if sizes.exclude_one(candidate):  # the candidate can be the size of the axis
                ranges.append(sizes.bounds(candidate))
                named = [number for number in named if sizes.are_equal(number, candidate)]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    return str(variables.names[named[0]]) if named and low < high else _range(low, high)


def _range(low: int, high: int) -> SizeOrName:
    if low == high:
        return low
    if high >= MAX_SIZE:
        return f"{low}.." if low else "?"
    return f"{low}..{high}"


def _product_of_sizes(sizes: SizeSolver, variables: SymbolTable, numbers: Sequence[int]) -> SizeOrName:
    """Return the size of an axis that merges axes with these sizes, between which no clause is known."""
    parts = [variables.quotients.get(number, (number, 1)) for number in numbers]
    divisor, ranges = prod(divisor for _, divisor in parts), [sizes.bounds(number) for number, _ in parts]
    factor = prod(low for low, high in ranges if low == high)
    varying = [number for (number, _), (low, high) in zip(parts, ranges, strict=True) if low < high]
    if factor == 0 or not varying:
        return factor // divisor
    if all(sizes.are_equal(number, varying[0]) for number in varying):
        # 4 * N / 4 is N. A power of N is also N if N can only be 0 or 1.
        ends, count = sizes.bounds(varying[0]), len(varying)
        has_two_values = ends[1] - ends[0] == sizes.divisor(varying[0])
        if all(factor * end**count == divisor * end for end in ends) and (count == 1 or has_two_values):
            return _notation(sizes, variables, varying[:1])
    is_open = any(sizes.bounds(number)[1] == MAX_SIZE for number in varying)
    high = MAX_SIZE if is_open else min(prod(high for _, high in ranges) // divisor, MAX_SIZE)
    return _range(prod(low for low, _ in ranges) // divisor, high)


def _expands(sizes: SizeSolver, number: int, candidates: Sequence[int]) -> tuple[bool, bool]:
    """Return whether a size can expand on an axis, and whether it always expands."""
    can_expand = any(sizes.admits(ones=[number], others=[other]) for other in candidates if other != number)
    return can_expand, can_expand and not sizes.admits(others=[number]) and not sizes.admits(ones=candidates)
