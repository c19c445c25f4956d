"""The sentences about conflicts: why shapes do not broadcast."""

from __future__ import annotations

from ..plan.alignment import Conflict, Reason, SizeOrName
from ..plan.relations import Relation
from .names import UNNAMED, Names, capitalized
from .refusals import refusal_text

_MAX_SIZES = 4
"""The maximum number of conflicting sizes that a sentence states."""


def conflict_text(conflict: Conflict, names: Names = UNNAMED) -> str:
    """Return what is wrong, and what is expected."""
    if conflict.code != "size-mismatch":
        return refusal_text(conflict.reason, names)
    more = f" (and {len(conflict.sizes) - _MAX_SIZES} more sizes)" if len(conflict.sizes) > _MAX_SIZES else ""
    owners = [names.owner(owner) for owner in conflict.owners[:_MAX_SIZES]]
    sizes = [_size_text(str(size), conflict.known) for size in conflict.sizes]
    pairs = [*zip(owners, sizes, strict=False)]
    if conflict.axes and len(owners) == 2 and owners[0] == owners[1]:
        text = f"Axes {conflict.axes[0]} and {conflict.axes[1]} of {owners[0]} have sizes {sizes[0]} and {sizes[1]}"
    elif conflict.axes:
        sides = zip(conflict.axes, pairs, strict=False)
        text = capitalized(" and ".join([f"axis {axis} of {owner} has size {size}" for axis, (owner, size) in sides]))
    elif conflict.reason[0] is Relation.FROM_ONE:
        text = f"On output axis {conflict.axis}, {owners[0]} has size {sizes[0]}"
        return f"{text}: an axis must have size 1 to expand to size {sizes[-1]}."
    else:
        *others, last = [f"{owner} has size {size}" for owner, size in pairs]
        text = f"On output axis {conflict.axis}, {', '.join(others)} but {last}"
    return f"{text}{more}: {_requirement_text(conflict.reason)}."


_REQUIREMENTS: dict[str | Relation, str] = {
    Relation.BROADCAST: "the sizes must be equal or 1",
    Relation.BROADCAST_TO: "the size of an input must be 1 or equal to the target's size",
    Relation.EQUAL: "the sizes must be equal, because size 1 does not expand here",
    Relation.TILES: "the second size must be a multiple of the first",
    "summed": "the op sums over these axes, so their sizes must be equal",
    "ellipsis": "the ellipsis broadcasts these axes, so their sizes must be equal or 1",
    "split by 0": "the pattern splits ({}) by 0, which divides no size",
    "split": "to be split into ({}), it must be a multiple of {}",
}
"""The sentence for each requirement, with places for its values."""


def _requirement_text(requirement: Reason) -> str:
    code, *values = requirement
    if code == "label":
        word, label, relation = values
        sizes = "equal" if relation is Relation.EQUAL else "equal or 1"
        return f"{word} {label!r} names these axes, so their sizes must be {sizes}"
    if code == "product":
        names, lengths = [" * ".join([str(value[side]) for value in values]) for side in (0, 1)]
        return f"the pattern needs {names} = {lengths}" if names else "the pattern needs size 1"
    return _REQUIREMENTS[code].format(*values)


def _size_text(size: str, known: tuple[tuple[str, SizeOrName, int], ...]) -> str:
    """Return a size with what is known about it, such as "N = 3", "N >= 4" or "N (2 to 8, a multiple of 2)"."""
    facts = []
    for name, value, divisor in known:
        if name == size:
            low, dots, high = str(value).partition("..")
            if high:
                facts.append(f"{low} to {high}")
            elif str(value) not in (name, "?"):
                size = f"{name} >= {low}" if dots else f"{name} = {value}"
            if divisor > 1:
                facts.append(f"a multiple of {divisor}")
            break
    return f"{size} ({', '.join(facts)})" if facts else size
