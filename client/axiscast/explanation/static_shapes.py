"""Functions that compute the shape of an array expression from the shapes of its variables, without evaluating it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from inspect import getattr_static
from types import FrameType, ModuleType
from typing import Any

from ..ops import OPS, Op, lower, op_class
from ..plan.alignment import ShapeMismatch
from .frame_values import MISSING, ArrayValue, array_of, attribute, module_name, parameters, value_of

_KEEPERS = """abs clone contiguous copy cos cosh cpu cuda detach double exp exp2 expm1 float floor gelu half int log
    log10 log1p log2 long neg negative relu round rsqrt sigmoid sign silu sin sinh softplus sqrt square tan tanh to
    astype type stop_gradient"""
_SAME_SHAPE = frozenset(_KEEPERS.split())
"""The functions and methods whose result has the same shape as the first operand. The dtype may differ."""

_LAYERS = """BatchNorm1d BatchNorm2d Dropout ELU GELU GroupNorm Identity LayerNorm LeakyReLU ReLU Sigmoid SiLU Softmax
    Tanh"""
_SAME_SHAPE_LAYERS = frozenset(_LAYERS.split())
MATRIX_PRODUCTS = frozenset(("linear", "bmm", "mm", "mv"))
"""The functions of torch that multiply like matmul, for operands of certain ranks."""
_CREATORS = frozenset(("zeros", "ones", "empty", "rand", "randn"))
"""The functions and methods that return an array of the sizes in their arguments."""
_DTYPE = re.compile(r"(?:^|\.)(?:bool|u?int|b?float|complex)\d*$")
_MODULES = {"jax": "jax.numpy", "jaxlib": "jax.numpy", "mlx": "mlx.core", "dask": "dask.array"}
"""The modules whose ops have the names of operators, for each package in which they are not in the package itself."""


def shape_of(node: ast.expr, frame: FrameType | None) -> ArrayValue | None:
    """Return what is known about the array that an expression evaluates to, or None, as for most function calls."""
    value = value_of(node, frame)
    if value is not MISSING:
        return array_of(value)
    if isinstance(node, ast.UnaryOp):
        return shape_of(node.operand, frame)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            return _combined("matmul", shape_of(node.left, frame), shape_of(node.right, frame))
        return _elementwise(node.left, node.right, frame)
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return _elementwise(node.left, node.comparators[0], frame)
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return _changed(shape_of(node.value, frame), _CHANGES[node.attr])
    if isinstance(node, ast.Subscript):
        return _changed(shape_of(node.value, frame), lambda view: view[_index(node.slice)])
    if isinstance(node, ast.Call):
        return _called(node, frame)
    return None


def is_number(node: ast.expr, frame: FrameType | None) -> bool:
    """Return whether an expression is a constant, a number in the frame, or a number such as `-1e9` or `float("inf")`.

    Strings and None are constants too.
    """
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand, frame)
    if isinstance(node, ast.BinOp):
        return is_number(node.left, frame) and is_number(node.right, frame)
    if isinstance(node, ast.Call):
        is_builtin = isinstance(node.func, ast.Name) and value_of(node.func, frame) is MISSING
        return is_builtin and ast.unparse(node.func) in ("float", "int", "bool", "complex")
    return isinstance(node, ast.Constant) or type(value_of(node, frame)) in (int, float, bool, complex)


def operation(framework: str, function: str) -> type[Op] | None:
    """Return the op for a function of a package, or None if the catalogue has none. "add" stands for operators."""
    name = "matmul" if framework == "torch" and function in MATRIX_PRODUCTS else function
    return op_class(f"{_MODULES.get(framework, framework)}.{name}")


def _elementwise(left: ast.expr, right: ast.expr, frame: FrameType | None) -> ArrayValue | None:
    """Return what is known about the result of an operator on two arrays, or on an array and a number."""
    arrays = [shape_of(part, frame) for part in (left, right)]
    if any(array is None and not is_number(part, frame) for array, part in zip(arrays, (left, right), strict=True)):
        return None
    known = [array for array in arrays if array is not None]
    return _combined("add", *known) if len(known) == 2 else next(iter(known), None)


def _combined(function: str, left: ArrayValue | None, right: ArrayValue | None) -> ArrayValue | None:
    """Return what is known about the result of an operator on two arrays, or None if their shapes do not fit."""
    if left is None or right is None:
        return None
    kind = operation(left.framework, function) or OPS[f"numpy.{function}"]  # other libraries follow NumPy's rule
    try:
        plan = lower(kind(), (left.shape, right.shape))
    except ShapeMismatch:
        return None
    return left._replace(shape=plan.outputs[0].shape if plan.result is None else plan.result)


def _changed(array: ArrayValue | None, change: Callable[..., Any]) -> ArrayValue | None:
    """Return what is known about an array after a change, or None if the change is impossible.

    The change is applied to a view of one element with the array's shape, which needs no memory. It must return a view.
    """
    import numpy as np

    if array is None:
        return None
    try:
        return array._replace(shape=change(np.broadcast_to(np.False_, array.shape)).shape)
    except (ValueError, IndexError, TypeError):
        return None


def _index(node: ast.expr) -> Any:
    """Return the value of an index of integers, slices, new axes and `...`. Raises ValueError for any other index."""
    if isinstance(node, ast.Tuple):
        return tuple(map(_index, node.elts))
    if isinstance(node, ast.Slice):
        return slice(*[part and _index(part) for part in (node.lower, node.upper, node.step)])
    value = None if isinstance(node, ast.Attribute) and node.attr == "newaxis" else literal_value(node)
    if type(value) is int or value is None or value is ...:
        return value
    raise ValueError(node)


def literal_value(node: ast.expr) -> Any:
    """Return the value of a literal, such as -1 or (2, 3). Return MISSING for any other expression."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return MISSING


