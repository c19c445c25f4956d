"""Arrays of other libraries, as fakes: types with the modules and the protocols of the real ones.

`make arrays` tests the libraries themselves (real_arrays.py).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from fake_arrays import ROW, DataArray, JaxArray, Known, Tensor

import axiscast
from axiscast import AsyncClient, Client
from axiscast.arrays import array_libraries
from axiscast.arrays.array_libraries import result_converter, to_numpy, writable_memory
from axiscast.arrays.result_axes import ResultAxis, axes_of_gradients, axes_of_outputs
from axiscast.ops import einops


@pytest.fixture(scope="module")
def here() -> Iterator[Client]:
    with Client.in_process() as client:
        yield client


def of(module: str, name: str, *ancestors: type, **members: Any) -> Any:
    """Return an object whose type has this module and this name."""
    return type(name, ancestors, {"__module__": module, "__array__": lambda *_, **__: ROW, **members})()


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A fake torch with the functions that are called. It counts the tensors whose version was incremented."""
    module = SimpleNamespace(int8=np.int8, int16=np.int16, bfloat16=ml_dtypes.bfloat16, changed=[])
    module.autograd = SimpleNamespace(graph=SimpleNamespace(increment_version=module.changed.append))

    def from_numpy(array: Any) -> Tensor:
        if not array.flags.writeable or array.dtype.kind == "V":
            raise TypeError("can't convert np.ndarray of this type")
        return Tensor(array)

    module.from_numpy = from_numpy
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


TENSORS = {
    "requires_grad": (Tensor(ROW, requires_grad=True), ROW),
    "transposed": (Tensor(np.ones((2, 3)).T), np.ones((3, 2))),
    "expanded": (Tensor(np.broadcast_to(ROW, (5, 3))), [[1, 2, 3]] * 5),
    "no axes": (Tensor(np.array(5.0)), 5.0),
    "bfloat16": (Tensor(ROW.astype(ml_dtypes.bfloat16)), ROW),
    "bfloat16 transposed": (Tensor(np.ones((2, 3), ml_dtypes.bfloat16).T), np.ones((3, 2))),
    "float8": (Tensor(ROW.astype(ml_dtypes.float8_e5m2)), ROW),
}


@pytest.mark.parametrize(("tensor", "expected"), TENSORS.values(), ids=TENSORS)
def test_a_tensor_is_read_without_a_copy(torch: Any, tensor: Tensor, expected: Any) -> None:
    read = to_numpy(tensor)
    assert (read.dtype, read.tolist()) == (tensor.array.dtype, np.asarray(expected).tolist())
    assert np.shares_memory(read, tensor.array)


def test_the_conjugate_and_negative_bits_are_resolved(torch: Any) -> None:
    assert to_numpy(Tensor(np.array([1 + 2j]), conj=True)).tolist() == [1 - 2j]
    assert to_numpy(Tensor(ROW, neg=True, requires_grad=True)).tolist() == [-1, -2, -3]


def tensor_with(**members: Any) -> Tensor:
    tensor = Tensor(ROW)
    vars(tensor).update(members)
    return tensor


def tf_tensor(**members: Any) -> Any:
    whole = {"device": "/device:CPU:0", "dtype": SimpleNamespace(is_quantized=False, name="qint8"), **members}
    return of("tensorflow.python.framework.ops", "EagerTensor", **whole)


def series(module: str, dtype: Any, **members: Any) -> Any:
    return of(f"{module}.core", "Series", dtype=dtype, **members)


