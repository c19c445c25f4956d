"""The calls of a client: for each of its methods, what is sent and what reads the response."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Literal, TypeVar

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
from . import expected
from .arrays import Like, array_of, judge_targets, maker_of, overlap, target_of
from .axes import Axis, gradient_axes, output_axes
from .call import SEND_BYTES, Call
from .reading import Arrays, TensorReader, typed
from .window import Window, bounds

T = TypeVar("T")
_MESSAGE_SHAPES = 32
"""The most shapes that are read from the text of an error."""
Layout = Literal["dense", "strided"]


def check(
    op: OpLike,
    shapes: Sequence[SymbolicShapeLike],
    dtype: str | None,
    explain: bool,
    assume: Mapping[str, int | str] | None,
    warn: Collection[str],
    attributes: Mapping[str, Any],
) -> Call[CheckAnswer]:
    """Shapes in, shapes or a conflict out."""
    return _check(check_request(op, shapes, dtype, explain, assume, warn, attributes), lambda answer: answer)


def can_broadcast(shapes: Sequence[ShapeLike]) -> Call[bool]:
    """Shapes in, whether NumPy broadcasts them out."""
    return _check(_of_integers(shapes), lambda answer: answer.compatible is True)


def broadcast_shapes(shapes: Sequence[ShapeLike]) -> Call[tuple[int, ...]]:
    """Shapes in, the one that NumPy broadcasts them to out."""
    return _check(_of_integers(shapes), _shape)


def _of_integers(shapes: Sequence[ShapeLike]) -> dict[str, Any]:
    """A check of NumPy's rule, whose sizes are integers as NumPy's are."""
    return {"op": plain_op(NUMPY), "inputs": map_inputs(shapes, read_sizes)}


def _check(question: dict[str, Any], finish: Callable[[CheckAnswer], T]) -> Call[T]:
    op, count = question["op"], len(question["inputs"])
    return _plain(
        "/v1/check",
        question,
        CheckAnswer,
        count,
        lambda answer: finish(expected.verdict(answer, op, count)),
        partial(find_problem, CheckRequest, question, PythonNotation()),
    )


def check_batch(
    requests: Iterable[CheckRequest | Mapping[str, Any]],
) -> Call[list[CheckAnswer | ServiceProblem]]:
    """Requests of check in, an answer or a problem for each out."""
    rows = batch_requests(requests)
    inputs = [len(row.get("inputs", ())) for row in rows]

    def finish(answer: CheckBatchAnswer) -> list[CheckAnswer | ServiceProblem]:
        results = answer.results or []
        if len(results) != len(rows):
            raise InvalidAnswer(f"the answer has {len(results)} results for {len(rows)} requests")
        return [
            _row_problem(result.error, row)
            if isinstance(result, Failed)
            else expected.verdict(result, row.get("op", NUMPY.name), count)
            for result, row, count in zip(results, rows, inputs, strict=True)
        ]

    return _plain("/v1/check/batch", {"requests": rows}, CheckBatchAnswer, len(rows) + sum(inputs), finish)


def _row_problem(error: ProblemDetails, row: Mapping[str, Any]) -> ServiceProblem:
    """The exception of a request of a batch that is not valid, in Python's words."""
    document = error.model_dump(exclude_unset=True)
    own = (
        find_problem(CheckRequest, row, MapNotation()) if error.code in (InvalidRequest.code, UnknownOp.code) else None
    )
    if own is not None and own.code == error.code:
        document["detail"] = own.detail
    return problem_from(document, error.status)


def check_columns(op: OpLike, columns: Sequence[Any], attributes: Mapping[str, Any]) -> Call[CheckedColumns]:
    """Arrays of shapes in, arrays of verdicts and shapes out."""
    question = columns_request(op, columns, attributes)
    named = dict(question.plain_op)
    for name, array in question.targets.items():
        named[name] = {"dtype": "int64", "shape": list(array.shape), "data": array.tobytes()}
    return Call(
        "POST",
        "/v1/check/batch",
        _message({"op": named}, "inputs", question.inputs),
        lambda length: TensorReader(
            expected.columns(question.op, question.inputs, question.targets),
            length,
            _checked,
            singles=("compatible", "conflict_axis"),
        ),
        _op_refusal(question.plain_op),
    )


def _op_refusal(op: Any) -> Callable[[], Problem | None]:
    """What is wrong with an op, once it is called: the service refuses a name that is not known here either."""
    return partial(find_problem, CheckRequest, {"op": op, "inputs": []}, PythonNotation())


def _checked(arrays: Arrays) -> CheckedColumns:
    (compatible,), (conflict_axis,) = arrays["compatible"], arrays["conflict_axis"]
    return CheckedColumns(compatible, arrays["outputs"], conflict_axis)


