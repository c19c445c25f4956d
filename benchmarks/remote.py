"""What the clients reach over loopback, beside raw TCP and ordinary code: arrays down, arrays up, small calls.

    python benchmarks/remote.py [patterns] [down] [up] [small] [--rounds 9] [--mib 512] [-o results/remote.json]

Servers run on core 0, clients on core 1. Each round calls every contender once, so that the noise of the machine falls
on all of them; what counts are ratios, taken round by round. Each contender is a row of CONTENDERS: its name, its
server, and a function that sets it up and yields what is timed.

Of the servers `tcp` speaks no HTTP at all: what the loopback can do. `wire` speaks the least HTTP that will do, and
sends bytes that lie ready: what a client can do. `asgi` is uvicorn with an application of a few lines, `naive` what is
usually written with FastAPI and msgpack, `tensorcast` this service. Arrow Flight (pyarrow), which holds a table that
lies ready, and MLServer with a model that broadcasts (tritonclient asks over gRPC) compete where they are installed.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import math
import os
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

import httpx
import msgpack
import numpy as np
import uvicorn
from fastapi import FastAPI, Request, Response
from harness import cpu_of, destination, free_port, pin, save

from tensorcast import AsyncClient, Client
from tensorcast.ops import numpy as op
from tensorcast.ops import stablehlo

STEP = 2**20
"""Bytes that the servers send, and throw away, at a time."""
TCP_STEPS = {"tcp": STEP, "tcp, a page less": STEP - 2**12}
"""Raw TCP by what it writes at a time: the usual, and what Linux takes faster."""
ROW = 4096
"""Bytes of a row: what comes down is one row again and again, what goes up are many of which one comes back."""
SMALL = 4096
"""Bytes of a small answer, made from 128."""
SMALL_CALLS = 20
"""Small calls that are timed together."""
MSGPACK = {"Content-Type": "application/vnd.msgpack", "Accept": "application/vnd.msgpack"}


# --- servers: each a process of its own ----------------------------------------------------------------


def serve(kind: str, port: int, answer_bytes: int) -> None:
    pin(0)
    if kind in TCP_STEPS:
        accept(port, lambda connection: talk_tcp(connection, TCP_STEPS[kind]))
    elif kind == "wire":
        accept(port, lambda connection: talk_http(connection, answer_bytes))
    elif kind == "tensorcast":
        os.environ |= {"TENSORCAST_PORT": str(port), "TENSORCAST_DRAIN_SECONDS": "0"}
        os.execv(sys.executable, [sys.executable, "-m", "tensorcast", "serve"])
    elif kind == "flight":
        flight(port, answer_bytes)
    elif kind == "mlserver":
        asyncio.run(mlserver(port))
    else:
        app = bare(answer_bytes) if kind == "asgi" else naive()
        uvicorn.run(app, port=port, log_level="error", access_log=False, timeout_keep_alive=600)


def accept(port: int, talk: Callable[[socket.socket], None]) -> None:
    def until_left(connection: socket.socket) -> None:
        with connection:
            try:
                talk(connection)
            except (ConnectionError, EOFError):
                return

    with socket.create_server(("127.0.0.1", port)) as listener:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=until_left, args=(connection,), daemon=True).start()


def talk_tcp(connection: socket.socket, most: int) -> None:
    """Takes two lengths of 8 bytes: how many bytes come, and how many are wanted."""
    step = memoryview(bytearray(STEP))
    while True:
        receive(connection, step[:16])
        wanted = int.from_bytes(step[8:16], "big")
        drain(connection, int.from_bytes(step[:8], "big"), step)
        for start in range(0, wanted, most):
            connection.sendall(step[: min(most, wanted - start)])


def talk_http(connection: socket.socket, answer_bytes: int) -> None:
    """Takes any request with a Content-Length, and answers with a tensor that lies ready."""
    step, data = memoryview(bytearray(STEP)), memoryview(bytes(STEP))
    body = answer_head(answer_bytes)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.msgpack\r\nContent-Length: {len(body) + answer_bytes}"
    head_and_body = head.encode() + b"\r\n\r\n" + body
    while True:
        got, end = 0, -1
        while end < 0:
            if not (more := connection.recv_into(step[got:])):
                raise EOFError
            got += more
            end = bytes(step[:got]).find(b"\r\n\r\n")
        length = int(bytes(step[:end]).lower().split(b"content-length:")[1].split(b"\r\n")[0])
        drain(connection, length - (got - end - 4), step)
        if answer_bytes < STEP:
            connection.sendall(head_and_body + data[:answer_bytes])
        else:
            connection.sendall(head_and_body)
            for start in range(0, answer_bytes, STEP):
                connection.sendall(data[: answer_bytes - start])


def answer_head(answer_bytes: int) -> bytes:
    """{"outputs": [a tensor of so many bytes]} up to the bytes themselves."""
    packer = msgpack.Packer()
    fields = {"dtype": "float32", "shape": [32, 32] if answer_bytes == SMALL else [answer_bytes // ROW, ROW // 4]}
    packed = (
        packer.pack_map_header(1) + packer.pack("outputs") + packer.pack_array_header(1) + packer.pack_map_header(3)
    )
    packed += b"".join(packer.pack(name) + packer.pack(value) for name, value in fields.items())
    return packed + packer.pack("data") + b"\xc6" + answer_bytes.to_bytes(4, "big")


def receive(connection: socket.socket, target: memoryview) -> None:
    while target:
        got = connection.recv_into(target)
        if not got:
            raise EOFError
        target = target[got:]


def drain(connection: socket.socket, count: int, step: memoryview) -> None:
    while count > 0:
        got = connection.recv_into(step[: min(count, STEP)])
        if not got:
            raise EOFError
        count -= got


def bare(answer_bytes: int) -> Any:
    head, data = answer_head(answer_bytes), memoryview(bytes(STEP))
    headers = [(b"content-type", b"application/vnd.msgpack"), (b"content-length", b"%d" % (len(head) + answer_bytes))]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if answer_bytes < STEP:
            await send({"type": "http.response.body", "body": head + data[:answer_bytes]})
            return
        await send({"type": "http.response.body", "body": head, "more_body": True})
        for start in range(0, answer_bytes, STEP):
            await send({"type": "http.response.body", "body": data[: answer_bytes - start], "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return app


def naive() -> FastAPI:
    app = FastAPI()

    @app.post("/v1/broadcast")
    async def broadcast(request: Request) -> Response:
        asked = msgpack.unpackb(await request.body())
        tensor = asked["inputs"][0]
        array = np.frombuffer(tensor["data"], tensor["dtype"]).reshape(tensor["shape"])
        result = np.broadcast_to(array, asked["op"]["shape"])[: 2 if "window" in asked else None]
        output = {"dtype": str(result.dtype), "shape": list(result.shape), "data": result.tobytes()}
        return Response(msgpack.packb({"outputs": [output]}), media_type="application/vnd.msgpack")

    return app


def flight(port: int, answer_bytes: int) -> None:
    import pyarrow.flight

    table = pyarrow.table({"data": np.zeros(answer_bytes // 4, np.float32)})
    batches = pyarrow.Table.from_batches(table.to_batches(max_chunksize=STEP // 4))

    class Held(pyarrow.flight.FlightServerBase):  # type: ignore[misc]
        def do_get(self, context: object, ticket: object) -> object:
            return pyarrow.flight.RecordBatchStream(batches)

    Held(f"grpc://127.0.0.1:{port}").serve()


async def mlserver(port: int) -> None:
    from mlserver import MLModel, MLServer, ModelSettings, Settings
    from mlserver.codecs import NumpyCodec
    from mlserver.types import InferenceRequest, InferenceResponse

    class Broadcast(MLModel):  # type: ignore[misc]
        async def predict(self, payload: InferenceRequest) -> InferenceResponse:
            array, target = (NumpyCodec.decode_input(tensor) for tensor in payload.inputs)
            output = NumpyCodec.encode_output("output", np.broadcast_to(array, target))
            return InferenceResponse(model_name=self.name, outputs=[output])

    globals()["Broadcast"] = Broadcast  # MLServer imports models by name
    unlimited = {"grpc_max_message_length": -1, "parallel_workers": 0, "metrics_endpoint": None}
    server = MLServer(Settings(host="127.0.0.1", http_port=free_port(), grpc_port=port, **unlimited))
    await server.start([ModelSettings(name="broadcast", implementation="__main__.Broadcast")])


LARGE = {"TENSORCAST_MAX_BODY_BYTES": str(2**31), "TENSORCAST_MEMORY_BUDGET_BYTES": str(2**32)}


@contextmanager
def served(kind: str, answer_bytes: int, settings: Mapping[str, str] = LARGE) -> Iterator[tuple[str, int]]:
    """The address and the process id of a server that runs, with these settings of tensorcast in its environment."""
    port = free_port()
    command = [sys.executable, __file__, "--serve", kind, str(port), str(answer_bytes)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | settings)
    try:
        for _ in range(400):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait()


# --- contenders ----------------------------------------------------------------------------------------

Timed = Iterator[Callable[[], object]]


class Contender(NamedTuple):
    name: str
    server: str
    setup: Callable[[str, int], Timed]
    """Given the server's address and how many bytes move, yields what is timed, and cleans up."""
    needs: str = "tensorcast"
    """What must be installed."""


