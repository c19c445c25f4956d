"""Shape checks over HTTP: requests per second of the whole product, beside a bare server and an ordinary endpoint.

    python benchmarks/checks.py [--rounds 7] [--seconds 3]

Each contender is a server of its own on one core; wrk asks it from the other, with 16 keep-alive connections, in turn
with all others, round after round. Needs wrk (Debian's package) and prints medians with their spread.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

GET = "/v1/check?input=8x1x6x1&input=7x1x5"
BODY = '{"inputs": [[8, 1, 6, 1], [7, 1, 5]]}'

BARE = """
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        return
    body = b'{"compatible":true,"outputs":[{"shape":[8,7,6,5],"input":0,"axes":[0,1,2,3],"broadcast_axes":[1,3]}]}'
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
"""
ORDINARY = """
import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel

class Question(BaseModel):
    inputs: list[list[int]]

class Answer(BaseModel):
    compatible: bool
    shape: list[int]

app = FastAPI()

@app.post("/v1/check")
async def check(question: Question) -> Answer:
    return Answer(compatible=True, shape=list(np.broadcast_shapes(*map(tuple, question.inputs))))

@app.get("/v1/check")
async def get_check() -> Answer:
    return Answer(compatible=True, shape=list(np.broadcast_shapes((8, 1, 6, 1), (7, 1, 5))))

@app.get("/readyz")
async def ready() -> None: ...
"""
POST_SCRIPT = f"""
wrk.method, wrk.body = "POST", '{BODY}'
wrk.headers["Content-Type"] = "application/json"
"""
FRESH_SCRIPT = """
local number = 0
request = function()
  number = number + 1
  return wrk.format("GET", "/v1/check?input=" .. number .. "x1x6x1&input=7x1x5")
end
"""


def servers(folder: Path) -> dict[str, list[str]]:
    """Each contender's command, without the port."""
    (folder / "bare.py").write_text(BARE)
    (folder / "ordinary.py").write_text(ORDINARY)
    uvicorn = [sys.executable, "-m", "uvicorn", "--app-dir", str(folder), "--no-access-log", "--log-level", "error"]
    return {
        "bare uvicorn": [*uvicorn, "bare:app"],
        "ordinary FastAPI": [*uvicorn, "ordinary:app"],
        "tensorcast": [sys.executable, "-m", "tensorcast", "serve"],
    }


def start(command: list[str], port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [*command, "--port", str(port)], stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {0})
    )
    for _ in range(200):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1).close()
            return process
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{command} did not become ready")


def ask(port: int, seconds: int, script: Path | None) -> tuple[float, float, float]:
    """Requests per second, and the 50th and 99th percentile in ms."""
    command = ["taskset", "-c", "1", "wrk", "-t1", "-c16", f"-d{seconds}s", "--latency"]
    command += ["-s", str(script)] if script else []
    said = subprocess.run(
        [*command, f"http://127.0.0.1:{port}{GET}"], capture_output=True, text=True, check=True
    ).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        raise SystemExit(said)

    def percentile(which: str) -> float:
        value, unit = re.findall(rf"{which}%\s+([\d.]+)(us|ms|s)", said)[0]
        return float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]

    return float(re.findall(r"Requests/sec:\s+([\d.]+)", said)[0]), percentile("50"), percentile("99")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scripts: dict[str, Path | None] = {
            "GET": None,
            "POST": folder / "post.lua",
            "GET, never the same": folder / "fresh.lua",
        }
        (folder / "post.lua").write_text(POST_SCRIPT)
        (folder / "fresh.lua").write_text(FRESH_SCRIPT)
        running = {}
        results: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
        try:
            for contender, command in servers(folder).items():
                port = free_port()
                running[contender] = (start(command, port), port)
            for _ in range(options.rounds):
                for contender, (_, port) in running.items():
                    for kind, script in scripts.items():
                        results.setdefault((kind, contender), []).append(ask(port, options.seconds, script))
        finally:
            for process, _ in running.values():
                process.terminate()
                process.wait(20)
    for kind in scripts:
        base = [rate for rate, _, _ in results[kind, "bare uvicorn"]]
        for contender in running:
            rates, halves, tails = zip(*results[kind, contender], strict=True)
            ratios = [rate / other for rate, other in zip(rates, base, strict=True)]
            print(
                f"{kind:20} {contender:18} {statistics.median(rates):8.0f}/s  "
                f"{statistics.median(ratios):.2f} x bare ({min(ratios):.2f}..{max(ratios):.2f})  "
                f"p50 {statistics.median(halves):.2f} ms  p99 {statistics.median(tails):.2f} ms"
            )


if __name__ == "__main__":
    main()
