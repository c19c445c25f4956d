"""Symbolic sizes settled: for which of them the shapes broadcast, and what then comes out.

Each relation between sizes that meet becomes clauses ("N equals M unless one of them is 1"), and plan/size_solver.py
finds what follows from them, by union-find with undo and unit propagation. So every question here (is
this size stretched for some values? for all? does this condition follow from the others?) is one trial: suppose its
opposite, and see whether sizes are left. The answers are exact: no condition is sent that the others imply, and no
range that a narrower one would replace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod

from ..messages import Condition, DimensionPlace, Equation, Side
from ..ops import Op, align
from ..plan.alignment import Alignment, replace_fields
from ..plan.plan import Shape
from ..plan.relations import Relation
from ..plan.resolution import check_integers, integer_axes, mismatch, resolve
from ..plan.size_solver import ONE, Clause, SizeSolver, SymbolicSize
from ..wire.cancellation import checkpoint
from ..wire.dimensions import Quotient, Symbol
from ..wire.problems import Problem
from ..wire.shapes import MAX_SIZE
from .limits import MAX_CONDITIONS, MAX_SYMBOLIC_AXES
from .symbol_table import Size, SymbolTable

SizeOrName = int | str


@dataclass(frozen=True, slots=True)
class SymbolicPlacement:
    """How one output reads one input; see Placement. An axis that only some sizes replicate is a maybe."""

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
    """What an op does to inputs of these shapes, where all conditions hold; nowhere else do they broadcast."""

    input_shapes: tuple[tuple[Size, ...], ...]
    outputs: tuple[SymbolicPlacement, ...]
    conditions: tuple[Condition, ...]
    result: tuple[SizeOrName, ...] | None
    """See Plan."""
    apart: Alignment
    """The inputs where no size that may be another is 1, with numbers for sizes: 1 is 1, and equal sizes are equal.
    There are no axes where sizes can't all be others than 1 at once."""


