"""Measure what one client can do to the others: each attack on the service that others call, and on another service.

    python benchmarks/load/lockouts.py [--kinds slow-readers churn ...] [--seconds 10] [--source FOLDER] [-o FILE]

Two services run with their defaults. Honest callers send requests to the first service. In the control, the attack is
aimed at the second service, so the machine is equally busy. In the measurement, the attack is aimed at the first. The
table shows, in the control and in the measurement, the largest memory of the attacked service with its socket buffers.
It then shows, for each kind of honest request, the share that was answered with 200, and the 99th percentile of the
time.
`--source` measures the service of another working tree, for figures from before a change.

All traffic goes to loopback. The attacks and the honest callers run in processes of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
from harness import destination, free_port

MIB = 2**20
HOST = "127.0.0.1"
JSON, MSGPACK = "application/json", "application/vnd.msgpack"


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()


def post(path: str, body: bytes, accept: str = JSON) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {JSON}\r\nAccept: {accept}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


STREAM = {"op": {"name": "numpy.broadcast_to", "shape": [2**26]}}
LONG_STREAM = post(
    "/v1/broadcast", json.dumps({**STREAM, "inputs": [{"dtype": "int8", "shape": [1], "data": [1]}]}).encode(), MSGPACK
)
SHORT_STREAM = LONG_STREAM.replace(b"67108864", b" 1048576")
COMPARE = post("/v1/compare", b'{"inputs": [[8, 1, 6, 1], [7, 1, 5]]}')
SYMBOLIC = post("/v1/compare", json.dumps({"inputs": [[f"N{number}"] for number in range(15)]}).encode())
HALF_UPLOAD = post("/v1/broadcast", bytes(8 * MIB))[: 4 * MIB]
UPLOAD = post("/v1/check", b'{"inputs": [[3]]}'.ljust(4 * MIB))
HONEST = {
    "livez": get("/livez"),
    "check": get("/v1/check?input=3"),
    "page": get("/static/page.css"),
    "stream": SHORT_STREAM,
    "compare": COMPARE,
}


# --- services


@contextmanager
def service(source: Path | None, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a service, and wait until it responds. Its process has the attribute `port`."""
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AXISCAST_")}
    environment |= {f"AXISCAST_{name.upper()}": value for name, value in settings.items()}
    if source is not None:
        environment["PYTHONPATH"] = os.pathsep.join(str(source / part) for part in ("client", "service"))
    command = [sys.executable, "-m", "axiscast", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    process.port = port  # type: ignore[attr-defined]
    try:
        for _ in range(600):
            with suppress(OSError), socket.create_connection((HOST, port)) as probe:
                probe.sendall(get("/livez"))
                if probe.recv(100):
                    break
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()


def resident(process: subprocess.Popen[bytes]) -> int:
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[0]) * 1024


def kernel_bytes(port: int) -> int:
    """Return the memory of the service's sockets, as the memory limit of a cgroup counts it."""
    found = subprocess.run(["ss", "-tmnH", f"sport = :{port}"], capture_output=True, text=True, check=True).stdout
    return sum(int(part) for groups in re.findall(r"skmem:\(r(\d+),.*?,t(\d+),", found) for part in groups)


# --- honest callers


async def one_response(reader: asyncio.StreamReader) -> int:
    """Read one response, and return its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    left = int(length[1]) if length else 0
    while left:
        left -= len(await reader.readexactly(min(left, 2**16)))
    return int(head[9:12])


async def call(port: int, request: bytes) -> int:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(request)
        return await one_response(reader)
    finally:
        writer.transport.abort()


async def call_often(port: int, name: str, seconds: float, found: dict[str, list[Any]]) -> None:
    """Send a request on a new connection every 50 ms, one after another."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        try:
            async with asyncio.timeout(30):
                status = await call(port, HONEST[name])
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            status = 0
        found[name].append((status, time.perf_counter() - start))
        await asyncio.sleep(0.05)


