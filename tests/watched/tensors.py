"""Programs with other kinds of tensors, modes, threads and processes, and with libraries around torch."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import pickle
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class _Functions(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(torch.overrides.resolve_name(func) or repr(func))
        return func(*args, **(kwargs or {}))


class _Operations(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class _Logged(Tensor):
    """A class of tensors that records the calls with its instances."""

    seen: list[str] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(torch.overrides.resolve_name(func) or repr(func))
        return super().__torch_function__(func, types, args, kwargs or {})


class _Duck:
    """An object that torch's functions accept although it is not a tensor. Its attributes raise."""

    @property
    def ndim(self) -> int:
        raise KeyError("ndim")

    shape = ndim

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func.__name__, len(args), sorted(kwargs or {})


def _work(x: Tensor) -> Any:
    column = x[:, None]
    return column - x, x.sum(0, keepdim=True) + column, torch.where(x > 0.5, x, column), torch.maximum(x, x)


def modes_of_functions_within() -> Any:
    with _Functions() as mode:
        return _work(torch.rand(5)), mode.seen


def modes_of_operations() -> Any:
    with _Operations() as mode:
        return _work(torch.rand(5)), mode.seen


def default_device() -> Any:
    with torch.device("meta"):
        result = _work(torch.rand(5))
    return [part.shape for part in result]


def default_device_that_stays() -> Any:
    torch.set_default_device("cpu")
    try:
        return _work(torch.rand(5))
    finally:
        torch.set_default_device(None)


def own_class_of_tensors() -> Any:
    _Logged.seen.clear()
    x = torch.rand(5).as_subclass(_Logged)
    results = _work(x), torch.neg(input=x), x - torch.rand(5, 1), (x + 1).mean()
    return [type(part).__name__ for part in results[0]], results[1:], _Logged.seen[:]


def duck() -> Any:
    return torch.add(_Duck(), torch.rand(3)), torch.where(_Duck(), 1, other=2), torch.nn.functional.mse_loss(_Duck(), 1)


def wrapper_with_a_dispatch() -> Any:
    seen = []

    class Wrapped(Tensor):
        inner: Tensor

        @staticmethod
        def __new__(cls, inner: Tensor) -> Any:
            made = Tensor._make_wrapper_subclass(cls, inner.shape, dispatch_sizes_strides_policy="sizes")
            made.inner = inner
            return made

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            args = [arg.inner if isinstance(arg, Wrapped) else arg for arg in args]
            result = func(*args, **(kwargs or {}))
            return Wrapped(result) if isinstance(result, Tensor) else result

    x = Wrapped(torch.rand(5))
    y = x + torch.rand(5, 1) * x
    return y.inner, seen


def uninitialized_parameters() -> Any:
    lazy = torch.nn.LazyLinear(2)
    with contextlib.suppress(ValueError):
        lazy.weight + 1
    return lazy(torch.ones(1, 3)).shape


def copies() -> Any:
    model = torch.nn.Linear(3, 1)
    column = torch.rand(5)[:, None]
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "column": column}, file)
    file.seek(0)
    return (
        copy.deepcopy(model).weight,
        pickle.loads(pickle.dumps(column)),
        torch.load(file),
        sorted(vars(copy.deepcopy(column))),
    )


def lifetimes() -> Any:
    x = torch.rand(5)
    column = x[:, None]
    counts = weakref.getweakrefcount(x), sys.getrefcount(column)
    died: list[str] = []
    end = weakref.finalize(column, died.append, "column")
    del column
    gc.collect()
    return counts, died, end.alive


def swap() -> Any:
    one, other = torch.rand(5)[:, None], torch.rand(5).unsqueeze(1)
    before = one.clone()
    torch.utils.swap_tensors(one, other)
    return torch.equal(other, before)


def nested_tensors() -> Any:
    strided = torch.nested.nested_tensor([torch.rand(2, 3), torch.rand(4, 3)])
    jagged = torch.nested.nested_tensor([torch.rand(2, 3), torch.rand(4, 3)], layout=torch.jagged)
    sums = jagged + jagged * 2
    return [*(strided * 2).unbind(), *sums.unbind(), *(jagged - jagged.mean(-1, keepdim=True)).unbind()]


def sparse_tensors() -> Any:
    dense = torch.eye(3)
    coo, csr = dense.to_sparse(), dense.to_sparse_csr()
    return (coo + coo).to_dense(), (coo * 2).to_dense(), csr @ dense, torch.sparse.mm(coo, dense), coo * dense[0]


def quantized_tensors() -> Any:
    x = torch.quantize_per_tensor(torch.rand(4, 3), 0.1, 0, torch.quint8)
    return x.dequantize(), torch.ops.quantized.add(x, x, 0.1, 0).dequantize(), x.int_repr() > 3


def quantize_a_model() -> Any:
    model = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(3, 2)), {torch.nn.Linear})
    return model(torch.ones(1, 3))


