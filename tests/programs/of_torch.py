"""A program of torch; the lines in which (n,) meets (n, 1) by mistake say so."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)
        self.scale = torch.nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        predicted = self.linear(x * self.scale)
        pairs = y[:, None] - y
        others = y.reshape(-1, 1).neg() * y
        other = x.sum(1)
        outer = y[:, None] * other
        limits = y >= other.unsqueeze(1)
        positions = torch.arange(y.shape[0])
        earlier = positions.unsqueeze(1)
        mask = earlier <= torch.arange(y.shape[0])
        column = other[:, None]
        both = torch.where(mask, y, column)
        meant = (pairs, others, outer, limits, mask, both)
        totals = x.sum(1, keepdim=True) + y  # square
        share = y / other.unsqueeze(1)  # square
        later = column - y  # square
        error = (predicted - y) ** 2  # square
        loss = torch.nn.functional.mse_loss(predicted, y)  # square
        chosen = torch.where(y > 0, y, predicted)  # square
        branch = torch.cond(y.sum() > 0, lambda a, b: a - b, lambda a, b: a + b, (predicted, y))  # square
        double = torch.cat([y, y]) * torch.cat([predicted, predicted])  # square
        return *meant, totals, share, later, error, loss, chosen, branch, double


def program() -> Any:
    size = {0: torch.export.Dim("n")}
    return torch.export.export(Model(), (torch.rand(8, 4), torch.rand(8)), dynamic_shapes=(size, size))
