"""Strategies that draw placements and memory layouts, and functions that read arrays as lists."""

import math

import numpy as np
from hypothesis import strategies as st

from axiscast.plan.plan import Placement

SIZES = st.sampled_from([0, 1, 2, 3, 4, 2, 3])

LAYOUTS = {
    "C": lambda array: array,
    "Fortran": lambda array: array.copy("F"),
    "negative strides": lambda array: np.flip(np.flip(array).copy()) if array.ndim else array,
    "every other": lambda array: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
    "replicated": lambda array: np.broadcast_to(array[:1], array.shape) if array.ndim and array.size else array,
}
"""Return the values, or fewer distinct values, in one of several memory layouts."""


@st.composite
def placements(draw):
    """Draw a placement with rank 0 to 6, permuted axes, expanded axes and new axes."""
    output_shape = tuple(draw(st.lists(SIZES, max_size=6)))
    axes = draw(st.permutations(range(len(output_shape))))
    output_axes = tuple(axes[: draw(st.integers(0, len(axes)))])
    input_shape = tuple(draw(st.sampled_from([1, output_shape[axis]])) for axis in output_axes)
    return Placement(0, input_shape, output_shape, output_axes)


@st.composite
def windows(draw, shape):
    """Draw a window of a shape: (start, stop) for each axis."""
    return [tuple(sorted(draw(st.tuples(st.integers(0, size), st.integers(0, size))))) for size in shape]


def axes_of(placement):
    return placement.input_shape, placement.output_shape, placement.output_axes


def numbered(shape, layout):
    return LAYOUTS[layout](np.arange(math.prod(shape)).reshape(shape))


def flat(array):
    """Return the elements in C order as Python numbers."""
    return array.ravel().tolist()