def meta_tensors() -> Any:
    big = torch.empty(10**6, 1, device="meta") - torch.empty(10**6, device="meta")
    wide = torch.empty(2**40, device="meta") * 2
    return big.shape, wide.shape


def meta_tensors_too_large() -> Any:
    return torch.empty(2**62, 1, device="meta") - torch.empty(2**62, device="meta")


def many_axes() -> Any:
    x = torch.rand([1] * 70 + [3])
    return (x - torch.rand(3)).shape, (x.unsqueeze(0) * x).ndim


def numpy_arrays() -> Any:
    x, array = torch.rand(5), np.arange(5.0)
    return (
        x.numpy() + array,
        torch.from_numpy(array) - x,
        np.sin(x),
        array - x.double(),
        np.asarray(x[:, None]),
        x * array,
    )


def dlpack() -> Any:
    x = torch.rand(5)
    return torch.from_dlpack(x) + x, np.from_dlpack(x), torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))


def complex_numbers() -> Any:
    x = torch.rand(4, dtype=torch.complex64)
    return x.real, x.conj() * x[:, None], torch.fft.fft(x), torch.view_as_real(x), x.abs().max(0, keepdim=True), x.mH


def indexing() -> Any:
    x = torch.arange(24.0).reshape(2, 3, 4)
    y = x.clone()
    y[0, ..., None] = 1
    y[:, [0, 1]] += 5
    y[x > 20] = -1
    return (
        x[..., None, 1],
        x[[0, 1], :, None],
        x[None, True],
        x[:, torch.tensor([0, 2])],
        y,
        [*x[0]],
        len(x),
        x[0, 1, 2].item(),
    )


def in_place_and_out() -> Any:
    x, out = torch.rand(5), torch.empty(5, 5)
    torch.sub(x[:, None], x, out=out)
    x.add_(1).mul_(2).clamp_(0, 3)
    x += x
    return out, x, torch.add(x, 1, alpha=3), torch.max(torch.rand(3, 2), 0), torch.rand(2, 2).max(torch.zeros(2))


def einsum_and_linalg() -> Any:
    x = torch.rand(3, 3)
    return torch.einsum("ij,jk->ik", x, x), torch.einsum("...i,...i", x, x), torch.linalg.svd(x), torch.norm(x, dim=1)


def distributions() -> Any:
    from torch.distributions import Categorical, MultivariateNormal, Normal, kl_divergence

    normal, other = Normal(torch.zeros(3), torch.ones(3)), Normal(torch.ones(3), 2)
    return (
        normal.rsample((2,)),
        normal.log_prob(torch.rand(2, 3)),
        kl_divergence(normal, other),
        Categorical(logits=torch.rand(6, 3)).log_prob(torch.zeros(6)),
        MultivariateNormal(torch.zeros(2), torch.eye(2)).sample(),
    )


def distribution_with_a_wrong_value() -> Any:
    return torch.distributions.Normal(torch.zeros(3), -torch.ones(3))


def no_gradients() -> Any:
    x = torch.rand(5, requires_grad=True)
    with torch.no_grad():
        y = x[:, None] - x
    with torch.inference_mode():
        z = x * 2
    return y.requires_grad, z.is_inference(), (x * y.detach()).requires_grad


def inference_tensor_in_a_graph() -> Any:
    with torch.inference_mode():
        y = torch.rand(5)
    return y * torch.rand(5, requires_grad=True)


def threads() -> Any:
    results: list[Any] = [None] * 4

    def run(number: int) -> None:
        with _Functions() as mode:
            results[number] = (torch.full((3,), float(number))[:, None] - torch.ones(3), mode.seen)

    workers = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return results


class _Rows(torch.utils.data.Dataset[Tensor]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Tensor:
        return torch.arange(3.0)[:, None].squeeze(-1) + index


def workers() -> Any:
    return [*torch.utils.data.DataLoader(_Rows(), batch_size=4, num_workers=2)]


def _square(x: Tensor) -> Tensor:
    return x[:, None] * x


def processes() -> Any:
    with torch.multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.map(_square, [torch.arange(3.0)])


def watches_of_generators() -> Any:
    import axiscast

    def stepping(x: Tensor) -> Iterator[Tensor]:
        with axiscast.watch():
            yield x * 2
            yield x * 3

    x = torch.rand(3)
    steps = stepping(x)
    first = next(steps) + x
    rest = [*steps]
    return first, rest, len(torch.overrides._get_current_function_mode_stack())


def generator_that_is_left() -> Any:
    def stepping(x: Tensor) -> Iterator[Tensor]:
        with _Functions():
            yield x * 2
            yield x * 3

    x = torch.rand(3)
    steps = stepping(x)
    first = next(steps)
    steps.close()
    return first, x + x, len(torch.overrides._get_current_function_mode_stack())
