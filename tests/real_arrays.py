"""Tests with arrays of real libraries: `make arrays`. The suite uses stand-ins for them.

They find copies by the memory of elements: a message should use the memory of the array, and a result the memory that
was received.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pytest
import scipy.sparse
import tensorflow as tf
import torch
import xarray as xr
from jax.experimental import sparse
from real_array_inputs import INPUTS, ROW, d, keep, t
from torch._subclasses.fake_tensor import FakeTensorMode

import axiscast
from axiscast import AsyncClient, Client
from axiscast.arrays import array_libraries
from axiscast.client import request_body

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client.in_process() as client:
        yield client


def copies(value: Any) -> tuple[bool, bool]:
    """Return whether elements are copied when an array is read, and when it is sent."""
    read = array_libraries.to_numpy(value)
    if isinstance(value, jax.Array):  # which remembers what it was read as
        copied = value.unsafe_buffer_pointer() != read.__array_interface__["data"][0]
    else:
        copied = not np.shares_memory(read, array_libraries.to_numpy(value))
    parts = [np.frombuffer(part, np.uint8) for part in request_body.tensor_body({}, "inputs", [read])]
    return copied, not any(np.may_share_memory(part, read) for part in parts)


@pytest.mark.parametrize("name", INPUTS)
def test_an_array_is_read_to_the_bit_and_copied_where_it_says(name: str) -> None:
    value, expected, *copied = INPUTS[name]
    np.testing.assert_array_equal(array_libraries.to_numpy(value), expected, strict=True)
    assert list(copies(value)) == copied


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "torch meta": (lambda: t.to("meta"), "on the device meta .*use check"),
    "torch sparse": (lambda: t.to_sparse(), r"sparse_coo .*x\.to_dense"),
    "torch sparse rows": (lambda: keep.to_sparse_csr(), r"sparse_csr .*x\.to_dense"),
    "torch mkldnn": (lambda: t.to_mkldnn(), r"_mkldnn .*x\.to_dense"),
    "torch quantized": (lambda: torch.quantize_per_tensor(t, 1.0, 0, torch.qint8), r"quantized .*x\.dequantize"),
    "torch nested": (lambda: torch.nested.nested_tensor([t, t]), "nested .*to_padded_tensor"),
    "torch jagged": (lambda: torch.nested.nested_tensor([t, t], layout=torch.jagged), "nested .*to_padded_tensor"),
    "torch complex32": (lambda: (t[:2] + 1j).to(torch.complex32), "complex32 .*ComplexHalf"),
    "torch fake": (lambda: FakeTensorMode().from_tensor(t), "FakeTensor .*not supported"),
    "torch masked": (lambda: torch.masked.masked_tensor(t, t > 1), "MaskedTensor .*not supported"),
    "jax sparse": (lambda: sparse.BCOO.fromdense(jnp.eye(3)), r"BCOO .*x\.todense"),
    "jax shape": (lambda: jax.ShapeDtypeStruct((2,), jnp.float32), "no elements"),
    "tensorflow ragged": (lambda: tf.ragged.constant([[1], [2, 3]]), r"RaggedTensor .*x\.to_tensor"),
    "tensorflow sparse": (lambda: tf.sparse.from_dense(tf.eye(3)), r"SparseTensor .*tf\.sparse\.to_dense"),
    "tensorflow slices": (
        lambda: tf.IndexedSlices(tf.eye(2), tf.constant([0, 1])),
        "IndexedSlices .*convert_to_tensor",
    ),
    "tensorflow quantized": (
        lambda: tf.quantization.quantize(tf.eye(3), 0.0, 1.0, tf.qint8)[0],
        r"of qint8 .*tf\.quantization\.dequantize",
    ),
    "keras symbolic": (lambda: tf.keras.Input((3,)), "KerasTensor .*no elements"),
    "xarray Dataset": (lambda: d.to_dataset(), r"Dataset .*x\[\"name\"\]"),
    "pyarrow nulls": (lambda: pa.array([1, None]), r"nulls .*x\.fill_null"),
    "pyarrow nulls inside": (
        lambda: pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int32(), (2,)), pa.array([[1, None]], pa.list_(pa.int32(), 2))
        ),
        "nulls",
    ),
    "pyarrow nulls in a chunk": (lambda: pa.chunked_array([[1], [None, 2]]), "nulls"),
    "pyarrow ragged": (lambda: pa.array([[1], [2, 3]]), "ListArray .*lists may differ in length"),
    "pyarrow lists of one size": (lambda: pa.array([[1, 2]], pa.list_(pa.int32(), 2)), "FixedSizeListArray .*flatten"),
    "pyarrow dictionary": (lambda: pa.array(["a", "b"]).dictionary_encode(), r"x\.dictionary_decode"),
    "pyarrow runs": (lambda: pa.compute.run_end_encode(pa.array([1, 1])), "run_end_decode"),
    "pyarrow sparse": (lambda: pa.SparseCOOTensor.from_dense_numpy(np.eye(3)), r"x\.to_tensor"),
    "pyarrow Table": (lambda: pa.table({"a": [1]}), r"Table .*x\[\"name\"\]"),
    "pyarrow text": (lambda: pa.array(["a"]), "dtype object"),
    "polars nulls": (lambda: pl.Series([1, None]), r"nulls .*x\.fill_null"),
    "polars nulls inside": (lambda: pl.Series([[1, None]], dtype=pl.Array(pl.Int64, 2)), "nulls"),
    "polars nulls in a frame": (lambda: pl.DataFrame({"a": [1, 2], "b": [3, None]}), "nulls"),
    "polars ragged": (lambda: pl.Series([[1], [2, 3]]), r"lists may differ in length .*x\.list\.to_array"),
    "polars LazyFrame": (lambda: pl.LazyFrame({"a": [1]}), r"x\.collect"),
    "polars columns of two dtypes": (lambda: pl.DataFrame({"a": [2**60 + 1], "b": [0.5]}), "Float64 and Int64"),
    "pandas nulls": (lambda: pd.Series([1, None], dtype="Int64"), r"nulls .*x\.fillna"),
    "pandas nulls in a frame": (lambda: pd.DataFrame({"a": [1, None]}, dtype="Int64"), "nulls"),
    "pandas nulls of arrow": (lambda: pd.Series([1, None], dtype="int64[pyarrow]"), "nulls"),
    "pandas sparse": (lambda: pd.Series([1.0, 0], dtype="Sparse[float64]"), r"sparse .*x\.sparse\.to_dense"),
    "pandas columns of two dtypes": (lambda: pd.DataFrame({"a": [2**60 + 1], "b": [0.5]}), "float64 and int64"),
    "pandas time zone": (lambda: pd.Series(pd.to_datetime(["2020"], utc=True)), "dtype object"),
    "NumPy mask": (lambda: np.ma.masked_array([1, 2], [0, 1]), r"masked .*x\.filled"),
    "scipy sparse": (lambda: scipy.sparse.eye(3), r"dia_.*x\.todense"),
    "scipy sparse array": (lambda: scipy.sparse.csr_array(np.eye(3)), r"csr_array .*x\.todense"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_unsupported_array_raises_an_error_with_a_remedy(name: str, client: Client) -> None:
    make, words = REFUSED[name]
    with pytest.raises(TypeError, match=words):
        client.broadcast("numpy.broadcast_arrays", make())


def test_what_is_traced_has_no_elements(client: Client) -> None:
    def send(value: Any) -> Any:
        with pytest.raises(TypeError, match="while it is traced"):
            client.broadcast_to(value, (2, 3))
        return value

    jax.jit(send)(jnp.ones(3))
    jax.vmap(send)(jnp.ones((2, 3)))
    jax.grad(lambda value: send(value).sum())(jnp.ones(3))
    tf.function(send, autograph=False)(tf.ones(3))
    variable = tf.Variable(tf.ones(3))
    tf.function(lambda: send(variable).read_value(), autograph=False)()
    with pytest.raises(TypeError, match="torch says"):
        torch.vmap(lambda value: client.broadcast_to(value, (2, 3)))(torch.ones(2, 3))
    with pytest.raises(TypeError, match="torch says"):
        torch.func.grad(lambda value: client.broadcast_to(value, (2, 3)).sum())(torch.ones(3))


FLOATS = [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu]
KINDS = [*FLOATS, torch.float16, torch.float64, torch.int8, torch.int64, torch.uint16, torch.bool, torch.complex64]


@pytest.mark.parametrize("dtype", KINDS, ids=str)
@pytest.mark.parametrize("layout", ["dense", "strided"])
def test_torch_gets_tensors_back(client: Client, dtype: torch.dtype, layout: Any) -> None:
    row = torch.tensor([1.0, 2, 4]).to(dtype)
    result = client.broadcast_to(row, (2, 3), like="input", layout=layout)
    assert (type(result), result.dtype, result.requires_grad) == (torch.Tensor, dtype, False)
    assert result.stride() == ((3, 1) if layout == "dense" else (0, 1))
    assert torch.equal(
        result.double() if dtype in FLOATS else result, (row.double() if dtype in FLOATS else row).expand(2, 3)
    )
    if layout == "dense" and dtype not in FLOATS:
        result[0, 0] = 0
        assert not result[0, 0]
    assert client.broadcast_to(row[0], (), like="input").shape == ()
    assert client.broadcast_to(row[:0], (2, 0), like="input", layout=layout).shape == (2, 0)


def test_torch_is_given_the_memory_that_was_received_into(client: Client) -> None:
    received = np.arange(3.0)
    assert array_libraries.result_converter(t)(received, []).data_ptr() == received.__array_interface__["data"][0]
    huge = client.broadcast_to(t[:3], (10**12, 3), like="input", layout="strided")
    assert (huge.shape, huge[-1].tolist()) == ((10**12, 3), [0, 1, 2])


def test_jax_gets_arrays_back_on_its_device_and_never_narrower(client: Client) -> None:
    for dtype in (jnp.float32, jnp.bfloat16, jnp.float8_e4m3fn, jnp.int4, bool, jnp.int32, jnp.complex64):
        row = jnp.asarray([1, 2, 3]).astype(dtype)
        result = client.broadcast_to(row, (2, 3), like="input")
        assert (result.dtype, result.devices()) == (row.dtype, row.devices())
        np.testing.assert_array_equal(np.asarray(result), np.broadcast_to(np.asarray(row), (2, 3)))
    with jax.enable_x64(True):
        wide = jnp.arange(3, dtype=jnp.float64)
        assert client.broadcast_to(wide, (2, 3), like="input").dtype == np.float64
    assert client.broadcast_to(wide, (2, 3)).dtype == np.float64
    with pytest.raises(TypeError, match="jax_enable_x64"):
        client.broadcast_to(wide, (2, 3), like="input")
    with pytest.raises(ValueError, match="no strides"):
        client.broadcast_to(jnp.arange(3), (2, 3), like="input", layout="strided")


CUBE = xr.DataArray(
    np.arange(6.0).reshape(2, 3, 1),
    dims=("a", "b", "c"),
    coords={"a": [10, 20], "c": [5], "s": 7, "ab": (("a", "b"), np.ones((2, 3))), "ac": (("a", "c"), np.ones((2, 1)))},
    attrs={"unit": "m"},
    name="cube",
)


def test_xarray_keeps_dims_and_the_coordinates_of_axes_that_did_not_grow(client: Client) -> None:
    result = client.broadcast_to(CUBE, (4, 2, 3, 5), like="input")
    expected = xr.DataArray(
        np.broadcast_to(CUBE.data, (4, 2, 3, 5)),
        dims=("dim_0", "a", "b", "c"),
        coords={"a": [10, 20], "s": 7, "ab": (("a", "b"), np.ones((2, 3)))},
        attrs={"unit": "m"},
        name="cube",
    )
    xr.testing.assert_identical(result, expected)
    window = client.broadcast_to(CUBE, (4, 2, 3, 5), like="input", window=np.s_[:1, 1:, :, :2])
    xr.testing.assert_identical(window, expected[:1, 1:, :, :2])
    stacked = CUBE.stack(z=("a", "b")).transpose("z", "c")
    xr.testing.assert_identical(
        client.broadcast_to(stacked, (6, 5), like="input"), stacked.isel(c=[0] * 5).drop_vars(["c", "ac"])
    )


def test_xarray_keeps_what_its_elements_were(client: Client) -> None:
    of_jax = client.broadcast_to(xr.DataArray(jnp.ones(3), dims="a"), (2, 3), like="input")
    assert (isinstance(of_jax.data, jax.Array), of_jax.dims) == (True, ("dim_0", "a"))
    of_dask = client.broadcast_to(xr.DataArray(np.ones(3), dims="dim_0").chunk(), (2, 3), like="input")
    assert (type(of_dask.data), of_dask.dims) == (np.ndarray, ("dim_0_", "dim_0"))
    named = axiscast.xarray.broadcast(dims=[["a", "b", "c"], ["t"]])
    first, second = client.broadcast(named, CUBE, xr.DataArray([1, 2], dims="t", coords={"t": [8, 9]}), like="input")
    one, two = xr.broadcast(CUBE, xr.DataArray([1, 2], dims="t", coords={"t": [8, 9]}))
    assert (first.dims, second.dims, first.equals(one.drop_vars("t"))) == (one.dims, two.dims, True)
    np.testing.assert_array_equal(second, two)
    assert list(second.coords) == ["t"]


def test_a_gradient_has_the_dims_of_its_input(client: Client) -> None:
    gradient = xr.DataArray(
        np.ones((4, 2, 3)), dims=("n", "a", "b"), coords={"n": [1, 2, 3, 4], "a": [5, 6], "b": [7, 8, 9]}
    )
    op = axiscast.numpy.broadcast_to(shape=(4, 2, 3))
    (result,) = client.backprop(op, [(2, 1)], gradient, like="input")
    expected = xr.DataArray(np.full((2, 1), 12.0), dims=("a", "b"), coords={"a": [5, 6]})
    xr.testing.assert_identical(result, expected)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_gradients_come_back_in_kind(client: Client, name: str) -> None:
    ones = {"torch": torch.ones(2, 3, dtype=torch.bfloat16), "jax": jnp.ones((2, 3), jnp.bfloat16)}[name]
    first, second = client.backprop("numpy.broadcast_arrays", [(3,), (2, 1)], ones, np.ones((2, 3)), like="input")
    assert (type(first), first.dtype, first.tolist()) == (type(ones), ones.dtype, [2, 2, 2])
    assert (type(second), second.tolist()) == (np.ndarray, [[3], [3]])
    lent = client.backprop(axiscast.torch.expand_as(), [(3,), (2, 3)], ones, like="input")
    assert [(type(result), result.tolist()) for result in lent] == [(type(ones), [2] * 3), (type(ones), [[0] * 3] * 2)]


def test_out_is_a_tensor_or_a_data_array(client: Client) -> None:
    row = torch.tensor([1.0, 2, 3], requires_grad=True)
    for out in (
        torch.empty(2, 3),
        torch.empty(2, 3, dtype=torch.bfloat16),
        xr.DataArray(np.empty((2, 3), np.float32), dims=("a", "b")),
    ):
        kind = torch.bfloat16 if getattr(out, "dtype", None) == torch.bfloat16 else torch.float32
        assert client.broadcast_to(row.to(kind), (2, 3), out=out) is out
        assert (
            out.tolist() == [[1, 2, 3]] * 2 if isinstance(out, torch.Tensor) else out.data.tolist() == [[1, 2, 3]] * 2
        )
    scalar = torch.empty(())
    assert client.broadcast("numpy.broadcast_arrays", torch.tensor(5.0), out=[scalar])[0] is scalar
    assert scalar == 5


def test_a_backward_that_saved_out_finds_out(client: Client) -> None:
    saved = torch.ones(2, 3)
    loss = (torch.ones(2, 3, requires_grad=True) * saved).sum()
    client.broadcast_to(torch.zeros(3), (2, 3), out=saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (torch.empty(2, 3, requires_grad=True), r"out\.detach\(\)"),
        (torch.empty(3, 2).T, "C-contiguous"),
        (torch.empty(3).expand(2, 3), "C-contiguous"),
        (torch.empty(2, 3, device="meta"), "device meta"),
        (torch.empty(2, 3, dtype=torch.complex64).conj(), "conjugated"),
        (jnp.empty((2, 3)), "a jaxlib ArrayImpl"),
        (tf.zeros((2, 3)), "EagerTensor"),
        (pd.DataFrame(np.empty((2, 3))), "DataFrame"),
        (np.ma.masked_array(np.empty((2, 3)), True), "MaskedArray"),
        ([[[0.0] * 3] * 2], "list"),
        (xr.DataArray(np.empty((3, 2)).T, dims=("a", "b")), "C-contiguous"),
        (xr.DataArray(np.empty((2, 3)), dims=("a", "b")).chunk(), "dask"),
        (xr.DataArray(jnp.empty((2, 3)), dims=("a", "b")), "ArrayImpl"),
        (xr.DataArray([1.0], coords={"a": [1.0]}, dims="a").a, "coordinate"),
        (torch.empty(2, 4), "out is float32"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_unwritable_out_raises_an_error_with_a_remedy(client: Client, out: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        client.broadcast_to(ROW[:3], (2, 3), out=out)


@pytest.mark.parametrize("value", [tf.ones(3), pd.Series([1.0]), pl.Series([1.0]), pa.array([1.0]), CUBE.variable])
def test_an_unsupported_result_library_raises_before_a_request_is_sent(client: Client, value: Any) -> None:
    with pytest.raises(TypeError, match='like="input" supports NumPy, torch, jax and xarray'):
        client.broadcast("numpy.broadcast_arrays", value, like="input")


def test_the_async_client_converts_arrays_too() -> None:
    async def go() -> Any:
        async with AsyncClient.in_process() as client:
            out = torch.empty(2, 3)
            await client.broadcast_to(t[:3], (2, 3), out=out)
            return out, await client.broadcast_arrays(t[:3], jnp.ones((2, 1)), CUBE[0, 0], like="input")

    out, results = asyncio.run(go())
    assert out.tolist() == [[0, 1, 2]] * 2
    assert [type(result).__name__ for result in results] == ["Tensor", "ArrayImpl", "DataArray"]


def test_a_shape_of_any_library_is_a_shape(client: Client) -> None:
    for shape in (
        torch.Size([2, 3]),
        tf.TensorShape([2, 3]),
        jnp.ones((2, 3)).shape,
        torch.tensor([2, 3]),
        CUBE.shape[:2],
    ):
        assert client.broadcast_shapes(shape, 3) == (2, 3)
