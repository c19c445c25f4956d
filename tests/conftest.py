"""Fixtures for tests: services on real sockets, clients, processes and measurements of memory."""

from __future__ import annotations

import atexit
import functools
import gc
import itertools
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any, TypeVar

import httpx
import hypothesis
import pytest
from costs import collect_new
from fork_server import ForkedService

from axiscast import Client

Serve = Callable[..., "Served"]
Service = subprocess.Popen[str] | ForkedService
P = TypeVar("P", bound=Service)

PATIENCE = 300.0
"""The timeout in seconds for a condition that must become true. It is long, because the machine may be busy."""

hypothesis.settings.register_profile(
    "suite", deadline=None, print_blob=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("suite")

for phase in ("connect", "read", "write", "pool"):  # httpx would give up after 5 s
    setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, phase, PATIENCE)

# Without the cache, each call of httpx.get would load the certificates of the system, which takes 26 ms.
httpx._transports.default.create_ssl_context = functools.cache(httpx.create_ssl_context)  # type: ignore[attr-defined]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers for `-n auto`: two for each core, because tests spend much time waiting."""
    return 2 * len(os.sched_getaffinity(0))


gc.disable()  # while tests are found, little is garbage, and looking for it takes a tenth of the time


def pytest_collection_finish() -> None:
    """Exempt all objects that exist after collection from garbage collection."""
    gc.enable()
    collect_new()


# --- processes ------------------------------------------------------------------------------------

GUARD = """
import os, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, 9)
    except ProcessLookupError:
        pass
"""
"""A program that reads which process groups begin (+) and end (-), and ends them when the writer is gone."""


@functools.cache
def guard() -> IO[str]:
    """Return the pipe to a separate process, which ends the process groups that this process leaves running."""
    process = subprocess.Popen(
        [sys.executable, "-IS", "-c", GUARD], stdin=subprocess.PIPE, text=True, bufsize=1, start_new_session=True
    )
    assert process.stdin
    atexit.register(process.communicate)
    return process.stdin


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay SIGINT until the block ends, so that no started process is lost."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: numbers.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    for number in numbers[:1]:
        signal.raise_signal(number)


