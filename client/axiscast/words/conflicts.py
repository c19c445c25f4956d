"""The sentences about conflicts: why shapes do not broadcast."""

from __future__ import annotations

from math import prod

from ..plan.alignment import Conflict, SizeOrName, Target
from ..plan.relations import Relation
from ..wire.shapes import MAX_SIZE
from .names import UNNAMED, Names, capitalized, joined
from .refusals import refusal_text

_MAX_SIZES = 4
"""The maximum number of conflicting sizes that a sentence states."""


def conflict_text(conflict: Conflict, names: Names = UNNAMED) -> str:
    """Return what is wrong, and what is expected."""
    if conflict.code != "size-mismatch":
        return refusal_text(conflict.reason, names)
    sizes = conflict.sizes
    if conflict.axes:
        text = _own_axes_text(conflict, names)
    elif len(sizes) > 2:
        text = _many_sizes_text(conflict, names)
    elif isinstance(conflict.owners[0], Target):
        return f"The attributes give output axis {conflict.axis} the sizes {sizes[0]} and {sizes[1]}. Give it one size."
    else:
        first = names.owner(conflict.owners[0], begins_sentence=True)
        text = f"{first} has size {sizes[0]} on output axis {conflict.axis}"
        if conflict.reason[0] is Relation.FROM_ONE:
            return f"{text}, but the op expands only axes of size 1."
        text = f"{text}, but {names.owner(conflict.owners[1])} has size {sizes[1]}"
    text = f"{text}. {_requirement_text(conflict, names)}."
    return "".join([text, *[_known_text(*each) for each in conflict.known]]) if conflict.known else text


def _own_axes_text(conflict: Conflict, names: Names) -> str:
    """Return a clause about sizes on axes of the inputs, as in a product."""
    owners, axes, sizes = [names.owner(owner) for owner in conflict.owners], conflict.axes, conflict.sizes
    if len(owners) == 2 and owners[0] == owners[1]:
        return f"Axes {axes[0]} and {axes[1]} of {owners[0]} have sizes {sizes[0]} and {sizes[1]}"
    sides = [f"axis {axes[place]} of {owner} has size {sizes[place]}" for place, owner in enumerate(owners)]
    return capitalized(", but ".join(sides))


def _many_sizes_text(conflict: Conflict, names: Names) -> str:
    """Return a clause about more than two sizes on an output axis."""
    pairs = [*zip(conflict.owners, conflict.sizes, strict=True)]
    sides = [f"{names.owner(owner)} has size {size}" for owner, size in pairs[:_MAX_SIZES]]
    more = len(pairs) - _MAX_SIZES
    if more > 0:
        sides.append(f"{more} other {'inputs have' if more > 1 else 'input has'} other sizes")
    return f"On output axis {conflict.axis}, {joined(sides)}"


_REQUIREMENTS: dict[str | Relation, str] = {
    Relation.BROADCAST: "The sizes must be equal, or one of them must be 1",
    Relation.EQUAL: "The op requires equal sizes, even if one of them is 1",
    Relation.TILES: "The second size must be a multiple of the first",
    "summed": "The op sums over these axes, so their sizes must be equal",
    "ellipsis": "Both axes belong to '...', so their sizes must be equal, or one of them must be 1",
    "split by 0": "The pattern splits this axis into ({}) with a length of 0, which fits no size",
    "split": "The pattern splits this axis into ({}), so its size must be a multiple of {}",
}
"""The sentence for each requirement, with places for its values."""


def _requirement_text(conflict: Conflict, names: Names) -> str:
    """Return what the sizes must be."""
    code, *values = conflict.reason
    if code is Relation.BROADCAST and len(conflict.sizes) > 2:
        return "All sizes other than 1 must be equal"
    if code is Relation.BROADCAST_TO:
        name, size = names.input(conflict.inputs[0] or 0, begins_sentence=True), conflict.sizes[-1]
        return f"{name} must have size {'1' if size == 1 else f'1 or {size}'} on this axis"
    if code == "label":
        word, label, relation = values
        sizes = "equal" if relation is Relation.EQUAL else "equal, or one of them must be 1"
        return f"Both axes have the {word} {label!r}, so their sizes must be {sizes}"
    if code == "product":
        if not values:
            return "The pattern has no name for this axis, so its size must be 1"
        labels = " * ".join([label for label, _ in values])
        lengths = " * ".join([str(length) for _, length in values])
        size = prod([length for _, length in values])
        limit = ", but the largest size is 2^63-1" if size > MAX_SIZE else ""
        return f"In the pattern, {labels} = {lengths}, so the size of this axis must be {size}{limit}"
    return _REQUIREMENTS[code].format(*values)


def _known_text(name: str, value: SizeOrName, divisor: int) -> str:
    """Return what other axes or assumptions require of a symbolic size, or "" if they require nothing."""
    low, dots, high = str(value).partition("..")
    facts = [f"{low} <= {name} <= {high}" if high else f"{name} {'>=' if dots else '='} {low}"]
    if str(value) in (name, "?"):
        facts = []
    if divisor > 1:
        facts.append(f"{name} to be a multiple of {divisor}")
    return f" Other axes or assumptions require {' and '.join(facts)}." if facts else ""
