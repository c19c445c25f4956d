"""The functions `broadcast` and `backprop`, in this process and by a client of a service."""

from __future__ import annotations

import typing
from inspect import signature
from math import prod
from typing import Any

import numpy as np
import pytest
import reference
from cases import cases

import axiscast
from axiscast.arrays import computation
from axiscast.ops import einops, linalg, mindspore, ngraph, numpy, openvino, torch

CASES: dict[str, tuple[Any, list[tuple[int, ...]], list[tuple[int, tuple[int, ...], tuple[int, ...]]]]] = {
    "numpy.add": (numpy.add(), [(3, 1), (4,)], [(0, (3, 4), (0, 1)), (1, (3, 4), (1,))]),
    "numpy.broadcast_to": (numpy.broadcast_to(shape=(2, 0, 3)), [(3,)], [(0, (2, 0, 3), (2,))]),
    "a scalar": (numpy.broadcast_to(shape=(2, 2)), [()], [(0, (2, 2), ())]),
    "ngraph.Broadcast": (ngraph.Broadcast(shape=(3, 2), broadcast_axes={1}), [(3,)], [(0, (3, 2), (0,))]),
    "linalg.broadcast": (linalg.broadcast(shape=(2, 4, 3), dimensions=[1]), [(2, 3)], [(0, (2, 4, 3), (0, 2))]),
    "torch.expand_as": (torch.expand_as(), [(2, 1), (2, 3)], [(0, (2, 3), (0, 1))]),
    "openvino explicit": (
        openvino.Broadcast3(target_shape=(2, 3, 2), mode="explicit", axes_mapping=(1,)),
        [(3,)],
        [(0, (2, 3, 2), (1,))],
    ),
}
"""Ops with shapes of inputs and, for each output, its input, its shape and its `output_axes`, written by hand."""
MERGED = einops.repeat(pattern="a b -> (a c) b", axes_lengths={"c": 2})
"""Its outer axis has no stride for a transposed input: rows are repeated before the next row begins."""


def elements(shape: tuple[int, ...], start: int = 0) -> np.ndarray[Any, Any]:
    return np.arange(start, start + prod(shape)).reshape(shape)


@pytest.fixture(params=["in process", "HTTP"])
def broadcast(request: pytest.FixtureRequest) -> Any:
    """The functions of the library, and those of a client."""
    return axiscast if request.param == "in process" else request.getfixturevalue("client")


@cases("case", CASES)
def test_each_output_has_the_elements_of_the_reference(case: str, broadcast: Any) -> None:
    op, shapes, outputs = CASES[case]
    arrays = [elements(shape, 10 * number) for number, shape in enumerate(shapes)]
    results = broadcast.broadcast(op, *arrays)
    assert len(results) == len(outputs)
    for result, (number, shape, axes) in zip(results, outputs, strict=True):
        expected = reference.broadcast(arrays[number].ravel().tolist(), shapes[number], shape, axes)
        assert (result.shape, result.dtype) == (shape, arrays[number].dtype)
        assert result.ravel().tolist() == expected


@cases("case", CASES)
def test_each_gradient_is_the_sum_of_the_reference(case: str, broadcast: Any) -> None:
    op, shapes, outputs = CASES[case]
    gradients = [elements(shape, 7).astype(np.float64) for _, shape, _ in outputs]
    results = broadcast.backprop(op, shapes, *gradients)
    assert len(results) == len(shapes)
    for number, (result, shape) in enumerate(zip(results, shapes, strict=True)):
        expected = [0.0] * prod(shape)
        for gradient, (source, output_shape, axes) in zip(gradients, outputs, strict=True):
            if source == number:
                expected = reference.gradient(gradient.ravel().tolist(), shape, output_shape, axes)
        assert (result.shape, result.dtype) == (shape, np.float64)
        assert result.ravel().tolist() == expected


def test_outputs_are_read_only_views_as_those_of_numpy() -> None:
    array = np.array([1, 2, 3])
    (view,) = axiscast.broadcast("numpy.broadcast_to", array, shape=(10**12, 3))
    assert view.strides == np.broadcast_to(array, (10**12, 3)).strides
    assert np.shares_memory(view[:2], array)
    with pytest.raises(ValueError, match="read-only"):
        view[0, 0] = 1
    reversed_view, column = axiscast.broadcast("numpy.add", array[::-1], np.ones((2, 1), "f4")[:, ::1])
    np.testing.assert_array_equal(reversed_view, [[3, 2, 1], [3, 2, 1]])
    assert np.shares_memory(reversed_view, array)
    assert column.dtype == np.float32


