"""The functions of the library that return arrays. They run in this process without a service, and need NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from .errors import typed
from .messages import arguments
from .messages.arguments import OpLike
from .messages.value_arguments import InputShape, ShapeLike, read_sizes
from .ops import numpy

if TYPE_CHECKING:  # these modules import NumPy
    from .arrays.array_libraries import Like
    from .arrays.window import WindowLike
    from .wire.tensors import Array, TensorLayout

__all__ = ["backprop", "broadcast", "broadcast_arrays", "broadcast_to"]


@overload
def broadcast(
    first: Any,
    /,
    *arrays: Any,
    layout: TensorLayout | None = None,
    window: WindowLike | None = None,
    out: None = None,
    like: Literal["numpy"] = "numpy",
    **attributes: Any,
) -> list[Array]: ...
@overload
def broadcast(
    first: Any,
    /,
    *arrays: Any,
    layout: TensorLayout | None = None,
    window: WindowLike | None = None,
    out: Any = None,
    like: Like = "numpy",
    **attributes: Any,
) -> list[Any]: ...
@typed
def broadcast(
    *op_and_arrays: Any,
    layout: TensorLayout | None = None,
    window: WindowLike | None = None,
    out: Any = None,
    like: Like = "numpy",
    **attributes: Any,
) -> list[Any]:
    """Return the inputs of an op after broadcasting, as a list of arrays. Needs NumPy, but no service.

    The first argument is the op, as in `check`. If it is an array, the op is numpy.broadcast_arrays. It may also be a
    whole BroadcastRequest. For an op that only broadcasts, the results are its outputs. For an op that computes, such
    as a matrix product, they are the operands that enter the computation.

    By default, each result is a read-only view of its input, as in numpy.broadcast_to. If no strides can describe a
    result, this result is a new array. With layout="dense", all results are new writable arrays. With
    layout="strided", all results are views.

    The arrays may be from NumPy, torch, jax, TensorFlow, xarray and other libraries (docs/arrays.md). With
    like="input", each result is a new array from the same library as its input. `window` selects a part of each result:
    a [start, stop] pair for each axis, or slices such as np.s_[0:2, :]. `out` is one array, or one array for each
    result. The results are written to `out`, and `out` is returned. `out` may share memory with an input.

    Sizes are checked before memory is allocated. Raises OutputTooLarge if dense results need more memory than the
    machine has. Also raises IncompatibleShapes, NotStrided, InvalidRequest, UnknownOp, TypeError and ValueError.

    >>> import axiscast, numpy as np
    >>> axiscast.broadcast("ngraph.Broadcast", np.array([1, 2, 3]), shape=(2, 3), broadcast_axes={0})
    [array([[1, 2, 3],
           [1, 2, 3]])]
    >>> [array.shape for array in axiscast.broadcast(np.ones((3, 1)), np.ones(4))]
    [(3, 4), (3, 4)]
    """
    from .arrays.computation import compute_broadcast
    from .arrays.tensor_arguments import ResultOptions, broadcast_arguments

    options = ResultOptions(layout, window, out, like)
    return compute_broadcast(*broadcast_arguments(op_and_arrays, options, attributes))


@overload
def broadcast_to(
    array: Any, shape: ShapeLike, *, layout: TensorLayout | None = None, window: WindowLike | None = None
) -> Array: ...
@overload
def broadcast_to(
    array: Any,
    shape: ShapeLike,
    *,
    layout: TensorLayout | None = None,
    window: WindowLike | None = None,
    out: Any = None,
    like: Like = "numpy",
) -> Any: ...
@typed
def broadcast_to(
    array: Any,
    shape: ShapeLike,
    *,
    layout: TensorLayout | None = None,
    window: WindowLike | None = None,
    out: Any = None,
    like: Like = "numpy",
) -> Any:
    """Return `array` broadcast to `shape` by NumPy's rule. See `broadcast` for the options and the exceptions.

    >>> import axiscast, numpy as np
    >>> axiscast.broadcast_to(np.array([1, 2, 3]), (2, 3))
    array([[1, 2, 3],
           [1, 2, 3]])
    """
    op = numpy.broadcast_to(shape=read_sizes(shape))
    return broadcast(op, array, layout=layout, window=window, out=out, like=like)[0]


@typed
def broadcast_arrays(
    *arrays: Any,
    layout: TensorLayout | None = None,
    window: WindowLike | None = None,
    out: Any = None,
    like: Like = "numpy",
) -> tuple[Any, ...]:
    """Return the arrays broadcast against each other by NumPy's rule. See `broadcast` for the options.

    >>> import axiscast, numpy as np
    >>> [array.shape for array in axiscast.broadcast_arrays(np.ones((3, 1)), np.ones(4))]
    [(3, 4), (3, 4)]
    """
    if not arrays:
        return ()
    op = arguments.NUMPY_OP
    return tuple(broadcast(op, *arrays, layout=layout, window=window, out=out, like=like))


@overload
def backprop(
    op: OpLike, shapes: Sequence[InputShape], *gradients: Any, like: Literal["numpy"] = "numpy", **attributes: Any
) -> list[Array]: ...
@overload
def backprop(
    op: OpLike, shapes: Sequence[InputShape], *gradients: Any, like: Like = "numpy", **attributes: Any
) -> list[Any]: ...
@typed
def backprop(
    op: OpLike, shapes: Sequence[InputShape], *gradients: Any, like: Like = "numpy", **attributes: Any
) -> list[Any]:
    """Return the gradient of each input, from the shapes of the inputs and the gradient of each broadcast input.

    Each gradient is summed over the broadcast axes with 64-bit precision, and keeps its dtype. Each result is a new
    array, or a read-only view if its elements are replicated. If an op uses an input only for its shape, the gradient
    of this input is zero. Gradients may be arrays of any library. `like` has the same meaning as in `broadcast`. Needs
    NumPy, but no service.

    Sizes are checked before memory is allocated. Raises InvalidTensor if a gradient has a wrong shape or dtype. Also
    raises IncompatibleShapes, OutputTooLarge, InvalidRequest, UnknownOp, TypeError and ValueError.

    >>> import axiscast, numpy as np
    >>> axiscast.backprop("numpy.broadcast_to", [(3,)], np.ones((2, 3)), shape=(2, 3))
    [array([2., 2., 2.])]
    """
    from .arrays.computation import compute_backprop

    return compute_backprop(arguments.resolve_op(op, attributes, ("like",)), shapes, gradients, like)