def broadcast(
    op: OpLike,
    arrays: Sequence[Any],
    layout: Layout,
    window: Window | None,
    out: Any,
    like: Like,
    attributes: Mapping[str, Any],
) -> Call[list[Any]]:
    """Arrays in, arrays out: `out` is filled where it is given."""
    whole = resolve_op(op, attributes, ("layout", "window", "out", "like", "progress", "timeout"))
    return _broadcast(whole, arrays, layout, window, out, like, list)


def broadcast_to(
    array: Any, shape: ShapeLike, layout: Layout, window: Window | None, out: Any, like: Like
) -> Call[Any]:
    """An array in, the one that NumPy makes of it for this target out."""
    return _broadcast(numpy.broadcast_to(shape=read_sizes(shape)), [array], layout, window, out, like, itemgetter(0))


def broadcast_arrays(
    arrays: Sequence[Any], layout: Layout, window: Window | None, out: Any, like: Like
) -> Call[tuple[Any, ...]]:
    """Arrays in, those that NumPy makes of them out."""
    return _broadcast(NUMPY, arrays, layout, window, out, like, tuple)


def _broadcast(
    op: OpLike,
    arrays: Sequence[Any],
    layout: Layout,
    window: Window | None,
    out: Any,
    like: Like,
    finish: Callable[[list[Any]], T],
) -> Call[T]:
    if out is not None and layout == "strided":
        raise ValueError('out needs layout="dense": a strided answer holds each distinct element once')
    fields: dict[str, Any] = {"op": plain_op(op), "layout": layout}
    outs = None if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
    targets = None if outs is None else list(map(target_of, outs))
    judge_targets(targets or [])
    inputs = _arrays(op, arrays)
    shapes = tuple(array.shape for array in inputs)
    if window is not None and (box := bounds(window, op, shapes)) is not None:
        fields["window"] = box
    made = _made(op, arrays, layout, like, lambda whole: output_axes(whole, shapes, fields.get("window")))

    def reader(length: int | None) -> TensorReader[T]:
        tensors = expected.outputs(op, inputs, layout, fields.get("window"))
        return TensorReader(
            {"outputs": tensors},
            length,
            lambda found: finish(made(found["outputs"]) if outs is None else outs),
            targets,
        )

    parts = _message(fields, "inputs", inputs)
    if len(parts) > 1 and overlap(inputs, targets or []):
        parts = [b"".join(parts)]  # the answer may be begun when they are read, or sent once more
    return Call("POST", "/v1/broadcast", parts, reader, _op_refusal(fields["op"]))


def _arrays(op: OpLike, arrays: Sequence[Any]) -> list[Array]:
    """The arrays of a call. Raises TypeError for a list of them where the op takes them one by one."""
    listed = arrays[0] if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else ()
    if isinstance(op, Op) and op.max_inputs != 1 and any(getattr(item, "ndim", 0) for item in listed):
        raise TypeError("the arrays are in a list: pass them one by one, broadcast(op, a, b)")
    return [array_of(array) for array in arrays]


def backprop(
    op: OpLike, shapes: Sequence[ShapeLike], gradients: Sequence[Any], like: Like, attributes: Mapping[str, Any]
) -> Call[list[Any]]:
    """Gradients of the outputs in, gradients of the inputs out."""
    op = resolve_op(op, attributes, ("like", "progress", "timeout"))
    fields = {"op": plain_op(op), "inputs": _input_shapes(op, shapes)}
    arrays = list(map(array_of, gradients))
    tensors = expected.gradients(fields["inputs"], arrays)
    made = _made(op, gradients, "dense", like, lambda whole: gradient_axes(whole, tuple(map(tuple, fields["inputs"]))))
    return Call(
        "POST",
        "/v1/backprop",
        _message(fields, "gradients", arrays),
        lambda length: TensorReader({"gradients": tensors}, length, lambda found: made(found["gradients"])),
        _op_refusal(fields["op"]),
    )


def _input_shapes(op: OpLike, shapes: Sequence[ShapeLike]) -> list[list[int]]:
    """The shapes of the inputs of a backprop. Raises TypeError for one shape that is not in a list, and for arrays."""
    if isinstance(shapes, (str, Mapping)) or not isinstance(shapes, Iterable):
        raise TypeError(f"shapes is a list with the shape of each input, such as [(3,)], not {shapes!r:.60}")
    if hasattr(shapes, "shape"):
        raise TypeError(
            f"shapes is a list with the shape of each input, not an array: write [{format_shape(shapes.shape)}]"
        )
    shapes = list(shapes)
    alone = all(isinstance(shape, int) for shape in shapes)
    if alone and isinstance(op, Op) and op.input_count_problem(len(shapes)):
        raise TypeError(f"shapes is a list with the shape of each input: write [{format_shape(shapes)}]")
    return map_inputs(shapes, read_sizes)