NULLS = {"null_count": lambda *_: 1}
FRAME = {"columns": ["a", "b"], "dtypes": [np.dtype("f8"), np.dtype("i8")]}
REFUSED: dict[str, tuple[Any, str]] = {
    "torch, another device": (tensor_with(device=SimpleNamespace(type="cuda")), r"a torch Tensor on .* x\.cpu\(\)"),
    "torch, sparse": (tensor_with(layout="torch.sparse_coo"), r"of layout torch\.sparse_coo .* x\.to_dense\(\)"),
    "torch, quantized": (tensor_with(is_quantized=True), r"quantized .* x\.dequantize\(\)"),
    "torch, nested": (tensor_with(is_nested=True, layout="torch.jagged"), "nested .* torch.nested.to_padded_tensor"),
    "torch, meta": (tensor_with(is_meta=True), "on the device meta .* use check"),
    "torch, no such dtype": (Tensor(ROW.astype(ml_dtypes.int4)), r"of torch\.int4 .*unsupported ScalarType"),
    "jax, another device": (
        of("jaxlib._jax", "ArrayImpl", devices=lambda _: [SimpleNamespace(platform="tpu")]),
        r"a jaxlib ArrayImpl on tpu .* jax\.device_get\(x\)",
    ),
    "jax, traced": (of("jax._src", "Dynamic", type("Tracer", (), {"__module__": "jax"})), "during tracing"),
    "jax, sparse": (of("jax.experimental.sparse.bcoo", "BCOO", type("JAXSparse", (), {})), r"x\.todense\(\)"),
    "jax, a shape": (of("jax", "ShapeDtypeStruct"), "has no elements"),
    "tensorflow, another device": (tf_tensor(device="/device:GPU:0"), r'tf\.identity\(x\) under tf\.device\("CPU:0"\)'),
    "tensorflow, quantized": (
        tf_tensor(dtype=SimpleNamespace(is_quantized=True, name="qint8")),
        "of qint8 .*dequantize",
    ),
    "tensorflow, ragged": (of("tensorflow.python", "RaggedTensor"), r"x\.to_tensor\(\)"),
    "tensorflow, sparse": (of("tensorflow.python", "SparseTensor"), r"tf\.sparse\.to_dense\(x\)"),
    "tensorflow, traced": (of("tensorflow.python", "SymbolicTensor"), "during tracing"),
    "keras, symbolic": (of("keras.src.backend", "KerasTensor"), "has no elements"),
    "paddle, another device": (
        of("paddle", "Tensor", is_dense=lambda _: True, place=SimpleNamespace(is_cpu_place=lambda: False)),
        r"x\.cpu\(\)",
    ),
    "paddle, sparse": (of("paddle", "Tensor", is_dense=lambda _: False), r"that is sparse .* x\.to_dense\(\)"),
    "xarray, a Dataset": (of("xarray.core.dataset", "Dataset"), r'pass one of its variables, x\["name"\]'),
    "xarray, of what is refused": (of("xarray.core", "Variable", data=tensor_with(is_meta=True)), "device meta"),
    "pyarrow, nulls": (of("pyarrow.lib", "Int64Array", null_count=1), r"with nulls .* x\.fill_null\(0\)"),
    "pyarrow, nulls inside": (
        of(
            "pyarrow.lib",
            "FixedShapeTensorArray",
            null_count=0,
            to_numpy_ndarray=None,
            storage=SimpleNamespace(flatten=lambda: SimpleNamespace(null_count=1)),
        ),
        "with nulls",
    ),
    "pyarrow, ragged": (
        of("pyarrow.lib", "ListArray", type("BaseListArray", (), {})),
        "its lists may differ in length",
    ),
    "pyarrow, sparse": (of("pyarrow.lib", "SparseCOOTensor"), r"x\.to_tensor\(\)"),
    "pyarrow, a Table": (of("pyarrow.lib", "Table"), r'pass a column, x\["name"\]'),
    "polars, nulls": (series("polars", "Int64", **NULLS), r"with nulls .* x\.fill_null\(0\)"),
    "polars, ragged": (series("polars", "List(Int64)"), r"lists may differ in length .* x\.list\.to_array\(width\)"),
    "polars, nulls inside": (
        series("polars", Known("Array", shape=(2,)), reshape=lambda *_: SimpleNamespace(**NULLS)),
        "with nulls",
    ),
    "polars, columns of two dtypes": (
        of("polars", "DataFrame", get_columns=lambda _: [series("polars", "Int64"), series("polars", "Float64")]),
        "with columns of Float64 and Int64 .* same dtype",
    ),
    "polars, not collected": (of("polars.lazyframe.frame", "LazyFrame"), r"x\.collect\(\)"),
    "pandas, nulls": (series("pandas", Known("Int64"), isna=lambda _: np.array([False, True])), r"x\.fillna\(0\)"),
    "pandas, sparse": (series("pandas", Known("Sparse[float64, nan]")), r"x\.sparse\.to_dense\(\)"),
    "pandas, columns of two dtypes": (of("pandas", "DataFrame", **FRAME), "with columns of float64 and int64"),
    "NumPy, masked": (np.ma.masked_array([1, 2], [0, 1]), r"with masked elements .* x\.filled\(0\)"),
    "scipy, sparse": (of("scipy.sparse._csr", "csr_array", type("_spbase", (), {})), r"csr_array .* x\.todense\(\)"),
}


