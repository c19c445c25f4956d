"""The services of the soak test: one service, a service that reloads, and two replicas that restart behind HAProxy."""

from __future__ import annotations

import http.client
import os
import random
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from attacks.attack import REQUEST_SECONDS, Attack
from attacks.cases import ATTACKS
from conftest import started

from axiscast import Client

PROXY = Path(__file__).parents[2] / "deploy" / "proxies" / "haproxy.conf"
READY_SECONDS = 60.0
TUNNEL = """
defaults
    mode tcp
    timeout connect 5s
    timeout client 300s
    timeout server 300s
listen tunnel
    bind 127.0.0.1:{front}
    server service 127.0.0.1:{back} ssl verify none
"""
"""A configuration of HAProxy that adds TLS to connections, for attackers that speak HTTP without TLS."""


@dataclass
class Entrance:
    """An address that attackers use."""

    name: str
    url: str
    statuses: Sequence[int] = (503,)
    """The statuses that any attack may get here, in addition to its own. 0 means no response."""
    may_refuse: bool = False
    """Whether connections may fail, because the service behind this address restarts."""
    key: str | None = None

    def attacks(self) -> list[Attack]:
        """Return the attacks with the statuses that they may get here."""
        return [replace(with_key(attack, self.key), status=(*attack.statuses, *self.statuses)) for attack in ATTACKS]

    @property
    def fields(self) -> list[str]:
        """The header fields that authorise a request."""
        return [f"Authorization: Bearer {self.key}"] if self.key else []


class Tunnel(Entrance):
    """An entrance that adds TLS. TLS connections can't be half closed."""

    def attacks(self) -> list[Attack]:
        return [attack for attack in super().attacks() if "end" not in attack.pieces]


class Proxy(Entrance):
    """HAProxy, which corrects some malformed requests, speaks HTTP/2, and keeps the connections of clients open."""

    CORRECTED = ("two Hosts that agree", "a folded field", "a bare LF", "HTTP/9.9")

    def attacks(self) -> list[Attack]:
        return [
            replace(
                attack, status=(*attack.statuses, 200) if attack.name in self.CORRECTED else attack.status, closes=False
            )
            for attack in super().attacks()
            if attack.name != "HTTP/2 spoken at once"
        ]


class Process:
    """An `axiscast serve` or HAProxy, which can be restarted on the same port."""

    def __init__(self, command: Sequence[str], port: int, log: IO[str], **settings: object) -> None:
        self.command, self.port, self.log = command, port, log
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("AXISCAST_")}
        self.environment |= {f"AXISCAST_{name.upper()}": str(value) for name, value in settings.items()}
        self.stack = ExitStack()
        self.start()

    def start(self) -> None:
        self.process = self.stack.enter_context(
            started(self.command, env=self.environment, stdout=self.log, stderr=self.log)
        )

    def wait(self) -> None:
        """Wait for the end after SIGTERM. If the process does not end, it is killed and TimeoutExpired is raised."""
        with self.stack:
            self.process.wait(READY_SECONDS)


class Deployment:
    """One service that nothing disturbs."""

    interval: tuple[float, float] | None = None
    """The shortest and the longest time in seconds between two disturbances."""
    settings: dict[str, object] = {"request_seconds": REQUEST_SECONDS}
    entrances: list[Entrance]

    def __init__(self, folder: Path, log: IO[str]) -> None:
        self.folder, self.log = folder, log
        self.running: dict[str, Process] = {}
        self.start()

    def start(self) -> None:
        self.add_service("service", self.settings)
        self.url = f"http://127.0.0.1:{self.running['service'].port}"
        self.entrances = [Entrance("direct", self.url)]
        wait_until_ready(self.running["service"].port)

    def add_service(self, name: str, settings: dict[str, object]) -> None:
        port = fixed_port()
        command = [sys.executable, "-m", "axiscast", "serve", "--port", str(port)]
        self.running[name] = Process(command, port, self.log, allowed_hosts="*", **settings)

    def add_proxy(self, text: str, port: int) -> None:
        if shutil.which("haproxy") is None:
            raise SystemExit("this scenario needs haproxy: install it")
        path = self.folder / "haproxy.conf"
        path.write_text(text)
        self.running["haproxy"] = Process(["haproxy", "-db", "-f", str(path)], port, self.log)

    def client(self) -> Client:
        return Client(self.url, timeout=30, retries=0)

    def disturb(self) -> str:
        """Reload or restart the service, and return the outcome."""
        raise NotImplementedError

    def processes(self) -> dict[str, int]:
        """Return the id of each running process by name."""
        return {name: each.process.pid for name, each in self.running.items() if each.process.poll() is None}

    def stop(self) -> None:
        for each in self.running.values():
            each.process.terminate()
        for each in self.running.values():
            each.wait()


