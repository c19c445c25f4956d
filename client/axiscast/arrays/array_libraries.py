"""The array libraries: conversion of their arrays to NumPy, writes to their arrays, and conversion of results.

Each library has a class in this file. The module of an array's type determines the class. The library itself is
imported only if the user passed one of its arrays. If NumPy would convert an array wrongly, an error with a remedy is
raised: NumPy alone would turn nulls into NaN, bfloat16 into integers, and columns of different dtypes into floats.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np

from ..wire.dtypes import ML_NAMES, dtype_from_name
from ..wire.tensors import Array
from .result_axes import ResultAxis

Like = Literal["numpy", "input"]
"""The library of the results: "numpy", or "input" for the library of each result's input."""
ResultConverter = Callable[[Array, Sequence[ResultAxis]], Any]
"""A function that converts a NumPy array that owns its memory into an array of another library."""


def to_numpy(value: Any) -> Array:
    """Convert an array from any library, a number or a list to a NumPy array. The result is a view if possible.

    Raises TypeError, with a remedy, if an array is on another device, is sparse, or contains nulls.
    """
    if type(value) is np.ndarray:
        return value
    library = _library_of(value)
    for find_property, remedy in library.unsupported_arrays:
        if property_text := find_property(value):
            raise_unsupported(value, property_text, remedy)
    return library.to_numpy(value)


def writable_memory(value: Any) -> Array:
    """Return the memory of a writable array, such as `out`, as a NumPy array. Raises TypeError or ValueError."""
    return _library_of(value).writable_memory(value)


def check_targets_disjoint(targets: Sequence[Array]) -> None:
    """Raise ValueError if two arrays returned by `writable_memory` share memory."""
    spans = sorted((target.__array_interface__["data"][0], target.nbytes) for target in targets if target.nbytes)
    if any(start + nbytes > following for (start, nbytes), (following, _) in pairwise(spans)):
        raise ValueError("two arrays of out share memory: each output needs separate memory")


def may_overlap(arrays: Sequence[Array], targets: Sequence[Array]) -> bool:
    """Return whether any of the arrays may share memory with any of the targets."""
    return any(np.may_share_memory(array, target) for array in arrays for target in targets)


def result_converter(value: Any, layout: str = "dense") -> ResultConverter:
    """Return the function that converts results to the library of this array. Raises TypeError or ValueError."""
    return _library_of(value).result_converter(value, layout)


def raise_unsupported(value: Any, property_text: str, remedy: str) -> NoReturn:
    """Raise the TypeError for an unsupported array. In its message, `property_text` follows its type's name."""
    raise TypeError(f"{_type_name(value)} {property_text}".strip() + f" is not supported: {remedy}")


def _type_name(value: Any) -> str:
    kind = type(value)
    return f"a {kind.__module__.partition('.')[0]} {kind.__name__}"


NO_ELEMENTS = "it has no elements. To check only its shape, use check"

# --- the libraries --------------------------------------------------------------------------------


class ArrayLibrary:
    """The operations on the arrays of one library. The type of each `value` is a class of the library."""

    modules: ClassVar[Sequence[str]]
    """The names of the library's top-level modules."""
    unsupported_types: ClassVar[Mapping[str, str]] = {}
    """The remedy for each unsupported type, keyed by the type's name."""
    unsupported_arrays: ClassVar[Sequence[tuple[Callable[[Any], Any], str]]] = ()
    """Pairs of a function and a remedy. The function returns why an array is unsupported, or returns a false value."""

    @classmethod
    def to_numpy(cls, value: Any) -> Array:
        return np.asarray(value)

    @classmethod
    def writable_memory(cls, value: Any) -> Array:
        raise TypeError(f"out can't be {_type_name(value)}: pass a NumPy array, a torch tensor or an xarray DataArray")

    @classmethod
    def result_converter(cls, value: Any, layout: str) -> ResultConverter:
        libraries = "NumPy, torch, jax and xarray"
        raise TypeError(f'like="input" supports {libraries}, not {_type_name(value)}: convert the NumPy result')


