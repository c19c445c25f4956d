"""Draws benchmarks/results as docs/evidence/performance/*.svg, and writes its tables into docs/evidence/performance.md.

python benchmarks/draw.py [FOLDER]     in place of docs
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[1] / "docs" / "evidence"
COLOURS = ["#1f77b4", "#ff7f0e", "#7f7f7f", "#2ca02c", "#9467bd", "#8c564b", "#17becf", "#bcbd22"]
LABELS, WIDTH, LINE, PANEL = 330, 560, 13, 220
"""The widths of labels and bars, and the heights of a bar and a panel, in pixels."""

SOAKS = {
    "attackers": "An hour of one service, with attackers",
    "reloads": "An hour of two workers that reload keys and a certificate, with attackers",
    "restarts": "An hour of two replicas that restart in turn behind HAProxy, with attackers",
}
"""The scenarios of the soak test, and the titles of their plots."""

Spread = Sequence[float]
"""The median, the smallest and the largest value."""


class Bar(NamedTuple):
    group: str
    contender: str
    spread: Spread


def bars(title: str, found: Sequence[Bar], goal: float = 1.0) -> str:
    """Return a bar for each median, with a line for the range and a rule at `goal`. The axis is logarithmic."""
    contenders = list(dict.fromkeys(bar.contender for bar in found))
    values = [value for bar in found for value in bar.spread if value > 0] + [goal]
    low, high = math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.25

    def x(value: float) -> float:
        return LABELS + WIDTH * (math.log10(max(value, 10**low)) - low) / (high - low)

    drawn, y, group = [], 34 + 18 * math.ceil(len(contenders) / 4), ""
    for number, name in enumerate(contenders):
        left, top = 10 + 225 * (number % 4), 32 + 18 * (number // 4)
        colour = COLOURS[number % len(COLOURS)]
        drawn.append(f'<rect x="{left}" y="{top}" width="10" height="10" fill="{colour}"/>')
        drawn.append(f'<text x="{left + 14}" y="{top + 9}">{escape(name)}</text>')
    top = y
    for bar in found:
        if bar.group != group:
            group, y = bar.group, y + 8
            drawn.append(f'<text x="{LABELS - 6}" y="{y + 10}" text-anchor="end">{escape(group)}</text>')
        colour = COLOURS[contenders.index(bar.contender) % len(COLOURS)]
        median, least, most = bar.spread
        drawn.append(
            f'<rect x="{LABELS}" y="{y}" width="{x(median) - LABELS:.1f}" height="{LINE - 3}" fill="{colour}"/>'
        )
        drawn.append(f'<path d="M{x(least):.1f} {y + 5}H{x(most):.1f}" stroke="#222"/>')
        drawn.append(f'<text x="{x(most) + 4:.1f}" y="{y + 9}">{median:.3g}</text>')
        y += LINE
    drawn.append(f'<path d="M{x(goal):.1f} {top}V{y}" stroke="#d62728" stroke-dasharray="4 3"/>')
    return _svg(title, drawn, LABELS + WIDTH + 40, y + 12)


def timeline(title: str, panels: dict[str, dict[str, list[tuple[float, float]]]]) -> str:
    """Return a panel for each unit, with a line for each name through its points (minute, value)."""
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    drawn = []
    for number, name in enumerate(names):
        drawn.append(f'<rect x="{10 + 110 * number}" y="32" width="10" height="10" fill="{COLOURS[number]}"/>')
        drawn.append(f'<text x="{24 + 110 * number}" y="41">{escape(name)}</text>')
    for number, (unit, lines) in enumerate(panels.items()):
        coloured = [(COLOURS[names.index(name)], points) for name, points in lines.items()]
        drawn += _time_panel(76 + (PANEL + 44) * number, unit, coloured)
    return _svg(title, drawn, 930, 60 + (PANEL + 44) * len(panels))


def _time_panel(top: float, unit: str, lines: Sequence[tuple[str, list[tuple[float, float]]]]) -> Iterator[str]:
    """Return a line of each colour through its points. Both axes begin at 0."""
    right, high = (max(values) for values in zip(*itertools.chain(*(points for _, points in lines)), strict=True))
    step = next(
        step for power in range(-3, 9) for step in (10**power, 2 * 10**power, 5 * 10**power) if high <= 6 * step
    )
    for part in range(math.floor(high / step) + 1):
        y = top + PANEL - PANEL * part * step / high
        yield f'<path d="M60 {y:.0f}H900" stroke="#ddd"/>'
        yield f'<text x="55" y="{y + 4:.0f}" text-anchor="end">{part * step:g}</text>'
    yield f'<text x="60" y="{top - 6}">{escape(unit)}</text>'
    yield f'<text x="900" y="{top + PANEL + 14}" text-anchor="end">{right:.0f} minutes</text>'
    for colour, points in lines:
        path = " ".join(f"{60 + 840 * x / right:.1f},{top + PANEL - PANEL * y / high:.1f}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}"/>'


def growth(title: str, across: str, lines: dict[str, list[dict[str, Any]]]) -> str:
    """Return two plots of the growth of time and memory, with logarithmic axes."""
    drawn = []
    for number, name in enumerate(lines):
        colour, y = COLOURS[number], 32 + 16 * number
        drawn.append(f'<rect x="10" y="{y}" width="10" height="10" fill="{colour}"/>')
        drawn.append(f'<text x="24" y="{y + 9}">{escape(name)}</text>')
    top = 50 + 16 * len(lines)
    seconds = [[(at["at"], at["seconds"][0]) for at in line] for line in lines.values()]
    memory = [[(at["at"], max(at["memory"] / 2**20, 0.1)) for at in line] for line in lines.values()]
    drawn += _panel(60, top, across, "seconds", seconds)
    drawn += _panel(520, top, across, "MiB over idle", memory)
    return _svg(title, drawn, 930, top + PANEL + 35)


def _panel(
    left: float, top: float, across: str, up: str, lines: Sequence[Sequence[tuple[float, float]]]
) -> Iterator[str]:
    """Return a curve through the points of each line."""
    (low_x, high_x), (low_y, high_y) = (
        (min(found), max(found)) for found in zip(*itertools.chain(*lines), strict=True)
    )
    low_y = 10 ** math.floor(math.log10(low_y))
    high_y = max(10 ** math.ceil(math.log10(high_y)), 10 * low_y)

    def x(value: float) -> float:
        return left + 380 * math.log(value / low_x) / math.log(high_x / low_x)

    def y(value: float) -> float:
        return top + PANEL - PANEL * math.log(value / low_y) / math.log(high_y / low_y)

    base, named = (32, _bytes) if across.startswith("bytes") else (10 if high_x > 1000 else 4, _short)
    for power in range(round(math.log10(high_y / low_y)) + 1):
        value = low_y * 10**power
        yield f'<path d="M{left} {y(value):.1f}h380" stroke="#ddd"/>'
        yield f'<text x="{left - 5}" y="{y(value) + 4:.1f}" text-anchor="end">{_short(value)}</text>'
    for value in (low_x * base**power for power in range(int(math.log(high_x / low_x, base)) + 1)):
        yield f'<path d="M{x(value):.1f} {top}v{PANEL}" stroke="#ddd"/>'
        yield f'<text x="{x(value):.1f}" y="{top + PANEL + 14}" text-anchor="middle">{named(value)}</text>'
    yield f'<text x="{left + 380}" y="{top + PANEL + 29}" text-anchor="end">{escape(across)}</text>'
    yield f'<text x="{left}" y="{top - 6}">{escape(up)}</text>'
    for number, line in enumerate(lines):
        path = " ".join(f"{x(across):.1f},{y(value):.1f}" for across, value in line)
        yield f'<polyline points="{path}" fill="none" stroke="{COLOURS[number]}" stroke-width="1.5"/>'


def _short(value: float) -> str:
    return f"{value:g}" if 1e-3 <= value < 1e5 else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")


def _bytes(value: float) -> str:
    power = int(math.log(value, 1024) + 1e-9)
    return f"{value / 1024**power:g} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def _svg(title: str, drawn: Sequence[str], width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" '
        f'font-size="11"><rect width="100%" height="100%" fill="#fff"/>\n'
        f'<text x="10" y="20" font-size="14">{escape(title)}</text>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def plots() -> Iterator[tuple[str, str]]:
    """Yield (name, SVG) of each plot with results."""
    engine = _figures("engine")
    for group, title, name in [
        ("dense", "Dense output of 512 MiB, written into the same memory", "512 MiB"),
        ("dense", "Dense output of 8 MiB, written into the same memory", " 8 MiB"),
        ("stream", "Dense output as a stream of chunks", ""),
        ("gradient", "Gradient: sum over the broadcast axes", ""),
    ]:
        found = [
            Bar(pattern.removesuffix(f", {name.strip()}"), contender, row["ratio"])
            for pattern, rows in engine.get(group, {}).items()
            if name in pattern
            for contender, row in list(rows.items())[1:]
        ]
        limit = "one read of the bytes" if group == "gradient" else "memset of the same bytes"
        if found:
            yield (
                f"{group} {name}".strip().replace(" ", "-").replace("--", "-"),
                bars(f"{title}: time / {limit}", found),
            )
    for group, rows in _figures("remote").items():
        if isinstance(rows, list):
            found = [Bar(f"{row['contender']} to {row['server']}", row["server"], row["times_raw_tcp"]) for row in rows]
            yield f"remote-{group}", bars(f"Remote, {group}: times as fast as raw TCP", found)
    for group, title in [
        ("down", "Answers down the wire, to 8 GiB: time, and the server's memory"),
        ("up", "Bodies up the wire: time, and the server's memory"),
        ("rank", "Rank: time of one request"),
        ("inputs", "Inputs of one request: time, and the server's memory"),
        ("batch", "Checks in one request: time, and the server's memory"),
        ("streams", "Streams of 512 MiB at once: time of them all, and the server's memory"),
    ]:
        if found_group := _figures("scale").get(group):
            yield f"scale-{group}", growth(title, **found_group)
    for scenario, title in SOAKS.items():
        if found_soak := _figures("soak").get(scenario):
            yield f"soak-{scenario}", timeline(title, soak_panels(found_soak))


def soak_panels(row: dict[str, Any]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return the memory and the open files of each process, and the latency, as points (minute, value)."""

    def points(lists: dict[str, list[float]], figure: str, unit: float = 1) -> list[tuple[float, float]]:
        return [(second / 60, value / unit) for second, value in zip(lists["second"], lists[figure], strict=True)]

    return {
        "resident memory, MiB": {name: points(lists, "rss", 2**20) for name, lists in row["processes"].items()},
        "open files": {name: points(lists, "files") for name, lists in row["processes"].items()},
        "median latency of samples of five seconds, ms": {
            f"latency {name}": points(row["latency"], name) for name in ("p99", "p50")
        },
    }


