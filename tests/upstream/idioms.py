"""Correct torch code that broadcasts (n,) with (n, 1), because all pairs are intended."""

from __future__ import annotations

import torch
from torch import Tensor

from . import Case, right

CASES: list[Case] = []


@right(CASES, "minGPT and others: a causal mask", "n d")
def causal_mask(x: Tensor) -> Tensor:
    i = torch.arange(x.shape[0])
    return i[:, None] >= i


@right(CASES, "transformers, cpmant", "n d")
def causal_mask_of_two_ranges(x: Tensor) -> Tensor:
    return torch.arange(x.shape[0]) <= torch.arange(x.shape[0]).view(-1, 1)


@right(CASES, "transformers, sliding windows", "n d")
def sliding_window(x: Tensor) -> Tensor:
    key = torch.arange(x.shape[0])
    query = key.unsqueeze(-1)
    return (key <= query) & (key > query - 3)


@right(CASES, "T5, relative positions", "n d")
def relative_positions(x: Tensor) -> Tensor:
    context = torch.arange(x.shape[0])[:, None]
    memory = torch.arange(x.shape[0])
    return memory - context


@right(CASES, "numpy's documentation: pairwise differences", "n")
def pairwise_differences(x: Tensor) -> Tensor:
    return x[:, None] - x


@right(CASES, "pairwise differences, in two lines", "n")
def pairwise_differences_in_two_lines(x: Tensor) -> Tensor:
    column = x[:, None]
    return (column - x).abs()


@right(CASES, "pairwise differences by unsqueeze", "n")
def pairwise_differences_by_unsqueeze(x: Tensor) -> Tensor:
    return x.unsqueeze(1) - x


@right(CASES, "pairwise distances of points", "n d")
def pairwise_distances(x: Tensor) -> Tensor:
    return (x[:, None] - x).square().sum(-1).sqrt()


@right(CASES, "pytorch-metric-learning: distances by a product", "n d")
def distances_by_a_product(x: Tensor) -> Tensor:
    square = x.square().sum(1)
    return square[:, None] + square - 2 * x @ x.T


@right(CASES, "zalandoresearch/pytorch-vq-vae: distances with keepdim", "n d", "n d")
def distances_to_a_codebook(flat: Tensor, codes: Tensor) -> Tensor:
    return torch.sum(flat**2, dim=1, keepdim=True) + torch.sum(codes**2, dim=1) - 2 * flat @ codes.T


@right(CASES, "distances to oneself, with keepdim", "n d")
def distances_with_keepdim(x: Tensor) -> Tensor:
    return x.square().sum(1, keepdim=True) + x.square().sum(1) - 2 * x @ x.T


@right(CASES, "an outer product by None", "n", "n")
def outer_product(a: Tensor, b: Tensor) -> Tensor:
    return a[:, None] * b


@right(CASES, "an outer sum by None", "n", "n")
def outer_sum(a: Tensor, b: Tensor) -> Tensor:
    return a[:, None] + b


@right(CASES, "rotary and sinusoidal positions", "n", "n")
def sinusoids(positions: Tensor, frequencies: Tensor) -> Tensor:
    angles = positions[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], -1)


@right(CASES, "transformers, glm4v: frequencies of positions", "3 b t:int", "b")
def rotary_of_three_axes(positions: Tensor, frequencies: Tensor) -> Tensor:
    return positions[:, :, :, None].float() * frequencies


@right(CASES, "torchvision, box_iou: unions", "n 4", "n 4")
def unions_of_boxes(one: Tensor, other: Tensor) -> Tensor:
    area, other_area = one[:, 2] * one[:, 3], other[:, 2] * other[:, 3]
    return area[:, None] + other_area


@right(CASES, "torchvision, box_iou: corners", "n 4", "n 4")
def corners_of_boxes(one: Tensor, other: Tensor) -> Tensor:
    return torch.max(one[:, None, :2], other[:, :2])


@right(CASES, "a mask of sequences, as many as they are long", "n:int", "n d")
def mask_of_sequences(lengths: Tensor, x: Tensor) -> Tensor:
    return torch.arange(x.shape[0]) < lengths[:, None]


@right(CASES, "espnet and others: a mask of sequences by unsqueeze", "n:int", "n d")
def mask_of_sequences_by_unsqueeze(lengths: Tensor, x: Tensor) -> Tensor:
    index = torch.arange(0, x.shape[0])
    return index < lengths.unsqueeze(-1)


@right(CASES, "one-hot by a comparison", "n:int", "n d")
def one_hot(labels: Tensor, x: Tensor) -> Tensor:
    classes = torch.arange(x.shape[0])
    return (labels[:, None] == classes).float()


@right(CASES, "supervised contrastive loss: equal labels", "n:int")
def equal_labels(labels: Tensor) -> Tensor:
    return (labels.view(-1, 1) == labels).float()


@right(CASES, "supervised contrastive loss: equal labels, in two lines", "n:int")
def equal_labels_in_two_lines(labels: Tensor) -> Tensor:
    column = labels.contiguous().view(-1, 1)
    return torch.eq(column, labels).float()


