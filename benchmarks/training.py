"""What tensorcast.watch costs a training step of a small BERT, and single operations of torch.

    python benchmarks/training.py [--rounds 20] [-o benchmarks/results/training.json]

Takes torch and transformers. A step is forward, loss, backward and AdamW, of 4 layers of 256 and 8 sequences of 64
tokens, on one core; steps with and without a watch are taken in turn, in CPU time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from harness import Row, destination, pin, save, spread
from torch.overrides import TorchFunctionMode
from transformers import BertConfig, BertForMaskedLM

import tensorcast


class Empty(TorchFunctionMode):
    """A mode that does nothing: what torch itself takes for calling one."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **kwargs) if kwargs else func(*args)


CONTENDERS: Mapping[str, Callable[[], AbstractContextManager[Any]]] = {
    "no watch": nullcontext,
    "empty mode": Empty,
    "watch": tensorcast.watch,
}


def step() -> Callable[[], None]:
    """A training step of a small BERT."""
    torch.manual_seed(0)
    config = BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024)
    model = BertForMaskedLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(1000, 30000, (8, 64))
    mask = torch.ones_like(tokens)

    def taken() -> None:
        optimizer.zero_grad()
        model(input_ids=tokens, attention_mask=mask, labels=tokens).loss.backward()
        optimizer.step()

    return taken


def cpu(call: Callable[[], object], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times


def interleaved(call: Callable[[], object], rounds: int, times: int) -> dict[str, Row]:
    """CPU seconds of a call in each contender, and how many times as long as with no watch in the same round."""
    taken: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    cpu(call, times)
    for _ in range(rounds):
        for name, context in CONTENDERS.items():
            with context():
                taken[name].append(cpu(call, times))
    base = taken["no watch"]
    return {
        name: {
            "CPU seconds": spread(seconds),
            "ratio": spread([own / other for own, other in zip(seconds, base, strict=True)]),
            "ratio of medians": float(f"{statistics.median(seconds) / statistics.median(base):.4g}"),
        }
        for name, seconds in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1, help="in a round")
    parser.add_argument("-o", type=destination, help="write the figures there, as JSON")
    options = parser.parse_args()
    pin(0)
    torch.set_num_threads(1)
    one, column = torch.ones(8), torch.ones(8, 1)
    figures = {
        "step": interleaved(step(), options.rounds, options.steps),
        "x + x": interleaved(lambda: one + one, options.rounds, 2_000),
        "x + 1": interleaved(lambda: one + 1, options.rounds, 2_000),
        "x.sum()": interleaved(lambda: one.sum(), options.rounds, 2_000),
        "x.relu()": interleaved(lambda: one.relu(), options.rounds, 2_000),
        "x.softmax(0)": interleaved(lambda: one.softmax(0), options.rounds, 2_000),
        "column + scalar": interleaved(lambda: column + one[0], options.rounds, 2_000),
    }
    for name, rows in figures.items():
        print(name, *[f"{who} {row['ratio of medians']}" for who, row in rows.items()], sep="   ")
    if options.o:
        save(options.o, {"training": figures})


if __name__ == "__main__":
    main()
