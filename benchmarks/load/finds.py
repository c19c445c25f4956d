"""Finds: requests that made others wait, what they were measured by, and the file that holds them."""

from __future__ import annotations

import base64
import json
import os
import re
import statistics
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grammar import Case


@dataclass
class Round:
    """What became of requests that were in flight together."""

    wait: float
    """The longest time, in seconds, that a probe waited, without the time in which it was queued for a core."""
    raw: float
    """All of them."""
    seconds: float
    """Until the last answer was there, or given up."""
    statuses: list[int]
    hung: bool = False


@dataclass(eq=False)
class Find:
    """Requests, and the waits that they have caused."""

    cases: list[Case]
    rounds: list[Round] = field(default_factory=list)
    left: float = 0
    """Seconds for which the service went on after all callers had gone."""
    where: Counter[str] = field(default_factory=Counter)
    seed: str = ""

    @property
    def kind(self) -> str:
        kinds = dict.fromkeys(case.kind for case in self.cases)
        return "+".join(kinds) if len(kinds) < 3 else "mix"

    @property
    def nbytes(self) -> int:
        return sum(case.nbytes for case in self.cases)

    @property
    def wait(self) -> float:
        """Of the first round, which was chosen for being long, no more is believed than of the others."""
        others = [round.wait for round in self.rounds[1:]] or [self.rounds[0].wait]
        return statistics.median(others)

    @property
    def per_byte(self) -> float:
        return self.wait / self.nbytes


def kept(find: Find) -> dict[str, Any]:
    """A find as it is written."""
    different = _distinct(find.cases)
    return {
        "kind": find.kind,
        "seed": find.seed,
        "requests": len(find.cases),
        "bytes": find.nbytes,
        "wait ms": round(1000 * find.wait, 1),
        "waits ms": [round(1000 * round_.wait, 1) for round_ in find.rounds],
        "us per byte": round(1e6 * find.per_byte, 2),
        "raw ms": [round(1000 * round_.raw, 1) for round_ in find.rounds],
        "seconds": round(max(round_.seconds for round_ in find.rounds), 2),
        "left seconds": round(find.left, 2),
        "statuses": find.rounds[-1].statuses,
        "where": dict(find.where.most_common(4)),
        "cases": [written(case) | {"times": times} for case, times in different],
    }


def _distinct(cases: Sequence[Case]) -> list[tuple[Case, int]]:
    different: list[tuple[Case, int]] = []
    for case in cases:
        for number, (other, times) in enumerate(different):
            if other is case:
                different[number] = (other, times + 1)
                break
        else:
            different.append((case, 1))
    return different


def written(case: Case) -> dict[str, Any]:
    return {
        "kind": case.kind,
        "method": case.method,
        "path": case.path,
        "media": case.media,
        "accept": case.accept,
        "head": case.head,
        "bytes": case.nbytes,
        "says": says(case),
        "body": base64.b64encode(zlib.compress(case.body, 9)).decode(),
    }


def says(case: Case) -> str:
    """The beginning of a request, for people, on one line."""
    text = repr(case.value) if case.value is not None else repr(case.body[:400])
    text = re.sub(
        r"(.{1,24}?)\1{3,}", lambda found: f"{found[1]}{{{len(found[0]) // len(found[1])} times}}", text[:100_000]
    )
    return text if len(text) < 300 else f"{text[:220]} ... {text[-60:]}"


def read(path: Path) -> list[Find]:
    """The finds of a file of results."""
    finds = []
    for one in json.loads(path.read_text())["finds"]:
        cases = []
        for case in one["cases"]:
            body = zlib.decompress(base64.b64decode(case["body"]))
            said = {name: case[name] for name in ("kind", "path", "method", "media", "accept", "head")}
            cases += [Case(body=body, **said)] * case["times"]
        finds.append(Find(cases, seed=one["seed"]))
    return finds


def places(log: Path) -> Counter[str]:
    """Return the innermost function of the service in each busy thread, for each dump of stacks.

    If the loop is not among them, it waits for a thread that holds the GIL, or is in uvicorn.
    """
    text = log.read_text(errors="replace")
    os.truncate(log, 0)
    found: Counter[str] = Counter()
    for stack in re.split(r"\n\n|(?=Thread 0x|Current thread 0x)", text):
        frames = re.findall(r'File "([^"]*)", line (\d+) in (\S+)', stack)
        own = [frame for frame in frames if "/axiscast" in frame[0] and not frame[0].endswith("_service/serve.py")]
        if own and not frames[0][0].endswith(("threading.py", "thread.py", "selectors.py")):
            inner = "" if own[0] == frames[0] else f" > {Path(frames[0][0]).name}:{frames[0][2]}"
            path, line, function = own[0]
            thread = (
                "loop" if any(frame[0].endswith(("uvicorn/server.py", "runners.py")) for frame in frames) else "thread"
            )
            found[f"{thread}: {path.rpartition('/axiscast')[2].partition('/')[2]}:{line} {function}{inner}"] += 1
    return found
