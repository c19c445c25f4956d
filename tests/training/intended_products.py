"""Functions that mean their outer product of equal sizes."""

from __future__ import annotations

import math
from typing import Any

import torch
from origin_cases import N, false_alarm, right
from torch import Tensor
from torch.nn import functional as F


@right((N,), (N,))
def an_index_here(x: Tensor, y: Tensor) -> Any:
    return x[:, None] - y


@right((N,), (N,))
def an_index_in_a_call(x: Tensor, y: Tensor) -> Any:
    return torch.sub(x[:, None], y)


@right((N, 3), (N, 3))
def an_index_and_a_select(a: Tensor, b: Tensor) -> Any:
    return torch.max(a[:, None, 0], b[:, 0])


@right((N, 3), (N, 3))
def an_index_after_a_select(a: Tensor, b: Tensor) -> Any:
    return a[:, 0][:, None] * b[:, 1]


@right((N, 2), (N, 2))
def an_index_of_three_axes(a: Tensor, b: Tensor) -> Any:
    return torch.min(a[:, None, 1], b[:, 1]) - torch.max(a[:, None, 0], b[:, 0])


@right((N,))
def differences_of_one(x: Tensor) -> Any:
    return x.unsqueeze(1) - x


@right((N,))
def differences_of_one_on_lines(x: Tensor) -> Any:
    column = x.view(-1, 1)
    return (column - x).abs()


@right((N,))
def products_of_one_after_a_function(x: Tensor) -> Any:
    y = torch.relu(x)
    return y.unsqueeze(1) * y


@right((N,))
def a_mask_of_labels(y: Tensor) -> Any:
    return y.unsqueeze(0) == y.unsqueeze(1)


@right((N,), (N,))
def a_comparison(x: Tensor, y: Tensor) -> Any:
    return x.unsqueeze(1) > y


@right((N, 1), (N,), (N, N))
def three_operands(a: Tensor, b: Tensor, c: Tensor) -> Any:
    return torch.where(c > 0, a, b)


@right(())
def a_causal_mask(_: Tensor) -> Any:
    i = torch.arange(N)
    return i.view(-1, 1) >= i


@right(())
def ranges(_: Tensor) -> Any:
    rows, columns = torch.arange(N), torch.arange(N)
    return rows[:, None] * columns


@right((N,))
def a_range_and_its_column(x: Tensor) -> Any:
    p = torch.arange(N).unsqueeze(1)
    q = torch.arange(N)
    return x.sum() + (p - q)


@right((N, 1), (N, 1))
def both_columns(p: Tensor, y: Tensor) -> Any:
    return p - y


@right((N, 1), (1, N))
def a_column_and_a_row_here(a: Tensor, b: Tensor) -> Any:
    return a[:, 0, None] * b[0]


@right((N, 4))
def normalised(x: Tensor) -> Any:
    return x / x.sum(1, keepdim=True)


