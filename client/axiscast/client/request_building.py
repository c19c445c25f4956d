"""The building of requests: for each method of a client, its Call. It does no IO."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeVar

import msgpack

from ..errors import InvalidAnswer, InvalidRequest, ServiceProblem, UnknownOp, problem_from
from ..messages import (
    CheckAnswer,
    CheckRequest,
    CompareAnswer,
    CompareRequest,
    Comparison,
    OpEntry,
    ProblemDetails,
    TranslateAnswer,
    TranslateRequest,
)
from ..messages.arguments import (
    OpLike,
    ShapeLike,
    SymbolicShapeLike,
    batch_requests,
    check_request,
    columns_request,
    compare_request,
    map_inputs,
    plain_op,
    read_sizes,
    resolve_op,
    translate_request,
)
from ..messages.catalogue import Catalogue
from ..messages.notation import MapNotation, PythonNotation
from ..messages.tensors import CheckBatchAnswer, CheckedColumns, Failed
from ..messages.validation import find_problem, unknown_op_problem
from ..messages.why import WhyAnswer, WhyRequest
from ..ops import OPS, Op, numpy, op_class
from ..plan.alignment import ShapeMismatch
from ..wire.dtypes import UnknownDtype
from ..wire.problems import Problem
from ..wire.shapes import format_shape
from ..wire.tensors import Array, msgpack_parts, replicated_axes
from .array_libraries import (
    Like,
    check_targets_disjoint,
    may_overlap,
    result_converter,
    to_numpy,
    writable_memory,
)
from .attempt import MAX_SENT_CHUNK_BYTES
from .call import Call
from .expected_response import check_consistency, expected_columns, expected_gradients, expected_outputs, known_op
from .response_reading import model_reader
from .result_axes import ResultAxis, axes_of_gradients, axes_of_outputs
from .tensor_reader import Arrays, TensorReader
from .window import WindowLike, window_bounds

T = TypeVar("T")
TensorLayout = Literal["dense", "strided"]
NUMPY_OP = numpy.broadcast_arrays()
MAX_MESSAGE_SHAPES = 32
"""The largest number of shapes that are read from the text of an error."""


class ResultOptions(NamedTuple):
    """The options of `broadcast` that determine its results. Client.broadcast describes them."""

    layout: TensorLayout = "dense"
    window: WindowLike | None = None
    out: Any = None
    like: Like = "numpy"


# --- shapes ----------------------------------------------------------------------------------------


def check(
    op: OpLike,
    shapes: Sequence[SymbolicShapeLike],
    dtype: str | None,
    explain: bool,
    assume: Mapping[str, int | str] | None,
    warn: Collection[str],
    attributes: Mapping[str, Any],
) -> Call[CheckAnswer]:
    """Return the call of Client.check."""
    return _check_call(check_request(op, shapes, dtype, explain, assume, warn, attributes), lambda answer: answer)


def can_broadcast(shapes: Sequence[ShapeLike]) -> Call[bool]:
    """Return the call of Client.can_broadcast."""
    return _check_call(_integer_check(shapes), lambda answer: answer.compatible is True)


def broadcast_shapes(shapes: Sequence[ShapeLike]) -> Call[tuple[int, ...]]:
    """Return the call of Client.broadcast_shapes."""
    return _check_call(_integer_check(shapes), _output_shape)


def _integer_check(shapes: Sequence[ShapeLike]) -> dict[str, Any]:
    """Return a check by NumPy's rule. All sizes must be integers."""
    return {"op": plain_op(NUMPY_OP), "inputs": map_inputs(shapes, read_sizes)}


def _check_call(fields: dict[str, Any], finish: Callable[[CheckAnswer], T]) -> Call[T]:
    op, count = fields["op"], len(fields["inputs"])
    return _plain_call(
        "/v1/check",
        fields,
        CheckAnswer,
        count,
        lambda answer: finish(check_consistency(answer, op, count)),
        partial(find_problem, CheckRequest, fields, PythonNotation()),
    )