class NumPy(ArrayLibrary):
    """Operations on NumPy arrays, numbers, lists, and objects of unknown libraries that NumPy can convert."""

    modules = ("numpy", "builtins")
    unsupported_arrays = ((lambda x: np.any(getattr(x, "mask", False)) and "with masked elements", "pass x.filled(0)"),)

    @classmethod
    def to_numpy(cls, value: Any) -> Array:
        try:
            return np.asarray(value)
        except ValueError as error:
            if not isinstance(value, (list, tuple)):
                raise
            raise ValueError(
                "the items of a list have different shapes: pass the arrays as separate arguments"
            ) from error

    @classmethod
    def writable_memory(cls, value: Any) -> Array:
        if not isinstance(value, np.ndarray) or hasattr(value, "mask"):
            return super().writable_memory(value)
        if not (value.flags.c_contiguous and value.flags.writeable):
            raise ValueError("out must be writable and C-contiguous, such as an array from np.empty")
        return value

    @classmethod
    def result_converter(cls, value: Any, layout: str) -> ResultConverter:
        return lambda array, axes: array


class Torch(ArrayLibrary):
    """Operations on torch tensors."""

    modules = ("torch",)
    unsupported_arrays = (
        (lambda x: x.is_nested and "that is nested", "pass torch.nested.to_padded_tensor(x, 0.0)"),
        (lambda x: x.is_quantized and "that is quantized", "pass x.dequantize(), or x.int_repr()"),
        (lambda x: x.is_meta and "on the device meta", NO_ELEMENTS),
        (lambda x: str(x.layout) != "torch.strided" and f"of layout {x.layout}", "pass x.to_dense()"),
        (lambda x: x.device.type != "cpu" and f"on {x.device}", "pass x.cpu()"),
    )

    @classmethod
    def to_numpy(cls, value: Any) -> Array:
        name = str(value.dtype).removeprefix("torch.")
        resolved = value.detach().resolve_conj().resolve_neg()
        try:
            if name not in ML_NAMES or not name.startswith(("bfloat16", "float8")):
                return np.asarray(resolved.numpy())
            import torch

            integers = resolved.view(getattr(torch, f"int{8 * resolved.itemsize}"))
            return np.asarray(integers.numpy()).view(dtype_from_name(name))
        # A tensor of this subclass has no memory, or NumPy does not have the tensor's dtype.
        except (RuntimeError, TypeError) as error:
            raise_unsupported(value, f"of {value.dtype}", f"torch says: {error}")

    @classmethod
    def writable_memory(cls, value: Any) -> Array:
        import torch

        if value.requires_grad:
            raise ValueError("out requires grad, but received data has no gradient: pass out.detach()")
        if value.is_conj() or value.is_neg():
            raise ValueError("out is a conjugated or negated view: pass the tensor that it views")
        target = writable_memory(to_numpy(value))
        torch.autograd.graph.increment_version(value)  # tells autograd that the tensor changes
        return target

    @classmethod
    def result_converter(cls, value: Any, layout: str) -> ResultConverter:
        import torch

        def convert(array: Array, axes: Sequence[ResultAxis]) -> Any:
            array.flags.writeable = True  # torch refuses to write to replicated elements
            if array.dtype.name in ML_NAMES:
                return torch.from_numpy(array.view(f"i{array.itemsize}")).view(getattr(torch, array.dtype.name))
            return torch.from_numpy(array)

        return convert


class Jax(ArrayLibrary):
    """Operations on jax arrays."""

    modules = ("jax", "jaxlib")
    unsupported_types = {
        "Tracer": "it has no elements during tracing. Call this function outside of jit and grad, or through "
        "jax.pure_callback",
        "ShapeDtypeStruct": NO_ELEMENTS,
        "JAXSparse": "pass x.todense()",
    }
    unsupported_arrays = (
        (lambda x: _platforms(x) != {"cpu"} and f"on {', '.join(_platforms(x) - {'cpu'})}", "pass jax.device_get(x)"),
    )

    @classmethod
    def result_converter(cls, value: Any, layout: str) -> ResultConverter:
        import jax

        if layout == "strided":
            raise ValueError('jax arrays have no strides: use layout="dense" with like="input"')
        if jax.dtypes.canonicalize_dtype(value.dtype) != value.dtype:
            remedy = 'call jax.config.update("jax_enable_x64", True)'
            raise TypeError(f"jax would convert {value.dtype} to a narrower dtype: {remedy}")
        device, *_ = value.devices()
        return lambda array, axes: jax.numpy.asarray(array, device=device)


