"""MLX: mlx.core.broadcast_to, NumPy's one-way rule. No size may be negative, and no rank is too large."""

from typing import Literal

from .families import Unidirectional
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=160,
    reference=("mlx", "0.32.4"),
    language=PYTHON,
    head="import mlx.core as mx\n",
    transpose="{y} = mx.transpose({x}, {permutation})",
    reshape="{y} = mx.reshape({x}, {shape})",
)


class broadcast_to(Unidirectional):
    """Broadcast an array to a shape: aligned right, size 1 stretches, the rank never shrinks."""

    name: Literal["mlx.core.broadcast_to"] = "mlx.core.broadcast_to"
    link = "https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.broadcast_to.html"
    snippets = ("{y} = mx.broadcast_to({x}, {shape})",)
