"""Stalls: no request blocks the event loop for long, alone or in a call that keeps the interpreter.

Times are CPU times of one thread, which a busy machine changes little. benchmarks/load/stalls.py searches for requests
that block others, and measures how long others wait.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from conftest import PATIENCE, run
from costs import least_seconds

from axiscast.checks.estimates import body_time_estimate, compare_time_estimate, time_estimate, translate_time_estimate
from axiscast.checks.hints.hints import MAX_HINT_TRIES, MAX_SYMBOLIC_HINT_TRIES, find_hints
from axiscast.checks.limits import validate_request
from axiscast.messages import CheckRequest
from axiscast.messages.validation import validate
from axiscast.ops import ngraph
from axiscast.plan.alignment import ShapeMismatch
from axiscast.wire import codec, json_writing, prescan, tensors
from axiscast.wire.codec import Encoding, decode, encode
from axiscast.wire.dimensions import Symbol
from axiscast.wire.json_lists import list_to_array
from axiscast.wire.tensors import Tensor, json_parts
from axiscast_service.app import create_app
from axiscast_service.endpoints import api_route
from axiscast_service.runtime import threads
from axiscast_service.runtime.process import tuned_process
from axiscast_service.settings import Settings


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    """Exclude the objects of the rest of the suite from garbage collections, which would take 100 ms and more."""
    gc.freeze()
    yield
    gc.unfreeze()


LOOP_SECONDS = 0.02
"""The maximum CPU time of one callback of the event loop, about ten times the intended time."""


CALL_SECONDS = 0.04
"""The maximum CPU time of one call that holds the GIL. The slowest call takes about 10 ms."""


NAMES = [f"{letter}{digit}" for letter in "abcdefghi" for digit in "12345"]


OVERLAPPING = {
    "op": {"name": "numpy.broadcast_to", "shape": [100] + [2] * 18},
    "inputs": [{"dtype": "int8", "shape": [2] * 18, "strides": list(range(1, 19)), "data": bytes(172)}],
    "window": [[0, 1]] + [[0, 2]] * 18,
}


REVERSED = {
    "op": {
        "name": "einops.repeat",
        "pattern": "a b c d e f g h i j k l m n o p q r -> r q p o n m l k j i h g f e d c b a z",
        "axes_lengths": {"z": 3},
    },
    "inputs": [{"dtype": "int8", "shape": [2] * 18, "data": bytes(2**18)}],
}


TWENTY = {"inputs": [[name] for name in NAMES[:20]]}


HINTED = {
    "op": {"name": "ngraph.Broadcast", "shape": ["M", "N", "M", 2, 2, 3, 2, "M"], "broadcast_axes": [7, 6, 3, 0]},
    "inputs": [[2, 2, "N", 2]],
}


FINDS: dict[str, tuple[str, Any, int]] = {
    "strides that overlap": ("/v1/broadcast", OVERLAPPING, 200),
    "axes reversed and repeated": ("/v1/broadcast", REVERSED, 200),
    "names that meet on one axis": ("/v1/check", TWENTY, 200),
    "too many names on one axis": ("/v1/check", {"inputs": [[name] for name in NAMES]}, 422),
    "rows of names": ("/v1/check/batch", {"requests": [TWENTY] * 12}, 200),
    "hints for symbolic sizes": ("/v1/check", HINTED, 200),
    "names on each of eight axes": (
        "/v1/check",
        {"inputs": [[NAMES[(place + axis) % 20] for axis in range(8)] for place in range(20)]},
        200,
    ),
    "ranges on 64 axes": (
        "/v1/check",
        {"op": "torch.broadcast_tensors", "inputs": [["1..2", "2.."] * 32, NAMES[:32] * 2]},
        200,
    ),
    "a comparison of 1200 inputs": ("/v1/compare", {"inputs": [[1]] * 1200}, 200),
    "a translation of 30 inputs of rank 32": (
        "/v1/translate",
        {"inputs": [[2, 1] * 16] * 30, "to": "einops.repeat"},
        200,
    ),
    "the text of an error, made of its first words": (
        "/v1/why",
        {"text": "cannot broadcast (3,) to new_shape=(4,) " * 1600},
        200,
    ),
    "the text of an error with names on each of 31 axes": (
        "/v1/why",
        {"text": f"Incompatible shapes: {[*NAMES[:31]]} vs. {[*NAMES[1:20]]}".replace("'", "")},
        200,
    ),
    "columns without rows, with thousands of axes": (
        "/v1/check/columns",
        {"op": "torch.broadcast_tensors", "inputs": [{"dtype": "int64", "shape": [0, 64], "data": b""}] * 150},
        200,
    ),
    "a thousand numbers in a pattern": (
        "/v1/check",
        {"op": {"name": "einops.repeat", "pattern": "a -> a" + " 2" * 480}, "inputs": [[2]]},
        422,
    ),
    "names beside excluded ones": (
        "/v1/check",
        {"op": {"name": "xarray.broadcast", "dims": [[]] * 900, "exclude": NAMES}, "inputs": [[]] * 900},
        200,
    ),
    "rows with an unknown dtype": ("/v1/check/batch", {"requests": [{"inputs": [[3]], "dtype": "fload32"}] * 500}, 200),
    "lists of lists": ("/v1/check", {"inputs": [[1]] * 43_000}, 422),
    "the most inputs": ("/v1/check", {"inputs": [[8, 1, 6, 1]] * 2500}, 200),
    "a drawing of the most inputs": ("/v1/check", {"inputs": [[8, 1, 6, 1]] * 2500, "explain": True}, 200),
    "a conflict of the most inputs": ("/v1/check", {"inputs": [[8, 1, 6, 1]] * 2499 + [[3]]}, 200),
    "ten thousand short rows": ("/v1/check/batch", {"requests": [{"inputs": [[1]]}] * 10_000}, 200),
    "a thousand small tensors": (
        "/v1/broadcast",
        {"op": "torch.broadcast_tensors", "inputs": [{"dtype": "int8", "shape": [1] * 8, "data": b"1"}] * 1000},
        200,
    ),
    "a thousand strided tensors": (
        "/v1/broadcast",
        {
            "op": "torch.broadcast_tensors",
            "inputs": [{"dtype": "int8", "shape": [1] * 8, "data": b"1"}] * 1000,
            "layout": "strided",
        },
        200,
    ),
    "a thousand gradients": (
        "/v1/backprop",
        {
            "op": "torch.broadcast_tensors",
            "inputs": [[1] * 8] * 1000,
            "gradients": [{"dtype": "float32", "shape": [1] * 8, "data": bytes(4)}] * 1000,
        },
        200,
    ),
}


@pytest.mark.parametrize(("path", "value", "status"), FINDS.values(), ids=FINDS)
@pytest.mark.parametrize("answered", Encoding)
def test_no_callback_of_the_event_loop_takes_long(
    monkeypatch: pytest.MonkeyPatch, path: str, value: Any, status: int, answered: Encoding
) -> None:
    longest: list[float] = []
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        start = time.thread_time()
        run(handle)
        longest[-1] = max(longest[-1], time.thread_time() - start)

    async def ask() -> int:
        transport = httpx.ASGITransport(create_app(Settings(host="127.0.0.1")))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE) as http:
            headers = {"Content-Type": Encoding.MSGPACK.value, "Accept": answered.value}
            await http.post("/v1/check", content=msgpack.packb({"inputs": [[3]]}), headers=headers)  # what is made once
            monkeypatch.setattr(asyncio.Handle, "_run", timed)
            for _ in range(3):  # a busy machine makes one of them slow, and a real error all
                longest.append(0.0)
                whole = http.post(path, content=msgpack.packb(value), headers=headers)
                response = await asyncio.create_task(whole)
                if longest[-1] < LOOP_SECONDS:
                    break
            monkeypatch.undo()
            return response.status_code

    if answered is Encoding.JSON and value in (OVERLAPPING, REVERSED):
        status = 422  # too many elements for JSON
    assert asyncio.run(ask()) == status
    assert 0 < min(longest) < LOOP_SECONDS


def json_of(item: str, separator: str = ",") -> bytes:
    count = min(prescan.MAX_VALUES - 1, prescan.MAX_TEXT_BYTES // (len(item) + 1) - 2) // (1 + item.count("["))
    return f"[{separator.join([item] * count)}]".encode()


def raw_json(body: bytes) -> Callable[[], object]:
    """Return the call of the parser alone."""
    text = body.decode()
    return lambda: codec._FROM_LONG_JSON.decode(text)


def raw_messagepack(item: Any) -> Callable[[], object]:
    body = msgpack.packb([item] * (prescan.MAX_VALUES - 1))
    return lambda: msgpack.unpackb(body)


LONGEST_TEXT = "A" * tensors.BASE64_CHUNK_BYTES


PIECE = np.linspace(0, 1, json_writing.CHUNK_ELEMENTS)


KEPT: dict[str, Callable[[], object]] = {
    "JSON: empty lists": raw_json(json_of("[]")),
    "JSON: lists in lists": raw_json(json_of("[[[]]]")),
    "JSON: null": raw_json(json_of("null")),
    "JSON: strings": raw_json(json_of('"abcdefgh"')),
    "JSON: one long string": raw_json(b'"' + b"a" * (prescan.MAX_TEXT_BYTES - 2) + b'"'),
    "JSON: one string of escapes": raw_json(b'"' + b"\\u00e9" * (prescan.MAX_TEXT_BYTES // 6 - 1) + b'"'),
    "UTF-8": lambda: str(b"\xc3\xa9" * (prescan.MAX_TEXT_BYTES // 2), "utf-8"),
    "MessagePack: empty lists": raw_messagepack([]),
    "MessagePack: nil": raw_messagepack(None),
    "MessagePack: strings": raw_messagepack("abcdefgh"),
    "MessagePack: floats": raw_messagepack(1.5),
    "base64, read": lambda: base64.b64decode(LONGEST_TEXT),
    "base64, written": lambda: base64.b64encode(bytes(tensors.BASE64_CHUNK_BYTES)),
    "np.array of a list": lambda: np.array([1.5] * prescan.MAX_VALUES),
    "np.array of strings": lambda: np.array(["abcd"] * prescan.MAX_VALUES, "U4"),
    "tolist, and JSON of floats": lambda: encode(PIECE.tolist(), Encoding.JSON),
    "floats as the shortest text": lambda: json_writing._shortest_doubles(1e-6 * PIECE.astype(np.float32)),
    "a batch's answer": lambda: codec.map_of_lists({"results": [b"x" * 400] * 10_000}, Encoding.JSON),
}


"""The calls that hold the GIL, each with its longest input."""


@pytest.mark.parametrize("call", KEPT.values(), ids=KEPT)
def test_a_call_that_keeps_the_interpreter_is_short(call: Callable[[], object]) -> None:
    with tuned_process():
        assert least_seconds(call, CALL_SECONDS) < CALL_SECONDS


@pytest.mark.parametrize("shape", [(5000,), (3, 5000), (5000, 3), (2,) * 12], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "M8[us]", "S3"])
def test_json_is_written_in_calls_of_at_most_512_elements(
    monkeypatch: pytest.MonkeyPatch, dtype: str, shape: tuple[int, ...]
) -> None:
    sizes: list[int] = []
    write = json_writing._encoded

    def noting(array: tensors.Array, kind: str) -> list[str]:
        sizes.append(array.size)
        return write(array, kind)

    monkeypatch.setattr(json_writing, "_encoded", noting)
    assert b"".join(json_parts(np.zeros(shape, dtype), False, False)).endswith(b"]}")
    assert sum(sizes) == math.prod(shape)
    assert max(sizes) <= 512


@pytest.mark.parametrize("media", Encoding)
def test_each_verdict_of_a_comparison_is_encoded_by_itself(monkeypatch: pytest.MonkeyPatch, media: Encoding) -> None:
    lengths: list[int] = []

    def noting(value: Any, media: Encoding) -> bytes:
        content = encode(value, media)
        lengths.append(len(content))
        return content

    monkeypatch.setattr(api_route, "encode", noting)

    async def ask() -> bytes:
        transport = httpx.ASGITransport(create_app(Settings(host="127.0.0.1")))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=PATIENCE) as http:
            answer = await http.post("/v1/compare", json={"inputs": [[8, 1]] * 300}, headers={"Accept": media.value})
            return answer.content

    whole = asyncio.run(ask())
    assert sorted(decode(whole, media)) == ["results"]
    assert len(lengths) == len(decode(whole, media)["results"])
    assert sum(lengths) > 0.9 * len(whole) > 5 * max(lengths)


def longest_wait_beside(work: Callable[[], object]) -> float:
    """Return the longest time in seconds that a thread waits for the interpreter while another one does this work.

    Time in which either thread waits for a core is not counted.
    """
    longest, done, read = 0.0, threading.Event(), threading.Event()
    worker = threading.Thread(target=lambda: (work(), done.set(), read.wait()))
    with tuned_process():
        worker.start()
        tasks = [Path(f"/proc/self/task/{task}/schedstat") for task in (threading.get_native_id(), worker.native_id)]
        before = time.perf_counter() - queued(tasks)
        while not done.is_set():
            time.sleep(0.0001)
            now = time.perf_counter() - queued(tasks)
            longest, before = max(longest, now - before), now
    read.set()
    worker.join()
    return longest


def queued(tasks: list[Path]) -> float:
    """Return the seconds that these threads have waited for a core so far."""
    return sum(int(task.read_text().split()[1]) for task in tasks) / 1e9


LONG_LISTS = json_of("0.123456789012345678")


LONG_WORK: dict[str, Callable[[], object]] = {
    "a JSON body of numbers": lambda: decode(LONG_LISTS, Encoding.JSON),
    "a list of numbers to an array": lambda: list_to_array([1.5] * 2**17, "float32", (2**17,)),
    "4 MiB of base64": lambda: Tensor(dtype="int8", shape=[3 * 2**20], base64="A" * 2**22).to_array("/inputs/0"),
    "floats to JSON": lambda: b"".join(json_parts(np.linspace(0, 1, 2**17, dtype=np.float32), False, False)),
}


ALONE = """
import time
from test_stalls import LONG_WORK, longest_wait_beside
for name, work in LONG_WORK.items():
    start = time.thread_time()
    work()
    alone = time.thread_time() - start
    if not any(longest_wait_beside(work) < max(alone / 3, 0.01) for _ in range(40)):
        print(name)
