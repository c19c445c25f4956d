"""What an answer must hold, as far as its question says it: another is no answer to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from ..errors import InvalidAnswer
from ..messages import CheckAnswer, Comparison
from ..messages.arguments import OpLike
from ..ops import Op, lower, op_class, read_op
from ..wire.dtypes import dtype_name
from ..wire.shapes import format_shape
from ..wire.tensors import Array, Strides, replicated_axes, strided_size

MAX_TENSORS = 2**16
"""Tensors of one field where the question does not say how many: more than any service answers."""


class Expected(NamedTuple):
    """A tensor before it comes; None where the question leaves a thing open."""

    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None
    strided: bool | None = None
    elements: int | None = None
    """The most elements that its data may have."""

    def refusal(self, dtype: str, shape: tuple[int, ...], strides: Strides | None) -> str | None:
        """Why a tensor is not the expected one, in words; None where it is."""
        if self.dtype not in (None, dtype):
            return f"a tensor is {dtype[:40]!r}, and {self.dtype} was asked for"
        if self.shape is not None and (
            len(shape) != len(self.shape)
            or any(wanted not in (None, size) for size, wanted in zip(shape, self.shape, strict=True))
        ):
            wanted_shape = format_shape("?" if size is None else size for size in self.shape)
            return f"a tensor has the shape {format_shape(shape)}, and {wanted_shape} was asked for"
        if self.strided not in (None, strides is not None):
            return f"a tensor is {'dense' if strides is None else 'strided'} where the other layout was asked for"
        count = prod(shape) if strides is None else strided_size(shape, strides)
        most = prod(shape) if self.elements is None else self.elements
        if count > most:
            return f"a tensor has {count} elements in its data, and {most} are the most that were asked for"
        return None


Fields = Mapping[str, Sequence[Expected] | None]
"""The tensors of an answer, by field; None: nothing is known of them."""


def instance(op: OpLike, attributes: Mapping[str, Sequence[int]] | None = None) -> Op | None:
    """The op with these attributes besides its own; None for an op that is not known here."""
    if isinstance(op, Op):
        return op.model_copy(update=dict(attributes)) if attributes else op
    values = {"name": op} if isinstance(op, str) else op
    try:
        return read_op({**values, **(attributes or {})})
    except (KeyError, ValidationError):
        return None


V = TypeVar("V", CheckAnswer, Comparison)


def verdict(answer: V, op: Any, inputs: int) -> V:
    """The answer to so many shapes, for an op as a request says it. Raises InvalidAnswer where it has a conflict and
    outputs too, or none of both, or another number of outputs than the op."""
    kind = op_class(str(op.get("name") if isinstance(op, Mapping) else op))
    if (answer.compatible is False) != (answer.conflict is not None):
        raise InvalidAnswer("the answer contradicts itself: a conflict stands where the shapes do not broadcast")
    count = 0 if answer.conflict else len(answer.outputs) if kind is None else kind.output_count(inputs)
    if len(answer.outputs) != count:
        raise InvalidAnswer(f"the answer has {len(answer.outputs)} outputs, not {count}")
    return answer


def outputs(op: OpLike, arrays: Sequence[Array], layout: str, window: Any) -> Sequence[Expected] | None:
    """The outputs of `broadcast`: of their inputs' dtypes, in the layout, and of the window's shape or the plan's.
    None for the name of an op that is not known here. Raises ShapeMismatch for inputs that do not broadcast.

    >>> outputs("numpy.broadcast_arrays", [np.zeros((2, 1)), np.zeros(3)], "dense", None)[1].shape
    (2, 3)
    """
    whole = instance(op)
    if whole is None:
        return None
    of_window = None if window is None else tuple(stop - start for start, stop in window)
    strided = layout == "strided"
    # A strided output holds none but elements of its input.
    return [
        Expected(
            dtype_name(array.dtype),
            placement.shape if of_window is None else of_window,
            strided,
            _distinct(array) if strided else None,
        )
        for placement in lower(whole, tuple(array.shape for array in arrays)).outputs
        for array in [arrays[placement.input]]
    ]


def gradients(shapes: Sequence[Sequence[int]], of_outputs: Sequence[Array]) -> Sequence[Expected]:
    """The gradients of inputs: of these shapes, each of the dtype of its output's gradient, dense or strided."""
    names = [dtype_name(array.dtype) for array in of_outputs]
    names += names[-1:] * (len(shapes) - len(names))
    return [Expected(name, tuple(shape)) for name, shape in zip(names, shapes, strict=False)]


def columns(op: OpLike, inputs: Sequence[Array], targets: Mapping[str, Array]) -> Fields:
    """The verdicts on n rows, and the shapes of each output: as many axes as the op reaches, at the most."""
    rows = len([*inputs, *targets.values()][0]) if inputs or targets else 0
    whole = instance(op, {name: (0,) * column.shape[1] for name, column in targets.items()})
    shapes = [(0,) * column.shape[1] for column in inputs]
    outputs = None
    if whole is not None:
        most = rows * whole.highest_rank(shapes)
        outputs = [Expected("int64", (rows, None), False, most)] * whole.output_count(len(inputs))
    return {
        "compatible": [Expected("bool", (rows,), False)],
        "outputs": outputs,
        "conflict_axis": [Expected("int64", (rows,), False)],
    }


def _distinct(array: Array) -> int:
    return prod(size for size, gone in zip(array.shape, replicated_axes(array), strict=True) if not gone)
