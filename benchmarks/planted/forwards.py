"""The forwards of the modules in modules.py, which read sizes of tensors as integers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def seeded(*shape: int) -> Tensor:
    return torch.full(shape, 0.5)


def heads(x: Tensor) -> Tensor:
    batch, seq = int(x.shape[0]), int(x.shape[1])
    q = x.view(batch, seq, 2, 4).transpose(1, 2)
    attended = torch.softmax(q @ q.transpose(2, 3), -1) @ q
    return attended.transpose(1, 2).reshape(batch, seq, 8) + x


def window_reverse(x: Tensor) -> Tensor:
    b, c, h, w = (int(size) for size in x.shape)
    windows = x.reshape(-1, c, h // 4, 4, w // 4, 4).permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, c)
    batch = int(windows.shape[0] / (h * w / 16))
    return windows.view(batch, h // 4, w // 4, 4, 4, c).permute(0, 5, 1, 3, 2, 4).reshape(b, c, h, w) + x


def shifted_windows(x: Tensor) -> Tensor:
    b, c, h, w = x.shape
    mask = torch.zeros(1, int(h), int(w), 1)
    mask[:, -4:] = 1
    parts = x.permute(0, 2, 3, 1).reshape(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5)
    of_mask = mask.reshape(1, int(h) // 4, 4, int(w) // 4, 4, 1).permute(0, 1, 3, 2, 4, 5)
    return parts + of_mask


def proposals(x: Tensor) -> Tensor:
    batch, seq, _ = x.shape
    valid = torch.tensor([[float(seq), float(seq)] for _ in range(batch)]).view(int(batch), 1, 2)
    return x[..., :2] / valid


def grid(x: Tensor) -> Tensor:
    b, _, h, w = x.shape
    ys, xs = torch.meshgrid(torch.arange(int(h)), torch.arange(int(w)), indexing="ij")
    return x.view(b, 4, 2, h, w).permute(0, 1, 3, 4, 2) + torch.stack((xs, ys), -1).float()


def padded(x: Tensor) -> Tensor:
    seq = int(x.shape[1])
    more = math.ceil(seq / 16) * 16 - seq
    return F.pad(x, (0, 0, 0, more)).reshape(int(x.shape[0]), -1, 16, 8).mean(2)


def relative(x: Tensor) -> Tensor:
    seq = int(x.shape[1])
    offsets = torch.arange(seq)[:, None] - torch.arange(seq)[None]
    bias = seeded(2 * 64, 1)[offsets + 64, 0]
    return torch.softmax(x @ x.transpose(1, 2) + bias, -1) @ x


def unfolded(x: Tensor) -> Tensor:
    return torch.stack([x[:, start : start + 8] for start in range(0, int(x.shape[1]) - 7, 4)]).mean(0)


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(8, 6, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros(1, int(x.shape[0]), 6)
        result: Tensor = self.cell(x, (state, state))[0]
        return result


def cell(x: Tensor) -> Tensor:
    state = torch.zeros(int(x.shape[0]), 8)
    for step in range(3):
        state = torch.tanh(x[:, step] @ seeded(8, 8) + state @ seeded(8, 8))
    return state


def rope(x: Tensor) -> Tensor:
    seq = int(x.shape[1])
    angles = torch.arange(seq)[:, None] / 100.0 ** (torch.arange(4) / 4)
    return torch.cat((x[..., :4] * angles.cos() - x[..., 4:] * angles.sin(), x[..., 4:]), -1)


def cached(x: Tensor, past: Tensor) -> Tensor:
    keys = torch.cat((past, x), 1)
    total = int(past.shape[1]) + int(x.shape[1])
    mask = torch.ones(int(x.shape[1]), total).tril(int(past.shape[1]))
    return (x @ keys.transpose(1, 2)).masked_fill(mask == 0, -1e4)


def pyramid(x: Tensor) -> Tensor:
    small = F.max_pool2d(x, 2)
    return F.interpolate(small, size=(int(x.shape[2]), int(x.shape[3]))) + x


def positions_of_patches(x: Tensor) -> Tensor:
    patches = F.conv2d(x, seeded(8, 8, 4, 4), stride=4).flatten(2).transpose(1, 2)
    side = int(math.sqrt(patches.shape[1]))
    grown = F.interpolate(seeded(1, 8, 4, 4), size=(side, side)).flatten(2).transpose(1, 2)
    return patches + grown


def tokens_to_map(x: Tensor) -> Tensor:
    patches = F.conv2d(x, seeded(8, 8, 4, 4), stride=4).flatten(2).transpose(1, 2)
    side = int(math.sqrt(patches.shape[1]))
    return patches.transpose(1, 2).reshape(-1, 8, side, side) * 2


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(int(x.shape[1]))
        result: Tensor = self.layer(x, src_mask=mask)
        return result
