"""Arrays of real libraries, whose elements are known, for real_arrays.py."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import tensorflow as tf
import torch
import xarray as xr

N = 2**19
"""The number of elements of a row: with 4 bytes each, 2 MiB, too much for a joined message."""
ROW = np.arange(N, dtype=np.float32)


def bf16(values: Any) -> np.ndarray:
    return np.asarray(values).astype(ml_dtypes.bfloat16)


def nonzero(dtype: Any) -> np.ndarray:
    """Return a million elements that the dtype represents exactly."""
    return (np.arange(2 * N) % 3).astype(dtype)


t = torch.from_numpy(ROW.copy())
keep = torch.from_numpy(ROW.reshape(-1, 2).copy())
d = xr.DataArray(ROW.reshape(2, -1), dims=("a", "b"), coords={"a": [1, 2]}, attrs={"unit": "m"}, name="n")

INPUTS: dict[str, tuple[Any, np.ndarray, bool, bool]] = {
    # name: value, its elements, whether it is copied to be read, and to be sent
    "torch float32": (t, ROW, False, False),
    "torch requires_grad": (torch.tensor(ROW, requires_grad=True), ROW, False, False),
    "torch Parameter": (torch.nn.Parameter(t), ROW, False, False),
    "torch bfloat16": (torch.from_numpy(nonzero("f4")).bfloat16(), bf16(nonzero("f4")), False, False),
    **{
        f"torch {name}": (
            torch.from_numpy(nonzero("f4")).to(getattr(torch, name)),
            nonzero(getattr(ml_dtypes, name)),
            False,
            False,
        )
        for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
    },
    "torch complex64": (t + 1j, ROW + np.complex64(1j), False, False),
    "torch conj bit": ((t + 1j).conj(), ROW - np.complex64(1j), True, False),
    "torch neg bit": ((t + 1j).conj().imag, np.full(N, -1, np.float32), True, False),
    "torch inference": (torch.inference_mode()(lambda: t * 2)(), ROW * 2, False, False),
    "torch transposed": (keep.T, ROW.reshape(-1, 2).T, False, True),
    "torch expanded": (t.expand(5, N), np.broadcast_to(ROW, (5, N)), False, False),
    "torch int64": (t.long(), ROW.astype(np.int64), False, False),
    "torch bool": (torch.from_numpy(nonzero(bool)), nonzero(bool), False, False),
    "torch uint16": (torch.from_numpy(nonzero("u2")), nonzero("u2"), False, False),
    "jax float32": (jnp.asarray(ROW), ROW, False, False),
    "jax bfloat16": (jnp.asarray(nonzero("f4"), jnp.bfloat16), bf16(nonzero("f4")), False, False),
    "jax float8_e4m3fn": (
        jnp.asarray(nonzero("f4"), jnp.float8_e4m3fn),
        nonzero(ml_dtypes.float8_e4m3fn),
        False,
        False,
    ),
    "jax int4": (jnp.asarray(nonzero("i4"), jnp.int4), nonzero(ml_dtypes.int4), True, False),
    "jax bool": (jnp.asarray(nonzero(bool)), nonzero(bool), False, False),
    "jax transposed": (jnp.asarray(ROW.reshape(-1, 2)).T, ROW.reshape(-1, 2).T, False, False),
    "tensorflow float32": (tf.constant(ROW), ROW, False, False),
    "tensorflow bfloat16": (tf.cast(nonzero("f4"), tf.bfloat16), bf16(nonzero("f4")), False, False),
    "tensorflow float8_e5m2": (
        tf.cast(nonzero("f4"), tf.dtypes.experimental.float8_e5m2),
        nonzero(ml_dtypes.float8_e5m2),
        False,
        False,
    ),
    "tensorflow Variable": (tf.Variable(ROW), ROW, False, False),
    "xarray of NumPy": (d, ROW.reshape(2, -1), False, False),
    "xarray of jax": (xr.DataArray(jnp.asarray(ROW), dims="a"), ROW, False, False),
    "xarray Variable": (d.variable, ROW.reshape(2, -1), False, False),
    "pyarrow float32": (pa.array(ROW), ROW, False, False),
    "pyarrow one chunk": (pa.chunked_array([pa.array(ROW)]), ROW, False, False),
    "pyarrow two chunks": (pa.chunked_array([pa.array(ROW[:9]), pa.array(ROW[9:])]), ROW, True, False),
    "pyarrow slice": (pa.array(ROW).slice(3), ROW[3:], False, False),
    "pyarrow bool": (pa.array(nonzero(bool)), nonzero(bool), True, False),
    "pyarrow tensors": (
        pa.FixedShapeTensorArray.from_numpy_ndarray(ROW.reshape(-1, 2)),
        ROW.reshape(-1, 2),
        False,
        False,
    ),
    "pyarrow Tensor": (pa.Tensor.from_numpy(ROW.reshape(-1, 2)), ROW.reshape(-1, 2), False, False),
    "polars float32": (pl.Series(ROW), ROW, False, False),
    "polars bool": (pl.Series(nonzero(bool)), nonzero(bool), True, False),
    "polars Array": (pl.Series(ROW.reshape(-1, 2)), ROW.reshape(-1, 2), False, False),
    "polars DataFrame": (pl.DataFrame({"a": ROW, "b": ROW + 1}), np.stack([ROW, ROW + 1], 1), True, False),
    "pandas float32": (pd.Series(ROW), ROW, False, False),
    "pandas Int64": (pd.Series(nonzero("i8"), dtype="Int64"), nonzero("i8"), False, False),
    "pandas int64[pyarrow]": (pd.Series(nonzero("i8"), dtype="int64[pyarrow]"), nonzero("i8"), False, False),
    "pandas NaN": (pd.Series(np.full(N, np.nan, "f4")), np.full(N, np.nan, "f4"), False, False),
    "pandas datetime64[ns]": (pd.Series(nonzero("i8").view("M8[ns]")), nonzero("i8").view("M8[ns]"), False, False),
    "pandas DataFrame": (pd.DataFrame(ROW.reshape(-1, 2)), ROW.reshape(-1, 2), False, True),
    "NumPy mask of nothing": (np.ma.masked_array(ROW, False), ROW, False, False),
}
