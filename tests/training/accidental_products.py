"""Functions in which an outer product of equal sizes is an accident."""

from __future__ import annotations

from typing import Any

import torch
from origin_cases import N, bug
from torch import Tensor
from torch.nn import functional as F


@bug((N, 1), (N,))
def a_column_of_predictions(p: Tensor, y: Tensor) -> Any:
    return (p - y).pow(2).mean()


@bug((N, 1), (N,))
def a_loss(p: Tensor, y: Tensor) -> Any:
    return F.mse_loss(p, y)


@bug((N, 1), (N,))
def a_loss_of_probabilities(p: Tensor, y: Tensor) -> Any:
    return ((p.sigmoid() - y).abs()).sum()


@bug((N, 4), (N,))
def a_kept_sum(x: Tensor, y: Tensor) -> Any:
    return x.sum(1, keepdim=True) - y


@bug((N, 4), (N,))
def a_kept_mean_divided(x: Tensor, y: Tensor) -> Any:
    m = x.mean(dim=1, keepdim=True)
    return y / m


@bug((N,), (N,))
def an_unsqueezed_target(p: Tensor, y: Tensor) -> Any:
    return p - y.unsqueeze(1)


@bug((N,), (N,))
def a_view_as_a_column(p: Tensor, y: Tensor) -> Any:
    return p.view(-1, 1) * y


@bug((N,), (N,))
def a_reshape_on_another_line(p: Tensor, y: Tensor) -> Any:
    column = p.reshape(-1, 1)
    return column + y


@bug((N, 4), (4, 1), (N,))
def a_linear_layer(x: Tensor, w: Tensor, y: Tensor) -> Any:
    return ((x @ w) - y) ** 2


@bug((N, 4), (1, 4), (N,))
def a_linear_function(x: Tensor, w: Tensor, y: Tensor) -> Any:
    return F.linear(x, w) - y


@bug((N, 4), (4, 1), (N,))
def an_activated_layer(x: Tensor, w: Tensor, y: Tensor) -> Any:
    return torch.tanh(x @ w) * y


@bug((N, 1), (N,))
def a_maximum(p: Tensor, y: Tensor) -> Any:
    return torch.maximum(p, y)


@bug((N, 1), (N,), (N,))
def a_choice(p: Tensor, y: Tensor, z: Tensor) -> Any:
    return torch.where(y > 0, p, z)


@bug((N, 1), (N,))
def a_clamp(p: Tensor, y: Tensor) -> Any:
    return torch.clamp(p, max=y)


@bug((N,), (N,))
def an_index_on_another_line(x: Tensor, y: Tensor) -> Any:
    x = x[:, None]
    z = x * 2
    return z - y


@bug((N,), (N,))
def an_index_then_unary_functions(x: Tensor, y: Tensor) -> Any:
    x = torch.exp(x[:, None])
    return x.log() - y


@bug((N, 3), (N, 3))
def a_slice_and_a_select(a: Tensor, b: Tensor) -> Any:
    return a[:, 0:1] - b[:, 0]


@bug((N, 3), (N,))
def a_narrowed_axis(a: Tensor, b: Tensor) -> Any:
    return a.narrow(1, 0, 1) * b


@bug((N, 4), (N,))
def an_amax(x: Tensor, y: Tensor) -> Any:
    return x.amax(1, keepdim=True) - y


@bug((N, 4), (N,))
def a_max_with_indices(x: Tensor, y: Tensor) -> Any:
    return x.max(1, keepdim=True)[0] - y


@bug((N, 4), (N,))
def a_norm(x: Tensor, y: Tensor) -> Any:
    return y / x.norm(dim=1, keepdim=True)


@bug((N, 1), (N,))
def a_smooth_loss(p: Tensor, y: Tensor) -> Any:
    return F.smooth_l1_loss(p, y)


@bug((N, 1), (N,))
def a_detached_target(p: Tensor, y: Tensor) -> Any:
    return p - y.detach().float()


@bug((N, 1), (N,), (N,))
def an_advantage(values: Tensor, rewards: Tensor, weights: Tensor) -> Any:
    return ((rewards * weights) - values).mean()


