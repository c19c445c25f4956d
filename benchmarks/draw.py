"""Draws what is in benchmarks/results as docs/performance/*.svg: python benchmarks/draw.py"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"
PLOTS = Path(__file__).parents[1] / "docs" / "performance"
COLOURS = ["#1f77b4", "#ff7f0e", "#7f7f7f", "#2ca02c", "#9467bd", "#8c564b", "#17becf", "#bcbd22"]
LABELS, WIDTH, LINE = 330, 560, 13
"""Pixels: of the labels, of the bars, of one bar's height."""

Spread = Sequence[float]
"""Median, least, most."""


class Bar(NamedTuple):
    group: str
    contender: str
    spread: Spread


def bars(title: str, found: Sequence[Bar], goal: float = 1.0) -> str:
    """A bar for each median, a line from the least to the most, and a rule at `goal`; on a logarithmic scale."""
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


def curve(title: str, points: Sequence[tuple[float, float]], across: str, up: str) -> str:
    """A line through points, from 0 up."""
    right, top = max(x for x, _ in points), max(y for _, y in points) * 1.05
    path = " ".join(f"{60 + 800 * x / right:.1f},{340 - 290 * y / top:.1f}" for x, y in points)
    drawn = [
        f'<polyline points="{path}" fill="none" stroke="{COLOURS[0]}"/>',
        '<path d="M60 340H860M60 340V50" stroke="#222"/>',
    ]
    for part in range(5):
        height = 344 - 290 * part / 4
        drawn.append(f'<text x="55" y="{height:.0f}" text-anchor="end">{top * part / 4:.0f}</text>')
    drawn.append(f'<text x="860" y="358" text-anchor="end">{right:.0f} {escape(across)}</text>')
    return _svg(f"{title}, {up}", drawn, 900, 370)


def _svg(title: str, drawn: Sequence[str], width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" '
        f'font-size="11"><rect width="100%" height="100%" fill="#fff"/>\n'
        f'<text x="10" y="20" font-size="14">{escape(title)}</text>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def plots() -> Iterator[tuple[str, str]]:
    """(name, SVG) of each plot whose figures are there."""
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
    requests = _figures("checks").get("requests", {})
    found = [
        Bar(kind, contender, row["x bare uvicorn"])
        for kind, rows in requests.items()
        for contender, row in rows.items()
    ]
    if found:
        yield "checks", bars("Shape checks per second, 16 connections: times a bare uvicorn", found)
    if samples := _figures("soak").get("samples"):
        points = [(sample["second"] / 60, sample["rss"] / 2**20) for sample in samples]
        yield "soak", curve("Resident memory in an hour of traffic and attacks", points, "minutes", "MiB")


def _figures(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


if __name__ == "__main__":
    PLOTS.mkdir(exist_ok=True)
    for name, drawn in plots():
        (PLOTS / f"{name}.svg").write_text(drawn)
        print(PLOTS / f"{name}.svg")
