"""The sentences about an error, with the code of the expression that failed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..wire.shapes import format_shape
from .hints import HintFields, change_text
from .names import Names, as_primary, capitalized, joined

_ONE_HOT = {
    "torch": "use torch.nn.functional.one_hot({labels}, {classes}), or torch.nn.functional.cross_entropy",
    "jax": "use jax.nn.one_hot({labels}, {classes})",
    "jaxlib": "use jax.nn.one_hot({labels}, {classes})",
    "numpy": "use numpy.eye({classes})[{labels}]",
    "tensorflow": "use tf.one_hot({labels}, {classes})",
}
"""For each framework, the advice for an operand `labels` that contains class indices."""


def shapes_text(inputs: Sequence[Any], target: Any = None) -> str:
    """Return the shapes of the inputs, and the shape to which they broadcast."""
    shapes = joined([format_shape(shape) for shape in inputs])
    return shapes if target is None else f"{shapes} to {format_shape(target)}"


def operand_list(expression: str, operands: Sequence[tuple[str, Sequence[Any], str]]) -> str:
    """Return the expression that failed, with the name, the shape and the dtype of each operand that is known."""
    listed = [f"{name} {format_shape(shape)} {dtype}".rstrip() for name, shape, dtype in operands]
    return f"{expression}: {', '.join(listed)}." if listed else ""


def unknown_text(shapes: Sequence[Any]) -> str:
    """Return that an error is unknown, with the shapes in its message."""
    read = f" The text ends with the shapes {shapes_text(shapes)}." if shapes else ""
    return (
        f"axiscast does not know this error. Paste the end of the traceback, starting with the name of the exception, "
        f"or check the shapes directly.{read}"
    )


def invalid_shapes_text(detail: str) -> str:
    """Return why the shapes in a message can't be checked."""
    return f"The shapes in this message can't be checked. {capitalized(detail)}."


def refused_text(op: str, shapes: str) -> str:
    """Return that an op refuses the shapes in the message."""
    return f"{op} can't {'multiply' if op.endswith('matmul') else 'broadcast'} {shapes}."


def conditional_text(op: str, shapes: str, conditions: Sequence[str]) -> str:
    """Return the conditions under which an op accepts the shapes in the message."""
    return f"{op} broadcasts {shapes} only if {' and '.join(conditions)}."


def failed_text(op: str) -> str:
    """Return that an op failed."""
    return f"{op} failed."


def given_shapes_text(shapes: str) -> str:
    """Return the shapes in a message that does not state the op."""
    return f"The message contains the shapes {shapes}."


def missing_equation_text() -> str:
    """Return that the message about an einsum has no equation."""
    return "The message does not contain the equation, so the einsum can't be checked."


def joined_axis_text(axis: int, change: str) -> str:
    """Return how to join arrays on the only axis on which they differ."""
    return f"The shapes differ only on axis {axis}. To join the arrays along it, write `{change}`."


def fitting_text(op: str, shapes: str) -> str:
    """Return what may have failed if the shapes in the message fit."""
    return (
        f"{op} can broadcast {shapes}, so the message does not show the cause. Perhaps another argument causes the "
        f"error, or these are the shapes of other tensors."
    )


def in_place_text(
    target: str, operator: str, value: str, shape: Sequence[int], value_shape: Sequence[Any], framework: str
) -> str:
    """Return the fix of an operation in place, such as `a += b`, with the shapes of its target and its value."""
    reduced = f" Reduce `{value}` to shape {format_shape(shape)} first"
    if operator in "+-" and (arguments := _reduction(shape, value_shape, framework)):
        reduced += f", for example `{target} {operator}= {as_primary(value)}.sum({arguments})`"
    reduced = f"{reduced}." if prod(value_shape) > prod(shape) else ""
    other = f" If `{target}` should become larger, write `{target} = {target} {operator} {as_primary(value)}`."
    if target.endswith("]"):  # an assignment to an index can't change a shape either
        other = ""
    return f"An in-place operation can't change the shape of `{target}`.{reduced}{other}"


def _reduction(shape: Sequence[int], value_shape: Sequence[Any], framework: str) -> str:
    """Return the arguments of the sum that gives a value this shape, or "" if no sum does."""
    added = len(value_shape) - len(shape)
    wanted = [1] * added + [*shape]
    own = [1] * -added + [*value_shape]
    axes = [
        axis + min(added, 0) for axis, sizes in enumerate(zip(own, wanted, strict=True)) if sizes[0] != sizes[1] == 1
    ]
    if any(one != other and other != 1 for one, other in zip(own, wanted, strict=True)):
        return ""
    axis_name, keeping = ("dim", "keepdim") if framework == "torch" else ("axis", "keepdims")
    axis = f"{axis_name}={axes[0] if len(axes) == 1 else tuple(axes)}"
    if axes == [*range(added)]:
        return axis
    return f"{axis}, {keeping}=True" if added <= 0 else ""


