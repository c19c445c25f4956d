"""Dask: dask.array follows NumPy's rules and accepts at most 64 axes, like NumPy's arrays."""

from ..plan.alignment import Conflict, unchecked_sizes
from ..plan.plan import Shape
from .aliases import UFUNCS, aliases
from .base import declare
from .families import MatrixProduct, Multidirectional, Unidirectional
from .framework import Framework

FRAMEWORK = Framework(
    order=125,
    reference=("dask", "2026.8.0"),
    link="https://docs.dask.org/en/stable/generated/{name}.html",
    max_rank=64,
    preamble="import dask.array as da\n",
    transpose="{y} = da.transpose({x}, {permutation})",
    reshape="{y} = da.reshape({x}, {shape})",
    calls={"dask.array": "{y} = da.{function}({arguments})"},
    executed="Dask 2026.8.0",
)


class broadcast_to(Unidirectional, name="dask.array.broadcast_to"):
    snippets = ("{y} = da.broadcast_to({x}, {shape})",)

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        if min(unchecked_sizes(shapes[0], tuple(self.shape), keep=None), default=0) < 0:
            return "Dask 2026.8 checks a negative size only in `compute()`. Until then, the array has this shape."
        return None


broadcast_arrays = declare(Multidirectional, "dask.array.broadcast_arrays", "[{ys}] = da.broadcast_arrays({xs})")


class matmul(MatrixProduct, name="dask.array.matmul"):
    max_rank = 63  # Dask adds an axis while it computes the product

    def refused_deviation(self, shapes: tuple[Shape, ...], conflict: Conflict) -> str | None:
        left, right = shapes
        if not (left and right) or max(len(left), len(right)) > self.max_rank:
            return None
        meeting = [(left[-1], right[-2:][0]), *zip(left[-3::-1], right[-3::-1], strict=False)]
        if any(one != other and min(one, other) > 1 for one, other in meeting):
            return None
        return "Dask 2026.8 compares these sizes only in `compute()`. Until then, the product has a shape."


ALIASES = {
    **aliases(broadcast_arrays, f"add {UFUNCS}", "dask.array", inputs=2, outputs="1"),
    **aliases(broadcast_arrays, "divmod", "dask.array", inputs=2, outputs="2"),
    **aliases(broadcast_arrays, "where clip", "dask.array", inputs=3, outputs="1"),
}

MESSAGES = """
    dask.array.broadcast_arrays | operands could not be broadcast together with shapes <*>
    dask.array.broadcast_to | cannot broadcast shape <0> to shape <=shape>
"""
