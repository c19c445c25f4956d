"""Correct models with free sizes, each of which runs at several sizes. The check must report no error in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .graphs import Constants, Sizes
from .modules import IMAGE, TEXT, Axes


class RightGraph(NamedTuple):
    """A correct graph, and two sets of sizes at which it runs."""

    name: str
    graph: str
    constants: Constants
    runs: tuple[Sizes, Sizes]


class RightModule(NamedTuple):
    """A module whose export is correct, and two sets of sizes at which it runs."""

    name: str
    make: Callable[[], Callable[..., Any]]
    inputs: dict[str, tuple[int, ...]]
    axes: Axes | dict[str, list[int]]
    runs: tuple[Sizes, Sizes]


_CACHE = """(float[batch,4,seq,8] q, float[batch,4,seq,8] k, float[batch,4,past,8] pk, float[batch,1,seq,{total}] m)
    => (float[a,4,b,c] y) {{kk = Concat<axis = 2>(pk, k) kt = Transpose<perm = [0,1,3,2]>(kk) s = MatMul(q, kt)
    y = Add(s, m)}}"""
_TWO = "(float[{0},{1},8] x, float[{2},{3},8] z) => (float[a,b,8] y) {{y = Add(x, z)}}"
_UNET = """(float[n,4,h,w] x) => (float[a,4,b,c] y) {
    d1 = MaxPool<kernel_shape = [2,2], strides = [2,2]>(x) d2 = MaxPool<kernel_shape = [2,2], strides = [2,2]>(d1)
    d3 = MaxPool<kernel_shape = [2,2], strides = [2,2]>(d2)
    u2 = ConvTranspose<kernel_shape = [2,2], strides = [2,2]>(d3, k) s2 = Add(u2, d2)
    u1 = ConvTranspose<kernel_shape = [2,2], strides = [2,2]>(s2, k) s1 = Add(u1, d1)
    u0 = ConvTranspose<kernel_shape = [2,2], strides = [2,2]>(s1, k) y = Add(u0, x)}"""

GRAPHS = [
    RightGraph("a decoder with a cache, its mask a sum", _CACHE.format(total="past_plus_seq"), {},
               ({"batch": 2, "seq": 3, "past": 5}, {"batch": 3, "seq": 1, "past": 8})),
    RightGraph("a decoder with a cache, its mask a name", _CACHE.format(total="total"), {},
               ({"batch": 2, "seq": 3, "past": 5, "total": 8}, {"batch": 3, "seq": 1, "past": 8, "total": 9})),
    RightGraph("two inputs of an exporter", _TWO.format(*(f"{name}_dynamic_axes_{axis}" for name in "xz" for axis
    in (1, 2))),
               {}, ({"x_dynamic_axes_1": 2, "x_dynamic_axes_2": 3, "z_dynamic_axes_1": 2, "z_dynamic_axes_2": 3},
                    {"x_dynamic_axes_1": 4, "x_dynamic_axes_2": 5, "z_dynamic_axes_1": 4, "z_dynamic_axes_2": 5})),
    RightGraph("two inputs of symbols", _TWO.format("s17", "s43", "s62", "s77"), {},
               ({"s17": 2, "s43": 3, "s62": 2, "s77": 3}, {"s17": 4, "s43": 5, "s62": 4, "s77": 5})),
    RightGraph("two inputs of tf2onnx", _TWO.format("unk__23", "unk__24", "unk__25", "unk__26"), {},
               ({"unk__23": 2, "unk__24": 3, "unk__25": 2, "unk__26": 3},
                {"unk__23": 4, "unk__24": 5, "unk__25": 4, "unk__26": 5})),
    RightGraph("strides of eight", _UNET, {"k": (4, 4, 2, 2)},
               ({"n": 1, "h": 16, "w": 24}, {"n": 2, "h": 8, "w": 32})),
    RightGraph("windows of seven", "(float[n,h,w,4] x) => (float[a,b,c,4] y) {r = Reshape(x, to) "
               "m = ReduceMean<keepdims = 1>(r, axes) s = Sub(r, m) y = Reshape(s, back)}",
               {"to": [0, 0, -1, 7, 4], "axes": [3], "back": [0, 0, -1, 4]},
               ({"n": 1, "h": 3, "w": 14}, {"n": 2, "h": 5, "w": 21})),
    RightGraph("two names of one batch that are an exporter's", "(float[x_dynamic_axes_1,8] x, float[unk__1,1] z) => "
               "(float[a,8] y) {y = Mul(x, z)}", {},
               ({"x_dynamic_axes_1": 2, "unk__1": 2}, {"x_dynamic_axes_1": 3, "unk__1": 3})),
    RightGraph("pairs of what is named once", "(float[batch,seq] m) => (float[a,1,b,c] y) {u = Unsqueeze(m, one) "
               "v = Unsqueeze(m, two) p = Mul(u, v) y = Unsqueeze(p, one)}", {"one": [1], "two": [2]},
               ({"batch": 2, "seq": 3}, {"batch": 3, "seq": 7})),
    RightGraph("at most 512 positions", "(float[batch,seq,8] x) => (float[a,b,8] y) {s = Shape<start = 1, end = 2>(x) "
               "p = Slice(pos, zero, s, one) y = Add(x, p)}", {"pos": (1, 128, 8), "zero": [0], "one": [1]},
               ({"batch": 2, "seq": 3}, {"batch": 3, "seq": 77})),
]  # fmt: skip


class UNet(nn.Module):
    """Return a network with two steps down and two up, with skip connections."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)])
        self.middle = nn.Conv2d(8, 8, 3, padding=1)
        self.grow = nn.ModuleList([nn.ConvTranspose2d(8, 8, 2, 2), nn.ConvTranspose2d(4, 4, 2, 2)])
        self.up = nn.ModuleList([nn.Conv2d(16, 4, 3, padding=1), nn.Conv2d(8, 3, 3, padding=1)])

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for layer in self.down:
            x = layer(x).relu()
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for grow, layer in zip(self.grow, self.up, strict=True):
            x = layer(torch.cat((grow(x), kept.pop()), 1))
        return x