def _new_axis(view: Any, axis: int) -> Any:
    return view[(*[slice(None)] * range(view.ndim + 1)[axis], None)]


def _reduced(view: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """Return a view without the reduced axes, or with size 1 on them."""
    axes = [*range(view.ndim)] if axis is None else axis if isinstance(axis, tuple) else [axis]
    reduced = [range(view.ndim)[each] for each in axes]
    taken = slice(0, 1) if keepdims else 0
    return view[tuple(taken if each in reduced else slice(None) for each in range(view.ndim))]


_CHANGES: dict[str, Callable[..., Any]] = {
    "T": lambda view: view.T,
    "mT": lambda view: view.swapaxes(-1, -2),
    "swapaxes": lambda view, one, other: view.swapaxes(one, other),
    "permute": lambda view, *axes: view.transpose(*axes),
    "unsqueeze": _new_axis,
    "expand_dims": _new_axis,
    **dict.fromkeys(("sum", "mean", "amax", "amin", "std", "var"), _reduced),
}
"""The functions and methods whose result has another shape. The first argument is a view."""
_OPTIONS = {"dim": "axis", "keepdim": "keepdims"}
"""NumPy's names for PyTorch's arguments."""


def _called(node: ast.Call, frame: FrameType | None) -> ArrayValue | None:
    function, arguments = node.func, node.args
    if isinstance(function, ast.Name) and arguments:
        return _through(value_of(function, frame), shape_of(arguments[0], frame))
    if not isinstance(function, ast.Attribute):
        return None
    array, name = shape_of(function.value, frame), function.attr
    if array is None and arguments:
        if name in _CREATORS:
            return _created(node, frame)
        array, arguments = shape_of(arguments[0], frame), arguments[1:]
        if name not in _SAME_SHAPE and not _is_module(function.value, frame):
            return _through(value_of(function, frame), array)
    if array is None or name in _SAME_SHAPE:
        return array
    if name == "transpose" and array.framework:
        name = "swapaxes" if array.framework == "torch" else "permute"
    values = [literal_value(argument) for argument in arguments]
    options = {_OPTIONS.get(str(option.arg), str(option.arg)): literal_value(option.value) for option in node.keywords}
    if name not in _CHANGES or MISSING in values or MISSING in options.values():
        return None
    return _changed(array, lambda view: _CHANGES[name](view, *values, **options))


def _is_module(node: ast.expr, frame: FrameType | None) -> bool:
    """Return whether an expression is a module, or may be one in a traceback that was printed."""
    return frame is None or isinstance(value_of(node, frame), ModuleType)


def _created(node: ast.Call, frame: FrameType | None) -> ArrayValue | None:
    """Return what is known about an array that a call such as `np.ones((3, 4))` creates from literal sizes.

    Without a frame, the framework is unknown.
    """
    package = node.func
    while isinstance(package, ast.Attribute):
        package = package.value
    first = literal_value(node.args[0])
    is_shape = isinstance(first, (tuple, list))
    sizes = first if is_shape else [literal_value(size) for size in node.args if not _DTYPE.search(ast.unparse(size))]
    if (
        not isinstance(package, ast.Name)
        or not _is_module(package, frame)
        or any(type(size) is not int for size in sizes)
    ):
        return None
    framework = "" if frame is None else value_of(package, frame).__name__.partition(".")[0]
    return ArrayValue(framework, tuple(sizes), "")


def _through(module: object, array: ArrayValue | None) -> ArrayValue | None:
    """Return what is known about a PyTorch layer's output for an array, or None if the layer's class is unknown."""
    kind = type(module)
    if array is None or not module_name(kind).startswith("torch.nn.modules."):
        return None
    name = kind.__name__
    if name in _SAME_SHAPE_LAYERS:
        return array
    if name == "Sequential":
        for part in getattr_static(module, "_modules").values():
            array = _through(part, array)
        return array
    weight = next((array_of(value) for name, value in parameters(module) if name == "weight"), None)
    if weight is None or not array.shape:
        return None
    if name == "Linear":
        return array._replace(shape=(*array.shape[:-1], weight.shape[0]))
    if name == "Embedding":
        return weight._replace(shape=(*array.shape, weight.shape[1]))
    return _convolved(module, weight.shape, array) if name in ("Conv1d", "Conv2d", "Conv3d") else None


def _convolved(module: object, weight: tuple[int, ...], array: ArrayValue) -> ArrayValue | None:
    """Return what is known about a convolution's output, by the formula in the documentation of PyTorch."""
    options = [attribute(module, name) for name in ("stride", "padding", "dilation")]
    spatial = len(weight) - 2
    if len(array.shape) not in (spatial + 1, spatial + 2) or any(type(option) is not tuple for option in options):
        return None
    sizes = [
        (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
        for size, kernel, stride, padding, dilation in zip(array.shape[-spatial:], weight[2:], *options, strict=True)
    ]
    return array._replace(shape=(*array.shape[: -spatial - 1], weight[0], *sizes))
