"""Solver: finds the sizes at which a node runs, if it fails at the sizes of a trial.

The two integers of a requirement depend on the named sizes. The solver changes one named size after the other, and
looks for a size, a bound, a multiple or a sum of other names at which the requirement holds. Every rule is confirmed by
further trials before it is reported.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from ...messages.findings import SizeRule
from .concrete_inference import ConcreteInference
from .trials import Trials

_STEP = 64
"""The size of which the solver takes multiples, because the strides of networks usually divide it."""
_LARGEST = 2**20
_MAX_CONSTANTS = 8
"""The maximum number of integers of a node that are tried as sizes."""
_MAX_NAMES = 12
"""The maximum number of names on which a requirement may depend."""
_OTHER_SIZES = (3, 7, 11)
"""Factors by which other names are changed to confirm a rule. Each of them is prime."""

NamedSizes = Mapping[str, int]


def apply_rules(rules: Iterable[SizeRule], sizes: NamedSizes) -> dict[str, int]:
    """Return the sizes, changed as little as possible so that they follow the rules, which are applied in order."""
    used = dict(sizes)
    for place, rule in enumerate(rules):
        size = used.get(rule.name, 1)
        if rule.kind == "equal":
            used[rule.name] = rule.size + sum(used.get(name, 0) * factor for name, factor in rule.terms)
        elif rule.kind == "multiple":
            used[rule.name] = size if size % rule.size == 0 else size * rule.size
        elif rule.kind == "at-most" and size > rule.size:
            used[rule.name] = max(1, rule.size - place)
        elif rule.kind == "at-least":
            used[rule.name] = max(size, rule.size)
    return used


@dataclass
class Solver:
    """The search for the rules of one node. `rules` are the rules of the nodes before it."""

    trials: Trials
    number: str
    failed: ConcreteInference
    rules: Sequence[SizeRule]
    example: NamedSizes

    def __post_init__(self) -> None:
        self._index = self.failed.broken(self.number)
        bound = {rule.name for rule in self.rules if rule.kind == "equal"}
        self._free = [name for name in self.failed.sizes if name not in bound]

    def solve(self) -> tuple[SizeRule, ...]:
        """Return the rules with which the requirement that failed holds, or () if no such sizes are found."""
        names = [name for name in self._free if self._depends_on(name)]
        if not 0 < len(names) <= _MAX_NAMES:
            return ()
        searches = (self._ties, self._one_name, self._multiples, self._sum, self._several)
        return next((rules for search in searches if (rules := search(names))), ())

    def _run(self, changed: NamedSizes) -> ConcreteInference:
        return self.trials.run(apply_rules(self.rules, {**self.failed.sizes, **changed}), self.number)

    def _fits(self, changed: NamedSizes) -> bool:
        """Return whether the requirement that failed holds, or else whether the node runs."""
        if self.trials.is_exhausted:
            return False
        trial = self._run(changed)
        if self._index is None:
            return trial.state(self.number) == "fits"
        found = trial.requirement(self.number, self._index)
        is_skipped = self.number not in trial.visited  # the node is in a branch that is not taken
        return is_skipped or (found is not None and found.holds)

    def _sides(self, changed: NamedSizes) -> tuple[int, int] | None:
        """Return the two integers of the requirement that failed, or None if they are unknown."""
        if self._index is None or self.trials.is_exhausted:
            return None
        found = self._run(changed).requirement(self.number, self._index)
        return (found.left.value, found.right.value) if found else None

    def _difference(self, changed: NamedSizes) -> int | None:
        sides = self._sides(changed)
        return sides[0] - sides[1] if sides else None

    def _depends_on(self, name: str) -> bool:
        """Return whether the requirement that failed, or else an input of the node, changes with the size."""
        changed = {name: 2 * self.failed.sizes[name] + 1}
        if self._index is not None:
            return self._sides(changed) != self._sides({})
        before, after = (self._run(sizes).inputs.get(self.number, ()) for sizes in ({}, changed))
        return [value.type for value in before] != [value.type for value in after]

    def _others(self, names: Sequence[str]) -> Iterator[dict[str, int]]:
        """Yield some sizes for the names. Each size is different from all other sizes."""
        yield {}
        for factor in _OTHER_SIZES[:2]:
            yield {
                name: size * (factor + place) for place, name in enumerate(names) if (size := self.failed.sizes[name])
            }

    def _holds(self, rules: Sequence[SizeRule], names: Sequence[str]) -> bool:
        """Return whether the node runs with the rules at three sizes of each other name."""
        others = [name for name in names if name not in {rule.name for rule in rules}]
        bounded = [rule.name for rule in rules if not rule.is_pin and not rule.terms]
        for sizes in self._others([*others, *bounded]):
            if not self._fits(apply_rules(rules, {**self.failed.sizes, **sizes})):
                return False
        return True

    def _ties(self, names: Sequence[str]) -> tuple[SizeRule, ...]:
        """Return the rule that two names are equal, such as t = s."""
        for one, other in combinations(names, 2):
            rule = SizeRule(other, "equal", terms=((one, 1),))
            if self._holds([rule], names):
                return (rule,)
        return ()

    def _one_name(self, names: Sequence[str]) -> tuple[SizeRule, ...]:
        """Return a rule for one name, whatever the other names are."""
        for name in names:
            for rule in self._rules_for(name, {}):
                if self._holds([rule], names):
                    return (rule,)
        return ()

    def _rules_for(self, name: str, others: NamedSizes) -> Iterator[SizeRule]:
        """Yield the rules for a name with which the node runs at the sizes `others`."""
        size = self.failed.sizes[name]

        def fits(value: int) -> bool:
            return value > 0 and self._fits({**others, name: value})

        if fits(_STEP * size):
            if fits(_STEP * size + 1) and fits(_STEP * size - 1):
                yield SizeRule(name, "at-least", _first(fits, size, _STEP * size))
            else:
                factor = _STEP
                while factor > 2 and all(fits(factor // 2 * prime) for prime in _OTHER_SIZES):
                    factor //= 2
                yield SizeRule(name, "multiple", factor)
        if size > 3 and fits(3) and fits(2):
            yield SizeRule(name, "at-most", _first(lambda value: not fits(value), 3, size) - 1)
        for value in dict.fromkeys(self._candidates(name, others)):
            if value not in (1, size) and fits(value):
                has_multiples = value > 1 and fits(2 * value) and fits(3 * value)
                if has_multiples:
                    yield SizeRule(name, "multiple", value)
                yield SizeRule(name, "equal", value, or_one=fits(1))

    def _candidates(self, name: str, others: NamedSizes) -> Iterator[int]:
        """Yield the sizes of a name at which the node may run: the example, a root of the difference, and constants."""
        if name in self.example:
            yield self.example[name]
        yield from self._roots((name,), others)
        yield from self._constants()

    def _roots(self, names: Sequence[str], others: NamedSizes) -> Iterator[int]:
        """Yield the first size at which the two integers of the requirement are equal, if all `names` have this size.

        The difference is assumed to be monotonic. A linear estimate is tried before the interval is halved.
        """

        def difference(size: int) -> int | None:
            return self._difference({**others, **dict.fromkeys(names, size)})

        low, high = 1, self.failed.sizes[names[0]]
        at_high, further = difference(high), difference(2 * high)
        if at_high is None or further is None or at_high == further:
            return
        linear, rest = divmod(at_high * high, at_high - further)
        exact = linear + high
        if rest == 0 and exact > 0 and difference(exact) == 0 and difference(exact - 1) != 0:
            yield exact
            return
        sign = 1 if further > at_high else -1
        while at_high is not None and sign * at_high < 0 and high < _LARGEST:
            low, high = high, 2 * high
            at_high = difference(high)

        def has_crossed(size: int) -> bool:
            found = difference(size)
            return found is not None and sign * found >= 0

        root = low + bisect_left(range(low, high), True, key=has_crossed)
        if difference(root) == 0:
            yield root

    def _constants(self) -> list[int]:
        """Return the integers of the node that do not depend on the sizes, the first ones in the node first."""
        found: dict[int, None] = {}
        for value in self.failed.inputs.get(self.number, ()):
            if value.array is not None and value.array.dtype.kind == "i":
                found |= dict.fromkeys(int(element) for element in value.array.reshape(-1)[:_MAX_CONSTANTS])
            else:
                dims = value.type.tensor_type.shape.dim
                found |= dict.fromkeys(size.dim_value for size in dims)
        used = {*self.failed.sizes.values()}
        return [number for number in found if 0 < number < _LARGEST and number not in used][:_MAX_CONSTANTS]

    def _sum(self, names: Sequence[str]) -> tuple[SizeRule, ...]:
        """Return the rule that a name is a sum of multiples of the other names and a constant."""
        rules = [rule for name in names if (rule := self._sum_for(name, names)) and self._holds([rule], names)]
        rules.sort(key=lambda rule: (rule.size < 0 or any(factor < 0 for _, factor in rule.terms), len(rule.terms)))
        return tuple(rules[:1])

    def _sum_for(self, name: str, names: Sequence[str]) -> SizeRule | None:
        others = [other for other in names if other != name]
        sizes = self.failed.sizes
        start = next(self._roots((name,), {}), None)
        if start is None:
            return None
        terms = []
        for other in others:
            changed = next(self._roots((name,), {other: 2 * sizes[other]}), None)
            if changed is None or (changed - start) % sizes[other]:
                return None
            terms.append((other, (changed - start) // sizes[other]))
        constant = start - sum(sizes[other] * factor for other, factor in terms)
        used = tuple((other, factor) for other, factor in terms if factor)
        return SizeRule(name, "equal", constant, used) if used else None

    def _multiples(self, names: Sequence[str]) -> tuple[SizeRule, ...]:
        """Return the rules that names are multiples of powers of two, such as the height and the width of an image."""
        sizes = self.failed.sizes
        large = {name: _STEP * sizes[name] for name in names}
        if not self._fits(large):
            return ()
        factors = dict.fromkeys(names, _STEP)
        for name in names:
            while factors[name] > 1 and self._fits({**large, name: factors[name] // 2 * sizes[name]}):
                factors[name] //= 2
        rules = tuple(SizeRule(name, "multiple", factor) for name, factor in factors.items() if factor > 1)
        return rules if rules and self._holds(rules, names) else ()

    def _several(self, names: Sequence[str]) -> tuple[SizeRule, ...]:
        """Return the sizes of several names at which the node runs, such as a height and a width of 224.

        If possible, the names that come first, such as the batch, stay free.
        """
        for first in reversed(range(len(names) - 1)):
            free = dict.fromkeys(names[:first], 1)
            for sizes in islice(self._sizes_of(names[first:], free), 2 * _MAX_CONSTANTS):
                rules = tuple(SizeRule(name, "equal", size) for name, size in sizes.items())
                if self._holds(rules, names):
                    return rules
        for sizes in islice(self._sizes_of(names, {}), 1):
            return tuple(SizeRule(name, "equal", size) for name, size in sizes.items())
        return ()

    def _sizes_of(self, names: Sequence[str], known: NamedSizes) -> Iterator[dict[str, int]]:
        """Yield sizes of the names at which the node runs, if other names have the sizes `known`."""
        given = {each: self.example[each] for each in names if each in self.example}
        if len(given) == len(names) and self._fits({**known, **given}):
            yield given
        for size in self._roots(names, known):
            if self._fits({**known, **dict.fromkeys(names, size)}):
                yield dict.fromkeys(names, size)
        for size in self._constants() if len(names) > 1 else []:
            yield from self._sizes_with(size, names, known)

    def _sizes_with(self, size: int, names: Sequence[str], known: NamedSizes) -> Iterator[dict[str, int]]:
        """Yield sizes of the names at which the node runs, if the first name has the given size."""
        name, *rest = names
        if rest:
            for others in self._sizes_of(rest, {**known, name: size}):
                yield {name: size, **others}
        elif self._fits({**known, name: size}):
            yield {name: size}


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first integer in (low, high] at which a condition holds, if it holds at `high` and from there on."""
    return low + 1 + bisect_left(range(low + 1, high), True, key=holds)
