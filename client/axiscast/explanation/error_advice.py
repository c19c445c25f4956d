"""Explanations of the errors in error_topics.py that depend on the values in the message.

If a shape has too few axes for the explanation, it is an empty string. In the code of an explanation, `[[x|(2, 3)]]`
stands for the name of the array with this shape, or for `x` if this name is unknown.
"""

from __future__ import annotations

from math import prod

from ..plan.plan import Shape


def mask(mask: Shape, array: Shape) -> str:
    """Explain a mask that does not fit the first axes of a tensor."""
    start = f"The mask has shape {mask}, but the tensor has shape {array}."
    axis = mask_axis(mask, array)
    code = f"[[x|{array}|0]][{':, ' * axis}[[mask|{mask}|1]]]"
    return f"{start} The mask fits axis {axis}: write `{code}`." if axis else start


def mask_axis(mask: Shape, array: Shape) -> int:
    """Return the axis after the first one at which a mask fits an array, or 0 if there is none."""
    return next((axis for axis in range(1, len(array)) if mask and array[axis : axis + len(mask)] == mask), 0)


def join_ranks(one: int, rank: int, other: int, other_rank: int) -> str:
    """Explain joined arrays of different ranks."""
    start = f"Input {one} has {rank} axes, but input {other} has {other_rank}."
    shorter = one if rank < other_rank else other
    name = f"[[x|rank {min(rank, other_rank)}|{shorter}]]"
    return f"{start} If input {shorter} is one row, write `{name}[None]`." if abs(rank - other_rank) == 1 else start


def tensor_ranks(rank: int, other_rank: int) -> str:
    """Explain joined tensors of different ranks."""
    start = f"One tensor has {rank} axes, but another has {other_rank}."
    shorter = f"[[x|rank {min(rank, other_rank)}]]"
    return f"{start} If the shorter one is one row, write `{shorter}[None]`." if abs(rank - other_rank) == 1 else start


def reshape(size: int, new: Shape) -> str:
    """Explain a reshape to another number of elements."""
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


def channels(shape: Shape, wanted: int, found: int) -> str:
    """Explain a convolution of an input with other channels."""
    if len(shape) < 3:
        return ""
    start = f"The layer was built for {wanted} channels, but axis 1 of its input {shape} has size {found}."
    if shape[-1] == wanted:
        order = ", ".join(map(str, (0, len(shape) - 1, *range(1, len(shape) - 1))))
        return f"{start} If the channels are on the last axis, write `[[x|{shape}|0]].permute({order})`."
    return f"{start} If axis 1 has the channels, build the layer with in_channels={found}."


def normalized_shape(built: Shape, shape: Shape) -> str:
    """Explain a layer norm that was built for another shape."""
    if not 0 < len(built) <= len(shape):
        return ""
    found = shape[-len(built) :]
    wanted = f"{found[0]}" if len(found) == 1 else f"{found}"
    return (
        f"The layer was built for {built}, but the last axes of its input {shape} are {found}: build it with "
        f"normalized_shape={wanted}."
    )


def normalized_channels(weight: Shape, shape: Shape) -> str:
    """Explain a group norm that was built for other channels."""
    if not weight or len(shape) < 2:
        return ""
    return (
        f"The layer was built for {weight[0]} channels, but axis 1 of its input {shape} has size {shape[1]}: write "
        f"num_channels={shape[1]}."
    )


def batches(stack: int, columns: int, other_stack: int, rows: int) -> str:
    """Explain a batched product of tensors with three axes."""
    start = (
        f"The first operand has {stack} matrices with {columns} columns, but the second has {other_stack} matrices "
        f"with {rows} rows."
    )
    if stack != other_stack:
        return start
    return f"{start} If the last axis of the second has size {columns}, write `[[y||1]].transpose(1, 2)`."


def target(target: Shape, scores: Shape) -> str:
    """Explain a loss that needs a target of the input's shape."""
    start = f"The target has shape {target}, but the input has shape {scores}."
    if prod(target) == prod(scores):
        return f"{start} Write `[[target|{target}|1]].view_as([[input|{scores}|0]])`."
    return start


def keras_target(target: tuple[int | None, ...], output: tuple[int | None, ...]) -> str:
    """Explain a Keras loss that needs a target of the output's rank."""
    start = f"The target has shape {target}, but the output has shape {output}."
    if len(target) == len(output) - 1:
        return f"{start} For targets that are class indices, use a loss whose name begins with sparse_."
    return start


def assigned(variable: Shape, value: Shape) -> str:
    """Explain a value of another shape than its variable."""
    start = f"The variable has shape {variable}, but the value has shape {value}."
    if len(value) > 1 and value == variable[::-1]:
        return f"{start} If the axes of the value are exchanged, write `tf.transpose([[x|{value}|0]])`."
    return start