def _output_shape(answer: CheckAnswer) -> tuple[int, ...]:
    """Return the shape of the outputs. Raises IncompatibleShapes."""
    if answer.conflict is not None:
        conflict = answer.conflict.model_dump()
        raise problem_from(
            {"code": "incompatible-shapes", "detail": answer.conflict.message, "conflict": conflict},
            status=422,
        )
    sizes = answer.outputs[0].shape
    if not all(isinstance(size, int) for size in sizes):
        raise InvalidAnswer("the response has symbolic sizes, but all sizes in the request are integers")
    return tuple(map(int, sizes))


def check_batch(
    requests: Iterable[CheckRequest | Mapping[str, Any]],
) -> Call[list[CheckAnswer | ServiceProblem]]:
    """Return the call of Client.check_batch."""
    rows = batch_requests(requests)
    counts = [len(row.get("inputs", ())) for row in rows]

    def finish(answer: CheckBatchAnswer) -> list[CheckAnswer | ServiceProblem]:
        results = answer.results or []
        if len(results) != len(rows):
            raise InvalidAnswer(f"the response has {len(results)} results for {len(rows)} checks")
        return [
            _row_problem(result.error, row)
            if isinstance(result, Failed)
            else check_consistency(result, row.get("op", NUMPY_OP.name), count)
            for result, row, count in zip(results, rows, counts, strict=True)
        ]

    return _plain_call("/v1/check/batch", {"requests": rows}, CheckBatchAnswer, len(rows) + sum(counts), finish)


def _row_problem(error: ProblemDetails, row: Mapping[str, Any]) -> ServiceProblem:
    """Return the exception of an invalid check in a batch, with a message in the words of a Python caller."""
    document = error.model_dump(exclude_unset=True)
    if error.code in (InvalidRequest.code, UnknownOp.code):
        problem = find_problem(CheckRequest, row, MapNotation())
        if problem is not None and problem.code == error.code:
            document["detail"] = problem.detail
    return problem_from(document, error.status)


def check_columns(op: OpLike, columns: Sequence[Any], attributes: Mapping[str, Any]) -> Call[CheckedColumns]:
    """Return the call of Client.check_columns."""
    request = columns_request(op, columns, attributes)
    op_fields = dict(request.plain_op)
    for name, array in request.targets.items():
        op_fields[name] = {"dtype": "int64", "shape": list(array.shape), "data": array.tobytes()}
    return Call(
        "POST",
        "/v1/check/batch",
        _tensor_body({"op": op_fields}, "inputs", request.inputs),
        lambda length: TensorReader(
            expected_columns(request.op, request.inputs, request.targets),
            length,
            _checked_columns,
            singles=("compatible", "conflict_axis"),
        ),
        _op_problem_finder(request.plain_op),
    )


def _checked_columns(arrays: Arrays) -> CheckedColumns:
    (compatible,), (conflict_axis,) = arrays["compatible"], arrays["conflict_axis"]
    return CheckedColumns(compatible, arrays["outputs"], conflict_axis)


def compare(
    shapes: Sequence[SymbolicShapeLike],
    target: SymbolicShapeLike | None,
    assume: Mapping[str, int | str] | None,
    warn: Collection[str],
) -> Call[list[Comparison]]:
    """Return the call of Client.compare."""
    fields = compare_request(shapes, target, assume, warn)

    def finish(answer: CompareAnswer) -> list[Comparison]:
        return [check_consistency(result, result.op, len(shapes)) for result in answer.results]

    find_compare_problem = partial(find_problem, CompareRequest, fields, PythonNotation())
    return _plain_call("/v1/compare", fields, CompareAnswer, len(shapes) * len(OPS), finish, find_compare_problem)


def translate(op: OpLike, shapes: Sequence[ShapeLike], to: str, attributes: Mapping[str, Any]) -> Call[TranslateAnswer]:
    """Return the call of Client.translate."""
    fields = translate_request(op, shapes, to, attributes)

    def find_translate_problem() -> Problem | None:
        notation = PythonNotation()
        problem = find_problem(TranslateRequest, fields, notation)
        return problem or (None if op_class(to) else unknown_op_problem(to, "/to", notation))

    return _plain_call(
        "/v1/translate", fields, TranslateAnswer, len(shapes), lambda answer: answer, find_translate_problem
    )


