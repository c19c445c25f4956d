"""Fresh connections beside busy ones: how long one waits for its first answer, and what the others are answered.

    python benchmarks/load/fresh.py [--busy 400] [--seconds 8] [--rounds 3] [-o benchmarks/results/fresh.json]

The same service three times, on one core, each with another way to accept: the service's own loop, uvicorn's server on
uvloop, and asyncio's loop. They take turns, round after round. From the other core keep-alive connections ask, each as
soon as it is answered, a check that nobody asked before; and beside them, 20 times a second and however many still
wait, a connection is opened that asks `/livez` or `/readyz` in turn.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from harness import Row, destination, free_port, pin, save, spread

CONTENDERS = {
    "axiscast": "axiscast_service.http.listener:Loop",
    "uvicorn on uvloop": "uvloop",
    "uvicorn on asyncio": "asyncio",
}
SERVE = """
import functools, sys, uvicorn
run, loop = uvicorn.run, sys.argv.pop(1)
uvicorn.run = functools.wraps(run)(lambda *given, **settings: run(*given, **settings | {"loop": loop}))
from axiscast.cli import main
main()
"""
PATHS = ("/livez", "/readyz")
EVERY_SECONDS = 0.05
"""A fresh connection is opened."""


@contextmanager
def served(loop: str) -> Iterator[int]:
    """The port of a service whose event loop is `loop`."""
    port = free_port()
    command = [sys.executable, "-c", SERVE, loop, "serve", "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=partial(pin, 0))
    try:
        for _ in range(400):
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


def never_asked(number: int) -> bytes:
    body = json.dumps({"inputs": [[8, 1, 6, 1], [7, 1, number]]}).encode()
    head = b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


def whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    return bool(end) and len(body) >= int(re.findall(rb"content-length: (\d+)", head)[0])


def round_of(port: int, busy: int, seconds: float, sizes: Iterator[int]) -> Row:
    """Checks a second, and for each path the seconds from `connect` until the answer, or until the round was over."""
    selector = selectors.DefaultSelector()
    came: dict[Any, bytes] = {}
    waited: dict[str, list[float]] = {path: [] for path in PATHS}
    for _ in range(busy):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(never_asked(next(sizes)))
        selector.register(connection, selectors.EVENT_READ)
        came[connection] = b""
    paths = itertools.cycle(PATHS)
    fresh: dict[Any, tuple[str, float]] = {}
    checks = 0
    warm = time.perf_counter() + 1
    begin, end, due = 0.0, warm + seconds, warm
    while (now := time.perf_counter()) < end:
        if not begin and now >= warm:
            begin, checks = now, 0
        if now >= due:
            due += EVERY_SECONDS
            connection = socket.create_connection(("127.0.0.1", port))
            path = next(paths)
            connection.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode())
            selector.register(connection, selectors.EVENT_READ)
            came[connection], fresh[connection] = b"", (path, now)
        for key, _ in selector.select(EVERY_SECONDS):
            connection = key.fileobj  # type: ignore[assignment]
            part = connection.recv(2**16)
            came[connection] += part
            if not part:
                raise SystemExit("a connection was closed before its answer was whole")
            if not whole(came[connection]):
                continue
            if connection in fresh:
                path, started = fresh.pop(connection)
                waited[path].append(time.perf_counter() - started)
                selector.unregister(connection)
                del came[connection]
                connection.close()
            else:
                came[connection] = b""
                checks += 1
                connection.sendall(never_asked(next(sizes)))
    for path, started in fresh.values():
        waited[path].append(now - started)  # at least
    for connection in came:
        connection.close()
    selector.close()
    return {"checks": checks / (now - begin), "waited": waited}


def measure(busy: int, seconds: float, rounds: int) -> dict[str, Row]:
    """Return the checks per second of each contender, and the waiting times of fresh connections by path.

    The rates are (median, least, most). The times are the median, the 90th percentile and the largest, in seconds.
    """
    pin(1)
    sizes = itertools.count(2)
    taken: dict[str, list[Row]] = {name: [] for name in CONTENDERS}
    for _ in range(rounds):
        for name, loop in CONTENDERS.items():
            with served(loop) as port:
                taken[name].append(round_of(port, busy, seconds, sizes))
    return {
        name: {
            "checks_per_second": spread([row["checks"] for row in rows]),
            **{path: waits([wait for row in rows for wait in row["waited"][path]]) for path in PATHS},
        }
        for name, rows in taken.items()
    }


def waits(seconds: list[float]) -> Row:
    tenths = statistics.quantiles(seconds, n=10, method="inclusive") if len(seconds) > 1 else seconds * 9
    figures = {"median": statistics.median(seconds), "p90": tenths[8], "most": max(seconds)}
    return {"connections": len(seconds)} | {name: float(f"{value:.4g}") for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", type=destination)
    options = parser.parse_args()
    results = measure(options.busy, options.seconds, options.rounds)
    for name, row in results.items():
        print(f"{name:20} {row['checks_per_second'][0]:8.0f} checks/s", *(f"{path} {row[path]}" for path in PATHS))
    if options.o:
        save(options.o, {"fresh": {"busy": options.busy, "contenders": results}})


if __name__ == "__main__":
    main()
