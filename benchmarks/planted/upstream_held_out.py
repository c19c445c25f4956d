"""Bugs from upstream issues that were written down together with those of upstream.py, and not used to choose rules."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .graphs import Graph
from .modules import IMAGE, TEXT, Module
from .upstream import LENGTH_FIRST, PICTURE, X, of

GRAPHS = [
    Graph("zeros for the batch of the example, joined", "github.com/microsoft/onnxruntime/issues/10741",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {z = ConstantOfShape(to) y = Concat<axis = 1>(z, x)}",
          {"to": [2, 1, 8]}, of(2, 12), of(3, 12)),
    Graph("a map halved and doubled, joined", "github.com/microsoft/onnxruntime/issues/4641",
          "(float[batch,4,h,w] x) => (float[a,8,b,c] y) {p = MaxPool<kernel_shape = [2,2], strides = [2,2]>(x) "
          "u = ConvTranspose<kernel_shape = [2,2], strides = [2,2]>(p, k) y = Concat<axis = 1>(u, x)}",
          {"k": (4, 4, 2, 2)}, {"batch": 2, "h": 16, "w": 16}, {"batch": 2, "h": 15, "w": 16}),
    Graph("a triangular mask of the example", "github.com/pytorch/pytorch/issues/148886",
          "(float[batch,seq,seq] s, float low) => (float[a,b,c] y) {y = Where(mask, s, low)}",
          {"mask": (12, 12)}, of(2, 12), of(2, 7)),
    Graph("lengths for the batch of the example", "github.com/pytorch/pytorch/issues/101502",
          "(float[seq,batch,4] x) => (float[s,1,b,6] y) {n = Cast<to = 6>(lengths) "
          "y, h, c = LSTM<hidden_size = 6>(x, w, r, , n)}",
          {"w": (1, 24, 4), "r": (1, 24, 6), "lengths": [12, 12]}, of(2, 12), of(3, 12)),
    Graph("blocks of an odd height", "github.com/pytorch/pytorch/issues/51181",
          "(float[batch,4,h,w] x) => (float[a,16,b,c] y) {y = SpaceToDepth<blocksize = 2>(x)}",
          {}, {"batch": 2, "h": 16, "w": 16}, {"batch": 2, "h": 7, "w": 16}),
    Graph("a map flattened to the size of the example", "github.com/deepinsight/insightface/issues/2052",
          "(float[batch,8,4,4] x) => (float[a,8,16] y) {y = Reshape(x, to)}", {"to": [1, 8, 16]},
          {"batch": 1}, {"batch": 32}),
    Graph("a layer for the map of the example", "github.com/onnx/onnx-tensorflow/issues/21",
          "(float[batch,4,h,w] x) => (float[a,10] y) {f = Flatten(x) y = Gemm(f, w1)}",
          {"w1": (256, 10)}, {"batch": 2, "h": 8, "w": 8}, {"batch": 2, "h": 16, "w": 8}),
]  # fmt: skip


def _groups(x: Tensor) -> Tensor:
    b, c, h, w = (int(size) for size in x.shape)
    parts = x.reshape(b, 2, -1)
    return ((parts - parts.mean(2, keepdim=True)) / (1 + parts.var(2, keepdim=True))).reshape(b, c, h, w)


def _decoder(x: Tensor, memory: Tensor) -> Tensor:
    length, batch, _ = (int(size) for size in memory.shape)
    k = memory.reshape(length, batch * 2, 4).transpose(0, 1)
    q = x.reshape(x.shape[0], x.shape[1] * 2, 4).transpose(0, 1)
    return torch.softmax(q @ k.transpose(1, 2), -1) @ k


def _scatter(x: Tensor) -> Tensor:
    sums = torch.zeros(int(x.shape[0]), int(x.shape[1]))
    index = torch.zeros_like(x, dtype=torch.long)
    return x + sums.scatter_add(1, index, x)


def _spectrum(x: Tensor) -> Tensor:
    frames = torch.stack([x[:, start : start + 8] for start in range(0, 24, 4)], 1)
    return frames.reshape(int(x.shape[0]), 6, 8) * torch.ones(8)


def _fold(x: Tensor) -> Tensor:
    steps = int(x.shape[2])
    return F.fold(x, (1, (steps - 1) * 2 + 4), (1, 4), stride=(1, 2))


class _Causal(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.ones(16, 16).tril().bool())

    def forward(self, x: Tensor) -> Tensor:
        seq = x.shape[1]
        scores = x @ x.transpose(1, 2)
        return torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -1e4), -1) @ x


class _Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table(torch.arange(x.shape[1]))


class _Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(256, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.flatten(2))


MODULES = [
    Module("groups by integers", "github.com/pytorch/pytorch/issues/35457", _groups, PICTURE, {"x": IMAGE},
           {"batch": 3, "h": 16, "w": 16}),
    Module("a memory viewed by integers", "github.com/microsoft/onnxruntime/issues/8910", _decoder,
           {"x": (3, 2, 8), "memory": (10, 2, 8)}, {"x": LENGTH_FIRST["x"], "memory": {0: "source", 1: "batch"}},
           of(2, 3) | {"source": 5}),
    Module("parts by integers", "github.com/pytorch/vision/issues/2994", lambda x: x.split([5, 7], 1)[0] + 1, X,
           {"x": TEXT}, of(2, 10)),
    Module("sums scattered over zeros of the example", "github.com/pytorch/pytorch/issues/26472", _scatter,
           {"x": (2, 12)}, {"x": TEXT}, of(2, 7)),
    Module("a table of distances", "github.com/pytorch/pytorch/issues/122321",
           lambda x: torch.einsum("bqd,qkd->bqk", x, torch.full((int(x.shape[1]), int(x.shape[1]), 8), 0.5)), X,
           {"x": TEXT}, of(2, 7)),
    Module("frames of a spectrum by integers", "github.com/pytorch/pytorch/issues/148687", _spectrum, {"x": (2, 28)},
           {"x": TEXT}, of(3, 28)),
    Module("steps folded by integers", "github.com/lucadellalib/focalcodec/issues/9", _fold, {"x": (2, 12, 7)},
           {"x": {0: "batch", 2: "steps"}}, {"batch": 2, "steps": 9}),
]  # fmt: skip
DYNAMO = [
    Module("a reflection longer than the sound", "github.com/microsoft/onnxruntime/issues/8265",
           lambda x: F.pad(x, (6, 6), mode="reflect"), {"x": (2, 8, 12)}, {"x": {0: "batch", 2: "seq"}}, of(2, 4)),
    Module("a triangular mask, sliced", "github.com/pytorch/pytorch/issues/172903", _Causal(), X, {"x": TEXT},
           of(2, 40)),
    Module("a mean over four steps", "github.com/k2-fsa/icefall/pull/1108",
           lambda x: x.reshape(x.shape[0], x.shape[1] // 4, 4, 8).mean(2), X, {"x": TEXT}, of(2, 13)),
    Module("positions of an embedding", "github.com/espnet/espnet_onnx/issues/50", _Embedded(), X, {"x": TEXT},
           of(2, 40)),
    Module("a layer over the map", "github.com/pytorch/pytorch/issues/75383", _Layer(), PICTURE, {"x": IMAGE},
           {"batch": 2, "h": 24, "w": 16}),
    Module("chosen steps", "github.com/microsoft/onnxruntime/issues/1811",
           lambda x: x[:, torch.tensor([0, 5, 11])].sum(1), X, {"x": TEXT}, of(2, 7)),
]  # fmt: skip
