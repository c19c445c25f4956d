"""Shape checks over HTTP: requests per second of the whole product, beside a bare server and an ordinary endpoint.

    python benchmarks/checks.py [--rounds 7] [--seconds 3] [-o benchmarks/results/checks.json]

Each contender is a server of its own on one core; wrk asks it from the other, with 16 keep-alive connections, in turn
with all others, round after round: only the ratios within a round are compared. Then batches, of tensorcast alone.
Needs wrk, and shows nginx where it is installed (Debian's packages); prints medians with their spread.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from harness import free_port, save, spread

GET = "/v1/check?input=8x1x6x1&input=7x1x5"
CHECK = {"inputs": [[8, 1, 6, 1], [7, 1, 5]]}
ROWS = 1000
COLUMN_ROWS = 10**6

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
NGINX = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log /dev/null;
events {{}}
http {{
  access_log off;
  keepalive_requests 100000000;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; default_type application/json; return 200 '{{"compatible":true}}'; }}
}}
"""
POST_SCRIPT = """
wrk.method, wrk.body = "POST", "{body}"
wrk.headers["Content-Type"] = "{media}"
"""
FRESH_SCRIPT = """
local number = 0
request = function()
  number = number + 1
  return wrk.format("GET", "/v1/check?input=" .. number .. "x1x6x1&input=7x1x5")
end
"""


def scripts(folder: Path) -> dict[str, Path | None]:
    """What wrk asks, by a script where it takes one."""
    texts = {
        "POST": post(json.dumps(CHECK).encode(), "application/json"),
        "POST, MessagePack": post(msgpack.packb(CHECK), "application/vnd.msgpack"),
        "GET, never the same": FRESH_SCRIPT,
    }
    paths = {kind: folder / f"{number}.lua" for number, kind in enumerate(texts)}
    for kind, path in paths.items():
        path.write_text(texts[kind])
    return {"GET": None, **paths}


def post(body: bytes, media: str) -> str:
    return POST_SCRIPT.format(body="".join(f"\\{byte:03}" for byte in body), media=media)


def servers(folder: Path) -> dict[str, list[str]]:
    """Each contender's command, without the port; that of nginx stands in its configuration."""
    (folder / "bare.py").write_text(BARE)
    (folder / "ordinary.py").write_text(ORDINARY)
    uvicorn = [sys.executable, "-m", "uvicorn", "--app-dir", str(folder), "--no-access-log", "--log-level", "error"]
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    return {
        **({"nginx": [nginx, "-c", str(folder / "nginx.conf")]} if nginx else {}),
        "bare uvicorn": [*uvicorn, "bare:app"],
        "ordinary FastAPI": [*uvicorn, "ordinary:app"],
        "tensorcast": [sys.executable, "-m", "tensorcast", "serve"],
    }


def start(command: list[str], port: int, folder: Path) -> subprocess.Popen[bytes]:
    if command[-1].endswith("nginx.conf"):
        Path(command[-1]).write_text(NGINX.format(folder=folder, port=port))
    else:
        command = [*command, "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {0}))
    for _ in range(200):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1).close()
            return process
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{command} did not become ready")


def ask(port: int, seconds: int, script: Path | None, connections: int = 16) -> tuple[float, float, float]:
    """Requests per second, and the 50th and 99th percentile in ms."""
    command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    command += ["-s", str(script)] if script else []
    said = subprocess.run(
        [*command, f"http://127.0.0.1:{port}{GET}"], capture_output=True, text=True, check=True
    ).stdout
    if "Non-2xx" in said or re.search(r"(connect|read|write) [1-9]", said):
        raise SystemExit(said)

    def percentile(which: str) -> float:
        value, unit = re.findall(rf"{which}%\s+([\d.]+)(us|ms|s)", said)[0]
        return float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]

    return float(re.findall(r"Requests/sec:\s+([\d.]+)", said)[0]), percentile("50"), percentile("99")


def batches(port: int, rounds: int) -> dict[str, list[float]]:
    """Checks per second in batches: rows in JSON, columns in MessagePack."""
    columns = np.tile([[1, 4, 3], [5, 1, 3], [5, 4, 1], [5, 4, 3]], (COLUMN_ROWS // 4, 1))
    tensor = {"dtype": "int64", "shape": list(columns.shape), "data": columns.tobytes()}
    asked = {
        f"rows of {ROWS}": (ROWS, json.dumps({"requests": [CHECK] * ROWS}).encode(), "application/json"),
        f"columns of {COLUMN_ROWS}": (
            COLUMN_ROWS,
            msgpack.packb({"op": {"name": "numpy.broadcast_to", "shape": [5, 4, 3]}, "inputs": [tensor]}),
            "application/vnd.msgpack",
        ),
    }
    rates: dict[str, list[float]] = {kind: [] for kind in asked}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(rounds):
        for kind, (count, body, media) in asked.items():
            start = time.perf_counter()
            connection.request("POST", "/v1/check/batch", body, {"Content-Type": media})
            answer = connection.getresponse()
            answer.read()
            rates[kind].append(count / (time.perf_counter() - start))
            if answer.status != 200:
                raise SystemExit(f"{kind}: {answer.status}")
    connection.close()
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, help="write the figures to this file too, as JSON")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        parser.exit(3, "this needs wrk: apt-get install wrk\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = scripts(folder)
        running = {}
        results: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
        try:
            for contender, command in servers(folder).items():
                port = free_port()
                running[contender] = (start(command, port, folder), port)
            urllib.request.urlopen(f"http://127.0.0.1:{running['tensorcast'][1]}/metrics").close()  # they are on
            for _ in range(options.rounds):
                for kind, script in kinds.items():
                    for contender, (_, port) in running.items():
                        only_json = (kind, contender) == ("POST, MessagePack", "ordinary FastAPI")
                        asked = kinds["POST"] if only_json else script
                        results.setdefault((kind, contender), []).append(ask(port, options.seconds, asked))
            rates = batches(running["tensorcast"][1], options.rounds)
        finally:
            for process, _ in running.values():
                process.terminate()
                process.wait(20)
    figures: dict[str, Any] = {"requests": {}, "batches": {}}
    for kind, contender in results:
        of = {
            other: [
                rate / base
                for (rate, _, _), (base, _, _) in zip(results[kind, contender], results[kind, other], strict=True)
            ]
            for other in ("bare uvicorn", "ordinary FastAPI")
        }
        found = {f"x {other}": spread(ratios) for other, ratios in of.items()}
        columns = zip(*results[kind, contender], strict=True)
        found |= {
            name: spread(list(values)) for name, values in zip(("per second", "p50 ms", "p99 ms"), columns, strict=True)
        }
        figures["requests"].setdefault(kind, {})[contender] = found
        bare, ordinary = found["x bare uvicorn"], found["x ordinary FastAPI"]
        print(
            f"{kind:20} {contender:18} {found['per second'][0]:8.0f}/s  "
            f"{bare[0]:.2f} x bare ({bare[1]:.2f}..{bare[2]:.2f})  {ordinary[0]:5.2f} x ordinary "
            f" p50 {found['p50 ms'][0]:.2f} ms  p99 {found['p99 ms'][0]:.2f} ms"
        )
    for kind, values in rates.items():
        figures["batches"][kind] = {"checks per second": spread(values)}
        print(f"{kind:20} tensorcast         {statistics.median(values):8.0f} checks/s")
    if options.output:
        save(options.output, figures)


if __name__ == "__main__":
    main()
