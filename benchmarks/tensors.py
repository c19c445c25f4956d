"""Broadcasts over HTTP in JSON and MessagePack: CPU time per request of the service and of an ordinary endpoint.

    python benchmarks/tensors.py [--rounds 5] [--seconds 0.4] [-o benchmarks/results/tensors.json]

Both servers run on core 0, in turn, and the client runs on core 1. "rows" repeats a float32 row of 256 elements, so the
response is much longer than the request. "distinct" sends and receives the same elements. servers.py shows the ordinary
endpoint: json.loads or msgpack.unpackb, np.broadcast_to, then tolist and json.dumps or tobytes and msgpack.packb.
"""

from __future__ import annotations

import argparse
import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count, product

import msgpack
import numpy as np
from harness import Row, cpu_of, destination, pin, save, spread
from servers import served

SIZES = (1, 16, 64, 256, 1024)
"""The sizes of the outputs in KiB."""
WIDTH = 256
MAX_JSON_KIB = 256
"""JSON responses are limited to 131,072 elements and lists."""
ENCODERS: dict[str, Callable[[object], bytes]] = {
    "application/json": lambda value: json.dumps(value).encode(),
    "application/vnd.msgpack": msgpack.packb,
}


def bodies(media: str, pattern: str, kib: int) -> Iterator[bytes]:
    """Yield requests that differ in their elements."""
    rng = np.random.default_rng(kib)
    rows = kib * 1024 // 4 // WIDTH
    for number in count():
        elements = np.round(rng.standard_normal((1 if pattern == "rows" else rows, WIDTH)) + number, 4).astype("f4")
        data = np.round(elements.astype(float), 4).tolist() if media == "application/json" else elements.tobytes()
        tensor = {"dtype": "float32", "shape": elements.shape, "data": data}
        yield ENCODERS[media]({"op": {"name": "numpy.broadcast_to", "shape": [rows, WIDTH]}, "inputs": [tensor]})


def measure(rounds: int, seconds: float) -> dict[str, dict[str, Row]]:
    """Return the CPU time per request, in microseconds, of each server for each kind of request."""
    taken: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as stack:
        running = {name: stack.enter_context(served(name, 0)) for name in ("axiscast", "naive")}
        calls = {name: http.client.HTTPConnection(address, timeout=60) for name, (address, _) in running.items()}
        for _, (media, pattern, kib) in product(range(rounds), product(ENCODERS, ("rows", "distinct"), SIZES)):
            if media == "application/json" and kib > MAX_JSON_KIB:
                continue
            title = f"{media.rpartition('.')[2].removeprefix('application/')}, {pattern}, {kib} KiB"
            body = next(bodies(media, pattern, kib))
            for name, connection in calls.items():
                process = running[name][1]
                ask(connection, body, media)
                before, end, number = cpu_of(process), time.perf_counter() + seconds, 0
                while time.perf_counter() < end:
                    ask(connection, body, media)
                    number += 1
                used = (cpu_of(process) - before) / number * 1e6
                taken.setdefault(title, {}).setdefault(name, []).append(used)
    return {title: {name: {"CPU us": spread(values)} for name, values in rows.items()} for title, rows in taken.items()}


def ask(connection: http.client.HTTPConnection, body: bytes, media: str) -> None:
    connection.request("POST", "/v1/broadcast", body, {"Content-Type": media, "Accept": media})
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{answer.status}: {content[:200]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("-o", type=destination, help="write the figures there, as JSON")
    options = parser.parse_args()
    pin(1)
    figures = measure(options.rounds, options.seconds)
    for title, rows in figures.items():
        print(f"{title:28}", *(f"{name} {row['CPU us'][0]:8.0f} us" for name, row in rows.items()), sep="  ")
    if options.o:
        save(options.o, {"tensors": figures})


if __name__ == "__main__":
    main()
