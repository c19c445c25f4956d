"""A request with the rule's verdict, whether a release agrees with it, and whether it differs as a warning says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from axiscast.engine.views import output_view
from axiscast.ops import Op, lower
from axiscast.ops.einsum import LabeledProduct
from axiscast.ops.equation import ELLIPSIS
from axiscast.ops.families import Choice, Elementwise, MatrixProduct
from axiscast.plan.alignment import Conflict, ShapeMismatch

from .draws import Drawn, Shape
from .operations import arrays, even

Array = np.ndarray[Any, np.dtype[Any]]


class Result(NamedTuple):
    """What the release did (see programs.py)."""

    inferred: list[Shape] | None = None
    shapes: list[Shape] | None = None
    values: list[list[float]] | None = None
    raised: str | None = None
    ended: int = 0


class Case:
    """A request; `expected`, the results by the rule, or None if it refuses; and the warning, if there is one."""

    def __init__(self, op: Op, drawn: Drawn) -> None:
        self.drawn = drawn
        self.request = {"op": {"name": op.name, **drawn[0]}, "inputs": drawn[1]}
        self.op = op
        self.expected: list[Array] | None = None
        self.conflict: Conflict | None = None
        """The reason why the rule refuses the request."""
        try:
            self.expected = computed(op, drawn[1])
        except ShapeMismatch as incompatible:
            self.conflict = incompatible.conflict
        self.warning = op.known_deviation(drawn[1], self.conflict)

    def agrees(self, result: Result) -> bool:
        """Whether the release refuses what the rule refuses, and otherwise gives the same shapes and values."""
        if self.expected is None:
            return result.inferred is None and result.raised is not None
        if result.ended or result.raised or result.shapes is None or result.values is None:
            return False
        return result.shapes == [one.shape for one in self.expected] and all(
            np.allclose(one.ravel(), values) for one, values in zip(self.expected, result.values, strict=True)
        )

    def holds(self, result: Result) -> bool:
        """Return whether the release behaves as the warning says, or as the rule if there is no warning.

        If the warning says that the release may differ, both are right.
        """
        if self.warning is None:
            return self.agrees(result)
        (said,) = (said for words, said in SAID.items() if words in self.warning)
        if self.agrees(result):
            return " may " in self.warning
        return said(self, result)


def computed(op: Op, shapes: tuple[Shape, ...]) -> list[Array]:
    """The results of an op on `arrays(shapes)`. Raises ShapeMismatch if the rule refuses the shapes."""
    plan = lower(op, shapes)
    inputs: list[Array] = arrays([list(shape) for shape in shapes])
    if isinstance(op, Choice) or op.name == "onnx.Where":
        inputs[0] = even(inputs[0])
    placed = [output_view(output, inputs[output.input]).reshape(output.shape) for output in plan.outputs]
    if op.name == "onnx.Gemm":
        return [_gemm(op, *inputs[:2], *placed)]
    if isinstance(op, LabeledProduct):
        return [_contracted(op, placed)]
    if isinstance(op, MatrixProduct):
        return [_multiplied(*placed, *map(len, shapes))]
    if isinstance(op, Elementwise):
        return [np.where(*placed) if placed[0].dtype == bool else COMPUTED.get(op.name, _summed)(*placed)]
    return placed


def _gemm(op: Any, a: Array, b: Array, c: Array | None = None) -> Array:
    alpha, beta = (1 if factor is None else factor for factor in (op.alpha, op.beta))
    product: Array = alpha * ((a.T if op.transA else a) @ (b.T if op.transB else b))
    return product if c is None else product + beta * c


def _summed(*operands: Array) -> Array:
    return reduce(np.add, operands)


def _multiplied(left: Array, right: Array, left_rank: int, right_rank: int) -> Array:
    """The product of operands that are broadcast already, without the axes of size 1 that vectors got."""
    product: Array = np.einsum("...mk,...kn->...mn", left, right)
    product = product[..., 0] if right_rank == 1 else product
    return product[..., 0, :] if left_rank == 1 < right_rank else product[..., 0] if left_rank == 1 else product


def _contracted(op: LabeledProduct, operands: list[Array]) -> Array:
    """The einsum of operands that are broadcast already; 0 outside the diagonal of a label that the result repeats."""
    equation = op.parsed()
    terms = zip(operands, equation.operands, strict=True)
    most = max((array.ndim - len(labels) + 1 for array, labels in terms if ELLIPSIS in labels), default=0)
    numbers: dict[str, int] = {}

    def axes(labels: Sequence[str]) -> list[int]:
        names = [name for one in labels for name in ([f"{one}{n}" for n in range(most)] if one == ELLIPSIS else [one])]
        return [numbers.setdefault(name, len(numbers)) for name in names]

    pairs = [part for pair in zip(operands, map(axes, equation.operands), strict=True) for part in pair]
    result = axes(equation.result)
    unique = list(dict.fromkeys(result))
    product: Array = np.einsum(*pairs, unique)
    if not all(array.size for array in operands):  # NumPy may return undefined values for views without elements
        product = np.zeros_like(product)
    sizes = dict(zip(unique, product.shape, strict=True))
    whole = np.zeros([sizes[axis] for axis in result], product.dtype)
    indices = np.indices(product.shape)
    whole[tuple(indices[unique.index(axis)] for axis in result)] = product
    return whole


COMPUTED: dict[str, Callable[..., Array]] = {
    "onnx.Max": lambda *operands: reduce(np.maximum, operands),
    "onnx.Min": lambda *operands: reduce(np.minimum, operands),
    "onnx.Mean": lambda *operands: reduce(np.add, operands) / np.float32(len(operands)),
    "mindspore.maximum": np.maximum,
    "torch.masked_fill": lambda x, mask, *value: np.where(even(mask), value[0] if value else 0, x),
    "onnx.PRelu": lambda x, slope: np.where(x < 0, x * slope, x),
    "litert.PRELU": lambda x, slope: -x * slope,
}
"""The results of operations that do not add."""


def _accepts(case: Case, result: Result) -> bool:
    return case.expected is None and result.inferred is not None


def _accepts_as_0(case: Case, result: Result) -> bool:
    return _accepts(case, result) and 0 in (result.inferred or [()])[0]


def _accepts_at_first(case: Case, result: Result) -> bool:
    return _accepts_as_negative(case, result) and result.raised is not None


def _accepts_as_negative(case: Case, result: Result) -> bool:
    return _accepts(case, result) and min((result.inferred or [()])[0], default=0) < 0


def _gives_second(case: Case, result: Result) -> bool:
    return _accepts(case, result) and result.shapes == [case.drawn[1][1]]


def _gives_both(case: Case, result: Result) -> bool:
    return _accepts(case, result) and result.shapes == [np.broadcast_shapes(*case.drawn[1])]


def _gives_longer_stack(case: Case, result: Result) -> bool:
    longer = max(case.drawn[1], key=len)[:-2]
    return result.shapes is not None and result.shapes[0][: len(longer)] == longer


def _fails(case: Case, result: Result) -> bool:
    return case.expected is not None and result.raised is not None


def _dies(case: Case, result: Result) -> bool:
    return case.expected is not None and result.inferred is not None and result.ended != 0


def _gives_another_shape(case: Case, result: Result) -> bool:
    if case.expected is None or result.ended or result.raised:
        return case.expected is not None
    return result.shapes != [one.shape for one in case.expected]


def _gives_other_values(case: Case, result: Result) -> bool:
    return case.expected is not None and result.shapes == [one.shape for one in case.expected]


def _gives_1_for_0(case: Case, result: Result) -> bool:
    if case.expected is None or result.shapes is None:
        return False
    return (0, 1) in zip(case.expected[0].shape, result.shapes[0], strict=True)


SAID: dict[str, Callable[[Case, Result], bool]] = {
    "may fail, or end the process, if this operator": _gives_another_shape,
    "returns a scalar if each input": lambda case, result: result.shapes == [()],
    "may return a tensor with a negative size": _accepts_as_negative,
    "and returns a tensor of negative shape": _accepts_as_negative,
    "Until then, the array has this shape": _accepts_at_first,
    "Until then, the tensor has this shape": _accepts_at_first,
    "reads a target size below -1 as 0": _accepts_as_0,
    "combines a size 0 of input 1 with a size 1 of input 0": _accepts_as_0,
    "does not compare sizes if a tensor is empty": _gives_second,
    "also expands PRelu's X": _gives_both,
    "may accept this repeated name": _accepts,
    "PyTorch may accept this length": _accepts,
    "accepts a negative number of copies": _accepts,
    "reads a negative number of copies as 0": _accepts_as_0,
    "may accept a repeated axes_mapping in shape inference": _accepts,
    "may accept a negative size in a constant target": _accepts,
    "may accept this in shape inference, and fail": _accepts,
    "fails when it runs this: its": _fails,
    "fails when it runs this: a product": _fails,
    "fails when it runs this: a diagonal": _fails,
    "reads input 1 as a bias, not a vector": _fails,
    "adds input 1 as a bias along": lambda case, result: result.shapes == [case.drawn[1][0]],
    "compares these sizes only in": lambda case, result: _accepts(case, result) and result.raised is not None,
    "refuses this, because its pdpd mode": _fails,
    "ends the process, fails, or returns a different shape": _gives_another_shape,
    "does not compare the stacks of matrices if a tensor is empty": _accepts,
    "it uses the stack with more axes": _gives_longer_stack,
    "may return undefined values": _gives_other_values,
    "does not compare a size 0 on a diagonal": _accepts,
    "does not compare a size 1 on a diagonal": _accepts,
    "does not compare a size 0 with the other sizes of its letter": _accepts,
    "may accept this equation, or end the process": lambda case, result: _accepts(case, result) or result.ended != 0,
    "can plan a size 1 for a letter": _fails,
    "fails when it runs this: none of three or more operands has": _fails,
    "fails when it runs this: with three or more operands": _fails,
    "fails when it runs this: an operand with ...": _fails,
    "misreads a stack of shape (n, 1)": lambda case, result: case.expected is not None,
    "when it runs this: it expands operands": _fails,
    "fails when it runs this: in a term, each letter": _fails,
    "may fail when it runs this: in a term, each letter": _fails,
    "may accept an unknown letter in the output if": _accepts_as_negative,
    "may accept an unknown letter in the output: it names": _accepts,
    "may end the process or return undefined sizes": lambda case, result: result.ended != 0 or _accepts(case, result),
    "may fail, hang or return undefined values if it sums": lambda case, result: case.expected is not None,
    "crashes on a scalar": _dies,
    "crashes, hangs or fails": lambda case, result: _dies(case, result) or _fails(case, result),
    "may fail or return undefined values here: its CPU kernel": lambda case, result: case.expected is not None,
    "may fail here, because the output has a size 0": lambda case, result: case.expected is not None,
    "returns size 1 if a size of the input is 1": _gives_1_for_0,
    "returns size 1 instead of 0 here": _gives_1_for_0,
    "returns wrong elements here: its CPU backend": lambda case, result: case.expected is not None,
}
"""By words of a warning, what the release then does."""