def _platforms(array: Any) -> set[str]:
    return {device.platform for device in array.devices()}


class TensorFlow(ArrayLibrary):
    """Operations on the tensors and variables of TensorFlow."""

    modules = ("tensorflow",)
    unsupported_types = {
        "RaggedTensor": "pass x.to_tensor()",
        "SparseTensor": "pass tf.sparse.to_dense(x)",
        "IndexedSlices": "pass tf.convert_to_tensor(x)",
        "SymbolicTensor": "it has no elements during tracing. Call this function outside of tf.function, or through "
        "tf.py_function",
    }
    unsupported_arrays = (
        (lambda x: "CPU:" not in x.device and f"on {x.device}", 'pass tf.identity(x) under tf.device("CPU:0")'),
        (
            lambda x: x.dtype.is_quantized and f"of {x.dtype.name}",
            "pass tf.quantization.dequantize(x, ...), or tf.bitcast(x, tf.int8)",
        ),
    )

    @classmethod
    def to_numpy(cls, value: Any) -> Array:
        is_variable = hasattr(value, "assign")  # NumPy would copy the elements of a variable
        return to_numpy(value.value()) if is_variable else np.asarray(value)


class Keras(ArrayLibrary):
    """Operations on Keras variables."""

    modules = ("keras",)
    unsupported_types = {"KerasTensor": NO_ELEMENTS}

    @classmethod
    def to_numpy(cls, value: Any) -> Array:
        return to_numpy(value.value)


class Paddle(ArrayLibrary):
    """Operations on Paddle tensors."""

    modules = ("paddle",)
    unsupported_arrays = (
        (lambda x: not x.is_dense() and "that is sparse", "pass x.to_dense()"),  # NumPy would read invalid memory
        (lambda x: not x.place.is_cpu_place() and f"on {x.place}", "pass x.cpu()"),
    )

    @classmethod
    def to_numpy(cls, value: Any) -> Array:
        array, name = np.asarray(value), str(value.dtype).removeprefix("paddle.")
        return array.view(dtype_from_name(name)) if name in ML_NAMES else array  # Paddle returns bfloat16 as integers


class XArray(ArrayLibrary):
    """Operations on the DataArrays and variables of xarray."""

    modules = ("xarray",)
    unsupported_types = dict.fromkeys(["Dataset", "DataTree"], 'pass one of its variables, x["name"]')

    @classmethod
    def to_numpy(cls, value: Any) -> Array:
        return to_numpy(value.data)

    @classmethod
    def writable_memory(cls, value: Any) -> Array:
        if value.data is not value.data:
            raise ValueError("out is a coordinate, or it is not loaded: pass x.copy(), or call x.load() first")
        return writable_memory(value.data)

    @classmethod
    def result_converter(cls, value: Any, layout: str) -> ResultConverter:
        if not hasattr(value, "coords"):
            return super().result_converter(value, layout)
        convert_data = result_converter(value.data, layout)

        def convert(array: Array, axes: Sequence[ResultAxis]) -> Any:
            kept = (axis for axis in axes if axis.source_axis is not None and axis.source_part)
            parts = {value.dims[axis.source_axis]: axis.source_part for axis in kept}
            expanded = [name for name, coordinate in value.coords.items() if not {*coordinate.dims} <= {*parts}]
            dims = [_dim_name(axis, value.dims) for axis in axes]
            coords = value.isel(parts).drop_vars(expanded).coords
            return type(value)(convert_data(array, axes), coords, dims, name=value.name, attrs=value.attrs)

        return convert


def _dim_name(axis: ResultAxis, dims: Sequence[str]) -> str:
    """Return the name of an axis. A new axis gets an underscore if the source already has a dimension of this name."""
    if axis.source_axis is not None:
        return dims[axis.source_axis]
    return f"{axis.name}_" if axis.name in dims else axis.name


