"""Mixed traffic with attackers in it, for as long as is asked: memory and file descriptors over time.

    python benchmarks/load/soak.py [--seconds 3600] [-o benchmarks/results/soak.json]

One service, four clients that use every endpoint and know the right answers, and three attackers: one goes through
the list of tests/attacks, one opens connections and abandons them in every way, one reads answers slowly or not at
all. Every five seconds the service's resident memory and open files are noted. An unexpected error is a wrong answer,
a 5xx that is no refusal, or a connection that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from attacks.attack import REQUEST_SECONDS, head, post
from attacks.cases import ATTACKS
from attacks.test_attacks import strike
from conftest import served
from harness import destination, machine

from axiscast import Client, Overloaded
from axiscast.ops import mindspore, ngraph, numpy

EXPECTED = {"good", "overloaded", "attack answered", "abandoned", "slow"}
"""The outcomes that are not errors."""
ROWS = np.tile([8, 1, 6, 1], (10_000, 1)), np.tile([7, 1, 5], (10_000, 1))
GRID = np.arange(65536, dtype=np.float32).reshape(256, 256)


def ordinary(url: str, stop: threading.Event, seen: Counter[str]) -> None:
    """Every endpoint in turn, each answer compared with what it must be."""
    op = ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})
    with Client(url, timeout=30, retries=5) as client:
        calls: list[Callable[[], bool]] = [
            lambda: client.broadcast_shapes((8, 1, 6, 1), (7, 1, 5)) == (8, 7, 6, 5),
            lambda: client.check("numpy.broadcast_arrays", (3,), (4,)).conflict is not None,
            lambda: client.check("numpy.broadcast_arrays", ("N", 3), (1, 3)).outputs[0].shape == ["N", 3],
            lambda: all(answer.compatible for answer in client.check_batch([{"inputs": [(3, 1), (4,)]}] * 100)),
            lambda: bool(client.check_columns("numpy.broadcast_arrays", *ROWS).compatible.all()),
            lambda: client.broadcast_to(GRID, (16, 256, 256))[7, 3, 4] == GRID[3, 4],
            lambda: client.broadcast_to(np.arange(3), (10**12, 3), layout="strided").shape == (10**12, 3),
            lambda: client.backprop(op, [(3,)], np.ones((2, 3)))[0].tolist() == [2, 2, 2],
            lambda: client.broadcast(mindspore.broadcast_to(shape=(-1, 2)), np.ones((3, 1)))[0].shape == (3, 2),
            lambda: len(client.compare((1, 3), shape=(2, -1))) > 5,
            lambda: client.translate(op, (3,), to="torch.expand").exact in (True, False),
            lambda: client.broadcast(numpy.broadcast_to(shape=(64, 2**16)), np.ones(2**16, np.int8))[0].all(),
        ]
        while not stop.is_set():
            for call in random.sample(calls, len(calls)):
                try:
                    seen["good" if call() else "wrong"] += 1
                except Overloaded:
                    seen["overloaded"] += 1
                except Exception as error:
                    seen[f"failed: {type(error).__name__}: {error}"[:120]] += 1


def listed(url: str, stop: threading.Event, seen: Counter[str]) -> None:
    """The list of tests/attacks, over and over."""
    while not stop.is_set():
        for attack in random.sample(ATTACKS, len(ATTACKS)):
            if stop.wait(0.05):
                return
            try:
                reply = strike(url, attack)
            except OSError as error:
                seen[f"attack failed: {type(error).__name__}"] += 1
                continue
            expected = reply.status in attack.statuses or reply.status == 503
            seen["attack answered" if expected else f"attack {attack.name}: {reply.status}"] += 1


def abandoning(url: str, stop: threading.Event, seen: Counter[str]) -> None:
    """Requests that are left in every place where they can be."""
    whole = post(b'{"op": {"name": "numpy.broadcast_to", "shape": [1000, 1000, 1000]}, "inputs": [{"dtype": "int8", '
                 b'"shape": [], "base64": "AQ=="}]}', "/v1/broadcast", "application/json",
                 "Accept: application/vnd.msgpack")[0]  # fmt: skip
    address = httpx.URL(url)
    while not stop.wait(0.02):
        connection = socket.create_connection((address.host, address.port), 5)
        try:
            connection.sendall(whole[: random.choice([0, 10, len(whole) // 2, len(whole)])])
            connection.settimeout(0.2)
            if random.random() < 0.5:
                connection.recv(random.choice([1, 1000, 2**20]))
            if random.random() < 0.5:  # a reset in place of an orderly end
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        except OSError:
            pass
        connection.close()
        seen["abandoned"] += 1


def slow(url: str, stop: threading.Event, seen: Counter[str]) -> None:
    """Heads and bodies byte by byte, and a large answer that is hardly read; twenty at a time."""
    address = httpx.URL(url)
    held: list[tuple[float, socket.socket]] = []
    while not stop.wait(0.2):
        try:
            connection = socket.create_connection((address.host, address.port), 5)
            connection.setblocking(False)
            connection.send(random.choice([head("GET", "/livez")[:-3], post(b" " * 1000)[0][:-900]]))
            held.append((time.monotonic(), connection))
            for _, other in held:
                try:
                    other.send(b"a")
                    other.recv(1)
                except (BlockingIOError, ConnectionError):
                    pass
        except OSError as error:
            seen[f"slow failed: {type(error).__name__}"] += 1
        while len(held) > 20:
            held.pop(0)[1].close()
        seen["slow"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("-o", type=destination)
    options = parser.parse_args()
    seen: Counter[str] = Counter()
    stop = threading.Event()
    samples = []
    with served(request_seconds=REQUEST_SECONDS) as service:
        kinds = [ordinary] * 4 + [listed, abandoning, slow]
        pool = ThreadPoolExecutor(len(kinds))
        callers = [pool.submit(kind, service.url, stop, seen) for kind in kinds]
        start = time.monotonic()
        try:
            while (now := time.monotonic() - start) < options.seconds and not any(map(Future.done, callers)):
                files = len(os.listdir(f"/proc/{service.process.pid}/fd"))
                samples.append({"second": round(now), "rss": service.memory(), "files": files})
                if len(samples) % 12 == 0:
                    print(f"{now:6.0f} s  {samples[-1]['rss'] / 2**20:6.1f} MiB  {files} files  {seen['good']} good",
                          flush=True)  # fmt: skip
                time.sleep(min(5, options.seconds))
        finally:
            stop.set()
            pool.shutdown()
        for caller in callers:
            caller.result()  # one that failed fails the run
    half = [sample["rss"] for sample in samples[len(samples) // 2 :]]
    third = max(len(half) // 3, 1)  # requests in work come and go by some MiB: medians of ten minutes tell a trend
    growth = statistics.median(half[-third:]) / statistics.median(half[:third]) - 1
    print(f"memory over the second half: {growth:+.2%}; {dict(seen)}")
    if options.o:
        results = {"machine": machine(), "growth": growth, "seen": seen, "samples": samples}
        options.o.write_text(json.dumps(results) + "\n")
    if unexpected := {*seen} - EXPECTED:
        sys.exit(f"unexpected: {sorted(unexpected)}")


if __name__ == "__main__":
    main()