async def keep_alive(port: int, seconds: float, found: dict[str, list[Any]]) -> None:
    """Send a check every second on one connection. If the connection is lost, connect again."""
    end, writer = time.monotonic() + seconds, None
    while time.monotonic() < end:
        start = time.perf_counter()
        try:
            if writer is None:
                reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(HONEST["check"])
            status = await one_response(reader)
        except (OSError, asyncio.IncompleteReadError):
            status, writer = 0, None
        found["kept connection"].append((status, time.perf_counter() - start))
        await asyncio.sleep(1)


def honest(port: int, kinds: list[str], kept: int, seconds: float, results: Any) -> None:
    async def run() -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = defaultdict(list)
        callers = [call_often(port, name, seconds, found) for name in kinds]
        await asyncio.gather(*callers, *(keep_alive(port, seconds, found) for _ in range(kept)))
        return found

    results.put({name: summary(calls) for name, calls in asyncio.run(run()).items()})


def summary(calls: list[tuple[int, float]]) -> dict[str, Any]:
    times = sorted(seconds for status, seconds in calls if status == 200) or [float("nan")]
    statuses = Counter(status or "lost" for status, _ in calls)
    figures = {
        "calls": len(calls),
        "answered": statuses[200] / len(calls),
        "others": dict(statuses - Counter({200: 10**9})),
    }
    return {
        **figures,
        "p50_ms": 1000 * times[len(times) // 2],
        "p99_ms": 1000 * times[min(int(0.99 * len(times)), len(times) - 1)],
    }


# --- attacks: each is a coroutine that runs until it is cancelled


@asynccontextmanager
async def connected(port: int, receive_buffer: int | None = None) -> AsyncIterator[socket.socket]:
    with socket.socket() as connection:
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, (HOST, port))
        yield connection


async def slow_reader(port: int) -> None:
    """Ask for 64 MiB with 251 bytes, and read 20 kB/s of it."""
    loop = asyncio.get_running_loop()
    async with connected(port, 2**13) as connection:
        await loop.sock_sendall(connection, LONG_STREAM)
        while await loop.sock_recv(connection, 1000):
            await asyncio.sleep(0.05)