class SciPy(ArrayLibrary):
    """The sparse arrays of SciPy and of the package `sparse`. Sparse arrays are unsupported and cause an error."""

    modules = ("scipy", "sparse")
    unsupported_types = dict.fromkeys(["_spbase", "spmatrix", "SparseArray"], "pass x.todense()")


class Arrow(ArrayLibrary):
    """Operations on the arrays and tensors of Arrow."""

    modules = ("pyarrow",)
    unsupported_types = {
        **dict.fromkeys(["Table", "RecordBatch"], 'pass a column, x["name"]'),
        **dict.fromkeys(
            ["SparseCOOTensor", "SparseCSRMatrix", "SparseCSCMatrix", "SparseCSFTensor"], "pass x.to_tensor()"
        ),
        "BaseListArray": "its lists may differ in length. Use a FixedShapeTensorArray, or x.flatten()",
        "DictionaryArray": "pass x.dictionary_decode()",
        "RunEndEncodedArray": "pass pyarrow.compute.run_end_decode(x)",
    }

    @classmethod
    def to_numpy(cls, value: Any) -> Array:
        if hasattr(value, "num_chunks"):
            return to_numpy(value.chunk(0) if value.num_chunks == 1 else value.combine_chunks())
        has_shape = hasattr(value, "to_numpy_ndarray")
        if getattr(value, "null_count", 0) or (has_shape and value.storage.flatten().null_count):
            raise_unsupported(value, "with nulls", "pass x.fill_null(0), or x.drop_null()")
        return np.asarray(value.to_numpy_ndarray() if has_shape else value)


class Polars(ArrayLibrary):
    """Operations on the series and data frames of Polars."""

    modules = ("polars",)
    unsupported_types = {"LazyFrame": "pass x.collect()"}

    @classmethod
    def to_numpy(cls, value: Any) -> Array:
        frame = hasattr(value, "get_columns")
        columns = value.get_columns() if frame else [value]
        _require_one_dtype(value, {column.dtype for column in columns})
        for column in columns:
            if str(column.dtype).startswith("List"):
                raise_unsupported(value, "whose lists may differ in length", "pass x.list.to_array(width)")
            flat = column.reshape((-1,)) if hasattr(column.dtype, "shape") else column
            if flat.null_count():
                raise_unsupported(value, "with nulls", "pass x.fill_null(0), or x.drop_nulls()")
        return np.asarray(value.to_numpy(order="c") if frame else value)


class Pandas(ArrayLibrary):
    """Operations on the series, data frames and indexes of pandas."""

    modules = ("pandas",)

    @classmethod
    def to_numpy(cls, value: Any) -> Array:
        dtypes = {*value.dtypes} if hasattr(value, "columns") else {value.dtype}
        _require_one_dtype(value, dtypes)
        for dtype in dtypes:
            if str(dtype).startswith("Sparse"):
                raise_unsupported(value, "that is sparse", "pass x.sparse.to_dense()")
            if not isinstance(dtype, np.dtype) and np.any(value.isna()):
                raise_unsupported(value, "with nulls", "pass x.fillna(0), or x.dropna()")
            return np.asarray(value, getattr(dtype, "numpy_dtype", None))
        return np.asarray(value)


def _require_one_dtype(value: Any, dtypes: Collection[Any]) -> None:
    if len(dtypes) > 1:
        listed = " and ".join(sorted(map(str, dtypes))[:4])
        raise_unsupported(value, f"with columns of {listed}", "convert them to the same dtype, or pass a column")


_LIBRARIES = {module: library for library in ArrayLibrary.__subclasses__() for module in library.modules}


def _library_of(value: Any) -> type[ArrayLibrary]:
    """Return the library class for a value. Raises TypeError, with a remedy, for an unsupported type.

    The module of the value's type determines the class. If this module is unknown, the nearest base class that a known
    library defines is used.
    """
    kinds = type(value).__mro__
    library = next(_LIBRARIES[top] for kind in kinds if (top := kind.__module__.partition(".")[0]) in _LIBRARIES)
    for kind in kinds:
        if kind.__name__ in library.unsupported_types:
            raise_unsupported(value, "", library.unsupported_types[kind.__name__])
    # Libraries also define objects such as shapes and devices, which have no elements.
    return library if hasattr(value, "__array__") else NumPy
