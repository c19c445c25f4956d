"""Functions that compute the shape of an array expression from the shapes of its variables, without evaluating it."""

from __future__ import annotations

import ast
import re
from inspect import getattr_static
from types import FrameType, ModuleType

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
        return _transposed(shape_of(node.value, frame), node.attr)
    if isinstance(node, ast.Subscript):
        return _indexed(shape_of(node.value, frame), node.slice)
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


def _transposed(array: ArrayValue | None, attribute: str) -> ArrayValue | None:
    if array is None or (attribute == "mT" and len(array.shape) < 2):
        return None
    shape = array.shape[::-1] if attribute == "T" else (*array.shape[:-2], *array.shape[:-3:-1])
    return array._replace(shape=shape)


def _indexed(array: ArrayValue | None, index: ast.expr) -> ArrayValue | None:
    """Return what is known about an indexed array, or None. It is None if, for example, the index contains a list."""
    if array is None:
        return None
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    taken = sum(isinstance(part, ast.Slice) or type(literal_value(part)) is int for part in parts)
    left, shape = list(array.shape), []
    for part in parts:
        constant = literal_value(part)
        if isinstance(part, ast.Constant) and constant is None:
            shape.append(1)
        elif isinstance(part, ast.Constant) and constant is ...:
            kept = len(array.shape) - taken
            shape += left[:kept]
            del left[:kept]
        elif not left:
            return None
        elif type(constant) is int:
            left.pop(0)
        elif isinstance(part, ast.Slice):
            bounds = [None if each is None else literal_value(each) for each in (part.lower, part.upper, part.step)]
            if any(each is not None and type(each) is not int for each in bounds) or bounds[2] == 0:
                return None
            shape.append(len(range(*slice(*bounds).indices(left.pop(0)))))
        else:
            return None
    return array._replace(shape=(*shape, *left))


def literal_value(node: ast.expr) -> object:
    """Return the value of a literal, which may have a minus sign. Return MISSING for any other expression."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal_value(node.operand)
        return -value if type(value) is int else MISSING
    return node.value if isinstance(node, ast.Constant) else MISSING


def _called(node: ast.Call, frame: FrameType | None) -> ArrayValue | None:
    function = node.func
    if isinstance(function, ast.Name) and node.args:
        return _through(value_of(function, frame), shape_of(node.args[0], frame))
    if not isinstance(function, ast.Attribute):
        return None
    array = shape_of(function.value, frame)
    if array is None:
        if not node.args:
            return None
        if function.attr in _CREATORS:
            return _created(node, frame)
        first = shape_of(node.args[0], frame)
        return first if function.attr in _SAME_SHAPE else _through(value_of(function, frame), first)
    if function.attr in _SAME_SHAPE:
        return array
    axes = [literal_value(part) for part in node.args]
    if function.attr == "unsqueeze" and len(axes) == 1 and type(axes[0]) is int:
        rank = len(array.shape) + 1
        if -rank <= axes[0] < rank:
            shape = [*array.shape]
            shape.insert(axes[0] % rank, 1)
            return array._replace(shape=tuple(shape))
    if function.attr == "transpose" and array.framework == "torch" and len(axes) == 2:
        rank, shape = len(array.shape), [*array.shape]
        if all(type(axis) is int and -rank <= axis < rank for axis in axes):
            one, other = (int(axis) for axis in axes)  # type: ignore[call-overload]
            shape[one], shape[other] = shape[other], shape[one]
            return array._replace(shape=tuple(shape))
    if function.attr in ("sum", "mean", "amax", "amin", "std", "var"):
        return _reduced(array, node, axes)
    return None


def _created(node: ast.Call, frame: FrameType | None) -> ArrayValue | None:
    """Return what is known about an array that a call such as `np.ones((3, 4))` creates from literal sizes.

    Without a frame, the framework is unknown.
    """
    package = node.func
    while isinstance(package, ast.Attribute):
        package = package.value
    first = node.args[0]
    parts = first.elts if isinstance(first, (ast.Tuple, ast.List)) else node.args
    sizes = [literal_value(size) for size in parts if not _DTYPE.search(ast.unparse(size))]
    module = value_of(package, frame)
    is_module = isinstance(module, ModuleType) or (frame is None and isinstance(package, ast.Name))
    if not is_module or not all(type(size) is int for size in sizes):
        return None
    framework = "" if frame is None else module.__name__.partition(".")[0]
    return ArrayValue(framework, tuple(sizes), "")  # type: ignore[arg-type]


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


def _reduced(array: ArrayValue, node: ast.Call, axes: list[object]) -> ArrayValue | None:
    named = {keyword.arg: literal_value(keyword.value) for keyword in node.keywords}
    if not named.keys() <= {"dim", "axis", "keepdim", "keepdims"}:
        return None
    axis = axes[0] if axes else named.get("dim", named.get("axis"))
    keeps = axes[1] if len(axes) > 1 else named.get("keepdim", named.get("keepdims", False))
    if axis is None and not keeps:
        return array._replace(shape=())
    rank = len(array.shape)
    if type(axis) is not int or not -rank <= axis < rank or type(keeps) is not bool:
        return None
    at = axis % rank
    return array._replace(shape=(*array.shape[:at], *((1,) if keeps else ()), *array.shape[at + 1 :]))
