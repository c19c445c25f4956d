"""Runs one operation of an installed framework for each line of standard input, and writes a line for each result.

    python programs.py torch < requests > results

It imports the framework and NumPy, and nothing of this project. A request is `{"op": {"name", ...}, "inputs"}`. A
result has `inferred`, the shapes that the call returned; `shapes` and `values`, what came out when it ran; or `raised`.
It ends with a line of `ended`, the exit status of the process that ran it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from typing import Any

from array_frameworks import (
    ArrayApi,
    Dask,
    Einops,
    Jax,
    Keras,
    MindSpore,
    Mlx,
    MXNet,
    NumPy,
    OptEinsum,
    Paddle,
    TensorFlow,
    Tinygrad,
    Torch,
    Xarray,
)
from graph_frameworks import LiteRt, Onnx, OpenVino, TensorFlowJs
from operations import Framework, Request, arrays

SECONDS, CPU_SECONDS = 10, 3
"""After these a run in a process of its own is ended."""

FRAMEWORKS: dict[str, type[Framework]] = {
    "numpy": NumPy, "array_api": ArrayApi, "torch": Torch, "jax": Jax, "tensorflow": TensorFlow,
    "tfjs": TensorFlowJs, "litert": LiteRt, "keras": Keras,
    "paddle": Paddle, "mindspore": MindSpore, "mxnet": MXNet, "dask": Dask, "xarray": Xarray, "einops": Einops,
    "opt_einsum": OptEinsum,
    "mlx": Mlx, "tinygrad": Tinygrad, "onnx": Onnx, "openvino": OpenVino,
}  # fmt: skip


def result(framework: Framework, request: Request) -> Iterator[dict[str, Any]]:
    """What the call inferred, and what came out when it ran: the second is missing where the process ended."""
    found: dict[str, Any] = {}
    try:
        name = request["op"]["name"].partition(".")[2]
        tensors = framework.runs[name](request["op"], arrays(request["inputs"]))
        found["inferred"] = [[int(size) for size in tensor.shape] for tensor in tensors]
        yield found
        ran = [framework.to_numpy(tensor) for tensor in tensors]
        found |= {"shapes": [array.shape for array in ran], "values": [array.ravel().tolist() for array in ran]}
    except Exception as error:
        found["raised"] = f"{type(error).__name__}: {error}"[:300]
    yield found


def answered(framework: Framework, request: Request, out: int) -> None:
    """Writes the lines of one request."""
    for found in result(framework, request):
        os.write(out, json.dumps(found).encode() + b"\n")


def answered_apart(framework: Framework, request: Request, out: int) -> int:
    """The same in a process of its own; returns how it ended."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        answered(framework, request, out)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    out = os.dup(1)
    os.dup2(2, 1)  # so that a framework's own output is not read as a result
    framework = FRAMEWORKS[sys.argv[1]]()
    for line in sys.stdin:
        request, ended = json.loads(line), 0
        if framework.isolated:
            ended = answered_apart(framework, request, out)
        else:
            answered(framework, request, out)
        os.write(out, json.dumps({"ended": ended}).encode() + b"\n")


if __name__ == "__main__":
    main()
