"""The list of tests/attacks against one worker, while others ask whether it lives: statuses, memory, latency.

    python benchmarks/load/attacks.py [--rounds 3] [--callers 4] [-o benchmarks/results/attacks.json]

Several callers strike at once, each with the whole list in an order of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from attacks.attack import REQUEST_SECONDS
from attacks.cases import ATTACKS
from attacks.test_attacks import strike
from conftest import served
from harness import destination, machine

from axiscast_service.settings import Settings

MIB = 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--callers", type=int, default=4)
    kinds = sorted({attack.kind for attack in ATTACKS})
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("-o", type=destination)
    options = parser.parse_args()
    attacks = [attack for attack in ATTACKS if attack.kind in options.kinds]
    classes = Counter(attack.kind for attack in attacks)
    outcomes: Counter[str] = Counter()
    wrong: set[str] = set()
    latencies: list[float] = []
    stop = threading.Event()

    def assail(url: str, seed: int) -> None:
        order = random.Random(seed)
        for _ in range(options.rounds):
            for attack in order.sample(attacks, len(attacks)):
                status = strike(url, attack).status
                # Several at once may want more than the budget holds.
                right = status in attack.statuses or status == 503
                outcomes["503" if status == 503 else "as listed" if right else "wrong"] += 1
                if not right:
                    wrong.add(f"{attack.kind}: {attack.name}: {status}")

    def ping(url: str) -> None:
        with httpx.Client(base_url=url, timeout=10) as http:
            while not stop.wait(0.005):
                start = time.perf_counter()
                assert http.get("/livez").status_code == 200
                latencies.append((time.perf_counter() - start) * 1000)

    with served(request_seconds=REQUEST_SECONDS) as service, ThreadPoolExecutor(options.callers + 1) as pool:
        httpx.post(f"{service.url}/v1/check", json={"inputs": [[1]] * 2000})
        base = service.memory()
        service.forget_peak()
        pinged = pool.submit(ping, service.url)
        for struck in [pool.submit(assail, service.url, seed) for seed in range(options.callers)]:
            struck.result()
        stop.set()
        pinged.result()
        peak, after = service.memory("VmHWM"), service.memory()
    percentiles = statistics.quantiles(latencies, n=100)
    budget = Settings().memory_budget_bytes
    results = {
        "machine": machine(),
        "attacks": len(attacks),
        "classes": dict(classes),
        "outcomes": dict(outcomes),
        "wrong": sorted(wrong),
        "tracebacks": service.log.count("Traceback"),
        "MiB": {
            "base": base / MIB,
            "peak": peak / MIB,
            "after": after / MIB,
            "base + budget + 10 %": (base + 1.1 * budget) / MIB,
        },
        "/livez ms": {"asked": len(latencies), "p50": percentiles[49], "p99": percentiles[98], "max": max(latencies)},
    }
    print(json.dumps(results, indent=1))
    if options.o:
        options.o.parent.mkdir(exist_ok=True)
        options.o.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
