"""A stand-in for torch: tensors with shapes and no values, and functions in whose place a function mode is called.

It calls modes as torch 2.13 does: the innermost one, and without itself, by the objects that torch has for functions
(an operator is a method of its class, an attribute the `__get__` of its descriptor).
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from itertools import zip_longest
from types import ModuleType, SimpleNamespace
from typing import Any

_STACK = threading.local()


class TorchFunctionMode:
    def __enter__(self) -> Any:
        _modes().append(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        assert _modes().pop() is self


def _modes() -> list[Any]:
    return _STACK.__dict__.setdefault("modes", [])


def handle_torch_function(called: Any, relevant: Any, *args: Any, **kwargs: Any) -> Any:
    modes = _modes()
    mode = modes.pop()
    try:
        return mode.__torch_function__(called, (), args, kwargs)
    finally:
        modes.append(mode)


def overridable(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if _is_overridden():
            return handle_torch_function(called, (), *args, **kwargs)
        return function(*args, **kwargs)

    return called


def _is_overridden() -> bool:
    return bool(_modes()) and not _STACK.__dict__.get("is_disabled")


class DisableTorchFunction:
    def __enter__(self) -> None:
        self.before, _STACK.is_disabled = _STACK.__dict__.get("is_disabled", False), True

    def __exit__(self, *exception: Any) -> None:
        _STACK.is_disabled = self.before


class WeakTensorRef:
    def __init__(self, tensor: Tensor) -> None:
        self.tensor = weakref.ref(tensor)

    def expired(self) -> bool:
        return self.tensor() is None


class Attribute:
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __get__(self, tensor: Any, owner: type | None = None) -> Any:
        if tensor is None:
            return self
        if _is_overridden():
            return handle_torch_function(self.__get__, (), tensor)
        return self.function(tensor)


def _broadcast(*operands: Any, **others: Any) -> Tensor:
    shapes = [operand.sizes[::-1] for operand in (*operands, *others.values()) if isinstance(operand, Tensor)]
    sizes = [{*sizes} - {1} for sizes in zip_longest(*shapes, fillvalue=1)]
    if any(len(each) > 1 for each in sizes):
        raise RuntimeError("The size of tensor a must match the size of tensor b")
    return Tensor(*[each.pop() if each else 1 for each in sizes[::-1]])


def _reshaped(tensor: Tensor, *shape: int) -> Tensor:
    return Tensor(*[len_of(tensor) if size == -1 else size for size in shape])


def len_of(tensor: Tensor) -> int:
    return functools.reduce(int.__mul__, tensor.sizes, 1)


def _indexed(tensor: Tensor, index: Any) -> Tensor:
    parts = index if isinstance(index, tuple) else (index,)
    rest = iter(tensor.sizes)
    return Tensor(*[1 if part is None else next(rest) for part in parts], *rest)


def _unsqueezed(input: Tensor, dim: int) -> Tensor:
    return Tensor(*input.sizes[:dim], 1, *input.sizes[dim:])


def _sum(tensor: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    return Tensor(*tensor.sizes[:dim], *([1] if keepdim else []), *tensor.sizes[dim + 1 :])


def _maximum(tensor: Tensor, dim: Any, keepdim: bool = False) -> Any:
    return _broadcast(tensor, dim) if isinstance(dim, Tensor) else (_sum(tensor, dim, keepdim),) * 2


def _range(size: int) -> Tensor:
    tensor = Tensor(size)
    tensor.kind = SimpleNamespace(is_floating_point=False, is_complex=False)
    return tensor


def _warn(text: str, level: int) -> None:
    """Warn at the line that calls, or at one `level` calls above it."""
    warnings.warn(text, stacklevel=level + 3)


class Tensor:
    def __init__(self, *shape: Any) -> None:
        self.sizes = shape

    __torch_dispatch__ = None
    _base = Attribute(lambda tensor: None)
    dtype = Attribute(lambda tensor: tensor.kind)
    kind = SimpleNamespace(is_floating_point=True, is_complex=False)
    shape = Attribute(lambda tensor: tensor.sizes)
    ndim = Attribute(lambda tensor: len(tensor.sizes))
    is_nested = Attribute(lambda tensor: False)
    T = mT = H = mH = Attribute(lambda tensor: Tensor(*tensor.sizes[::-1]))
    data = real = Attribute(lambda tensor: Tensor(*tensor.sizes))
    __getitem__ = overridable(_indexed)
    unsqueeze = overridable(_unsqueezed)
    view = reshape = overridable(_reshaped)
    sum = overridable(_sum)
    max = overridable(_maximum)

    def as_subclass(self, kind: Any) -> Any:
        return kind(*self.sizes)

    double = neg = overridable(lambda tensor: Tensor(*tensor.sizes))
    relu_ = overridable(lambda tensor: tensor)
    add = __radd__ = overridable(_broadcast)
    sub = overridable(_broadcast)
    mul = overridable(_broadcast)
    ge = overridable(_broadcast)
    div = overridable(_broadcast)
    __eq__ = overridable(_broadcast)  # type: ignore[assignment]
    __hash__ = object.__hash__
    __add__, __sub__, __mul__, __truediv__, __ge__ = add, sub, mul, div, ge
    __neg__ = neg
    __matmul__ = matmul = overridable(lambda one, other: Tensor(one.sizes[0], other.sizes[1]))


def module() -> ModuleType:
    """A module like torch."""
    torch = ModuleType("torch")
    torch.__file__ = f"{__file__}"
    torch.__version__ = "2.13.0"  # type: ignore[attr-defined]
    torch.Tensor = Tensor  # type: ignore[attr-defined]
    torch.overrides = ModuleType("torch.overrides")  # type: ignore[attr-defined]
    torch.overrides.TorchFunctionMode = TorchFunctionMode
    torch.overrides.handle_torch_function = handle_torch_function
    torch.nn = ModuleType("torch.nn")  # type: ignore[attr-defined]
    torch.nn.functional = ModuleType("torch.nn.functional")
    torch.nn.functional.mse_loss = overridable(lambda input, target, reduction="mean": Tensor())
    torch.compiler = ModuleType("torch.compiler")  # type: ignore[attr-defined]
    torch.compiler.is_dynamo_compiling = lambda: False
    torch._C = ModuleType("torch._C")  # type: ignore[attr-defined]
    torch._C._len_torch_function_stack = lambda: len(_modes())
    torch._C.DisableTorchFunction = DisableTorchFunction
    torch._C._WeakTensorRef = WeakTensorRef
    torch.nn.Parameter = type("Parameter", (Tensor,), {})  # type: ignore[attr-defined]
    torch.warn = overridable(_warn)  # type: ignore[attr-defined]
    torch.special = ModuleType("torch.special")  # type: ignore[attr-defined]
    torch.linalg = ModuleType("torch.linalg")  # type: ignore[attr-defined]
    torch.cosine_similarity = overridable(lambda x1, x2, dim=1, eps=1e-8: Tensor(*_broadcast(x1, x2).sizes[:-1]))
    torch.masked_scatter = overridable(lambda input, mask, source: _broadcast(input, mask))  # type: ignore[attr-defined]
    torch._foreach_add = overridable(lambda self, other: [*map(_broadcast, self, other)])  # type: ignore[attr-defined]
    torch.neg = overridable(lambda input: Tensor(*input.sizes))  # type: ignore[attr-defined]
    torch.arange = overridable(_range)  # type: ignore[attr-defined]
    torch.add = overridable(_broadcast)  # type: ignore[attr-defined]
    torch.where = overridable(_broadcast)  # type: ignore[attr-defined]
    torch.unsqueeze = overridable(_unsqueezed)  # type: ignore[attr-defined]
    torch.ones = lambda *shape: Tensor(*(shape[0] if isinstance(shape[0], tuple) else shape))  # type: ignore[attr-defined]
    return torch


def install(put: Callable[[dict[str, ModuleType], str, ModuleType], object] = dict.__setitem__) -> ModuleType:
    """Have imports find it as torch."""
    torch = module()
    for part in (torch, torch.overrides, torch.nn, torch.nn.functional):
        put(sys.modules, part.__name__, part)
    return torch
