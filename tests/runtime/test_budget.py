"""The memory budget: requests reserve and release memory, and no attack exceeds it."""

from __future__ import annotations

import asyncio
import base64
import importlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgpack
import pytest
import uvicorn
from cases import cases
from conftest import PATIENCE, Served, free_port, served, wait_for, warm

from axiscast.wire.codec import Encoding, encode
from axiscast.wire.problems import Problem
from axiscast_service.app import create_app
from axiscast_service.endpoints import api_route
from axiscast_service.http import upload
from axiscast_service.runtime.budget import FREE_BYTES, MemoryBudget, MemoryReservation
from axiscast_service.settings import Settings

MiB = 2**20
JSON, MSGPACK = Encoding.JSON, Encoding.MSGPACK
WIDE = "\N{GRINNING FACE}"


def list_header(count: int) -> bytes:
    return b"\xdd" + struct.pack(">I", count)


# --- reservations -------------------------------------------------------------------------------------


def test_a_request_reserves_what_exceeds_its_free_bytes_and_releases_it() -> None:
    budget = MemoryBudget(12 * MiB)
    assert budget.limit == 9 * MiB
    with MemoryReservation(budget) as one, MemoryReservation(budget) as other:
        one.reserve(FREE_BYTES)
        assert budget.held == 0
        one.reserve(5 * MiB)
        other.reserve(FREE_BYTES + MiB)
        assert budget.held == 6 * MiB
        with pytest.raises(Problem) as refused:
            other.reserve(3 * MiB + 1)
        assert (refused.value.code, budget.held) == ("overloaded", 6 * MiB)
        other.reserve(3 * MiB)
        other.release(4 * MiB)
        assert (budget.held, other.nbytes) == (5 * MiB, FREE_BYTES)
    assert budget.held == 0


@cases(("reserve", "code"), [("reserve", "body-too-large"), ("reserve_response", "output-too-large")])
def test_a_request_that_never_fits_is_too_large_and_names_the_setting(reserve: str, code: str) -> None:
    with MemoryReservation(MemoryBudget(12 * MiB)) as holding, pytest.raises(Problem) as refused:
        getattr(holding, reserve)(10 * MiB)
    assert (refused.value.code, refused.value.facts) == (code, {"nbytes": 10 * MiB, "limit": 9 * MiB})
    assert "AXISCAST_MEMORY_BUDGET_BYTES" in refused.value.detail


def test_threads_may_reserve_and_release_at_the_same_time() -> None:
    budget = MemoryBudget(100 * MiB)

    def work() -> None:
        for _ in range(3000):
            with MemoryReservation(budget) as memory:
                memory.reserve(2 * MiB)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.held == 0


# --- requests ------------------------------------------------------------------------------------


