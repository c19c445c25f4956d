"""Measure clients over loopback beside raw TCP and other clients: downloads, uploads and small calls.

    python benchmarks/remote.py [patterns] [down] [up] [small] [--rounds 9] [--mib 512] [-o results/remote.json]

Servers run on core 0, clients on core 1. Each round calls every contender once, so that the noise of the machine falls
on all of them; what counts are ratios, taken round by round. Each contender is a row of CONTENDERS: its name, its
server, and a function that sets it up and yields what is timed.

servers.py says what the servers are.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import math
import random
import socket
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

import httpx
import msgpack
import numpy as np
from harness import cpu_of, destination, pin, save
from servers import ROW, SMALL, connected, receive, served

from axiscast import AsyncClient, Client
from axiscast.ops import numpy as op
from axiscast.ops import stablehlo

SMALL_CALLS = 20
"""The number of small calls that are timed together."""
MSGPACK = {"Content-Type": "application/vnd.msgpack", "Accept": "application/vnd.msgpack"}


# --- contenders ----------------------------------------------------------------------------------------

Timed = Iterator[Callable[[], object]]


class Contender(NamedTuple):
    name: str
    server: str
    setup: Callable[[str, int], Timed]
    """A function that takes the server's address and a number of bytes, yields the timed call, and cleans up."""
    needs: str = "axiscast"
    """The package that must be installed."""


