"""The messages of MLX, einops, xarray, pandas, Dask and tinygrad: see record.py."""

import os

os.environ["DEV"] = "PYTHON"
from importlib.metadata import version

import array_api_strict as xp
import dask
import dask.array as da
import einops
import mlx.core as mx
import numpy as np
import pandas as pd
import xarray as xr
from record import Recorder
from tinygrad import Tensor

names = {"xp": xp, "z": lambda *shape: xp.zeros(shape)}
rec = Recorder("array_api", xp.__version__, names)
case, other = rec.broadcast, rec.other
case("z(3, 4) + z(5)", "numpy.add", (3, 4), (5,))
case("x, y = z(2, 64, 7, 7), z(64)\nx * y", "numpy.add", (2, 64, 7, 7), (64,), whole=True)
case("xp.maximum(z(2, 3), z(3, 2))", "numpy.add", (2, 3), (3, 2))
case("xp.where(z(2, 3) > 0, z(4), z(1))", "numpy.where", (2, 3), (4,), (1,))
case("xp.broadcast_to(z(3), (2, 4))", "numpy.broadcast_to", (3,), shape=[2, 4])
case("xp.broadcast_to(z(2, 3), (3,))", "numpy.broadcast_to", (2, 3), shape=[3], holds=False)
case("xp.broadcast_arrays(z(3), z(4))", "numpy.broadcast_arrays", (3,), (4,))
case("xp.broadcast_shapes((2, 3), (4,))", "numpy.broadcast_shapes", (2, 3), (4,))
case("xp.matmul(z(2, 3), z(4, 5))", "numpy.matmul", (2, 3), (4, 5), holds=False)
case("z(2, 3, 4) @ z(5, 4, 6)", "numpy.matmul", (2, 3, 4), (5, 4, 6))
case("x = z(3, 4)\nx += z(5)", "numpy.broadcast_arrays", (3, 4), (5,), (3, 4))
other("xp.concat([z(2, 3), z(2, 4)])")
other("xp.stack([z(3), z(4)])")
other("xp.reshape(z(6), (4, 2))")
other("xp.permute_dims(z(2, 3), (0, 1, 2))")
other("xp.sum(z(2, 3), axis=5)")
other("z(3)[5]")
other("xp.add(z(3), xp.zeros(3, dtype=xp.bool))")
rec.write()

rec = Recorder("mlx", version("mlx"), {"mx": mx, "z": mx.zeros})
case, other = rec.broadcast, rec.other
case("z((3, 4)) + z((5,))", "mlx.core.add", (3, 4), (5,))
case("x, y = z((2, 64, 7, 7)), z((64,))\nx * y", "mlx.core.add", (2, 64, 7, 7), (64,), whole=True)
case("z((8, 1, 6)) > z((7, 2, 5))", "mlx.core.add", (8, 1, 6), (7, 2, 5))
case("mx.maximum(z((2, 3)), z((3, 2)))", "mlx.core.add", (2, 3), (3, 2))
case("mx.where(z((2, 3)) > 0, z((4,)), z((1,)))", "mlx.core.add", (2, 3), (4,))
case("mx.broadcast_to(z((3,)), (2, 4))", "mlx.core.add", (3,), (2, 4))
case("mx.broadcast_to(z((2, 3)), (3,))", "mlx.core.broadcast_to", (2, 3), shape=[3])
case("mx.broadcast_arrays(z((3,)), z((4,)))", "mlx.core.add", (3,), (4,))
case("mx.broadcast_shapes((2, 3), (4,))", "mlx.core.add", (2, 3), (4,))
case("z((2, 3)) @ z((4, 5))", "mlx.core.matmul", (2, 3), (4, 5))
case("z((2, 3, 4)) @ z((5, 4, 6))", "mlx.core.add", (2,), (5,))
case("x = z((2, 3))\nx[:] = z((4,))", "mlx.core.add", (4,), (2, 3))
case("mx.addmm(z((5,)), z((2, 3)), z((3, 4)))", "mlx.core.add", (5,), (2, 4))
case("mx.einsum('ij,jk->ik', z((2, 3)), z((4, 5)))", None)
other("mx.concatenate([z((2, 3)), z((2, 4))])")
other("mx.stack([z((3,)), z((4,))])")
other("z((6,)).reshape(4, 2)")
other("z((2, 3)).transpose(0, 1, 2)")
other("z((2, 3)).sum(5)")
other("mx.conv2d(z((1, 8, 8, 3)), z((4, 3, 3, 2)))")
rec.write()

