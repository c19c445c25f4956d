"""Functions with an outer product of equal sizes: those in which it is an accident, and those that mean it."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

N = 8
Shape = tuple[int, ...]
Function = Callable[..., Any]


class Case(NamedTuple):
    """A function, the shapes of its inputs, and whether its outer product is an accident."""

    function: Function
    shapes: tuple[Shape, ...]
    is_bug: bool


CASES: dict[str, Case] = {}


def bug(*shapes: Shape) -> Callable[[Function], Function]:
    return _added(shapes, True)


def right(*shapes: Shape) -> Callable[[Function], Function]:
    return _added(shapes, False)


def _added(shapes: tuple[Shape, ...], is_bug: bool) -> Callable[[Function], Function]:
    def add(function: Any) -> Function:
        code = function.__code__.replace(co_name="forward")  # torch.export records lines of such functions only
        CASES[function.__name__] = Case(FunctionType(code, function.__globals__), shapes, is_bug)
        return CASES[function.__name__].function

    return add


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


@bug((N, 3))
def two_parts_of_a_tensor(a: Tensor) -> Any:
    return a.narrow(1, 0, 1) - a[:, 1]


@bug((N, 3))
def slice_and_select_of_one(a: Tensor) -> Any:
    return a[:, 0:1] / a[:, 2]


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