class Reloaded(Deployment):
    """Two workers with API keys and a certificate, which change every 20 to 30 seconds.

    The three newest keys are valid. Attackers always have the same key.
    """

    interval = (20, 30)

    def start(self) -> None:
        self.number = 0
        openssl(self.folder, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=soak")
        self.trust = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        self.renew()
        files = {"api_keys_file": self.folder / "keys", "tls_certificate": self.folder / "certificate"}
        self.add_service("service", self.settings | files | {"workers": 2})
        port, front = self.running["service"].port, fixed_port()
        self.url = f"https://127.0.0.1:{port}"
        self.add_proxy(TUNNEL.format(front=front, back=port), front)
        wait_until_ready(port, self.trust)
        self.entrances = [Tunnel("tunnel", f"http://127.0.0.1:{front}", (401, 503), key=key(0))]
        self.used = self.number

    def renew(self) -> None:
        """Write a new certificate and a new list of API keys. Each file changes at once."""
        self.number += 1
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1")
        openssl(self.folder, "-keyout", "leaf.key", "-out", "leaf", "-subj", f"/CN=soak-{self.number}", *signed)
        pem = (self.folder / "leaf").read_text() + (self.folder / "leaf.key").read_text()
        numbers = {0, *range(max(self.number - 2, 1), self.number + 1)}
        for name, text in (("certificate", pem), ("keys", "".join(f"client-{n}:{key(n)}\n" for n in numbers))):
            (self.folder / "next").write_text(text)
            (self.folder / "next").rename(self.folder / name)

    def client(self) -> Client:
        return Client(self.url, timeout=30, retries=0, api_key=key(self.used), verify=self.trust)

    def processes(self) -> dict[str, int]:
        found = super().processes()
        found["supervisor"] = found.pop("service")
        return found | {f"worker {number}": worker for number, worker in enumerate(workers_of(found["supervisor"]), 1)}

    def disturb(self) -> str:
        self.renew()
        end = time.monotonic() + READY_SECONDS
        while {self.probe() for _ in range(10)} != {(f"soak-{self.number}", 200, 401)}:
            if time.monotonic() > end:
                return f"reload {self.number} failed: {self.probe()}"
            time.sleep(0.5)
        self.used = self.number
        return "reloaded"

    def probe(self) -> tuple[object, ...]:
        """Return the name in the certificate of a new connection, and the statuses for a new key and for an old key."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.running["service"].port, timeout=30, context=self.trust
        )
        connection.connect()
        (((_, name),),) = connection.sock.getpeercert()["subject"]
        statuses = []
        for number in (self.number, self.number - 3):
            connection.request("GET", "/v1/ops", headers={"Authorization": f"Bearer {key(number or -1)}"})
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
        connection.close()
        return name, *statuses


class Restarted(Deployment):
    """Two replicas behind HAProxy with the shipped configuration. Every 30 seconds, the next replica restarts."""

    interval = (30, 30)

    def start(self) -> None:
        self.number = 0
        for name in ("one", "two"):
            self.add_service(name, self.settings)
        front, text = fixed_port(), PROXY.read_text()
        ports = [self.running[name].port for name in ("one", "two")]
        for shown, ours in zip((8080, 8001, 8002), (front, *ports), strict=True):
            text = text.replace(f":{shown}", f":{ours}")
        for port in ports:
            wait_until_ready(port)
        self.add_proxy(text, front)
        wait_until_ready(front)
        self.url = f"http://127.0.0.1:{front}"
        self.entrances = [
            Proxy("haproxy", self.url, PROXY_STATUSES),
            Entrance("direct", f"http://127.0.0.1:{ports[0]}", (0, 503), True),
        ]

    def disturb(self) -> str:
        name = ("one", "two")[self.number % 2]
        self.number += 1
        replica = self.running[name]
        replica.process.terminate()
        replica.wait()
        replica.start()
        wait_until_ready(replica.port)
        return "restarted" if replica.process.poll() is None else f"restart of {name} failed"


PROXY_STATUSES = (400, 408, 422, 503)
"""The statuses with which HAProxy itself may refuse an attack."""
SCENARIOS = {"attackers": Deployment, "reloads": Reloaded, "restarts": Restarted}


@contextmanager
def deployed(scenario: str, folder: Path) -> Iterator[Deployment]:
    """Return a running deployment, which writes its log to the file `log` in the folder."""
    with (folder / "log").open("w") as log:
        deployment = SCENARIOS[scenario](folder, log)
        try:
            yield deployment
        finally:
            deployment.stop()


def with_key(attack: Attack, key: str | None) -> Attack:
    """Return the attack with an API key in its first header block."""
    first, *rest = attack.pieces
    if key is None or not isinstance(first, bytes):
        return attack
    return replace(attack, pieces=[first.replace(b"\r\n", f"\r\nAuthorization: Bearer {key}\r\n".encode(), 1), *rest])


def key(number: int) -> str:
    return f"key-number-{number:08}"


def openssl(folder: Path, *arguments: str) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*command, "-days", "2", *arguments], cwd=folder, check=True, capture_output=True)


def fixed_port() -> int:
    """Return a free port that the system gives to no outgoing connection, so that it stays free during a restart."""
    for port in random.sample(range(15_000, 30_000), 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise SystemExit("no port between 15000 and 30000 is free")


def wait_until_ready(port: int, context: ssl.SSLContext | None = None) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        if context:
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass  # the service does not listen yet
        finally:
            connection.close()
        time.sleep(0.1)
    raise SystemExit(f"the service on port {port} did not become ready within {READY_SECONDS:.0f} seconds")


def workers_of(supervisor: int) -> list[int]:
    """Return the process ids of the workers."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