"""
"""A program that prints the work during which another thread waits for most of the time of the work."""


def test_other_threads_run_while_long_work_is_done() -> None:
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    done = run([sys.executable, "-c", ALONE], env=environment)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_search_for_hints_makes_a_bounded_number_of_tries() -> None:
    tries = []

    def never_fits(op: Any, shapes: Any) -> Any:
        tries.append(op)
        raise ShapeMismatch("size-mismatch", "never")

    shape = tuple(Symbol(name) for name in "KLMN")  # each may be assumed to be what it meets
    assert find_hints(ngraph.Broadcast(shape=(2, 3, 4, 5, 6, 7, 8, 9), broadcast_axes=(0,)), (shape,), never_fits) == []
    assert len(tries) == MAX_SYMBOLIC_HINT_TRIES
    tries.clear()
    sizes = tuple(range(10, 14))
    assert find_hints(ngraph.Broadcast(shape=(2, 3, 4, 5, 6, 7, 8, 9), broadcast_axes=(0,)), (sizes,), never_fits) == []
    assert len(tries) <= MAX_HINT_TRIES


def test_the_time_estimate_counts_everything_that_takes_time() -> None:
    def cost(value: Any) -> float:
        request = validate(CheckRequest, value)
        return time_estimate(validate_request(request.op, tuple(request.inputs)))

    assert cost({"inputs": [[8, 1, 6, 1], [7, 1, 5]]}) < threads.LOOP_MILLISECONDS / 2
    assert cost({"inputs": [["N", 1], ["M"]]}) < threads.LOOP_MILLISECONDS
    for found in ("names that meet on one axis", "names on each of eight axes", "the most inputs"):
        assert cost(FINDS[found][1]) > 20
    names = encode({"inputs": [[name] for name in NAMES * 10]}, Encoding.JSON)
    assert len(names) < 4096
    assert body_time_estimate(names, Encoding.JSON) > threads.LOOP_MILLISECONDS
    tensor = encode({"inputs": [{"dtype": "int8", "shape": [4000], "data": bytes(4000)}]}, Encoding.MSGPACK)
    assert body_time_estimate(tensor, Encoding.MSGPACK) < threads.LOOP_MILLISECONDS / 4
    pattern = f"{'a' * 400} -> {'a' * 400} 2"
    assert cost({"op": {"name": "einops.repeat", "pattern": pattern}, "inputs": [[2]]}) > threads.LOOP_MILLISECONDS


def test_a_comparison_never_runs_on_the_event_loop() -> None:
    # /v1/compare of [1, 1, 1, 1] and a target of eight -1 took 6 ms, most of it the hints of each op that refuses.
    assert compare_time_estimate(((),)) > threads.LOOP_MILLISECONDS


def test_only_a_small_translation_of_one_input_runs_on_the_event_loop() -> None:
    # The slowest that was found of four axes takes 0.6 ms; of two inputs, which may lend their sizes, 5 ms.
    assert translate_time_estimate([(7, 1, 5)], "torch.expand") <= threads.LOOP_MILLISECONDS
    assert translate_time_estimate([(3, 1, 1, 1, 1)], "torch.expand") > threads.LOOP_MILLISECONDS
    assert translate_time_estimate([(8, 1, 6, 4), (7, 1, 4)], "torch.expand") >= 4.7