def asked(group: str, nbytes: int) -> tuple[Any, tuple[int, int], dict[str, Any]]:
    """A call's input, the shape that it is broadcast to, and what else it asks for."""
    if group == "small":
        return np.arange(32, dtype=np.float32), (32, 32), {}
    target = (nbytes // ROW, ROW // 4)
    if group == "down":
        return np.arange(ROW // 4, dtype=np.float32), target, {}
    return np.zeros(target, np.float32), target, {"window": [(0, 2), (0, ROW // 4)]}


def packed(group: str, nbytes: int) -> bytes:
    """The same as a program without this library would send it."""
    array, target, further = asked(group, nbytes)
    tensor = {"dtype": "float32", "shape": list(array.shape), "data": array.tobytes()}
    return bytes(msgpack.packb({"op": {"name": "numpy.broadcast_to", "shape": target}, **further, "inputs": [tensor]}))


def unpacked(answer: bytes) -> Any:
    (tensor,) = msgpack.unpackb(answer, max_bin_len=2**31)["outputs"]
    return np.frombuffer(tensor["data"], tensor["dtype"]).reshape(tensor["shape"])


def connected(address: str) -> socket.socket:
    host, port = address.split(":")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


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
    """An asynchronous call so many times, one after another."""

    async def calls() -> None:
        for _ in range(many):
            await call()

    with asyncio.Runner() as runner:
        yield lambda: runner.run(calls())
        runner.run(close())


def by_pattern(dtype: str, shape: Shape, target: Shape, order: Shape) -> Callable[[str, int], Timed]:
    """An input of this shape to this target, whose axis 0 (None) is as long as the bytes ask for."""

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
"""Shapes of an input and of its output, and where the input's axes go."""

CONTENDERS: dict[str, list[Contender]] = {
    "patterns": [
        Contender("raw TCP, reused array", "tcp", tcp(up=False)),
        Contender("raw TCP, steps of 1 MiB less a page", "tcp, a page less", tcp(up=False)),
        *(
            Contender(f"{pattern}, {dtype}", "tensorcast", by_pattern(dtype, *shapes))
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
        Contender("Client, reused array", "tensorcast", by_client("down", reused=True)),
        Contender("Client, fresh array", "tensorcast", by_client("down")),
        Contender("AsyncClient, reused array", "tensorcast", by_client("down", AsyncClient, reused=True)),
        Contender("AsyncClient, fresh array", "tensorcast", by_client("down", AsyncClient)),
        Contender("httpx .content", "tensorcast", by_httpx("down")),
        Contender("httpx .content", "naive", by_httpx("down")),
        Contender("Arrow Flight, chunks of 1 MiB", "flight", by_flight, "pyarrow"),
        Contender("tritonclient, gRPC", "mlserver", by_tritonclient, "mlserver"),
    ],
    "up": [
        Contender("raw TCP", "tcp", tcp(up=True)),
        Contender("Client", "wire", by_client("up")),
        Contender("AsyncClient", "wire", by_client("up", AsyncClient)),
        Contender("Client", "tensorcast", by_client("up")),
        Contender("AsyncClient", "tensorcast", by_client("up", AsyncClient)),
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
        Contender("httpx and msgpack", "tensorcast", by_httpx("small")),
        Contender("Client", "tensorcast", by_client("small")),
        Contender("AsyncClient", "tensorcast", by_client("small", AsyncClient)),
    ],
}


# --- the run -------------------------------------------------------------------------------------------


def measure(group: str, nbytes: int, rounds: int) -> list[dict[str, Any]]:
    """For each contender seconds of a call (median, least, most), the CPU time of the client and of the server, and how
    many times as fast as the first contender it was in the same round (median, least, most)."""
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
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        kind, port, answer_bytes = options.serve
        serve(kind, int(port), int(answer_bytes))
        return
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