def asked(group: str, nbytes: int) -> tuple[Any, tuple[int, int], dict[str, Any]]:
    """The input of a call, its target shape, and other options."""
    if group == "small":
        return np.arange(32, dtype=np.float32), (32, 32), {}
    target = (nbytes // ROW, ROW // 4)
    if group == "down":
        return np.arange(ROW // 4, dtype=np.float32), target, {}
    return np.zeros(target, np.float32), target, {"window": [(0, 2), (0, ROW // 4)]}


def packed(group: str, nbytes: int) -> bytes:
    """The call in a program without this library."""
    array, target, further = asked(group, nbytes)
    tensor = {"dtype": "float32", "shape": list(array.shape), "data": array.tobytes()}
    return bytes(msgpack.packb({"op": {"name": "numpy.broadcast_to", "shape": target}, **further, "inputs": [tensor]}))


def unpacked(answer: bytes) -> Any:
    (tensor,) = msgpack.unpackb(answer, max_bin_len=2**31)["broadcast_inputs"]
    return np.frombuffer(tensor["data"], tensor["dtype"]).reshape(tensor["shape"])


def tcp(up: bool, fresh: bool = False) -> Callable[[str, int], Timed]:
    def setup(address: str, nbytes: int) -> Timed:
        array = np.zeros(nbytes, np.uint8)
        head = (nbytes if up else 0).to_bytes(8, "big") + (1 if up else nbytes).to_bytes(8, "big")
        with connected(address) as connection:

            def call() -> None:
                connection.sendall(head)
                if up:
                    connection.sendall(array.data)
                receive(connection, array[:1].data if up else np.empty(nbytes, np.uint8).data if fresh else array.data)

            yield call

    return setup


def by_httpx(group: str) -> Callable[[str, int], Timed]:
    def setup(address: str, nbytes: int) -> Timed:
        body = packed(group, nbytes)
        with httpx.Client(base_url=f"http://{address}", timeout=300) as client:

            def call() -> object:
                content = packed(group, nbytes) if group == "small" else body
                answer = client.post("/v1/broadcast", content=content, headers=MSGPACK).raise_for_status().content
                return unpacked(answer) if group == "small" else answer

            yield call

    return setup


def by_async_httpx(address: str, nbytes: int) -> Timed:
    client = httpx.AsyncClient(base_url=f"http://{address}")

    async def call() -> object:
        answer = await client.post("/v1/broadcast", content=packed("small", nbytes), headers=MSGPACK)
        return unpacked(answer.content)

    yield from awaited(call, client.aclose, SMALL_CALLS)


def by_http_client(address: str, nbytes: int) -> Timed:
    with closing(http.client.HTTPConnection(address)) as connection:
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def call() -> object:
            connection.request("POST", "/v1/broadcast", packed("small", nbytes), MSGPACK)
            return unpacked(connection.getresponse().read())

        yield call


def by_flight(address: str, nbytes: int) -> Timed:
    import pyarrow.flight

    with pyarrow.flight.connect(f"grpc://{address}") as client:
        yield lambda: client.do_get(pyarrow.flight.Ticket(b"")).read_all()


def by_tritonclient(address: str, nbytes: int) -> Timed:
    from tritonclient import grpc

    array, target, _ = asked("down", nbytes)
    inputs = [grpc.InferInput("array", array.shape, "FP32"), grpc.InferInput("target", [2], "INT64")]
    for tensor, values in zip(inputs, (array, np.array(target)), strict=True):
        tensor.set_data_from_numpy(values)
    options = [("grpc.max_receive_message_length", -1)]
    with closing(grpc.InferenceServerClient(address, channel_args=options)) as client:
        yield lambda: client.infer("broadcast", inputs).as_numpy("output")


def by_client(
    group: str, kind: type[Client] | type[AsyncClient] = Client, reused: bool = False
) -> Callable[[str, int], Timed]:
    def setup(address: str, nbytes: int) -> Timed:
        array, target, further = asked(group, nbytes)
        out = np.zeros(target, np.float32) if reused else None
        client: Any = kind(f"http://{address}", timeout=300)

        def call() -> Any:
            return client.broadcast(op.broadcast_to(shape=target), array, out=out, **further)

        if kind is AsyncClient:
            yield from awaited(call, client.aclose, SMALL_CALLS if group == "small" else 1)
        else:
            with client:
                yield call

    return setup


def awaited(call: Callable[[], Awaitable[object]], close: Callable[[], Any], many: int) -> Timed:
    """Await a call several times, one after another."""

    async def calls() -> None:
        for _ in range(many):
            await call()

    with asyncio.Runner() as runner:
        yield lambda: runner.run(calls())
        runner.run(close())


def by_pattern(dtype: str, shape: Shape, target: Shape, order: Shape) -> Callable[[str, int], Timed]:
    """An input shape and its target. Axis 0 (None) has the size that the number of bytes needs."""

    def setup(address: str, nbytes: int) -> Timed:
        long = nbytes // np.dtype(dtype).itemsize // math.prod(size for size in target if size)
        shape_, target_ = (tuple(size or long for size in sizes) for sizes in (shape, target))
        array, out = np.zeros(shape_, dtype), np.zeros(target_, dtype)
        asked = stablehlo.broadcast_in_dim(shape=target_, broadcast_dimensions=order)
        with Client(f"http://{address}", timeout=300) as client:
            yield lambda: client.broadcast(asked, array, out=out)

    return setup


Shape = Sequence[int | None]
PATTERNS: dict[str, tuple[Shape, Shape, Shape]] = {
    "(1024,) -> (N,1024)": ([1024], [None, 1024], [1]),
    "(N,1) -> (N,1024)": ([None, 1], [None, 1024], [0, 1]),
    "(64,) -> (N,64,56,56)": ([64], [None, 64, 56, 56], [1]),
    "(3,) -> (N,3)": ([3], [None, 3], [1]),
    "(A,1,4) -> (A,64,4)": ([None, 1, 4], [None, 64, 4], [0, 1, 2]),
    "(N,1) -> (N,3)": ([None, 1], [None, 3], [0, 1]),
    "(A,1,3) -> (A,64,3)": ([None, 1, 3], [None, 64, 3], [0, 1, 2]),
    "(A,B) -> (B,A,64)": ([1024, None], [None, 1024, 64], [1, 0]),
    "(A,B) -> (64,B,A)": ([1024, None], [64, None, 1024], [2, 1]),
}
"""Return the input shape, the output shape, and the output axes of the input."""

CONTENDERS: dict[str, list[Contender]] = {
    "patterns": [
        Contender("raw TCP, reused array", "tcp", tcp(up=False)),
        Contender("raw TCP, steps of 1 MiB less a page", "tcp, a page less", tcp(up=False)),
        *(
            Contender(f"{pattern}, {dtype}", "axiscast", by_pattern(dtype, *shapes))
            for dtype in ("float32", "uint8", "complex128")
            for pattern, shapes in PATTERNS.items()
        ),
    ],
    "down": [
        Contender("raw TCP, reused array", "tcp", tcp(up=False)),
        Contender("raw TCP, steps of 1 MiB less a page", "tcp, a page less", tcp(up=False)),
        Contender("raw TCP, fresh array", "tcp", tcp(up=False, fresh=True)),
        Contender("Client, reused array", "wire", by_client("down", reused=True)),
        Contender("Client, fresh array", "wire", by_client("down")),
        Contender("AsyncClient, reused array", "wire", by_client("down", AsyncClient, reused=True)),
        Contender("AsyncClient, fresh array", "wire", by_client("down", AsyncClient)),
        Contender("httpx .content", "wire", by_httpx("down")),
        Contender("Client, reused array", "asgi", by_client("down", reused=True)),
        Contender("Client, reused array", "axiscast", by_client("down", reused=True)),
        Contender("Client, fresh array", "axiscast", by_client("down")),
        Contender("AsyncClient, reused array", "axiscast", by_client("down", AsyncClient, reused=True)),
        Contender("AsyncClient, fresh array", "axiscast", by_client("down", AsyncClient)),
        Contender("httpx .content", "axiscast", by_httpx("down")),
        Contender("httpx .content", "naive", by_httpx("down")),
        Contender("Arrow Flight, chunks of 1 MiB", "flight", by_flight, "pyarrow"),
        Contender("tritonclient, gRPC", "mlserver", by_tritonclient, "mlserver"),
    ],
    "up": [
        Contender("raw TCP", "tcp", tcp(up=True)),
        Contender("Client", "wire", by_client("up")),
        Contender("AsyncClient", "wire", by_client("up", AsyncClient)),
        Contender("Client", "axiscast", by_client("up")),
        Contender("AsyncClient", "axiscast", by_client("up", AsyncClient)),
        Contender("httpx content=bytes", "naive", by_httpx("up")),
    ],
    "small": [
        Contender("raw TCP", "tcp", tcp(up=False)),
        Contender("httpx and msgpack", "asgi", by_httpx("small")),
        Contender("http.client and msgpack", "asgi", by_http_client),
        Contender("Client", "asgi", by_client("small")),
        Contender("async httpx and msgpack", "asgi", by_async_httpx),
        Contender("AsyncClient", "asgi", by_client("small", AsyncClient)),
        Contender("httpx and msgpack", "naive", by_httpx("small")),
        Contender("httpx and msgpack", "axiscast", by_httpx("small")),
        Contender("Client", "axiscast", by_client("small")),
        Contender("AsyncClient", "axiscast", by_client("small", AsyncClient)),
    ],
}


# --- the run -------------------------------------------------------------------------------------------


def measure(group: str, nbytes: int, rounds: int) -> list[dict[str, Any]]:
    """Return for each contender the seconds of a call, CPU times, and the speed relative to the first contender.

    The seconds and the speed are (median, least, most). The CPU times are those of the client and of the server.
    """
    contenders = [contender for contender in CONTENDERS[group] if find_spec(contender.needs)]
    taken: list[list[tuple[float, float, float]]] = [[] for _ in contenders]
    with ExitStack() as stack:
        kinds = dict.fromkeys(contender.server for contender in contenders)
        servers = {kind: stack.enter_context(served(kind, 2 * ROW if group == "up" else nbytes)) for kind in kinds}
        calls = [
            stack.enter_context(contextmanager(contender.setup)(servers[contender.server][0], nbytes))
            for contender in contenders
        ]
        for number in range(rounds + 1):
            # In an order of its own: one that comes after a large one finds memory that the machine has taken back.
            turns = list(zip(contenders, calls, taken, strict=True))
            for contender, call, seconds in random.Random(number).sample(turns, len(turns)):
                many = SMALL_CALLS if group == "small" else 1
                server = cpu_of(servers[contender.server][1])
                start, cpu = time.perf_counter(), time.process_time()
                for _ in range(1 if "async" in contender.name.lower() else many):
                    call()
                if number:  # the first round warms up
                    own = (time.perf_counter() - start) / many, (time.process_time() - cpu) / many
                    seconds.append((*own, (cpu_of(servers[contender.server][1]) - server) / many))
    rows = []
    for contender, seconds in zip(contenders, taken, strict=True):
        walls, cpus, server_cpus = zip(*seconds, strict=True)
        ratios = [base / wall for (base, _, _), wall in zip(taken[0], walls, strict=True)]
        rows.append(
            {
                "contender": contender.name,
                "server": contender.server,
                "seconds": [statistics.median(walls), min(walls), max(walls)],
                "cpu_seconds": statistics.median(cpus),
                "server_cpu_seconds": statistics.mean(server_cpus),  # counted in hundredths
                "times_raw_tcp": [statistics.median(ratios), min(ratios), max(ratios)],
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[[], *CONTENDERS])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("-o", type=destination, help="write the figures there, as JSON")
    options = parser.parse_args()
    pin(1)
    results = {}
    for group in options.groups or CONTENDERS:
        small = group == "small"
        nbytes = SMALL if small else options.mib * 2**20
        results[group] = measure(group, nbytes, options.rounds * 10 if small else options.rounds)
        print(f"\n{group}, {nbytes} bytes")
        for row in results[group]:
            scale, unit = (1e6, "us") if small else (1e3, "ms")
            middle, least, most = (value * scale for value in row["seconds"])
            ratio, low, high = row["times_raw_tcp"]
            print(
                f"  {row['contender']:34} {row['server']:10} {middle:8.1f} {unit} ({least:.1f} .. {most:.1f}), "
                f"CPU {row['cpu_seconds'] * scale:.1f} and {row['server_cpu_seconds'] * scale:.1f}: "
                f"{ratio:.2f} x raw TCP ({low:.2f} .. {high:.2f})"
            )
    if options.o:
        save(options.o, results)


if __name__ == "__main__":
    main()
