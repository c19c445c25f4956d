"""Request building: one function per client method, which returns the Call of the method, without IO."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import msgpack
from pydantic import BaseModel

from ..arrays.array_libraries import Like, may_overlap
from ..arrays.computation import compute_broadcast
from ..arrays.tensor_arguments import ResultOptions, broadcast_arguments, read_backprop, read_broadcast
from ..drawing.answer_lists import BatchAnswers, Comparisons
from ..drawing.answer_picture import Picture
from ..errors import InvalidAnswer, InvalidRequest, ServiceProblem, UnknownOp, problem_from, typed
from ..messages import (
    CheckAnswer,
    CheckRequest,
    CompareAnswer,
    CompareRequest,
    TranslateAnswer,
    TranslateRequest,
    arguments,
)
from ..messages.arguments import NUMPY_OP, OpLike, known_op, plain_op, resolve_op
from ..messages.base import drawn_by
from ..messages.catalogue import Catalogue
from ..messages.notation import MapNotation, PythonNotation
from ..messages.tensors import CheckBatchAnswer, CheckedColumns, Failed
from ..messages.validation import find_problem, unknown_op_problem
from ..messages.value_arguments import (
    InputShape,
    ShapeLike,
    SymbolicInput,
    SymbolicShapeLike,
    map_inputs,
    read_integer_shape,
    read_sizes,
)
from ..messages.why import WhyAnswer, WhyRequest
from ..ops import OPS, numpy, op_class
from ..wire.dtypes import UnknownDtype
from ..wire.problems import Problem
from ..wire.tensors import Array, distinct_elements, msgpack_parts, replicated_axes
from .attempt import MAX_SENT_CHUNK_BYTES
from .call import Call
from .expected_response import check_consistency, expected_columns, expected_gradients, expected_outputs
from .response_reading import model_reader
from .tensor_reader import Arrays, TensorReader

if TYPE_CHECKING:
    from ..messages import Comparison, OpEntry, ProblemDetails

T = TypeVar("T")
MAX_MESSAGE_SHAPES = 32
"""The maximum number of shapes that are read from an error message."""
WINDOW_OP = numpy.broadcast_arrays()
"""The op of the request. Its inputs are the windows of the outputs, so it returns them unchanged."""


# --- shapes ----------------------------------------------------------------------------------------


def check(op_and_shapes: Sequence[Any], options: Mapping[str, Any]) -> Call[CheckAnswer[Any]]:
    """Return the Call for Client.check."""
    fields = arguments.check_request(op_and_shapes, **options)
    return _check_call(fields, partial(drawn_by, Picture(fields)))


def can_broadcast(shapes: Sequence[InputShape]) -> Call[bool]:
    """Return the Call for Client.can_broadcast."""
    return _check_call(_integer_check(shapes, read_integer_shape), lambda answer: answer.compatible is True)


def broadcast_shapes(shapes: Sequence[ShapeLike]) -> Call[tuple[int, ...]]:
    """Return the Call for Client.broadcast_shapes."""
    return _check_call(_integer_check(shapes, read_sizes), _output_shape)


def _integer_check(shapes: Sequence[Any], read: Callable[[Any], list[int]]) -> dict[str, Any]:
    """Return the fields of a check by NumPy's rule. `read` returns the sizes of a shape, which must be integers."""
    return {"op": "numpy.broadcast_shapes", "inputs": map_inputs(shapes, read)}


def _check_call(fields: dict[str, Any], finish: Callable[[CheckAnswer], T]) -> Call[T]:
    op, count = fields["op"], len(fields["inputs"])

    def read_answer(answer: CheckAnswer) -> T:
        return finish(check_consistency(answer, op, count))

    return _plain_call("/v1/check", fields, CheckAnswer, count, read_answer, CheckRequest)


def _output_shape(answer: CheckAnswer) -> tuple[int, ...]:
    """Return the shape of the outputs in an answer. Raises IncompatibleShapes if the answer is a conflict."""
    shape: tuple[int, ...] = answer.shape
    if not all(isinstance(size, int) for size in shape):
        raise InvalidAnswer("the response has symbolic sizes, but all sizes in the request are integers")
    return shape


def check_batch(
    requests: Iterable[CheckRequest | Mapping[str, Any]],
) -> Call[list[CheckAnswer[int | str] | ServiceProblem]]:
    """Return the Call for Client.check_batch."""
    rows = arguments.batch_requests(requests)
    counts = [len(row.get("inputs", ())) for row in rows]

    def finish(answer: CheckBatchAnswer) -> list[CheckAnswer[int | str] | ServiceProblem]:
        if len(answer.results) != len(rows):
            raise InvalidAnswer(f"the response has {len(answer.results)} results for {len(rows)} checks")
        return BatchAnswers(
            _row_problem(result.error, row, number)
            if isinstance(result, Failed)
            else drawn_by(Picture(row), check_consistency(result, row.get("op", "numpy.broadcast_shapes"), count))
            for number, (result, row, count) in enumerate(zip(answer.results, rows, counts, strict=True))
        )

    return _plain_call("/v1/check/batch", {"requests": rows}, CheckBatchAnswer, len(rows) + sum(counts), finish)


