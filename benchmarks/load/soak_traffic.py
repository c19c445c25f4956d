"""The traffic of the soak test: clients that verify every response, and attackers."""

from __future__ import annotations

import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from attacks.attack import head, post
from attacks.test_attacks import strike
from soak_services import Deployment, Entrance

from axiscast import Client, Overloaded, ShuttingDown
from axiscast.ops import mindspore, ngraph, numpy

ROWS = np.tile([8, 1, 6, 1], (10_000, 1)), np.tile([7, 1, 5], (10_000, 1))
GRID = np.arange(65536, dtype=np.float32).reshape(256, 256)
CLIENTS = 4


class Tally:
    """The outcomes of all requests, and the durations in seconds of the verified requests since the last sample."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._durations: list[float] = []

    def count(self, outcome: str, seconds: float | None = None) -> None:
        with self._lock:
            self.outcomes[outcome[:200]] += 1
            if seconds is not None:
                self._durations.append(seconds)

    def durations(self) -> list[float]:
        """Return the sorted durations since the last call."""
        with self._lock:
            taken, self._durations = self._durations, []
        return sorted(taken)


class Traffic:
    """Clients and attackers of one deployment. Each waits `pause` seconds on average between two requests."""

    def __init__(self, deployment: Deployment, tally: Tally, pause: float) -> None:
        self.deployment, self.tally, self.pause = deployment, tally, pause
        self.stop = threading.Event()

    def participants(self) -> list[Callable[[], None]]:
        """Return the functions that send requests until `stop` is set. Each needs its own thread."""
        found: list[Callable[[], None]] = [self.send_verified] * CLIENTS
        for entrance in self.deployment.entrances:
            for attacker in (self.send_attacks, self.abandon_requests, self.be_slow):
                found.append(lambda attacker=attacker, entrance=entrance: attacker(entrance))  # type: ignore[misc]
        if self.deployment.interval:
            found.append(self.disturb)
        return found

    def has_ended(self, least: float = 0.0) -> bool:
        """Wait for the pause, or for `least` seconds if they are more, and return whether the traffic must end."""
        return self.stop.wait(max(least, random.uniform(0.5, 1.5) * self.pause))

    def disturb(self) -> None:
        """Reload or restart the service in random intervals."""
        shortest, longest = self.deployment.interval
        while not self.stop.wait(random.uniform(shortest, longest)):
            self.tally.count(self.deployment.disturb())

    def send_verified(self) -> None:
        """Send a request of each kind on one connection, then the next round on a new connection."""
        while not self.stop.is_set():
            with self.deployment.client() as client:
                for name, is_right in random.sample([*verified(client).items()], len(VERIFIED)):
                    if self.has_ended():
                        return
                    began = time.monotonic()
                    try:
                        outcome = "good" if is_right() else f"wrong: {name}"
                    except (Overloaded, ShuttingDown):
                        outcome = "refused"
                    except Exception as error:  # every other failure is a lost request, and fails the run
                        outcome = f"lost: {name}: {type(error).__name__}: {error}"
                    self.tally.count(outcome, time.monotonic() - began)

    def send_attacks(self, entrance: Entrance) -> None:
        """Send the attacks of tests/attacks in random order."""
        attacks = entrance.attacks()
        while True:
            for attack in random.sample(attacks, len(attacks)):
                if self.has_ended(0.05):
                    return
                try:
                    status = strike(entrance.url, attack).status
                except OSError as error:
                    expected, status = entrance.may_refuse, type(error).__name__
                else:
                    expected = status in attack.statuses
                self.tally.count("attack answered" if expected else f"{entrance.name}: attack {attack.name}: {status}")

    def abandon_requests(self, entrance: Entrance) -> None:
        """Close connections at every point of a request and its response."""
        body = b'{"op": {"name": "numpy.broadcast_to", "shape": [1000, 1000, 1000]}, "inputs": [{"dtype": "int8", '
        body += b'"shape": [], "base64": "AQ=="}]}'
        fields = "Accept: application/vnd.msgpack", *entrance.fields
        (whole,) = post(body, "/v1/broadcast", "application/json", *fields)
        while not self.has_ended(0.02):
            try:
                with connected(entrance) as connection:
                    abandon(connection, whole)
            except OSError as error:
                if not entrance.may_refuse:
                    self.tally.count(f"{entrance.name}: abandoning failed: {type(error).__name__}")
            self.tally.count("abandoned")

    def be_slow(self, entrance: Entrance) -> None:
        """Send the bytes of up to twenty requests one by one, and read responses in the same way."""
        requests = head("GET", "/livez", *entrance.fields)[:-3], post(b" " * 1000, "/v1/check", "application/json",
                                                                      *entrance.fields)[0][:-900]  # fmt: skip
        held: list[socket.socket] = []
        while not self.has_ended(0.2):
            try:
                held.append(connected(entrance))
                held[-1].setblocking(False)
                held[-1].send(random.choice(requests))
            except OSError as error:
                if not entrance.may_refuse:
                    self.tally.count(f"{entrance.name}: slow request failed: {type(error).__name__}")
            for connection in held:
                crawl(connection)
            while len(held) > 20:
                held.pop(0).close()
            self.tally.count("slow")
        for connection in held:
            connection.close()


def verified(client: Client) -> dict[str, Callable[[], bool]]:
    """Return functions that send a request and return whether each part of the response is right."""
    op = ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})
    row = np.arange(2**16).astype(np.int8)
    check, arrays = client.check, "numpy.broadcast_arrays"
    return {
        "shapes": lambda: client.broadcast_shapes((8, 1, 6, 1), (7, 1, 5)) == (8, 7, 6, 5),
        "conflict": lambda: check(arrays, (3,), (4,)).conflict.sizes == (3, 4),  # type: ignore[union-attr]
        "symbols": lambda: [each.shape for each in check(arrays, ("N", 3), (1, 3)).outputs] == [("N", 3)] * 2,
        "batch": lambda: [answer.shape for answer in client.check_batch([BATCH_ROW] * 100)] == [(3, 4)] * 100,
        "columns": lambda: is_right_table(client.check_columns(arrays, *ROWS)),
        "dense": lambda: np.array_equal(client.broadcast_to(GRID, (16, 256, 256)), np.stack([GRID] * 16)),
        "strided": lambda: is_view(client.broadcast_to(np.arange(3), (10**12, 3), layout="strided")),
        "gradient": lambda: client.backprop(op, [(3,)], np.ones((2, 3)))[0].tolist() == [2, 2, 2],
        "mindspore": lambda: (
            client.broadcast(mindspore.broadcast_to(shape=(-1, 2)), np.array([[1.5], [2], [3]]))[0].tolist()
            == [[1.5, 1.5], [2, 2], [3, 3]]
        ),
        "comparison": lambda: (
            {each.op["name"] for each in client.compare((1, 3), shape=(2, -1)) if each.compatible} == KEEPS_AXES
        ),
        "translation": lambda: "y = x.expand((2, 3))" in str(client.translate(op, (3,), to="torch.expand")),
        "stream": lambda: np.array_equal(
            client.broadcast(numpy.broadcast_to(shape=(64, 2**16)), row)[0], np.stack([row] * 64)
        ),
    }  # fmt: skip


BATCH_ROW = {"inputs": [(3, 1), (4,)]}
KEEPS_AXES = {"mindspore.broadcast_to", "torch.expand", "paddle.expand", "tinygrad.expand"}
"""The ops that read -1 in a target shape as the size of the input."""
with Client("http://127.0.0.1:1") as unused:
    VERIFIED = tuple(verified(unused))


def is_right_table(table: object) -> bool:
    inputs = table.broadcast_inputs  # type: ignore[attr-defined]
    shapes = [array.tolist() == [[8, 7, 6, 5]] * 10_000 for array in inputs]
    return shapes == [True, True] and bool(table.compatible.all())  # type: ignore[attr-defined]


def is_view(array: np.ndarray) -> bool:
    return array.shape == (10**12, 3) and array.strides == (0, 8) and array[-1].tolist() == [0, 1, 2]


def connected(entrance: Entrance) -> socket.socket:
    address = urlsplit(entrance.url)
    return socket.create_connection((address.hostname, address.port), 5)


def abandon(connection: socket.socket, whole: bytes) -> None:
    connection.sendall(whole[: random.choice([0, 10, len(whole) // 2, len(whole)])])
    connection.settimeout(0.2)
    try:
        if random.random() < 0.5:
            connection.recv(random.choice([1, 1000, 2**20]))
    except TimeoutError:
        pass  # an incomplete request has no response
    if random.random() < 0.5:  # the connection is reset instead of closed in order
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def crawl(connection: socket.socket) -> None:
    """Send one byte and read one byte, if possible."""
    try:
        connection.send(b"a")
        connection.recv(1)
    except OSError:
        pass  # no byte has arrived, or the service has closed the connection