def index_pairs_text(array: str, one: str, other: str) -> str:
    """Return how to select all pairs of two lists of indices."""
    return f"To select all index pairs, write `{as_primary(array)}[{as_primary(one)}[:, None], {as_primary(other)}]`."


def other_reading_text(vector: str, matrix: str, columns: int | str) -> str:
    """Return what a vector, whose fix gives one value to each row of a matrix, needs if it has one for each column."""
    return (
        f"This uses one value of `{vector}` for each row of `{matrix}`. If you want one value for each column, "
        f"`{vector}` must have size {columns}."
    )


def next_operand_text(result: Sequence[int | str], name: str, shape: Sequence[int]) -> str:
    """Return the warning that the result of a fixed matrix product and the next operand make a matrix."""
    return (
        f"The product then has shape {format_shape(result)}, and broadcasts with `{name}` of shape "
        f"{format_shape(shape)} to {format_shape((*shape, *shape))}. To avoid this, also append `.squeeze(-1)` to the "
        "product."
    )


def class_labels_text(labels: str, classes: int, framework: str) -> str:
    """Return the advice for an operand that may contain class indices."""
    advice = _ONE_HOT.get(framework, "convert it to one-hot vectors of length {classes}")
    return f"If {labels} contains class indices, {advice.format(labels=labels, classes=classes)}."


def features_text(built: Any, found: Any, owner: str, outputs: Any = None) -> str:
    """Return the fix of a linear layer that was built for other features."""
    exchanged = f", or swap the two arguments, because out_features is {outputs}" if outputs == found else ""
    return (
        f"The layer has in_features={built}, but the last axis of its {owner} has size {found}. Write "
        f"in_features={found}{exchanged}."
    )


def missing_shapes_text(names: Sequence[str], op: str) -> str:
    """Return which shapes to print if the message contains none."""
    operands = joined([f"`{name}`" for name in names]) or "the operands"
    checked = f"{op} with these shapes" if op else "them"
    return f"The message does not contain the shapes. Print the shapes of {operands}, and check {checked}."


def summed_sizes_text(one: int | str, other: int | str, right: str = "") -> str:
    """Return the sizes that conflict in a product, and how to transpose its second operand `right`."""
    fix = f" If the last axis of `{right}` has size {one}, write `{as_primary(right)}.swapaxes(-1, -2)`."
    return f"The sizes must be equal, but they are {one} and {other}.{fix if right else ''}"


def axis_sizes_text(sizes: Sequence[int | str], axis: int | None, names: Sequence[str] = ()) -> str:
    """Return the sizes that conflict on an axis. `names` has the names of two operands, if they are known."""
    where = "an axis" if axis is None else f"axis {axis} of the result"
    if not names:
        return f"Sizes {sizes[0]} and {sizes[1]} conflict on {where}. They must be equal, or one of them must be 1."
    one, other = (f"`{name}` has size {size}" for name, size in zip(names, sizes, strict=True))
    return f"On {where}, {one}, but {other}. The sizes must be equal, or one of them must be 1."


def one_axis_text(left: str, right: str, own: int, axis: int) -> str:
    """Return the fix if `right` is a vector for axis `own` of `left`. The sizes conflict on axis `axis`."""
    index = ", ".join([":", *["None"] * (axis - own)])
    return f"If `{right}` is a vector for axis {own} of `{left}`, write `{as_primary(right)}[{index}]`."


def first_axis_text(mask: str, axis: int) -> str:
    """Return the fix if the first axis of a mask is the first axis of the tensor."""
    code = f"{as_primary(mask)}[:{', None' * axis}]"
    return f"If `{mask}` belongs to the first axis of the tensor, write `{code}`."


def change_with_code(hint: HintFields, names: Names) -> str:
    """Return a change as a clause that begins with a verb, with its code if a short code exists."""
    text, number = change_text(hint, names), hint.get("input")
    if hint["code"] not in ("transpose", "swap-axes") or number is None:
        return text
    framework, name = hint["request"]["op"]["name"].partition(".")[0], names.code(number)
    if names.input(number).endswith(".T"):  # the weight of torch.nn.functional.linear
        return f"transpose {names.input(number)[:-2]}: write `{names.input(number)}`"
    if hint.get("suffix"):
        return text
    if len(hint["request"]["inputs"][number]) == 2 and framework != "tensorflow":
        return f"{text}: write `{name}.T`"
    if hint["code"] == "transpose" and framework == "tensorflow":
        return f"{text}: write `tf.linalg.matrix_transpose({names.input(number)})`"
    return text
