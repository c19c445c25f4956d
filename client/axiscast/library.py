"""The functions of the library, which run in this process without a service.

Each function returns the same results and raises the same errors as the Client method with the same name. The limits of
ops and of exact results apply here too (docs/limits.md). The settings of a service have no effect here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .answers.check import check_to_dict
from .answers.pictures import BatchAnswers, Comparisons, Picture
from .answers.plain_check import PlainCheck, as_plain_check, read_plain_op
from .errors import ServiceProblem, problem_from
from .messages import CheckAnswer, CheckRequest, CompareRequest, TranslateRequest, arguments
from .messages.arguments import OpLike
from .messages.base import drawn_by
from .messages.notation import MapNotation, PythonNotation
from .messages.validation import validate
from .messages.value_arguments import ShapeLike, SymbolicShapeLike
from .messages.why import WhyAnswer
from .ops import OPS, Op
from .wire.problems import Problem
from .wire.shapes import json_type_name

if TYPE_CHECKING:  # these modules import NumPy
    from .arrays.array_libraries import Like
    from .arrays.tensor_arguments import TensorLayout
    from .arrays.window import WindowLike
    from .messages import Comparison, TranslateAnswer, WarningKind
    from .messages.tensors import CheckedColumns

__all__ = ["backprop", "broadcast", "check", "check_batch", "check_columns", "compare", "translate", "why"]

P = ParamSpec("P")
T = TypeVar("T")

_answer = CheckAnswer.model_validate


def typed(function: Callable[P, T]) -> Callable[P, T]:
    """Return a version of a function that raises the exceptions of a Client instead of Problem."""

    @wraps(function)
    def typed(*args: P.args, **options: P.kwargs) -> T:
        try:
            return function(*args, **options)
        except Problem as problem:
            raise _exception(problem) from None

    return typed


def _exception(problem: Problem) -> ServiceProblem:
    document = problem.document()
    return problem_from(document, document["status"])


@typed
def check(
    op: OpLike,
    *shapes: SymbolicShapeLike,
    dtype: str | None = None,
    explain: bool = False,
    assume: Mapping[str, int | str] | None = None,
    warn: Collection[WarningKind] = (),
    **attributes: Any,
) -> CheckAnswer:
    """Return the output shapes, or the conflict. Shapes that do not broadcast raise no error.

    `op` is an op object, a map with the op's `name`, or the name alone with the op's attributes as keyword arguments.
    With `dtype`, each output includes `nbytes`. With `explain`, the answer includes a `diagram`.

    A size may be an integer, a name, a range such as "2..", or "?". `assume` gives the range or the value of a name. If
    the result depends on symbolic sizes, `compatible` is None and `conditions` lists the conditions.

    `warn` requests warnings that are often given for correct code too: "mutual-stretch", "rank-promotion".

    Raises InvalidRequest, UnknownOp or WorkTooLarge for a request that the op could never accept.

    >>> import axiscast
    >>> answer = axiscast.check("numpy.broadcast_arrays", (8, 1, 6, 1), (7, 1, 5))
    >>> answer.compatible, answer.outputs[0].shape, answer.outputs[0].broadcast_axes
    (True, [8, 7, 6, 5], [1, 3])
    >>> axiscast.check("torch.expand", ("N",), size=(2, -1)).outputs[0].shape
    [2, 'N']
    >>> [warning.code for warning in axiscast.check("numpy.add", (3, 1), (1, 4), warn=["mutual-stretch"]).warnings]
    ['mutual-stretch']
    """
    request: PlainCheck | CheckRequest | None = None
    has_options = dtype is not None or explain is not False or assume or warn != () or attributes
    if not has_options and (plain := _plain(op)) is not None:  # most checks take this fast path
        request = as_plain_check(shapes, plain)
    if request is None:
        fields = arguments.check_request(op, shapes, dtype, explain, assume, warn, attributes)
        request = validate(CheckRequest, fields, PythonNotation())
    return drawn_by(Picture(request), _answer(check_to_dict(request)))


def _plain(op: OpLike) -> Op | None:
    """Return an op object unchanged, or the op with this name if it needs no attributes. Otherwise, return None."""
    if type(op) is str:
        return read_plain_op(op)
    return op if isinstance(op, Op) and OPS.get(op.name) is type(op) else None


@typed
def check_batch(requests: Iterable[CheckRequest | Mapping[str, Any]]) -> list[CheckAnswer | ServiceProblem]:
    """Return the results of many checks, in order. Each check is a map such as {"op": op, "inputs": [shape, ...]}.

    An invalid check does not affect the other checks. Its result is an exception object, which is returned, not raised.

    >>> import axiscast
    >>> requests = [{"inputs": [(3, 1), (4,)]}, {"op": axiscast.torch.expand(size=(2, 3)), "inputs": [(4,)]}]
    >>> [answer.compatible for answer in axiscast.check_batch(requests)]
    [True, False]
    """
    from .answers.batch_rows import check_row

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
    from .answers.batch_columns import answer_columns
    from .messages.tensors import CheckColumnsRequest

    question = arguments.columns_request(op, columns, attributes)
    named = question.plain_op | {name: _tensor(array) for name, array in question.targets.items()}
    request = {"op": named, "inputs": list(map(_tensor, question.inputs))}
    return answer_columns(validate(CheckColumnsRequest, request, PythonNotation()))


@typed
def compare(
    *shapes: SymbolicShapeLike,
    shape: SymbolicShapeLike | None = None,
    assume: Mapping[str, int | str] | None = None,
    warn: Collection[WarningKind] = (),
    ops: Collection[str] = (),
) -> list[Comparison]:
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
    from .answers.compare import answer_compare

    fields = arguments.compare_request(shapes, shape, assume, warn, ops)
    return Comparisons.of(answer_compare(validate(CompareRequest, fields, PythonNotation())), fields)


@typed
def translate(op: OpLike, *shapes: ShapeLike, to: str, **attributes: Any) -> TranslateAnswer:
    """Return the steps that perform the same operation with the op named `to`, and their source code.

    `to` may also be a framework, such as "onnx". Its op with the fewest steps is then used. Raises Untranslatable if
    no such steps are found, and IncompatibleShapes if the shapes do not broadcast.

    >>> import axiscast
    >>> op = axiscast.ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})
    >>> axiscast.translate(op, (3,), to="stablehlo.broadcast_in_dim").steps[0].op
    broadcast_in_dim(name='stablehlo.broadcast_in_dim', shape=(2, 3), broadcast_dimensions=(1,))
    """
    from .answers.translate import answer_translate

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
    >>> answer.op.name, answer.inputs, answer.check.conflict.hints[0].text
    ('numpy.add', [(2, 64, 7, 7), (64,)], 'reshape input 1 to (64, 1, 1), x[:, None, None]: the shapes then fit')
    """
    from .answers.diagnosis import answer_why

    if isinstance(text, BaseException):
        from .answers.exceptions import answer_exception

        return drawn_by(Picture(), answer_exception(text))
    if not isinstance(text, str):
        raise Problem(
            "invalid-request", f"text: must be a string or an exception, not {json_type_name(text)}", pointer="/text"
        )
    return drawn_by(Picture(), answer_why(text))