@bug((N, 1), (N,))
def a_ratio(new: Tensor, old: Tensor) -> Any:
    return torch.exp(new - old)


@bug((N, 2, 1), (N, 2))
def a_batch_of_columns(p: Tensor, y: Tensor) -> Any:
    return (p - y.unsqueeze(0)[0].repeat(1, 1)[:, :1].squeeze(1)).mean()


@bug((N, 4), (N,))
def a_transposed_reduction(x: Tensor, y: Tensor) -> Any:
    return x.t().sum(0, keepdim=True).t() + y


@bug((N, 6), (N,))
def a_gathered_column(q: Tensor, r: Tensor) -> Any:
    return r - q.gather(1, torch.zeros(N, 1, dtype=torch.long))


@bug((N, 4), (N,))
def a_softmax_of_kept(x: Tensor, y: Tensor) -> Any:
    return (x.logsumexp(1, keepdim=True) - y).relu()


@bug((N, 1), (N,))
def a_lerp(p: Tensor, y: Tensor) -> Any:
    return torch.lerp(p, y, 0.5)


@bug((N, 1), (N,))
def td_error(q: Tensor, target: Tensor) -> Any:
    return F.smooth_l1_loss(q, 0.9 * target + 0.1)


@bug((N, 4), (N,))
def reward_minus_baseline(h: Tensor, r: Tensor) -> Any:
    return r - h.mean(-1, keepdim=True)


@bug((N, 1), (N,))
def log_probs(logp: Tensor, adv: Tensor) -> Any:
    return -(logp * adv).mean()


@bug((N, 1), (N,))
def relative_error(p: Tensor, y: Tensor) -> Any:
    return (p - y).abs() / y.abs().clamp(min=1e-6)


@bug((N, 5), (N,))
def weights_of_samples(x: Tensor, w: Tensor) -> Any:
    return x.pow(2).sum(dim=1, keepdim=True) * w


@bug((N, 1), (N,))
def hinge(p: Tensor, y: Tensor) -> Any:
    return F.relu(1 - p * y)


@bug((N, 1), (N,))
def gelu_of_column(p: Tensor, y: Tensor) -> Any:
    return F.gelu(p) * y


@bug((N, 1), (N,))
def chunk_of_column(p: Tensor, y: Tensor) -> Any:
    return p.chunk(2, dim=0)[0] - y.chunk(2)[0]


@bug((N, 2), (N,))
def split_columns(p: Tensor, y: Tensor) -> Any:
    mu, sigma = p.split(1, dim=1)
    return (y - mu) / sigma


@bug((N, 2), (N,))
def chunk_columns(p: Tensor, y: Tensor) -> Any:
    mu, logvar = p.chunk(2, dim=1)
    return (y - mu).pow(2) * torch.exp(-logvar)


@bug((N, 4), (4,), (N,))
def bmm(x: Tensor, w: Tensor, y: Tensor) -> Any:
    return torch.matmul(x, w.unsqueeze(1)) - y


@bug((N, 4), (N, 4), (N,))
def batched_dot(a: Tensor, b: Tensor, y: Tensor) -> Any:
    return torch.bmm(a.unsqueeze(1), b.unsqueeze(2)).squeeze(1) - y


@bug((N, 4), (N,))
def cumsum_kept(x: Tensor, y: Tensor) -> Any:
    return torch.cumsum(x, 1)[:, -1:] - y


@bug((N, 1), (N,))
def stacked(p: Tensor, y: Tensor) -> Any:
    return torch.cat([p, p], 0)[:N] - y


@bug((N,), (N,))
def atleast(p: Tensor, y: Tensor) -> Any:
    return torch.atleast_2d(p).t() - y


@bug((N, 3))
def two_parts_of_a_tensor(a: Tensor) -> Any:
    return a.narrow(1, 0, 1) - a[:, 1]


@bug((N, 3))
def slice_and_select_of_one(a: Tensor) -> Any:
    return a[:, 0:1] / a[:, 2]


@bug((N, 4), (4, 1), (N,), (N,))
def clipped_surrogate(features: Tensor, head: Tensor, old_log_prob: Tensor, advantage: Tensor) -> Any:
    log_prob = features @ head
    ratio = (log_prob - old_log_prob).exp()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    return -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()