rec = Recorder("einops", einops.__version__, {"einops": einops, "z": np.zeros})
case, other = rec.broadcast, rec.other
case(
    "einops.repeat(z((2, 3)), 'a b c -> a b c d', d=4)",
    "einops.repeat",
    (2, 3),
    pattern="a b c -> a b c d",
    axes_lengths={"d": 4},
    holds=True,
)
case(
    "einops.rearrange(z((2, 3)), '(a b) c -> a b c', a=3)",
    "einops.rearrange",
    (2, 3),
    pattern="(a b) c -> a b c",
    axes_lengths={"a": 3},
    holds=True,
)
case(
    "einops.repeat(z((2, 3)), 'a b -> a b c')",
    "einops.repeat",
    (2, 3),
    pattern="a b -> a b c",
    axes_lengths={},
    holds=True,
)
case(
    "einops.repeat(z((2, 3)), 'a b -> a (b c) d', c=2)",
    "einops.repeat",
    (2, 3),
    pattern="a b -> a (b c) d",
    axes_lengths={"c": 2},
    holds=True,
)
case("einops.reduce(z((2, 3)), 'a b -> a c', 'sum')", None)
case(
    "einops.repeat(z((4,)), 'a -> b a', b=2, c=3)",
    "einops.repeat",
    (4,),
    pattern="a -> b a",
    axes_lengths={"b": 2, "c": 3},
    holds=True,
)
case(
    "einops.rearrange(z((2, 3)), 'a a -> a')",
    "einops.rearrange",
    (2, 3),
    pattern="a a -> a",
    axes_lengths={},
    holds=True,
)
case(
    "einops.rearrange(z((6, 3)), '(a b) c -> a b c', a=4)",
    "einops.rearrange",
    (6, 3),
    pattern="(a b) c -> a b c",
    axes_lengths={"a": 4},
    holds=True,
)
case(
    "einops.rearrange(z((3, 32, 32)), 'b c h w -> b (c h w)')",
    "einops.rearrange",
    (3, 32, 32),
    pattern="b c h w -> b (c h w)",
    axes_lengths={},
    holds=True,
)
case(
    "einops.rearrange(z((3, 4)), 'a b -> b')",
    "einops.rearrange",
    (3, 4),
    pattern="a b -> b",
    axes_lengths={},
    holds=True,
)
case("einops.einsum(z((2, 3)), z((4, 5)), 'i j, j k -> i k')", None)
rec.write()

names = {"xr": xr, "da": lambda *shape, **named: xr.DataArray(np.zeros(shape), dims=named.get("dims"))}
rec = Recorder("xarray", xr.__version__, names)
case, other = rec.broadcast, rec.other
case("da(2, dims='x') + da(3, dims='x')", None)
case("da(2, 3, dims=['x', 'y']) * da(4, dims='y')", None)
case("xr.broadcast(da(2, dims='x'), da(3, dims='x'))", None)
case("da(2, 3, dims=['x', 'y']).broadcast_like(da(4, dims='y'))", None)
case("da(2, dims='x') + xr.Variable('x', [1.0, 2.0, 3.0])", None)
other("da(2, 3, dims=['x', 'y']).expand_dims(x=4)")
case("x = da(2, 3, dims=['x', 'y'])\nx[:] = da(3, dims='y').values[:2]", "numpy.broadcast_to", (1, 2), shape=[2, 3])
other("da(2, 3, dims='x')")
other("da(2, dims='x').sel(y=3)")
other("da(2, dims='x').sum('y')")
case("xr.Dataset({'a': da(2, dims='x'), 'b': da(3, dims='x')})", None)
case("xr.Dataset({'a': ('x', [1, 2, 3]), 'b': ('x', [1, 2])})", None)
other("da(2, 3, dims=['x', 'y']).transpose('x', 'z')")
rec.write()

