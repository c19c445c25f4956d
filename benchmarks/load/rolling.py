"""A rolling restart behind a proxy, under load: no request may fail.

    python benchmarks/load/rolling.py nginx|haproxy [--seconds 30] [--kill]

Two services, one proxy and sixteen clients, all on loopback. Each service in turn gets SIGTERM, ends, is started again
and becomes ready. With --kill one of them gets SIGKILL instead, which loses what it was just answering.
"""

from __future__ import annotations

import argparse
import http.client
import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

PROXIES = Path(__file__).parents[2] / "deploy" / "proxies"
CLIENTS = 16
BODY = json.dumps({"inputs": [[8, 1, 6, 1], [7, 1, 5]]})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_service(port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tensorcast", "serve", "--port", str(port)], stderr=subprocess.DEVNULL
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


def load(port: int, stop: threading.Event, results: Counter[str]) -> None:
    """Ask over and over on one keep-alive connection; every answer but 200 is a failed request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    turn = 0
    while not stop.is_set():
        turn += 1
        try:
            if turn % 2:
                connection.request("GET", "/v1/check?input=8x1x6x1&input=7x1x5")
            else:
                connection.request("POST", "/v1/check", BODY, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            whole = answer.read()
            good = answer.status == 200 and json.loads(whole)["outputs"][0]["shape"] == [8, 7, 6, 5]
            results["good" if good else f"status {answer.status}"] += 1
        except (OSError, http.client.HTTPException, ValueError) as error:
            results[type(error).__name__] += 1
            connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proxy", choices=["nginx", "haproxy"])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--kill", action="store_true", help="SIGKILL in place of SIGTERM")
    options = parser.parse_args()
    ports = [free_port(), free_port()]
    services = [start_service(port) for port in ports]
    front = free_port()
    results: Counter[str] = Counter()
    stop = threading.Event()
    restarts = 0
    with tempfile.TemporaryDirectory() as folder:
        proxy = start_proxy(options.proxy, Path(folder), front, ports)
        clients = [threading.Thread(target=load, args=(front, stop, results)) for _ in range(CLIENTS)]
        try:
            for client in clients:
                client.start()
            end = time.monotonic() + options.seconds
            while time.monotonic() < end:
                for number, port in enumerate(ports):
                    time.sleep(3 if options.kill else 1)  # a proxy asks one that was dead again after 2 seconds
                    services[number].send_signal(signal.SIGKILL if options.kill else signal.SIGTERM)
                    services[number].wait(30)
                    services[number] = start_service(port)
                    restarts += 1
                    time.sleep(1)
        finally:
            stop.set()
            for client in clients:
                client.join()
            for process in (*services, proxy):
                process.terminate()
                process.wait(30)
    good = results.pop("good")
    print(f"{options.proxy}: {restarts} restarts, {good} good answers, {sum(results.values())} failed {dict(results)}")


if __name__ == "__main__":
    main()
