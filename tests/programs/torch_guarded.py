"""Functions of two (4, 8) tensors whose export may require equal sizes. They need torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

WEIGHT = torch.ones(8, 8)


def added(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def scaled(x: Tensor, y: Tensor) -> Tensor:
    return torch.relu(x @ WEIGHT) * y.sigmoid()


def chosen(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(x > 0, x, y)


def loss(x: Tensor, y: Tensor) -> Tensor:
    return F.mse_loss(x * 2, y)


def with_positions(x: Tensor, y: Tensor) -> Tensor:
    return x + y + torch.arange(8)


def reduced(x: Tensor, y: Tensor) -> Tensor:
    return x.softmax(1) - y.sum(1, keepdim=True)


def multiplied(x: Tensor, y: Tensor) -> Tensor:
    return x.T @ y


def multiplied_after_a_sum(x: Tensor, y: Tensor) -> Tensor:
    return (x + y).sum() + x.T @ y


def joined(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y], 1)


def alone(x: Tensor, y: Tensor) -> Tensor:
    return x.sum() + y.sum()


BROADCASTING = (added, scaled, chosen, loss, with_positions, reduced)
EQUAL = (multiplied, multiplied_after_a_sum, joined, alone)


def exported(
    function: Callable[[Tensor, Tensor], Tensor], is_strict: bool = False, size: Any = torch.export.Dim.AUTO
) -> Any:
    class Model(torch.nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return function(x, y)

    sizes = ({0: size}, {0: size})
    return torch.export.export(Model(), (torch.rand(4, 8), torch.rand(4, 8)), dynamic_shapes=sizes, strict=is_strict)


def eager_takes_one(function: Callable[[Tensor, Tensor], Tensor]) -> Iterator[bool]:
    """Return whether a function accepts size 1 for x with size 4 for y, and the reverse."""
    for sizes in ((1, 4), (4, 1)):
        try:
            function(*[torch.rand(size, 8) for size in sizes])
            yield True
        except RuntimeError:
            yield False
