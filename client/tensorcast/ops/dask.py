"""Dask: dask.array, with NumPy's rules, and up to the 64 axes that an array of NumPy's has."""

from typing import Literal

from .families import Multidirectional, Unidirectional
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=125,
    reference=("dask", "2026.8.0"),
    language=PYTHON,
    head="import dask.array as da\n",
    transpose="{y} = da.transpose({x}, {permutation})",
    reshape="{y} = da.reshape({x}, {shape})",
    executed="Dask 2026.8.0",
)
_LINK = "https://docs.dask.org/en/stable/generated/dask.array"


class broadcast_to(Unidirectional):
    """Broadcast an array to a shape: aligned right, size 1 stretches, the rank never shrinks."""

    name: Literal["dask.array.broadcast_to"] = "dask.array.broadcast_to"
    max_rank = 64
    link = f"{_LINK}.broadcast_to.html"
    snippets = ("{y} = da.broadcast_to({x}, {shape})",)


class broadcast_arrays(Multidirectional):
    """Broadcast any number of arrays against each other: aligned right, size 1 stretches."""

    name: Literal["dask.array.broadcast_arrays"] = "dask.array.broadcast_arrays"
    max_rank = 64
    link = f"{_LINK}.broadcast_arrays.html"
    snippets = ("[{ys}] = da.broadcast_arrays({xs})",)
