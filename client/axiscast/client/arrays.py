"""Arrays of other libraries: read as NumPy's, in place where their memory allows it; written into; made of results.

Each library is a class, found by the module that its arrays' types come from. Nothing is imported that is not there
already: who has an array has loaded its library. What can't be taken is refused with the way out, since NumPy alone
would turn nulls into NaN, bfloat16 into integers, and columns of several dtypes into floats.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np

from ..wire.dtypes import ML_NAMES, dtype_from_name
from ..wire.tensors import Array
from .axes import Axis

Like = Literal["numpy", "input"]
"""What results are: NumPy's arrays, or of the kind of the array that each was made from."""


Maker = Callable[[Array, Sequence[Axis]], Any]
"""Makes the same kind as some other array of a result, whose memory nobody else has."""


def array_of(value: Any) -> Array:
    """The elements of an array of any library, or of numbers and lists, as a NumPy array: a view where that can be.
    Raises TypeError, with the way out, for what is not in this machine's memory, not dense, or null."""
    return value if type(value) is np.ndarray else _library(value).read(value)


def target_of(value: Any) -> Array:
    """A writable array's own memory as a NumPy array, for `out`. Raises TypeError or ValueError, with the way out."""
    return _library(value).target(value)


def judge_targets(targets: Sequence[Array]) -> None:
    """Raises ValueError where two of what `target_of` gives share memory."""
    spans = sorted((target.__array_interface__["data"][0], target.nbytes) for target in targets if target.nbytes)
    if any(start + nbytes > following for (start, nbytes), (following, _) in pairwise(spans)):
        raise ValueError("two arrays of out share memory: each output needs its own")


def overlap(arrays: Sequence[Array], targets: Sequence[Array]) -> bool:
    """Whether one of these arrays may share memory with a target."""
    return any(np.may_share_memory(array, target) for array in arrays for target in targets)


def maker_of(value: Any, layout: str = "dense") -> Maker:
    """What makes results like this array. Raises TypeError or ValueError, with the way out, where nothing does."""
    return _library(value).maker(value, layout)


def refuse(value: Any, what: str, way_out: str) -> NoReturn:
    """Raises the TypeError of an array that can't be taken; `what` it is besides its type."""
    raise TypeError(f"{_name(value)}{what and ' '}{what} can't be taken as it is: {way_out}")


def _name(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__.partition('.')[0]}'s {kind.__name__}"


NO_ELEMENTS = "it has no elements; check takes its shape"

# --- the libraries --------------------------------------------------------------------------------


class Library:
    """How arrays of a library are read, written and made. The values are of one of its types."""

    modules: ClassVar[Sequence[str]]
    """How the names of its modules begin."""
    refused: ClassVar[Mapping[str, str]] = {}
    """Types that can't be read, by name, with the way out."""

    @classmethod
    def read(cls, value: Any) -> Array:
        return np.asarray(value)

    @classmethod
    def target(cls, value: Any) -> Array:
        raise TypeError(
            f"out can't be {_name(value)}, whose elements can't be written to: pass a NumPy array, a torch tensor or "
            "a DataArray, or leave it out"
        )

    @classmethod
    def maker(cls, value: Any, layout: str) -> Maker:
        raise TypeError(
            f'like="input" makes arrays of NumPy, torch, jax and xarray, not {_name(value)}: without it the result is '
            "NumPy's, to be converted"
        )


class NumPy(Library):
    """NumPy's own, numbers and lists, and all that no other class knows: NumPy's protocols may read it."""

    modules = ("numpy", "builtins")

    @classmethod
    def read(cls, value: Any) -> Array:
        if np.any(getattr(value, "mask", False)):
            refuse(value, "with masked elements", "x.filled(0)")
        try:
            return np.asarray(value)
        except ValueError as error:
            if not isinstance(value, (list, tuple)):
                raise
            raise ValueError(
                "a list whose items differ in shape is not an array: pass several arrays one by one"
            ) from error

    @classmethod
    def target(cls, value: Any) -> Array:
        if not isinstance(value, np.ndarray) or hasattr(value, "mask"):
            return super().target(value)
        if not (value.flags.c_contiguous and value.flags.writeable):
            raise ValueError("out must be writable and C-contiguous, such as np.empty makes it")
        return value

    @classmethod
    def maker(cls, value: Any, layout: str) -> Maker:
        return lambda array, axes: array