@bug((N,), (N,), (N, 4))
def bootstrapped_target(reward: Tensor, done: Tensor, next_values: Tensor) -> Any:
    best, _ = next_values.max(dim=1, keepdim=True)
    return reward + 0.99 * (1 - done) * best


@bug((N, 1), (N,), (N,))
def loss_weighted_by_sample(prediction: Tensor, target: Tensor, weight: Tensor) -> Any:
    losses = F.mse_loss(prediction, target.view(-1, 1), reduction="none")
    return (losses * weight).sum() / weight.sum()


@bug((N, 5), (N,))
def accuracy_of_kept_argmax(logits: Tensor, labels: Tensor) -> Any:
    predicted = logits.argmax(dim=1, keepdim=True)
    return (predicted == labels.long()).float().mean()


@bug((N, 4), (4, 1), (N,))
def scores_masked_by_row(features: Tensor, weight: Tensor, valid: Tensor) -> Any:
    scores = features.matmul(weight)
    return scores.masked_fill(valid < 1.0, float("-inf")).logsumexp(dim=0)


@bug((N, 4), (4, 1), (N,))
def quantile_loss(features: Tensor, weight: Tensor, target: Tensor) -> Any:
    error = target - features @ weight
    return torch.where(error >= 0, 0.9 * error, -0.1 * error).mean()


@bug((N,), (N, 6))
def returns_over_kept_deviation(returns: Tensor, values: Tensor) -> Any:
    baseline = values.mean(dim=-1)
    spread = values.std(dim=-1, keepdim=True)
    return (returns - baseline) / (spread + 1e-6)


@bug((N, 4), (N, 4), (4, 1))
def gated_similarity(query: Tensor, key: Tensor, gate: Tensor) -> Any:
    similarity = torch.einsum("nd,nd->n", query, key)
    return torch.sigmoid(query @ gate) * similarity


@bug((N, 4), (4, 1), (N,), (N,))
def squared_in_place(features: Tensor, weight: Tensor, target: Tensor, scale: Tensor) -> Any:
    error = features @ weight
    error = error - target
    error.pow_(2)
    error.mul_(scale)
    return error.mean()


@bug((N, 3), (N, 3), (N,), (N,))
def taken_action_values(values: Tensor, next_values: Tensor, action: Tensor, reward: Tensor) -> Any:
    taken = values.gather(1, action.long().unsqueeze(1))
    with torch.no_grad():
        target = reward + 0.9 * next_values.max(1).values
    return F.smooth_l1_loss(taken, target)


@bug((N, 6), (N,))
def rows_kept_for_attention(mask: Tensor, keep: Tensor) -> Any:
    has_tokens = (mask > 0.6).any(dim=-1, keepdim=True)
    return has_tokens & (keep > 0.7)


@bug((N, 5), (N, 5), (N, 3), (N, 3))
def evidence_bound(image: Tensor, decoded: Tensor, mean: Tensor, log_variance: Tensor) -> Any:
    reconstruction = (decoded - image).square().sum(1)
    divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1, keepdim=True)
    return (reconstruction + divergence).mean()


@bug((N, 3))
def spread_of_columns(table: Tensor) -> Any:
    bid, ask = table[:, [0]], table[:, 1]
    return ((ask - bid) / bid.mean()).abs().mean()


@bug((N, 5), (N,))
def focal_loss(logits: Tensor, labels: Tensor) -> Any:
    labels = labels.long()
    losses = F.cross_entropy(logits, labels, reduction="none")
    probability = logits.softmax(dim=1).gather(1, labels[:, None])
    return ((1 - probability) ** 2 * losses).mean()


@bug((3, N), (4, N, 1), (3, N))
def generalised_advantages(rewards: Tensor, values: Tensor, dones: Tensor) -> Any:
    advantage = torch.zeros_like(values[0])
    advantages = []
    for step in reversed(range(3)):
        alive = 1.0 - dones[step]
        delta = rewards[step] + 0.99 * values[step + 1] * alive - values[step]
        advantage = delta + 0.95 * alive * advantage
        advantages.append(advantage)
    return torch.stack(advantages)