def tables() -> Iterator[tuple[str, list[list[str]]]]:
    """Yield (name, rows) of each table with results. The first row is the header."""
    if kinds := _figures("checks").get("requests"):
        others = list(dict.fromkeys(name for rows in kinds.values() for name in rows if name != "bare uvicorn"))
        head = ["x bare uvicorn", *others, "axiscast: CPU us", "p99 ms"]
        yield (
            "checks",
            [head]
            + [
                [kind, *(spread(rows.get(name, {}).get("x bare uvicorn")) for name in others)]
                + [spread(rows.get("axiscast", {}).get(figure)) for figure in ("CPU us", "p99 ms")]
                for kind, rows in kinds.items()
            ],
        )
    if batches := _figures("checks").get("batches"):
        rows = [[title, spread([rate / 1e6 for rate in row["checks per second"]])] for title, row in batches.items()]
        yield "batches", [["one request", "million checks a second"], *rows]
    if broadcasts := _figures("tensors").get("tensors"):
        names = {"axiscast": "axiscast: CPU us", "naive": "ordinary endpoint: CPU us"}
        rows = [[title, *(spread(row[name]["CPU us"]) for name in names)] for title, row in broadcasts.items()]
        yield "tensors", [["response", *names.values()], *rows]
    if calls := _figures("library").get("library"):
        figures = ["import CPU ms", "import and first call CPU ms", "call us"]
        rows = [[name, *(spread(row[figure]) for figure in figures), row["loads"]] for name, row in calls.items()]
        yield "library", [["", *figures, "of NumPy, httpx and click it loads"], *rows]
    if soaks := {name: row for name in SOAKS if (row := _figures("soak").get(name))}:
        yield "soak", [SOAK_COLUMNS, *([name, *soak_row(row)] for name, row in soaks.items())]
    if fresh := _figures("fresh").get("fresh"):
        rows = [
            [
                name,
                spread(row["checks_per_second"]),
                *(f"{row['/livez'][figure]:.2g}" for figure in ("median", "p90", "most")),
            ]
            for name, row in fresh["contenders"].items()
        ]
        yield "fresh", [["", "checks a second", "fresh `/livez`: median s", "p90", "most"], *rows]


