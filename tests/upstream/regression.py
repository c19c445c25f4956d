"""Bugs in regression, classification and their metrics, in torch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from . import Case, bug

CASES: list[Case] = []


@bug(CASES, "pytorch/pytorch issue 16045", "n d", "n", "d 1")
def linear_regression(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    predicted = x @ weight
    return torch.nn.MSELoss()(predicted, y)  # bug


@bug(CASES, "pytorch/pytorch issue 19699", "n", "n 1")
def different_loss_by_shape(a: Tensor, b: Tensor) -> Tensor:
    return F.mse_loss(a, b, reduction="sum")  # bug


@bug(CASES, "pytorch/pytorch issue 105739", "n 1", "n")
def mean_of_squares(x: Tensor, y: Tensor) -> Tensor:
    return torch.mean((x - y) ** 2)  # bug


@bug(CASES, "pytorch/pytorch issue 2973", "n", "n 1")
def product(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sum()  # bug


@bug(CASES, "pytorch/pytorch issue 4938", "n", "n")
def two_views(output: Tensor, target: Tensor) -> Tensor:
    return ((output.view(-1, 1) - target.view(-1, 1, 1, 1)) ** 2).mean()  # bug


@bug(CASES, "pytorch/pytorch issue 19991", "n d", "n", "d 1")
def binary_labels(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    probability = torch.sigmoid(x @ weight)
    return -(y * probability.log() + (1 - y) * (1 - probability).log()).mean()  # bug


@bug(CASES, "Stack Overflow, Simple linear regression in PyTorch", "n d", "n", "d 1", "1")
def regression_from_scratch(x: Tensor, y: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    out = x.mm(weights).add_(bias)
    return torch.mean((out - y) ** 2)  # bug


@bug(CASES, "fastai/fastai issue 1486", "n d", "d 1", "n")
def metric_of_tabular_data(x: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    predictions = x @ weight
    return torch.sqrt(((predictions - targets) ** 2).mean())  # bug


@bug(CASES, "jsboige/CoursIA pull request 926", "n t d", "d 1", "n")
def forecast_of_one_step(x: Tensor, weight: Tensor, target: Tensor) -> Tensor:
    prediction = (x @ weight)[:, -1]
    return F.l1_loss(prediction, target)  # bug


@bug(CASES, "manzilzaheer/DeepSets pull request 1", "n t d", "d 1", "n")
def pooled_sets(x: Tensor, weight: Tensor, y: Tensor) -> Tensor:
    predicted = x.sum(1) @ weight
    error = y - predicted  # bug
    return error.square().mean()


@bug(CASES, "benedekrozemberczki/pytorch_geometric_temporal issue 116", "n n", "n d", "d 1", "n")
def cost_of_snapshots(adjacency: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Tensor:
    y_hat = adjacency @ (x @ weight)
    return torch.mean((y_hat - y) ** 2)  # bug


@bug(CASES, "sktime/sktime issue 10931", "n d t", "d 1", "n")
def loss_of_a_convolution(x: Tensor, weight: Tensor, y: Tensor) -> Tensor:
    predicted = torch.relu(x).mean(-1) @ weight
    return F.huber_loss(predicted, y)  # bug


@bug(CASES, "deepset-ai/FARM issue 229", "n d", "d 1", "n 1")
def squeezed_logits(x: Tensor, weight: Tensor, labels: Tensor) -> Tensor:
    logits = (x @ weight).squeeze(1)
    return F.mse_loss(logits, labels.float())  # bug


@bug(CASES, "IntelLabs/matsciml pull request 347", "n d", "n 1")
def labels_of_the_pipeline(nodes: Tensor, labels: Tensor) -> Tensor:
    readout = nodes.sum(-1)
    return F.smooth_l1_loss(readout, labels)  # bug


@bug(CASES, "facebookresearch/fairchem pull request 1825", "n", "n", "n:int")
def error_per_atom(prediction: Tensor, target: Tensor, natoms: Tensor) -> Tensor:
    error = torch.abs(target - prediction)
    return error / natoms.unsqueeze(1)  # bug


@bug(CASES, "facebookresearch/fairchem pull request 1825", "n", "n", "n:int")
def squared_error_per_atom(prediction: Tensor, target: Tensor, natoms: Tensor) -> Tensor:
    return ((target - prediction) / natoms.unsqueeze(1)) ** 2  # bug


@bug(CASES, "mir-group/nequip pull request 85", "n 1", "n 1", "n:int")
def energy_per_atom(predicted: Tensor, reference: Tensor, atoms: Tensor) -> Tensor:
    loss = F.mse_loss(predicted, reference, reduction="none")
    return (loss / atoms).mean()  # bug


@bug(CASES, "KIT-IAI/pyWATTS issue 154", "n", "n 1")
def mean_absolute_error(p: Tensor, t: Tensor) -> Tensor:
    return torch.abs(torch.sub(input=p, other=t)).mean()  # bug


@bug(CASES, "solofox.github.io, the broadcasting trap of torch", "n d", "d 1", "1", "n")
def house_prices(x: Tensor, weights: Tensor, bias: Tensor, prices: Tensor) -> Tensor:
    outputs = torch.matmul(x, weights) + bias
    return F.mse_loss(outputs, prices)  # bug


@bug(CASES, "935963004/LaBraM issue 15", "n c", "n 1:int")
def accuracy_of_a_column_of_targets(output: Tensor, targets: Tensor) -> Tensor:
    return (output.max(-1)[-1] == targets).float().mean()  # bug


@bug(CASES, "udacity/deep-learning-v2-pytorch issue 220", "n c", "n:int")
def top_class(log_ps: Tensor, labels: Tensor) -> Tensor:
    top = log_ps.exp().topk(1, dim=1)[1]
    equals = top == labels  # bug
    return equals.float().mean()


@bug(CASES, "pytorch/examples mnist, which writes view_as", "n c", "n:int")
def accuracy_of_mnist(output: Tensor, target: Tensor) -> Tensor:
    predicted = output.argmax(dim=1, keepdim=True)
    return predicted.eq(target).sum()  # bug


@bug(CASES, "orobix/Prototypical-Networks-for-Few-shot-Learning-PyTorch issue 23", "n c", "n:int")
def prototypes(distances: Tensor, targets: Tensor) -> Tensor:
    _, predicted = distances.min(1, keepdim=True)
    return predicted.eq(targets).float().mean()  # bug


@bug(CASES, "pytorch/examples mnist, with the target in a column", "n d", "d 1", "n")
def correct_by_a_threshold(x: Tensor, weight: Tensor, labels: Tensor) -> Tensor:
    guess = torch.sigmoid(x @ weight) > 0.5
    return (guess == labels.bool()).float().mean()  # bug


@bug(CASES, "modelscope/ms-swift pull request 9927", "n d", "n d", "d 1", "n")
def margins_of_rewards(chosen: Tensor, rejected: Tensor, head: Tensor, margin: Tensor) -> Tensor:
    difference = chosen @ head - rejected @ head
    return -F.logsigmoid(difference - margin).mean()  # bug


@bug(CASES, "RUCAIBox/UniSRec pull request 9", "n d", "n d", "n")
def contrastive_logits(one: Tensor, other: Tensor, negatives: Tensor) -> Tensor:
    positives = (one * other).sum(dim=1, keepdim=True)
    return -torch.log(positives.exp() / negatives.exp()).mean()  # bug


@bug(CASES, "lululxvi/deepxde issue 2100", "n d", "d 1", "n")
def observed_points(points: Tensor, weight: Tensor, values: Tensor) -> Tensor:
    outputs = torch.tanh(points @ weight)
    return outputs[:, 0:1] - values  # bug


@bug(CASES, "mahmoodlab/PathomicFusion pull request 9", "n", "n n", "n 1")
def cox_loss(theta: Tensor, at_risk: Tensor, censor: Tensor) -> Tensor:
    risk = torch.log(torch.sum(theta.exp() * at_risk, dim=1))
    return -torch.mean((theta - risk) * censor)  # bug


@bug(CASES, "keras-team/keras issue 389", "n 1", "n 1", "n")
def sample_weights(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    losses = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    return (losses * weights).mean()  # bug


@bug(CASES, "cleverhans-lab/cleverhans pull request 700", "n d", "n", "n:int", "d c")
def mixed_losses(x: Tensor, mix: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    mix = mix.view(-1, 1)
    logits = (x * mix + x.flip(0) * (1 - mix)) @ weight
    loss = F.cross_entropy(logits, labels, reduction="none")
    return (mix * loss).mean()  # bug


@bug(CASES, "HomebrewML/HeavyBall issue 96", "n t n")
def norms_on_the_wrong_axis(gradients: Tensor) -> Tensor:
    return gradients / gradients.norm(dim=(-2, -1)).clamp(min=1e-7)  # bug
