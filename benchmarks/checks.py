"""Shape checks over HTTP: requests per second of the service, a bare server, an ordinary endpoint, Go and node.

    python benchmarks/checks.py [--kinds post get ...] [--contenders NAME ...] [--rounds 7] [--seconds 3]
                                [-o FILE]

Each contender is a server of its own on one core; wrk asks it from the other, in turn with all others, round after
round: only the ratios within a round are compared. What is asked is never the same twice, but for `zipf` and `again`
(requests.lua). All contenders but the bare server parse the request and compute the response; those that speak JSON
alone are asked in JSON where axiscast is asked in MessagePack. Then batches of many, of axiscast alone. A response with
another status than expected ends the benchmark: 200, but for the refusals. Needs wrk; go and node compete if they are
installed (Debian's packages). Prints medians, with the least and the most.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count, product
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import numpy as np
from harness import Row, cpu_of, destination, free_port, pin, save, spread

FOLDER = Path(__file__).parent
CHECK = {"inputs": [[8, 1, 6, 1], [7, 1, 5]]}
JSON, MSGPACK = "application/json", "application/vnd.msgpack"
BARE, ORDINARY, OURS = "bare uvicorn", "ordinary FastAPI", "axiscast"
LOGGED = "axiscast, access log"
KNOW_ALL = (BARE, OURS)
"""The kinds of requests that only axiscast can answer."""
CONTENDERS = [BARE, ORDINARY, OURS, LOGGED, "node http", "Go net/http"]


class Kind(NamedTuple):
    title: str
    asked: str
    """The kind of request in requests.lua."""
    connections: int = 16
    status: int = 200
    """The expected response of axiscast."""


KINDS = {
    "post": Kind("POST, JSON", "post"),
    "msgpack": Kind("POST, MessagePack", "msgpack"),
    "get": Kind("GET", "get"),
    "wide": Kind("POST, any axes of size 1", "wide"),
    "wide-get": Kind("GET, any axes of size 1", "wide-get"),
    "op": Kind("POST that names its op", "op"),
    "conflict": Kind("POST that does not fit", "conflict"),
    "wide-conflict": Kind("POST that does not fit, any axes of size 1", "wide-conflict"),
    "zipf": Kind("Zipf over 10,000 POST", "zipf"),
    "again": Kind("the same POST", "again"),
    "one": Kind("POST, 1 connection", "post", 1),
    "many": Kind("POST, 256 connections", "post", 256),
    "refusal": Kind("POST that is refused", "refusal", status=422),
    "compare": Kind("compare", "compare"),
    "translate": Kind("translate", "translate"),
    "ten": Kind("a batch of ten", "rows"),
}
"""The kinds of requests by their names for --kinds."""
PLAIN = ("post", "msgpack", "get", "wide", "wide-get", "conflict", "wide-conflict", "zipf", "again")
"""The kinds of requests that all contenders can answer."""
ROWS, COLUMN_ROWS = 1000, 10**6


def servers(folder: Path) -> dict[str, list[str]]:
    """The command of each installed contender, with PORT for its port."""
    others = FOLDER / "others"
    uvicorn = [sys.executable, "-m", "uvicorn", "--app-dir", str(others), "--no-access-log", "--port", "PORT"]
    ours = [sys.executable, "-m", "axiscast", "serve", "--port", "PORT"]
    commands = {
        BARE: [*uvicorn, "bare:app"],
        ORDINARY: [*uvicorn, "ordinary:app"],
        OURS: ours,
        LOGGED: [*ours, "--access-log", "true"],
    }
    if node := shutil.which("node"):
        commands["node http"] = [node, str(others / "server.mjs"), "PORT"]
    if go := shutil.which("go"):
        subprocess.run([go, "build", "-o", folder / "server", others / "server.go"], check=True)
        commands["Go net/http"] = [str(folder / "server"), "PORT"]
    return commands


@contextmanager
def served(command: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Start a server on core 0, and return its port and its process id."""
    port = free_port()
    process = subprocess.Popen(
        [str(port) if part == "PORT" else part for part in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=partial(pin, 0),
    )
    try:
        body, head = json.dumps(CHECK).encode(), {"Content-Type": JSON}
        for _ in range(400):
            with suppress(OSError):
                request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/check", body, head)
                if b"[8,7,6,5]" in urllib.request.urlopen(request, timeout=1).read():
                    break
            time.sleep(0.05)
        else:
            raise SystemExit(f"no answer from {command}")
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(20)


def ask(port: int, process: int, kind: Kind, start: int, seconds: float) -> Row:
    """Return the requests per second, the CPU time for each in microseconds, and latencies in ms."""
    before = cpu_of(process)
    command = ["taskset", "-c", "1", "timeout", "--preserve-status", "--signal=INT", str(seconds)]  # wrk takes whole s
    command += ["wrk", "-t1", f"-c{kind.connections}", f"-d{math.ceil(seconds) + 1}s", "--latency"]
    command += ["-s", str(FOLDER / "requests.lua"), f"http://127.0.0.1:{port}", "--", kind.asked, str(start)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    responses = int(re.findall(r"(\d+) requests in", printed)[0])
    errors = re.search(r"Non-2xx or 3xx responses: (\d+)", printed)
    wrong = (0 if errors is None else int(errors[1])) != (0 if kind.status == 200 else responses)
    if wrong or re.search(r"(connect|read|write) [1-9]", printed):
        raise SystemExit(f"{kind.title}: a response has another status than {kind.status}, or is missing\n{printed}")

    def percentile(which: int) -> float:
        value, unit = re.findall(rf"{which}%\s+([\d.]+)(us|ms|s)", printed)[0]
        return float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]

    return {
        "per second": float(re.findall(r"Requests/sec:\s+([\d.]+)", printed)[0]),
        "CPU us": (cpu_of(process) - before) * 1e6 / max(responses, 1),
        "p50 ms": percentile(50),
        "p99 ms": percentile(99),
    }


def requests(kinds: Sequence[str], contenders: Sequence[str], rounds: int, seconds: float) -> dict[str, dict[str, Row]]:
    """Return the figures of each kind and contender, with ratios of the rates.

    The ratios are to the bare server and to the ordinary endpoint in the same round. Each is (median, least, most).
    """
    taken: dict[str, dict[str, list[Row]]] = {KINDS[kind].title: {} for kind in kinds}
    starts = (pow(16807, number << 20, 2**31 - 1) for number in count())
    with ExitStack() as stack:
        commands = servers(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        running = {name: stack.enter_context(served(commands[name])) for name in commands if name in contenders}
        for _ in range(rounds):
            for kind, (name, (port, process)) in product(map(KINDS.__getitem__, kinds), running.items()):
                if (name != LOGGED or kind.asked == "post") and (name in KNOW_ALL or kind.asked in PLAIN):
                    json_alone = kind.asked == "msgpack" and name not in (BARE, OURS, LOGGED)
                    asked = kind._replace(asked="post") if json_alone else kind
                    if name == BARE:
                        asked = asked._replace(status=200)
                    taken[kind.title].setdefault(name, []).append(ask(port, process, asked, next(starts), seconds))
    return {title: {name: compared(rows, name) for name in rows} for title, rows in taken.items()}


def compared(rows: Mapping[str, Sequence[Row]], name: str) -> Row:
    own = rows[name]
    ratios = {
        f"x {other}": spread(
            [row["per second"] / base["per second"] for row, base in zip(own, rows[other], strict=True)]
        )
        for other in (BARE, ORDINARY)
        if other in rows
    }
    return ratios | {figure: spread([row[figure] for row in own]) for figure in own[0]}


def batches(rounds: int) -> dict[str, Row]:
    """Return the checks per second of batches: rows in JSON, and columns in MessagePack."""
    rng = np.random.default_rng(1)
    rates: dict[str, list[float]] = {}
    with served([sys.executable, "-m", "axiscast", "serve", "--port", "PORT"]) as (port, _):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in range(rounds):
            sizes = rng.integers(2, 258, (ROWS, 4)).tolist()
            rows = [{"inputs": [[a, 1, c, 1], [1, b, 1, d], [a, b, c, d]]} for a, b, c, d in sizes]
            first, second = rng.integers(2, 9, (COLUMN_ROWS, 4)), rng.integers(1, 9, (COLUMN_ROWS, 3))
            fitting = np.where(second > 4, first[:, 1:], 1)
            for title, number, path, body, media in [
                (f"rows of {ROWS}", ROWS, "/v1/check/batch", json.dumps({"requests": rows}).encode(), JSON),
                (
                    f"columns of {COLUMN_ROWS} that fit",
                    COLUMN_ROWS,
                    "/v1/check/columns",
                    columns(first, fitting),
                    MSGPACK,
                ),
                (
                    f"columns of {COLUMN_ROWS} that mostly conflict",
                    COLUMN_ROWS,
                    "/v1/check/columns",
                    columns(first, second),
                    MSGPACK,
                ),
            ]:
                start = time.perf_counter()
                connection.request("POST", path, body, {"Content-Type": media})
                answer = connection.getresponse()
                answer.read()
                rates.setdefault(title, []).append(number / (time.perf_counter() - start))
                if answer.status != 200:
                    raise SystemExit(f"{title}: {answer.status}")
        connection.close()
    return {title: {"checks per second": spread(values)} for title, values in rates.items()}


def columns(*inputs: np.ndarray[Any, np.dtype[np.int64]]) -> bytes:
    """Return a request with a check in each row."""
    tensors = [{"dtype": "int64", "shape": column.shape, "data": column.tobytes()} for column in inputs]
    return bytes(msgpack.packb({"op": "numpy.broadcast_arrays", "inputs": tensors}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    groups = [*KINDS, "batches"]
    parser.add_argument("--kinds", nargs="+", choices=groups, default=groups)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("-o", type=destination, help="write the figures there, as JSON")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        parser.exit(3, "this needs wrk: apt-get install wrk\n")
    pin(1)
    figures: dict[str, dict[str, Any]] = {}
    if kinds := [kind for kind in options.kinds if kind in KINDS]:
        figures["requests"] = requests(kinds, options.contenders, options.rounds, options.seconds)
        report(figures["requests"])
    if "batches" in options.kinds:
        figures["batches"] = batches(options.rounds)
        for title, row in figures["batches"].items():
            print(f"{title}: {shown(row['checks per second'])} checks per second")
    if options.o:
        save(options.o, figures)


def report(kinds: Mapping[str, Mapping[str, Row]]) -> None:
    for title, rows in kinds.items():
        print(title)
        for name, row in rows.items():
            print(f"  {name:23}", *(f"{shown(values):>22} {figure}" for figure, values in row.items()))


def shown(values: Sequence[float]) -> str:
    """Return a median with the smallest and the largest value in parentheses."""
    median, least, most = (f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in values)
    return f"{median} ({least}..{most})"


if __name__ == "__main__":
    main()
