"""Search for the requests that keep all others waiting longest: what /livez on another connection sees of them.

    python benchmarks/load/stalls.py --minutes 30 -o benchmarks/results/stalls.json
    python benchmarks/load/stalls.py --replay benchmarks/results/stalls.json
    python benchmarks/load/stalls.py --runs 5 --replay benchmarks/results/stalls.json

One service with its defaults, and a process that asks /livez every two milliseconds. Requests are drawn from
grammar, sent alone and eight at once, and those with the longest wait, in all or for each byte sent, are changed and
sent again. What is found is repeated three times, and the median counts: the machine makes others wait too. The file of
results holds the bodies, so that a find replays; where the wait was long, also where the service was meanwhile. At the
end the service gets one SIGTERM with eight of the worst in flight.

`--runs` measures instead of searching: idle, under eight random requests in flight, under eight of the finds.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import grammar
from finds import Find, Round, kept, places, read, says, written
from grammar import Case
from harness import destination, machine
from probed import ANSWER_SECONDS, STOP_SECONDS, Service, Waited, ask

FLIGHT = 8
"""Requests in flight at once."""
HANG_SECONDS = 60
"""After so long without an answer to a probe the service is killed;"""
ENOUGH_SECONDS = 1.5
"""while searching after so long, since more is learnt from other requests."""
LONG = 0.015
"""A wait, in seconds, above which a request is looked at more closely."""
KNOWN = 0.5
"""From here on no more is learnt by sending it eight times at once, or among others."""
NUMBERS = count()


class Search:
    """A pool of the worst for each kind, from which others are made."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.seed = options.seed
        self.pool: dict[str, list[Find]] = {}
        self.hangs: list[Find] = []
        self.failures: dict[str, Case] = {}
        """Requests that were answered by 500, by the last line of what the service then wrote."""
        self.tried = self.restarts = 0
        self.kinds: Counter[str] = Counter()
        self.spent: Counter[str] = Counter()
        """Seconds for each kind: the slowest ones would take all of them."""
        self.service = Service(folder)
        self.callers = ThreadPoolExecutor(FLIGHT)

    def fly(self, find: Find, look: bool = False, most: float = HANG_SECONDS) -> Round:
        """Send another round of requests, in which a probe waits for up to `most` seconds.

        With `look`, ask the service for its stacks while it does not respond.
        """
        service = self.service
        wires = [case.wire(next(NUMBERS)) for case in find.cases]
        start = time.monotonic()
        asked = [self.callers.submit(ask, service.port, wire, self.options.seconds) for wire in wires]
        looked = start
        while not all(one.done() for one in asked) or service.last() < start:
            time.sleep(0.002)
            now = time.monotonic()
            silent = now - max(service.last(), start)
            if silent > most or service.process.poll() is not None:
                service.kill()
                break
            if look and silent > 0.01 and now - looked > 0.02:
                looked = now
                service.process.send_signal(signal.SIGUSR1)
        stop = time.monotonic()
        hung = service.process.poll() is not None
        while not hung and service.last() < stop:
            time.sleep(0.002)
            if time.monotonic() - service.last() > most:
                service.kill()
                hung = True
        statuses = [int((one.result()[9:12] or b"0").decode("latin-1")) for one in asked]
        waited = service.asked(start, stop)
        longest = max((probe.net for probe in waited), default=0), max((probe.raw for probe in waited), default=0)
        done = Round(*longest, stop - start, statuses, hung)
        if hung:
            done.wait = done.raw = max(done.raw, min(stop - start, most))
            if most >= self.options.hang:
                self.hangs.append(find)
        find.rounds.append(done)
        if 421 in statuses:
            raise RuntimeError("the service took the search's requests for another host's, and did no work for them")
        if 500 in statuses:
            said = re.findall(r"\n(\w+(?:\.\w+)*: .*)", service.log.read_text(errors="replace"))
            self.failures.setdefault(said[-1] if said else "", find.cases[statuses.index(500)])
        if look and not hung:
            find.where.update(places(service.log))
        self._rest(find)
        return done

    def _rest(self, find: Find) -> None:
        """Let the service come to rest, or begin with a new one."""
        hung = self.service.process.poll() is not None
        if not hung:
            find.left = max(find.left, left := self.service.settle(self.options.seconds))
        if hung or left > self.options.seconds - 1:
            self.service.kill()
            self.service = Service(self.folder)
            self.restarts += 1

    def run(self) -> None:
        """Until the time is over."""
        end = time.monotonic() + 60 * self.options.minutes
        cases = chain(grammar.known(), grammar.large(self.options.bytes) if self.options.bytes > 2**20 else ())
        start = [Find([case]) for case in cases if case.nbytes <= self.options.bytes]
        start = [find for find in start if find.kind in self.options.kinds]
        number = 0
        while time.monotonic() < end and number < self.options.rounds:
            seed = f"{self.seed}:{number}"
            rng = random.Random(seed)
            find = start.pop(0) if start else self._next(rng)
            find.seed = seed
            number += 1
            self.try_out(find, rng)
            if number % 50 == 0:
                worst = max((kept for finds in self.pool.values() for kept in finds), key=lambda kept: kept.wait)
                print(f"{number} tried, {self.restarts} restarts, longest {1000 * worst.wait:.0f} ms: {worst.kind}",
                      file=sys.stderr, flush=True)  # fmt: skip

    def try_out(self, find: Find, rng: random.Random) -> None:
        """Alone, and where that made a probe wait, eight times at once."""
        self.tried += 1
        self.kinds[find.kind] += 1
        start = time.monotonic()
        wait = self.fly(find, most=ENOUGH_SECONDS).wait
        if LONG < wait < KNOWN:
            self.fly(find, most=ENOUGH_SECONDS)
        self.keep(find)
        self.spent[find.cases[0].kind] += time.monotonic() - start
        if len(find.cases) == 1 and (0.005 < find.wait < KNOWN or rng.random() < 0.1):
            self.try_out(Find(find.cases * FLIGHT, seed=find.seed), rng)

    def keep(self, find: Find) -> None:
        """In the pool of its kind, as long as it is among the worst there."""
        finds = [*self.pool.get(find.kind, []), find]
        room = max(2 * 2**20 // self.options.bytes, 1)  # bodies are held
        longest = sorted(finds, key=lambda kept: -kept.wait)[: min(room, 6)]
        densest = sorted(finds, key=lambda kept: -kept.per_byte)[: min(room, 3)]
        self.pool[find.kind] = longest + [kept for kept in densest if kept not in longest]

    def _next(self, rng: random.Random) -> Find:
        """What to try next: a request from the grammar, a changed one, or eight different ones."""
        most, pick = self.options.bytes, rng.random()
        pools = list(self.pool.values())
        if rng.random() < 0.8:
            pools = [known for finds in pools if (known := [find for find in finds if find.wait < KNOWN])]
        if pick < 0.45 or not pools:
            drawn = rng.sample(self.options.kinds, min(4, len(self.options.kinds)))
            return Find([grammar.draw(rng, most, [min(drawn, key=lambda kind: self.spent[kind])])])
        if pick < 0.85:
            finds = min(rng.sample(pools, min(3, len(pools))), key=lambda finds: self.spent[finds[0].cases[0].kind])
            case = rng.choice(rng.choice(finds).cases)
            others = [kept.cases[0] for pool in pools for kept in pool if kept.cases[0].value is not None]
            return Find([grammar.mutated(rng, case, others, most)])
        kept = [rng.choice(finds).cases[0] for finds in pools]
        fresh = [grammar.draw(rng, most, self.options.kinds) for _ in range(2)]
        return Find([rng.choice([*kept, *fresh]) for _ in range(FLIGHT)])

    def by_kind(self) -> dict[str, dict[str, float]]:
        """How many requests of each kind were tried, and the longest wait, in milliseconds."""
        tried: Counter[str] = Counter()
        longest: dict[str, float] = {}
        for kind, times in self.kinds.items():
            tried[kind.partition("+")[0]] += times
        for finds in self.pool.values():
            for find in finds:
                kind = find.kind.partition("+")[0]
                longest[kind] = max(longest.get(kind, 0), round(1000 * find.wait, 1))
        return {kind: {"tried": tried[kind], "wait ms": longest.get(kind, 0)} for kind in sorted(tried)}

    def worst(self, number: int, of_kind: int) -> list[Find]:
        """The longest waits, of each kind no more than `of_kind`."""
        taken: Counter[str] = Counter()
        chosen = []
        for find in sorted((find for finds in self.pool.values() for find in finds), key=lambda find: -find.wait):
            taken[find.kind] += 1
            if taken[find.kind] <= of_kind and len(chosen) < number:
                chosen.append(find)
        return chosen

    def confirm(self, finds: Sequence[Find], repeats: int, end: float) -> None:
        """Repeat each request this number of times, and once more to sample where the service spends the time."""
        for find in finds:
            if time.monotonic() > end:
                return
            find.rounds = find.rounds[:1]  # which was chosen for being long, and counts no more
            while len(find.rounds) <= repeats:
                done = self.fly(find, most=self.options.hang)
                if done.hung or done.wait > 10:  # surely not the machine
                    break
            if find.wait > LONG and not done.hung:
                self.fly(find, look=True)
                find.rounds.pop()  # signals take their time too
            print(f"{find.kind}: {[round(1000 * done.wait) for done in find.rounds]} ms", file=sys.stderr, flush=True)

    def stop(self) -> dict[str, Any]:
        """How the service ends with eight of the worst in flight."""
        finds = self.worst(FLIGHT, 1) or [Find([next(grammar.known())])]
        cases = ([find.cases[0] for find in finds] * FLIGHT)[:FLIGHT]
        seconds = stopped(self.service, cases)
        return {"seconds": seconds, "within": STOP_SECONDS, "in flight": [case.kind for case in cases]}


def spread(probes: Sequence[Waited]) -> dict[str, float]:
    """Milliseconds, as they were waited; and the longest without the time in a queue for a core."""
    cuts = statistics.quantiles([probe.raw for probe in probes], n=1000)
    figures = {"p50": cuts[499], "p99": cuts[989], "max": max(probe.raw for probe in probes)}
    nets = sorted(probe.net for probe in probes)
    figures |= {"net p99": nets[int(0.99 * len(nets))], "net max": nets[-1]}
    return {"asked": len(probes)} | {name: round(1000 * value, 2) for name, value in figures.items()}


def idle(service: Service, seconds: float) -> dict[str, float]:
    service.settle()
    start = time.monotonic()
    time.sleep(seconds)
    return spread(service.asked(start, time.monotonic()))


def report(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A table of finds, for people."""
    for number, row in enumerate(rows):
        each = row["bytes"] // row["requests"]
        yield (
            f"{number:3} {row['kind']:14} {row['requests']} x {each:6} B  "
            f"wait {row['wait ms']:8.1f} ms {row['waits ms']}  {row['us per byte']:7.2f} us/B  "
            f"done {row['seconds']:5.1f} s, {row['left seconds']:4.1f} s left over  "
            f"{Counter(row['statuses']).most_common(3)}"
        )
        for case in row["cases"][:3]:
            media, accept = case["media"].partition("/")[2], case["accept"].partition("/")[2]
            yield f"      {case['times']} x {case['method']} {case['path'][:100]} {media} {accept} {case['says'][:260]}"
        for place, times in row["where"].items():
            yield f"      {times:4} x at {place}"


def measured(options: argparse.Namespace, folder: Path, finds: Sequence[Find]) -> Iterator[dict[str, Any]]:
    """Run rounds with a new service: idle, with eight random requests in flight, and with the requests found before."""
    for run in range(options.runs):
        rng = random.Random(f"{options.seed}:{run}")
        service = Service(folder)
        row: dict[str, Any] = {"run": run, "idle": idle(service, min(options.run_seconds, 5))}
        mixes = {"mixes": [grammar.draw(rng, options.bytes, options.kinds) for _ in range(200)]}
        mixes["finds"] = [case for find in finds for case in find.cases[:1] if case.nbytes <= options.bytes]
        try:
            for name, cases in mixes.items():
                if cases and service.process.poll() is None:
                    row[name] = loaded(service, cases, options, f"{options.seed}:{run}:{name}")
            row["hung"] = service.process.poll() is not None
            if not row["hung"]:
                flown = [rng.choice(mixes["finds"] or mixes["mixes"]) for _ in range(FLIGHT)]
                row["stop seconds"] = stopped(service, flown)
        finally:
            service.kill()
        print(json.dumps(row), flush=True)
        yield row


def loaded(service: Service, cases: Sequence[Case], options: argparse.Namespace, seed: str) -> dict[str, float]:
    """What probes wait while eight callers send these requests, in an order of each one's own."""
    start = time.monotonic()
    end = start + options.run_seconds

    def call(number: int) -> int:
        own, done = random.Random(f"{seed}:{number}"), 0
        while time.monotonic() < end:
            ask(service.port, own.choice(cases).wire(next(NUMBERS)), options.seconds)
            done += 1
        return done

    hung: list[Waited] = []
    with ThreadPoolExecutor(FLIGHT) as callers:
        flying = [callers.submit(call, number) for number in range(FLIGHT)]
        while not all(one.done() for one in flying):
            time.sleep(0.1)
            if not hung and time.monotonic() - service.last() > options.hang:
                service.kill()
                hung.append(Waited(end, options.hang, 0))
    return {"answers": sum(one.result() for one in flying)} | spread([*service.asked(start, end), *hung])


def stopped(service: Service, cases: Sequence[Case]) -> float | None:
    """Seconds from SIGTERM to the service's end, with these requests in flight; None where it had to be killed."""
    with ThreadPoolExecutor(len(cases)) as callers:
        for case in cases:
            callers.submit(ask, service.port, case.wire(next(NUMBERS)), 40)
        time.sleep(0.5)
        return service.stop()


@contextmanager
def searching(options: argparse.Namespace, folder: Path) -> Iterator[Search]:
    search = Search(options, folder)
    try:
        yield search
    finally:
        search.service.kill()
        search.callers.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=10**9, help="the maximum number of requests")
    parser.add_argument("--bytes", type=int, default=2**16, help="the maximum size of a request")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--seconds", type=float, default=ANSWER_SECONDS, help="that a caller waits for an answer")
    parser.add_argument("--kinds", nargs="+", choices=list(grammar.KINDS), default=list(grammar.KINDS))
    parser.add_argument("--top", type=int, default=25, help="finds that are repeated and written")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--hang", type=float, default=HANG_SECONDS, help="seconds after which the service is killed")
    parser.add_argument("--replay", type=Path, help="a file of results, whose finds are sent again")
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--run-seconds", type=float, default=20)
    parser.add_argument("-o", type=destination)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # which ends the service too
    finds = read(options.replay) if options.replay else []
    settings = {name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()}
    results: dict[str, Any] = {"machine": machine(), "settings": settings}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.runs:
            results["runs"] = list(measured(options, folder, finds))
        else:
            with searching(options, folder) as search:
                results["idle ms"] = idle(search.service, 2)
                if finds:
                    for find in finds:
                        search.fly(find)
                        search.keep(find)
                    worst = finds
                else:
                    search.run()
                    worst = search.worst(options.top, 3)
                search.confirm(worst, options.repeats, time.monotonic() + 60 * max(options.minutes, 1))
                worst = sorted(worst, key=lambda find: -find.wait)
                results |= {"tried": search.tried, "restarts": search.restarts, "kinds": search.by_kind()}
                results["hangs"] = [kept(find) for find in search.hangs]
                results["failures"] = {said: written(case) for said, case in search.failures.items()}
                results["finds"] = [kept(find) for find in worst]
                results["stop"] = search.stop()
                print("\n".join(report(results["finds"])))
                for name in ("idle ms", "tried", "restarts", "kinds", "stop"):
                    print(f"{name}: {json.dumps(results[name])}")
                print(f"hangs: {[find.kind for find in search.hangs]}")
                for said, case in search.failures.items():
                    print(f"500: {case.kind} {case.method} {case.path[:60]} {says(case)}\n      {said}")
    if options.o:
        options.o.parent.mkdir(exist_ok=True)
        options.o.write_text(json.dumps(results, indent=1) + "\n")
    if results.get("hangs") or results.get("failures"):
        sys.exit("a request stopped the service, or the status of a response was 500")


if __name__ == "__main__":
    main()
