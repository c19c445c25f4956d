"""Bugs from upstream issues, in models that run at the sizes of the export and fail at others, used to choose rules.

`upstream_held_out.py` has as many bugs that were written down at the same time and only counted.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .graphs import Graph, Sizes
from .modules import IMAGE, TEXT, Axes, Module

X = {"x": (2, 12, 8)}
PICTURE = {"x": (2, 8, 16, 16)}


def of(batch: int, seq: int) -> Sizes:
    return {"batch": batch, "seq": seq}


GRAPHS = [
    Graph("a scale of LayerNormalization for the length of the example", "github.com/pytorch/pytorch/issues/32282",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {y = LayerNormalization<axis = 1>(x, scale)}",
          {"scale": (12, 8)}, of(2, 12), of(2, 13)),
    Graph("the ten best of fewer", "github.com/pytorch/pytorch/issues/71695",
          "(float[batch,seq] x) => (float[a,b] y) {y, i = TopK(x, k)}", {"k": [10]}, of(2, 12), of(2, 5)),
    Graph("a product of letters with a matrix for each position", "github.com/microsoft/onnxruntime/issues/1708",
          "(float[batch,seq,8] x) => (float[a,b,4] y) {y = Einsum<equation = \"bsd,sde->bse\">(x, w)}",
          {"w": (12, 8, 4)}, of(2, 12), of(2, 13)),
    Graph("more positions than the table has", "github.com/espnet/espnet_onnx/issues/63",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {s = Shape<start = 1, end = 2>(x) n = Squeeze(s) "
          "i = Range(zero, n, one) p = Gather(table, i) y = Add(x, p)}",
          {"zero": 0, "one": 1, "table": (16, 8)}, of(2, 12), of(2, 21)),
    Graph("a batch split into single images", "github.com/facebookresearch/detr/issues/534",
          "(float[batch,3,h,w] x) => (float[a,3,b,c] y) {u, v = Split<axis = 0>(x, parts) y = Max(u, v)}",
          {"parts": [1, 1]}, {"batch": 2, "h": 16, "w": 16}, {"batch": 4, "h": 16, "w": 16}),
    Graph("an update of more rows than there are", "github.com/microsoft/onnxruntime/issues/4853",
          "(float[seq] x) => (float[a] y) {y = ScatterElements<axis = 0>(x, index, new)}",
          {"index": [*range(12)], "new": (12,)}, {"seq": 12}, {"seq": 5}),
    Graph("channels that were declared free", "github.com/microsoft/onnxruntime/issues/14237",
          "(float[batch,channels,h,w] x) => (float[a,8,b,c] y) "
          "{y = Conv<kernel_shape = [3,3], pads = [1,1,1,1]>(x, k)}",
          {"k": (8, 3, 3, 3)}, {"batch": 2, "channels": 3, "h": 16, "w": 16},
          {"batch": 2, "channels": 5, "h": 16, "w": 16}),
]  # fmt: skip


def _window_reverse(x: Tensor) -> Tensor:
    _, h, w, c = (int(size) for size in x.shape)
    windows = x.reshape(-1, h // 4, 4, w // 4, 4, c).transpose(2, 3).reshape(-1, 16, c)
    count = int(windows.shape[0] / (h * w / 4 / 4))
    return windows.reshape(count, h // 4, w // 4, 16, c).mean(3)


def _pixel_shuffle(x: Tensor) -> Tensor:
    h, w = int(x.shape[2]), int(x.shape[3])
    return x.reshape(-1, 2, 2, 2, h, w).permute(0, 1, 4, 2, 5, 3).reshape(-1, 2, 2 * h, 2 * w)


def _pixel_unshuffle(x: Tensor) -> Tensor:
    b, c, h, w = x.shape
    h, w = int(h) // 2, int(w) // 2
    return x.view(b, c, h, 2, w, 2).permute(0, 1, 3, 5, 2, 4).reshape(b, 4 * c, h, w)


def _steps(x: Tensor) -> Tensor:
    weights = torch.full((12, 8, 4), 0.5)
    return torch.stack([x[:, step] @ weights[step] for step in range(int(x.shape[1]))], 1)


def _attention(x: Tensor) -> Tensor:
    length, batch, _ = (int(size) for size in x.shape)
    q = x.contiguous().view(length, batch * 2, 4).transpose(0, 1)
    mixed = torch.softmax(q @ q.transpose(1, 2), -1) @ q
    return mixed.transpose(0, 1).reshape(x.shape)


class _Positions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(1, 16, 8))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.positions[:, : x.shape[1]])


class _Bidirectional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.there, self.back = nn.LSTM(8, 6, batch_first=True), nn.LSTM(8, 6, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        there, _ = self.there(x)
        back, _ = self.back(x.flip(1))
        order = torch.arange(x.shape[1] - 1, -1, -1)[None, :, None].expand_as(back)
        return torch.cat((there, torch.gather(back, 1, order)), -1)


class _Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch, self.positions = nn.Conv2d(8, 8, 4, 4), nn.Parameter(torch.zeros(1, 16, 8))

    def forward(self, x: Tensor) -> Tensor:
        return self.patch(x).flatten(2).transpose(1, 2) + self.positions


def _windows(x: Tensor) -> Tensor:
    b, c, h, w = x.shape
    return x.view(b, c, h // 4, 4, w // 4, 4).amax((3, 5))


MAP: Axes = {"x": {0: "batch", 1: "h", 2: "w"}}
LENGTH_FIRST: Axes = {"x": {0: "seq", 1: "batch"}}
MODULES = [
    Module("windows counted by integers", "github.com/NVlabs/FasterViT/issues/12", _window_reverse,
           {"x": (2, 16, 16, 8)}, MAP, {"batch": 3, "h": 16, "w": 16}),
    Module("pixels shuffled by integers", "github.com/pytorch/pytorch/issues/34352", _pixel_shuffle,
           PICTURE, {"x": IMAGE}, {"batch": 2, "h": 20, "w": 16}),
    Module("axes flattened by integers", "github.com/pytorch/pytorch/issues/41893",
           lambda x: x.reshape(1, int(x.shape[1]), 60), {"x": (1, 2, 3, 4, 5)}, {"x": {1: "seq"}}, {"seq": 3}),
    Module("positions expanded by integers", "github.com/pytorch/pytorch/issues/87677",
           lambda x: x + torch.arange(x.shape[1])[None].expand(int(x.shape[0]), int(x.shape[1])),
           {"x": (2, 12)}, {"x": TEXT}, of(1, 7)),
    Module("pixels unshuffled by integers", "github.com/open-mmlab/mmagic/pull/1637", _pixel_unshuffle,
           PICTURE, {"x": IMAGE}, {"batch": 2, "h": 24, "w": 16}),
    Module("a matrix for each step", "github.com/pytorch/pytorch/issues/24235", _steps, X, {"x": TEXT}, of(2, 7)),
    Module("heads and batch in one axis", "github.com/pytorch/pytorch/issues/99516", _attention,
           {"x": (12, 2, 8)}, LENGTH_FIRST, of(3, 7)),
]  # fmt: skip
DYNAMO = [
    Module("sixteen positions, sliced", "github.com/pytorch/pytorch/issues/171618", _Positions(), X, {"x": TEXT},
           of(2, 40)),
    Module("the eleventh step", "github.com/jiangnanboy/onnx-java/issues/1", lambda x: x[:, 11] + x.mean(1), X,
           {"x": TEXT}, of(2, 7)),
    Module("two directions of an LSTM", "github.com/pytorch/pytorch/issues/191855", _Bidirectional(), X,
           {"x": TEXT}, of(2, 7)),
    Module("the ten best", "github.com/microsoft/onnxruntime/pull/26975", lambda x: torch.topk(x, 10, 1)[0], X,
           {"x": TEXT}, of(2, 7)),
    Module("a position for each patch", "github.com/AaronCIH/APGCC/issues/22", _Patches(), PICTURE,
           {"x": IMAGE}, {"batch": 2, "h": 24, "w": 16}),
    Module("windows of four", "github.com/huggingface/diffusers/issues/12843", _windows, PICTURE, {"x": IMAGE},
           {"batch": 2, "h": 18, "w": 16}),
]  # fmt: skip