@pytest.mark.parametrize(("value", "words"), REFUSED.values(), ids=REFUSED)
def test_an_unsupported_array_raises_an_error_with_a_remedy(torch: Any, value: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        to_numpy(value)


def test_arrays_are_read_through_the_protocol_of_their_library() -> None:
    class Variable:
        __module__ = "tensorflow.python"
        device, dtype, assign, __array__ = "/device:CPU:0", SimpleNamespace(is_quantized=False), None, None

        def value(self) -> Any:
            return ROW

    bits = ROW.astype(ml_dtypes.bfloat16)
    paddle = of(
        "paddle",
        "Tensor",
        dtype="paddle.bfloat16",
        is_dense=lambda _: True,
        place=SimpleNamespace(is_cpu_place=lambda: True),
        __array__=lambda *_, **__: bits.view(np.uint16),
    )
    chunk = of("pyarrow.lib", "FloatArray", null_count=0)
    read = {
        "a Variable": (Variable(), ROW),
        "of keras": (of("keras.src", "Variable", value=ROW), ROW),
        "paddle's bfloat16": (paddle, bits),
        "one chunk": (of("pyarrow.lib", "ChunkedArray", num_chunks=1, chunk=lambda *_: chunk), ROW),
        "two chunks": (of("pyarrow.lib", "ChunkedArray", num_chunks=2, combine_chunks=lambda *_: chunk), ROW),
        "pandas": (series("pandas", Known("Float32"), isna=lambda _: False), ROW),
        "polars": (series("polars", "Float32", null_count=lambda _: 0), ROW),
        "a heir": (type("Heir", (Tensor,), {"__module__": "mine"})(ROW), ROW),
        "numbers": ([1, 2], np.array([1, 2])),
        "a shape": (type("Size", (tuple,), {"__module__": "torch"})([1, 2]), np.array([1, 2])),
        "no mask": (np.ma.masked_array(ROW, False), ROW),
    }
    for name, (value, expected) in read.items():
        np.testing.assert_array_equal(to_numpy(value), expected, name, strict=True)


# --- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["dense", "strided"])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_tensors_are_returned_for_a_tensor(here: Client, torch: Any, layout: Any, dtype: Any) -> None:
    sent = Tensor(ROW.astype(dtype), requires_grad=True)
    result = here.broadcast_to(sent, (10**5, 3), like="input", layout=layout)
    assert (type(result), result.array.dtype, result.array[-1].tolist()) == (Tensor, dtype, [1, 2, 3])
    assert result.array.strides[0] == (0 if layout == "strided" else 3 * result.itemsize)
    first, second = here.backprop("numpy.broadcast_arrays", [(3,), ()], Tensor(np.ones(3)), np.ones(3), like="input")
    assert (type(first), first.array.tolist(), second.tolist()) == (Tensor, [1, 1, 1], 3)


def test_a_jax_array_is_returned_on_its_device_without_narrowing(here: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = SimpleNamespace(canonicalize_dtype=lambda dtype: np.dtype(str(dtype).replace("64", "32")))
    module = SimpleNamespace(numpy=SimpleNamespace(asarray=JaxArray), dtypes=narrow)
    monkeypatch.setitem(sys.modules, "jax", module)
    sent = JaxArray(ROW)
    result = here.broadcast_to(sent, (2, 3), like="input")
    assert (type(result), result.device is sent.device, result.array.tolist()) == (JaxArray, True, [[1, 2, 3]] * 2)
    with pytest.raises(TypeError, match=r"convert float64 to a narrower dtype: call jax\.config\.update"):
        here.broadcast_to(JaxArray(np.ones(3)), (2, 3), like="input")
    with pytest.raises(ValueError, match="no strides"):
        here.broadcast_to(sent, (2, 3), like="input", layout="strided")


COORDINATES = {
    "a": DataArray(np.array([10, 20]), {}, ["a"]),
    "b": DataArray(np.array([5]), {}, ["b"]),
    "ab": DataArray(np.array([[6], [7]]), {}, ["a", "b"]),
    "scalar": DataArray(np.array(8), {}, []),
}
SQUARE = DataArray(np.array([[1.0], [2.0]]), COORDINATES, ["a", "b"], "n", {"unit": "m"})


def test_a_data_array_keeps_dims_and_the_coordinates_of_unexpanded_axes(here: Client) -> None:
    result = here.broadcast_to(SQUARE, (2, 2, 3), like="input", window=np.s_[:, 1:, :])
    assert (result.dims, result.name, result.attrs) == (("dim_0", "a", "b"), "n", {"unit": "m"})
    assert result.data.tolist() == [[[2, 2, 2]]] * 2
    assert {name: coord.data.tolist() for name, coord in result.coords.items()} == {"a": [20], "scalar": 8}
    assert here.broadcast_to(DataArray(ROW, {}, ["dim_0"]), (2, 3), like="input").dims == ("dim_0_", "dim_0")
    (gradient,) = here.backprop("numpy.broadcast_arrays", [(2, 1)], SQUARE, like="input")
    assert (gradient.dims, gradient.data.tolist(), {*gradient.coords}) == (("a", "b"), [[1], [2]], {*COORDINATES})


def test_result_axes_name_their_source_axes() -> None:
    whole, shapes = axiscast.numpy.broadcast_to(shape=(4, 2, 3)), ((2, 1),)
    assert list(axes_of_outputs(whole, shapes, None)) == [
        (0, [ResultAxis(None, "dim_0", None), ResultAxis(0, "dim_1", slice(0, 2)), ResultAxis(1, "dim_2", None)])
    ]
    assert list(axes_of_gradients(whole, shapes)) == [
        (0, [ResultAxis(1, "dim_0", slice(None)), ResultAxis(2, "dim_1", None)])
    ]
    named = axiscast.xarray.broadcast(dims=[["x"], ["y"]])
    assert [[axis.name for axis in axes] for _, axes in axes_of_outputs(named, ((2,), (3,)), None)] == [["x", "y"]] * 2
    merged = einops.repeat(pattern="h w -> (h w) c", axes_lengths={"c": 2})
    assert list(axes_of_outputs(merged, ((2, 3),), None)) == [
        (0, [ResultAxis(None, "dim_0", None), ResultAxis(None, "dim_1", None)])
    ]
    lent = axiscast.torch.expand_as()
    assert [(at, [axis.source_axis for axis in axes]) for at, axes in axes_of_gradients(lent, ((3,), (3,)))] == [
        (0, [0]),
        (0, [None]),
    ]


def test_an_unsupported_result_library_raises_before_a_request_is_sent(here: Client) -> None:
    for value in (series("pandas", np.dtype("f4")), of("xarray.core", "Variable", data=ROW)):
        with pytest.raises(TypeError, match='like="input" supports NumPy, torch, jax and xarray, not'):
            here.broadcast("numpy.broadcast_arrays", value, like="input")
    with pytest.raises(
        ValueError, match='like="input" supports only ops and attributes that this version of axiscast knows'
    ):
        here.broadcast("numpy.nothing", ROW, like="input")
    with pytest.raises(ValueError, match='like must be "numpy" or "input", not \'torch\''):
        here.broadcast("numpy.broadcast_arrays", ROW, like="torch")  # type: ignore[arg-type]


# --- out ------------------------------------------------------------------------------------------


def test_out_is_a_tensor_or_a_data_array(here: Client, torch: Any) -> None:
    tensor, named = Tensor(np.empty((2, 3), np.float32)), DataArray(np.empty((2, 3), np.float32), {}, ["a", "b"])
    assert here.broadcast("numpy.broadcast_arrays", ROW, np.empty((2, 1)), out=[tensor, np.empty((2, 3))])[0] is tensor
    assert here.broadcast_to(ROW, (2, 3), out=named) is named
    assert (tensor.array.tolist(), named.data.tolist(), torch.changed) == ([[1, 2, 3]] * 2, [[1, 2, 3]] * 2, [tensor])


class Lazy(DataArray):
    data = property(lambda self: np.empty(3), lambda self, value: None)  # type: ignore[assignment]


OUTS = {
    "requires grad": (Tensor(np.empty(3), requires_grad=True), ValueError, r"out\.detach\(\)"),
    "conjugated": (Tensor(np.empty(3), conj=True), ValueError, "conjugated or negated"),
    "transposed": (Tensor(np.empty((2, 3)).T), ValueError, "C-contiguous"),
    "read-only": (DataArray(np.broadcast_to(ROW, (2, 3)), {}, "ab"), ValueError, "C-contiguous"),
    "not loaded": (Lazy(None, {}, "a"), ValueError, r"x\.load\(\)"),
    "jax": (JaxArray(ROW), TypeError, "out can't be a jaxlib JaxArray"),
    "masked": (np.ma.masked_array(ROW, True), TypeError, "a numpy MaskedArray"),
    "numbers": ([1.0], TypeError, "list"),
}


@pytest.mark.parametrize(("out", "kind", "words"), OUTS.values(), ids=OUTS)
def test_an_unwritable_out_raises_an_error_with_a_remedy(torch: Any, out: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        writable_memory(out)
    assert torch.changed == []


def test_the_async_client_converts_arrays_too(torch: Any) -> None:
    async def go() -> Any:
        async with AsyncClient.in_process() as client:
            out = Tensor(np.empty((2, 3), np.float32))
            same = await client.broadcast_to(Tensor(ROW), (2, 3), out=out)
            return same is out, out.array, await client.broadcast_arrays(Tensor(ROW), SQUARE, like="input")

    same, filled, results = asyncio.run(go())
    assert (same, filled.tolist()) == (True, [[1, 2, 3]] * 2)
    assert [type(result) for result in results] == [Tensor, DataArray]


def test_each_module_belongs_to_one_array_library() -> None:
    modules = [module for library in array_libraries.ArrayLibrary.__subclasses__() for module in library.modules]
    assert len(modules) == len(set(modules)) == len(array_libraries._LIBRARIES)
    assert result_converter([1.0])(ROW, []) is ROW
