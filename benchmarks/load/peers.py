"""Measure what one kind of peer at the socket costs the others: memory, refusals, lost responses, waiting time.

    python benchmarks/load/peers.py [--cases keep-alive memory ...] [--python PATH/bin/python] [-o FILE]

Each case starts a service on core 0 and runs its clients on core 1. `--python` measures the axiscast of another
environment, for a figure from before a change.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from harness import Row, destination, free_port, memory_of, pin

MIB = 2**20
HEAD = b"Host: localhost\r\n"
LIVEZ = b"GET /livez HTTP/1.1\r\n" + HEAD + b"\r\n"
CHECK = b"GET /v1/check?input=Nx3&input=3 HTTP/1.1\r\n" + HEAD + b"\r\n"
LONG_CHECK = b"GET /v1/check?" + b"&".join([b"input=3"] * 2500) + b" HTTP/1.1\r\n" + HEAD + b"\r\n"
BODY = b'{"inputs":[[3]]}'
POST = b"POST /v1/check HTTP/1.1\r\nContent-Type: application/json\r\n" + HEAD
WHOLE_POST = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
COSTLY_HEADS = {
    "control": LIVEZ,
    "Accept of 7,900 entries": CHECK[:-2] + b"Accept: " + b"a/b," * 7900 + b"\r\n\r\n",
    "10,000 query pairs": b"GET /v1/check?" + b"a=&" * 10_000 + b" HTTP/1.1\r\n" + HEAD + b"\r\n",
    "2,200 escaped names": b"GET /v1/check?" + b"%C3%A9=1&" * 2200 + b" HTTP/1.1\r\n" + HEAD + b"\r\n",
    "path of 10,600 escapes": b"GET /" + b"%41" * 10_600 + b" HTTP/1.1\r\n" + HEAD + b"\r\n",
    "Host of 31,000 dots": b"GET /livez HTTP/1.1\r\nHost: " + b"." * 31_000 + b"\r\n\r\n",
    "4,000 inputs": b"GET /v1/check?" + b"input=3&" * 4000 + b" HTTP/1.1\r\n" + HEAD + b"\r\n",
}


@dataclass
class Service:
    """A running service: where it listens, and its supervisor's process."""

    port: int
    process: subprocess.Popen[bytes]
    seconds: float
    """How long a case keeps up its load."""

    def memory(self) -> float:
        return round(memory_of(self.process.pid) / MIB, 1)


