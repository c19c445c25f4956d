"""What clauses say of sizes, and all that follows from them.

A clause says that two sizes are equal, unless one of certain others is 1; or that a number divides a size.

Sizes that are equal form a class: a union-find structure, which is how compilers unify types (Tarjan, Efficiency of a
good but not linear set union algorithm, 1975). Each class has its bounds, a number that divides it, and whether it
can be 1. The smaller class is relabelled when two are joined, and every change is noted on a trail, so that a trial
is undone by taking back its notes; path compression, which would change more than is noted, is left out.

What follows is found by unit propagation, as in a solver for Boolean clauses (Dowling and Gallier, Linear-time
algorithms for testing the satisfiability of propositional Horn formulae, 1984): once none of the sizes that could
undo a clause can be 1, its equation holds; it joins two classes, which may leave further sizes that cannot be 1 and
so wake further clauses. That needs no search: a clause whose exception may still be 1 asks for nothing, so if the
sizes that are left agree at all, they do so with every size 1 that can be. The time is polynomial in the number of
clauses, which limits.py bounds, and within that bound every answer is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import lcm
from typing import Any

from ..wire.shapes import MAX_SIZE


@dataclass(frozen=True, slots=True)
class Clause:
    """The two sizes of `equation` are equal unless one of `unless` is 1; with no equation, one of `unless` is 1.

    Where it `divides`, the second, an integer, divides the first instead, and nothing undoes that.
    """

    equation: tuple[int, int] | None
    unless: tuple[int, ...] = ()
    divides: bool = False

    @property
    def key(self) -> tuple[frozenset[int], frozenset[int], bool]:
        """Equal for two clauses that say the same in another order."""
        return frozenset(self.equation or ()), frozenset(self.unless), self.divides

    def __or__(self, other: Clause) -> Clause:
        """Return that this clause holds or `other` does, which says that a variable is 1."""
        assert other.equation is not None
        number, one = other.equation
        assert one == ONE
        return Clause(self.equation, (*self.unless, number))


ONE = 0
"""The variable that is the size 1."""


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicSize:
    """A variable in the condition of a relation (relations.py): a comparison returns a Clause instead of a bool."""

    variable: int

    def __eq__(self, other: object) -> Clause:  # type: ignore[override]  # object.__eq__ returns a bool
        return Clause((self.variable, other.variable if isinstance(other, SymbolicSize) else ONE))

    def __mod__(self, divisor: SymbolicSize) -> _Remainder:
        return _Remainder(self.variable, divisor.variable)


@dataclass(frozen=True, slots=True, eq=False)
class _Remainder:
    """The remainder of a symbolic size: compared with 0, it returns the Clause that there is none."""

    variable: int
    divisor: int

    def __eq__(self, zero: object) -> Clause:  # type: ignore[override]  # object.__eq__ returns a bool
        assert zero == 0
        return Clause((self.variable, self.divisor), divides=True)


class SizeSolver:
    """What is known of each variable: its bounds, whether it is 1, and which others it equals; and what follows."""

    def __init__(self, bounds: Sequence[tuple[int, int]]) -> None:
        count = len(bounds)
        self._root = list(range(count))
        self._members: list[tuple[int, ...]] = [(number,) for number in range(count)]
        self._low = [low for low, _ in bounds]
        self._high = [high for _, high in bounds]
        self._apart = [False] * count
        """Not 1, although the bounds hold 1."""
        self._step = [1] * count
        """What divides it."""
        self._clauses: dict[int, list[Clause]] = {}
        """By each variable that can undo them."""
        self.left_out: set[Clause] = set()
        self._trail: list[tuple[list[Any], int, Any]] = []

    @contextmanager
    def trial(self) -> Iterator[None]:
        """A context at whose end all that was learnt in it is undone.

        >>> sizes = SizeSolver([(1, 1), (2, 5), (3, 9)])
        >>> with sizes.trial():
        ...     sizes.equate(1, 2), sizes.bounds(1)
        (True, (3, 5))
        >>> sizes.bounds(1)
        (2, 5)
        """
        mark = len(self._trail)
        try:
            yield
        finally:
            while len(self._trail) > mark:
                column, number, before = self._trail.pop()
                column[number] = before

    def add(self, clause: Clause) -> bool:
        """Whether sizes are left under this clause too."""
        for number in clause.unless:
            self._clauses.setdefault(number, []).append(clause)
        return self._follow([clause])

    def allows(self, clause: Clause) -> bool:
        """Whether sizes would be left."""
        with self.trial():
            return self._follow([clause])

    def equate(self, one: int, other: int) -> bool:
        """Whether sizes are left where these two are equal."""
        return self._follow([Clause((one, other))])

    def exclude_one(self, number: int) -> bool:
        """Whether sizes are left where this one is not 1."""
        if self.excludes_one(number):
            return True
        root = self._root[number]
        return self._narrow(root, 0, MAX_SIZE, True) and self._follow(self._woken(self._members[root]))

    def excludes_one(self, number: int) -> bool:
        root = self._root[number]
        return self._apart[root] or self._low[root] > 1 or self._high[root] < 1

    def bounds(self, number: int) -> tuple[int, int]:
        root = self._root[number]
        return self._low[root], self._high[root]

    def step(self, number: int) -> int:
        """The greatest number known to divide this one."""
        return self._step[self._root[number]]

    def members(self, number: int) -> tuple[int, ...]:
        """The variables known to be equal to this one, itself included."""
        return self._members[self._root[number]]

    def same(self, one: int, other: int) -> bool:
        """Whether these are known to be equal."""
        low, high = self.bounds(one)
        return self._root[one] == self._root[other] or (low == high and self.bounds(other) == (low, high))

    def admits(self, ones: Iterable[int] = (), others: Iterable[int] = ()) -> bool:
        """Whether sizes are left where `ones` are 1 and `others` are not."""
        with self.trial():
            return all(self.equate(number, ONE) for number in ones) and all(map(self.exclude_one, others))

    def entails(self, clause: Clause) -> bool:
        """Whether a clause holds for all sizes that are left."""
        if clause.divides and clause.equation:
            (low, high), (divisor, _) = map(self.bounds, clause.equation)
            return (low if low == high else self.step(clause.equation[0])) % divisor == 0
        with self.trial():
            if not all(map(self.exclude_one, clause.unless)):
                return True
            return clause.equation is not None and not self._may_differ(*clause.equation)

    def _may_differ(self, one: int, other: int) -> bool:
        # Two sizes that differ are not both 1. Then the second is 1, or free, or bound to another size.
        for first, second in ((one, other), (other, one)):
            with self.trial():
                if self.exclude_one(first) and not (self.excludes_one(second) and self.same(first, second)):
                    return True
        return False

    def _follow(self, clauses: Iterable[Clause]) -> bool:
        """Whether sizes are left once all that follows from these clauses is known."""
        stack = list(clauses)
        while stack:
            clause = stack.pop()
            if (self.left_out and clause in self.left_out) or not all(map(self.excludes_one, clause.unless)):
                continue
            if clause.equation is None:
                return False
            one, other = (self._root[number] for number in clause.equation)
            if one == other:
                continue
            if clause.divides:
                woken = () if self.excludes_one(one) else self._members[one]
                if not self._narrow(one, 0, MAX_SIZE, False, self._low[other]):
                    return False
                stack += self._woken(woken)
                continue
            if len(self._members[one]) < len(self._members[other]):
                one, other = other, one
            undecided = [root for root in (one, other) if not self.excludes_one(root)]
            stretched = [number for root in undecided for number in self._members[root]]
            self._set(self._members, one, self._members[one] + self._members[other])
            for number in self._members[other]:
                self._set(self._root, number, one)
            if not self._narrow(one, self._low[other], self._high[other], self._apart[other], self._step[other]):
                return False
            if self.excludes_one(one):
                stack += self._woken(stretched)
        return True

    def _woken(self, numbers: Iterable[int]) -> Iterator[Clause]:
        for number in numbers:
            yield from self._clauses.get(number, ())

    def _narrow(self, root: int, low: int, high: int, apart: bool, step: int = 1) -> bool:
        low, high, apart = max(low, self._low[root]), min(high, self._high[root]), apart or self._apart[root]
        step = lcm(step, self._step[root])
        if step > 1:
            apart = True
            low += -low % step
            if high < MAX_SIZE or low + step > high:  # what is open stays so
                high -= high % step
            self._set(self._step, root, step)
        if apart and low == 1:
            low = 2
        if apart and high == 1:
            high = 0
        self._set(self._low, root, low)
        self._set(self._high, root, high)
        self._set(self._apart, root, apart)
        return low <= high

    def _set(self, column: list[Any], number: int, value: Any) -> None:
        self._trail.append((column, number, column[number]))
        column[number] = value