@right((N, 4))
def softmax_by_hand(x: Tensor) -> Any:
    e = torch.exp(x - x.amax(1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


@right((N, 4), (N,))
def a_squeezed_layer(x: Tensor, y: Tensor) -> Any:
    return x.sum(1, keepdim=True).squeeze(1) - y


@right((N,), (N,))
def an_index_with_a_function(x: Tensor, y: Tensor) -> Any:
    return torch.exp(x)[:, None] + torch.log(y)


@right((N,), (N,))
def a_function_of_an_index(x: Tensor, y: Tensor) -> Any:
    return torch.exp(x[:, None]) + y


@right((N,), (N,))
def a_cast_of_an_index(x: Tensor, y: Tensor) -> Any:
    return x[:, None].double() + y


@right((N, 3))
def distances(a: Tensor) -> Any:
    return (a[:, None] - a).pow(2).sum(-1)


@right((N,), (N,))
def an_ellipsis(x: Tensor, y: Tensor) -> Any:
    return x[..., None] * y


@right((N,))
def an_order(x: Tensor) -> Any:
    return (x.unsqueeze(-1) < x).sum(-1)


@right((N,), (N,))
def a_row_here(x: Tensor, y: Tensor) -> Any:
    return x.unsqueeze(1) + y[None]


@right((N,), (N,))
def over_two_lines(x: Tensor, y: Tensor) -> Any:
    return x[:, None] - y


@right((N, 2), (N, 2))
def a_stack_of_intersections(a: Tensor, b: Tensor) -> Any:
    left = torch.max(a[:, None, 0], b[:, 0])
    return (torch.min(a[:, None, 1], b[:, 1]) - left).clamp(min=0)


@right((N,))
def frequencies(t: Tensor) -> Any:
    return t[:, None] * torch.exp(torch.arange(N) * -0.1)


@right((N, 3), (N,))
def an_unbound_column(a: Tensor, y: Tensor) -> Any:
    return a.unbind(1)[0][:, None] - y


@right((N, 4), (N, 4))
def box_iou(a: Tensor, b: Tensor) -> Any:
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    area = (a[:, 2] - a[:, 0])[:, None] + (b[:, 2] - b[:, 0])
    return inter / (area - inter)


@right((N,), (N,))
def gelu_index(x: Tensor, y: Tensor) -> Any:
    return F.gelu(x[:, None]) + y


@right((N,), (N,))
def softplus_index(x: Tensor, y: Tensor) -> Any:
    return F.softplus(x[:, None]) * y


@right((N,), (N,))
def clamp_index(x: Tensor, y: Tensor) -> Any:
    return x[:, None].clamp(min=0) * y


@right((N,), (N,))
def pow_index(x: Tensor, y: Tensor) -> Any:
    return x[:, None] ** 2 - 2 * y


@right((N,))
def gram(x: Tensor) -> Any:
    return torch.exp(-((x.unsqueeze(1) - x.unsqueeze(0)) ** 2))


@right((N,))
def rank_loss(s: Tensor) -> Any:
    d = s.view(-1, 1) - s.view(1, -1)
    return F.softplus(d).mean()


@right((N,))
def same_labels(y: Tensor) -> Any:
    y = y.contiguous().view(-1, 1)
    return torch.eq(y, y.t()).float()


@right((N, 2))
def unbound(a: Tensor) -> Any:
    x, y = a.unbind(1)
    return x[:, None] * y


@right((N, 2))
def split_one(a: Tensor) -> Any:
    mu, sigma = a.split(1, dim=1)
    return mu.squeeze(1)[:, None] * sigma.squeeze(1)[None]


@right(())
def relative_positions(_: Tensor) -> Any:
    i = torch.arange(N)
    return (i[None, :] - i[:, None]).clamp(-3, 3)


@right((N,))
def lengths_mask(lengths: Tensor) -> Any:
    return torch.arange(N)[None, :] < lengths[:, None]


@right((N,))
def lengths_mask_unsqueeze(lengths: Tensor) -> Any:
    return torch.arange(N) < lengths.unsqueeze(1)


@right((N,), (N,))
def outer_einsum(x: Tensor, y: Tensor) -> Any:
    return torch.einsum("i,j->ij", x, y)


@right((N,))
def a_function_after_the_column(x: Tensor) -> Any:
    column = x.view(-1, 1)
    opposite = 2 - column.flatten()
    return column.square() * opposite * x.neg()


@right((N, 1))
def a_column_and_its_only_column(p: Tensor) -> Any:
    return p - p[:, 0]


@right((N,), (N,))
def absolute_differences(one: Tensor, other: Tensor) -> Any:
    return (one[:, None] - other[None, :]).abs().mean()


@right((N,))
def discounted_returns(rewards: Tensor) -> Any:
    steps = torch.arange(rewards.shape[0])
    ahead = steps - steps.unsqueeze(1)
    return torch.triu(0.99 ** ahead.clamp(min=0)) @ rewards


@right((N, 2 * N))
def sinusoidal_positions(embedded: Tensor) -> Any:
    length, width = embedded.shape
    position = torch.arange(length, dtype=torch.float).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return embedded + table


@right((N, 2 * N))
def rotary_embedding(query: Tensor) -> Any:
    inverse = 1.0 / (10000 ** (torch.arange(0, query.shape[1], 2).float() / query.shape[1]))
    angles = torch.einsum("i,j->ij", torch.arange(query.shape[0]).float(), inverse)
    first, second = query.chunk(2, dim=-1)
    cosine, sine = angles.cos(), angles.sin()
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


@right((2, N, N))
def distance_bias(scores: Tensor) -> Any:
    position = torch.arange(scores.shape[-1])
    distance = (position.view(1, -1) - position.view(-1, 1)).abs()
    slopes = torch.tensor([0.5, 0.25])
    return (scores - slopes[:, None, None] * distance).softmax(dim=-1)


@right((N, N), (N,))
def brier_score(logits: Tensor, labels: Tensor) -> Any:
    classes = torch.arange(logits.size(1))
    target = (labels.long().unsqueeze(-1) == classes).float()
    return (logits.softmax(-1) - target).pow(2).sum(-1).mean()


@right((N, 4), (N,))
def supervised_contrastive(features: Tensor, labels: Tensor) -> Any:
    labels = labels.contiguous().view(-1, 1)
    positive = torch.eq(labels, labels.T).float()
    logits = features @ features.T / 0.07
    log_prob = logits - torch.logsumexp(logits, dim=1, keepdim=True)
    return -((positive * log_prob).sum(1) / positive.sum(1)).mean()


@false_alarm((N, 4), (N, 4))
def nearest_codes(latents: Tensor, codebook: Tensor) -> Any:
    distances = (
        torch.sum(latents**2, dim=1, keepdim=True)
        + torch.sum(codebook**2, dim=1)
        - 2 * torch.matmul(latents, codebook.t())
    )
    return distances.argmin(dim=1)


@right((N, N), (N,))
def mean_of_valid_steps(hidden: Tensor, lengths: Tensor) -> Any:
    valid = torch.arange(hidden.size(1), device=hidden.device) < lengths.unsqueeze(1)
    return (hidden * valid).sum(1) / lengths


@right((2, N), (2, N, N))
def attention_of_kept_pairs(keep: Tensor, scores: Tensor) -> Any:
    pairs = keep.unsqueeze(2) * keep.unsqueeze(1)
    return scores.masked_fill(pairs < 0.6, -1e9).softmax(-1)


@right((N, 1), (N,))
def pairwise_ranking(scores: Tensor, relevance: Tensor) -> Any:
    scores = scores.flatten()
    margin = scores.view(-1, 1) - scores.view(1, -1)
    better = relevance.view(-1, 1) > relevance.view(1, -1)
    return (F.softplus(-margin) * better).sum() / better.sum().clamp(min=1)


@right((1, 1, 16, 16))
def gaussian_blur(image: Tensor) -> Any:
    offsets = torch.linspace(-1.0, 1.0, 7)
    rows = offsets.reshape(-1, 1)
    kernel = torch.exp(-(rows**2 + offsets**2) / 0.5)
    return F.conv2d(image, (kernel / kernel.sum())[None, None], padding=3)


@right((N, 3), (N, 3))
def smeared_distances(positions: Tensor, others: Tensor) -> Any:
    distance = (positions - others).norm(dim=-1)
    centers = torch.linspace(0.0, 5.0, N)
    return torch.exp(-10.0 * (distance.view(-1, 1) - centers.view(1, -1)) ** 2)


@right((N, 4), (N, 4))
def cosine_matrix(queries: Tensor, keys: Tensor) -> Any:
    norms = queries.norm(dim=1)[:, None] * keys.norm(dim=1)
    return queries @ keys.T / norms.clamp(min=1e-8)


@right((N, 4), (N,))
def hardest_negatives(embedded: Tensor, identity: Tensor) -> Any:
    similarity = embedded @ embedded.T
    same = identity[:, None] == identity
    return torch.where(same, torch.full_like(similarity, -1e4), similarity).max(dim=1).values
