"""Smoke test of an installed axiscast: the import name, the console script, and each of the given extras.

    PYTHON -I tests/package/smoke.py [service] [metrics] [otel] [onnx]

It runs in the environment in which axiscast is installed, with the standard library only. Without an extra, the
functions that need it must say how to install it.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import metadata, version
from pathlib import Path
from threading import Event, Thread
from urllib.error import URLError
from urllib.request import urlopen

import axiscast

SCRIPT = Path(sysconfig.get_path("scripts")) / "axiscast"
READY_SECONDS = 60


def expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        sys.exit(f"smoke test: {what}: {found!r}, expected {expected!r}")


def command(*arguments: str | Path) -> tuple[int, str]:
    """Run the console script, and return its status and its output."""
    done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=READY_SECONDS)
    return done.returncode, done.stdout + done.stderr


def library() -> None:
    expect("the version", axiscast.__version__, version("axiscast"))
    expect("the console script", command("--version"), (0, f"axiscast, version {axiscast.__version__}\n"))
    expect("the module", Path(axiscast.__file__).with_name("py.typed").exists(), True)
    expect("a check", axiscast.check((3, 1), (4,)).shape, (3, 4))
    expect("a broadcast", axiscast.broadcast("numpy.broadcast_to", [1, 2], shape=(2, 2))[0].tolist(), [[1, 2]] * 2)
    expect("the command check", command("check", "2,3", "4")[0], 1)


def description() -> None:
    """Check that all links of the long description are absolute, because it is shown on a package index."""
    text = re.sub(r"```.*?```|`[^`]*`", "", metadata("axiscast").get_payload(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^()\s]+)\)", text)
    expect("links of the description", len(links) > 10, True)
    expect("relative links", [link for link in links if not link.startswith("https://")], [])


@contextmanager
def service(**settings: str) -> Iterator[str]:
    """Start `axiscast serve` on a free port, and yield its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([SCRIPT, "serve", "--port", str(port)], env=os.environ | settings)
    try:
        end = time.monotonic() + READY_SECONDS
        while not answers(f"{url}/readyz"):
            expect("the status of the service while it starts", process.poll(), None)
            expect("a timeout of the service", time.monotonic() > end, False)
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(READY_SECONDS)


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=READY_SECONDS) as response:
            return bool(response.status == 200)
    except URLError:
        return False


def check_service(metrics: bool) -> None:
    with service() as url, axiscast.Client(url) as client:
        expect("a check", client.check((3, 1), (4,)).shape, (3, 4))
        expect("a broadcast", client.broadcast("numpy.broadcast_to", [1.0], shape=(2,))[0].tolist(), [1.0, 1.0])
        expect("the page of the API", answers(f"{url}/docs"), True)
        expect("/metrics", answers(f"{url}/metrics"), metrics)
    with axiscast.Client.in_process() as local:
        expect("in process", local.check((3,), (3,)).shape, (3,))


def check_traces() -> None:
    """Check that the service sends a span to a collector."""
    received = Event()

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            received.set()

    collector = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    Thread(target=collector.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{collector.server_port}"
    with service(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_BSP_SCHEDULE_DELAY="100") as url:
        expect("the catalogue", answers(f"{url}/v1/ops"), True)
        expect("a span", received.wait(READY_SECONDS), True)


def check_models() -> None:
    from onnx import TensorProto, helper

    values = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name, size in (("x", 2), ("y", 3))
    }
    out = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "graph", [*values.values()], [out])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(helper.make_model(graph).SerializeToString())
        expect("the findings", len(axiscast.check_model(path).findings), 1)
        expect("the command check", command("check", path)[0], 1)


def missing(extras: set[str]) -> None:
    """Check that the functions of extras that are not installed name the extra or the package."""
    if "service" not in extras:
        status, text = command("serve")
        expect(
            "serve without its extra", (status, "pip install 'axiscast[service]'" in text), (os.EX_UNAVAILABLE, True)
        )
    if "onnx" not in extras:
        with tempfile.NamedTemporaryFile(suffix=".onnx") as model:
            status, text = command("check", model.name)
        expect("check without onnx", (status, "pip install 'onnx>=" in text), (2, True))


def main() -> None:
    extras = {*sys.argv[1:]}
    library()
    description()
    missing(extras)
    if "service" in extras:
        check_service(metrics="metrics" in extras)
    if "metrics" in extras:
        import prometheus_client as prometheus_client
    if "otel" in extras:
        import opentelemetry.exporter.otlp.proto.http as http_exporter

        expect("the exporter", bool(http_exporter.__doc__), True)
    if {"service", "otel"} <= extras:
        check_traces()
    if "onnx" in extras:
        check_models()
    print(f"axiscast {axiscast.__version__} with [{','.join(sorted(extras))}] works: Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
