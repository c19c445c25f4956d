"""Programs that compile, trace, export or profile."""

from __future__ import annotations

import io
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


class _Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Linear(3, 8), torch.nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(F.relu(self.first(x)))


def _loss(x: Tensor, y: Tensor) -> Tensor:
    return ((x[:, None] - y) ** 2 + torch.sigmoid(x)[:, None]).mean()


def compile_fullgraph() -> Any:
    return torch.compile(_loss, fullgraph=True)(torch.rand(5), torch.rand(5))


def compile_fullgraph_eager_backend() -> Any:
    return torch.compile(_loss, fullgraph=True, backend="eager")(torch.rand(5), torch.rand(5))


def compile_with_a_graph_break() -> Any:
    def broken(x: Tensor) -> Tensor:
        x = x * 2
        print(end="")
        return x - x.sum()

    return torch.compile(broken, backend="aot_eager")(torch.rand(5))


def compile_fullgraph_with_a_graph_break() -> Any:
    def broken(x: Tensor) -> Tensor:
        print(end="")
        return x

    return torch.compile(broken, backend="eager", fullgraph=True)(torch.rand(5))


def compile_a_training_step() -> Any:
    model = _Model()
    optimizer = torch.optim.Adam(model.parameters())

    @torch.compile(backend="aot_eager")
    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = F.mse_loss(model(x).squeeze(-1), y)
        loss.backward()
        return loss

    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        losses.append(step(torch.rand(5, 3), torch.rand(5)))
        optimizer.step()
    return losses, [*model.parameters()]


def compile_with_dynamic_shapes() -> Any:
    compiled = torch.compile(_loss, dynamic=True, backend="eager", fullgraph=True)
    return [compiled(torch.rand(size), torch.rand(size)) for size in (3, 4, 5)]


def recompile_up_to_the_limit() -> Any:
    compiled = torch.compile(lambda x, n: x * n, backend="eager", dynamic=False)
    return [compiled(torch.rand(size + 1), float(size)) for size in range(10)]


def compile_an_optimizer() -> Any:
    parameters = [torch.nn.Parameter(torch.rand(3, 1)), torch.nn.Parameter(torch.rand(3))]
    optimizer = torch.optim.AdamW(parameters, foreach=True)
    for parameter in parameters:
        parameter.grad = torch.rand_like(parameter)
    torch.compile(optimizer.step, backend="eager")()
    return parameters


def enter_and_leave_a_mode_in_compiled_code() -> Any:
    def steps(x: Tensor) -> Tensor:
        with torch.no_grad():
            y = x * 2
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.mm(x, y)

    return torch.compile(steps, backend="eager", fullgraph=True)(torch.rand(3, 3))


def compiled_autograd() -> Any:
    x = torch.rand(5, requires_grad=True)
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager", fullgraph=True)):
        (torch.sin(x) * x).sum().backward()
    return x.grad


def flex_attention_in_eager_code() -> Any:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def causal(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return query >= key

    def bias(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return score + (query - key)

    q, k, v = torch.rand(3, 1, 2, 128, 16)
    mask = create_block_mask(causal, 1, 2, 128, 128, device="cpu")
    return flex_attention(q, k, v, score_mod=bias, block_mask=mask)


def cond() -> Any:
    x = torch.rand(5)
    return torch.cond(x.sum() > 2, lambda x: x + 1, lambda x: x[:, None].sum(1) - 1, (x,))


def cond_with_branches_that_differ() -> Any:
    x = torch.rand(5)
    return torch.cond(x.sum() > 2, lambda x: x + 1, lambda x: x[:, None] - x, (x,))


def while_loop() -> Any:
    from torch._higher_order_ops import while_loop as loop

    return loop(lambda n, x: n < 4, lambda n, x: (n + 1, x * 2), (torch.tensor(0), torch.rand(5)))


def scan() -> Any:
    from torch._higher_order_ops.scan import scan as scanned

    return scanned(lambda carry, x: (carry + x, carry * x), torch.zeros(3), torch.rand(4, 3))


def associative_scan() -> Any:
    from torch._higher_order_ops.associative_scan import associative_scan as scanned

    return scanned(lambda x, y: x + y, torch.rand(4, 3), 0, combine_mode="generic")


def map_over_rows() -> Any:
    from torch._higher_order_ops import map as mapped

    return mapped(lambda x, y: x * y, torch.rand(4, 3), torch.rand(3))


def script() -> Any:
    @torch.jit.script
    def scripted(x: Tensor, y: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return x - y
        return x

    return scripted(torch.rand(5, 1), torch.rand(5)), scripted.code


def trace_with_a_tracer_warning() -> Any:
    def traced(x: Tensor) -> Tensor:
        return x * 2 if x.sum() > 0 else x

    return torch.jit.trace(traced, (torch.rand(5),)).code


def trace_a_module() -> Any:
    module = torch.jit.trace(_Model(), (torch.rand(5, 3),))
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file)(torch.ones(2, 3))


def export_strictly() -> Any:
    return torch.export.export(_Model(), (torch.rand(5, 3),), strict=True).graph_module.code


def export_not_strictly() -> Any:
    batch = torch.export.Dim("batch")
    program = torch.export.export(_Model(), (torch.rand(5, 3),), dynamic_shapes=({0: batch},), strict=False)
    return program.graph_module.code, str(program.range_constraints), program.module()(torch.rand(7, 3))


class _Column(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x[:, None].sum(1, keepdim=True) - y


def export_sizes_that_are_one() -> Any:
    n = torch.export.Dim("n")
    program = torch.export.export(_Column(), (torch.rand(5), torch.rand(5)), dynamic_shapes=({0: n}, {0: n}))
    return program.graph_module.code, str(program.range_constraints)


def make_fx() -> Any:
    from torch.fx.experimental.proxy_tensor import make_fx as made

    return [made(_loss, tracing_mode=mode)(torch.rand(5), torch.rand(5)).code for mode in ("real", "fake", "symbolic")]


def symbolic_trace() -> Any:
    return torch.fx.symbolic_trace(_Model()).code


def profile() -> Any:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        _loss(torch.rand(5), torch.rand(5))
    return sorted((event.key, event.count) for event in profile.key_averages())


def fake_tensors() -> Any:
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        return str(_loss(torch.rand(5), torch.rand(5, 1)))


def functionalize() -> Any:
    return torch.func.functionalize(lambda x: x.add_(1).mul_(x[:, None]).sum())(torch.rand(5, 5)[0])


def custom_operator() -> Any:
    @torch.library.custom_op("watched::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    @twice.register_fake
    def _(x: Tensor) -> Tensor:
        return torch.empty_like(x)

    twice.register_autograd(lambda ctx, grad: grad * 2)
    x = torch.rand(5, requires_grad=True)
    twice(x).sum().backward()
    return twice(x), x.grad, torch.compile(twice, backend="aot_eager", fullgraph=True)(x)


def compiled_watch() -> Any:
    """Return the result of a program that enters its own watch in compiled code."""
    import axiscast

    def watched(x: Tensor) -> Tensor:
        with axiscast.watch():
            return x * 2

    return torch.compile(watched, backend="eager")(torch.rand(5))