@contextmanager
def served(python: str, seconds: float, **settings: object) -> Iterator[Service]:
    """A service of the axiscast that `python` imports, ready, on core 0."""
    port = free_port()
    values = {"AXISCAST_" + name.upper(): str(value) for name, value in settings.items()}
    process = subprocess.Popen(
        [python, "-m", "axiscast", "serve", "--port", str(port)],
        env=os.environ | values,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=partial(pin, 0),
        start_new_session=True,
    )
    try:
        for _ in range(600):
            with suppress(OSError, http.client.HTTPException):
                probe = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
                probe.request("GET", "/readyz")
                if probe.getresponse().status == 200:
                    break
            time.sleep(0.05)
        yield Service(port, process, seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # workers too
        process.wait()


# --- what clients do ------------------------------------------------------------------------------------------


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection, reset when it is left."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**16)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def response(reader: asyncio.StreamReader) -> str:
    """Read one response and return its status; "closed" if the connection ends before it is whole."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError):
        return "closed"
    return head[9:12].decode()


async def ask_once(port: int, request: bytes, patience: float = 60) -> str:
    """Return the status of a response on a connection of its own."""
    try:
        async with asyncio.timeout(patience), connected(port) as (reader, writer):
            writer.write(request)
            return await response(reader)
    except OSError as error:
        return type(error).__name__


async def ask_until(port: int, request: bytes, end: float, statuses: Counter[str]) -> None:
    """Ask again on one connection as soon as it has answered; stop where it is closed."""
    async with connected(port) as (reader, writer):
        while time.monotonic() < end:
            writer.write(request)
            status = await response(reader)
            statuses[status] += 1
            if status != "200":
                return


async def pipeline_unread(port: int, request: bytes, nbytes: int, end: float) -> None:
    """Send requests without reading their responses, and hold the connection until `end`."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(end - time.monotonic()), connected(port) as (reader, writer):
            reader._transport.pause_reading()  # type: ignore[attr-defined]  # asyncio's streams always read
            writer.write(request * (nbytes // len(request)))
            await asyncio.sleep(end - time.monotonic())


async def pipeline_read(port: int, request: bytes, nbytes: int, end: float) -> None:
    """Send requests in blocks, and read and drop whatever is sent back."""

    async def drop(reader: asyncio.StreamReader) -> None:
        while await reader.read(2**16):
            pass

    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(end - time.monotonic()), connected(port) as (reader, writer):
            dropping = asyncio.create_task(drop(reader))
            try:
                while True:
                    writer.write(request * (nbytes // len(request)))
                    await writer.drain()
            finally:
                dropping.cancel()


def probed(port: int, seconds: float) -> tuple[Counter[str], list[float]]:
    """Open a connection and ask /livez, twenty times a second, however many still wait.

    Returns the statuses, and the milliseconds that each waited. Runs in a process of its own, before all others of its
    core: what it measures is the service, not the clients that load it.
    """
    statuses: Counter[str] = Counter()
    waits: list[float] = []

    async def probe() -> None:
        start = time.monotonic()
        statuses[await ask_once(port, LIVEZ)] += 1
        waits.append(1000 * (time.monotonic() - start))

    async def run() -> None:
        end = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            while time.monotonic() < end:
                group.create_task(probe())
                await asyncio.sleep(0.05)

    with suppress(PermissionError):
        os.nice(-10)
    asyncio.run(run())
    return statuses, waits


def waiting(waits: list[float]) -> Row:
    """Return the percentiles of waiting times in milliseconds."""
    hundredths = statistics.quantiles(waits, n=100, method="inclusive")
    figures = {"p50": hundredths[49], "p90": hundredths[89], "p99": hundredths[98], "max": max(waits)}
    return {name: round(value, 1) for name, value in figures.items()}


async def beside(port: int, seconds: float, peers: list[Callable[[float], Awaitable[None]]]) -> Row:
    """Probe while `peers` run; each of them gets the time at which it ends."""
    end = time.monotonic() + seconds
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        async with asyncio.TaskGroup() as group:
            for peer in peers:
                group.create_task(_finish(peer(end)))
            await asyncio.sleep(0.5)
            probing = asyncio.get_running_loop().run_in_executor(pool, probed, port, seconds - 1)
            statuses, waits = await probing
    return {"statuses of /livez": dict(statuses), "ms": waiting(waits)}


async def _finish(peer: Awaitable[None]) -> None:
    await peer


async def keep_alive(service: Service) -> Row:
    """64 connections ask again and again, for several times the request timeout of 4 s: all should get 200."""
    statuses: Counter[str] = Counter()
    end = time.monotonic() + max(14, service.seconds)
    await asyncio.gather(*(ask_until(service.port, CHECK, end, statuses) for _ in range(64)))
    return {"connections": 64, "statuses": dict(statuses)}


async def memory(service: Service) -> Row:
    """900 connections send 256 KiB of checks each and read nothing; the same with long queries; then two uploads."""
    figures: Row = {"MiB at start": service.memory()}
    for name, request in (("short checks", CHECK), ("long queries", LONG_CHECK)):
        end = time.monotonic() + service.seconds
        peers = [pipeline_unread(service.port, request, 256 * 1024, end) for _ in range(900)]
        held = asyncio.gather(*peers)
        await asyncio.sleep(service.seconds * 0.8)
        figures[f"MiB during {name}"] = service.memory()
        await held
        await asyncio.sleep(3)
        figures[f"MiB 3 s after {name}"] = service.memory()
    upload = b"POST /v1/broadcast HTTP/1.1\r\nContent-Type: application/vnd.msgpack\r\n" + HEAD
    upload += b"Content-Length: %d\r\n\r\n" % (44 * MIB) + bytes(43 * MIB)
    end = time.monotonic() + 5
    held = asyncio.gather(*(pipeline_unread(service.port, upload, len(upload), end) for _ in range(2)))
    await asyncio.sleep(3)
    figures["MiB during two uploads of 44 MiB"] = service.memory()
    await held
    await asyncio.sleep(10)
    figures["MiB 10 s after all"] = service.memory()
    figures["MiB at most"] = round(memory_of(service.process.pid, "VmHWM") / MIB, 1)
    return figures


async def withheld(service: Service) -> Row:
    """64 connections send a request but for its last byte, and 40 others ask a check: all 40 should get 200."""
    end = time.monotonic() + service.seconds
    held = asyncio.gather(
        *(pipeline_unread(service.port, WHOLE_POST[:-1], len(WHOLE_POST) - 1, end) for _ in range(64))
    )
    await asyncio.sleep(1)
    statuses = Counter([await ask_once(service.port, WHOLE_POST) for _ in range(40)])
    await held
    return {"statuses of other checks": dict(statuses)}


async def crowd(service: Service) -> Row:
    """1000 connections send 32 KiB of checks and read nothing, and fresh connections ask /livez."""
    peers = [partial(pipeline_unread, service.port, CHECK, 32 * 1024)] * 1000
    return await beside(service.port, service.seconds, peers)


async def heads(service: Service) -> Row:
    """Eight requests with costly request lines or headers in flight, and fresh connections ask /livez."""

    async def strike(request: bytes, end: float) -> None:
        while time.monotonic() < end:
            await ask_once(service.port, request)

    return {
        name: {"bytes": len(request)} | await beside(service.port, service.seconds / 2, [partial(strike, request)] * 8)
        for name, request in COSTLY_HEADS.items()
    }


async def pipelines(service: Service) -> Row:
    """Many connections pipeline 256 KiB at a time and read, and fresh connections ask /livez."""
    figures = {}
    for number in (0, 400, 900):
        peers = [partial(pipeline_read, service.port, CHECK, 256 * 1024)] * number
        figures[f"{number} connections"] = await beside(service.port, service.seconds, peers)
    return figures


async def refused_uploads(service: Service) -> Row:
    """http.client sends 16 MiB for which there is no memory, and 80 MiB, more than a body may have: both read why."""

    def send(nbytes: int) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        try:
            connection.request("POST", "/v1/broadcast", bytes(nbytes), {"Content-Type": "application/vnd.msgpack"})
            return str(connection.getresponse().status)
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        finally:
            connection.close()

    return {
        f"{nbytes // MIB} MiB": dict(Counter([await asyncio.to_thread(send, nbytes) for _ in range(10)]))
        for nbytes in (16 * MIB, 80 * MIB)
    }


async def shutdown(service: Service) -> Row:
    """SIGTERM under load: each request whose first byte was sent before it should get a response."""
    outcomes: Counter[str] = Counter()
    signalled = asyncio.Event()

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gap: float) -> bool:
        """Send a request, in two halves if there is a `gap`; return whether the connection stays open."""
        before, status = not signalled.is_set(), "closed"
        with suppress(OSError):
            writer.write(WHOLE_POST[:60])
            if gap:
                await asyncio.sleep(gap)
            writer.write(WHOLE_POST[60:])
            status = await response(reader)
        if before or status != "closed":
            outcomes[status] += 1
        return status != "closed"

    async def kept(gap: float) -> None:
        async with connected(service.port) as (reader, writer):
            while await ask(reader, writer, gap) and not signalled.is_set():
                pass

    async def fresh(gap: float) -> None:
        with suppress(OSError):
            while not signalled.is_set():
                async with connected(service.port) as (reader, writer):
                    await ask(reader, writer, gap)

    async with asyncio.TaskGroup() as group:
        for gap in (0, 0.003):
            for _ in range(16):
                group.create_task(kept(gap))
                group.create_task(fresh(gap))
        await asyncio.sleep(0.8)
        service.process.send_signal(signal.SIGTERM)
        signalled.set()
    return dict(outcomes)


Case = Callable[[Service], Awaitable[Row]]
CASES: dict[str, tuple[Case, dict[str, object]]] = {
    "keep-alive": (keep_alive, {"request_seconds": 4}),
    "memory": (memory, {}),
    "withheld": (withheld, {}),
    "crowd": (crowd, {}),
    "heads": (heads, {}),
    "pipelines": (pipelines, {}),
    "refused uploads": (refused_uploads, {"memory_budget_bytes": 8 * MIB}),
}
"""What each case does, and the settings of its service."""
SHUTDOWNS = {"shutdown": 1, "shutdown, two workers": 2}
"""Cases that start a service for each trial, and its workers."""


def shut_down(python: str, workers: int, trials: int) -> Row:
    """Return the outcomes of all requests over `trials` shutdowns, without a drain: the hardest case."""
    outcomes: Counter[str] = Counter()
    for _ in range(trials):
        with served(python, 0, workers=workers, drain_seconds=0) as service:
            outcomes.update(asyncio.run(asyncio.wait_for(shutdown(service), 60)))
    return {"trials": trials, "workers": workers, "responses": dict(outcomes)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=[*CASES, *SHUTDOWNS], default=[*CASES, *SHUTDOWNS])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--trials", type=int, default=20, help="shutdowns")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that runs the service")
    parser.add_argument("-o", type=destination)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8192)), hard))
    pin(1)
    results: Row = {}
    for name in options.cases:
        if name in SHUTDOWNS:
            results[name] = shut_down(options.python, SHUTDOWNS[name], options.trials)
        else:
            case, settings = CASES[name]
            with served(options.python, options.seconds, **settings) as service:
                results[name] = asyncio.run(case(service))
        print(name, json.dumps(results[name]), flush=True)
    if options.o:
        options.o.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
