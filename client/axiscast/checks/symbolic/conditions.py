"""The conditions of an answer: the fewest and shortest clauses from which all others follow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...messages.conditions import Condition, Equation
from ...plan.size_solver import ONE, Clause, SizeSolver
from ...wire.cancellation import checkpoint
from ...wire.shapes import MAX_SIZE
from ...words.conditions import condition_text
from .symbol_table import SymbolTable


def conditions_of(clauses: Sequence[Clause], sizes: SizeSolver, variables: SymbolTable) -> list[Condition]:
    """Return the conditions under which all clauses hold. `sizes` is the solver that holds these clauses."""
    return [_condition(clause, variables) for clause in _needed(clauses, sizes, variables)]


def _needed(clauses: Sequence[Clause], sizes: SizeSolver, variables: SymbolTable) -> list[Clause]:
    """Return the shortest equivalent clauses, without clauses that follow from the other clauses and the bounds."""
    if all(map(partial(_is_free, variables), clauses)):
        # No clause can be shorter or left out. If it does not hold, the other clauses can hold, because all sizes that
        # are not in its equation can be 1.
        return list(clauses)
    shortest = [_shortest(clause, sizes, variables) for clause in clauses]
    base = SizeSolver(variables.bounds)
    needed: list[Clause] = []
    # Equations with integers are added last, because an equation of two names can imply them.
    for clause in sorted(shortest, key=lambda clause: any(map(variables.is_integer, clause.equation or ()))):
        if not clause.unless and not base.entails(clause):
            base.add(clause)
            needed.append(clause)
    for clause in [clause for clause in needed if clause.divides]:
        others = SizeSolver(variables.bounds)
        if all(others.add(other) for other in needed if other is not clause) and others.entails(clause):
            needed.remove(clause)
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


def _is_free(variables: SymbolTable, clause: Clause) -> bool:
    """Return whether a clause equates two names that can have any size, unless one of them is 1."""
    return (
        clause.equation is not None
        and not clause.divides
        and set(clause.unless) == set(clause.equation)
        and all(variables.bounds[number] == (0, MAX_SIZE) for number in clause.equation)
    )


def _shortest(clause: Clause, sizes: SizeSolver, variables: SymbolTable) -> Clause:
    """Return a clause without unnecessary parts.

    A divisor is replaced by the greatest known divisor of the size. If only one size is possible, the clause becomes an
    equation.
    """
    if clause.divides and clause.equation:
        number, divisor = clause.equation
        low, high = sizes.bounds(number)
        if not variables.is_integer(divisor):
            least, most = sizes.bounds(divisor)
            return Clause((divisor, variables.of(least))) if variables.is_integer(number) and least == most else clause
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
    """Return the condition that represents a clause in a response."""
    equations = [clause.equation] if clause.equation else []
    equations += [(number, ONE) for number in clause.unless]
    code, parts = "divides" if clause.divides else "equal", []
    for one, other in equations:
        if clause.divides or variables.is_integer(one):
            one, other = other, one
        parts.append(Equation.model_validate({code: (variables.sides[one], variables.sides[other])}))
    return Condition(code=code, any=parts, message=condition_text(parts))
