"""Induce six faults in a running service while four clients send checks, and print what the clients notice.

    python benchmarks/load/faults.py [FAULT ...] [-o FILE]

Each row has the number of requests, the failed requests, the slowest response, and what was true after the fault. All
traffic stays on the loopback address. The clock jump needs libfaketime (Debian's package faketime), and the replaced
certificate needs openssl.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path

SECONDS = 6.0
"""The time, in seconds, for which the client sends requests. The fault is induced after a third of it."""
CLIENTS = 4
"""The number of clients. Each client has one connection, on which it sends its next check after each response."""
PAUSE_SECONDS = 0.005
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
DESCRIPTORS = 64


class Service:
    """A running service, and the means to induce a fault in it."""

    def __init__(self, folder: Path, stderr: object = subprocess.DEVNULL, files: int | None = None, **settings: object):
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.encrypted = "tls_certificate" in settings
        preload = settings.pop("preload", {})
        environment = (
            os.environ | {f"AXISCAST_{name.upper()}": str(value) for name, value in settings.items()} | preload
        )
        limit = None if files is None else lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        command = [sys.executable, "-m", "axiscast", "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(command, env=environment, stderr=stderr, preexec_fn=limit)

    def get(self, path: str, connection: HTTPConnection | None = None) -> bytes:
        """Return the body of a response. Raises OSError or HTTPException if there is none, or its status is not 200."""
        own = connection or self.connect()
        own.request("GET", path)
        response = own.getresponse()
        body = response.read()
        if response.status != 200:
            raise HTTPException(f"status {response.status}")
        if connection is None:
            own.close()
        return body

    def connect(self) -> HTTPConnection:
        if self.encrypted:
            return HTTPSConnection("127.0.0.1", self.port, timeout=10, context=ssl._create_unverified_context())
        return HTTPConnection("127.0.0.1", self.port, timeout=10)

    def metric(self, name: str) -> float:
        lines = self.get("/metrics").decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name) and not line.startswith("#"))

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def serial(self) -> str:
        """Return the serial number of the certificate that the service uses."""
        pem = ssl.get_server_certificate(("127.0.0.1", self.port))
        done = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=pem, capture_output=True, text=True)
        return done.stdout.strip()


@contextmanager
def running(service: Service) -> Iterator[Service]:
    try:
        for _ in range(600):
            with suppress(OSError, HTTPException):
                service.get("/readyz")
                break
            time.sleep(0.05)
        else:
            raise RuntimeError("the service did not start within 30 s")
        yield service
    finally:
        service.process.terminate()
        try:
            service.process.wait(30)
        except subprocess.TimeoutExpired:
            service.process.kill()
            service.process.wait()


def certificate(folder: Path) -> dict[str, Path]:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=axiscast"]
    pair = {"tls_certificate": folder / "certificate", "tls_key": folder / "key"}
    new = {name: path.with_suffix(".new") for name, path in pair.items()}
    options = ["-keyout", str(new["tls_key"]), "-out", str(new["tls_certificate"])]
    subprocess.run([*command, *options], check=True, capture_output=True)
    for name, path in pair.items():
        new[name].replace(path)
    return pair


# Each fault: a function that starts a service, and yields after the client may begin, after which it induces the fault.
# The last value that it yields is what was true after the fault.
Fault = Callable[[Path], Iterator["Service | str | None"]]


def stuck_pipe(folder: Path) -> Iterator[Service | str | None]:
    reading, writing = os.pipe()
    with running(Service(folder, stderr=writing, access_log="true")) as service:
        yield service
        yield None  # the pipe is full after a few hundred requests, because no process reads it
        yield f"{service.metric('axiscast_log_lines_dropped_total'):.0f} log lines dropped"
        os.set_blocking(reading, False)
        os.close(reading)
    os.close(writing)


def killed_worker(folder: Path) -> Iterator[Service | str | None]:
    with running(Service(folder, workers=2)) as service:
        while len(service.workers()) < 2:
            time.sleep(0.1)
        yield service
        os.kill((killed := service.workers()[0]), signal.SIGKILL)
        yield None
        while len([pid for pid in service.workers() if pid != killed]) < 2:
            time.sleep(0.1)
        yield "2 workers run"


def full_disk(folder: Path) -> Iterator[Service | str | None]:
    os.environ["TMPDIR"] = "/dev/full"
    try:
        with Path("/dev/full").open("w") as full, running(Service(folder, stderr=full, access_log="true")) as service:
            yield service
            yield None
            yield f"{service.metric('axiscast_log_lines_dropped_total'):.0f} log lines dropped"
    finally:
        del os.environ["TMPDIR"]


def few_descriptors(folder: Path) -> Iterator[Service | str | None]:
    with running(Service(folder, files=DESCRIPTORS)) as service:
        yield service
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(200)]
        yield None
        for connection in idle:
            connection.close()
        used = len(os.listdir(f"/proc/{service.process.pid}/fd"))
        yield f"{used} of {DESCRIPTORS} descriptors used"


def clock_jump(folder: Path) -> Iterator[Service | str | None]:
    (clock := folder / "clock").write_text("+0")
    fake = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    fake |= {"DONT_FAKE_MONOTONIC": "1"}
    with running(Service(folder, preload=fake)) as service:
        yield service
        clock.write_text("+86400")
        time.sleep(1)
        clock.write_text("-86400")
        yield None
        connection = service.connect()
        service.get("/livez", connection)
        connection.request("GET", "/livez")
        yield f"the Date header is {connection.getresponse().headers['Date']}"


def replaced_certificate(folder: Path) -> Iterator[Service | str | None]:
    with running(Service(folder, **certificate(folder))) as service:
        before = service.serial()
        yield service
        certificate(folder)
        time.sleep(2.5)  # the files are read every two seconds
        yield None
        yield "the new certificate is used" if service.serial() != before else "THE OLD CERTIFICATE IS USED"


FAULTS: dict[str, Fault] = {
    "an unread pipe for the log": stuck_pipe,
    "kill -9 of one of two workers": killed_worker,
    "a full disk for the log and for temporary files": full_disk,
    "64 file descriptors and 200 idle connections": few_descriptors,
    "the clock jumps by a day, forward and back": clock_jump,
    "the TLS certificate is replaced": replaced_certificate,
}


class Traffic(threading.Thread):
    """A client that sends one check after the other, and connects again after a failure."""

    def __init__(self, service: Service) -> None:
        super().__init__(daemon=True)
        self.service = service
        self.ends = False
        self.times: list[float] = []
        self.failures: list[str] = []

    def run(self) -> None:
        connection = self.service.connect()
        while not self.ends:
            start = time.perf_counter()
            try:
                self.service.get("/v1/check?input=3,1&input=4", connection)
            except (OSError, HTTPException) as error:
                self.failures.append(type(error).__name__)
                connection.close()
                connection = self.service.connect()
            self.times.append(time.perf_counter() - start)
            time.sleep(PAUSE_SECONDS)


def measure(fault: Fault) -> dict[str, object]:
    """Return what a client notices of a fault."""
    with tempfile.TemporaryDirectory() as folder:
        steps = fault(Path(folder))
        service = next(steps)
        assert isinstance(service, Service)
        traffic = [Traffic(service) for _ in range(CLIENTS)]
        for client in traffic:
            client.start()
        time.sleep(SECONDS / 3)
        next(steps)
        time.sleep(SECONDS * 2 / 3)
        for client in traffic:
            client.ends = True
            client.join()
        after = next(steps)
        next(steps, None)  # the service ends
    return {
        "requests": sum(len(client.times) for client in traffic),
        "failed": sum(len(client.failures) for client in traffic),
        "slowest_ms": round(max(max(client.times) for client in traffic) * 1000, 1),
        "after": after,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", help="parts of the names of the faults; all if left out")
    parser.add_argument("-o", "--output", type=Path, help="also write the results to this file in JSON")
    options = parser.parse_args()
    results = {}
    print("| fault | requests | failed | slowest response | after the fault |\n|---|---|---|---|---|")
    for name, fault in FAULTS.items():
        if options.faults and not any(part in name for part in options.faults):
            continue
        if fault is clock_jump and not Path(FAKETIME).exists():
            print(f"| {name} | not run: faketime is not installed | | | |")
            continue
        found = results[name] = measure(fault)
        values = f"{found['requests']} | {found['failed']} | {found['slowest_ms']} ms | {found['after']}"
        print(f"| {name} | {values} |", flush=True)
    if options.output:
        options.output.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
