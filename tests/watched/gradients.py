"""Programs that differentiate, and train."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def _f(x: Tensor) -> Tensor:
    return (torch.sin(x)[:, None] * x).sum()


def vmap() -> Any:
    return torch.vmap(lambda x, y: (x[:, None] - y).abs().sum(0))(torch.rand(4, 3), torch.rand(4, 3))


def vmap_in_dims_and_randomness() -> Any:
    return torch.vmap(lambda x: x + torch.rand(3), in_dims=1, randomness="different")(torch.rand(3, 4))


def vmap_of_an_item() -> Any:
    return torch.vmap(lambda x: x.sum().item())(torch.rand(3, 4))


def vmap_fallback() -> Any:
    return torch.vmap(lambda x: torch.bincount(x))(torch.ones(3, 4, dtype=torch.long))


def grad_of_grad() -> Any:
    return torch.func.grad(lambda x: torch.func.grad(_f)(x).pow(2).sum())(torch.rand(5))


def jacobians_and_hessian() -> Any:
    x = torch.rand(4)
    return (
        torch.func.jacrev(torch.sin)(x),
        torch.func.jacfwd(lambda x: x[:, None] * x)(x),
        torch.func.hessian(_f)(x),
        torch.autograd.functional.hessian(_f, x),
        torch.autograd.functional.jacobian(torch.cos, x, vectorize=True),
    )


def forward_mode() -> Any:
    x = torch.rand(4)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(4))
        tangent = torch.autograd.forward_ad.unpack_dual(_f(dual)).tangent
    return tangent, torch.func.jvp(_f, (x,), (torch.ones(4),)), torch.func.vjp(_f, x)[0]


def checkpoint_reentrant() -> Any:
    return _checkpointed(True)


def checkpoint_not_reentrant() -> Any:
    return _checkpointed(False)


def _checkpointed(use_reentrant: bool) -> Any:
    from torch.utils.checkpoint import checkpoint

    x = torch.rand(5, requires_grad=True)
    y = checkpoint(lambda x: F.dropout(torch.sin(x)[:, None] * x, 0.5), x, use_reentrant=use_reentrant)
    y.sum().backward()
    return y, x.grad


def checkpoint_without_saying_how() -> Any:
    from torch.utils.checkpoint import checkpoint

    return checkpoint(torch.sin, torch.rand(5))


def autocast() -> Any:
    model = torch.nn.Linear(3, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = model(torch.rand(4, 3))
        loss = F.mse_loss(y, torch.rand(4, 2))
    loss.backward()
    return y, loss, model.weight.grad


def own_function() -> Any:
    class Clamped(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, least: float) -> Tensor:
            ctx.save_for_backward(x)
            ctx.least = least
            return x.clamp(min=least)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
            (x,) = ctx.saved_tensors
            return grad * (x > ctx.least), None

    x = torch.rand(5, requires_grad=True)
    y = Clamped.apply(x, 0.5)
    y.sum().backward()
    return y, x.grad, torch.autograd.gradcheck(lambda x: Clamped.apply(x, 2.0), (x.detach().double().requires_grad_(),))


def own_function_that_fails() -> Any:
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            raise KeyError("in backward")

    Failing.apply(torch.rand(3, requires_grad=True)).sum().backward()


def tensor_hooks() -> Any:
    x, seen = torch.rand(5, requires_grad=True), []
    y = x * 2
    handle = y.register_hook(lambda grad: grad * torch.arange(5.0))
    x.register_hook(lambda grad: seen.append(grad.clone()))
    x.register_post_accumulate_grad_hook(lambda x: seen.append(x.grad.sum()))
    y.sum().backward()
    handle.remove()
    return x.grad, seen


def module_hooks() -> Any:
    model, seen = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)), []
    model[0].register_forward_pre_hook(lambda module, inputs: (inputs[0] + 1,))
    model[1].register_forward_hook(lambda module, inputs, output: output * 2)
    model[2].register_full_backward_hook(lambda module, before, after: seen.extend([*before, *after]))
    y = model(torch.rand(5, 3))
    y.sum().backward()
    return y, seen, [parameter.grad for parameter in model.parameters()]


def saved_tensor_hooks() -> Any:
    x, packed = torch.rand(5, requires_grad=True), []

    def pack(x: Tensor) -> Tensor:
        packed.append(x.shape)
        return x * 1

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        y = (torch.sin(x)[:, None] * x).sum()
    y.backward()
    return packed, x.grad


def anomalies() -> Any:
    with torch.autograd.detect_anomaly():
        x = torch.zeros(3, requires_grad=True)
        torch.sqrt(x).mul(0).sum().backward()


def lbfgs() -> Any:
    x = torch.nn.Parameter(torch.rand(4))
    optimizer, calls = torch.optim.LBFGS([x], line_search_fn="strong_wolfe"), []

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = ((x[:, None] - x) ** 2).sum() + (x**2).sum()
        loss.backward()
        calls.append(loss.item())
        return loss

    optimizer.step(closure)
    return x, calls


def optimizers() -> Any:
    results = []
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop, torch.optim.Adagrad):
        for foreach in (False, True):
            parameters = [torch.nn.Parameter(torch.ones(3, 1)), torch.nn.Parameter(torch.ones(3))]
            optimizer = kind(parameters, lr=0.1, foreach=foreach)
            for _ in range(3):
                optimizer.zero_grad()
                (parameters[0].squeeze(-1) * parameters[1]).sum().backward()
                optimizer.step()
            results += parameters
    return results


def scheduler_before_the_optimizer() -> Any:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    scheduler.step()
    return scheduler.get_last_lr()


def fused_optimizer() -> Any:
    parameter = torch.nn.Parameter(torch.rand(4, 3))
    parameter.grad = torch.rand(4, 3)
    torch.optim.AdamW([parameter], fused=True).step()
    return parameter


def functional_call() -> Any:
    model = torch.nn.Linear(3, 1)
    parameters = {name: torch.rand_like(value) for name, value in model.named_parameters()}
    loss = lambda parameters: torch.func.functional_call(model, parameters, (torch.ones(4, 3),)).sum()  # noqa: E731
    return torch.func.grad(loss)(parameters)


def ensemble() -> Any:
    models = [torch.nn.Linear(3, 1) for _ in range(4)]
    parameters, buffers = torch.func.stack_module_state(models)  # type: ignore[arg-type]
    call = lambda p, b, x: torch.func.functional_call(models[0], (p, b), (x,))  # noqa: E731
    return torch.vmap(call, in_dims=(0, 0, None))(parameters, buffers, torch.rand(5, 3))


def parametrize() -> Any:
    class Symmetric(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.triu() + x.triu(1).mT

    linear = torch.nn.Linear(3, 3)
    torch.nn.utils.parametrize.register_parametrization(linear, "weight", Symmetric())
    linear(torch.rand(2, 3)).sum().backward()
    normed = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    spectral = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 2))
    return linear.weight, linear.parametrizations.weight.original.grad, normed(torch.ones(1, 3)), spectral.weight


def weight_norm_of_old() -> Any:
    return torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))(torch.ones(1, 3))


def clip_and_scale() -> Any:
    model = torch.nn.Linear(3, 2)
    scaler = torch.amp.GradScaler("cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler.scale(model(torch.rand(4, 3)).sum()).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    return norm, [*model.parameters()]


def layers() -> Any:
    torch.manual_seed(0)
    sequence = torch.rand(2, 6, 8)
    return (
        torch.nn.LSTM(8, 4, batch_first=True)(sequence),
        torch.nn.MultiheadAttention(8, 2, batch_first=True)(sequence, sequence, sequence),
        torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(sequence),
        torch.nn.Conv2d(3, 4, 3)(torch.rand(1, 3, 8, 8)),
        torch.nn.BatchNorm1d(6)(sequence),
        torch.nn.CTCLoss()(torch.rand(5, 2, 4).log_softmax(-1), torch.ones(2, 3).long(), [5, 5], [3, 3]),
        F.cross_entropy(torch.rand(4, 3), torch.arange(4) % 3),
        F.scaled_dot_product_attention(sequence, sequence, sequence, is_causal=True),
    )