class Pyramid(nn.Module):
    """Return a feature pyramid: each level adds the upsampled coarser level to its own map."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 2, 1)])

    def forward(self, x: Tensor) -> Tensor:
        maps = []
        for layer in self.down:
            x = layer(x)
            maps.append(x)
        for other in maps[-2::-1]:
            x = F.interpolate(x, size=other.shape[2:]) + other
        return x


class Windows(nn.Module):
    """Return attention in shifted windows of four by four, with padding."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        b, c, h, w = x.shape
        padded = F.pad(x, (0, (-w) % 4, 0, (-h) % 4))
        hh, ww = padded.shape[2], padded.shape[3]
        parts = padded.roll((-2, -2), (2, 3)).reshape(b, c, hh // 4, 4, ww // 4, 4).permute(0, 2, 4, 3, 5, 1)
        parts = self.mix(parts.reshape(-1, 16, c))
        parts = torch.softmax(parts @ parts.transpose(1, 2), -1) @ parts
        whole = parts.reshape(b, hh // 4, ww // 4, 4, 4, c).permute(0, 5, 1, 3, 2, 4).reshape(b, c, hh, ww)
        return whole.roll((2, 2), (2, 3))[:, :, :h, :w] + x


class Attention(nn.Module):
    """Return causal attention over a cache and new tokens, with positions."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Embedding(512, 8)
        self.mix = nn.Linear(8, 24)

    def forward(self, x: Tensor, past: Tensor) -> Tensor:
        start, seq = past.shape[1], x.shape[1]
        at = torch.arange(start, start + seq)
        q, k, v = self.mix(x + self.positions(at)).chunk(3, -1)
        k = torch.cat((past, k), 1)
        scores = q @ k.transpose(1, 2)
        scores = scores.masked_fill(torch.arange(start + seq)[None] > at[:, None], -1e4)
        return torch.softmax(scores, -1) @ torch.cat((past, v), 1)


class Encoder(nn.Module):
    """Return two layers of torch's encoder with a padding mask."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(8, 8)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        b, s, d = x.shape
        q = self.mix(x).reshape(b, s, 2, 4).transpose(1, 2)
        scores = q @ q.transpose(2, 3) + mask[:, None, None]
        mixed: Tensor = (torch.softmax(scores, -1) @ q).transpose(1, 2).reshape(b, s, d) + x
        return mixed


class Recurrent(nn.Module):
    """Return an LSTM whose first state is zeros for the current batch."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(8, 6, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.cell(x)[0]
        return result.mean(1, keepdim=True) + result


def _vision(name: str, **options: Any) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        import torchvision

        return torchvision.models.get_model(name, weights=None, **options)  # type: ignore[no-any-return]

    return make


def _timm(name: str, **options: Any) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        import timm

        return timm.create_model(name, pretrained=False, **options)  # type: ignore[no-any-return]

    return make


def _segmenter() -> nn.Module:
    import torchvision

    whole = torchvision.models.get_model("lraspp_mobilenet_v3_large", weights=None, weights_backbone=None)

    class Masks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            masks: Tensor = whole(x)["out"]
            return masks

    masks = Masks()
    masks.whole = whole
    return masks


def _image(batch: int, h: int, w: int) -> Sizes:
    return {"batch": batch, "h": h, "w": w}


_PICTURE = {"x": (2, 3, 64, 64)}
_FREE: Axes = {"x": IMAGE}
_ANY = (_image(1, 96, 64), _image(3, 64, 128))
_ODD = (_image(1, 37, 50), _image(3, 64, 33))
_BATCH: Axes = {"x": {0: "batch"}}
_BATCHES: tuple[Sizes, Sizes] = ({"batch": 1}, {"batch": 3})

MODULES = [
    RightModule("unet", UNet, _PICTURE, _FREE, _ANY),
    RightModule("unet, axes without names", UNet, _PICTURE, {"x": [0, 2, 3]},
                ({"x_dynamic_axes_1": 1, "x_dynamic_axes_2": 32, "x_dynamic_axes_3": 64},
                 {"x_dynamic_axes_1": 3, "x_dynamic_axes_2": 64, "x_dynamic_axes_3": 32})),
    RightModule("pyramid", Pyramid, _PICTURE, _FREE, _ODD),
    RightModule("windows", Windows, _PICTURE, _FREE, _ODD),
    RightModule("cache", Attention, {"x": (2, 5, 8), "past": (2, 7, 8)},
                {"x": TEXT, "past": {0: "batch", 1: "past_sequence_length"}},
                ({"batch": 1, "seq": 1, "past_sequence_length": 4}, {"batch": 3, "seq": 6, "past_sequence_length": 3})),
    RightModule("encoder", Encoder, {"x": (2, 12, 8), "mask": (2, 12)}, {"x": TEXT, "mask": TEXT},
                ({"batch": 1, "seq": 5}, {"batch": 3, "seq": 20})),
    RightModule("encoder, axes without names", Encoder, {"x": (2, 12, 8), "mask": (2, 12)}, {"x": [0, 1], "mask":
    [0, 1]},
                ({"x_dynamic_axes_1": 1, "x_dynamic_axes_2": 5, "mask_dynamic_axes_1": 1, "mask_dynamic_axes_2": 5},
                 {"x_dynamic_axes_1": 3, "x_dynamic_axes_2": 9, "mask_dynamic_axes_1": 3, "mask_dynamic_axes_2": 9})),
    RightModule("recurrent", Recurrent, {"x": (2, 12, 8)}, {"x": TEXT}, ({"batch": 1, "seq": 5}, {"batch": 3,
    "seq": 9})),
    RightModule("resnet18", _vision("resnet18"), _PICTURE, _FREE, _ANY),
    RightModule("mobilenet_v3_small", _vision("mobilenet_v3_small"), _PICTURE, _FREE, _ANY),
    RightModule("efficientnet_b0", _vision("efficientnet_b0"), _PICTURE, _FREE, _ANY),
    RightModule("shufflenet", _vision("shufflenet_v2_x0_5"), _PICTURE, _FREE, _ANY),
    RightModule("densenet121", _vision("densenet121"), _PICTURE, _FREE, _ANY),
    RightModule("swin_t", _vision("swin_t"), _PICTURE, _FREE, _ANY),
    RightModule("squeezenet", _vision("squeezenet1_1"), _PICTURE, _FREE, _ANY),
    RightModule("lraspp", _segmenter, _PICTURE, _FREE, _ANY),
    RightModule("convnext_atto", _timm("convnext_atto"), _PICTURE, _FREE, _ANY),
    RightModule("vit_tiny", _timm("vit_tiny_patch16_224", img_size=64), _PICTURE, _BATCH, _BATCHES),
    RightModule("swin_tiny", _timm("swin_tiny_patch4_window7_224", img_size=56), {"x": (2, 3, 56, 56)}, _BATCH,
    _BATCHES),
    RightModule("mixer", _timm("mixer_s32_224", img_size=64), _PICTURE, _BATCH, _BATCHES),
    RightModule("edgenext", _timm("edgenext_xx_small"), _PICTURE, _BATCH, _BATCHES),
    RightModule("maxvit", _timm("maxvit_rmlp_pico_rw_256", img_size=64), _PICTURE, _BATCH, _BATCHES),
    RightModule("hrnet", _timm("hrnet_w18_small"), _PICTURE, _FREE, _ANY),
    RightModule("pvt", _timm("pvt_v2_b0"), _PICTURE, _FREE, _ANY),
]  # fmt: skip


def _transformer(name: str, **options: Any) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        import transformers

        whole = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**options))
        inner = whole.encoder if name == "Whisper" else whole

        class First(nn.Module):
            """Return the first output of the model."""

            def forward(self, x: Tensor) -> Tensor:
                first: Tensor = inner(x, return_dict=True)[0]
                return first

        module = First()
        module.inner = inner
        return module

    return make


_SMALL: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 32,
    "patch_size": 8,
}  # fmt: skip
_WHISPER: dict[str, Any] = {
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 100, "max_source_positions": 50, "pad_token_id": 0,
}  # fmt: skip
_OPTIMUM: Axes = {"x": {0: "batch_size", 2: "height", 3: "width"}}
_FIXED: tuple[Sizes, Sizes] = (
    {"batch_size": 1, "height": 32, "width": 32}, {"batch_size": 3, "height": 32, "width": 32},
)  # fmt: skip

NEEDLESS = [
    *(RightModule(name, _transformer(name, **_SMALL), {"x": (2, 3, 32, 32)}, _OPTIMUM, _FIXED)
      for name in ("ViT", "DeiT", "CLIPVision", "SiglipVision", "ViTMAE")),
    RightModule("Whisper", _transformer("Whisper", **_WHISPER), {"x": (2, 80, 100)},
                {"x": {0: "batch_size", 2: "encoder_sequence_length"}},
                ({"batch_size": 1, "encoder_sequence_length": 100}, {"batch_size": 3, "encoder_sequence_length": 100})),
]  # fmt: skip
"""Models for one image size or length, whose axes are still declared free, as optimum does (exporters/onnx)."""
