"""Functions that find the values of names in a frame, and their shapes, without running any code of the values.

A property, a `__getattr__` method or a class that overrides `shape` is never called. Attributes are looked up in
dictionaries and slots. Shapes are read with the descriptors of the framework's own classes.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from inspect import getattr_static
from types import FrameType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

MISSING: Any = object()
"""The result for an expression whose value is unknown."""
_NAMES = """numpy torch jax jaxlib tensorflow mlx paddle mindspore tinygrad dask mxnet pandas xarray array_api_strict"""
FRAMEWORK_PACKAGES = frozenset(_NAMES.split())
"""The packages whose arrays have shapes, and whose own code may be called."""
_NUMBERS = (int, float, bool, complex)
_STORES = ("_parameters", "_buffers", "_modules")
"""The names of the dictionaries in which a PyTorch module, or a similar module, stores its attributes."""
_MRO = type.__dict__["__mro__"]
_VARS = type.__dict__["__dict__"]
_MODULE = type.__dict__["__module__"]


class ArrayValue(NamedTuple):
    """What is known about an array: its framework, shape and dtype, but never its elements."""

    framework: str
    shape: tuple[int, ...]
    dtype: str


def value_of(node: ast.AST, frame: FrameType | None) -> Any:
    """Return the value of a name, an attribute or an item in a frame, or MISSING for any other expression.

    Without a frame, as in a traceback that was printed, all values are missing.
    """
    if frame is None:
        return MISSING
    if isinstance(node, ast.Name):
        local = frame.f_locals
        return local[node.id] if node.id in local else frame.f_globals.get(node.id, MISSING)
    if isinstance(node, ast.Attribute):
        base = value_of(node.value, frame)
        return MISSING if base is MISSING else attribute(base, node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        base, key = value_of(node.value, frame), node.slice.value
        if type(base) in (list, tuple) and type(key) is int and -len(base) <= key < len(base):
            return base[key]
        if type(base) is dict:
            return next((item for own, item in base.items() if type(own) is type(key) and own == key), MISSING)
    return MISSING


def attribute(base: Any, name: str) -> Any:
    """Return an attribute that is stored in a dictionary or a slot, or MISSING if code would have to compute it."""
    found = getattr_static(base, name, MISSING)
    if found is MISSING:
        stores = (getattr_static(base, store, None) for store in _STORES)
        return next((store[name] for store in stores if type(store) is dict and name in store), MISSING)
    if isinstance(base, ModuleType):
        return found
    if type(found) is MemberDescriptorType:
        try:
            return found.__get__(base, type(base))
        except AttributeError:
            return MISSING
    return MISSING if _has(type(found), "__get__") else found


def parameters(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the parameters that a module stores directly, not in a submodule."""
    store = getattr_static(module, "_parameters", None)
    if type(store) is dict:
        yield from ((name, value) for name, value in store.items() if type(name) is str)


def array_of(value: Any) -> ArrayValue | None:
    """Return the framework, shape and dtype of an array, or None if the value is not an array with integer sizes."""
    kind = next((kind for kind in _MRO.__get__(type(value)) if _package(kind) in FRAMEWORK_PACKAGES), None)
    if kind is None or type(value) in _NUMBERS:
        return None
    framework = _package(kind)
    if framework == "torch" and not _is_plain_tensor(value):
        return None
    try:
        with _unnoticed(framework):
            shape = tuple(getattr_static(kind, "shape").__get__(value, kind))
            has_dtype = getattr_static(kind, "dtype", None) is not None  # a DataFrame has none
            dtype = str(getattr_static(kind, "dtype").__get__(value, kind)) if has_dtype else ""
    except (AttributeError, TypeError, ValueError, RuntimeError):  # the shape is missing or was deleted
        return None
    if not all(type(size) is int for size in shape):
        return None
    return ArrayValue(framework, shape, _dtype_name(dtype))


def _dtype_name(text: str) -> str:
    """Return the short name of a dtype, such as float32 for torch.float32 or <dtype: 'float32'>."""
    return text.removeprefix("<dtype: '").removesuffix("'>").rpartition(".")[2].lower()


def _is_plain_tensor(value: Any) -> bool:
    """Return whether a tensor's sizes can be read without calling its class's `__torch_dispatch__`."""
    tensor = sys.modules["torch"].Tensor
    return getattr_static(type(value), "__torch_dispatch__", None) is getattr_static(tensor, "__torch_dispatch__", None)


def _unnoticed(framework: str) -> Any:
    """Return a context manager that disables the function modes and the tensor subclasses of torch."""
    return sys.modules["torch"]._C.DisableTorchFunction() if framework == "torch" else nullcontext()


def module_name(kind: type) -> str:
    """Return the module name of a class, without running code of its metaclass."""
    module = _MODULE.__get__(kind)
    return module if type(module) is str else ""


def _package(kind: type) -> str:
    return module_name(kind).partition(".")[0]


def _has(kind: type, name: str) -> bool:
    return any(name in _VARS.__get__(each) for each in _MRO.__get__(kind))