@contextmanager
def started(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Return a context with a process in a new group, which ends with the block or with pytest."""
    with ended(lambda: _leading(command, **options)) as process:
        yield process


def _leading(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(command, text=True, start_new_session=True, **options)


@contextmanager
def ended(start: Callable[[], P]) -> Iterator[P]:
    """Start a process that leads a group, which ends with the block or with pytest."""
    with uninterrupted():
        process = start()
        guard().write(f"+{process.pid}\n")
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        guard().write(f"-{process.pid}\n")


def run(command: Sequence[str | Path], input: str | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command and return its exit status and output. All processes that it started have ended."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(command, **pipes | options) as process:
        written = process.communicate(input, timeout=PATIENCE)
    return subprocess.CompletedProcess(command, process.returncode, *written)


def wait_for(claim: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Return whether a condition becomes true before the timeout."""
    end = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def unhurried(claim: Callable[[float], None], seconds: float) -> None:
    """Check a claim about time, first with these seconds and then with four and sixteen times as many.

    A busy machine may be late, and a real error fails each time.
    """
    for longer in (1, 4):
        try:
            claim(longer * seconds)
        except (AssertionError, OSError, httpx.TransportError):
            continue
        return
    claim(16 * seconds)


# --- services -------------------------------------------------------------------------------------


class Served:
    """A running service with its URL and its process, and with its stderr after it has ended."""

    def __init__(self, url: str, process: Service) -> None:
        self.url = url
        self.port = int(url.rpartition(":")[2])
        self.process = process
        self.log = ""

    def memory(self, field: str = "VmRSS") -> int:
        """Return the memory of the process in bytes, now (VmRSS) or at its peak (VmHWM)."""
        with open(f"/proc/{self.process.pid}/status") as status:
            (line,) = (line for line in status if line.startswith(field))
        return int(line.split()[1]) * 1024

    def cpu(self) -> float:
        """Return the processor time of the process in seconds, including system time."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> str:
        """Stop the service by SIGTERM and return what it wrote to stderr."""
        self.process.terminate()
        return self.process.communicate(timeout=PATIENCE)[1]

    def forget_peak(self) -> None:
        """Reset the peak of the memory to the current memory."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as references:
            references.write("5")


@functools.cache
def _ports() -> Iterator[int]:
    """Return ports below those that Linux chooses for connections, from another one in each process of the suite."""
    first = 10_000 + 997 * os.getpid() % 20_000
    return itertools.cycle([*range(first, 30_000), *range(10_000, first)])


def free_port() -> int:
    """Return an unused port. No other process takes this port before the caller listens on it."""
    for port in _ports():
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError


@contextmanager
def served(absent: str = "", *, command: bool = False, **settings: object) -> Iterator[Served]:
    """Return a running `axiscast serve` with these settings in its environment.

    It runs as if the packages in `absent` were not installed. It is forked, unless `command` or the number of workers
    needs a new process.
    """
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AXISCAST_")}
    environment |= {
        f"AXISCAST_{name.upper()}": str(value)
        for name, value in {"drain_seconds": 0, "allowed_hosts": "*", **settings}.items()
    }
    certificate = settings.get("tls_certificate")
    url = f"{'https' if certificate else 'http'}://127.0.0.1:{port}"
    trust = ssl.create_default_context(cafile=str(certificate)) if certificate else trusted()
    start = _interpreted if command or settings.get("workers", 1) != 1 else ForkedService
    with ended(lambda: start(absent, port, environment)) as process:
        running = Served(url, process)
        _wait_until_ready(url, process, trust)
        try:
            yield running
        finally:
            running.log = running.end()


def _interpreted(absent: str, port: int, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a service in a new interpreter."""
    run, imports = ["-m", "axiscast"], os.environ.get("SERVICE_IMPORTS", "")
    if absent or imports:
        blocked = dict.fromkeys(absent.split())
        code = f"import sys; sys.modules |= {blocked}; {imports or 'pass'}; from axiscast.cli import main; main()"
        run = ["-P", "-c", code]
    command = [sys.executable, *run, "serve", "--port", str(port)]
    return _leading(command, env=environment, stderr=subprocess.PIPE)


def warm(service: Served, trust: ssl.SSLContext | None = None) -> int:
    """Return the memory of a service after one request to each endpoint, which imports all modules."""
    row = {"dtype": "bfloat16", "shape": [3], "data": [1, 2, 3]}
    with httpx.Client(base_url=service.url, verify=trust or trusted()) as http:
        for path, value in [
            ("/v1/check", {"inputs": [[1]] * 2000}),
            ("/v1/check/columns", {"inputs": [row | {"dtype": "int64", "shape": [1, 3]}]}),
            ("/v1/broadcast", {"inputs": [row]}),
            ("/v1/backprop", {"inputs": [[3]], "gradients": [row]}),
            ("/v1/compare", {"inputs": [[3]]}),
            ("/v1/translate", {"op": "numpy.broadcast_arrays", "inputs": [[3]], "to": "torch"}),
            ("/v1/why", {"text": "operands could not be broadcast together with shapes (3,4) (5,)"}),
        ]:
            assert http.post(path, json=value).status_code == 200
        assert http.post("/v1/check", json={"inputs": 3, "shapes": [3]}).status_code == 422
    return service.memory()


@functools.cache
def trusted() -> ssl.SSLContext:
    """Return an SSL context with the certificates of the system, which takes 30 ms to create."""
    return ssl.create_default_context()


def _wait_until_ready(url: str, process: Service, verify: ssl.SSLContext) -> None:
    with httpx.Client(base_url=url, verify=verify) as http:

        def ready() -> bool:
            assert process.poll() is None, "the service ended: " + process.communicate()[1]
            try:
                return http.get("/readyz").status_code == 200
            except httpx.HTTPError:
                return False

        assert wait_for(ready), "the service did not become ready"


@contextmanager
def limited(module: ModuleType, limits: dict[str, int]) -> Iterator[None]:
    """Return a module with small limits and empty caches, so that a few hundred elements are cut into parts."""

    def forget() -> None:
        for cached in vars(module).values():
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()

    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(module, name, value)
        forget()
        yield
    forget()


@pytest.fixture(scope="session")
def service() -> Iterator[Served]:
    with served(command=True) as running:
        yield running


@pytest.fixture
def http(service: Served) -> Iterator[httpx.Client]:
    """Return an httpx client for requests to the service."""
    with httpx.Client(base_url=service.url, verify=trusted()) as client:
        yield client


@pytest.fixture
def client(service: Served) -> Iterator[Client]:
    with Client(service.url) as client:
        yield client


SECONDS, SLOTS = 2, 8
"""The requests that admission receives, and the number in flight."""


@pytest.fixture(scope="module", params=["", "httptools uvloop"], ids=["accelerated", "plain"])
def absent(request: pytest.FixtureRequest) -> str:
    """Return the packages that are treated as not installed."""
    return str(request.param)


@pytest.fixture(scope="module")
def gate(absent: str) -> Iterator[Served]:
    limits = {"request_seconds": SECONDS, "max_body_bytes": 4_000_000, "max_concurrent_requests": SLOTS}
    with served(absent, **limits) as running:
        yield running


@pytest.fixture(params=["sync", "async"])
def make(request: pytest.FixtureRequest) -> Any:
    """Return a constructor of clients: Client, or AsyncClient with the same methods."""
    from peer import Sync

    return Client if request.param == "sync" else Sync


@pytest.fixture(scope="session")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a certificate for 127.0.0.1, its key, the encrypted key, and another key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("pem")
    commands = """
        req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -out certificate -days 2
            -subj /CN=axiscast -addext subjectAltName=IP:127.0.0.1
        ec -in key -aes128 -passout pass:secret -out locked
        ecparam -name prime256v1 -genkey -noout -out another
    """
    for command in commands.strip().replace("\n            ", " ").splitlines():
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    (folder / "both").write_bytes((folder / "certificate").read_bytes() + (folder / "key").read_bytes())
    (folder / "garbage").write_text("no PEM")
    return folder


@pytest.fixture
def tls(pem: Path) -> ssl.SSLContext:
    """Return the SSL context of a server with the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem / "certificate", pem / "key")
    return context


@pytest.fixture
def trusting(pem: Path) -> ssl.SSLContext:
    """Return the SSL context of a client that trusts the certificate."""
    return ssl.create_default_context(cafile=str(pem / "certificate"))
