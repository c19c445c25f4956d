"""Translations of every op into every other, run with NumPy. A search confirms those that do not exist.

AXISCAST_FULL=1 runs every pair over every plan of the vectors, and prints the counts.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, permutations, product
from math import prod
from typing import Any

import numpy as np
from cases import cases
from test_translate import Shape, ask
from test_vectors import FILES, OP, vectors

from axiscast.engine.views import output_view
from axiscast.messages import Step
from axiscast.ops import (
    OPS,
    Op,
    einops,
    jax,
    linalg,
    lower,
    mxnet,
    ngraph,
    numpy,
    openvino,
    poputil,
    stablehlo,
    torch,
    xarray,
)
from axiscast.ops.families import Tile
from axiscast.plan.alignment import ShapeMismatch
from axiscast.plan.plan import Plan
from axiscast.wire.problems import Problem

FULL = bool(os.environ.get("AXISCAST_FULL"))
SAMPLE = 43
"""A target is tested with one request out of this number. The next target is tested with the next request."""
Request = tuple[Op, tuple[Shape, ...]]
Array = np.ndarray[Any, np.dtype[Any]]
TARGETS = [name for name, op in OPS.items() if op.snippets]
"""The ops that return their broadcast inputs."""


@cache
def requests() -> list[Request]:
    """Return one compatible request of the vectors for each plan and target shape with sizes such as -1.

    A translation depends only on these two.
    """
    found: dict[tuple[Plan, Shape | None], Request] = {}
    for name in FILES:
        for vector in vectors(name):
            if vector["compatible"] and max(map(prod, vector["inputs"])) < 10**5:
                op, shapes = OP.validate_python(vector["op"]), tuple(map(tuple, vector["inputs"]))
                plan, target = lower(op, shapes), getattr(op, op.target or "", None)
                is_plain = target is None or [target] == [output.output_shape for output in plan.outputs]
                found.setdefault((plan, None if is_plain else tuple(target)), (op, shapes))
    return [request for (plan, _), request in found.items() if sum(map(_elements, plan.outputs)) < 10**6]


def _elements(output: Any) -> int:
    return prod(output.shape)


def distinct(shapes: Sequence[Shape]) -> list[Array]:
    """Return arrays whose elements are all different."""
    starts = np.cumsum([0, *map(prod, shapes)])
    return [np.arange(start, start + prod(shape)).reshape(shape) for start, shape in zip(starts, shapes, strict=False)]


def run(op: Op, arrays: Sequence[Array]) -> list[Array]:
    plan = lower(op, tuple(array.shape for array in arrays))
    return [output_view(output, arrays[output.input]).reshape(output.shape) for output in plan.outputs]


def follow(steps: Sequence[Step], arrays: Sequence[Array]) -> list[Array]:
    """Return the tensors after the steps, each of which takes one or all of them."""
    tensors = list(arrays)
    for step in steps:
        taken = tensors if step.input is None else [tensors[step.input]]
        if step.op.name == "transpose":
            (array,) = taken
            given = [array.transpose(step.op.permutation)]
        elif step.op.name == "reshape":
            (array,) = taken
            given = [array.reshape(step.op.shape)]
        else:
            given = run(step.op, taken)
        if step.input is None:
            tensors = given
        else:
            (tensors[step.input],) = given
    return tensors


def raw(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()  # NumPy 2.0 reads out no view of more than 32 axes


def same(ours: Sequence[Array], theirs: Sequence[Array]) -> bool:
    return len(ours) == len(theirs) and all(
        (one.shape, raw(one)) == (other.shape, raw(other)) for one, other in zip(ours, theirs, strict=True)
    )


@cases("to", TARGETS)
def test_the_steps_of_a_translation_return_the_same_bytes(to: str) -> None:
    counts: Counter[str] = Counter()
    for op, shapes in requests() if FULL else requests()[TARGETS.index(to) % SAMPLE :: SAMPLE]:
        arrays = distinct(shapes)
        outputs = lower(op, shapes).outputs
        try:
            answer = ask(op, *shapes, to=to)
        except Problem as problem:
            if problem.code != "untranslatable":
                raise
            counts["untranslatable"] += 1
            counts["untranslatable: no outputs"] += "no outputs" in problem.detail
            continue
        tensors = follow(answer.steps, arrays)
        assert same([tensors[output.input] for output in outputs], run(op, arrays)), (op, shapes, answer)
        target_steps = [step for step in answer.steps if step.op.name not in ("transpose", "reshape")]
        assert {step.op.name for step in target_steps} == {to}
        assert answer.exact == (target_steps == answer.steps)
        counts["exact" if answer.exact else "with moves"] += 1
        counts[f"{op.name} translates"] = 1
    if FULL:
        pairs = sum(key.endswith(" translates") for key in counts)
        print(f"\n{to}: from {pairs} ops;", {key: counts[key] for key in counts if "translates" not in key})
    assert counts["exact"]


# --- the search: shares no code with translate, and knows the ops by their attributes alone --------


def every_op(kind: type[Op], shapes: Sequence[Shape], reached: Shape) -> Iterator[Op]:
    """Every op of a kind that might give the shape `reached`, whatever it does."""
    if len(shapes) < kind.min_inputs:
        return
    shape, ranks = shapes[0], [len(shape) for shape in shapes]
    outward = range(len(reached))
    subsets = [axes for count in range(len(reached) + 1) for axes in combinations(outward, count)]
    if kind in (numpy.broadcast_arrays, torch.broadcast_tensors, poputil.expandToMatchRanks):
        yield kind()  # type: ignore[call-arg]
    elif kind is poputil.broadcastToMatch:
        yield poputil.broadcastToMatch(shape=reached if len(shapes) == 1 else None)
    elif kind is ngraph.Broadcast:
        yield from (ngraph.Broadcast(shape=reached, broadcast_axes=axes) for axes in subsets)
    elif kind is ngraph.BroadcastLike:
        yield from (ngraph.BroadcastLike(initial_broadcast_axes=axes) for axes in subsets)
    elif kind is jax.broadcast:
        yield jax.broadcast(sizes=reached[: max(len(reached) - len(shape), 0)])
    elif kind is stablehlo.broadcast_in_dim:
        for axes in permutations(outward, len(shape)):
            yield stablehlo.broadcast_in_dim(shape=reached, broadcast_dimensions=axes)
    elif kind in (openvino.Broadcast1, openvino.Broadcast3):
        for mode in ("numpy", "pdpd" if kind is openvino.Broadcast1 else "bidirectional"):
            yield kind(target_shape=reached, mode=mode)  # type: ignore[call-arg]
        for axes in permutations(outward, len(shape)):
            yield kind(target_shape=reached, mode="explicit", axes_mapping=axes)  # type: ignore[call-arg]
    elif kind is einops.repeat:
        for axes in permutations(outward, len(shape)):
            names = {axis: f"x{axis}" for axis, size in zip(axes, shape, strict=True) if size == reached[axis]}
            left = " ".join(names.get(axis, "1") for axis in axes)
            right = " ".join(names.get(axis, str(reached[axis])) for axis in outward)
            yield einops.repeat(pattern=f"{left} -> {right}")
    elif kind is linalg.broadcast:
        for axes in subsets:
            yield linalg.broadcast(shape=reached, dimensions=axes)
    elif kind is mxnet.broadcast_axis:
        for axes in subsets:
            yield mxnet.broadcast_axis(axis=axes, size=[reached[axis] for axis in axes])
    elif kind is mxnet.broadcast_like:
        yield mxnet.broadcast_like()
        for axes in subsets[1:]:
            for others in product(range(ranks[1]), repeat=len(axes)):
                yield mxnet.broadcast_like(lhs_axes=axes, rhs_axes=others)
    elif kind is xarray.broadcast:
        for dims in product(*(permutations("abcd"[: max(len(reached), *ranks, 1)], rank) for rank in ranks)):
            names = sorted({name for own in dims for name in own})
            for count in range(len(names) + 1):
                for exclude in permutations(names, count):
                    yield xarray.broadcast(dims=dims, exclude=exclude)
    elif issubclass(kind, Tile):
        padded = (*(1,) * len(reached), *shapes[0])
        if len(shapes[0]) <= len(reached):
            own = padded[len(shapes[0]) :]
            yield kind(**{kind.counts: [size // max(part, 1) for size, part in zip(reached, own, strict=True)]})
    else:
        yield kind(**({} if kind.target is None else {kind.target: reached}))


def attempts(kind: type[Op], arrays: Sequence[Array], reached: Shape) -> Iterator[list[Array]]:
    """Return the results of each op."""
    for op in every_op(kind, [array.shape for array in arrays], reached):
        if op.input_count_problem(len(arrays)) is None:
            try:
                yield run(op, arrays)
            except ShapeMismatch:
                continue


def arranged(array: Array, rank: int) -> list[Array]:
    """Yield every transpose of an array with at most `rank` axes, with axes of size 1 added or dropped."""
    found: dict[tuple[Shape, bytes], Array] = {}
    core = array.reshape([size for size in array.shape if size != 1])
    for axes in permutations(range(core.ndim)):
        for ones in range(rank - core.ndim + 1):
            for places in combinations(range(core.ndim + ones), ones):
                one = np.expand_dims(core.transpose(axes), places)
                found[one.shape, one.tobytes()] = one
    return list(found.values())


def squeezed(array: Array) -> Array:
    return array.reshape([size for size in array.shape if size != 1])


def rearranges(array: Array, wanted: Array) -> bool:
    """Return whether a transpose, and axes of size 1, turn one array into another."""
    one, other = squeezed(array), squeezed(wanted)
    return one.ndim == other.ndim and any(
        np.array_equal(one.transpose(axes), other) for axes in permutations(range(one.ndim))
    )


def search(op: Op, shapes: tuple[Shape, ...], kind: type[Op]) -> bool:
    """Whether some op of a kind, between any moves, does what `op` does: all at once, or output by output."""
    arrays, outputs = distinct(shapes), lower(op, shapes).outputs
    wanted = run(op, arrays)
    rank = max(len(output.shape) for output in outputs)
    reachable = {tuple(order) for array in wanted for order in permutations(array.shape)}

    def found(inputs: Sequence[Array], goals: Sequence[Array]) -> bool:
        return any(
            len(given) == len(goals) and all(map(rearranges, given, goals))
            for chosen in product(*(arranged(array, max(rank, array.ndim)) for array in inputs))
            for reached in reachable
            for given in attempts(kind, chosen, reached)
        )

    pairs = [(output.input, goal) for output, goal in zip(outputs, wanted, strict=True)]
    return all(found([arrays[number]], [goal]) for number, goal in pairs) or (len(arrays) > 1 and found(arrays, wanted))


def small(op: Op, shapes: tuple[Shape, ...]) -> bool:
    outputs = lower(op, shapes).outputs
    return (
        len(outputs) > 0
        and len(outputs) == len(shapes) <= 2
        and op.has_common_output_axes
        and all(1 <= prod(output.shape) <= 40 and len(output.shape) <= 2 for output in outputs)
        and all(len(shape) <= 2 and prod(shape) <= 12 for shape in shapes)
    )


@cache
def small_requests() -> list[Request]:
    return [request for request in requests() if small(*request)]


@cases("to", TARGETS)
def test_no_search_finds_an_untranslatable_operation(to: str) -> None:
    requests = small_requests()
    tried = requests if FULL else random.Random(to).sample(requests, len(requests) // 3)
    refused = [request for request in tried if _code(*request, to=to) == "untranslatable"]
    for op, shapes in refused:
        assert not search(op, shapes, OPS[to]), (op, shapes, to)
    assert refused or to not in ("numpy.broadcast_arrays", "xarray.broadcast", "mxnet.broadcast_like")


def _code(op: Op, shapes: tuple[Shape, ...], to: str) -> str | None:
    try:
        ask(op, *shapes, to=to)
    except Problem as problem:
        return problem.code
    return None


@cases("to", TARGETS)
def test_reshapes_and_transposes_are_added_only_if_necessary(to: str) -> None:
    moved = 0
    for op, shapes in small_requests()[:: 1 if FULL else 5]:
        if to == "openvino.Tile-1" and shapes == ((),):
            continue  # the release returns undefined numbers for a scalar, so it is reshaped first
        if len(shapes) == 1 and _code(op, shapes, to) is None and not ask(op, *shapes, to=to).exact:
            arrays = distinct(shapes)
            (wanted,) = run(op, arrays)
            assert not any(same(given, [wanted]) for given in attempts(OPS[to], arrays, wanted.shape)), (op, shapes)
            moved += 1
    assert moved or to == "einops.repeat" or OPS[to].min_inputs > 1