@typed
def broadcast(
    op: OpLike,
    *arrays: Any,
    layout: TensorLayout | None = None,
    window: WindowLike | None = None,
    out: Any = None,
    like: Like = "numpy",
    **attributes: Any,
) -> list[Any]:
    """Return the outputs of an op as a list of arrays. Needs NumPy, but no service.

    By default, each output is a read-only view of its input, as in numpy.broadcast_to. If no strides can describe an
    output, this output is a new array. With layout="dense", all outputs are new writable arrays. With layout="strided",
    all outputs are views.

    The arrays may be from NumPy, torch, jax, TensorFlow, xarray and other libraries (docs/arrays.md). With
    like="input", each output is a new array from the same library as its input. `window` selects a part of each output:
    a [start, stop] pair for each output axis, or slices such as np.s_[0:2, :]. `out` is one array, or one array for
    each output. The results are written to `out`, and `out` is returned. `out` may share memory with an input.

    Sizes are checked before memory is allocated. Raises OutputTooLarge if dense outputs need more memory than the
    machine has. Also raises IncompatibleShapes, NotStrided, InvalidRequest, UnknownOp, TypeError and ValueError.

    >>> import axiscast, numpy as np
    >>> axiscast.broadcast("ngraph.Broadcast", np.array([1, 2, 3]), shape=(2, 3), broadcast_axes={0})
    [array([[1, 2, 3],
           [1, 2, 3]])]
    """
    from .arrays.computation import compute_broadcast

    resolved = arguments.resolve_op(op, attributes, ("layout", "window", "out", "like"))
    return compute_broadcast(resolved, arrays, layout, window, out, like)


@typed
def backprop(
    op: OpLike, shapes: Sequence[ShapeLike], *gradients: Any, like: Like = "numpy", **attributes: Any
) -> list[Any]:
    """Return the gradient of each input, from the shapes of the inputs and the gradient of each output.

    Each gradient is summed over the broadcast axes with 64-bit precision. The result has the same dtype as the
    gradients of the input's outputs. Each result is a new array, or a read-only view if its elements are replicated. If
    an op uses an input only for its shape, the gradient of this input is zero. Gradients may be arrays of any library.
    `like` has the same meaning as in `broadcast`. Needs NumPy, but no service.

    Sizes are checked before memory is allocated. Raises InvalidTensor if a gradient has a wrong shape or dtype. Also
    raises IncompatibleShapes, OutputTooLarge, InvalidRequest, UnknownOp, TypeError and ValueError.

    >>> import axiscast, numpy as np
    >>> axiscast.backprop("numpy.broadcast_to", [(3,)], np.ones((2, 3)), shape=(2, 3))
    [array([2., 2., 2.])]
    """
    from .arrays.computation import compute_backprop

    return compute_backprop(arguments.resolve_op(op, attributes, ("like",)), shapes, gradients, like)


def _tensor(array: Any) -> dict[str, Any]:
    """Return an int64 array in the form of a request tensor. An array in C order is not copied."""
    raw = array.reshape(-1).view("uint8").data
    return {"dtype": "int64", "shape": list(array.shape), "data": raw}