class Torch(Library):
    modules = ("torch",)

    @classmethod
    def read(cls, value: Any) -> Array:
        if value.is_nested:
            refuse(value, "that is nested", "torch.nested.to_padded_tensor(x, 0.0)")
        if value.is_quantized:
            refuse(value, "that is quantized", "x.dequantize(), or x.int_repr()")
        if value.is_meta:
            refuse(value, "on the device meta", NO_ELEMENTS)
        if str(value.layout) != "torch.strided":
            refuse(value, f"of layout {value.layout}", "x.to_dense()")
        if value.device.type != "cpu":
            refuse(value, f"on {value.device}", "x.cpu()")
        name = str(value.dtype).removeprefix("torch.")
        plain = value.detach().resolve_conj().resolve_neg()
        try:
            if name not in ML_NAMES or not name.startswith(("bfloat16", "float8")):
                return np.asarray(plain.numpy())
            import torch

            return np.asarray(plain.view(getattr(torch, f"int{8 * plain.itemsize}")).numpy()).view(
                dtype_from_name(name)
            )
        except (RuntimeError, TypeError) as error:  # no memory of its own, or a dtype that NumPy does not have
            refuse(value, f"of {value.dtype}", f"torch says: {error}")

    @classmethod
    def target(cls, value: Any) -> Array:
        import torch

        if value.requires_grad:
            raise ValueError("out requires grad, which nothing that is received has: pass out.detach()")
        if value.is_conj() or value.is_neg():
            raise ValueError("out is a view that is conjugated or negated: pass the tensor that it views")
        target = target_of(cls.read(value))
        torch.autograd.graph.increment_version(value)  # a backward that has saved it must find out
        return target

    @classmethod
    def maker(cls, value: Any, layout: str) -> Maker:
        import torch

        def make(array: Array, axes: Sequence[Axis]) -> Any:
            array.flags.writeable = True  # torch itself refuses to write to what strides replicate
            if array.dtype.name in ML_NAMES:
                return torch.from_numpy(array.view(f"i{array.itemsize}")).view(getattr(torch, array.dtype.name))
            return torch.from_numpy(array)

        return make


class Jax(Library):
    modules = ("jax", "jaxlib")
    refused: ClassVar[Mapping[str, str]] = {
        "Tracer": "it has no elements while it is traced: call this outside of jit and grad, or by jax.pure_callback",
        "ShapeDtypeStruct": NO_ELEMENTS,
        "JAXSparse": "x.todense()",
    }

    @classmethod
    def read(cls, value: Any) -> Array:
        if elsewhere := {device.platform for device in value.devices()} - {"cpu"}:
            refuse(value, f"on {', '.join(elsewhere)}", "jax.device_get(x)")
        return np.asarray(value)

    @classmethod
    def maker(cls, value: Any, layout: str) -> Maker:
        import jax

        if layout == "strided":
            raise ValueError('arrays of jax have no strides: like="input" needs layout="dense"')
        if jax.dtypes.canonicalize_dtype(value.dtype) != value.dtype:
            raise TypeError(f'jax would narrow {value.dtype}: jax.config.update("jax_enable_x64", True)')
        device, *_ = value.devices()
        return lambda array, axes: jax.numpy.asarray(array, device=device)


class TensorFlow(Library):
    modules = ("tensorflow",)
    refused: ClassVar[Mapping[str, str]] = {
        "RaggedTensor": "x.to_tensor()",
        "SparseTensor": "tf.sparse.to_dense(x)",
        "IndexedSlices": "tf.convert_to_tensor(x)",
        "SymbolicTensor": "it has no elements while it is traced: call this outside of tf.function, or by "
        "tf.py_function",
    }

    @classmethod
    def read(cls, value: Any) -> Array:
        if "CPU:" not in value.device:
            refuse(value, f"on {value.device}", 'tf.identity(x) under tf.device("CPU:0")')
        if value.dtype.is_quantized:
            refuse(value, f"of {value.dtype.name}", "tf.quantization.dequantize, or tf.bitcast(x, tf.int8)")
        return array_of(value.value()) if hasattr(value, "assign") else np.asarray(value)  # which copies a Variable


class Keras(Library):
    modules = ("keras",)
    refused: ClassVar[Mapping[str, str]] = {"KerasTensor": NO_ELEMENTS}

    @classmethod
    def read(cls, value: Any) -> Array:
        return array_of(value.value)


class Paddle(Library):
    modules = ("paddle",)

    @classmethod
    def read(cls, value: Any) -> Array:
        if not value.is_dense():  # NumPy would read memory that is not there
            refuse(value, "that is sparse", "x.to_dense()")
        if not value.place.is_cpu_place():
            refuse(value, f"on {value.place}", "x.cpu()")
        array, name = np.asarray(value), str(value.dtype).removeprefix("paddle.")
        return array.view(dtype_from_name(name)) if name in ML_NAMES else array  # which come as integers


