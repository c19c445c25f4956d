"""Modules with a bug that torch's older exporter freezes: Python's own integers become constants of the graph.

Each entry has a name, the report of the bug, the module's forward, its example inputs, its free axes, and sizes at
which the exported model fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from . import forwards

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


def _module(
    name: str, source: str, forward: Callable[..., Any], inputs: dict[str, tuple[int, ...]], axes: dict[int, str],
    **fails: int,
) -> Module:  # fmt: skip
    return Module(name, source, forward, inputs, dict.fromkeys(inputs, axes), fails)


MODULES = [
    _module(
        "an encoder with a mask of the example",
        "github.com/pytorch/pytorch/issues/122321",
        forwards.Encoder(),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "heads viewed by integers",
        "github.com/pytorch/pytorch/issues/120075",
        forwards.heads,
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "windows put back by integers",
        "github.com/tinyvision/SOLIDER/issues/9",
        forwards.window_reverse,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=48,
    ),
    _module(
        "a mask of shifted windows",
        "github.com/microsoft/Swin-Transformer/issues/301",
        forwards.shifted_windows,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=48,
    ),
    _module(
        "proposals listed for the batch",
        "github.com/roboflow/rf-detr/pull/871",
        forwards.proposals,
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "a meshgrid of integers",
        "github.com/ultralytics/yolov5/pull/2982",
        forwards.grid,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=48,
    ),
    _module(
        "a length padded by integers", "github.com/k2-fsa/icefall/pull/1108", forwards.padded, _X, TEXT, batch=3, seq=29
    ),
    _module(
        "relative positions of integers",
        "github.com/huggingface/optimum/pull/1381",
        forwards.relative,
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "windows counted by integers",
        "github.com/ailia-ai/ailia-models/pull/1894",
        forwards.unfolded,
        {"x": (2, 16, 8)},
        TEXT,
        batch=2,
        seq=9,
    ),
    _module(
        "a state of zeros in an LSTM", "github.com/sonos/tract/pull/286", forwards.Lstm(), _X, TEXT, batch=3, seq=13
    ),
    _module(
        "a state of zeros in a cell",
        "github.com/microsoft/onnxruntime/issues/11085",
        forwards.cell,
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "angles of integers", "github.com/microsoft/onnxruntime/pull/17253", forwards.rope, _X, TEXT, batch=3, seq=13
    ),
    Module(
        "a mask over the cache",
        "github.com/huggingface/optimum/pull/1257",
        forwards.cached,
        {"x": (2, 5, 8), "past": (2, 7, 8)},
        {"x": TEXT, "past": {0: "batch", 1: "past"}},
        {"batch": 3, "seq": 4, "past": 9},
    ),
    _module(
        "a pyramid of integers",
        "github.com/pytorch/pytorch/issues/124884",
        forwards.pyramid,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=48,
    ),
    _module(
        "positions grown by integers",
        "github.com/huggingface/transformers/pull/33226",
        forwards.positions_of_patches,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=16,
    ),
    _module(
        "a map of integers",
        "github.com/open-mmlab/mmsegmentation/pull/685",
        forwards.tokens_to_map,
        _PICTURE,
        IMAGE,
        batch=3,
        h=16,
        w=48,
    ),
    _module(
        "a class token expanded by an integer",
        "github.com/open-mmlab/mmpretrain/issues/724",
        lambda x: torch.cat((forwards.seeded(1, 1, 8).expand(int(x.shape[0]), -1, -1), x), 1),
        _X,
        TEXT,
        batch=3,
        seq=13,
    ),
    _module(
        "queries repeated by an integer",
        "github.com/roboflow/rf-detr/issues/225",
        lambda x: forwards.seeded(1, 5, 8).repeat(int(x.shape[0]), 1, 1) + x.mean(1, keepdim=True),
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
        lambda x: x + forwards.seeded(64, 8)[torch.arange(int(x.shape[1]))],
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
        lambda x: x + F.embedding(torch.zeros(1, int(x.shape[1]), dtype=torch.long), forwards.seeded(3, 8)),
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