SOAK_COLUMNS = ["", "seconds", "verified", "attacks", "reloads or restarts", "refused", "errors", "p50 ms", "p99 ms"]


def soak_row(row: dict[str, Any]) -> Iterator[str]:
    """Yield the figures of a scenario of the soak test. A latency is the median, least and greatest sample."""
    counts = dict(row["outcomes"])
    attacks = sum(counts.pop(name, 0) for name in ("attack answered", "abandoned", "slow"))
    disturbed = sum(counts.pop(name, 0) for name in ("reloaded", "restarted"))
    figures = (row["seconds"], counts.pop("good", 0), attacks, disturbed, counts.pop("refused", 0))
    yield from (f"{figure:,}" for figure in (*figures, sum(counts.values())))
    for name in ("p50", "p99"):
        yield spread(row[f"{name} ms"])


def spread(values: Spread | None) -> str:
    """Return a median and its range as text."""
    if values is None:
        return ""
    median, least, most = (f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in values)
    return f"{median} ({least}..{most})"


def with_tables(text: str) -> str:
    """Return a document with the current tables between `<!-- table NAME -->` and `<!-- end -->`."""
    for name, (head, *rows) in tables():
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
        before, begin, rest = text.partition(f"<!-- table {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = "".join([before, begin, *(f"{line}\n" for line in lines), end, after])
    return text


def _figures(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    (folder / "performance").mkdir(exist_ok=True)
    for name, drawn in plots():
        (folder / "performance" / f"{name}.svg").write_text(drawn)
    (folder / "performance.md").write_text(with_tables((DOCS / "performance.md").read_text()))


if __name__ == "__main__":
    main()