class XArray(Library):
    modules = ("xarray",)
    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(["Dataset", "DataTree"], 'one of its variables, x["name"]')

    @classmethod
    def read(cls, value: Any) -> Array:
        return array_of(value.data)

    @classmethod
    def target(cls, value: Any) -> Array:
        if value.data is not value.data:
            raise ValueError("out is a coordinate, or is not loaded: pass a copy, x.copy(), or call x.load() before")
        return target_of(value.data)

    @classmethod
    def maker(cls, value: Any, layout: str) -> Maker:
        if not hasattr(value, "coords"):
            return super().maker(value, layout)
        data = maker_of(value.data, layout)

        def make(array: Array, axes: Sequence[Axis]) -> Any:
            parts = {value.dims[axis.source]: axis.part for axis in axes if axis.source is not None and axis.part}
            gone = [name for name, coordinate in value.coords.items() if not {*coordinate.dims} <= {*parts}]
            names = [axis.name if axis.source is None else value.dims[axis.source] for axis in axes]
            return type(value)(
                data(array, axes),
                value.isel(parts).drop_vars(gone).coords,
                [
                    f"{name}_" if axis.source is None and name in value.dims else name
                    for axis, name in zip(axes, names, strict=True)
                ],
                name=value.name,
                attrs=value.attrs,
            )

        return make


class SciPy(Library):
    modules = ("scipy", "sparse")
    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(["_spbase", "spmatrix", "SparseArray"], "x.todense()")


class Arrow(Library):
    modules = ("pyarrow",)
    refused: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(["Table", "RecordBatch"], 'one of its columns, x["name"]'),
        **dict.fromkeys(["SparseCOOTensor", "SparseCSRMatrix", "SparseCSCMatrix", "SparseCSFTensor"], "x.to_tensor()"),
        "BaseListArray": "it may be ragged: a FixedShapeTensorArray has a shape, and so has x.flatten()",
        "DictionaryArray": "x.dictionary_decode()",
        "RunEndEncodedArray": "pyarrow.compute.run_end_decode(x)",
    }

    @classmethod
    def read(cls, value: Any) -> Array:
        if hasattr(value, "num_chunks"):
            return array_of(value.chunk(0) if value.num_chunks == 1 else value.combine_chunks())
        has_shape = hasattr(value, "to_numpy_ndarray")
        if getattr(value, "null_count", 0) or (has_shape and value.storage.flatten().null_count):
            refuse(value, "with nulls", "x.fill_null(0), or x.drop_null()")
        return np.asarray(value.to_numpy_ndarray() if has_shape else value)


class Polars(Library):
    modules = ("polars",)
    refused: ClassVar[Mapping[str, str]] = {"LazyFrame": "x.collect()"}

    @classmethod
    def read(cls, value: Any) -> Array:
        frame = hasattr(value, "get_columns")
        columns = value.get_columns() if frame else [value]
        _one_dtype(value, {column.dtype for column in columns})
        for column in columns:
            if str(column.dtype).startswith("List"):
                refuse(value, "that may be ragged", "x.list.to_array(width), where all its lists have one width")
            flat = column.reshape((-1,)) if hasattr(column.dtype, "shape") else column
            if flat.null_count():
                refuse(value, "with nulls", "x.fill_null(0), or x.drop_nulls()")
        return np.asarray(value.to_numpy(order="c") if frame else value)


class Pandas(Library):
    modules = ("pandas",)

    @classmethod
    def read(cls, value: Any) -> Array:
        dtypes = {*value.dtypes} if hasattr(value, "columns") else {value.dtype}
        _one_dtype(value, dtypes)
        for dtype in dtypes:
            if str(dtype).startswith("Sparse"):
                refuse(value, "that is sparse", "x.sparse.to_dense()")
            if not isinstance(dtype, np.dtype) and np.any(value.isna()):
                refuse(value, "with nulls", "x.fillna(0), or x.dropna()")
            return np.asarray(value, getattr(dtype, "numpy_dtype", None))
        return np.asarray(value)


def _one_dtype(value: Any, dtypes: Collection[Any]) -> None:
    if len(dtypes) > 1:
        listed = " and ".join(sorted(map(str, dtypes))[:4])
        refuse(value, f"with columns of {listed}", "convert its columns to one dtype, or take one of them")


_LIBRARIES = {module: library for library in Library.__subclasses__() for module in library.modules}


def _library(value: Any) -> type[Library]:
    """The class of the first of a type's ancestors that has one, as object has in the end. Raises TypeError for a
    type that is refused."""
    kinds = type(value).__mro__
    library = next(_LIBRARIES[top] for kind in kinds if (top := kind.__module__.partition(".")[0]) in _LIBRARIES)
    for kind in kinds:
        if kind.__name__ in library.refused:
            refuse(value, "", library.refused[kind.__name__])
    return library if hasattr(value, "__array__") else NumPy  # a library has shapes and devices too