@contextmanager
def app_served(**settings: Any) -> Iterator[tuple[str, MemoryBudget]]:
    """Serve the application on a thread of this process; yield its URL and its budget."""
    app = create_app(Settings(**settings))
    server = uvicorn.Server(uvicorn.Config(app, port=free_port(), log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    assert wait_for(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{server.config.port}", app.state.budget
    finally:
        server.should_exit = True
        server.force_exit = True  # nor wait for callers whom a test that failed has left connected
        thread.join()


def head(path: str, length: int | None, media: Encoding = MSGPACK) -> bytes:
    said = f"Content-Length: {length}" if length is not None else "Transfer-Encoding: chunked"
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {media.value}\r\n{said}\r\n\r\n".encode()


def post(path: str, value: Any, media: Encoding = MSGPACK) -> bytes:
    body = encode(value, media)
    return head(path, len(body), media) + body


def tensor(shape: list[int], nbytes: int, dtype: str = "int8") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data": bytes(nbytes)}


def connect(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), timeout=PATIENCE)


HALF = 3 * MiB
DENSE = {"op": {"name": "numpy.broadcast_to", "shape": [2**10, 2**20]}, "inputs": [tensor([2**20], 2**20)]}
ROW = {"shape": [3], "data": [1.123456789012345] * 3}
UNREAD = {
    "half of a body": head("/v1/broadcast", 2 * HALF) + bytes(HALF),
    "half of a chunked body": head("/v1/broadcast", None) + f"{2 * HALF:x}\r\n".encode() + bytes(HALF),
    "a dense answer": post(
        "/v1/broadcast",
        {"op": {"name": "numpy.broadcast_to", "shape": [2**16, 2**10]}, "inputs": [tensor([2**16, 1], 2**16)]},
    ),
    "a strided answer": post("/v1/broadcast", {"inputs": [tensor([8 * MiB], 8 * MiB)], "layout": "strided"}),
    "a JSON answer": post(
        "/v1/broadcast",
        {
            "op": {"name": "numpy.broadcast_to", "shape": [2**17]},
            "inputs": [{"dtype": "str<8>", "shape": [], "data": "\N{GRINNING FACE}" * 8}],
        },
        JSON,
    ),
}
"""Requests of clients that stop sending and reading while the service holds more than 1 MiB for them."""


@cases(("name", "sent"), UNREAD.items(), ids=UNREAD)
def test_a_disconnect_releases_the_memory_of_a_request(name: str, sent: bytes) -> None:
    with app_served(request_seconds=10 * PATIENCE) as (url, budget):
        caller = connect(url)
        caller.sendall(sent)
        if "answer" in name:
            assert caller.recv(12) == b"HTTP/1.1 200"
        time.sleep(0.5)  # whatever goes into the system's buffers is there
        assert wait_for(lambda: budget.held > MiB)
        caller.close()
        assert wait_for(lambda: budget.held == 0)


STREAMS = {
    "content that repeats": (
        DENSE | {"op": {"name": "numpy.broadcast_to", "shape": [2**26, 3]}, "inputs": [tensor([3], 3)]},
        1,
    ),
    "rows of the body's own bytes": (DENSE, 1),  # the body
    "distinct rows": (
        {"op": {"name": "numpy.broadcast_to", "shape": [2**16, 2**10]}, "inputs": [tensor([2**16, 1], 2**16)]},
        3 + 1 / 16,
    ),
}


@cases(("value", "mebibytes"), STREAMS.values(), ids=STREAMS)
def test_a_stalled_stream_holds_its_buffers_and_no_more(value: Any, mebibytes: float) -> None:
    with app_served() as (url, budget), ExitStack() as stack:
        callers = [stack.enter_context(connect(url)) for _ in range(4)]
        for number, caller in enumerate(callers):
            caller.sendall(post("/v1/broadcast", value))
            assert caller.recv(12) == b"HTTP/1.1 200"
            assert budget.held <= (number + 1) * mebibytes * MiB
        assert budget.held >= len(callers) * (mebibytes - 0.2) * MiB


def test_a_client_that_disconnects_while_it_waits_for_its_turn_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()

    def parse(*arguments: Any) -> Any:
        begun.release()
        go_on.wait(PATIENCE)
        raise Problem("invalid-request", "enough")

    monkeypatch.setattr(api_route, "decode", parse)
    with app_served(request_seconds=10 * PATIENCE) as (url, budget):
        callers = [connect(url) for _ in range(2)]
        for number, caller in enumerate(callers):
            caller.sendall(head("/v1/broadcast", 2 * MiB) + bytes(2 * MiB))
            assert number == 1 or begun.acquire(timeout=PATIENCE)
        worked_for = 2 * MiB - FREE_BYTES
        assert wait_for(lambda: budget.held == worked_for * 2)
        callers[-1].close()
        assert wait_for(lambda: budget.held == worked_for)
        go_on.set()
        assert wait_for(lambda: budget.held == 0)
        for caller in callers:
            caller.close()


@cases(
    ("path", "value", "status"),
    [
        ("/v1/broadcast", {"inputs": [tensor([MiB], MiB)], "layout": "strided"}, 200),
        ("/v1/broadcast", DENSE | {"op": {"name": "numpy.broadcast_to", "shape": [4, 2**20]}}, 200),
        ("/v1/broadcast", {"inputs": [tensor([3], MiB)]}, 422),
        ("/v1/backprop", {"inputs": [[MiB]], "gradients": [tensor([MiB], MiB)]}, 200),
        ("/v1/check", {"inputs": [[1]] * 2500}, 200),
        ("/v1/check", [0] * 100_000, 422),
        ("/v1/check/columns", {"inputs": [tensor([MiB // 8, 1], MiB, "int64")]}, 200),
    ],
)
def test_a_response_releases_the_memory_of_its_request(path: str, value: Any, status: int) -> None:
    with app_served() as (url, budget):
        for media in Encoding:
            body = value if media is MSGPACK else None
            content = msgpack.packb(body) if body is not None else b"[" + b"0," * 100_000 + b"0]"
            answer = httpx.post(url + path, content=content, headers={"Content-Type": media.value})
            assert answer.status_code == (status if body is not None else 422)
            assert wait_for(lambda: budget.held == 0)


def test_a_body_that_does_not_fit_now_is_refused_and_fits_later() -> None:
    with app_served(memory_budget_bytes=10 * MiB, request_seconds=10 * PATIENCE) as (url, budget):
        caller = connect(url)
        caller.sendall(head("/v1/broadcast", 7 * MiB) + bytes(6 * MiB))
        assert wait_for(lambda: budget.held > 5 * MiB)
        content = msgpack.packb({"inputs": [tensor([3 * MiB], 3 * MiB)], "layout": "strided"})
        headers = {"Content-Type": MSGPACK.value, "Accept": JSON.value + ";q=0.1, " + MSGPACK.value}
        with httpx.Client(base_url=url, headers=headers) as http:
            refused = http.post("/v1/broadcast", content=content)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert msgpack.unpackb(refused.content)["code"] == "overloaded"
            small = http.post("/v1/broadcast", content=msgpack.packb({"inputs": [tensor([9], 9)]}))
            assert small.status_code == 200  # beside the budget
            caller.close()
            assert wait_for(lambda: budget.held == 0)
            assert http.post("/v1/broadcast", content=content).status_code == 200


def test_a_body_that_could_never_fit_is_too_large() -> None:
    with app_served(memory_budget_bytes=10 * MiB) as (url, _):
        for content in (bytes(9 * MiB), iter([bytes(5 * MiB)] * 2)):  # announced, and chunked
            refused = httpx.post(f"{url}/v1/check", content=content, headers={"Content-Type": MSGPACK.value})
            document = msgpack.unpackb(refused.content)
            assert (refused.status_code, document["code"]) == (413, "body-too-large")
            assert "AXISCAST_MEMORY_BUDGET_BYTES" in document["detail"]
        values = httpx.post(
            f"{url}/v1/check", content=b"[" + b'"ab",' * 100_000 + b'""]', headers={"Content-Type": JSON.value}
        )
        assert (values.status_code, values.json()["code"]) == (413, "body-too-large")
        wide = {"inputs": [{"dtype": "str<262144>", "shape": [1000], "data": [""] * 1000}]}
        tensor_made = httpx.post(f"{url}/v1/broadcast", json=wide)
        assert (tensor_made.status_code, tensor_made.json()["code"]) == (422, "output-too-large")


def test_a_system_without_memory_responds_503(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_map(*arguments: Any, **named: Any) -> Any:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(upload.mmap, "mmap", no_map)
    with app_served() as (url, _):
        refused = httpx.post(f"{url}/v1/check", content=bytes(MiB), headers={"Content-Type": JSON.value})
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")


ONES = {"dtype": "int8", "shape": [1] * 64, "data": b"a"}
LONG_WORK = {
    "check": {"inputs": [[1] * 64] * 100},
    "compare": {"inputs": [[3]]},
    "translate": {"inputs": [[1] * 64] * 100, "op": "torch.broadcast_tensors", "to": "einops.repeat"},
    "broadcast": {"inputs": [ONES] * 100},
    "backprop": {"inputs": [[1] * 64] * 100, "gradients": [ONES] * 100},
}


@pytest.mark.parametrize(("path", "value"), LONG_WORK.items(), ids=LONG_WORK)
def test_the_memory_of_long_work_is_estimated_on_its_thread(
    path: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(f"axiscast_service.endpoints.{path}")
    name = {"compare": "compare_memory_estimate", "broadcast": "memory_estimate", "backprop": "memory_estimate"}.get(
        path, "memory_estimate"
    )
    estimate, threads = getattr(module, name), []

    def noted(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return estimate(*arguments)

    monkeypatch.setattr(module, name, noted)
    with app_served() as (url, _):
        httpx.post(f"{url}/v1/{path}", content=msgpack.packb(value), headers={"Content-Type": MSGPACK.value})
        loop = next(thread.name for thread in threading.enumerate() if thread.name.endswith("(run)"))
    assert len(threads) == 1
    assert threads[0] != loop


# --- under attack --------------------------------------------------------------------------------

BUDGET = 128 * MiB
CALLERS = 48
LARGE = 8 * MiB
STRINGS = list_header(90_000) + b"\xa2ab" * 89_999
BASE64 = base64.b64encode(bytes(6 * MiB)).decode()
TALL: dict[str, Any] = {"op": {"name": "numpy.broadcast_to", "shape": [30_000, 3]}, "inputs": [ROW]}
TWICE: dict[str, Any] = {
    "op": {"name": "numpy.broadcast_to", "shape": [2, LARGE // 8]},
    "inputs": [[LARGE // 8]],
    "gradients": [tensor([2, LARGE // 8], LARGE, "float32")],
}
LONG = [[f"{WIDE * 96}{axis:03}" for axis in range(64)], *[[]] * 999]
KINDS: dict[str, list[bytes]] = {
    "maps": [head("/v1/check", LARGE) + list_header(LARGE - 5) + b"\x80" * (LARGE - 5)],
    "nothing": [head("/v1/check", LARGE) + list_header(LARGE - 5) + b"\xc0" * (LARGE - 5)],
    "a hundred thousand values": [head("/v1/check", 100_005) + list_header(100_000) + b"\x90" * 100_000],
    "unfinished lists": [head("/v1/check", 30 * len(STRINGS)) + STRINGS * 30],
    "half of a body": [head("/v1/broadcast", LARGE) + bytes(LARGE // 2)],
    "a body without end": [head("/v1/broadcast", None) + b"800000\r\n" + bytes(LARGE) + b"\r\n"],
    "wide text": [post("/v1/check", {"inputs": [[1]], "op": WIDE + "a" * 2 * MiB}, media) for media in Encoding],
    "JSON": [post("/v1/broadcast", {"inputs": [{"shape": [100_000], "data": [1.5] * 100_000}]}, JSON)],
    "base64": [post("/v1/broadcast", {"inputs": [{"dtype": "int8", "shape": [6 * MiB], "base64": BASE64}]}, JSON)],
    "JSON answers": [post("/v1/broadcast", TALL, JSON)],
    "dense answers": [post("/v1/broadcast", DENSE)],
    "strided answers": [post("/v1/broadcast", {"inputs": [tensor([LARGE], LARGE)], "layout": "strided"})],
    "a petabyte": [post("/v1/broadcast", TALL | {"op": {"name": "numpy.broadcast_to", "shape": [10**15, 3]}}, JSON)],
    "backprops": [post("/v1/backprop", TWICE)],
    "many shapes": [post("/v1/check", {"inputs": [[2**62] * 4] * 2500, "dtype": "int8"})],
    "long names": [
        post("/v1/check", {"inputs": [[2] * 64, *[[]] * 999], "op": {"name": "xarray.broadcast", "dims": LONG}}, JSON)
    ],
    "columns": [post("/v1/check/columns", {"inputs": [tensor([LARGE // 32, 4], LARGE, "int64")]})],
}
KINDS["everything at once"] = [sent for kind in KINDS.values() for sent in kind]


async def besiege(port: int, kind: list[bytes], seconds: float) -> set[int]:
    """Send requests on many connections at the same time. Return the status of each response."""
    seen = set()

    async def call(number: int) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            sent = kind[number % len(kind)]
            number += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                async with asyncio.timeout(seconds):
                    for start in range(0, len(sent), 2**18):
                        writer.write(sent[start : start + 2**18])
                        await writer.drain()
                    line = await reader.readline()
                    if line:
                        seen.add(int(line.split()[1]))
                    await asyncio.sleep(seconds / 4)
            except (TimeoutError, OSError):
                pass  # the service closes where it reads no further
            finally:
                writer.transport.abort()

    await asyncio.gather(*(call(number) for number in range(CALLERS)))
    return seen


@pytest.fixture(scope="module")
def besieged() -> Iterator[tuple[Served, int]]:
    """Start a service with a budget. Yield the service and its memory before the attack."""
    with served(memory_budget_bytes=BUDGET) as service:
        yield service, warm(service)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_no_attack_exceeds_the_budget(besieged: tuple[Served, int], kind: list[bytes]) -> None:
    service, base = besieged
    Path(f"/proc/{service.process.pid}/clear_refs").write_text("5")  # VmHWM begins again
    seen = asyncio.run(besiege(int(service.url.rsplit(":", 1)[1]), kind, 0.4))
    assert service.memory("VmHWM") <= base + BUDGET * 1.1
    assert seen <= {200, 400, 408, 413, 422, 503}
    assert httpx.get(f"{service.url}/v1/check?input=3").status_code == 200
    assert wait_for(lambda: service.memory() <= base + BUDGET / 2)
