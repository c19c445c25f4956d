"""The validated arguments of `broadcast` and `backprop`, for a client or for a computation in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import InvalidAnswer
from ..messages.arguments import OpLike, broadcast_op, known_op, resolve_op
from ..messages.tensors import BroadcastRequest
from ..messages.value_arguments import InputShape, map_inputs, read_integer_shape
from ..ops import Op
from ..plan.alignment import ShapeMismatch
from ..wire.shapes import format_shape, is_unordered
from ..wire.tensors import Array, TensorLayout
from .array_libraries import Like, check_targets_disjoint, result_converter, to_numpy, writable_memory
from .result_axes import ResultAxis, axes_of_gradients, axes_of_outputs
from .window import WindowLike, window_bounds

ResultsConverter = Callable[[list[Array]], list[Any]]
"""A function that converts results to arrays of the arguments' libraries."""


class ResultOptions(NamedTuple):
    """The options of `broadcast` that determine the results. Client.broadcast describes each option."""

    layout: TensorLayout | None = None
    window: WindowLike | None = None
    out: Any = None
    like: Like = "numpy"


def broadcast_arguments(
    op_and_arrays: Sequence[Any], options: ResultOptions, attributes: Mapping[str, Any]
) -> tuple[OpLike, Sequence[Any], ResultOptions]:
    """Return the op, the arrays and the options of a broadcast.

    The first argument is an op, an array or a BroadcastRequest. Raises TypeError if
    there are arguments beside a request.
    """
    first, *others = op_and_arrays or (None,)
    if not isinstance(first, BroadcastRequest):
        op, arrays = broadcast_op(op_and_arrays)
        return resolve_op(op, attributes, ResultOptions._fields), arrays, options
    if others or attributes or options.window is not None or options.layout is not None:
        raise TypeError("a request is complete: pass only the request, broadcast(request)")
    inputs = [tensor.to_array(f"/inputs/{number}") for number, tensor in enumerate(first.inputs)]
    return first.op, inputs, options._replace(layout=first.layout, window=first.window)


def read_broadcast(
    op: OpLike, arrays: Sequence[Any], options: ResultOptions
) -> tuple[list[Array], list[list[int]] | None, list[Array] | None, ResultsConverter]:
    """Return the inputs, the window, the memory of the arrays in `out`, and the converter of the results.

    The memory is None if `out` is not given. Raises TypeError or ValueError if an argument is invalid.
    """
    layout, window, out, like = options
    if out is not None and layout == "strided":
        raise ValueError('out needs layout="dense", because a strided output contains each distinct element only once')
    outs = None if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
    targets = None if outs is None else list(map(writable_memory, outs))
    check_targets_disjoint(targets or [])
    inputs = _input_arrays(op, arrays)
    shapes = tuple(array.shape for array in inputs)
    bounds = None if window is None else window_bounds(window, op, shapes)
    convert = _results_converter(op, arrays, layout, like, lambda whole_op: axes_of_outputs(whole_op, shapes, bounds))
    return inputs, bounds, targets, convert if outs is None else lambda results: outs


def read_backprop(
    op: OpLike, shapes: Sequence[InputShape], gradients: Sequence[Any], like: Like
) -> tuple[list[list[int]], list[Array], ResultsConverter]:
    """Return the shapes, the gradients and the converter of the results.

    Raises TypeError or ValueError if an argument is invalid.
    """
    input_shapes = _input_shapes(op, shapes)
    sizes = tuple(map(tuple, input_shapes))
    convert = _results_converter(op, gradients, "dense", like, lambda whole_op: axes_of_gradients(whole_op, sizes))
    return input_shapes, list(map(to_numpy, gradients)), convert


def _input_arrays(op: OpLike, arrays: Sequence[Any]) -> list[Array]:
    """Return the inputs as NumPy arrays. Raises TypeError for a list of arrays, unless the op takes one input."""
    listed = arrays[0] if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else ()
    if isinstance(op, Op) and op.max_inputs != 1 and any(getattr(item, "ndim", 0) for item in listed):
        raise TypeError("the arrays are in a list: pass them as separate arguments, broadcast(op, a, b)")
    return [to_numpy(array) for array in arrays]


def _input_shapes(op: OpLike, shapes: Sequence[InputShape]) -> list[list[int]]:
    """Return the input shapes of `backprop`.

    Raises TypeError for an array, or for one shape that is not in a list, if the op can't take that many inputs.
    """
    expected = "shapes must be a list with the shape of each input"
    if isinstance(shapes, (str, Mapping)) or is_unordered(shapes) or not isinstance(shapes, Iterable):
        raise TypeError(f"{expected}, such as [(3,)], not {shapes!r:.60}")
    if hasattr(shapes, "shape"):
        raise TypeError(f"{expected}, not an array: write [{format_shape(shapes.shape)}]")
    shapes = list(shapes)
    is_one_shape = all(isinstance(shape, int) for shape in shapes)
    if is_one_shape and isinstance(op, Op) and op.input_count_problem(len(shapes)):
        raise TypeError(f"{expected}: write [{format_shape(shapes)}]")
    return map_inputs(shapes, read_integer_shape)


def _results_converter(
    op: OpLike,
    arrays: Sequence[Any],
    layout: str | None,
    like: Like,
    axes_of_results: Callable[[Op], Iterable[tuple[int, list[ResultAxis]]]],
) -> ResultsConverter:
    """Return the function that converts results to arrays of the libraries of the user's arrays.

    For each result, `axes_of_results` yields an index and the axes of the result. The result is converted to the
    library of the array at this index in `arrays`.
    """
    if like == "numpy":
        return list
    if like != "input":
        raise ValueError(f'like must be "numpy" or "input", not {like!r}')
    whole_op = known_op(op)
    if whole_op is None:
        raise ValueError(
            f'like="input" supports only ops and attributes that this version of axiscast knows, not {op!r}'
        )
    converters = [result_converter(array, layout or "dense") for array in arrays]

    def convert(results: list[Array]) -> list[Any]:
        try:
            sources = list(axes_of_results(whole_op))
        except ShapeMismatch:
            raise InvalidAnswer("the service accepted a request that has no valid response") from None
        return [converters[source](result, axes) for result, (source, axes) in zip(results, sources, strict=True)]

    return convert
