"""Rolling restarts behind a proxy, under mixed load: no request may fail, and every byte is looked at.

    python benchmarks/load/rolling.py nginx|haproxy [--restarts 6] [--kill]

Two services, one proxy and sixteen clients, all on loopback: checks, batches of 1000 rows, uploads of 16 MiB, streams
of 64 MiB. Each service in turn gets SIGTERM, ends, is started again and becomes ready. With --kill it gets SIGKILL
instead, which may lose what it was just answering, and nothing that began later. A 503 with Retry-After is counted by
itself: it says that there is no room now. Exit status 1 where anything else failed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgpack

PROXIES = Path(__file__).parents[2] / "deploy" / "proxies"
MIB = 2**20
JSON, MSGPACK = "application/json", "application/vnd.msgpack"


# --- requests ------------------------------------------------------------------------------------

CHECK = json.dumps({"inputs": [[8, 1, 6, 1], [7, 1, 5]]}).encode()
ROWS = json.dumps({"requests": [{"inputs": [[row + 1, 1], [7]]} for row in range(1000)]}).encode()
STREAMED = struct.pack("<4f", 1.5, -2.0, 3.25, 0.0)
STREAM = json.dumps(
    {
        "op": {"name": "numpy.broadcast_to", "shape": [64 * MIB // 16, 4]},
        "inputs": [{"dtype": "float32", "shape": [4], "data": [1.5, -2.0, 3.25, 0.0]}],
    }
).encode()
PATTERN = STREAMED * (4 * MIB // 16 + 1)
UPLOADED = struct.pack("<I", 0x9E3779B9) * (4 * MIB)
UPLOAD = msgpack.packb(
    {
        "op": {"name": "numpy.broadcast_to", "shape": [3, 4 * MIB]},
        "inputs": [{"dtype": "uint32", "shape": [4 * MIB], "data": UPLOADED}],
        "layout": "strided",
    }
)


def is_checked(answer: http.client.HTTPResponse) -> bool:
    return json.load(answer)["shape"] == [8, 7, 6, 5]


def has_all_rows(answer: http.client.HTTPResponse) -> bool:
    shapes = [row["shape"] for row in json.load(answer)["results"]]
    return shapes == [[row + 1, 7] for row in range(1000)]


def is_streamed(answer: http.client.HTTPResponse) -> bool:
    """Whether each of the 64 MiB is what it should be, looked at as they come."""
    if not answer.read(int(answer.headers["Content-Length"]) - 64 * MIB).endswith(struct.pack(">BI", 0xC6, 64 * MIB)):
        return False
    received, room = 0, bytearray(4 * MIB)
    while count := answer.readinto(room):
        start = received % len(STREAMED)
        if room[:count] != PATTERN[start : start + count]:
            return False
        received += count
    if received < 64 * MIB:
        raise http.client.IncompleteRead(b"", 64 * MIB - received)
    return received == 64 * MIB


def is_uploaded(answer: http.client.HTTPResponse) -> bool:
    (output,) = msgpack.unpackb(answer.read())["broadcast_inputs"]
    data = output["data"]
    return output["strides"] == [0, 1] and (data if isinstance(data, bytes) else b"".join(data)) == UPLOADED


class Request(NamedTuple):
    """What some of the clients ask, and whether an answer to it is right."""

    clients: int
    method: str
    path: str
    body: bytes | None
    encoding: str
    is_right: Callable[[http.client.HTTPResponse], bool]


REQUESTS = {
    "check (GET)": Request(4, "GET", "/v1/check?input=8x1x6x1&input=7x1x5", None, JSON, is_checked),
    "check (POST)": Request(4, "POST", "/v1/check", CHECK, JSON, is_checked),
    "batch of 1000 rows": Request(2, "POST", "/v1/check/batch", ROWS, JSON, has_all_rows),
    "upload of 16 MiB": Request(3, "POST", "/v1/broadcast", UPLOAD, MSGPACK, is_uploaded),
    "stream of 64 MiB": Request(3, "POST", "/v1/broadcast", STREAM, JSON, is_streamed),
}


class Attempt(NamedTuple):
    """A request: when it began and ended, in seconds, and its fault, which is empty if the response was right."""

    began: float
    ended: float
    fault: str


def ask(connection: http.client.HTTPConnection, request: Request) -> str:
    """What is wrong with an answer; empty where nothing is."""
    accept = JSON if request.is_right in (is_checked, has_all_rows) else MSGPACK
    headers = {"Content-Type": request.encoding, "Accept": accept}
    connection.request(request.method, request.path, request.body, headers)
    answer = connection.getresponse()
    if answer.status == 200:
        return "" if request.is_right(answer) else "wrong bytes"
    answer.read()
    return "no room" if answer.status == 503 and answer.headers["Retry-After"] else f"status {answer.status}"


def load(port: int, request: Request, stop: threading.Event, attempts: list[Attempt]) -> None:
    """Ask over and over on one connection; after a failure on another."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while not stop.is_set():
        began = time.monotonic()
        try:
            fault = ask(connection, request)
        except (OSError, http.client.HTTPException, ValueError) as error:
            fault = type(error).__name__
        if fault:
            connection.close()
        attempts.append(Attempt(began, time.monotonic(), fault))
    connection.close()