@cases("dtype", ["?", ">i4", "<f2", "c8", "M8[s]", "m8[ns]", "S3", "U2"])
def test_views_keep_the_dtype_and_the_bits(dtype: str) -> None:
    array = np.array([0, 1, 2]).astype(dtype)
    for layout in (None, "dense"):
        (result,) = axiscast.broadcast("numpy.broadcast_to", array, shape=(2, 3), layout=layout)
        np.testing.assert_array_equal(result, np.broadcast_to(array, (2, 3)), strict=True)
        assert result.dtype == array.dtype


def test_dense_outputs_are_new_and_writable() -> None:
    array = np.arange(3)
    (result,) = axiscast.broadcast("numpy.broadcast_to", array, shape=(3,), layout="dense")
    assert result.flags.writeable
    assert not np.shares_memory(result, array)


def test_an_output_without_strides_is_a_new_array_and_not_strided() -> None:
    array = np.arange(6).reshape(2, 3).T
    expected = np.repeat(array, 2, axis=0)
    assert axiscast.broadcast(MERGED, array)[0].tolist() == expected.tolist()
    assert axiscast.broadcast(MERGED, array, window=np.s_[1:5, 1:])[0].tolist() == expected[1:5, 1:].tolist()
    assert axiscast.broadcast(MERGED, array[::-1], window=np.s_[1:5])[0].tolist() == expected[::-1][1:5].tolist()
    with pytest.raises(axiscast.NotStrided, match=r"\(3, 2, 2\) is merged to \(6, 2\)"):
        axiscast.broadcast(MERGED, array, layout="strided")


def test_a_window_is_a_view_of_a_part(broadcast: Any) -> None:
    for window in ([(0, 1), (1, 3)], np.s_[:1, 1:]):
        assert broadcast.broadcast("numpy.broadcast_to", [1, 2, 3], shape=(2, 3), window=window)[0].tolist() == [[2, 3]]
    with pytest.raises(axiscast.InvalidRequest, match=r"window/1: \[1, 9\] must satisfy 0 <= start <= stop <= 3"):
        broadcast.broadcast("numpy.broadcast_to", [1, 2, 3], shape=(2, 3), window=[(0, 1), (1, 9)])


def test_out_is_written_and_may_share_memory_with_an_input(broadcast: Any) -> None:
    memory = np.arange(6)
    out = memory.reshape(2, 3)
    assert broadcast.broadcast("numpy.broadcast_to", memory[3:], shape=(2, 3), out=out)[0] is out
    assert out.tolist() == [[3, 4, 5], [3, 4, 5]]
    with pytest.raises(ValueError, match=r"out is float64 \(2, 3\), but the output is int64 \(2, 3\)"):
        broadcast.broadcast("numpy.broadcast_to", memory[3:], shape=(2, 3), out=np.empty((2, 3)))
    with pytest.raises(ValueError, match="out has 2 arrays for 1 outputs"):
        broadcast.broadcast("numpy.broadcast_to", memory[3:], shape=(2, 3), out=[out, np.empty(3)])
    with pytest.raises(ValueError, match='out needs layout="dense"'):
        broadcast.broadcast("numpy.broadcast_to", memory[3:], shape=(2, 3), out=out, layout="strided")


MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "shapes": (lambda f: f.broadcast("numpy.add", np.ones(3), np.ones(4)), axiscast.IncompatibleShapes, "3.*4"),
    "gradient shapes": (
        lambda f: f.backprop("numpy.add", [(3,), (4,)], np.ones(3), np.ones(3)),
        axiscast.IncompatibleShapes,
        "3.*4",
    ),
    "unknown op": (lambda f: f.broadcast("numpy.ad", 1), axiscast.UnknownOp, "did you mean numpy.add"),
    "attribute": (lambda f: f.broadcast("torch.expand", 1, sise=3), axiscast.InvalidRequest, "write size"),
    "number of inputs": (
        lambda f: f.broadcast("torch.expand", 1, 2, size=(3,)),
        axiscast.InvalidRequest,
        "takes 1 input",
    ),
    "no op": (lambda f: f.broadcast(np.add, np.ones(3)), TypeError, "the first argument must be an op"),
    "a list": (
        lambda f: f.broadcast(numpy.add(), [np.ones(3), np.ones(3)]),
        TypeError,
        "pass them as separate arguments",
    ),
    "objects": (lambda f: f.broadcast("numpy.add", [object()], 1), TypeError, "dtype object is not supported"),
    "no outputs": (
        lambda f: f.broadcast("poputil.canBroadcastToMatch", 1, 2),
        axiscast.InvalidRequest,
        "broadcasts no input here",
    ),
    "one shape": (lambda f: f.backprop(mindspore.broadcast_to(shape=(2, 3)), np.ones(3), 1), TypeError, "a list with"),
    "gradients": (
        lambda f: f.backprop("numpy.add", [(3,), (3,)], np.ones(3)),
        axiscast.InvalidRequest,
        "1 gradient for 2 broadcast inputs",
    ),
    "gradient of another shape": (
        lambda f: f.backprop("numpy.broadcast_to", [(3,)], np.ones(3), shape=(2, 3)),
        axiscast.InvalidTensor,
        r"gradients/0: has the shape \(3,\), but output 0 has \(2, 3\)",
    ),
    "gradient of texts": (
        lambda f: f.backprop("numpy.broadcast_to", [(1,)], np.array(["a"]), shape=(1,)),
        axiscast.InvalidTensor,
        "can't be added",
    ),
    "beyond an address": (
        lambda f: f.broadcast("numpy.broadcast_to", 1, shape=(2**40, 2**40), layout="strided"),
        axiscast.OutputTooLarge,
        r"at most 2\^63-1",
    ),
}


