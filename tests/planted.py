"""Functions with typical bugs: (N,) is combined with (N, 1) in the marked line. They need torch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

N = 6


def _model(outputs: int = 1) -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, outputs))


def _data() -> tuple[Tensor, Tensor]:
    return torch.rand(N, 3), torch.rand(N)


def squared_error() -> None:
    x, y = _data()
    loss = ((_model()(x) - y) ** 2).mean()  # bug
    loss.backward()


def functional_loss() -> None:
    x, y = _data()
    F.mse_loss(_model()(x), y).backward()  # bug


def loss_module() -> None:
    x, y = _data()
    criterion = nn.L1Loss()
    criterion(_model()(x), y).backward()  # bug


def loss_by_keyword() -> None:
    x, y = _data()
    F.smooth_l1_loss(input=_model()(x), target=y, beta=0.5).backward()  # bug


def deep_q_learning() -> None:
    states, rewards = _data()
    actions = torch.zeros(N, 1, dtype=torch.int64)
    chosen = _model(2)(states).gather(1, actions)
    with torch.no_grad():
        target = rewards + 0.99 * _model(2)(states).max(1).values
    F.huber_loss(chosen, target).backward()  # bug


def temporal_difference() -> None:
    states, rewards = _data()
    done = torch.zeros(N)
    with torch.no_grad():
        following = (1 - done) * _model()(states)  # bug
        assert (rewards + 0.99 * following).shape == (N, N)


def advantages() -> None:
    states, returns = _data()
    values = _model()(states)
    advantage = returns - values.detach()  # bug
    assert advantage.shape == (N, N)


def policy_ratio() -> None:
    states, old = _data()
    distribution = torch.distributions.Normal(_model()(states), 1.0)
    new = distribution.log_prob(torch.rand(N, 1))
    ratio = torch.exp(new - old)  # bug
    ratio.mean().backward()


def log_likelihood() -> None:
    states, actions = _data()
    policy = torch.distributions.Normal(_model()(states), torch.ones(()))
    (-policy.log_prob(actions)).mean().backward()  # bug


def accuracy() -> None:
    x, y = _data()
    with torch.no_grad():
        predicted = _model()(x).sigmoid() > 0.5
        correct = (predicted == (y > 0.5)).float().mean()  # bug
    assert correct <= 1


def validation() -> None:
    x, y = _data()
    with torch.inference_mode():
        error = torch.sub(input=_model()(x), other=y).abs().mean()  # bug
    assert error >= 0


def sample_weights() -> None:
    x, weights = _data()
    targets = torch.ones(N, 1)
    losses = F.binary_cross_entropy_with_logits(_model()(x), targets, reduction="none")
    (losses * weights).mean().backward()  # bug


def masked_targets() -> None:
    x, y = _data()
    target = torch.where(y > 0.5, y, _model()(x))  # bug
    target.sum().backward()


def clipped() -> None:
    x, lower = _data()
    torch.clamp(_model()(x), min=lower).sum().backward()  # bug


def masked_scores() -> None:
    x, y = _data()
    scores = _model()(x).masked_fill(y > 0.5, float("-inf"))  # bug
    assert scores.shape == (N, N)


def moving_average() -> None:
    x, average = _data()
    with torch.no_grad():
        average = torch.lerp(average, _model()(x), 0.1)  # bug
    assert average.shape == (N, N)


def fused() -> None:
    x, y = _data()
    torch.addcmul(y, _model()(x), y, value=0.5).sum().backward()  # bug


def assertion() -> None:
    x, y = _data()
    assert not torch.allclose(_model()(x), y)  # bug


def parameter() -> None:
    _, y = _data()
    offset = nn.Parameter(torch.zeros(N, 1))
    residual = y
    residual = residual - offset  # bug
    residual.sum().backward()


def compiled() -> None:
    x, y = _data()
    model = _model()

    @torch.compile(backend="eager")
    def loss(x: Tensor, y: Tensor) -> Tensor:
        predicted = model(x)
        return (predicted - y).abs().mean()  # bug

    with torch.compiler.set_stance("force_eager"):  # what was compiled is not seen
        loss(x, y).backward()


def under_vmap() -> None:
    def loss(predicted: Tensor, y: Tensor) -> Tensor:
        return (predicted - y).pow(2).mean()  # bug

    torch.vmap(loss)(torch.rand(2, N, 1), torch.rand(2, N))


def functional_gradient() -> None:
    x, y = _data()
    model = _model()

    def loss(parameters: dict[str, Any]) -> Tensor:
        return (torch.func.functional_call(model, parameters, (x,)) - y).square().mean()  # bug

    torch.func.grad(loss)(dict(model.named_parameters()))


def poisson() -> None:
    x, counts = _data()
    F.poisson_nll_loss(_model()(x), counts).backward()  # bug
