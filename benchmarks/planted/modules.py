"""Modules with a bug that torch's older exporter freezes: Python's own integers become constants of the graph.

Each entry has a name, the report of the bug, the module's forward, its example inputs, its free axes, and sizes at
which the exported model fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Axes = dict[str, dict[int, str]]


class Module(NamedTuple):
    """A module whose export has a bug."""

    name: str
    source: str
    """The thread in which the bug was reported."""
    forward: Callable[..., Any]
    inputs: dict[str, tuple[int, ...]]
    """The shape of each input in the example."""
    axes: Axes
    fails: dict[str, int]
    """Sizes at which the exported model fails."""


TEXT = {0: "batch", 1: "seq"}
IMAGE = {0: "batch", 2: "h", 3: "w"}
_X = {"x": (2, 12, 8)}
_PICTURE = {"x": (2, 8, 32, 32)}


def _seeded(*shape: int) -> Tensor:
    return torch.full(shape, 0.5)


def _heads(x: Tensor) -> Tensor:
    batch, seq = int(x.shape[0]), int(x.shape[1])
    q = x.view(batch, seq, 2, 4).transpose(1, 2)
    attended = torch.softmax(q @ q.transpose(2, 3), -1) @ q
    return attended.transpose(1, 2).reshape(batch, seq, 8) + x


def _window_reverse(x: Tensor) -> Tensor:
    b, c, h, w = (int(size) for size in x.shape)
    windows = x.reshape(-1, c, h // 4, 4, w // 4, 4).permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, c)
    batch = int(windows.shape[0] / (h * w / 16))
    return windows.view(batch, h // 4, w // 4, 4, 4, c).permute(0, 5, 1, 3, 2, 4).reshape(b, c, h, w) + x


def _shifted_windows(x: Tensor) -> Tensor:
    b, c, h, w = x.shape
    mask = torch.zeros(1, int(h), int(w), 1)
    mask[:, -4:] = 1
    parts = x.permute(0, 2, 3, 1).reshape(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5)
    of_mask = mask.reshape(1, int(h) // 4, 4, int(w) // 4, 4, 1).permute(0, 1, 3, 2, 4, 5)
    return parts + of_mask


def _proposals(x: Tensor) -> Tensor:
    batch, seq, _ = x.shape
    valid = torch.tensor([[float(seq), float(seq)] for _ in range(batch)]).view(int(batch), 1, 2)
    return x[..., :2] / valid


def _grid(x: Tensor) -> Tensor:
    b, _, h, w = x.shape
    ys, xs = torch.meshgrid(torch.arange(int(h)), torch.arange(int(w)), indexing="ij")
    return x.view(b, 4, 2, h, w).permute(0, 1, 3, 4, 2) + torch.stack((xs, ys), -1).float()


def _padded(x: Tensor) -> Tensor:
    seq = int(x.shape[1])
    more = math.ceil(seq / 16) * 16 - seq
    return F.pad(x, (0, 0, 0, more)).reshape(int(x.shape[0]), -1, 16, 8).mean(2)


def _relative(x: Tensor) -> Tensor:
    seq = int(x.shape[1])
    offsets = torch.arange(seq)[:, None] - torch.arange(seq)[None]
    bias = _seeded(2 * 64, 1)[offsets + 64, 0]
    return torch.softmax(x @ x.transpose(1, 2) + bias, -1) @ x


def _unfolded(x: Tensor) -> Tensor:
    return torch.stack([x[:, start : start + 8] for start in range(0, int(x.shape[1]) - 7, 4)]).mean(0)


class _Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(8, 6, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros(1, int(x.shape[0]), 6)
        result: Tensor = self.cell(x, (state, state))[0]
        return result


def _cell(x: Tensor) -> Tensor:
    state = torch.zeros(int(x.shape[0]), 8)
    for step in range(3):
        state = torch.tanh(x[:, step] @ _seeded(8, 8) + state @ _seeded(8, 8))
    return state


def _rope(x: Tensor) -> Tensor:
    seq = int(x.shape[1])
    angles = torch.arange(seq)[:, None] / 100.0 ** (torch.arange(4) / 4)
    return torch.cat((x[..., :4] * angles.cos() - x[..., 4:] * angles.sin(), x[..., 4:]), -1)


def _cached(x: Tensor, past: Tensor) -> Tensor:
    keys = torch.cat((past, x), 1)
    total = int(past.shape[1]) + int(x.shape[1])
    mask = torch.ones(int(x.shape[1]), total).tril(int(past.shape[1]))
    return (x @ keys.transpose(1, 2)).masked_fill(mask == 0, -1e4)


def _pyramid(x: Tensor) -> Tensor:
    small = F.max_pool2d(x, 2)
    return F.interpolate(small, size=(int(x.shape[2]), int(x.shape[3]))) + x


def _positions_of_patches(x: Tensor) -> Tensor:
    patches = F.conv2d(x, _seeded(8, 8, 4, 4), stride=4).flatten(2).transpose(1, 2)
    side = int(math.sqrt(patches.shape[1]))
    grown = F.interpolate(_seeded(1, 8, 4, 4), size=(side, side)).flatten(2).transpose(1, 2)
    return patches + grown


def _tokens_to_map(x: Tensor) -> Tensor:
    patches = F.conv2d(x, _seeded(8, 8, 4, 4), stride=4).flatten(2).transpose(1, 2)
    side = int(math.sqrt(patches.shape[1]))
    return patches.transpose(1, 2).reshape(-1, 8, side, side) * 2


class _Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(int(x.shape[1]))
        result: Tensor = self.layer(x, src_mask=mask)
        return result


def _module(
    name: str, source: str, forward: Callable[..., Any], inputs: dict[str, tuple[int, ...]], axes: dict[int, str],
    **fails: int,
) -> Module:  # fmt: skip
    return Module(name, source, forward, inputs, dict.fromkeys(inputs, axes), fails)


MODULES = [
    _module(
        "an encoder with a mask of the example",
        "github.com/pytorch/pytorch/issues/122321",
        _Encoder(),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module("heads viewed by integers", "github.com/pytorch/pytorch/issues/120075", _heads, _X, TEXT, batch=3, seq=13),
    _module(
        "windows put back by integers",
        "github.com/tinyvision/SOLIDER/issues/9",
        _window_reverse,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=48,
    ),
    _module(
        "a mask of shifted windows",
        "github.com/microsoft/Swin-Transformer/issues/301",
        _shifted_windows,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=48,
    ),
    _module(
        "proposals listed for the batch", "github.com/roboflow/rf-detr/pull/871", _proposals, _X, TEXT, batch=3, seq=13
    ),
    _module(
        "a meshgrid of integers", "github.com/ultralytics/yolov5/pull/2982", _grid, _PICTURE, IMAGE, batch=3, h=16, w=48
    ),
    _module("a length padded by integers", "github.com/k2-fsa/icefall/pull/1108", _padded, _X, TEXT, batch=3, seq=29),
    _module(
        "relative positions of integers",
        "github.com/huggingface/optimum/pull/1381",
        _relative,
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "windows counted by integers",
        "github.com/ailia-ai/ailia-models/pull/1894",
        _unfolded,
        {"x": (2, 16, 8)},
        TEXT,
        batch=2,
        seq=9,
    ),
    _module("a state of zeros in an LSTM", "github.com/sonos/tract/pull/286", _Lstm(), _X, TEXT, batch=3, seq=13),
    _module(
        "a state of zeros in a cell", "github.com/microsoft/onnxruntime/issues/11085", _cell, _X, TEXT, batch=3, seq=13
    ),
    _module("angles of integers", "github.com/microsoft/onnxruntime/pull/17253", _rope, _X, TEXT, batch=3, seq=13),
    Module(
        "a mask over the cache",
        "github.com/huggingface/optimum/pull/1257",
        _cached,
        {"x": (2, 5, 8), "past": (2, 7, 8)},
        {"x": TEXT, "past": {0: "batch", 1: "past"}},
        {"batch": 3, "seq": 4, "past": 9},
    ),
    _module(
        "a pyramid of integers",
        "github.com/pytorch/pytorch/issues/124884",
        _pyramid,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=48,
    ),
    _module(
        "positions grown by integers",
        "github.com/huggingface/transformers/pull/33226",
        _positions_of_patches,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=16,
    ),
    _module(
        "a map of integers",
        "github.com/open-mmlab/mmsegmentation/pull/685",
        _tokens_to_map,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=48,
    ),
    _module(
        "a class token expanded by an integer",
        "github.com/open-mmlab/mmpretrain/issues/724",
        lambda x: torch.cat((_seeded(1, 1, 8).expand(int(x.shape[0]), -1, -1), x), 1),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "queries repeated by an integer",
        "github.com/roboflow/rf-detr/issues/225",
        lambda x: _seeded(1, 5, 8).repeat(int(x.shape[0]), 1, 1) + x.mean(1, keepdim=True),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "a flat view of integers",
        "github.com/microsoft/onnxruntime/issues/19280",
        lambda x: x.view(1, int(x.shape[1]), int(x.shape[2]) * int(x.shape[3])).transpose(1, 2),
        {"x": (1, 8, 32, 32)},
        IMAGE,
        batch=2,
        h=16,
        w=48,
    ),
    _module(
        "a head for one image",
        "github.com/RangiLyu/nanodet/pull/255",
        lambda x: x.reshape(1, 8, -1).permute(0, 2, 1) + x.flatten(2).transpose(1, 2)[:, :, :1],
        {"x": (1, 8, 4, 4)},
        IMAGE,
        batch=2,
        h=4,
        w=4,
    ),
    _module(
        "steps between integers",
        "github.com/Comfy-Org/ComfyUI/pull/5490",
        lambda x: x + torch.linspace(0, int(x.shape[2]) - 1, steps=int(x.shape[2]))[:, None],
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=48,
    ),
    _module(
        "learned positions of integers",
        "github.com/microsoft/onnxruntime/issues/1708",
        lambda x: x + _seeded(64, 8)[torch.arange(int(x.shape[1]))],
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "a causal mask of integers",
        "github.com/wangzhaode/mnn-llm/issues/90",
        lambda x: (x @ x.transpose(1, 2)).masked_fill(torch.ones(int(x.shape[1]), int(x.shape[1])).triu(1) == 1, -9),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "halves of integers",
        "github.com/PINTO0309/onnx2tf/issues/751",
        lambda x: x[:, : int(x.shape[1]) // 2] * x[:, int(x.shape[1]) // 2 :],
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "chunks of integers",
        "github.com/pytorch/vision/issues/2309",
        lambda x: torch.cat(x.split([5, int(x.shape[1]) - 5], 1)[::-1], 1),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "noise of integers",
        "github.com/microsoft/onnxruntime/issues/12595",
        lambda x: x + torch.zeros(int(x.shape[0]), int(x.shape[1]), 1),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "lengths compared with integers",
        "github.com/idiap/coqui-ai-TTS/issues/315",
        lambda x: x * (torch.arange(int(x.shape[1])) < 9)[None, :, None],
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "an embedding of segments",
        "github.com/pytorch/pytorch/issues/70110",
        lambda x: x + F.embedding(torch.zeros(1, int(x.shape[1]), dtype=torch.long), _seeded(3, 8)),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "a diagonal of integers",
        "github.com/pytorch/pytorch/issues/127153",
        lambda x: x + torch.eye(int(x.shape[1])) @ x,
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "batches joined by an integer",
        "github.com/open-mmlab/mmdetection/pull/5168",
        lambda x: torch.cat([x, torch.ones(int(x.shape[0]), 1, 8)], 1),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "pairs by integers",
        "github.com/pytorch/pytorch/issues/110148",
        lambda x: x.unsqueeze(1).expand(int(x.shape[0]), int(x.shape[1]), int(x.shape[1]), 8) + x.unsqueeze(2),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "a mean over integers",
        "github.com/linghu8812/tensorrt_inference/issues/54",
        lambda x: x.reshape(int(x.shape[0]), 2, -1, 8).mean(1) + x[:, :6],
        _X,
        TEXT,
        batch=3,
        seq=14,
    ),
]
"""The bugs in no particular order. Every other one was used to choose rules, and the rest are reported."""