def _row_problem(error: ProblemDetails, row: Mapping[str, Any], number: int) -> ServiceProblem:
    """Return the exception for an invalid check in a batch, with a message that is written for Python users."""
    document = error.model_dump(exclude_unset=True)
    if error.code in (InvalidRequest.code, UnknownOp.code):
        problem = find_problem(CheckRequest, row, MapNotation())
        if problem is not None and problem.code == error.code:
            problem.move(f"/requests/{number}")
            document |= {"detail": problem.detail, "errors": problem.document()["errors"]}
    return problem_from(document, error.status)


def check_columns(op: OpLike, columns: Sequence[Any], attributes: Mapping[str, Any]) -> Call[CheckedColumns]:
    """Return the Call for Client.check_columns."""
    request = arguments.columns_request(op, columns, attributes)
    op_fields = dict(request.plain_op)
    for name, array in request.targets.items():
        op_fields[name] = {"dtype": "int64", "shape": list(array.shape), "data": array.tobytes()}
    return Call(
        "POST",
        "/v1/check/columns",
        tensor_body({"op": op_fields}, "inputs", request.inputs),
        lambda length: TensorReader(
            expected_columns(request.op, request.inputs, request.targets),
            length,
            _checked_columns,
            singles=("compatible", "shape", "conflict_axis"),
        ),
        _op_problem_finder(request.plain_op),
    )


def _checked_columns(arrays: Arrays) -> CheckedColumns:
    (compatible,), (shape,), (conflict_axis,) = arrays["compatible"], arrays["shape"], arrays["conflict_axis"]
    return CheckedColumns(compatible, shape, arrays["broadcast_inputs"], conflict_axis)


def compare(
    shapes: Sequence[SymbolicInput],
    target: SymbolicShapeLike | None,
    assume: Mapping[str, int | str] | None,
    warn: Collection[str],
    ops: Collection[str],
) -> Call[list[Comparison]]:
    """Return the Call for Client.compare."""
    fields = arguments.compare_request(shapes, target, assume, warn, ops)

    def finish(answer: CompareAnswer) -> list[Comparison]:
        for result in answer.results:
            check_consistency(result, result.op, len(shapes))
        return Comparisons.of(answer, fields)

    return _plain_call("/v1/compare", fields, CompareAnswer, len(shapes) * len(OPS), finish, CompareRequest)


def translate(
    op: OpLike, shapes: Sequence[InputShape], to: str, attributes: Mapping[str, Any]
) -> Call[TranslateAnswer]:
    """Return the Call for Client.translate."""
    fields = arguments.translate_request(op, shapes, to, attributes)
    drawn = partial(drawn_by, Picture({"op": fields["op"], "inputs": fields["inputs"]}))
    call = _plain_call("/v1/translate", fields, TranslateAnswer, len(shapes), drawn, TranslateRequest)
    if op_class(to) is None:
        find_field_problem = call.find_problem
        call.find_problem = lambda: find_field_problem() or unknown_op_problem(to, "/to", PythonNotation())
    return call


def why(text: str) -> Call[WhyAnswer]:
    """Return the Call for Client.why."""
    return _plain_call(
        "/v1/why", {"text": text}, WhyAnswer, MAX_MESSAGE_SHAPES, partial(drawn_by, Picture()), WhyRequest
    )


def ops() -> Call[list[OpEntry]]:
    """Return the Call for Client.ops."""
    return Call("GET", "/v1/ops", [], lambda length: model_reader(Catalogue, 0, lambda answer: answer.ops))


def _plain_call(
    path: str,
    fields: Any,
    answer_model: Any,
    inputs: int,
    finish: Callable[[Any], T],
    request_model: type[BaseModel] | None = None,
) -> Call[T]:
    """Return a Call that sends and receives no tensors.

    `inputs` is the number of inputs, which determines the maximum size of the response. `finish` converts the answer
    into the result. If the service rejects the request, `request_model` is used to find the problem in it.
    """
    call = Call("POST", path, [pack(fields)], lambda length: model_reader(answer_model, inputs, finish))
    if request_model is not None:
        call.find_problem = partial(find_problem, request_model, fields, PythonNotation())
    return call


# --- arrays ----------------------------------------------------------------------------------------


def broadcast(op_and_arrays: Sequence[Any], options: Mapping[str, Any]) -> Call[list[Any]]:
    """Return the Call for Client.broadcast. The attributes of the op are among the options."""
    fields = ResultOptions._fields
    own = ResultOptions(**{name: value for name, value in options.items() if name in fields})
    attributes = {name: value for name, value in options.items() if name not in fields}
    op, arrays, own = typed(broadcast_arguments)(op_and_arrays, own, attributes)
    return _broadcast_call(op, arrays, own, list)