names = {"pd": pd, "np": np, "frame": lambda *shape: pd.DataFrame(np.zeros(shape))}
rec = Recorder("pandas", pd.__version__, names)
case, other = rec.broadcast, rec.other
other("frame(3, 4) + np.zeros((2, 4))")
other("frame(3, 4) + np.zeros(5)")
case("pd.Series([1, 2]) + np.zeros(3)", "numpy.add", (2,), (3,))
other("x = frame(3, 2)\nx['c'] = [1, 2]")
other("x = frame(3, 2)\nx.iloc[0, :] = [1, 2, 3]")
other("x = frame(3, 2)\nx.loc[:, [0, 1]] = np.zeros((2, 3))")
other("pd.Series([1, 2]) > pd.Series([1, 2, 3])")
other("pd.DataFrame(np.zeros((2, 3)), columns=['a', 'b'])")
other("frame(2, 3).where(np.zeros((3, 2)) > 0)")
other("frame(2, 3)['nonsense']")
other("frame(2, 3).iloc[5]")
other("pd.DataFrame({'a': [1], 'b': [1, 2]})")
other("frame(2, 3).merge(frame(2, 3), on='k')")
other("x = frame(3, 2)\nx.columns = ['a']")
other("x = frame(3, 2)\nx[['a', 'b']] = np.zeros((3, 3))")
other("pd.Series([1, 2]) == np.zeros(3)")
other("x = frame(3, 2)\nx.loc[7] = [1, 2, 3]")
other("x = frame(3, 2)\nx.loc[[0, 1], 0] = [1, 2, 3]")
other("pd.Series(np.zeros((3, 1)))")
other("frame(3, 4) @ frame(3, 4)")
other("pd.Series([1, 2], index=[0, 1, 2])")
other("if frame(2, 3): pass")
rec.write()

rec = Recorder("dask", dask.__version__, {"da": da, "z": da.zeros})
case, other = rec.broadcast, rec.other
case("z((3, 4)) + z(5)", "dask.array.broadcast_arrays", (3, 4), (5,))
case("x, y = z((2, 64, 7, 7)), z(64)\nx * y", "dask.array.broadcast_arrays", (2, 64, 7, 7), (64,), whole=True)
case("da.maximum(z((2, 3)), z((3, 2)))", "dask.array.broadcast_arrays", (2, 3), (3, 2))
case("da.where(z((2, 3)) > 0, z(4), z(1))", "dask.array.broadcast_arrays", (2, 3), (4,), (1,))
case("da.broadcast_to(z(3), (2, 4))", "dask.array.broadcast_to", (3,), shape=[2, 4])
other("da.broadcast_arrays(z(3), z(4))")
other("z((2, 3)) @ z((4, 5))")
other("da.matmul(z((2, 3, 4)), z((5, 4, 6)))")
case("x = z((2, 3))\nx[:] = z(4)", "numpy.broadcast_to", (4,), shape=[2, 3])
other("da.concatenate([z((2, 3)), z((2, 4))])")
other("da.stack([z(3), z(4)])")
other("z(6).reshape(4, 2)")
other("z(3)[5]")
rec.write()

names = {"Tensor": Tensor, "z": Tensor.zeros}
rec = Recorder("tinygrad", version("tinygrad"), names)
case, other = rec.broadcast, rec.other
case("(z(3, 4) + z(5)).numpy()", "tinygrad.add", (3, 4), (5,))
case("x, y = z(2, 64, 7, 7), z(64)\n(x * y).numpy()", "tinygrad.add", (2, 64, 7, 7), (64,), whole=True)
case("z(2, 3).maximum(z(3, 2)).shape", "tinygrad.add", (2, 3), (3, 2))
case("(z(2, 3) > 0).where(z(4), z(1)).shape", "tinygrad.where", (2, 3), (4,), (1,))
case("z(3).expand(2, 4)", "tinygrad.expand", (3,), shape=[2, 4])
case("z(2, 3).expand(3)", "tinygrad.expand", (2, 3), shape=[1, 3])
case("z(2, 3) @ z(4, 5)", "tinygrad.matmul", (2, 3), (4, 5))
case("z(2, 3, 4) @ z(5, 4, 6)", "tinygrad.add", (2, 3, 1, 4), (5, 1, 6, 4))
case("z(2, 3).assign(z(4))", "tinygrad.expand", (4,), shape=[2, 3])
other("z(2, 3).cat(z(2, 4))")
other("z(6).reshape(4, 2)")
other("z(2, 3).permute(0, 1, 2)")
other("z(3)[5]")
rec.write()
