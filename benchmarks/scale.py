"""Measure the growth of time and memory with bytes, ranks, inputs, rows and streams, up to the limits.

    python benchmarks/scale.py [GROUP ...] [--rounds 5] [--mib 512] [--points N] [-o benchmarks/results/scale.json]

The server runs on core 0. Its client runs on core 1, and discards the received data, so that a response may be larger
than memory. Each group consists of curves, and each curve consists of points. A round measures every point once, and
repeats short requests for 20 ms. All requests differ. The first round measures the points in ascending order, and
records the peak memory of the server (VmHWM), minus the memory of the idle server.
"""

from __future__ import annotations

import argparse
import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, count, takewhile
from typing import NamedTuple

import msgpack
import numpy as np
from harness import Row, destination, forget_peak, memory_of, pin, save, spread
from servers import LARGE, STEP, connected, drain, served

MIB = 2**20
LEAST_SECONDS, AGAIN_SECONDS = 0.02, 0.25
JSON, MSGPACK = "application/json", "application/vnd.msgpack"

# --- requests: the request at each point, never the same for another `number` -------------------------

Ask = Callable[[int, int], bytes]


def posted(path: str, media: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def tensor(*shape: int) -> Row:
    return {"dtype": "float32", "shape": shape, "data": bytes(4 * int(np.prod(shape)))}


def broadcast(op: Row, *inputs: Row, **further: object) -> bytes:
    return posted("/v1/broadcast", MSGPACK, msgpack.packb({"op": op, **further, "inputs": inputs}))


def check(asked: Row) -> bytes:
    return posted("/v1/check", JSON, json.dumps(asked).encode())


def to(*shape: int) -> Row:
    return {"name": "numpy.broadcast_to", "shape": shape}


def down_rows(nbytes: int, number: int) -> bytes:
    """(256,) -> (N,256)."""
    return broadcast(to(nbytes // 1024, 256), tensor(256))


def down_columns(nbytes: int, number: int) -> bytes:
    """(N,1) -> (N,16384): output that does not repeat, from a small input."""
    rows, columns = max(nbytes // 2**16, 1), min(nbytes // 4, 2**14)
    return broadcast(to(rows, columns), tensor(rows, 1))


def up(nbytes: int, number: int) -> bytes:
    """An input of a number of bytes, of which one element is returned."""
    return broadcast(to(nbytes // 4), tensor(nbytes // 4), window=[(0, 1)])


def tcp(nbytes: int, number: int, upwards: bool = False) -> bytes:
    head = (nbytes if upwards else 0).to_bytes(8, "big") + (1 if upwards else nbytes).to_bytes(8, "big")
    return head + bytes(nbytes if upwards else 0)


def check_rank(rank: int, number: int) -> bytes:
    shape = [number + 2, *[3] * (rank - 1)]
    return check({"op": to(*shape), "inputs": [[size if axis % 2 else 1 for axis, size in enumerate(shape)]]})


def broadcast_rank(rank: int, number: int) -> bytes:
    """16384 elements in an input with up to fourteen axes."""
    shape = [2**14 >> min(rank - 1, 13), *[2] * min(rank - 1, 13), *[1] * (rank - 14)]
    return broadcast(to(*shape), tensor(*(size if axis % 2 else 1 for axis, size in enumerate(shape))))


def check_inputs(inputs: int, number: int) -> bytes:
    return check({"inputs": [[8, 1, 6, 1], [number + 2, 1, 5]] * (inputs // 2)})


def broadcast_inputs(inputs: int, number: int) -> bytes:
    """Return a request with outputs of 4 KiB."""
    return broadcast({"name": "numpy.broadcast_arrays"}, *[tensor(32, 1), tensor(32)] * (inputs // 2))


def batch_rows(rows: int, number: int) -> bytes:
    asked = {"requests": [{"inputs": [[8, 1, 6, 1], [number + row + 2, 1, 5]]} for row in range(rows)]}
    return posted("/v1/check/batch", JSON, json.dumps(asked).encode())


def batch_columns(rows: int, number: int) -> bytes:
    columns = np.tile(np.array([[8, 1, 6, 1]]), (rows, 1)), np.tile(np.array([[number + 2, 1, 5]]), (rows, 1))
    inputs = [{"dtype": "int64", "shape": column.shape, "data": column.tobytes()} for column in columns]
    return posted("/v1/check/columns", MSGPACK, msgpack.packb({"op": "numpy.broadcast_arrays", "inputs": inputs}))


# --- what is measured: data ---------------------------------------------------------------------------------


class Line(NamedTuple):
    name: str
    points: Sequence[int]
    ask: Ask
    server: str = "axiscast"
    settings: Mapping[str, str] = {}
    streams: bool = False
    """Whether a point is a number of connections, each with --mib, instead of an amount."""


def powers(base: int, first: int, last: int) -> list[int]:
    return [*takewhile(lambda value: value < last, (first * base**power for power in count())), last]


def groups(mib: int) -> dict[str, tuple[str, list[Line]]]:
    """The unit of the points, and the lines of each group."""
    down, upwards = powers(8, 1024, mib * 16 * MIB), powers(8, 1024, mib * MIB)
    ranks = powers(2, 1, 64)
    streams = powers(4, 1, 64)
    return {
        "down": (
            "bytes of the answer",
            [
                Line("raw TCP", down, tcp, "tcp"),
                Line("(256,) -> (N,256)", down, down_rows),
                Line("(N,1) -> (N,16384)", down, down_columns),
            ],
        ),
        "up": (
            "bytes of the body",
            [
                Line("raw TCP", upwards, partial(tcp, upwards=True), "tcp"),
                Line("an input, of which one element is asked", upwards, up, settings=LARGE),
            ],
        ),
        "rank": ("axes", [Line("check", ranks, check_rank), Line("broadcast to 64 KiB", ranks, broadcast_rank)]),
        "inputs": (
            "inputs",
            [
                Line("check", powers(4, 2, 25_000), check_inputs),
                Line("broadcast to 4 KiB each", powers(4, 2, 16_384), broadcast_inputs),
            ],
        ),
        "batch": (
            "checks in one request",
            [
                Line("rows", powers(10, 1, 10_000), batch_rows),
                Line("columns", powers(10, 1, 2_000_000), batch_columns, settings=LARGE),
            ],
        ),
        "streams": (
            "connections",
            [
                Line("raw TCP", streams, tcp, "tcp", streams=True),
                Line("(256,) -> (N,256)", streams, down_rows, streams=True),
                Line("(N,1) -> (N,16384)", streams, down_columns, streams=True),
                Line("(N,1) -> (N,16384), 4 GiB of budget", streams, down_columns, settings=LARGE, streams=True),
            ],
        ),
    }


# --- the run ------------------------------------------------------------------------------------------------


def answered(address: str, requests: Iterable[bytes]) -> None:
    """Send requests on a connection and discard the responses. Retry if the server has no memory."""
    step = memoryview(bytearray(STEP))
    with ExitStack() as stack:
        connection = stack.enter_context(closing(connected(address)))
        for request in requests:
            while not answered_once(connection, request, step):
                time.sleep(AGAIN_SECONDS)
                connection = stack.enter_context(closing(connected(address)))


def answered_once(connection: socket.socket, request: bytes, step: memoryview) -> bool:
    connection.sendall(request)
    if not request.startswith(b"POST"):  # raw TCP: the second length is the answer's
        drain(connection, max(int.from_bytes(request[8:16], "big"), 0), step)
        return True
    got, end = 0, -1
    while end < 0:
        if not (more := connection.recv_into(step[got:])):
            raise EOFError("the server closed the connection")
        got += more
        end = bytes(step[:got]).find(b"\r\n\r\n")
    head = bytes(step[:end]).lower()
    drain(connection, int(head.split(b"content-length: ")[1].split(b"\r\n")[0]) - (got - end - 4), step)
    if not head.startswith((b"http/1.1 200", b"http/1.1 503")):
        raise SystemExit(bytes(step[:got]).decode(errors="replace"))
    return head.startswith(b"http/1.1 200")


class Point:
    """A measurement of the server of a line at a point."""

    def __init__(self, line: Line, at: int, nbytes: int, address: str, numbers: Iterator[int]) -> None:
        self.at, self.address = at, address
        self.connections, self.size = (at, nbytes) if line.streams else (1, at)
        self.request = lambda: line.ask(self.size, next(numbers))
        self.many, self.seconds, self.memory = 1, list[float](), 0

    def call(self) -> float:
        """Return the seconds of each of `many` calls."""
        requests = [self.request() for _ in range(self.many)]
        start = time.perf_counter()
        with ThreadPoolExecutor(self.connections) as pool:
            list(pool.map(answered, [self.address] * self.connections, [requests] * self.connections))
        return (time.perf_counter() - start) / self.many


def measure(lines: Sequence[Line], mib: int, rounds: int, most_points: int) -> dict[str, list[Row]]:
    """Return the points of each line: seconds (median, least, most), and the largest memory above idle."""
    with ExitStack() as stack:
        points: dict[str, list[Point]] = {}
        for line in lines:
            address, process = stack.enter_context(served(line.server, 0, line.settings))
            numbers = count()
            points[line.name] = [Point(line, at, mib * MIB, address, numbers) for at in line.points[:most_points]]
            points[line.name][0].call()
            idle = memory_of(process)
            for point in points[line.name]:
                forget_peak(process)
                point.many = max(int(LEAST_SECONDS / point.call()), 1)
                point.memory = max(memory_of(process, "VmHWM") - idle, 0)
            print(f"  {line.name}: up to {max(point.memory for point in points[line.name]) / MIB:.1f} MiB", flush=True)
        for _ in range(rounds):
            for point in chain.from_iterable(points.values()):
                point.seconds.append(point.call())
    return {
        name: [{"at": point.at, "seconds": spread(point.seconds), "memory": point.memory} for point in those]
        for name, those in points.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[[], *groups(1)])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=512, help="of an upload, and of each stream; answers go to 16 times")
    parser.add_argument("--points", type=int, default=64, help="the number of points of each curve, from the smallest")
    parser.add_argument("-o", type=destination, help="write the figures there, as JSON")
    options = parser.parse_args()
    pin(1)
    for group, (across, lines) in groups(options.mib).items():
        if options.groups and group not in options.groups:
            continue
        print(f"\n{group}:", flush=True)
        rounds = 1 if group == "streams" else options.rounds  # 42 GiB for each line
        results = measure(lines, options.mib, rounds, options.points)
        for line, points in results.items():
            print(f"  {line}")
            for point in points:
                figures = ", ".join(
                    f"{name} {value[0]:.6g}" for name, value in point.items() if isinstance(value, list)
                )
                print(f"    {point['at']:11} {across}: {figures}; {point['memory'] / MIB:.1f} MiB over idle")
        if options.o:
            save(options.o, {group: {"across": across, "lines": results}})


if __name__ == "__main__":
    main()