def _made(
    op: OpLike,
    arrays: Sequence[Any],
    layout: Layout,
    like: Like,
    axes: Callable[[Op], Iterable[tuple[int, list[Axis]]]],
) -> Callable[[list[Array]], list[Any]]:
    """What makes the results: for each of them `axes` has the one of `arrays` that it is like, and its axes."""
    if like == "numpy":
        return list
    if like != "input":
        raise ValueError(f'like is "numpy" or "input", not {like!r}')
    whole = expected.instance(op)
    if whole is None:
        raise ValueError(f'like="input" needs an op that is whole and known here, and this is none: {op!r}')
    makers = [maker_of(array, layout) for array in arrays]

    def make(results: list[Array]) -> list[Any]:
        try:
            places = list(axes(whole))
        except ShapeMismatch:
            raise InvalidAnswer("the service answered a question that has no answer") from None
        return [makers[source](result, axes) for result, (source, axes) in zip(results, places, strict=True)]

    return make


def compare(
    shapes: Sequence[SymbolicShapeLike],
    target: SymbolicShapeLike | None,
    assume: Mapping[str, int | str] | None,
    warn: Collection[str],
) -> Call[list[Comparison]]:
    """Shapes in, every framework's verdict out."""
    message = compare_request(shapes, target, assume, warn)

    def finish(answer: CompareAnswer) -> list[Comparison]:
        return [expected.verdict(result, result.op, len(shapes)) for result in answer.results]

    refused = partial(find_problem, CompareRequest, message, PythonNotation())
    return _plain("/v1/compare", message, CompareAnswer, len(shapes) * len(OPS), finish, refused)


def translate(op: OpLike, shapes: Sequence[ShapeLike], to: str, attributes: Mapping[str, Any]) -> Call[TranslateAnswer]:
    """Shapes in, the same operation in another framework's words out."""
    message = translate_request(op, shapes, to, attributes)

    def refused() -> Problem | None:
        words = PythonNotation()
        return find_problem(TranslateRequest, message, words) or (
            None if op_class(to) else unknown_op_problem(to, "/to", words)
        )

    return _plain("/v1/translate", message, TranslateAnswer, len(shapes), lambda answer: answer, refused)


def why(text: str) -> Call[WhyAnswer]:
    """The text of an error in, its op, its shapes and their check out."""
    message = {"text": text}
    refused = partial(find_problem, WhyRequest, message, PythonNotation())
    return _plain("/v1/why", message, WhyAnswer, _MESSAGE_SHAPES, lambda answer: answer, refused)


def ops() -> Call[list[OpEntry]]:
    """The catalogue."""
    return Call("GET", "/v1/ops", [], lambda length: typed(Catalogue, 0, lambda answer: answer.ops))


def _shape(answer: CheckAnswer) -> tuple[int, ...]:
    """The one shape of an answer's outputs. Raises IncompatibleShapes."""
    if answer.conflict is not None:
        conflict = answer.conflict.model_dump()
        raise problem_from(
            {"code": "incompatible-shapes", "detail": answer.conflict.message, "conflict": conflict},
            status=422,
        )
    sizes = answer.outputs[0].shape
    if not all(isinstance(size, int) for size in sizes):
        raise InvalidAnswer("the answer has sizes that are not known, and all were known that were asked about")
    return tuple(map(int, sizes))


NUMPY = numpy.broadcast_arrays()


def _plain(
    path: str,
    question: Any,
    model: Any,
    inputs: int,
    finish: Callable[[Any], T],
    refusal: Callable[[], Problem | None] = lambda: None,
) -> Call[T]:
    """A call without tensors: a question about so many inputs, whose answer is of this model."""
    return Call("POST", path, [_packed(question)], lambda length: typed(model, inputs, finish), refusal)


def _packed(value: Any) -> bytes:
    """A plain value in MessagePack. Raises InvalidRequest for a string that has no bytes."""
    try:
        return bytes(msgpack.packb(value))
    except UnicodeEncodeError as error:
        detail = f"{error.object[:60]!a} holds half a surrogate pair, which UTF-8 can't say"
        raise InvalidRequest(Problem("invalid-request", detail).document()) from None
    except (TypeError, OverflowError) as error:
        raise TypeError(f"an argument holds what can't be sent: {error}") from None


def _message(fields: Mapping[str, Any], last: str, arrays: Sequence[Array]) -> list[bytes | memoryview]:
    """A MessagePack map of small fields and then tensors, as parts; arrays are sent as they lie in memory."""
    head = _packed({**fields, last: [None] * len(arrays)})
    parts: list[bytes | memoryview] = [head[: len(head) - len(arrays)]]  # the tensors stand where so many nils were
    for array in arrays:
        try:
            parts += msgpack_parts(array, strided=any(replicated_axes(array)))
        except UnknownDtype as error:
            raise TypeError(str(error)) from None
    if sum(map(len, parts)) <= SEND_BYTES:
        return [b"".join(parts)]
    return parts