def why(text: str) -> Call[WhyAnswer]:
    """Return the call of Client.why."""
    fields = {"text": text}
    find_why_problem = partial(find_problem, WhyRequest, fields, PythonNotation())
    return _plain_call("/v1/why", fields, WhyAnswer, MAX_MESSAGE_SHAPES, lambda answer: answer, find_why_problem)


def ops() -> Call[list[OpEntry]]:
    """Return the call of Client.ops."""
    return Call("GET", "/v1/ops", [], lambda length: model_reader(Catalogue, 0, lambda answer: answer.ops))


def _plain_call(
    path: str,
    fields: Any,
    model: Any,
    inputs: int,
    finish: Callable[[Any], T],
    find_problem: Callable[[], Problem | None] = lambda: None,
) -> Call[T]:
    """Return a call without tensors. Its response is one pydantic model, and `inputs` limits its length."""
    return Call("POST", path, [_pack(fields)], lambda length: model_reader(model, inputs, finish), find_problem)


# --- arrays ----------------------------------------------------------------------------------------


def broadcast(
    op: OpLike, arrays: Sequence[Any], options: ResultOptions, attributes: Mapping[str, Any]
) -> Call[list[Any]]:
    """Return the call of Client.broadcast."""
    whole_op = resolve_op(op, attributes, (*ResultOptions._fields, "progress", "timeout"))
    return _broadcast_call(whole_op, arrays, options, list)


def broadcast_to(array: Any, shape: ShapeLike, options: ResultOptions) -> Call[Any]:
    """Return the call of Client.broadcast_to."""
    return _broadcast_call(numpy.broadcast_to(shape=read_sizes(shape)), [array], options, itemgetter(0))


def broadcast_arrays(arrays: Sequence[Any], options: ResultOptions) -> Call[tuple[Any, ...]]:
    """Return the call of Client.broadcast_arrays."""
    return _broadcast_call(NUMPY_OP, arrays, options, tuple)


def _broadcast_call(
    op: OpLike, arrays: Sequence[Any], options: ResultOptions, finish: Callable[[list[Any]], T]
) -> Call[T]:
    layout, window, out, like = options
    if out is not None and layout == "strided":
        raise ValueError('out needs layout="dense", because a strided output has each distinct element only once')
    fields: dict[str, Any] = {"op": plain_op(op), "layout": layout}
    outs = None if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
    targets = None if outs is None else list(map(writable_memory, outs))
    check_targets_disjoint(targets or [])
    inputs = _input_arrays(op, arrays)
    shapes = tuple(array.shape for array in inputs)
    if window is not None and (bounds := window_bounds(window, op, shapes)) is not None:
        fields["window"] = bounds
    convert = _results_converter(
        op, arrays, layout, like, lambda whole_op: axes_of_outputs(whole_op, shapes, fields.get("window"))
    )

    def make_reader(length: int | None) -> TensorReader[T]:
        tensors = expected_outputs(op, inputs, layout, fields.get("window"))
        return TensorReader(
            {"outputs": tensors},
            length,
            lambda found: finish(convert(found["outputs"]) if outs is None else outs),
            targets,
        )

    parts = _tensor_body(fields, "inputs", inputs)
    if len(parts) > 1 and may_overlap(inputs, targets or []):
        parts = [b"".join(parts)]  # a copy, because the response may overwrite the inputs before they are sent (again)
    return Call("POST", "/v1/broadcast", parts, make_reader, _op_problem_finder(fields["op"]))


def _input_arrays(op: OpLike, arrays: Sequence[Any]) -> list[Array]:
    """Return the inputs as NumPy arrays. Raises TypeError for one list of arrays, unless the op takes one input."""
    listed = arrays[0] if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else ()
    if isinstance(op, Op) and op.max_inputs != 1 and any(getattr(item, "ndim", 0) for item in listed):
        raise TypeError("the arrays are in a list: pass them one by one, broadcast(op, a, b)")
    return [to_numpy(array) for array in arrays]