def broadcast_to(array: Any, shape: ShapeLike, options: ResultOptions) -> Call[Any]:
    """Return the Call for Client.broadcast_to."""
    return _broadcast_call(numpy.broadcast_to(shape=read_sizes(shape)), [array], options, itemgetter(0))


def broadcast_arrays(arrays: Sequence[Any], options: ResultOptions) -> Call[tuple[Any, ...]]:
    """Return the Call for Client.broadcast_arrays."""
    return _broadcast_call(NUMPY_OP, arrays, options, tuple)


def _broadcast_call(
    op: OpLike, arrays: Sequence[Any], options: ResultOptions, finish: Callable[[list[Any]], T]
) -> Call[T]:
    inputs, window, targets, convert = read_broadcast(op, arrays, options)
    layout = options.layout or "dense"
    fields = {"op": plain_op(op), "layout": layout} | ({} if window is None else {"window": window})
    sent = inputs
    if window is not None and (views := window_views(op, inputs, window)) is not None:
        fields, sent = {"op": plain_op(WINDOW_OP), "layout": layout}, views

    def make_reader(length: int | None) -> TensorReader[T]:
        tensors = expected_outputs(op, inputs, layout, window)
        return TensorReader(
            {"broadcast_inputs": tensors}, length, lambda found: finish(convert(found["broadcast_inputs"])), targets
        )

    parts = tensor_body(fields, "inputs", sent)
    if len(parts) > 1 and may_overlap(inputs, targets or []):
        # Copy the inputs, because the response may overwrite their memory before they are sent completely or sent
        # again.
        parts = [b"".join(parts)]
    return Call("POST", "/v1/broadcast", parts, make_reader, _op_problem_finder(plain_op(op)))


def backprop(
    op: OpLike, shapes: Sequence[InputShape], gradients: Sequence[Any], like: Like, attributes: Mapping[str, Any]
) -> Call[list[Any]]:
    """Return the Call for Client.backprop."""
    op = resolve_op(op, attributes, ("like",))
    input_shapes, arrays, convert = read_backprop(op, shapes, gradients, like)
    fields = {"op": plain_op(op), "inputs": input_shapes}
    body = tensor_body(fields, "gradients", arrays)
    tensors = expected_gradients(input_shapes, arrays)
    return Call(
        "POST",
        "/v1/backprop",
        body,
        lambda length: TensorReader({"gradients": tensors}, length, lambda found: convert(found["gradients"])),
        _op_problem_finder(fields["op"]),
    )


def _op_problem_finder(op: Any) -> Callable[[], Problem | None]:
    """Return a function that validates an op, and returns a Problem or None."""
    return partial(find_problem, CheckRequest, {"op": op, "inputs": []}, PythonNotation())


# --- bodies ----------------------------------------------------------------------------------------


def window_views(op: OpLike, arrays: Sequence[Array], window: Sequence[Any]) -> list[Array] | None:
    """Return the window of each output as a view of its input: the inputs of WINDOW_OP.

    Return None if the request must contain the whole arrays: the views have as many distinct elements as the arrays,
    this version does not know the op, WINDOW_OP does not accept the rank, or the service will report an error.
    """
    if known_op(op) is None or len(window) > (WINDOW_OP.max_rank or 0):
        return None
    try:
        views = compute_broadcast(op, arrays, ResultOptions("strided", window))
    except Problem:
        return None
    return views if _nbytes(views) < _nbytes(arrays) else None


def _nbytes(arrays: Sequence[Array]) -> int:
    """Return the number of bytes in a request that contains these arrays."""
    return sum(distinct_elements(array)[0].nbytes for array in arrays)


def pack(value: Any) -> bytes:
    """Return the MessagePack encoding of a plain value.

    Raises InvalidRequest if a string can't be encoded in UTF-8.
    """
    try:
        return bytes(msgpack.packb(value))
    except UnicodeEncodeError as error:
        detail = f"{error.object[:60]!a} contains half a surrogate pair, which UTF-8 can't encode"
        raise InvalidRequest(Problem("invalid-request", detail).document()) from None
    except (TypeError, OverflowError) as error:
        raise TypeError(f"an argument contains a value that can't be sent: {error}") from None


def tensor_body(fields: Mapping[str, Any], name: str, arrays: Sequence[Array]) -> list[bytes | memoryview]:
    """Return the parts of a request body, which is a MessagePack map with the small fields and a list of tensors.

    `name` is the field that contains the list of tensors. The data of large arrays is sent without being copied.
    """
    packed = pack({**fields, name: [None] * len(arrays)})
    # The encoded None values are removed from the end, and the tensors take their place.
    parts: list[bytes | memoryview] = [packed[: len(packed) - len(arrays)]]
    for array in arrays:
        try:
            parts += msgpack_parts(array, strided=any(replicated_axes(array)))
        except UnknownDtype as error:
            raise TypeError(str(error)) from None
    if sum(map(len, parts)) <= MAX_SENT_CHUNK_BYTES:
        return [b"".join(parts)]
    return parts
