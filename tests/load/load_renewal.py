"""Keys and certificates that change while the service is in use: no connection and no response is lost."""

from __future__ import annotations

import http.client
import signal
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from conftest import PATIENCE, Served, run, served, wait_for
from test_faults import listeners_of, workers_of

OLD, NEW = "the-old-key-0123456789", "the-new-key-0123456789"
CHECK = "/v1/check?input=3&input=1"


class Mounted:
    """A folder of files as Kubernetes mounts a secret: links into a folder that is changed as a whole, by one link."""

    def __init__(self, folder: Path, **files: bytes) -> None:
        self.folder = folder
        folder.mkdir()
        self.number = 0
        self.swap(**files)
        for name in files:
            (folder / name).symlink_to(Path("..data") / name)

    def swap(self, **files: bytes) -> None:
        self.number += 1
        content = self.folder / f"..{self.number}"
        content.mkdir()
        for name, text in files.items():
            (content / name).write_bytes(text)
        (self.folder / "..next").symlink_to(content.name)
        (self.folder / "..next").rename(self.folder / "..data")


def keys(*each: str) -> bytes:
    return "".join(f"caller-{key.split('-')[1]}:{key}\n" for key in each).encode()


@contextmanager
def asked(
    callers: int, connect: Callable[[], http.client.HTTPConnection], ask: Callable[[http.client.HTTPConnection], None]
) -> Iterator[Counter[str]]:
    """Count the outcomes of several clients that repeat requests, each on one connection."""
    seen: Counter[str] = Counter()
    stop = threading.Event()

    def run() -> None:
        try:
            with closing(connect()) as connection:
                connection.connect()
                socket = connection.sock
                while not stop.is_set():
                    ask(connection)
                    assert connection.sock is socket, "the connection was closed"
                    seen["good"] += 1
                    stop.wait(0.01)
        except Exception as error:
            seen[repr(error)] += 1

    threads = [threading.Thread(target=run) for _ in range(callers)]
    for thread in threads:
        thread.start()
    try:
        assert wait_for(lambda: seen["good"] > 10 * callers or len(seen) > 1)
        yield seen
        good = seen["good"]
        assert wait_for(lambda: seen["good"] > good + 10 * callers or len(seen) > 1)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def status(service: Served, key: str) -> int:
    return httpx.get(service.url + CHECK, headers={"Authorization": f"Bearer {key}"}).status_code


@pytest.mark.parametrize("workers", [1, 2])
def test_keys_are_swapped_under_load_and_no_request_fails(workers: int, tmp_path: Path) -> None:
    mounted = Mounted(tmp_path / "secret", keys=keys(OLD))
    current = [OLD]
    with served(api_keys_file=mounted.folder / "keys", workers=workers) as service:
        assert wait_for(lambda: listeners_of(service) == workers)
        before = workers_of(service)

        def ask(connection: http.client.HTTPConnection) -> None:
            connection.request("GET", CHECK, headers={"Authorization": f"Bearer {current[0]}"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status

        with asked(8, lambda: http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE), ask) as seen:
            mounted.swap(keys=keys(OLD, NEW))
            assert wait_for(lambda: {status(service, NEW) for _ in range(8)} == {200})
            current[0] = NEW
            mounted.swap(keys=keys(NEW))
            assert wait_for(lambda: {status(service, OLD) for _ in range(8)} == {401})
        assert set(seen) == {"good"}, seen
        assert workers_of(service) == before
    assert f"reloaded the API keys from {mounted.folder / 'keys'}" in service.log


@pytest.fixture(scope="module")
def replacement(tmp_path_factory: pytest.TempPathFactory, pem: Path) -> dict[str, bytes]:
    """Another certificate for the same name, and its key."""
    folder = tmp_path_factory.mktemp("replacement")
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -out certificate "
        "-days 9 -subj /CN=axiscast -addext subjectAltName=IP:127.0.0.1"
    )
    assert run(command.split(), cwd=folder).returncode == 0
    return {name: (folder / name).read_bytes() for name in ("certificate", "key")}


