"""Functions that mean their outer product of equal sizes."""

from __future__ import annotations

from typing import Any

import torch
from origin_cases import N, right
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
