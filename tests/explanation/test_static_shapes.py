"""The shape of an expression is computed without evaluating it, and is the shape that NumPy computes."""

from __future__ import annotations

import ast
import sys

import numpy as np
import pytest

from axiscast.explanation.static_shapes import shape_of

x, w, v, empty = np.ones((2, 3, 4)), np.ones((4, 5)), np.ones(4), np.ones((0, 3))


def computed(code: str) -> tuple[int, ...] | None:
    array = shape_of(ast.parse(code, mode="eval").body, sys._getframe())
    return array and array.shape


@pytest.mark.parametrize(
    "code",
    [
        "x.T", "w.T", "v.T", "x[0]", "x[-1, 1]", "x[..., 0]", "x[:, None]", "x[None, ..., None]", "x[1:, ::-2]",
        "x[:, np.newaxis, 0]", "x[0, 0, 0]", "x.sum()", "x.sum(1)", "x.mean(axis=-1)", "x.std(axis=(0, 2))",
        "x.var(axis=1, keepdims=True)", "x.sum(keepdims=True)", "np.sum(x, axis=0)",
        "np.mean(x, axis=1, keepdims=True)",
        "x.transpose()", "x.transpose(2, 0, 1)", "np.transpose(x, (1, 0, 2))", "x.swapaxes(0, -1)",
        "np.expand_dims(x, -1)", "np.expand_dims(v, axis=0)", "np.exp(x)", "x.astype(float)", "-x", "x @ w", "v @ w",
        "x + v", "x > v", "2 * x[0] - 1", "np.ones((3, 4))", "np.zeros(5)", "np.ones((2, 1), np.int8)", "empty.T",
        "empty[:, 0]", "empty.sum(axis=1)",
    ],
)  # fmt: skip
def test_the_shape_is_that_of_the_evaluated_expression(code: str) -> None:
    assert computed(code) == eval(code).shape


@pytest.mark.parametrize(
    "code",
    [
        "x[5]", "x[0, 0, 0, 0]", "x[[0, 1]]", "x[x > 0]", "x[n]", "x.sum(axis=7)", "x.sum(axis=n)", "x.sum(0, None, v)",
        "x.swapaxes(0, 9)", "x.transpose(0, 1)", "x.transpose('a')", "x.reshape(6, 4)", "x @ v.T[1:]", "x + w",
        "np.expand_dims(x, 9)", "np.ones(n)", "np.ones((2, n))", "np.linalg.inv(x)", "x[::0]", "x[True]",
    ],
)  # fmt: skip
def test_a_shape_that_is_not_known_is_not_guessed(code: str) -> None:
    assert computed(code) is None


def test_a_huge_array_needs_no_memory() -> None:
    huge = np.broadcast_to(np.int8(0), (2**20, 2**20, 2**20))
    assert huge.ndim == 3
    array = shape_of(ast.parse("huge[:, None].T", mode="eval").body, sys._getframe())
    assert array is not None
    assert array.shape == (2**20, 2**20, 1, 2**20)
