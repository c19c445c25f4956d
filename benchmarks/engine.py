"""Measure the engine against the hardware: dense output against memset, gradients against a read.

    python benchmarks/engine.py [GROUP ...] [--rounds 7] [--mib 512] [-o benchmarks/results/engine.json]

Everything runs on one core. Each round calls every contender of a case once, so that the noise of the machine falls on
all of them; what counts are ratios, taken round by round. Cases and contenders are data: PATTERNS, FILLERS, ADDERS.
onnxruntime, torch, jax and OpenVINO compete where they are installed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from functools import partial
from math import isqrt, prod
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy: what is read by np.dot is read by one core

import ml_dtypes
import numpy as np
from harness import Row, destination, interleave, pin, save

from axiscast.engine import dense, sums
from axiscast.engine.views import input_gradients, output_view
from axiscast.plan.plan import Placement, Plan

Array = np.ndarray[Any, np.dtype[Any]]
Filler = Callable[[], object]
MIB = 2**20

# --- patterns: what n elements are broadcast from --------------------------------------------------------


def square(n: int, further: int) -> int:
    return isqrt(n // further)


PATTERNS: dict[str, Callable[[int], tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]] = {
    "(1024,) -> (N,1024)": lambda n: ((1024,), (n // 1024, 1024), (1,)),
    "scalar -> (N,)": lambda n: ((), (n,), ()),
    "(N,1) -> (N,1024)": lambda n: ((n // 1024, 1), (n // 1024, 1024), (0, 1)),
    "(A,1,1024) -> (A,16,1024)": lambda n: ((n // 2**14, 1, 1024), (n // 2**14, 16, 1024), (0, 1, 2)),
    "(64,) -> (N,64,56,56)": lambda n: ((64,), (n // 200_704, 64, 56, 56), (1,)),
    "(A,1,8,1,1024) -> (A,8,8,8,1024)": lambda n: (
        (n // 2**19, 1, 8, 1, 1024),
        (n // 2**19, 8, 8, 8, 1024),
        (0, 1, 2, 3, 4),
    ),
    "(3,) -> (N,3)": lambda n: ((3,), (n // 3, 3), (1,)),
    "(A,1,4) -> (A,64,4)": lambda n: ((n // 256, 1, 4), (n // 256, 64, 4), (0, 1, 2)),
    "(N,1) -> (N,3)": lambda n: ((n // 3, 1), (n // 3, 3), (0, 1)),
    "(A,1,3) -> (A,64,3)": lambda n: ((n // 192, 1, 3), (n // 192, 64, 3), (0, 1, 2)),
    "(A,B) -> (B,A,64)": lambda n: ((square(n, 64),) * 2, (square(n, 64), square(n, 64), 64), (1, 0)),
    "(A,B) -> (B,A)": lambda n: ((1024, n // 1024), (n // 1024, 1024), (1, 0)),
    "(A,B) -> (B,A,3)": lambda n: ((1024, n // 3072), (n // 3072, 1024, 3), (1, 0)),
    "(A,B) -> (64,B,A)": lambda n: ((square(n, 64),) * 2, (64, square(n, 64), square(n, 64)), (2, 1)),
}
"""The input shape, the output shape and the output axis of each input axis, for about n elements."""
DTYPES = ["uint8", "float64", ml_dtypes.bfloat16, "complex128"]


def case(pattern: str, n: int, dtype: Any) -> tuple[Placement, Array]:
    placement = Placement(0, *PATTERNS[pattern](n))
    count = prod(placement.input_shape)
    raw = np.random.default_rng(1).integers(0, 251, count * np.dtype(dtype).itemsize, np.uint8)
    return placement, raw.view(dtype).reshape(placement.input_shape)


# --- contenders: given a view and an output, what is timed ---------------------------------------------------


def by_onnxruntime(view: Array, array: Array, out: Array) -> Filler | None:
    """Return an ONNX model with Transpose and Expand that writes into an existing output."""
    try:
        import onnx
        import onnxruntime
    except ImportError:
        return None
    order = sorted(range(view.ndim), key=lambda axis: -abs(view.strides[axis]))
    if [axis for axis in order if view.strides[axis]] != sorted(axis for axis in order if view.strides[axis]):
        return None  # a graph of two nodes: not what is compared here
    own = [size if step else 1 for size, step in zip(view.shape, view.strides, strict=True)]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Expand", ["x", "shape"], ["y"])],
        "expand",
        [info("x", onnx.TensorProto.FLOAT, own)],
        [info("y", onnx.TensorProto.FLOAT, view.shape)],
        [onnx.numpy_helper.from_array(np.array(view.shape), "shape")],
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", array.reshape(own))
    binding.bind_output("y", "cpu", 0, np.float32, list(out.shape), out.ctypes.data)
    return partial(session.run_with_iobinding, binding)


def by_torch(view: Array, array: Array, out: Array) -> Filler | None:
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    steps = [step // view.itemsize for step in view.strides]
    return partial(torch.from_numpy(out).copy_, torch.from_numpy(array.reshape(-1)).as_strided(view.shape, steps))


def in_words(view: Array) -> tuple[list[int], list[int], list[int]]:
    """Return the input sizes in memory order, their order in the output, and their shape beside the output."""
    kept = [axis for axis in range(view.ndim) if view.strides[axis]]
    lying = sorted(kept, key=lambda axis: -view.strides[axis])
    own = [size if step else 1 for size, step in zip(view.shape, view.strides, strict=True)]
    return [view.shape[axis] for axis in lying], [lying.index(axis) for axis in kept], own


def by_jax(view: Array, array: Array, out: Array) -> Filler | None:
    """Return a compiled function that reuses the memory of the last output."""
    try:
        import jax
    except ImportError:
        return None
    lying, order, own = in_words(view)

    def broadcast(values: Any, last: Any) -> Any:
        return jax.numpy.broadcast_to(values.transpose(order).reshape(own), view.shape)

    compiled = jax.jit(broadcast, donate_argnums=1, keep_unused=True)
    values, kept = jax.numpy.asarray(array.reshape(lying)), [jax.numpy.empty(view.shape, np.float32)]
    return lambda: kept.append(compiled(values, kept.pop()).block_until_ready())


def by_openvino(view: Array, array: Array, out: Array) -> Filler | None:
    """Return a model with Transpose, Reshape and Broadcast that writes into an existing output."""
    try:
        import openvino
        from openvino import opset13 as ops
    except ImportError:
        return None
    lying, order, own = in_words(view)
    given = ops.parameter(lying, np.float32)
    node = ops.transpose(given, np.array(order, np.int64)) if len(order) > 1 else given
    node = ops.broadcast(ops.reshape(node, np.array(own, np.int64), False), np.array(view.shape, np.int64))
    model = openvino.Model([node], [given])
    asked = openvino.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1}).create_infer_request()
    asked.set_input_tensor(openvino.Tensor(array.reshape(lying), shared_memory=True))
    asked.set_output_tensor(openvino.Tensor(out, shared_memory=True))
    return asked.infer


FILLERS: dict[str, Callable[[Array, Array, Array], Filler | None]] = {
    "memset": lambda view, array, out: partial(out.reshape(-1).view(np.uint8).fill, 1),
    "axiscast": lambda view, array, out: partial(dense.write_dense, view, out),
    "np.copyto": lambda view, array, out: partial(np.copyto, out, view),
    "onnxruntime": by_onnxruntime,
    "torch": by_torch,
    "jax": by_jax,
    "openvino": by_openvino,
}
OURS = "memset", "axiscast"


def drained(view: Array) -> None:
    for _ in dense.chunks(view):
        pass


# --- groups: each yields a case's name and its figures ------------------------------------------------------


Results = Iterator[tuple[str, dict[str, Row]]]


def filled(sizes: tuple[int, ...], dtypes: list[Any], contenders: tuple[str, ...], rounds: int) -> Results:
    memory = np.ones(max(sizes), np.uint8)
    for nbytes in sizes:
        for dtype in dtypes:
            for pattern in PATTERNS:
                placement, array = case(pattern, nbytes // np.dtype(dtype).itemsize, dtype)
                view = output_view(placement, array)
                if not view.size:
                    continue
                out = memory[: view.nbytes].view(dtype).reshape(view.shape)
                calls = {name: FILLERS[name](view, array, out) for name in contenders}
                name = f"{pattern}, {np.dtype(dtype).name}, {nbytes // MIB} MiB"
                yield name, interleave({name: call for name, call in calls.items() if call}, rounds)


def dense_group(mib: int, rounds: int) -> Results:
    """Measure the time relative to memset of the same bytes, into an output that is reused."""
    return filled((-(-mib // 64) * MIB, mib * MIB), [np.float32], tuple(FILLERS), rounds)


def dtypes_group(mib: int, rounds: int) -> Results:
    """Measure the time relative to memset for other dtypes."""
    return filled((-(-mib // 8) * MIB,), DTYPES, OURS, rounds)


def stream_group(mib: int, rounds: int) -> Results:
    """Measure the time of all chunks relative to memset. Inputs begin at any address, as in a message."""
    nbytes = mib * MIB
    memory = np.ones(nbytes, np.uint8)
    for pattern in PATTERNS:
        placement, array = case(pattern, nbytes // 4, np.float32)
        odd = np.frombuffer(b"\0" + array.tobytes(), array.dtype, offset=1).reshape(array.shape)
        calls = {
            "memset": partial(memory[: prod(placement.output_shape) * 4].fill, 1),
            "axiscast": partial(drained, output_view(placement, array)),
            "from an odd address": partial(drained, output_view(placement, odd)),
        }
        yield f"{pattern}, {nbytes // MIB} MiB", interleave(calls, rounds)


def gradient_group(mib: int, rounds: int) -> Results:
    """Measure the time relative to a read of the gradient (np.dot), and the largest relative errors."""
    n = mib * MIB // 16
    values = np.random.default_rng(1).random(max(n, 10**7), np.float32)
    for pattern in PATTERNS:

        def asked(count: int, pattern: str = pattern) -> tuple[Plan, Array]:
            placement = Placement(0, *PATTERNS[pattern](count))
            plan = Plan((placement.input_shape,), (placement,))
            return plan, values[: prod(placement.output_shape)].reshape(placement.output_shape)

        plan, gradient = asked(n)
        flat = gradient.reshape(-1)
        calls = {"read once": partial(np.dot, flat, flat), "axiscast": partial(input_gradients, plan, [gradient])}
        calls["np.sum"] = partial(np.sum, gradient, plan.outputs[0].broadcast_axes)
        figures = interleave(calls, rounds)
        plan, gradient = asked(10**7)
        (placement,) = plan.outputs
        exact = np.sum(gradient, placement.broadcast_axes, np.float64)
        (ours,) = input_gradients(plan, [gradient])
        ours = ours.reshape([size for size in ours.shape if size > 1 or size in exact.shape])
        back = np.argsort(np.argsort([axis for axis in placement.output_axes if axis not in placement.broadcast_axes]))
        exact = exact.reshape(exact.shape).transpose(back) if exact.ndim > 1 else exact
        theirs = np.sum(gradient, placement.broadcast_axes)
        theirs = theirs.transpose(back) if exact.ndim > 1 else theirs
        figures["axiscast"]["error"] = float(np.max(np.abs(ours.reshape(exact.shape) / exact - 1)))
        figures["np.sum"]["error"] = float(np.max(np.abs(theirs / exact - 1)))
        yield pattern, figures


SUMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "(N,)": ((-1,), (0,), (0,)),
    "(N,1024), rows": ((-1, 1024), (0,), (0, 1)),
    "(N,1024), columns": ((-1, 1024), (1,), (0, 1)),
    "(N,3), rows": ((-1, 3), (0,), (0, 1)),
    "(N,3), columns": ((-1, 3), (1,), (0, 1)),
    "(N,64,3), the middle": ((-1, 64, 3), (1,), (0, 1, 2)),
    "(8,64,N), channels": ((8, 64, -1), (0, 2), (0, 1, 2)),
    "(N,1024) transposed, rows": ((-1, 1024), (1,), (1, 0)),
    "(N,128,128) transposed, the middle": ((-1, 128, 128), (1,), (2, 1, 0)),
}
"""A shape (-1 for the remaining elements), its summed axes, and the order of its axes in memory."""


def sums_group(mib: int, rounds: int) -> Results:
    """Measure sums of each dtype relative to np.add.reduce with the same accumulator."""
    for dtype in np.float32, np.float64, np.int64, np.int32, np.int8, np.float16, ml_dtypes.bfloat16, np.complex128:
        for name, (shape, axes, order) in SUMS.items():
            rest = prod(shape[: shape.index(-1)]) * prod(shape[shape.index(-1) + 1 :])
            own = [size if size > 0 else mib * MIB // 256 // rest for size in shape]
            array = np.random.default_rng(1).integers(0, 9, own).astype(dtype).transpose(order)
            gone, wide = tuple(order.index(axis) for axis in axes), sums.accumulator(array.dtype)
            calls: dict[str, Filler] = {
                "np.add.reduce": partial(np.add.reduce, array, gone, wide, keepdims=True),
                "axiscast": partial(sums.sum_axes, array, gone, array.dtype),
            }
            yield f"{name}, {array.dtype.name}", interleave(calls, rounds)


def tiny_group(mib: int, rounds: int) -> Results:
    """Measure (3,) to (2,3) with a given plan: nanoseconds in the engine."""
    placement, array = Placement(0, (3,), (2, 3), (1,)), np.arange(3, dtype=np.float32)
    view, out = output_view(placement, array), np.empty((2, 3), np.float32)
    calls: dict[str, Filler] = {
        "np.copyto": partial(np.copyto, out, view),
        "fill": partial(dense.write_dense, view, out),
        "place and fill": lambda: dense.write_dense(output_view(placement, array), out),
        "place and chunks": lambda: drained(output_view(placement, array)),
        "np.broadcast_to(...).copy()": lambda: np.broadcast_to(array, (2, 3)).copy(),
    }
    yield "(3,) -> (2,3)", interleave(calls, rounds)


def scale_group(mib: int, rounds: int) -> Results:
    """Measure (1024,) to (N,1024) from 1 KiB to 2 GiB, and ranks 1 to 64, in nanoseconds per byte."""
    sizes = [2**power for power in range(10, 32, 3) if 2**power <= mib * 4 * MIB]
    memory = np.ones(sizes[-1], np.uint8)
    for nbytes in sizes:
        view = np.broadcast_to(np.arange(256, dtype=np.float32), (nbytes // 1024, 256))
        out = memory[:nbytes].view(np.float32).reshape(view.shape)
        calls = {name: FILLERS[name](view, view, out) for name in OURS}
        yield f"{nbytes} bytes", interleave({name: call for name, call in calls.items() if call}, rounds)
    for rank in (1, 2, 4, 8, 16, 32, 64):
        sizes_of = [2] * min(rank, 16) + [1] * max(rank - 16, 0)
        sizes_of[0] = 2 ** (17 - min(rank, 16))
        own = [size if axis % 2 else 1 for axis, size in enumerate(sizes_of)]
        view = np.broadcast_to(np.arange(prod(own), dtype=np.float32).reshape(own), sizes_of)
        out = memory[: view.nbytes].view(np.float32).reshape(view.shape)
        calls = {name: FILLERS[name](view, view, out) for name in (*OURS, "np.copyto")}
        yield f"{view.nbytes} bytes, rank {rank}", interleave({n: call for n, call in calls.items() if call}, rounds)


GROUPS: dict[str, Callable[[int, int], Results]] = {
    "dense": dense_group,
    "dtypes": dtypes_group,
    "stream": stream_group,
    "gradient": gradient_group,
    "sums": sums_group,
    "tiny": tiny_group,
    "scale": scale_group,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--mib", type=int, default=512, help="of the large outputs; all others are parts of it")
    parser.add_argument("-o", type=destination, help="write the figures there, as JSON")
    options = parser.parse_args()
    pin(1)
    for group in options.groups or GROUPS:
        print(f"\n{group}: {GROUPS[group].__doc__}", flush=True)
        results = {}
        for name, figures in GROUPS[group](options.mib, options.rounds):
            results[name] = figures
            print(f"  {name}")
            for contender, row in figures.items():
                (seconds, _, _), (ratio, least, most) = row["seconds"], row["ratio"]
                error = f", off by {row['error']:.1e}" if "error" in row else ""
                print(
                    f"    {contender:28} {seconds * 1e6:10.2f} us  {ratio:8.3f} ({least:.3f} .. {most:.3f}){error}",
                    flush=True,
                )
        if options.o:
            save(options.o, {group: results})


if __name__ == "__main__":
    main()
