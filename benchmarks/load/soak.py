"""Run traffic with attackers for an hour, verify every response, and record memory, files and latency.

    python benchmarks/load/soak.py [--scenario attackers|reloads|restarts] [--seconds 3600] [--pause 0] [-o FILE]

`attackers` is one service. `reloads` is a service with two workers, API keys and a certificate, which change every 20
to 30 seconds. `restarts` is two replicas behind HAProxy with the configuration of deploy/proxies. Every 30
seconds, the next replica gets SIGTERM and is started again.

In each scenario, four clients use every endpoint without retries, and compare each response with the right response.
At the same time, three attackers send the attacks of tests/attacks, abandon connections, and send and read slowly. A
lost request is a failed connection or any error except a refusal with 503. The exit status is 1 if a response is wrong,
a request is lost, an attack gets an unexpected status, a service logs an error, or a reload or restart fails.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from harness import destination, memory_of, save
from soak_services import SCENARIOS, Deployment, deployed
from soak_traffic import Tally, Traffic

EXPECTED = {"good", "refused", "attack answered", "abandoned", "slow", "reloaded", "restarted"}
"""The outcomes that are not errors."""
SAMPLE_SECONDS = 5.0


def sample(deployment: Deployment, tally: Tally, second: float) -> dict[str, Any]:
    """Return the memory and the open files of each process, and the latency since the last sample in milliseconds."""
    found: dict[str, Any] = {"second": round(second), "processes": {}}
    for name, pid in deployment.processes().items():
        try:
            files = len(os.listdir(f"/proc/{pid}/fd"))
            found["processes"][name] = {"pid": pid, "rss": memory_of(pid), "files": files}
        except (OSError, IndexError):
            pass  # the process has ended, because its replica restarts
    if durations := tally.durations():
        found |= {"requests": len(durations)} | latency(durations)
    return found


def latency(durations: Sequence[float]) -> dict[str, float]:
    """Return percentiles of sorted durations in milliseconds."""
    return {f"p{part}": round(1000 * durations[len(durations) * part // 100], 2) for part in (50, 99)}


def samples(deployment: Deployment, traffic: Traffic, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield samples until the time is over or a participant has failed."""
    participants = traffic.participants()
    with ThreadPoolExecutor(len(participants)) as pool:
        futures = [pool.submit(participant) for participant in participants]
        start = time.monotonic()
        try:
            while (now := time.monotonic() - start) < seconds and not any(map(Future.done, futures)):
                yield sample(deployment, traffic.tally, now)
                time.sleep(min(SAMPLE_SECONDS, seconds - now))
            yield sample(deployment, traffic.tally, time.monotonic() - start)
        finally:
            traffic.stop.set()
    for future in futures:
        future.result()  # raises the exception of a participant


def growth(found: Sequence[dict[str, Any]]) -> float:
    """Return the memory of the last sixth of the run, divided by the memory of the fourth sixth.

    Requests in flight change the memory by some MiB, so both are medians. The memory of a sample is the mean over the
    processes that handle requests.
    """
    means = [
        statistics.mean(each["rss"] for name, each in one["processes"].items() if name not in ("haproxy", "supervisor"))
        for one in found[len(found) // 2 :]
    ]
    third = max(len(means) // 3, 1)
    return statistics.median(means[-third:]) / statistics.median(means[:third])


def summary(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of each twelfth of the run, and the median, the smallest and the largest latency of samples.

    Memory is the median of a twelfth, and files are the most that a sample found.
    """
    processes: dict[str, dict[str, list[float]]] = {}
    latencies: dict[str, list[float]] = {"second": [], "p50": [], "p99": []}
    for part in twelfths(found):
        second = part[-1]["second"]
        for name in {name: None for one in part for name in one["processes"]}:
            lists = processes.setdefault(name, {"second": [], "rss": [], "files": []})
            here = [one["processes"][name] for one in part if name in one["processes"]]
            lists["second"].append(second)
            lists["rss"].append(statistics.median(each["rss"] for each in here))
            lists["files"].append(max(each["files"] for each in here))
        if timed := [one for one in part if "p50" in one]:
            latencies["second"].append(second)
            for name in ("p50", "p99"):
                latencies[name].append(statistics.median(one[name] for one in timed))
    spreads = {}
    for name in ("p50", "p99"):
        values = [one[name] for one in found if name in one]
        spreads[f"{name} ms"] = [statistics.median(values), min(values), max(values)]
    return {"processes": processes, "latency": latencies} | spreads


def twelfths(found: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the samples of each twelfth of the run that has samples."""
    end = max(found[-1]["second"], 1)
    parts: list[list[dict[str, Any]]] = [[] for _ in range(12)]
    for one in found:
        parts[min(11, 12 * one["second"] // end)].append(one)
    return [part for part in parts if part]


def report(one: dict[str, Any], tally: Tally) -> None:
    shown = ", ".join(
        f"{name} {each['rss'] / 2**20:.1f} MiB {each['files']} files" for name, each in one["processes"].items()
    )
    times = f"p50 {one.get('p50')} ms, p99 {one.get('p99')} ms"
    print(f"{one['second']:6} s  {shown}; {times}; {dict(tally.outcomes)}", flush=True)


def errors_in(log: str) -> list[str]:
    return [line for line in log.splitlines() if line.startswith(("ERROR", "CRITICAL", "Traceback"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", choices=SCENARIOS, default="attackers")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--pause", type=float, default=0, help="the mean pause of each client between requests, in s")
    parser.add_argument("--interval", type=float, help="the time between two reloads or restarts, in s")
    parser.add_argument("-o", type=destination)
    options = parser.parse_args()
    tally, found = Tally(), []
    with tempfile.TemporaryDirectory() as folder:
        with deployed(options.scenario, Path(folder)) as deployment:
            if options.interval and deployment.interval:
                deployment.interval = (options.interval, options.interval)
            for one in samples(deployment, Traffic(deployment, tally, options.pause), options.seconds):
                found.append(one)
                if len(found) % 12 == 0:
                    report(one, tally)
        log = (Path(folder) / "log").read_text()
    for error in errors_in(log):
        tally.count(f"logged: {error}")
    report(found[-1], tally)
    print(f"memory at the end / memory after half of the time: {growth(found):.4f}")
    if options.o:
        results = {"seconds": found[-1]["second"], "growth": growth(found), "outcomes": tally.outcomes}
        save(options.o, {options.scenario: results | summary(found)})
    if unexpected := {*tally.outcomes} - EXPECTED:
        print(log, file=sys.stderr)
        sys.exit(f"unexpected: {sorted(unexpected)}")


if __name__ == "__main__":
    main()