def backprop(
    op: OpLike, shapes: Sequence[ShapeLike], gradients: Sequence[Any], like: Like, attributes: Mapping[str, Any]
) -> Call[list[Any]]:
    """Return the call of Client.backprop."""
    op = resolve_op(op, attributes, ("like", "progress", "timeout"))
    input_shapes = _input_shapes(op, shapes)
    fields = {"op": plain_op(op), "inputs": input_shapes}
    arrays = list(map(to_numpy, gradients))
    tensors = expected_gradients(input_shapes, arrays)
    convert = _results_converter(
        op, gradients, "dense", like, lambda whole_op: axes_of_gradients(whole_op, tuple(map(tuple, input_shapes)))
    )
    return Call(
        "POST",
        "/v1/backprop",
        _tensor_body(fields, "gradients", arrays),
        lambda length: TensorReader({"gradients": tensors}, length, lambda found: convert(found["gradients"])),
        _op_problem_finder(fields["op"]),
    )


def _input_shapes(op: OpLike, shapes: Sequence[ShapeLike]) -> list[list[int]]:
    """Return the shapes of the inputs of backprop. Raises TypeError for an array, and for one shape without a list."""
    if isinstance(shapes, (str, Mapping)) or not isinstance(shapes, Iterable):
        raise TypeError(f"shapes must be a list with the shape of each input, such as [(3,)], not {shapes!r:.60}")
    if hasattr(shapes, "shape"):
        raise TypeError(
            f"shapes must be a list with the shape of each input, not an array: write [{format_shape(shapes.shape)}]"
        )
    shapes = list(shapes)
    is_one_shape = all(isinstance(shape, int) for shape in shapes)
    if is_one_shape and isinstance(op, Op) and op.input_count_problem(len(shapes)):
        raise TypeError(f"shapes must be a list with the shape of each input: write [{format_shape(shapes)}]")
    return map_inputs(shapes, read_sizes)


def _results_converter(
    op: OpLike,
    arrays: Sequence[Any],
    layout: str,
    like: Like,
    axes_of_results: Callable[[Op], Iterable[tuple[int, list[ResultAxis]]]],
) -> Callable[[list[Array]], list[Any]]:
    """Return the function that converts received arrays into the library of the user's arrays.

    `axes_of_results` yields, for each result, the number of the array in `arrays` that it should be like, and its axes.
    """
    if like == "numpy":
        return list
    if like != "input":
        raise ValueError(f'like must be "numpy" or "input", not {like!r}')
    whole_op = known_op(op)
    if whole_op is None:
        raise ValueError(f'like="input" needs an op that this version knows, with all its attributes, not {op!r}')
    converters = [result_converter(array, layout) for array in arrays]

    def convert(results: list[Array]) -> list[Any]:
        try:
            sources = list(axes_of_results(whole_op))
        except ShapeMismatch:
            raise InvalidAnswer("the service accepted a request that has no valid response") from None
        return [converters[source](result, axes) for result, (source, axes) in zip(results, sources, strict=True)]

    return convert


def _op_problem_finder(op: Any) -> Callable[[], Problem | None]:
    """Return a function that finds the problem of an op, if it has one."""
    return partial(find_problem, CheckRequest, {"op": op, "inputs": []}, PythonNotation())


# --- MessagePack -----------------------------------------------------------------------------------


def _pack(value: Any) -> bytes:
    """Return a plain value in MessagePack. Raises InvalidRequest for a string that UTF-8 can't encode."""
    try:
        return bytes(msgpack.packb(value))
    except UnicodeEncodeError as error:
        detail = f"{error.object[:60]!a} contains half a surrogate pair, which UTF-8 can't encode"
        raise InvalidRequest(Problem("invalid-request", detail).document()) from None
    except (TypeError, OverflowError) as error:
        raise TypeError(f"an argument contains a value that can't be sent: {error}") from None


def _tensor_body(fields: Mapping[str, Any], name: str, arrays: Sequence[Array]) -> list[bytes | memoryview]:
    """Return a MessagePack map of small fields and a list of tensors, as the parts of a body.

    The memory of large arrays is sent without a copy.
    """
    packed = _pack({**fields, name: [None] * len(arrays)})
    parts: list[bytes | memoryview] = [packed[: len(packed) - len(arrays)]]  # tensors replace the bytes of None
    for array in arrays:
        try:
            parts += msgpack_parts(array, strided=any(replicated_axes(array)))
        except UnknownDtype as error:
            raise TypeError(str(error)) from None
    if sum(map(len, parts)) <= MAX_SENT_CHUNK_BYTES:
        return [b"".join(parts)]
    return parts
