"""Advice about the errors in error_topics.py that depends on the values in the message.

Each function returns a sentence, an empty string if it has no advice, or None if the values can't be right. In its
code, `[[x|(2, 3)]]` stands for the name of the array with this shape, or for `x` if this name is unknown.
"""

from __future__ import annotations

from math import prod

from ..plan.plan import Shape
from ..wire.wording import count_of


def last_index(size: int) -> str:
    """Return the last index of an axis of this size."""
    return f"The last index is {size - 1}." if size > 0 else ""


def mask(mask: Shape, array: Shape) -> str:
    """Return the index with which a mask fits the axes of a tensor."""
    axis = mask_axis(mask, array)
    return mask_text(f"[[x|{array}|0]]", f"[[mask|{mask}|1]]", axis) if axis else ""


def mask_text(array: str, mask: str, axis: int) -> str:
    """Return the index with which the mask in a variable fits an axis of an array."""
    return f"The mask fits axis {axis}: write `{array}[{':, ' * axis}{mask}]`."


def mask_axis(mask: Shape, array: Shape) -> int:
    """Return the axis after the first one at which a mask fits an array, or 0 if there is none."""
    return next((axis for axis in range(1, len(array)) if mask and array[axis : axis + len(mask)] == mask), 0)


def row(rank: int, other_rank: int, number: int | None = None, other: int | None = None) -> str:
    """Return how to join an array with its rows. The numbers of the two inputs are optional."""
    lower = min(rank, other_rank)
    place = "" if number is None else f"|{number if rank < other_rank else other}"
    code = f"[[x|rank {lower}{place}]][None]"
    return (
        f"To add axis 0 to the input with {count_of(lower, 'axis', 'axes')}, write `{code}`."
        if abs(rank - other_rank) == 1
        else ""
    )


def reshape(size: int, new: Shape) -> str:
    """Return how to reshape an array of another number of elements."""
    known = prod(part for part in new if part != -1)
    if -1 in new:
        return f"The array has {size} elements, which is not a multiple of {known}, the product of the other sizes."
    start = f"The array has {size} elements, but the new shape {new} has {known}."
    for axis in reversed(range(len(new))):
        others = prod((*new[:axis], *new[axis + 1 :]))
        if others and size % others == 0:
            changed = (*new[:axis], size // others, *new[axis + 1 :])
            free = (*new[:axis], -1, *new[axis + 1 :])
            return f"{start} If axis {axis} may change, write {free}, which gives {changed}."
    return start


def channels(shape: Shape, wanted: int, found: int) -> str | None:
    """Return how to convolve an input with other channels."""
    if len(shape) < 3:
        return None
    if shape[-1] == wanted:
        order = ", ".join(map(str, (0, len(shape) - 1, *range(1, len(shape) - 1))))
        return f"If the channels are on the last axis, write `[[x|{shape}|0]].permute({order})`."
    return f"If axis 1 has the channels, build the layer with in_channels={found}."


def normalized_shape(built: Shape, shape: Shape) -> str | None:
    """Return how to build a layer norm for an input."""
    found = shape[-len(built) :]
    wanted = found[0] if len(found) == 1 else found
    return f"Build it with normalized_shape={wanted}." if 0 < len(built) <= len(shape) else None


def batches(stack: int, columns: int, other_stack: int) -> str:
    """Return how to transpose the second operand of a batched product, unless the stacks have different sizes."""
    fix = f"If the last axis of the second has size {columns}, write `[[y||1]].transpose(1, 2)`."
    return fix if stack == other_stack else ""


def target(target: Shape, scores: Shape) -> str:
    """Return how to give a target the shape of the input of a loss."""
    fix = f"Write `[[target|{target}|1]].view_as([[input|{scores}|0]])`."
    return fix if prod(target) == prod(scores) else ""


def keras_target(target: tuple[int | None, ...], output: tuple[int | None, ...]) -> str:
    """Return the losses that need a target of one axis less than the output."""
    fix = "For targets that are class indices, use a loss whose name begins with sparse_."
    return fix if len(target) == len(output) - 1 else ""


def assigned(variable: Shape, value: Shape) -> str:
    """Return how to transpose a value that has the exchanged axes of its variable."""
    fix = f"If the axes of the value are swapped, write `tf.transpose([[x|{value}|0]])`."
    return fix if len(value) > 1 and value == variable[::-1] else ""
