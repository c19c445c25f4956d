"""Arrays of other libraries, as fakes: types with the modules and the protocols of the real ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

ROW = np.array([1, 2, 3], np.float32)


class Tensor:
    """A fake torch tensor. Its numpy() rejects the dtypes of ml_dtypes, gradients, and conjugate or negative views."""

    __module__ = "torch"
    is_nested = is_quantized = is_meta = False
    __array__ = None
    layout, device = "torch.strided", SimpleNamespace(type="cpu")

    def __init__(self, array: Any, requires_grad: bool = False, conj: bool = False, neg: bool = False) -> None:
        self.array, self.requires_grad, self.conj, self.neg = array, requires_grad, conj, neg
        self.dtype, self.itemsize = f"torch.{array.dtype.name}", array.itemsize

    def is_conj(self) -> bool:
        return self.conj

    def is_neg(self) -> bool:
        return self.neg

    def detach(self) -> Tensor:
        return Tensor(self.array, False, self.conj, self.neg)

    def resolve_conj(self) -> Tensor:
        return Tensor(self.array.conj(), self.requires_grad, False, self.neg) if self.conj else self

    def resolve_neg(self) -> Tensor:
        return Tensor(-self.array, self.requires_grad, self.conj) if self.neg else self

    def view(self, dtype: Any) -> Tensor:
        return Tensor(self.array.view(dtype))

    def numpy(self) -> Any:
        if self.requires_grad or self.conj or self.neg:
            raise RuntimeError("Can't call numpy() on it")
        if self.array.dtype.kind == "V":
            raise TypeError("Got unsupported ScalarType")
        return self.array


class Known:
    """Return a dtype that NumPy does not have."""

    numpy_dtype = np.dtype("float32")

    def __init__(self, name: str, **members: Any) -> None:
        self.name = name
        vars(self).update(members)

    def __str__(self) -> str:
        return self.name


class JaxArray:
    __module__ = "jaxlib._jax"

    def __init__(self, array: Any, device: Any = None) -> None:
        self.array, self.device = array, device or SimpleNamespace(platform="cpu")
        self.dtype = array.dtype

    def devices(self) -> Any:
        return {self.device} if isinstance(self.device, str) else [self.device]

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.array


class DataArray:
    """A fake xarray DataArray. Its coordinates are DataArrays by name, and isel selects parts of them."""

    __module__ = "xarray.core.dataarray"

    __array__ = None

    def __init__(self, data: Any, coords: Any, dims: Any, name: Any = None, attrs: Any = None) -> None:
        self.data, self.coords, self.dims, self.name, self.attrs = data, dict(coords), tuple(dims), name, attrs

    def isel(self, parts: dict[str, slice]) -> DataArray:
        data = self.data[tuple(parts.get(dim, slice(None)) for dim in self.dims)]
        coords = {name: coord.isel(parts) for name, coord in self.coords.items()}
        return DataArray(data, coords, self.dims, self.name, self.attrs)

    def drop_vars(self, names: list[str]) -> DataArray:
        kept = {name: coord for name, coord in self.coords.items() if name not in names}
        return DataArray(self.data, kept, self.dims, self.name, self.attrs)