async def grown_window(port: int) -> None:
    """Upload 4 MiB, then pipeline requests and read nothing."""
    loop = asyncio.get_running_loop()
    async with connected(port) as connection:
        await loop.sock_sendall(connection, UPLOAD)
        await loop.sock_recv(connection, 100)
        await loop.sock_sendall(connection, get("/v1/ops") * (16 * MIB // len(get("/v1/ops"))))
        await asyncio.sleep(3600)


async def half_upload(port: int) -> None:
    """Upload the first half of 8 MiB."""
    async with connected(port) as connection:
        await asyncio.get_running_loop().sock_sendall(connection, HALF_UPLOAD)
        await asyncio.sleep(3600)


async def unread_pipeline(port: int) -> None:
    """Pipeline requests and read nothing. Every twentieth connection holds the first half of an upload instead."""
    global opened
    opened += 1
    if opened % 20 == 0:
        await half_upload(port)
    loop = asyncio.get_running_loop()
    async with connected(port) as connection:
        await loop.sock_sendall(connection, get("/v1/ops") * (MIB // len(get("/v1/ops"))))
        await asyncio.sleep(3600)


opened = 0


async def idle_connections(port: int, per_second: int = 100) -> None:
    """Open this many connections in each second, and send nothing. All of them stay open."""
    kept = []
    while True:
        for _ in range(per_second // 10):
            connection = socket.socket()
            connection.setblocking(False)
            with suppress(OSError):
                await asyncio.get_running_loop().sock_connect(connection, (HOST, port))
            kept.append(connection)
        for old in kept[:-1200]:
            old.close()
        del kept[:-1200]
        await asyncio.sleep(0.1)


async def abandoned_compare(port: int) -> None:
    """Send a comparison and reset the connection, 100 times per second."""
    while True:
        with suppress(OSError):
            async with connected(port) as connection:
                await asyncio.get_running_loop().sock_sendall(connection, COMPARE)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await asyncio.sleep(0.01)


async def pipeline(port: int) -> None:
    """Send comparisons ahead of the responses, and read all responses."""
    reader, writer = await asyncio.open_connection(HOST, port)
    while True:
        writer.write(COMPARE * 20)
        for _ in range(20):
            await one_response(reader)


async def symbolic_compare(port: int) -> None:
    """Compare shapes with 15 names on one axis, one request after another."""
    reader, writer = await asyncio.open_connection(HOST, port)
    while True:
        writer.write(SYMBOLIC)
        await one_response(reader)


async def log_lines(port: int) -> None:
    """Send checks in sequence. The service logs each check."""
    reader, writer = await asyncio.open_connection(HOST, port)
    while True:
        writer.write(HONEST["check"])
        await one_response(reader)


async def again_and_again(attack: Callable[[int], Awaitable[None]], port: int) -> None:
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            await attack(port)
        await asyncio.sleep(0.05)


def attacker(attack: Callable[[int], Awaitable[None]], count: int, port: int, seconds: float) -> None:
    async def run() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(again_and_again(attack, port) for _ in range(count)))

    asyncio.run(run())


CALLERS = ["livez", "check", "page", "stream"]


class Kind(NamedTuple):
    """An attack, the number of tasks that run it, and what the honest callers send meanwhile."""

    attack: Callable[[int], Awaitable[None]]
    count: int
    callers: list[str]
    kept: int = 0
    """The number of honest connections that stay open."""
    settings: Mapping[str, str] = {}


KINDS = {
    "slow-readers": Kind(slow_reader, 64, CALLERS),
    "many-slow-readers": Kind(slow_reader, 300, CALLERS),
    "windows": Kind(grown_window, 100, ["livez", "check"]),
    "unread": Kind(unread_pipeline, 900, ["livez", "check"]),
    "churn": Kind(idle_connections, 8, ["livez", "check"], kept=160),
    "abandoned": Kind(abandoned_compare, 18, ["livez", "compare"]),
    "pipelines": Kind(pipeline, 200, ["livez", "compare"]),
    "symbolic": Kind(symbolic_compare, 8, ["livez", "compare"]),
    # No process reads the log of the service. The honest callers are probes, because the service does not log probes.
    "stalled-log": Kind(log_lines, 2, ["livez"], settings={"access_log": "true"}),
}


def measured(kind: str, seconds: float, source: Path | None = None, scale: float = 1) -> dict[str, Any]:
    """Return what honest callers see in the control and under the attack, and the largest memory under attack."""
    attack, count, callers, kept, settings = KINDS[kind]
    context, rows = get_context("spawn"), {}
    with service(source, **settings) as first, service(source, **settings) as second:
        for name, target in (("control", second), ("attack", first)):
            results = context.Queue()
            processes = [
                context.Process(target=attacker, args=(attack, max(int(count * scale), 1), target.port, seconds + 3)),
                context.Process(target=honest, args=(first.port, callers, int(kept * scale), seconds, results)),
            ]
            processes[0].start()
            time.sleep(1.5)  # the attack has begun
            processes[1].start()
            most = 0
            while processes[1].is_alive() and results.empty():
                most = max(most, resident(target) + kernel_bytes(target.port))
                time.sleep(0.1)
            rows[name] = results.get(timeout=60)
            rows[f"{name}: MiB with socket buffers"] = round(most / MIB)
            for process in processes:
                process.join()
    return rows


def table(kind: str, rows: dict[str, Any]) -> str:
    """Return the figures as lines: the share of answered calls and the 99th percentile, in the control and attacked."""
    lines = [f"{kind}: {rows['control: MiB with socket buffers']} and {rows['attack: MiB with socket buffers']} MiB"]
    for name in rows["control"]:
        figures = [
            f"{row['answered']:7.1%} of {row['calls']:4} in {row['p99_ms']:6.0f} ms"
            for row in (rows["control"][name], rows["attack"][name])
        ]
        lines.append(f"  {name:16}{figures[0]} | {figures[1]}  {rows['attack'][name]['others'] or ''}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="*", choices=KINDS)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--source", type=Path, help="a working tree, whose service is measured")
    parser.add_argument("-o", "--output", type=destination)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        if options.output:
            stack.callback(lambda: options.output.write_text(json.dumps(found, indent=1) + "\n"))
        for kind in options.kinds or KINDS:
            found[kind] = measured(kind, options.seconds, options.source)
            print(table(kind, found[kind]), flush=True)


if __name__ == "__main__":
    main()
