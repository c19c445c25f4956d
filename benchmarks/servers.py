"""Servers for benchmarks of clients. Each is a process on core 0.

`tcp` speaks no HTTP at all: what the loopback can do. `wire` speaks the least HTTP that will do, and sends bytes that
lie ready: what a client can do. `asgi` is uvicorn with an application of a few lines, `naive` what is usually written
with FastAPI and msgpack, `axiscast` this service. `flight` is Arrow Flight (pyarrow), which holds a table that lies
ready, and `mlserver` MLServer with a model that broadcasts: they compete where they are installed.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgpack
import numpy as np
import uvicorn
from fastapi import FastAPI, Request, Response
from harness import free_port, pin

STEP = 2**20
"""The number of bytes that the servers send or discard at a time."""
TCP_STEPS = {"tcp": STEP, "tcp, a page less": STEP - 2**12}
"""The raw TCP servers by the size of a write: a usual size, and a faster one on Linux."""
ROW = 4096
"""The size of a row in bytes. Downloads repeat a row, and uploads have many rows."""
SMALL = 4096
"""The size of a small response in bytes, computed from 128 bytes."""


def serve(kind: str, port: int, answer_bytes: int) -> None:
    pin(0)
    if kind in TCP_STEPS:
        accept(port, lambda connection: talk_tcp(connection, TCP_STEPS[kind]))
    elif kind == "wire":
        accept(port, lambda connection: talk_http(connection, answer_bytes))
    elif kind == "axiscast":
        os.environ |= {"AXISCAST_PORT": str(port), "AXISCAST_DRAIN_SECONDS": "0"}
        os.execv(sys.executable, [sys.executable, "-m", "axiscast", "serve"])
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
    """A server that reads two lengths of 8 bytes: the bytes to receive, and the bytes to send."""
    step = memoryview(bytearray(STEP))
    while True:
        receive(connection, step[:16])
        wanted = int.from_bytes(step[8:16], "big")
        drain(connection, int.from_bytes(step[:8], "big"), step)
        for start in range(0, wanted, most):
            connection.sendall(step[: min(most, wanted - start)])


def talk_http(connection: socket.socket, answer_bytes: int) -> None:
    """A server that accepts any request with a Content-Length, and sends a prepared tensor."""
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
    """Return {"broadcast_inputs": [tensor]} in MessagePack up to the bytes of the tensor."""
    packer = msgpack.Packer()
    fields = {"dtype": "float32", "shape": [32, 32] if answer_bytes == SMALL else [answer_bytes // ROW, ROW // 4]}
    packed = packer.pack_map_header(1) + packer.pack("broadcast_inputs")
    packed += packer.pack_array_header(1) + packer.pack_map_header(3)
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
        media = request.headers["content-type"]
        asked = (json.loads if media == "application/json" else msgpack.unpackb)(await request.body())
        tensor = asked["inputs"][0]
        if media == "application/json":
            array = np.array(tensor["data"], tensor["dtype"])
            result = np.broadcast_to(array, asked["op"]["shape"])
            output = {"dtype": str(result.dtype), "shape": list(result.shape), "data": result.tolist()}
            return Response(json.dumps({"outputs": [output]}), media_type=media)
        array = np.frombuffer(tensor["data"], tensor["dtype"]).reshape(tensor["shape"])
        result = np.broadcast_to(array, asked["op"]["shape"])[: 2 if "window" in asked else None]
        output = {"dtype": str(result.dtype), "shape": list(result.shape), "data": result.tobytes()}
        return Response(msgpack.packb({"broadcast_inputs": [output]}), media_type="application/vnd.msgpack")

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


LARGE = {"AXISCAST_MAX_BODY_BYTES": str(2**31), "AXISCAST_MEMORY_BUDGET_BYTES": str(2**32)}


def connected(address: str) -> socket.socket:
    host, port = address.split(":")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


@contextmanager
def served(kind: str, answer_bytes: int, settings: Mapping[str, str] = LARGE) -> Iterator[tuple[str, int]]:
    """Run a server with these settings of axiscast. Return its address and its process id."""
    port = free_port()
    command = [sys.executable, __file__, kind, str(port), str(answer_bytes)]
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


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
