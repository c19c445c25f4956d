"""Time estimates beside the measured time, each for a request in which one constant of checks/estimates.py prevails.

    python benchmarks/estimates.py [--rounds 5]

Prints the CPU time of each request, its estimate, and the estimate's multiple of the measured time. A multiple below 1
says that the constant is too small for this machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from axiscast.checks import estimates
from axiscast.checks.batch_columns import answer_columns
from axiscast.checks.check import check_to_dict
from axiscast.checks.limits import validate_request
from axiscast.comparison.compare import compare_to_dict
from axiscast.engine.views import input_gradients
from axiscast.explanation.diagnosis import diagnose
from axiscast.messages import CheckRequest, CompareRequest, TranslateRequest
from axiscast.messages.tensors import BroadcastRequest, CheckColumnsRequest
from axiscast.messages.validation import validate
from axiscast.ops import lower, numpy
from axiscast.translation.translate import answer_translate
from axiscast.wire.codec import Encoding, decode, encode
from axiscast.wire.tensors import json_parts, msgpack_parts

Case = tuple[Callable[[], object], float]
"""A measured call, and its estimate in milliseconds."""
JSON, MSGPACK = Encoding
NAMES = [f"N{number}" for number in range(20)]


def check(**fields: Any) -> Case:
    request = validate(CheckRequest, fields)
    size = validate_request(request.op, tuple(request.inputs))
    return lambda: encode(check_to_dict(request), JSON), estimates.time_estimate(size)


def compare(**fields: Any) -> Case:
    request = validate(CompareRequest, fields)
    return lambda: encode(compare_to_dict(request), JSON), estimates.compare_time_estimate(request.shapes)


def translate(**fields: Any) -> Case:
    request = validate(TranslateRequest, fields)
    return lambda: answer_translate(request), estimates.translate_time_estimate(request.inputs, request.to)


def why(text: str) -> Case:
    return lambda: diagnose(text), estimates.why_time_estimate(len(text))


def columns(rows: int, rank: int) -> Case:
    tensor = {"dtype": "int64", "shape": [rows, rank], "data": np.ones((rows, rank), np.int64).tobytes()}
    request = validate(CheckColumnsRequest, {"op": "numpy.broadcast_arrays", "inputs": [tensor, tensor]})
    return lambda: answer_columns(request), estimates.columns_time_estimate(request.inputs or ())


def body(model: Any, value: Any, media: Encoding) -> Case:
    content = encode(value, media)
    return lambda: validate(model, decode(content, media)), estimates.body_time_estimate(content, media)


def quick_body() -> Case:
    names = [[f"N{number:03}"] for number in range(1000)]
    content = encode({"inputs": names[: estimates.QUICK_BODY_BYTES // 6]}, MSGPACK)
    return lambda: validate(CheckRequest, decode(content, MSGPACK)), 1.0


def gradient(elements: int) -> Case:
    plan, array = lower(numpy.broadcast_to(shape=(elements,)), ((1,),)), np.ones(elements)
    return lambda: input_gradients(plan, [array]), estimates.SUMMED_ELEMENT_MS * elements


def outputs(count: int) -> Case:
    array = np.ones(8)
    return (lambda: [b"".join(msgpack_parts(array, strided=False)) for _ in range(count)], estimates.OUTPUT_MS * count)


def json_elements(count: int) -> Case:
    array = np.linspace(0, 1, count)
    return lambda: b"".join(json_parts(array, False, False)), estimates.json_time_estimate(count, count)


def cases() -> dict[str, Case]:
    tensor = {"dtype": "int8", "shape": [4000], "data": bytes(4000)}
    return {
        "REQUEST_MS": check(inputs=[[3]]),
        "AXIS_MS": check(inputs=[[8, 1, 6, 1]] * 2500),
        "ATTRIBUTE_ENTRY_MS": check(op={"name": "einops.repeat", "pattern": "a -> a" + " 1" * 60}, inputs=[[2]]),
        "LETTER_MS": check(op={"name": "torch.einsum", "equation": ",".join(["ijkl"] * 500)}, inputs=[[2] * 4] * 500),
        "SYMBOL_MS": check(inputs=[NAMES[:8]]),
        "CONDITION_MS": check(inputs=[[name] for name in NAMES]),
        "CONDITION_MS, eight axes": check(inputs=[NAMES[:8], NAMES[8:16]]),
        "CONDITION_MS, a target": check(op={"name": "torch.expand", "size": [5] * 8}, inputs=[NAMES[:8]]),
        "SYMBOLIC_HINT_TRY_MS": check(inputs=[["N", "M", 3], ["M", "N", 4]]),
        "COMPARED_OP_MS": compare(inputs=[[3, 2], [4]]),
        "COMPARED_OP_MS, symbols": compare(inputs=[["N", "M"], ["K"]]),
        "TRANSLATED_AXIS_MS": translate(inputs=[[3, 1, 1, 1, 1]], to="einops.repeat"),
        "TRANSLATED_AXIS_OF_SEVERAL_MS": translate(inputs=[[8, 1, 6, 4], [7, 1, 4]], to="einops.repeat"),
        "ERROR_TEXT_MS": why("operands could not be broadcast together with shapes (3,4) (5,)"),
        "ERROR_CHARACTER_MS": why("Operand of shape (3,4) cannot be broadcasted to (5,6) " * 1200),
        "COLUMN_CALL_MS": columns(1, 64),
        "COLUMN_SIZE_MS": columns(200_000, 4),
        "OUTPUT_MS": outputs(100),
        "JSON_ELEMENT_MS": json_elements(10_000),
        "SUMMED_ELEMENT_MS": gradient(100_000),
        "QUICK_BODY_BYTES": quick_body(),
        "JSON_BYTE_MS": body(CheckRequest, {"inputs": [[8, 1, 6, 1]] * 2500}, JSON),
        "MSGPACK_BYTE_MS": body(BroadcastRequest, {"inputs": [tensor] * 50}, MSGPACK),
        "TENSOR_BYTE_MS": body(BroadcastRequest, {"inputs": [tensor] * 6}, MSGPACK),
    }  # fmt: skip


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """Return the shortest CPU time of a call."""
    work()
    taken = []
    for _ in range(rounds):
        start = time.thread_time()
        work()
        taken.append(time.thread_time() - start)
    return 1000 * min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    for name, (work, estimate) in cases().items():
        measured = milliseconds(work, rounds)
        print(f"{name:32} {measured:9.3f} ms, estimate {estimate:9.3f} ms: {estimate / measured:5.1f}x")


if __name__ == "__main__":
    main()
