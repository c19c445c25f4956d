"""from_plan is the inverse of lower: it returns the op of a framework for a plan, or None."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from test_vectors import FILES, OP, vectors

from axiscast.engine.views import output_view
from axiscast.ops import (
    OPS,
    Op,
    einops,
    from_plan,
    jax,
    lower,
    mindspore,
    mxnet,
    ngraph,
    numpy,
    onnx,
    openvino,
    paddle,
    poputil,
    stablehlo,
    tensorflow,
    torch,
    xarray,
)
from axiscast.plan.plan import Placement, Plan


def plan(input_shape: tuple[int, ...], output_shape: tuple[int, ...], output_axes: tuple[int, ...]) -> Plan:
    return Plan((input_shape,), (Placement(0, input_shape, output_shape, output_axes),))


ROW = plan((3,), (2, 3), (1,))
COLUMN = plan((2,), (2, 3), (0,))
STRETCHED = plan((2, 1), (2, 3), (0, 1))
TURNED = plan((2, 3), (3, 2), (1, 0))
WORDS: list[tuple[Plan, Op]] = [
    (ROW, numpy.broadcast_to(shape=(2, 3))),
    (ROW, ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})),
    (ROW, mindspore.broadcast_to(shape=(2, 3))),
    (ROW, poputil.broadcastToMatch(shape=(2, 3))),
    (ROW, openvino.Broadcast1(target_shape=(2, 3))),
    (ROW, openvino.Broadcast3(target_shape=(2, 3))),
    (ROW, onnx.Expand(shape=(2, 3))),
    (ROW, torch.expand(size=(2, 3))),
    (ROW, tensorflow.broadcast_to(shape=(2, 3))),
    (ROW, jax.broadcast(sizes=(2,))),
    (ROW, stablehlo.broadcast_in_dim(shape=(2, 3), broadcast_dimensions=(1,))),
    (ROW, paddle.expand(shape=(2, 3))),
    (COLUMN, ngraph.Broadcast(shape=(2, 3), broadcast_axes={1})),
    (COLUMN, openvino.Broadcast1(mode="explicit", target_shape=(2, 3), axes_mapping=(0,))),
    (COLUMN, openvino.Broadcast3(mode="explicit", target_shape=(2, 3), axes_mapping=(0,))),
    (STRETCHED, mxnet.broadcast_axis(axis=(1,), size=(3,))),
    (ROW, einops.repeat(pattern="a0 -> 2 a0")),
    (STRETCHED, einops.repeat(pattern="a0 1 -> a0 3")),
    (TURNED, einops.repeat(pattern="a0 a1 -> a1 a0")),
    (plan((), (0,), ()), einops.repeat(pattern="-> n0", axes_lengths={"n0": 0})),
    (plan((), (10**9, 2), ()), einops.repeat(pattern="-> n0 2", axes_lengths={"n0": 10**9})),
    (TURNED, xarray.broadcast(dims=(("d1", "d0"),), exclude=("d0", "d1"))),
    (TURNED, stablehlo.broadcast_in_dim(shape=(3, 2), broadcast_dimensions=(1, 0))),
]


@cases(("meant", "op"), WORDS, ids=[f"{op.name}-{number}" for number, (_, op) in enumerate(WORDS)])
def test_a_plan_is_expressed_by_an_op_of_the_framework(meant: Plan, op: Op) -> None:
    assert from_plan(type(op), meant) == op


LENT = [
    (ngraph.BroadcastLike(initial_broadcast_axes={1}), ((2,), (2, 3))),
    (mxnet.broadcast_like(), ((2, 1), (2, 3))),
    (mxnet.broadcast_like(lhs_axes=(0,), rhs_axes=(1,)), ((1, 3), (5, 4))),
    (poputil.expandToMatchRanks(), ((3,), (4, 1))),
    (xarray.broadcast(dims=(("d0", "d1"), ("d1", "d2"))), ((2, 3), (3, 4))),
    (xarray.broadcast(dims=(("d0", "d2"), ("d1", "d2")), exclude=("d2",)), ((2, 5), (3, 6))),
]


@cases(("op", "shapes"), LENT, ids=[f"{op.name}-{number}" for number, (op, _) in enumerate(LENT)])
def test_from_plan_finds_an_op_with_two_inputs(op: Op, shapes: tuple[tuple[int, ...], ...]) -> None:
    assert from_plan(type(op), lower(op, shapes)) == op


@cases("name", FILES)
def test_the_op_of_every_vector_can_express_its_plan(name: str) -> None:
    for vector in vectors(name):
        if not vector["compatible"] or not vector["outputs"]:
            continue
        op, shapes = OP.validate_python(vector["op"]), tuple(map(tuple, vector["inputs"]))
        meant = lower(op, shapes)
        again = from_plan(type(op), meant)
        if not op.snippets:
            continue
        assert again is not None, vector["id"]
        assert lower(again, shapes) == meant


@st.composite
def placements(draw: st.DrawFn) -> Plan:
    output_shape = tuple(draw(st.lists(st.integers(0, 4), max_size=5)))
    axes = draw(st.permutations(range(len(output_shape))))[: draw(st.integers(0, len(output_shape)))]
    axes = sorted(axes) if draw(st.booleans()) else axes
    sizes = tuple(draw(st.sampled_from([1, output_shape[axis]])) for axis in axes)
    return plan(sizes, output_shape, tuple(axes))


def sayers(output: Placement) -> set[str]:
    """Return the names of the ops that can express a placement of one input, according to their documentation.

    It covers the ops that are named here. Each of them can express a scalar.
    """
    rank, axes = len(output.output_shape), list(output.output_axes)
    right = axes == list(range(rank - len(axes), rank))
    ascending = axes == sorted(axes)
    stretches = any(size != output.output_shape[axis] for axis, size in zip(axes, output.input_shape, strict=True))
    says = {"stablehlo.broadcast_in_dim", "einops.repeat"}
    if right:
        says |= {"numpy.broadcast_to", "mindspore.broadcast_to", "poputil.broadcastToMatch", "onnx.Expand"}
        says |= {"torch.expand", "tensorflow.broadcast_to", "paddle.expand"}
    if ascending:
        says |= {"openvino.Broadcast-1", "openvino.Broadcast-3"}
    if ascending and not stretches:
        says |= {"ngraph.Broadcast"}
    if right and not stretches:
        says |= {"jax.lax.broadcast"}
    if axes == list(range(rank)):
        says |= {"mxnet.broadcast_axis"}
        says |= set() if stretches else {"numpy.broadcast_arrays", "torch.broadcast_tensors"}
    if len(axes) == rank and not stretches:
        says |= {"xarray.broadcast"}
    return says


def stretches(meant: Plan) -> bool:
    (output,) = meant.outputs
    return any(
        size != output.output_shape[axis] for axis, size in zip(output.output_axes, output.input_shape, strict=True)
    )


def read(op: Op | None, meant: Plan) -> list[Any]:
    """Return the shape and the elements of the output of an op, or of the op `meant`."""
    (output,) = meant.outputs if op is None else lower(op, meant.input_shapes).outputs
    (shape,) = meant.input_shapes
    return [output.shape, output_view(output, np.arange(prod(shape)).reshape(shape)).tolist()]


@given(placements())
def test_from_plan_inverts_lower_for_exactly_the_ops_that_can_express_the_plan(meant: Plan) -> None:
    said = {name: from_plan(op, meant) for name, op in OPS.items()}
    known = sayers(Placement(0, (), (), ())) | {name for name, op in OPS.items() if op.min_inputs > 1}
    assert {name for name, op in said.items() if op is not None and name in known} == sayers(meant.outputs[0])
    for op in said.values():
        if op is not None:
            # The pattern has a 1 for an axis that expands, and the plan has no such axis. The bytes are compared.
            assert lower(op, meant.input_shapes) == meant or (stretches(meant) and read(op, meant) == read(None, meant))


def test_an_op_cannot_express_a_plan_above_its_rank_limit() -> None:
    ones = (1,) * 9
    stretched = plan(ones, (*ones[1:], 2), tuple(range(9)))
    assert from_plan(paddle.expand, stretched) is None
    assert from_plan(torch.expand, stretched) == torch.expand(size=(*ones[1:], 2))
    assert from_plan(paddle.expand, plan(ones, ones, tuple(range(9)))) == paddle.expand(shape=())
    assert from_plan(torch.expand, plan(ones, ones, tuple(range(9)))) == torch.expand(size=ones)


def test_no_op_expresses_a_plan_without_outputs() -> None:
    asked = lower(poputil.canBroadcastToMatch(), ((3,), (2, 3)))
    assert [from_plan(op, asked) for op in OPS.values()] == [None] * len(OPS)
