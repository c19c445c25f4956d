"""Bugs with images, sequences, diffusion and distributions, in torch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from . import Case, bug

CASES: list[Case] = []


@bug(CASES, "kornia/kornia issue 1308", "b 1 h w", "b 1 h w")
def focal_loss(logits: Tensor, target: Tensor) -> Tensor:
    probability = torch.sigmoid(logits)
    target = target.unsqueeze(dim=1)
    loss = -((1 - probability) ** 2) * target * F.logsigmoid(logits)  # bug
    return loss.mean()


@bug(CASES, "Project-MONAI/MONAI issue 4650", "b c s", "b s:int", "b s")
def wasserstein_dice(alpha: Tensor, labels: Tensor, distances: Tensor) -> Tensor:
    chosen = torch.gather(alpha, 1, torch.unsqueeze(labels, dim=1))
    return torch.sum(chosen * (1.0 - distances))  # bug


@bug(CASES, "MarcoForte/FBA_Matting issue 7", "b 1 h w", "b 3 h w", "b 3 h w", "b 3 h w")
def matting(alpha: Tensor, image: Tensor, front: Tensor, back: Tensor) -> Tensor:
    change = front - back
    return (alpha * 0.1 + torch.sum((image - back) * change, 1)) / (torch.sum(change * change, 1) + 0.1)  # bug


@bug(CASES, "jiwei0921/CoNet issue 3", "b 1 h w", "b h w")
def depth_maps(predicted: Tensor, depth: Tensor) -> Tensor:
    return F.smooth_l1_loss(predicted, depth, reduction="sum")  # bug


@bug(CASES, "dingmyu/CamNet pull request 4", "n d 1 1", "n d")
def camera_positions(moved: Tensor, label: Tensor) -> Tensor:
    return F.l1_loss(moved, label)  # bug


@bug(CASES, "bayesflow-org/bayesflow issue 787", "n", "n d", "n d")
def weights_by_noise(log_snr: Tensor, predicted: Tensor, noise: Tensor) -> Tensor:
    log_snr = log_snr[:, None]
    weights = torch.sigmoid(log_snr)
    loss = weights * torch.mean((predicted - noise) ** 2, dim=-1)  # bug
    return loss.mean()


@bug(CASES, "bayesflow-org/bayesflow issue 787", "b", "b h w d", "b h w d")
def weights_of_images_by_noise(log_snr: Tensor, predicted: Tensor, noise: Tensor) -> Tensor:
    weights = torch.sigmoid(log_snr.view(-1, 1, 1, 1))
    error = ((predicted - noise) ** 2).mean(-1)
    return (weights * error).mean()  # bug


@bug(CASES, "pytorch/tutorials pull request 382", "n c", "n:int", "n:int")
def masked_cross_entropy(probabilities: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    entropy = -torch.log(torch.gather(probabilities, 1, target.view(-1, 1)))
    return (entropy * mask).mean()  # bug


@bug(CASES, "pytorch/tutorials pull request 382", "n c", "n:int", "n:bool")
def selected_cross_entropy(probabilities: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    entropy = -torch.log(torch.gather(probabilities, 1, target.view(-1, 1)))
    return torch.where(mask, entropy, torch.zeros_like(entropy)).sum()  # bug


@bug(CASES, "pytorch/pytorch issue 53030, as the loss was written", "n d", "n d", "n 1")
def cosine_embedding(one: Tensor, other: Tensor, labels: Tensor) -> Tensor:
    similarity = F.cosine_similarity(one, other)
    return torch.where(labels > 0.5, 1 - similarity, similarity.clamp(min=0)).mean()  # bug


@bug(CASES, "pytorch/pytorch pull request 171641", "n 1", "n d", "n d")
def relaxed_categorical(temperature: Tensor, logits: Tensor, value: Tensor) -> Tensor:
    score = (logits - value * temperature).sum(-1)
    scale = 2.0 * temperature.log()
    return score + scale  # bug


@bug(CASES, "pyro-ppl/numpyro issue 1230", "n", "n 1")
def observed_column(logits: Tensor, observed: Tensor) -> Tensor:
    return torch.distributions.Bernoulli(logits=logits, validate_args=False).log_prob(observed).sum()  # bug


@bug(CASES, "pyro-ppl/numpyro issue 1230, with a Poisson", "n 1", "n")
def observed_counts(rate: Tensor, observed: Tensor) -> Tensor:
    return torch.distributions.Poisson(rate.exp(), validate_args=False).log_prob(observed).sum()  # bug


@bug(CASES, "cornellius-gp/gpytorch issue 679", "n n", "n", "n 1")
def marginal_likelihood(covariance: Tensor, mean: Tensor, observed: Tensor) -> Tensor:
    difference = observed - mean  # bug
    return (difference @ covariance * difference).sum()


@bug(CASES, "cornellius-gp/gpytorch issue 1318", "b 1", "b")
def prior_of_noise(noise: Tensor, location: Tensor) -> Tensor:
    prior = torch.distributions.Normal(location, 1.0, validate_args=False)
    return prior.log_prob(noise).sum()  # bug


@bug(CASES, "Hsuxu/Loss_ToolBox-PyTorch issue 8", "c 1", "n c", "n:int")
def focal_weights(alpha: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    weights = alpha[labels]
    log_p = F.log_softmax(logits, 1).gather(1, labels.view(-1, 1)).squeeze(1)
    return -(weights * log_p).mean()  # bug


@bug(CASES, "alibaba/EasyRec pull request 491, with weights in a column", "n c", "n:int", "n 1")
def weighted_cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    losses = F.cross_entropy(logits, labels, reduction="none")
    return (losses * weights).sum() / weights.sum()  # bug


@bug(CASES, "thu-ml/tianshou issue 162", "n d", "n 1")
def gaussian_policy(actions: Tensor, advantage: Tensor) -> Tensor:
    log_prob = -0.5 * (actions**2).sum(1)
    return -torch.mul(log_prob, advantage).mean()  # bug


@bug(CASES, "keras-team/keras-core pull request 332", "n", "n 1")
def losses_in_place(losses: Tensor, weights: Tensor) -> Tensor:
    weights = weights * 1.0
    weighted = torch.multiply(weights, losses)  # bug
    return weighted.mean()


@bug(CASES, "prob-ml/bliss pull request 1063", "n n n", "n n n d")
def gated_loss(gates: Tensor, logits: Tensor) -> Tensor:
    losses = logits.square().mean(-1, keepdim=True)
    gated = gates * losses  # bug
    return gated.sum()


@bug(CASES, "NVIDIA-NeMo/Speech pull request 4017, with one log-probability a sentence", "b t", "b")
def sentence_scores(tokens: Tensor, lengths: Tensor) -> Tensor:
    totals = tokens.sum(1, keepdim=True)
    return totals / lengths  # bug


@bug(CASES, "fastai/fastai issue 1486, another metric", "n c", "n")
def brier_score(logits: Tensor, labels: Tensor) -> Tensor:
    probability = torch.softmax(logits, 1)[:, 1:]
    return (probability - labels).pow(2).mean()  # bug


@bug(CASES, "pyro-ppl/numpyro issue 1230, written out", "n 1", "n", "n")
def gaussian_likelihood(mean: Tensor, target: Tensor, variance: Tensor) -> Tensor:
    return (0.5 * (variance.exp().log() + (mean - target) ** 2)).mean()  # bug


@bug(CASES, "pyro-ppl/pyro issue 231, with a term for each image in a column", "n", "n d")
def evidence(kl: Tensor, image: Tensor) -> Tensor:
    reconstruction = image.square().sum(1).unsqueeze(1)
    return (reconstruction + 0.5 * kl).mean()  # bug