@cases("mistake", MISTAKES)
def test_a_mistake_raises_the_error_of_the_client(mistake: str, broadcast: Any) -> None:
    call, kind, says = MISTAKES[mistake]
    with pytest.raises(kind, match=says):
        call(broadcast)


def test_dense_outputs_beyond_the_memory_are_refused_before_they_are_allocated(monkeypatch: Any) -> None:
    monkeypatch.setattr(computation, "_memory_bytes", lambda: 100)
    assert axiscast.broadcast("numpy.broadcast_to", np.ones(3), shape=(10**9, 3))[0].shape == (10**9, 3)
    with pytest.raises(
        axiscast.OutputTooLarge, match=r"need 240 bytes of memory \(the largest shape is \(10, 3\)\)"
    ) as refused:
        axiscast.broadcast("numpy.broadcast_to", np.ones(3), shape=(10, 3), layout="dense")
    assert (refused.value.facts["limit"], refused.value.facts["nbytes"]) == (100, 240)
    with pytest.raises(axiscast.OutputTooLarge, match="but this machine has 100: pass the gradient in slices"):
        axiscast.backprop("numpy.broadcast_to", [(30,)], np.ones((2, 30)), shape=(2, 30))


def test_gradients_are_new_arrays_or_read_only_views() -> None:
    gradient = np.ones(3)
    (whole,) = axiscast.backprop("numpy.broadcast_to", [(3,)], gradient, shape=(3,))
    assert whole.flags.writeable
    assert not np.shares_memory(whole, gradient)
    (unused,) = axiscast.backprop("torch.expand_as", [(1,), (10**12,)], np.broadcast_to(1.0, 10**12))[1:]
    assert (unused.shape, unused.strides, unused.flags.writeable, unused[0]) == ((10**12,), (0,), False, 0)
    (swapped,) = axiscast.backprop("numpy.broadcast_to", [(2,)], np.arange(4, dtype=">f8").reshape(2, 2), shape=(2, 2))
    assert swapped.tolist() == [2, 4]


def test_results_can_be_like_their_inputs() -> None:
    xarray = pytest.importorskip("xarray")
    (result,) = axiscast.broadcast(
        numpy.broadcast_to(shape=(2, 3)), xarray.DataArray([1, 2, 3], dims=["x"]), like="input"
    )
    assert (result.dims, result.values.tolist()) == (("dim_0", "x"), [[1, 2, 3], [1, 2, 3]])
    assert result.values.flags.writeable
    with pytest.raises(ValueError, match='like must be "numpy" or "input"'):
        axiscast.broadcast(numpy.add(), 1, 2, like="torch")


@cases("function", [axiscast.broadcast, axiscast.backprop])
def test_annotations_name_types_that_exist(function: Any) -> None:
    from axiscast.arrays.array_libraries import Like
    from axiscast.arrays.window import WindowLike
    from axiscast.wire.tensors import TensorLayout

    names = {"Like": Like, "TensorLayout": TensorLayout, "WindowLike": WindowLike}
    assert typing.get_type_hints(function, localns=names)["return"] == list[Any]
    assert "Needs NumPy, but no" in " ".join(function.__doc__.split())


def test_the_arguments_are_those_of_the_client_without_the_options_of_a_connection() -> None:
    for name in ("broadcast", "backprop"):
        arguments = signature(getattr(axiscast, name)).parameters
        of_client = signature(getattr(axiscast.Client, name)).parameters
        assert [*arguments] == [each for each in of_client if each not in ("self", "progress", "timeout")]