def first(pem: Path) -> dict[str, bytes]:
    return {name: (pem / name).read_bytes() for name in ("certificate", "key")}


@contextmanager
def encrypted(mounted: Mounted, **settings: object) -> Iterator[Served]:
    files = {"tls_certificate": mounted.folder / "certificate", "tls_key": mounted.folder / "key"}
    with served(**files, **settings) as service:
        yield service


def shown(service: Served) -> bytes:
    """The certificate that a new connection is shown."""
    return ssl.get_server_certificate(("127.0.0.1", service.port), timeout=PATIENCE).encode()


def test_a_certificate_is_swapped_under_load_and_no_connection_fails(
    pem: Path, replacement: dict[str, bytes], tmp_path: Path
) -> None:
    old = first(pem)
    mounted = Mounted(tmp_path / "secret", **old)
    trusting = ssl.create_default_context(cadata=(old["certificate"] + replacement["certificate"]).decode())
    stream = (
        b'{"op": {"name": "numpy.broadcast_to", "shape": [16777216]}, "inputs": [{"dtype": "uint8", "shape": [], '
        b'"data": 7}]}'
    )
    headers = {"Content-Type": "application/json", "Accept": "application/vnd.msgpack"}
    with encrypted(mounted) as service:

        def connect() -> http.client.HTTPConnection:
            return http.client.HTTPSConnection("127.0.0.1", service.port, timeout=PATIENCE, context=trusting)

        def ask(kept: http.client.HTTPConnection) -> None:
            kept.request("POST", "/v1/broadcast", stream, headers)
            assert kept.getresponse().read().count(7) >= 2**24
            with closing(connect()) as fresh:
                fresh.request("GET", CHECK)
                assert fresh.getresponse().status == 200

        with asked(4, connect, ask) as seen:
            assert shown(service) == old["certificate"]
            mounted.swap(**replacement)
            assert wait_for(lambda: shown(service) == replacement["certificate"])
        assert set(seen) == {"good"}, seen
    assert service.log.count("reloaded the certificate") == 1


FAULTS: dict[str, tuple[dict[str, bytes], str]] = {
    "no PEM": ({"certificate": b"no PEM", "key": b"no PEM"}, "set PEM files of a certificate and its key"),
    "another's key": ({"key": b"another"}, "set PEM files of a certificate and its key"),
    "no files": ({}, "No such file or directory"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_certificate_that_is_not_valid_leaves_the_old_one_in_force_and_says_so(
    fault: str, pem: Path, replacement: dict[str, bytes], tmp_path: Path
) -> None:
    old = first(pem)
    files, reason = FAULTS[fault]
    if fault == "another's key":
        files = old | {"key": replacement["key"]}
    mounted = Mounted(tmp_path / "secret", **old)
    with encrypted(mounted, log_format="json") as service:
        assert service.process.stderr
        mounted.swap(**files)
        said = next(line for line in service.process.stderr if '"warning"' in line)
        assert reason in said
        assert "the previous values stay in use" in said
        assert shown(service) == old["certificate"]
        mounted.swap(**replacement)  # and nothing has stopped
        assert wait_for(lambda: shown(service) == replacement["certificate"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [(b"", "has no API keys"), (b"alice:short\n", "fewer than 16 characters"), (b"\xff", "not UTF-8")],
)
def test_keys_that_are_not_valid_leave_the_old_ones_in_force_and_say_so(
    text: bytes, reason: str, tmp_path: Path
) -> None:
    mounted = Mounted(tmp_path / "secret", keys=keys(OLD))
    with served(api_keys_file=mounted.folder / "keys") as service:
        assert service.process.stderr
        mounted.swap(keys=text)
        said = next(line for line in service.process.stderr if line.startswith("WARNING"))
        assert reason in said
        assert "the previous values stay in use" in said
        assert status(service, OLD) == 200


def test_sighup_does_not_end_the_service() -> None:
    with served() as service, httpx.Client(base_url=service.url) as client:
        for _ in range(3):
            service.process.send_signal(signal.SIGHUP)
            assert client.get(CHECK).status_code == 200
        service.end()
    assert service.process.returncode in (0, -signal.SIGTERM)
