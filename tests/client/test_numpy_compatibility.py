"""Client methods with the names of NumPy functions accept the same arguments and raise the same exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cases import cases

import axiscast
from axiscast import Client
from axiscast.ops import ngraph

ONE, ROW = np.array([7.0]), np.array([1, 2, 3])


@pytest.fixture(scope="module")
def here() -> Iterator[Client]:
    with Client.in_process() as client:
        yield client


SHAPES: list[Any] = [
    *(3, 0, np.int64(1), np.uint8(3), np.array(3), np.array([3]), np.array([2, 3]), (np.int8(3),), [2, 3], range(2, 4)),
    *((3, None), 2.0, (2.0,), np.float64(3), np.array([2.0]), 3 + 0j, "3", "34", ((2,),), {"a": 1}, object()),
    *(True, (True,), np.True_, (np.True_,), -1, (2, -1), 2**63, 2**70, -(2**70), (), [], np.array([], int), (1,) * 65),
]


def outcome(call: Any, *arguments: Any) -> Any:
    """Return the output shape, or the built-in exception that is raised."""
    try:
        found = call(*arguments)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        return type(error) if type(error).__module__.startswith("pydantic") else kind
    return getattr(found, "shape", found)


@cases("shape", SHAPES, ids=lambda shape: f"{shape!r:.20}")
@cases("name", ["broadcast_to", "broadcast_shapes"])
def test_a_shape_is_accepted_or_rejected_as_in_numpy(here: Client, name: str, shape: Any) -> None:
    arguments = (ONE, shape) if name == "broadcast_to" else (shape,)
    assert outcome(getattr(here, name), *arguments) == outcome(getattr(np, name), *arguments)


def test_an_invalid_size_raises_type_error_in_every_method(here: Client) -> None:
    op = ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})
    for shape in ((2.5,), (True,), None, "34", b"34", {"x": 3}):  # NumPy reads bytes as sizes
        for call in (
            lambda shape: here.check(op, shape),
            lambda shape: here.check_batch([{"inputs": [shape]}]),
            lambda shape: here.can_broadcast(shape),
            lambda shape: here.broadcast_shapes(shape),  # older NumPy reads None as ()
            lambda shape: here.broadcast_to(ONE, shape),
            lambda shape: here.compare((3,), shape=shape or "3"),
            lambda shape: here.translate(op, shape, to="torch.expand"),
            lambda shape: here.backprop(op, [shape], np.ones((2, 3))),
            lambda shape: here.broadcast(op, ROW, window=[shape]),
        ):
            with pytest.raises(TypeError):
                call(shape)
    with pytest.raises(TypeError, match=r"pass its \.shape"):
        here.broadcast_shapes(np.ones((2, 2)))


def test_an_array_is_a_shape_in_numpy_and_stands_for_its_shape_in_a_check(here: Client) -> None:
    sizes = np.array([2, 3])
    assert here.broadcast_shapes(sizes) == np.broadcast_shapes(sizes) == (2, 3)
    assert here.check(sizes).shape == here.check(np.ones(2)).shape == (2,)
    assert here.check(ngraph.Broadcast(shape=(2, 3), broadcast_axes={0}), np.ones(3)).shape == (2, 3)


WINDOWS = [
    *(
        np.s_[0:2, :],
        np.s_[1:],
        np.s_[:],
        np.s_[...],
        np.s_[..., 1:2],
        np.s_[-1:, ..., -2:],
        np.s_[9:, 0:99],
        np.s_[2:1],
    ),
    *(np.s_[np.int64(1) :], [slice(1, 3), slice(None, 1)]),
]


@cases("window", WINDOWS, ids=str)
def test_a_window_of_slices_selects_what_numpy_selects(here: Client, window: Any) -> None:
    whole = np.broadcast_to(ROW, (4, 3))
    expected = whole[tuple(window) if isinstance(window, list) else window]
    np.testing.assert_array_equal(here.broadcast_to(ROW, (4, 3), window=window), expected, strict=True)
    (box,) = here.broadcast("numpy.broadcast_arrays", whole, window=window, layout="strided")
    np.testing.assert_array_equal(box, expected, strict=True)


def test_slices_and_pairs_can_be_mixed_in_a_window(here: Client) -> None:
    assert here.broadcast_to(ROW, (4, 3), window=[(1, 2), slice(-1, None)]).tolist() == [[3]]


@cases(
    ("window", "kind", "words"),
    [
        (np.s_[::2], ValueError, "can't have a step"),
        (np.s_[::-1], ValueError, "can't have a step"),
        (np.s_[0, :], TypeError, "can't remove or add axes"),
        (np.s_[None, :], TypeError, "not None"),
        (np.s_[1.5:], TypeError, "indices"),
        (np.s_[:, :, :], ValueError, "at most 2 entries"),
        (np.s_[..., ...], ValueError, r"one \.\.\."),
        ([(0, 1, 2), (0, 3)], TypeError, "can't remove or add axes"),
        ([(0, 1.0), (0, 3)], TypeError, "write 1"),
        ([(0, 1), (0, 4)], ValueError, "0 <= start <= stop <= 3"),
    ],
    ids=str,
)
def test_an_invalid_window_raises_an_error_with_a_remedy(
    here: Client, window: Any, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        here.broadcast_to(ROW, (4, 3), window=window)


def test_slices_need_a_known_op_and_outputs_of_equal_shape(here: Client) -> None:
    with pytest.raises(ValueError, match="this version of axiscast knows"):
        here.broadcast("numpy.broadcast_onto", ROW, window=np.s_[:])
    matrices = np.ones((2, 3)), np.ones((3, 4))
    with pytest.raises(ValueError, match="equal shape"):
        here.broadcast("numpy.matmul", *matrices, window=np.s_[:1])
    with pytest.raises(axiscast.IncompatibleShapes, match="4"):
        here.broadcast_to(ROW, (4, 4), window=np.s_[:1])
    with pytest.raises(axiscast.InvalidRequest, match="is allowed only in check"):
        here.broadcast(axiscast.numpy.broadcast_to(shape=("N", 3)), ROW, window=np.s_[:1])  # type: ignore[list-item]


def test_broadcast_to_fills_out_and_reports_progress(here: Client) -> None:
    out, seen = np.empty((2, 3), int), list[axiscast.Transfer]()
    assert here.with_options(progress=seen.append, timeout=60).broadcast_to(ROW, (2, 3), out=out) is out
    assert out.tolist() == [[1, 2, 3], [1, 2, 3]]
    assert {transfer.direction for transfer in seen} == {"upload", "download"}
    with pytest.raises(axiscast.DeadlineExceeded):
        here.with_options(timeout=0).broadcast_to(ROW, (2, 3))
