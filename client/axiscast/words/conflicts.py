"""The sentences about conflicts: why shapes do not broadcast."""

from __future__ import annotations

from ..plan.alignment import Conflict, SizeOrName, SizeReason
from ..plan.relations import Relation
from .names import UNNAMED, Names

_MAX_SIZES = 4
"""The maximum number of conflicting sizes that a sentence states."""


def conflict_text(conflict: Conflict, names: Names = UNNAMED) -> str:
    """Return what is wrong, and what is expected."""
    if conflict.sentence:
        parts = enumerate(conflict.sentence)
        return "".join([part if isinstance(part, str) else names.owner(part, place == 0) for place, part in parts])
    more = f" (and {len(conflict.sizes) - _MAX_SIZES} more sizes)" if len(conflict.sizes) > _MAX_SIZES else ""
    owners = [names.owner(owner) for owner in conflict.owners[:_MAX_SIZES]]
    pairs = [*zip(owners, conflict.sizes, strict=False)]
    if conflict.axes:
        sides = zip(conflict.axes, pairs, strict=False)
        text = " and ".join([f"axis {axis} of {owner} has size {size}" for axis, (owner, size) in sides])
        text = f"A{text[1:]}"
    else:
        *others, last = [f"{owner} has size {size}" for owner, size in pairs]
        text = f"On output axis {conflict.axis}, {', '.join(others)} but {last}"
    return f"{text}{more}{_known_text(conflict.known)}: {_requirement_text(conflict.requirement)}."


_REQUIREMENTS: dict[str | Relation, str] = {
    Relation.BROADCAST: "the sizes must be equal or 1",
    Relation.BROADCAST_TO: "the size of an input must be 1 or equal to the target's size",
    Relation.EQUAL: "the sizes must be equal, because size 1 does not expand here",
    Relation.FROM_ONE: "a named axis must have size 1 before it expands",
    Relation.TILES: "the second size must be a multiple of the first",
    "summed": "the op sums over these axes, so their sizes must be equal",
    "ellipsis": "the ellipsis broadcasts these axes, so their sizes must be equal or 1",
    "split": "the pattern splits ({}) by {}, which does not divide it",
}
"""The sentence for each requirement, with places for its values."""


def _requirement_text(requirement: SizeReason) -> str:
    code, *values = requirement
    if code == "label":
        word, label, relation = values
        sizes = "equal" if relation is Relation.EQUAL else "equal or 1"
        return f"{word} {label!r} names these axes, so their sizes must be {sizes}"
    if code == "product":
        return f"the pattern needs {' * '.join(f'{name}={length}' for name, length in values) or '1'}"
    return _REQUIREMENTS[code].format(*values)


def _known_text(known: tuple[tuple[str, SizeOrName, int], ...]) -> str:
    """Return a clause about the symbolic sizes that cause a conflict, or "" if nothing is known about them."""
    facts = []
    for name, value, divisor in known:
        words = [str(value)] if str(value) not in (name, "?") else []
        words += [f"a multiple of {divisor}"] if divisor > 1 else []
        facts.append(f"{name} is {', '.join(words)}")
    return f", where {' and '.join(facts)}" if facts else ""
