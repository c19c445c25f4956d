"""Keras: keras.ops.broadcast_to, NumPy's one-way rule.

Where it only infers, of a KerasTensor, Keras 3.15 lets the target have fewer axes, or a 1 under a larger size; what
then runs refuses both.
"""

from typing import Literal

from .families import Unidirectional
from .framework import PYTHON, Framework

FRAMEWORK = Framework(
    order=85,
    reference=("keras", "3.15.1"),
    language=PYTHON,
    head="import keras\n",
    transpose="{y} = keras.ops.transpose({x}, {permutation})",
    reshape="{y} = keras.ops.reshape({x}, {shape})",
    executed="Keras 3.15.1 on TensorFlow 2.21.0",
)


class broadcast_to(Unidirectional):
    """Broadcast a tensor to a shape: aligned right, size 1 stretches, the rank never shrinks."""

    name: Literal["keras.ops.broadcast_to"] = "keras.ops.broadcast_to"
    link = "https://keras.io/api/ops/numpy/#broadcastto-function"
    snippets = ("{y} = keras.ops.broadcast_to({x}, {shape})",)
