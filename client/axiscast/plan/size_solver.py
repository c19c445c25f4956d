"""A solver for clauses about sizes. It finds the possible sizes and the consequences of the clauses.

A clause states that two sizes are equal unless one of certain sizes is 1. Or it states that a number divides a size.

Equal sizes form a class in a union-find structure, like types that a compiler unifies (Tarjan, Efficiency of a good but
not linear set union algorithm, 1975). Each class has bounds, a number that divides its size, and a flag that states
whether the size can be 1. When two classes are joined, the smaller class is relabelled. An undo log records changes, so
that the changes in a trial can be undone. Path compression is not used, because the undo log would not record the
changes that path compression makes.

Unit propagation finds the consequences, as in a solver for Boolean clauses (Dowling and Gallier, Linear-time algorithms
for testing the satisfiability of propositional Horn formulae, 1984). Once no exception in a clause can be 1, the
equation of the clause holds and joins two classes. As a result, more sizes may be unable to be 1. The clauses that have
these sizes as exceptions are then examined again. No search is necessary, because a clause with an exception that can
be 1 requires nothing. If the remaining sizes are possible, they are also possible with each of these exceptions set to
1. The run time is polynomial in the number of clauses, which limits.py limits. Every result is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

from ..wire.shapes import MAX_SIZE
from .divisibility import Pair, Span, is_satisfiable


@dataclass(frozen=True, slots=True)
class Clause:
    """A statement about sizes. Each size is represented by the index of a variable.

    The two sizes in `equation` are equal unless one of the sizes in `unless` is 1. If there is no equation, one of the
    sizes in `unless` is 1. If `divides` is True, the second size in `equation` divides the first size.
    """

    equation: tuple[int, int] | None
    unless: tuple[int, ...] = ()
    divides: bool = False

    @property
    def key(self) -> tuple[object, frozenset[int]]:
        """A key that is equal for clauses that differ only in the order of their sizes."""
        return self.equation if self.divides else frozenset(self.equation or ()), frozenset(self.unless)

    def __or__(self, other: Clause) -> Clause:
        """Return the clause that holds if this clause or `other` holds. `other` must state that a size is 1."""
        assert other.equation is not None
        number, one = other.equation
        assert one == ONE
        return Clause(self.equation, (*self.unless, number))


MAX_TRIED_BOUNDS = 16
"""The maximum number of values that the solver tries as the smallest or the largest possible value of a size."""
ONE = 0
"""The index of the variable whose size is always 1."""


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicSize:
    """A variable in the condition of a relation (relations.py). A comparison returns a Clause instead of a bool."""

    variable: int

    def __eq__(self, other: object) -> Clause:  # type: ignore[override]  # object.__eq__ returns a bool
        return Clause((self.variable, other.variable if isinstance(other, SymbolicSize) else ONE))

    def divides(self, whole: SymbolicSize) -> Clause:
        """Return the clause that states that this size divides another size."""
        return Clause((whole.variable, self.variable), divides=True)

    def __mod__(self, divisor: SymbolicSize) -> _Remainder:
        return _Remainder(self.variable, divisor.variable)


@dataclass(frozen=True, slots=True, eq=False)
class _Remainder:
    """The remainder of a symbolic size after a division. A comparison of the remainder with 0 returns a Clause."""

    variable: int
    divisor: int

    def __eq__(self, zero: object) -> Clause:  # type: ignore[override]  # object.__eq__ returns a bool
        assert zero == 0
        return Clause((self.variable, self.divisor), divides=True)


class SizeSolver:
    """The known properties of each size: its bounds, its divisor, whether it can be 1, and the sizes that equal it."""

    def __init__(self, bounds: Sequence[tuple[int, int]]) -> None:
        count = len(bounds)
        self._root = list(range(count))
        """The representative of each variable's class. The following lists are indexed by representatives."""
        self._members: list[tuple[int, ...]] = [(number,) for number in range(count)]
        self._low = [low for low, _ in bounds]
        self._high = [high for _, high in bounds]
        self._is_not_one = [False] * count
        """Whether a size is known not to be 1 even if its bounds include 1."""
        self._divisor = [1] * count
        """The greatest number that is known to divide the size."""
        self._clauses: dict[int, list[Clause]] = {}
        """The clauses that have a variable in `unless`, keyed by that variable."""
        self.ignored: set[Clause] = set()
        self._pairs: list[tuple[Pair, ...]] = [()]
        """A list with one entry, which contains all pairs of a size and a symbolic size that divides this size."""
        self._undo_log: list[tuple[list[Any], int, Any]] = []
        """All changes, as tuples (list, index, previous value). `trial` uses these tuples to undo its changes."""

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Return a context manager that undoes all changes made inside the context.

        >>> sizes = SizeSolver([(1, 1), (2, 5), (3, 9)])
        >>> with sizes.trial():
        ...     sizes.equate(1, 2), sizes.bounds(1)
        (True, (3, 5))
        >>> sizes.bounds(1)
        (2, 5)
        """
        mark = len(self._undo_log)
        try:
            yield
        finally:
            while len(self._undo_log) > mark:
                values, number, previous = self._undo_log.pop()
                values[number] = previous

    def add(self, clause: Clause) -> bool:
        """Add a clause. Return whether any solution remains."""
        for number in clause.unless:
            self._clauses.setdefault(number, []).append(clause)
        return self._propagate([clause])

    def allows(self, clause: Clause) -> bool:
        """Return whether any solution would remain if this clause were added. The clause is not added."""
        with self.trial():
            return self._propagate([clause])

    def equate(self, one: int, other: int) -> bool:
        """Make two sizes equal. Return whether any solution remains."""
        return self._propagate([Clause((one, other))])

    def exclude_one(self, number: int) -> bool:
        """Exclude the value 1 for a size. Return whether any solution remains."""
        if self.excludes_one(number):
            return True
        root = self._root[number]
        return self._narrow(root, 0, MAX_SIZE, is_not_one=True) and self._propagate(
            self._clauses_of(self._members[root])
        )

    def excludes_one(self, number: int) -> bool:
        """Return whether a size is known not to be 1."""
        root = self._root[number]
        if self._is_not_one[root] or self._low[root] > 1 or self._high[root] < 1:
            return True
        return self._is_in_pair(root) and not self._can_divide({root: Span(1, 1)})

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the smallest and the largest possible value of a size."""
        root = self._root[number]
        return self._paired_bounds(root) if self._is_in_pair(root) else (self._low[root], self._high[root])

    def divisor(self, number: int) -> int:
        """Return the greatest number that is known to divide a size."""
        return self._divisor[self._root[number]]

    def members(self, number: int) -> tuple[int, ...]:
        """Return the variables that are known to equal this variable, including the variable itself."""
        return self._members[self._root[number]]

    def are_equal(self, one: int, other: int) -> bool:
        """Return whether two sizes are known to be equal."""
        low, high = self.bounds(one)
        return self._root[one] == self._root[other] or (low == high and self.bounds(other) == (low, high))

    def admits(self, ones: Iterable[int] = (), others: Iterable[int] = ()) -> bool:
        """Return whether a solution exists in which all sizes in `ones` are 1 and no size in `others` is 1."""
        with self.trial():
            return all(self.equate(number, ONE) for number in ones) and all(map(self.exclude_one, others))

    def entails(self, clause: Clause) -> bool:
        """Return whether a clause holds in every solution."""
        if clause.divides and clause.equation:
            return self._entails_division(*clause.equation)
        with self.trial():
            if not all(map(self.exclude_one, clause.unless)):
                return True
            return clause.equation is not None and not self._can_differ(*clause.equation)

    def _can_differ(self, one: int, other: int) -> bool:
        # If `first` is not 1, the sizes can differ, unless `second` is known to be equal to `first` and not 1.
        for first, second in ((one, other), (other, one)):
            with self.trial():
                if self.exclude_one(first) and not (self.excludes_one(second) and self.are_equal(first, second)):
                    return True
        return False

    def _propagate(self, clauses: Iterable[Clause]) -> bool:
        """Apply all consequences of these clauses. Return whether any solution remains."""
        pending = list(clauses)
        while pending:
            clause = pending.pop()
            if (self.ignored and clause in self.ignored) or not all(map(self.excludes_one, clause.unless)):
                continue  # the clause is ignored, or a size that it exempts can be 1
            if clause.equation is None:
                return False
            one, other = (self._root[number] for number in clause.equation)
            if one == other:
                continue
            if clause.divides and self._low[other] < self._high[other]:
                self._set(self._pairs, 0, (*self._pairs[0], (one, other)))
                continue
            divisor = self._low[other] if clause.divides else 0  # only 0 is a multiple of 0, so both sizes are 0
            changed = self._divide(one, divisor) if divisor else self._join(one, other)
            if changed is None:
                return False
            pending += self._clauses_of(changed)
        return not self._pairs[0] or self._divide_pairs()

    def _divide_pairs(self) -> bool:
        """Apply the divisors that have become known, and join sizes that divide each other.

        Return whether any solution remains.
        """
        for whole, part in self._pairs[0]:
            one, other = self._root[whole], self._root[part]
            is_known = self._low[other] == self._high[other]
            if one == other:
                continue
            if is_known and self._low[other] and self._divide(one, self._low[other]) is None:
                return False
            is_equal = (is_known and self._low[other] == 0) or self._divides_by_pairs(part, whole)
            is_single = self._low[one] > 0 and self._high[one] < 2 * self._low[other]  # twice the part is too large
            if (is_equal or is_single) and self._join(one, other) is None:
                return False
        return self._can_divide({})

    def _divides_by_pairs(self, whole: int, part: int) -> bool:
        """Return whether the pairs state that `part` divides `whole`, directly or in several steps."""
        goal, reached = self._root[part], {self._root[whole]}
        while True:
            further = {self._root[own] for each, own in self._pairs[0] if self._root[each] in reached} - reached
            if goal in reached or not further:
                return goal in reached
            reached |= further

    def _is_in_pair(self, root: int) -> bool:
        return any(root in (self._root[whole], self._root[part]) for whole, part in self._pairs[0])

    def _can_divide(self, narrower: Mapping[int, Span]) -> bool:
        """Return whether sizes exist that satisfy all pairs if some classes have narrower spans."""
        pairs = {(self._root[whole], self._root[part]) for whole, part in self._pairs[0]}
        pairs = {(whole, part) for whole, part in pairs if whole != part}
        spans = {number: self._span(number) for pair in pairs for number in pair}
        for number, span in narrower.items():
            own = self._span(number)
            if (
                span.low < own.low
                or span.high > own.high
                or span.low % own.divisor
                or (span.low == 1 and own.is_not_one)
            ):
                return False
            spans[number] = span
        return is_satisfiable(sorted(pairs), spans)

    def _span(self, root: int) -> Span:
        return Span(self._low[root], self._high[root], self._divisor[root], self._is_not_one[root])

    def _paired_bounds(self, root: int) -> tuple[int, int]:
        """Return the smallest and the largest possible value of a size that divides another size or is its multiple."""
        low = self._low[root]
        nonzero = (self._root[whole] for whole, part in self._pairs[0] if self._root[part] == root)
        high = min([self._high[root], *(self._high[whole] for whole in nonzero if self._low[whole] > 0)])
        values = replace(self._span(root), high=high).values()
        smallest = (value for value in values[:MAX_TRIED_BOUNDS] if self._can_divide({root: Span(value, value)}))
        low = next(smallest, low)
        if high < MAX_SIZE:
            largest = (v for v in reversed(values[-MAX_TRIED_BOUNDS:]) if self._can_divide({root: Span(v, v)}))
            high = next(largest, high)
        return low, high

    def _entails_division(self, whole: int, part: int) -> bool:
        """Return whether `part` divides `whole` in every solution."""
        if self._divides_by_pairs(whole, part):
            return True
        (low, high), (least, most) = self.bounds(whole), self.bounds(part)
        if high == 0 or most - least > MAX_TRIED_BOUNDS:
            return high == 0
        one, other = self._root[whole], self._root[part]
        parts = [size for size in range(least, most + 1) if self._can_divide({other: Span(size, size)})]
        if all(size and self.divisor(whole) % size == 0 for size in parts):
            return True
        if high - low > MAX_TRIED_BOUNDS:
            return False
        return not any(
            self._can_divide({one: Span(size, size), other: Span(own, own)})
            for size in range(low, high + 1)
            for own in parts
            if (size % own if own else size)
        )

    def _divide(self, root: int, divisor: int) -> tuple[int, ...] | None:
        """Require that a number divides a size.

        Return the variables that can no longer be 1, or None if no solution remains.
        """
        changed = () if self.excludes_one(root) else self._members[root]
        return changed if self._narrow(root, 0, MAX_SIZE, divisor=divisor) else None

    def _join(self, one: int, other: int) -> tuple[int, ...] | None:
        """Join two classes. Return the variables that can no longer be 1, or None if no solution remains."""
        if len(self._members[one]) < len(self._members[other]):
            one, other = other, one
        may_be_one = [number for root in (one, other) if not self.excludes_one(root) for number in self._members[root]]
        self._set(self._members, one, self._members[one] + self._members[other])
        for number in self._members[other]:
            self._set(self._root, number, one)
        if not self._narrow(one, self._low[other], self._high[other], self._is_not_one[other], self._divisor[other]):
            return None
        return tuple(may_be_one) if self.excludes_one(one) else ()

    def _clauses_of(self, numbers: Iterable[int]) -> Iterator[Clause]:
        for number in numbers:
            yield from self._clauses.get(number, ())

    def _narrow(self, root: int, low: int, high: int, is_not_one: bool = False, divisor: int = 1) -> bool:
        """Narrow the possible values of a class. Return whether any value remains possible."""
        low, high = max(low, self._low[root]), min(high, self._high[root])
        is_not_one = is_not_one or self._is_not_one[root]
        divisor = lcm(divisor, self._divisor[root])
        if divisor > 1:
            is_not_one = True
            low += -low % divisor
            if high < MAX_SIZE or low + divisor > high:  # an unbounded size stays unbounded
                high -= high % divisor
            self._set(self._divisor, root, divisor)
        if is_not_one and low == 1:
            low = 2
        if is_not_one and high == 1:
            high = 0
        self._set(self._low, root, low)
        self._set(self._high, root, high)
        self._set(self._is_not_one, root, is_not_one)
        return low <= high

    def _set(self, values: list[Any], number: int, value: Any) -> None:
        """Change one entry in a list, and record the previous value in the undo log."""
        self._undo_log.append((values, number, values[number]))
        values[number] = value
