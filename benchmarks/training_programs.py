"""Training code to measure under a watch. Each function prepares a program, and returns one step of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

Step = Callable[[], object]


def trained(model: torch.nn.Module, loss: Callable[[], Tensor]) -> Step:
    """Forward, loss, backward and Adam."""
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def mlp() -> Step:
    """Three linear layers of 64, 64 rows."""
    layers = [
        torch.nn.Linear(16, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 1),
    ]
    model, x, y = torch.nn.Sequential(*layers), torch.rand(64, 16), torch.rand(64)
    return trained(model, lambda: F.mse_loss(model(x).squeeze(-1), y))


def llama() -> Step:
    """Two layers of 64, four sequences of 32 tokens."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=512, **sizes)).train()
    tokens = torch.randint(0, 512, (4, 32))
    return trained(model, lambda: model(input_ids=tokens, labels=tokens).loss)


def bert() -> Step:
    """Four layers of 256, eight sequences of 64 tokens."""
    from transformers import BertConfig, BertForMaskedLM

    sizes = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 4}
    model = BertForMaskedLM(BertConfig(**sizes)).train()
    tokens = torch.randint(1000, 30000, (8, 64))
    mask = torch.ones_like(tokens)
    return trained(model, lambda: model(input_ids=tokens, attention_mask=mask, labels=tokens).loss)


def mobilenet() -> Step:
    """MobileNetV3 small, four images of 64 x 64."""
    from torchvision.models import mobilenet_v3_small

    model, images, labels = mobilenet_v3_small(num_classes=10), torch.rand(4, 3, 64, 64), torch.arange(4)
    return trained(model, lambda: F.cross_entropy(model(images), labels))


def advantages() -> Step:
    """Generalized advantage estimation: 128 steps of eight environments."""
    rewards, values, done = torch.rand(128, 8), torch.rand(129, 8), (torch.rand(128, 8) < 0.05).float()

    def step() -> Tensor:
        result, last = torch.zeros_like(rewards), torch.zeros(8)
        for t in reversed(range(128)):
            delta = rewards[t] + 0.99 * values[t + 1] * (1 - done[t]) - values[t]
            last = delta + 0.99 * 0.95 * (1 - done[t]) * last
            result[t] = last
        return result + values[:-1]

    return step


def metrics() -> Step:
    """Accuracy, F1 score and mean squared error of 64 rows, updated and computed."""
    import torchmetrics

    accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=5)
    f1, error = torchmetrics.F1Score(task="multiclass", num_classes=5), torchmetrics.MeanSquaredError()
    scores, labels, y = torch.rand(64, 5), torch.randint(0, 5, (64,)), torch.rand(64)

    def step() -> object:
        return accuracy(scores, labels), f1(scores, labels), error(scores[:, 0], y)

    return step


def keepdim() -> Step:
    """Standardize and normalize rows with keepdim, 32 times."""
    x = torch.rand(16, 32)

    def step() -> Tensor:
        y = x
        for _ in range(32):
            y = (y - y.mean(-1, keepdim=True)) / (y.std(-1, keepdim=True) + 1e-6)
            y = y.exp() / y.exp().sum(-1, keepdim=True)
        return y

    return step


PROGRAMS: Mapping[str, Callable[[], Step]] = {
    "MLP with Adam": mlp,
    "tiny Llama step": llama,
    "GAE loop": advantages,
    "torchmetrics": metrics,
    "keepdim loop": keepdim,
    "MobileNet step": mobilenet,
    "small BERT step": bert,
}
