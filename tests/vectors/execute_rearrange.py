"""Write vectors of einops.rearrange by executing einops with NumPy arrays.

    python tests/vectors/execute_rearrange.py > tests/vectors/rearrange.jsonl

The script imports einops and NumPy, but not axiscast.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from random import Random
from typing import Any

import einops
import numpy as np

Case = tuple[str, dict[str, int], tuple[int, ...]]

WRITTEN: list[tuple[str, dict[str, int], list[int], str]] = [
    ("h w -> w h", {}, [2, 3], ""), ("h w -> h w", {}, [2, 3], ""), ("->", {}, [], ""), ("-> 1 1", {}, [], ""),
    ("b h w c -> b c h w", {}, [2, 3, 4, 5], ""), ("h w -> (h w)", {}, [2, 3], ""), ("(h w) -> h w", {"h": 2}, [6], ""),
    ("(h p) w -> h w p", {"p": 2}, [6, 4], ""), ("b (h p) (w q) -> (b p q) h w", {"p": 2, "q": 2}, [3, 4, 6], ""),
    ("... c -> c ...", {}, [2, 3, 4], ""), ("... -> (...)", {}, [2, 3, 4], ""), ("b ... -> b (...)", {}, [2, 3, 4], ""),
    ("h w -> h 1 w", {}, [2, 3], ""), ("h 1 w -> h w", {}, [2, 1, 3], ""), ("h () w -> h w ()", {}, [2, 1, 3], ""),
    ("h 1 w -> h w", {}, [2, 2, 3], "size-mismatch"), ("(h p) -> h p", {"p": 2}, [5], "size-mismatch"),
    ("(h p) -> h p", {"p": 2, "h": 3}, [6], ""), ("(h p) -> h p", {"p": 2, "h": 3}, [8], "size-mismatch"),
    ("h w -> w h", {"h": 2}, [2, 3], ""), ("h w -> w h", {"h": 3}, [2, 3], "size-mismatch"),
    ("h w -> h", {}, [2, 3], "invalid-attribute"), ("h -> h w", {"w": 2}, [2], "invalid-attribute"),
    ("h -> h 2", {}, [2], "invalid-attribute"), ("h -> h 1 1", {}, [2], ""),
    ("h 2 -> h 2", {}, [2, 2], "invalid-attribute"),
    ("h w -> h h", {}, [2, 3], "invalid-attribute"), ("h h -> h", {}, [2, 2], "invalid-attribute"),
    ("h w -> w", {"h": 2}, [2, 3], "invalid-attribute"), ("h w", {}, [2, 3], "invalid-attribute"),
    ("h w -> w h -> h w", {}, [2, 3], "invalid-attribute"), ("(h w -> h w", {"h": 2}, [6], "invalid-attribute"),
    ("((h) w) -> h w", {"h": 2}, [6], "invalid-attribute"), ("h w -> ...", {}, [2, 3], "invalid-attribute"),
    ("h w -> h w ...", {}, [2, 3], "invalid-attribute"), ("... h -> h", {}, [3, 2], "invalid-attribute"),
    ("... ... -> ...", {}, [2, 3], "invalid-attribute"), ("(... h) -> h ...", {"h": 2}, [2], "invalid-attribute"),
    ("h w -> w h", {}, [2], "rank-mismatch"), ("h w -> w h", {}, [2, 3, 4], "rank-mismatch"),
    ("... h w -> h w ...", {}, [2], "rank-mismatch"), ("... h w -> h w ...", {}, [2, 3], ""),
    ("(a b c) -> a b c", {"a": 2}, [8], "invalid-attribute"), ("(a b c) -> a b c", {"a": 2, "b": 2}, [8], ""),
    ("(a b) -> a b", {"a": 0}, [0], "size-mismatch"), ("(a b) -> a b", {"a": 2}, [0], ""),
    ("a b -> (b a)", {}, [0, 3], ""),
    ("h w -> w h", {"c": 2}, [2, 3], "invalid-attribute"), ("_h w -> w _h", {}, [2, 3], "invalid-attribute"),
    ("h-w -> w h", {}, [2, 3], "invalid-attribute"), ("h w -> w () h", {}, [2, 3], ""),
    ("h w -> (w 1) h", {}, [2, 3], ""),
    ("(h 1) w -> h w", {}, [2, 3], ""), ("time_steps feature -> feature time_steps", {}, [4, 2], ""),
]  # fmt: skip


def drawn(count: int) -> Iterator[Case]:
    """Yield patterns that split, move and merge axes, most of which fit."""
    draw = Random(7)
    for _ in range(count):
        names = list("abcde")[: draw.randint(1, 5)]
        sizes = {name: draw.choice([1, 2, 2, 3, 4]) for name in names}
        left, right = _grouped(names, draw), _grouped(draw.sample(names, len(names)), draw)
        lengths = {name: sizes[name] for group in left for name in group[1:]}
        shape = [prod(sizes[name] for name in group) for group in left]
        if draw.random() < 0.15:
            shape[draw.randrange(len(shape))] += 1
        yield f"{_text(left, draw)} -> {_text(right, draw)}", lengths, tuple(shape)


def _grouped(names: list[str], draw: Random) -> list[list[str]]:
    groups: list[list[str]] = []
    for name in names:
        if groups and draw.random() < 0.35:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def _text(groups: list[list[str]], draw: Random) -> str:
    return " ".join(group[0] if len(group) == 1 and draw.random() < 0.9 else f"({' '.join(group)})" for group in groups)


def vectors() -> Iterator[dict[str, Any]]:
    cases = [(pattern, lengths, tuple(shape), code) for pattern, lengths, shape, code in WRITTEN]
    cases += [(*case, "size-mismatch") for case in drawn(120)]
    for pattern, lengths, shape, code in cases:
        op = {"name": "einops.rearrange", "pattern": pattern, **({"axes_lengths": lengths} if lengths else {})}
        vector: dict[str, Any] = {"op": op, "inputs": [shape]}
        try:
            result = einops.rearrange(np.arange(prod(shape)).reshape(shape), pattern, **lengths)
        except Exception as error:
            if not code:
                raise
            yield vector | {"compatible": False, "conflict_codes": [code], "raised": type(error).__name__}
            continue
        axes, copied = None, None
        if not set("(.1") & set(pattern):
            left, right = (side.split() for side in pattern.split("->"))
            axes, copied = [right.index(name) for name in left], []
        output = {"shape": result.shape, "input": 0, "axes": axes, "broadcast_axes": copied}
        yield vector | {"compatible": True, "outputs": [output], "values": [result.ravel().tolist()]}


if __name__ == "__main__":
    framework = f"einops {einops.__version__} with numpy {np.__version__}"
    for number, vector in enumerate(vectors(), 1):
        print(json.dumps({"id": f"rearrange-{number:04}"} | vector | {"framework": framework, "source": "executed"}))
