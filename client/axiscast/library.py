"""The functions of the library, which run in this process without a service.

Each function returns the same results and raises the same errors as the Client method with the same name. The limits of
ops and of exact results apply here too (docs/evidence/limits.md). The settings of a service have no effect here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from pydantic import ValidationError

from .array_functions import backprop, broadcast, broadcast_arrays, broadcast_to
from .checks.check import check_to_dict
from .drawing.answer_picture import Picture
from .errors import ServiceProblem, problem_from, typed
from .messages import CheckAnswer, CheckRequest, CompareRequest, TranslateRequest, arguments
from .messages.arguments import OpLike
from .messages.base import drawn_by
from .messages.notation import MapNotation, PythonNotation
from .messages.validation import validate
from .messages.value_arguments import (
    InputShape,
    ShapeLike,
    SymbolicInput,
    SymbolicShapeLike,
    map_inputs,
    read_integer_shape,
    read_sizes,
)
from .messages.why import WhyAnswer
from .ops import OPS, Op, numpy, read_op
from .wire.problems import Problem
from .wire.shapes import MAX_SIZE, json_type_name

if TYPE_CHECKING:
    from .messages import Comparison, TranslateAnswer
    from .messages.check_request import WarningKind
    from .messages.tensors import CheckedColumns

__all__ = [
    "backprop", "broadcast", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_broadcast", "check",
    "check_batch", "check_columns", "compare", "translate", "why",
]  # fmt: skip

_answer = CheckAnswer.model_validate


@overload
def check(
    first: OpLike | InputShape,
    /,
    *shapes: InputShape,
    dtype: str | None = None,
    explain: bool = False,
    assume: None = None,
    warn: Collection[WarningKind] = (),
    **attributes: Any,
) -> CheckAnswer: ...
@overload
def check(
    first: OpLike | CheckRequest | SymbolicInput,
    /,
    *shapes: SymbolicInput,
    dtype: str | None = None,
    explain: bool = False,
    assume: Mapping[str, int | str] | None = None,
    warn: Collection[WarningKind] = (),
    **attributes: Any,
) -> CheckAnswer[int | str]: ...
@typed
def check(
    *op_and_shapes: OpLike | CheckRequest | SymbolicInput,
    dtype: str | None = None,
    explain: bool = False,
    assume: Mapping[str, int | str] | None = None,
    warn: Collection[WarningKind] = (),
    **attributes: Any,
) -> CheckAnswer[Any]:
    """Return the shapes that an op returns, or the conflict. Shapes that do not broadcast raise no error.

    The first argument is the op: an op object, a map with the op's `name`, or the name alone with the op's attributes
    as keyword arguments. If it is a shape, NumPy's rule is used. It may also be a whole CheckRequest. An object with a
    `shape`, such as an array, stands for its shape.

    The truth of the answer is whether the shapes broadcast. `shape` is the shape that the op returns. If the shapes do
    not broadcast, reading `shape` raises IncompatibleShapes. `outputs` has all returned arrays, and `broadcast_inputs`
    each input after broadcasting. With `dtype`, each output includes `nbytes`. With `explain`, the answer includes a
    `diagram`.

    A size may be an integer, a name, a range such as "2..", or "?". `assume` gives the range or the value of a name. If
    the result depends on symbolic sizes, `compatible` is None and `conditions` lists the conditions.

    `warn` requests warnings that are often given for correct code too: "mutual-stretch", "rank-promotion".

    Raises InvalidRequest, UnknownOp or WorkTooLarge for a request that the op could never accept.

    >>> import axiscast
    >>> axiscast.check((3, 1), (1, 4)).shape
    (3, 4)
    >>> bool(axiscast.check("numpy.add", (3,), (4,)))
    False
    >>> answer = axiscast.check("numpy.matmul", (8, 2, 3), (3, 4))
    >>> answer.shape, answer.broadcast_inputs[1].broadcast_axes
    ((8, 2, 4), (0,))
    >>> axiscast.check("torch.expand", ("N",), size=(2, -1)).shape
    (2, 'N')
    """
    request: CheckRequest | None = None
    has_options = dtype is not None or explain is not False or assume or warn != () or attributes
    if not has_options:  # most checks take this fast path
        request = _plain_request(op_and_shapes)
    if request is None:
        fields = arguments.check_request(op_and_shapes, dtype, explain, assume, warn, **attributes)
        request = validate(CheckRequest, fields, PythonNotation())
    return drawn_by(Picture(request), _answer(check_to_dict(request)))


_PLAIN = CheckRequest(inputs=[])


def _plain_request(op_and_shapes: Sequence[Any]) -> CheckRequest | None:
    """Return the request of a call with integer sizes, which needs no validation. For other calls, return None."""
    first, *shapes = op_and_shapes or (None,)
    if isinstance(first, CheckRequest) and not shapes:
        return first
    op, inputs = (_PLAIN.op, op_and_shapes) if type(first) is tuple else (_plain(first), shapes)
    if op is None:
        return None
    for shape in inputs:
        if type(shape) is not tuple and type(shape) is not list:
            return None
        for size in shape:
            if type(size) is not int or not 0 <= size <= MAX_SIZE:
                return None
    return _PLAIN.model_copy(update={"inputs": [*map(tuple, inputs)], "op": op})


def _plain(op: Any) -> Op | None:
    """Return an op object unchanged, or the op with this name if it needs no attributes. Otherwise, return None."""
    if type(op) is str:
        try:
            return read_op({"name": op})
        except ValidationError:
            return None
    return op if isinstance(op, Op) and OPS.get(op.name) is type(op) else None


@typed
def check_batch(requests: Iterable[CheckRequest | Mapping[str, Any]]) -> list[CheckAnswer[int | str] | ServiceProblem]:
    """Return the results of many checks, in order. Each check is a map such as {"op": op, "inputs": [shape, ...]}.

    An invalid check does not affect the other checks. Its result is an exception object, which is returned, not raised.

    >>> import axiscast
    >>> requests = [{"inputs": [(3, 1), (4,)]}, {"op": axiscast.torch.expand(size=(2, 3)), "inputs": [(4,)]}]
    >>> [answer.compatible for answer in axiscast.check_batch(requests)]
    [True, False]
    """
    from .checks.batch_rows import check_row
    from .drawing.answer_lists import BatchAnswers

    rows = arguments.batch_requests(requests)
    answers = (check_row(number, row, notation=MapNotation()) for number, row in enumerate(rows))
    return BatchAnswers(
        problem_from(error, error["status"]) if (error := each.get("error")) else drawn_by(Picture(row), _answer(each))
        for row, each in zip(rows, answers, strict=True)
    )


@typed
def check_columns(op: OpLike, *columns: Any, **attributes: Any) -> CheckedColumns:
    """Return the results of n checks that use the same op.

    Each input is an integer array (n, rank). Each row of the array is the input's shape in one check. An attribute that
    is a shape may also be such an array.

    The shape of the first output is in `shape`, with -1 in rows that do not broadcast. This function checks millions of
    rows per second, and accepts up to 2^25 sizes. Arrays with equal values may be the same object.

    >>> import numpy, axiscast
    >>> images, biases = numpy.array([[8, 1, 6], [8, 2, 6]]), numpy.array([[7, 1], [7, 6]])
    >>> answer = axiscast.check_columns("numpy.broadcast_arrays", images, biases)
    >>> answer.compatible.tolist(), answer.shape.tolist(), answer.conflict_axis.tolist()
    ([True, False], [[8, 7, 6], [-1, -1, -1]], [-1, 1])
    """
    from .checks.batch_columns import answer_columns
    from .messages.tensors import CheckColumnsRequest

    question = arguments.columns_request(op, columns, attributes)
    named = question.plain_op | {name: _tensor(array) for name, array in question.targets.items()}
    request = {"op": named, "inputs": list(map(_tensor, question.inputs))}
    return answer_columns(validate(CheckColumnsRequest, request, PythonNotation()))


@typed
def compare(
    *shapes: SymbolicInput,
    shape: SymbolicShapeLike | None = None,
    assume: Mapping[str, int | str] | None = None,
    warn: Collection[WarningKind] = (),
    ops: Collection[str] = (),
) -> list[Comparison[Any]]:
    """Return the results of all frameworks for these shapes.

    With one input shape and a target `shape`, the results are those of broadcasting the input to the target. Equal
    results from the same framework are combined. `assume` and `warn` have the same meaning as in `check`. `ops` selects
    ops by name, or by framework: `ops=["torch", "onnx.Add"]`. print() shows a group for each distinct result.

    >>> import axiscast
    >>> for result in axiscast.compare((3,), (3, 2), ops=["numpy.add", "julia"]):
    ...     for op in [result.op, *result.also]:
    ...         print(op["name"], result.compatible)
    numpy.add False
    julia.broadcast True
    """
    from .comparison.compare import answer_compare
    from .drawing.answer_lists import Comparisons

    fields = arguments.compare_request(shapes, shape, assume, warn, ops)
    return Comparisons.of(answer_compare(validate(CompareRequest, fields, PythonNotation())), fields)


@typed
def translate(op: OpLike, *shapes: InputShape, to: str, **attributes: Any) -> TranslateAnswer:
    """Return the steps that perform the same operation with the op named `to`, and their source code.

    `to` may also be a framework, such as "onnx". Its op with the fewest steps is then used. Raises Untranslatable if
    no such steps are found, and IncompatibleShapes if the shapes do not broadcast.

    >>> import axiscast
    >>> op = axiscast.ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})
    >>> axiscast.translate(op, (3,), to="stablehlo.broadcast_in_dim").steps[0].op
    broadcast_in_dim(name='stablehlo.broadcast_in_dim', shape=(2, 3), broadcast_dimensions=(1,))
    """
    from .translation.translate import answer_translate

    words, fields = PythonNotation(), arguments.translate_request(op, shapes, to, attributes)
    answer = answer_translate(validate(TranslateRequest, fields, words), words)
    return drawn_by(Picture({"op": fields["op"], "inputs": fields["inputs"]}), answer)


@typed
def why(text: str | BaseException) -> WhyAnswer:
    """Return an explanation of an error message: the op, the shapes, and the result of checking the shapes.

    `text` is a string that contains a message, a traceback or a log. If the string contains several shape errors, the
    last one is explained. A field of the answer is None if the string does not contain the information. If the error is
    not about broadcasting, the answer only names the topic of the error.

    `text` may also be an exception. In this case, the answer names the operands of the failing expression, with their
    shapes and dtypes. This data is read from the traceback frames. No elements of arrays are read, and no code of the
    operands is run.

    Raises InvalidRequest if `text` is neither a string nor an exception.

    >>> import axiscast
    >>> answer = axiscast.why("ValueError: operands could not be broadcast together with shapes (2,64,7,7) (64,)")
    >>> answer.op.name, answer.inputs
    ('numpy.add', [(2, 64, 7, 7), (64,)])
    >>> answer.check.conflict.hints[0].message
    'write input 1 as `b[:, None, None]`, of shape (64, 1, 1): the result is (2, 64, 7, 7)'
    """
    from .explanation.answers import answer_why

    if isinstance(text, BaseException):
        from .explanation.exceptions import answer_exception

        return drawn_by(Picture(), answer_exception(text))
    if not isinstance(text, str):
        raise Problem(
            "invalid-request", f"text: must be a string or an exception, not {json_type_name(text)}", pointer="/text"
        )
    return drawn_by(Picture(), answer_why(text))


@typed
def broadcast_shapes(*shapes: ShapeLike) -> tuple[int, ...]:
    """Return the shape that results when NumPy broadcasts these shapes. Raises IncompatibleShapes.

    >>> import axiscast
    >>> axiscast.broadcast_shapes((8, 1, 6, 1), (7, 1, 5))
    (8, 7, 6, 5)
    """
    return _integer_check(shapes, read_sizes).shape if shapes else ()


@typed
def can_broadcast(*shapes: InputShape) -> bool:
    """Return whether NumPy can broadcast these shapes against each other.

    >>> import axiscast
    >>> axiscast.can_broadcast((8, 1, 6, 1), (7, 1, 5)), axiscast.can_broadcast((3,), (4,))
    (True, False)
    """
    return not shapes or bool(_integer_check(shapes, read_integer_shape))


def _integer_check(shapes: Sequence[Any], read: Callable[[Any], list[int]]) -> CheckAnswer:
    """Return the answer to a check by NumPy's rule. `read` returns the sizes of a shape, which must be integers."""
    return check(numpy.broadcast_shapes(), *map_inputs(shapes, read))


def _tensor(array: Any) -> dict[str, Any]:
    """Return an int64 array in the form of a request tensor. An array in C order is not copied."""
    raw = array.reshape(-1).view("uint8").data
    return {"dtype": "int64", "shape": list(array.shape), "data": raw}