@right(CASES, "RankNet: differences of scores", "n", "n")
def pairs_of_scores(scores: Tensor, relevance: Tensor) -> Tensor:
    wanted = (relevance[:, None] > relevance).float()
    return (wanted * torch.sigmoid(scores - scores[:, None])).sum()


@right(CASES, "Cox: who is at risk", "n")
def at_risk(times: Tensor) -> Tensor:
    return times >= times.unsqueeze(1)


@right(CASES, "area under the curve by pairs", "n", "n")
def area_under_the_curve(positives: Tensor, negatives: Tensor) -> Tensor:
    return (positives[:, None] > negatives).float().mean()


@right(CASES, "torchmetrics: batched thresholds", "n", "n")
def thresholds(scores: Tensor, levels: Tensor) -> Tensor:
    return (scores.unsqueeze(-1) >= levels).sum(0)


@right(CASES, "gpytorch, kernels: scaled differences", "n", "n", "1")
def kernel(x: Tensor, y: Tensor, scale: Tensor) -> Tensor:
    return torch.exp(-((x[:, None] / scale - y / scale) ** 2))


@right(CASES, "maximum mean discrepancy", "n", "n")
def discrepancy(x: Tensor, y: Tensor) -> Tensor:
    own = torch.exp(-((x[:, None] - x) ** 2)).mean()
    cross = torch.exp(-((x[:, None] - y) ** 2)).mean()
    return own - cross


@right(CASES, "ALiBi: slopes and distances", "n", "n d")
def slopes(slope: Tensor, x: Tensor) -> Tensor:
    i = torch.arange(x.shape[0])
    return slope[:, None, None] * (i - i[:, None]).abs()


@right(CASES, "polynomials: powers of a range", "n")
def vandermonde(x: Tensor) -> Tensor:
    return x[:, None] ** torch.arange(x.shape[0])


@right(CASES, "normalised adjacency of graphs", "n n")
def normalised_adjacency(adjacency: Tensor) -> Tensor:
    degree = adjacency.sum(1).rsqrt()
    return adjacency * (degree[:, None] * degree)


@right(CASES, "normalised adjacency, with keepdim", "n n")
def normalised_adjacency_with_keepdim(adjacency: Tensor) -> Tensor:
    return adjacency / adjacency.sum(1, keepdim=True)


@right(CASES, "a mixture: points and components", "n", "n", "n")
def mixture(x: Tensor, means: Tensor, deviations: Tensor) -> Tensor:
    components = torch.distributions.Normal(means, deviations.exp(), validate_args=False)
    return components.log_prob(x[:, None]).logsumexp(1)


@right(CASES, "QR-DQN: pairs of quantiles", "n s", "n s")
def pairs_of_quantiles(target: Tensor, current: Tensor) -> Tensor:
    return target.unsqueeze(1) - current.unsqueeze(2)


@right(CASES, "block masks: documents", "n:int")
def same_document(documents: Tensor) -> Tensor:
    return documents.unsqueeze(-1) == documents


@right(CASES, "padding masks of attention", "n t")
def padding_of_pairs(mask: Tensor) -> Tensor:
    valid = mask > 0.5
    return valid[:, None, :] & valid[:, :, None]


@right(CASES, "centred features", "n d")
def normalised(x: Tensor) -> Tensor:
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)


@right(CASES, "correlations of columns", "n n")
def correlations(covariance: Tensor) -> Tensor:
    deviation = covariance.diagonal().abs().sqrt()
    return covariance / (deviation.unsqueeze(1) * deviation)


@right(CASES, "discounts of steps", "n")
def discounts(rewards: Tensor) -> Tensor:
    step = torch.arange(rewards.shape[0])
    power = step - step.unsqueeze(1)
    return torch.where(power >= 0, 0.99 ** power.float(), 0.0) @ rewards


@right(CASES, "the Cramér distance of samples, squared sizes apart", "n", "n")
def energy_distance(x: Tensor, y: Tensor) -> Tensor:
    cross = (x.unsqueeze(1) - y.unsqueeze(0)).abs().mean()
    return 2 * cross - (x.unsqueeze(1) - x).abs().mean() - (y.unsqueeze(1) - y).abs().mean()


@right(CASES, "an outer product by unsqueeze", "n", "n")
def outer_product_by_unsqueeze(a: Tensor, b: Tensor) -> Tensor:
    return a.unsqueeze(1) * b


@right(CASES, "valid queries and keys", "n:bool", "n:bool")
def valid_pairs(queries: Tensor, keys: Tensor) -> Tensor:
    return queries.unsqueeze(1) & keys


@right(CASES, "distances of positions that are given", "n:int", "n d")
def given_positions(positions: Tensor, x: Tensor) -> Tensor:
    return positions.unsqueeze(-1) - torch.arange(x.shape[0])


@right(CASES, "torchmetrics, pairwise_euclidean_distance", "n d", "n d")
def euclidean_distances(x: Tensor, y: Tensor) -> Tensor:
    x_norm = (x * x).sum(dim=1, keepdim=True)
    y_norm = (y * y).sum(dim=1)
    return (x_norm + y_norm - 2 * x.mm(y.T)).sqrt()