def lower_symbolic(op: Op, shapes: tuple[Shape, ...], assume: Mapping[str, Size]) -> SymbolicPlan:
    """The plan of an op on inputs of these shapes, some of whose sizes are symbols; `assume` bounds the names.

    Raises ShapeMismatch where no sizes broadcast, Problem (work-too-large) for too many of them.
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
        resolve(integer_axes(alignment))
    return _settle(alignment, SymbolTable(assume, places))


def validate_assumptions(op: Op, shapes: Sequence[Shape], assume: Mapping[str, Size]) -> None:
    """Raises Problem (invalid-request) where a name is assumed that does not occur, or to be more than a range."""
    sizes: list[Size] = [size for shape in shapes for size in shape]
    sizes += [size for _, _, size in op.symbols()]
    names = {size.name for size in sizes if isinstance(size, Symbol) and size.name}
    for name, bounds in assume.items():
        fault = None
        if name not in names:
            fault = f"no size here has this name: the names are {', '.join(sorted(names)[:20])}" if names else None
            fault = fault or "no size here has a name"
        elif isinstance(bounds, Symbol) and bounds.name:
            fault = 'must be a range, such as "2..", or a size: for two equal sizes write one name twice'
        if fault:
            raise Problem("invalid-request", f"assume/{name[:60]}: {fault}", pointer=f"/assume/{name[:60]}")


def _clauses(relation: Relation, numbers: Sequence[int], sizes: SizeSolver) -> Iterator[tuple[Clause, int, int]]:
    """Yield the clauses that state a relation between variables, each with the positions of its two variables."""
    for first, second in _pairs(relation, numbers, sizes):
        clause = relation.holds(SymbolicSize(numbers[first]), SymbolicSize(numbers[second]))
        unless = tuple(number for number in clause.unless if not sizes.excludes_one(number))
        yield replace(clause, unless=unless), first, second


def _pairs(relation: Relation, numbers: Sequence[int], sizes: SizeSolver) -> Iterator[tuple[int, int]]:
    """Yield the positions of the variables between which a relation must hold."""
    if relation.has_target:
        yield from ((position, len(numbers) - 1) for position in range(len(numbers) - 1))
        return
    first = {number: position for position, number in reversed(list(enumerate(numbers)))}
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
    """A size that is not 1, an integer if there is one: all others are 1, or equal to it."""
    apart = [number for number in expanding if sizes.excludes_one(number)]
    return min(apart, key=lambda number: sizes.bounds(number)[0] != sizes.bounds(number)[1], default=None)


def _settle(alignment: Alignment, variables: SymbolTable) -> SymbolicPlan:
    """The plan of an alignment with symbols. Raises ShapeMismatch (size-mismatch, lowest axis) where no sizes agree."""
    met = [[variables.of(term.size) for term in axis.terms] for axis in alignment.axes]
    placed = [
        alignment.input_shapes[output.input] if output.split_shape is None else output.split_shape
        for output in alignment.outputs
    ]
    own = [[variables.of(size) for size in shape] for shape in placed]
    sizes, clauses = _weighed(alignment, met, variables)
    reached = [_reached(axis.relation, numbers, sizes) for axis, numbers in zip(alignment.axes, met, strict=True)]
    sizes_out = [_notation(sizes, variables, numbers) for numbers in reached]

    @cache
    def stretches(axis: int, number: int) -> tuple[bool, bool]:
        return _stretches(sizes, number, reached[axis])

    outputs = []
    for output, input_shape, numbers in zip(alignment.outputs, placed, own, strict=True):
        certain = set(range(len(output.axes))).difference(output.output_axes)
        maybe: set[int] = set()
        for place, number in zip(output.output_axes, numbers, strict=True):
            sometimes, always = stretches(output.axes[place], number)
            if sometimes:
                (certain if always else maybe).add(place)
        output_shape = shape = tuple(sizes_out[axis] for axis in output.axes)
        if output.merges is not None:
            shape = tuple(_product(sizes, variables, [reached[axis][0] for axis in group]) for group in output.groups)
        outputs.append(
            SymbolicPlacement(
                output.input,
                input_shape,
                output_shape,
                output.output_axes,
                tuple(sorted(certain)),
                tuple(sorted(maybe)),
                shape,
                output.merges,
            )
        )
    conditions = [_condition(clause, variables) for clause in _needed(clauses, sizes, variables)]
    result = None if alignment.result is None else tuple(sizes_out[axis] for axis in alignment.result)
    apart = _apart(alignment, met, sizes)
    return SymbolicPlan(alignment.input_shapes, tuple(outputs), tuple(conditions), result, apart)


def _apart(alignment: Alignment, met: Sequence[Sequence[int]], sizes: SizeSolver) -> Alignment:
    """See SymbolicPlan."""
    axes = []
    with sizes.trial():
        others = {number for numbers in met for number in numbers if sizes.admits(others=[number])}
        if all(map(sizes.exclude_one, others)):
            for axis, numbers in zip(alignment.axes, met, strict=True):
                apart = [_standing_for(number, sizes) if number in others else 1 for number in numbers]
                terms = [term._replace(size=size) for term, size in zip(axis.terms, apart, strict=True)]
                axes.append(axis._replace(terms=tuple(terms)))
    return replace_fields(alignment, axes=tuple(axes))


def _standing_for(number: int, sizes: SizeSolver) -> int:
    """The size that a variable must have; or a negative number, the same for all variables that must be equal."""
    low, high = sizes.bounds(number)
    return low if low == high else -1 - sizes.members(number)[0]


def _weighed(
    alignment: Alignment, met: Sequence[Sequence[int]], variables: SymbolTable
) -> tuple[SizeSolver, list[Clause]]:
    """All that follows from the sizes that meet, and the clauses that say so; raises ShapeMismatch, see _settle."""
    blank, sizes = SizeSolver(variables.bounds), SizeSolver(variables.bounds)
    clauses: dict[object, Clause] = {}
    for number, (axis, numbers) in enumerate(zip(alignment.axes, met, strict=True)):
        check_integers(alignment, number, axis)
        for clause, start, stop in _clauses(axis.relation, numbers, blank):
            if clause.key in clauses or blank.entails(clause):
                continue
            if not sizes.allows(clause):
                clash = (axis.terms[start], axis.terms[stop])
                because = _because(sizes, variables, [term.size for term in clash])
                raise mismatch(alignment, number, axis, clash, because)
            sizes.add(clause)
            clauses[clause.key] = clause
            checkpoint()
            MAX_CONDITIONS.check(len(clauses))
    return sizes, list(clauses.values())


def _because(sizes: SizeSolver, variables: SymbolTable, clash: Iterable[Size]) -> str:
    """What else is known of the symbols that clash."""
    facts = []
    for size in clash:
        number = variables.of(size)
        notation = _notation(sizes, variables, [number], but=str(size))
        words = [str(notation)] if str(notation) not in (str(size), "?") else []
        if sizes.divisor(number) > 1 and not isinstance(notation, int):
            words.append(f"a multiple of {sizes.divisor(number)}")
        facts += [f"{size} is {', '.join(words)}"] if words else []
    return f", where {' and '.join(facts)}" if facts else ""


def _reached(relation: Relation, numbers: Sequence[int], sizes: SizeSolver) -> list[int]:
    """The variables of which the one that is not 1 is the size of an output axis."""
    if not relation.is_two_sided:
        return list(numbers[-1:])
    expanding = [number for number in dict.fromkeys(numbers) if number != ONE]
    leader = _leader(expanding, sizes)
    return expanding if leader is None else [leader]


def _notation(sizes: SizeSolver, variables: SymbolTable, reached: Sequence[int], but: str | None = None) -> SizeOrName:
    """The size of an output axis: the narrowest integer, name (`but` this one), range or ? that covers its values."""
    if reached and reached[0] in variables.quotients:
        return _product(sizes, variables, reached)
    spans = []
    equal = dict.fromkeys(number for start in reached for number in (start, *sizes.members(start)))
    named = [number for number in equal if variables.names[number] not in (None, but)]
    if sizes.admits(ones=reached):
        spans.append((1, 1))
        named = [number for number in named if not sizes.admits(ones=reached, others=[number])]
    for start in reached:
        with sizes.trial():
            if sizes.exclude_one(start):
                spans.append(sizes.bounds(start))
                named = [number for number in named if sizes.are_equal(number, start)]
    low, high = min(low for low, _ in spans), max(high for _, high in spans)
    return str(variables.names[named[0]]) if named and low < high else _range(low, high)


def _range(low: int, high: int) -> SizeOrName:
    if low == high:
        return low
    if high >= MAX_SIZE:
        return f"{low}.." if low else "?"
    return f"{low}..{high}"


def _product(sizes: SizeSolver, variables: SymbolTable, numbers: Sequence[int]) -> SizeOrName:
    """The size of an axis that is merged of axes of these sizes, each without a condition on it but its own."""
    parts = [variables.quotients.get(number, (number, 1)) for number in numbers]
    divisor, spans = prod(divisor for _, divisor in parts), [sizes.bounds(number) for number, _ in parts]
    factor = prod(low for low, high in spans if low == high)
    varying = [number for (number, _), (low, high) in zip(parts, spans, strict=True) if low < high]
    if factor == 0 or not varying:
        return factor // divisor
    if all(sizes.are_equal(number, varying[0]) for number in varying):
        # Powers of one size are that size where it has no value but 0 and one other.
        ends, count = sizes.bounds(varying[0]), len(varying)
        if all(factor * end**count == divisor * end for end in ends) and (
            count == 1 or ends[1] - ends[0] == sizes.divisor(varying[0])
        ):
            return _notation(sizes, variables, varying[:1])
    is_open = any(sizes.bounds(number)[1] == MAX_SIZE for number in varying)
    high = MAX_SIZE if is_open else min(prod(high for _, high in spans) // divisor, MAX_SIZE)
    return _range(prod(low for low, _ in spans) // divisor, high)


def _stretches(sizes: SizeSolver, number: int, reached: Sequence[int]) -> tuple[bool, bool]:
    """Whether a size is stretched for some sizes, and whether it is for all."""
    sometimes = any(sizes.admits([number], [other]) for other in reached if other != number)
    return sometimes, sometimes and not sizes.admits(others=[number]) and not sizes.admits(ones=reached)


def _needed(clauses: Sequence[Clause], sizes: SizeSolver, variables: SymbolTable) -> list[Clause]:
    """The same said in the shortest clauses, none of which follows from the others and the bounds."""
    shortest = [_shortest(clause, sizes, variables) for clause in clauses]
    base = SizeSolver(variables.bounds)
    needed: list[Clause] = []
    # Of two names that are 5, that they are equal may say it already: equations with integers come second.
    for clause in sorted(shortest, key=lambda clause: any(map(variables.is_integer, clause.equation or ()))):
        if not clause.unless and not base.entails(clause):
            base.add(clause)
            needed.append(clause)
    longer = {clause.key: clause for clause in shortest if clause.unless}
    for clause in longer.values():
        base.add(clause)
    for clause in sorted(longer.values(), key=lambda clause: len(clause.unless))[::-1]:
        checkpoint()
        base.ignored.add(clause)
        if not base.entails(clause):
            base.ignored.remove(clause)
    needed += [clause for clause in longer.values() if clause not in base.ignored]
    order = {clause: number for number, clause in reversed(list(enumerate(shortest)))}
    return sorted(needed, key=order.__getitem__)


def _shortest(clause: Clause, sizes: SizeSolver, variables: SymbolTable) -> Clause:
    """A clause without what never saves it; of a size that is divided, all that divides it, or its one value."""
    if clause.divides and clause.equation:
        number = clause.equation[0]
        low, high = sizes.bounds(number)
        return Clause((number, variables.of(low if low == high else sizes.divisor(number))), divides=low < high)
    for number in clause.unless:
        shorter = Clause(clause.equation, tuple(other for other in clause.unless if other != number))
        if sizes.entails(shorter):
            clause = shorter
    if clause.unless and sizes.entails(Clause(None, clause.unless)):
        clause = Clause(None, clause.unless)
    if clause.equation is None and len(clause.unless) == 1:
        return Clause((clause.unless[0], ONE))
    return clause


def _condition(clause: Clause, variables: SymbolTable) -> Condition:
    """A clause as it is sent."""
    equations = [clause.equation] if clause.equation else []
    equations += [(number, ONE) for number in clause.unless]
    pairs = []
    for one, other in equations:
        if variables.is_integer(one):
            one, other = other, one
        pairs.append((variables.sides[one], variables.sides[other]))
    if clause.divides:
        ((side, divisor),) = pairs
        return Condition(any=[Equation(divides=(divisor, side))], text=f"{divisor} divides {_in_words(side)}")
    return Condition(
        any=[Equation(equal=pair) for pair in pairs],
        text=" or ".join(f"{_in_words(one)} == {_in_words(other)}" for one, other in pairs),
    )


def _in_words(side: Side) -> str:
    if not isinstance(side, DimensionPlace):
        return str(side)
    return f"{side.attribute or f'inputs[{side.input}]'}[{side.axis}]"