# --- who answers ----------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_service(port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "axiscast", "serve", "--port", str(port)], stderr=subprocess.DEVNULL
    )
    wait_until(port, "/readyz")
    return process


def start_proxy(kind: str, folder: Path, port: int, services: list[int]) -> subprocess.Popen[bytes]:
    """The proxy with its configuration of deploy/proxies, on our ports."""
    text = (PROXIES / f"{kind}.conf").read_text()
    for shown, ours in zip(("8080", "8001", "8002"), (port, *services), strict=True):
        text = text.replace(f":{shown}", f":{ours}")
    configuration = folder / f"{kind}.conf"
    configuration.write_text(text)
    command = {
        "nginx": ["nginx", "-p", str(folder), "-c", str(configuration), "-g", "daemon off; pid nginx.pid;"],
        "haproxy": ["haproxy", "-db", "-f", str(configuration)],
    }[kind]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(port, "/readyz")
    return process


def wait_until(port: int, path: str) -> None:
    for _ in range(400):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit(f"nothing became ready on port {port}")


def restart(services: list[subprocess.Popen[bytes]], ports: list[int], number: int, kill: bool) -> tuple[float, float]:
    """Restart one of the services; when it was told to end, and when it had ended."""
    which = number % len(ports)
    began = time.monotonic()
    services[which].send_signal(signal.SIGKILL if kill else signal.SIGTERM)
    services[which].wait(60)
    ended = time.monotonic()
    services[which] = start_service(ports[which])
    return began, ended


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proxy", choices=["nginx", "haproxy"])
    parser.add_argument("--restarts", type=int, default=6)
    parser.add_argument("--kill", action="store_true", help="SIGKILL in place of SIGTERM")
    options = parser.parse_args()
    ports = [free_port(), free_port()]
    services = [start_service(port) for port in ports]
    front = free_port()
    attempts: dict[str, list[Attempt]] = defaultdict(list)
    stop = threading.Event()
    ends: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        proxy = start_proxy(options.proxy, Path(folder), front, ports)
        clients = [
            threading.Thread(target=load, args=(front, request, stop, attempts[name]))
            for name, request in REQUESTS.items()
            for _ in range(request.clients)
        ]
        try:
            for client in clients:
                client.start()
            for number in range(options.restarts):
                time.sleep(2)  # a proxy asks one that was dead again after as long
                ends.append(restart(services, ports, number, options.kill))
            time.sleep(2)
        finally:
            stop.set()
            for client in clients:
                client.join()
            for process in (*services, proxy):
                process.terminate()
            for process in (*services, proxy):
                process.wait(60)
    print(f"{options.proxy}, {len(ends)} restarts by {'SIGKILL' if options.kill else 'SIGTERM'}")
    print(f"{'':20}{'right':>8}{'no room':>9}{'failed':>8}{'p50 ms':>8}{'p99 ms':>8}")
    lost = 0
    for name in REQUESTS:
        took = sorted(1000 * (each.ended - each.began) for each in attempts[name])
        faults = Counter(each.fault for each in attempts[name])
        right, room = faults.pop("", 0), faults.pop("no room", 0)
        shown = f"{took[len(took) // 2]:8.0f}{took[len(took) * 99 // 100]:8.0f}  {dict(faults) or ''}"
        print(f"{name:20}{right:8}{room:9}{faults.total():8}{shown}")
        excused = ends if options.kill else []
        lost += sum(
            each.fault not in ("", "no room")
            and not any(each.began <= ended and began <= each.ended for began, ended in excused)
            for each in attempts[name]
        )
    print(f"failed{', and not in work when a service was killed' if options.kill else ''}: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
