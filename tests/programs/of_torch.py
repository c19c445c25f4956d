"""A program of torch. Lines that broadcast (n,) with (n, 1) by mistake are marked."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
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
        loss = F.mse_loss(predicted, y)  # square
        chosen = torch.where(y > 0, y, predicted)  # square
        branch = torch.cond(y.sum() > 0, lambda a, b: a - b, lambda a, b: a + b, (predicted, y))  # square
        double = torch.cat([y, y]) * torch.cat([predicted, predicted])  # square
        l1 = F.l1_loss(predicted, y)  # square
        huber = F.huber_loss(predicted, y, delta=0.5)  # square
        smooth = torch.nn.SmoothL1Loss()(predicted, y)  # square
        soft = F.soft_margin_loss(predicted, y)  # square
        poisson = F.poisson_nll_loss(predicted, y)  # square
        divergence = F.kl_div(predicted, y, reduction="batchmean")  # square
        hinge = F.hinge_embedding_loss(predicted, y)  # square
        logits = F.binary_cross_entropy_with_logits(predicted, predicted, pos_weight=y)  # square
        nested = torch.cond(y.sum() > 0, lambda a, b: F.mse_loss(a, b), lambda a, b: a.sum(), (predicted, y))  # square
        expanded = predicted.expand(-1, y.shape[0]) - y.expand_as(pairs)
        like = F.cosine_similarity(predicted, y)  # square
        distance = torch.dist(predicted, y)  # square
        together = torch.complex(predicted, y)  # square
        subtracted = torch.rsub(predicted, y) + predicted.subtract(y)  # square
        close = torch.isclose(predicted, y)  # square
        masked = predicted.masked_fill(y > 0, 0.0)  # square
        first, second = torch._foreach_add([predicted, y], [y, y])  # square
        losses = (loss, l1, huber, smooth, soft, poisson, divergence, hinge, logits, nested)
        functions = (like, distance, together, subtracted, close, masked, first, second, expanded)
        return *meant, totals, share, later, error, chosen, branch, double, *losses, *functions


def program(is_strict: bool = False, is_decomposed: bool = False) -> Any:
    size = {0: torch.export.Dim("n")}
    inputs = (torch.rand(8, 4), torch.rand(8))
    exported = torch.export.export(Model(), inputs, dynamic_shapes=(size, size), strict=is_strict)
    return exported.run_decompositions() if is_decomposed else exported
