"""The expected content of a response. The request determines which tensors and answers the response must contain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, TypeVar

from ..errors import InvalidAnswer
from ..messages import CheckAnswer, Comparison
from ..messages.arguments import OpLike, known_op
from ..ops import lower, op_class
from ..wire.dtypes import dtype_name
from ..wire.shapes import format_shape
from ..wire.tensors import Array, Strides, replicated_axes, strided_size

MAX_TENSORS = 2**16
"""The maximum number of tensors in a response field, if the request does not determine the number."""


class ExpectedTensor(NamedTuple):
    """The expected properties of a tensor in a response. A property is None if the request does not determine it."""

    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None
    is_strided: bool | None = None
    max_elements: int | None = None
    """The maximum number of elements in the tensor's data. If None, the limit is the product of its sizes."""

    def difference(self, dtype: str, shape: tuple[int, ...], strides: Strides | None) -> str | None:
        """Return a message that says how a received tensor differs from the expected tensor, or None if both agree."""
        if self.dtype not in (None, dtype):
            return f"a tensor is {dtype[:40]!r}, but {self.dtype} was requested"
        if self.shape is not None and (
            len(shape) != len(self.shape)
            or any(expected not in (None, size) for size, expected in zip(shape, self.shape, strict=True))
        ):
            expected_shape = format_shape("?" if size is None else size for size in self.shape)
            return f"a tensor has the shape {format_shape(shape)}, but {expected_shape} was requested"
        if self.is_strided not in (None, strides is not None):
            layouts = ("dense", "strided") if strides is None else ("strided", "dense")
            return "a tensor is {}, but {} was requested".format(*layouts)
        count = prod(shape) if strides is None else strided_size(shape, strides)
        limit = prod(shape) if self.max_elements is None else self.max_elements
        return f"the data of a tensor has {count} elements, more than the expected {limit}" if count > limit else None


ANY_TENSOR = ExpectedTensor()
ExpectedFields = Mapping[str, Sequence[ExpectedTensor] | None]
"""The expected tensors in each field of a response, or None for a field that the request does not determine."""


V = TypeVar("V", CheckAnswer, Comparison)


def check_consistency(answer: V, op: Any, inputs: int) -> V:
    """Return the answer to a check unchanged if it is consistent. `inputs` is the number of inputs in the request.

    Raises InvalidAnswer if the answer has both a conflict and outputs, or neither, the wrong number of outputs or
    broadcast inputs, or a `shape` that is not the shape of the first output.
    """
    kind = op_class(str(op.get("name") if isinstance(op, Mapping) else op))
    if (answer.compatible is False) != (answer.conflict is not None):
        raise InvalidAnswer(
            "the response contradicts itself: `compatible` must be false if and only if there is a conflict"
        )
    counts = {"broadcast_inputs": 0, "outputs": 0}
    if answer.conflict is None and kind is not None:
        counts = {"broadcast_inputs": kind.broadcast_input_count(inputs), "outputs": kind.output_count(inputs)}
    for field, expected in counts.items():
        found = len(getattr(answer, field))
        is_known = answer.conflict is not None or kind is not None  # else the op is new, and may have any number
        if is_known and found != expected:
            raise InvalidAnswer(f"the response has {found} {field.replace('_', ' ')}, not {expected}")
    first = answer.outputs[0].shape if answer.outputs else None
    if answer.__dict__["shape"] != first:  # the attribute `shape` would raise an error if there is no shape
        raise InvalidAnswer("the response contradicts itself: `shape` must be the shape of the first output")
    return answer


def expected_outputs(op: OpLike, arrays: Sequence[Array], layout: str, window: Any) -> Sequence[ExpectedTensor] | None:
    """Return the output tensors that the response to a broadcast request must contain.

    If this version of axiscast does not know the op, return None. Raises ShapeMismatch if the inputs do not broadcast.

    >>> expected_outputs("numpy.broadcast_arrays", [np.zeros((2, 1)), np.zeros(3)], "dense", None)[1].shape
    (2, 3)
    """
    whole_op = known_op(op)
    if whole_op is None:
        return None
    window_shape = None if window is None else tuple(stop - start for start, stop in window)
    is_strided = layout == "strided"
    expected = []
    for placement in lower(whole_op, tuple(array.shape for array in arrays)).outputs:
        array = arrays[placement.input]
        shape = placement.shape if window_shape is None else window_shape
        # The data of a strided output contains only the elements of the input.
        max_elements = _distinct_elements(array) if is_strided else None
        expected.append(ExpectedTensor(dtype_name(array.dtype), shape, is_strided, max_elements))
    return expected


def expected_gradients(input_shapes: Sequence[Sequence[int]], gradients: Sequence[Array]) -> Sequence[ExpectedTensor]:
    """Return the input gradients that the response to a gradient request must contain.

    Each input gradient has the dtype of the corresponding output gradient. It may be dense or strided.
    """
    names = [dtype_name(array.dtype) for array in gradients]
    names += names[-1:] * (len(input_shapes) - len(names))  # if the op has one output, its gradient is for all inputs
    return [ExpectedTensor(name, tuple(shape)) for name, shape in zip(names, input_shapes, strict=False)]


def expected_columns(op: OpLike, inputs: Sequence[Array], targets: Mapping[str, Array]) -> ExpectedFields:
    """Return the arrays that the response to a vectorized batch of n checks must contain.

    These arrays contain the verdict on each row, and the shapes after broadcasting. The exact rank of these shapes is
    unknown, but limited.
    """
    columns = [*inputs, *targets.values()]
    rows = len(columns[0]) if columns else 0
    whole_op = known_op(op, {name: (0,) * column.shape[1] for name, column in targets.items()})
    fixed = {
        "compatible": [ExpectedTensor("bool", (rows,), False)],
        "conflict_axis": [ExpectedTensor("int64", (rows,), False)],
    }
    if whole_op is None:
        return fixed | {"shape": [ExpectedTensor("int64")], "broadcast_inputs": None}
    max_elements = rows * whole_op.highest_rank([(0,) * column.shape[1] for column in inputs])
    shape = ExpectedTensor("int64", (rows, None), False, max_elements)
    return fixed | {"shape": [shape], "broadcast_inputs": [shape] * whole_op.broadcast_input_count(len(inputs))}


def _distinct_elements(array: Array) -> int:
    """Return the number of elements of an array that have different memory locations."""
    return prod(size for size, is_repeated in zip(array.shape, replicated_axes(array), strict=True) if not is_repeated)
