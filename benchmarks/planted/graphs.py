"""Graphs from reported bugs: the inputs have free sizes, and a constant has the size of the example.

Each entry has a name, the report of the bug, the graph, its constants (a tuple is the shape of a weight, a list or a
number is integers), the sizes of the example at which it runs, and other sizes at which it fails.
"""

from __future__ import annotations

from typing import NamedTuple

Constants = dict[str, "tuple[int, ...] | list[int] | int"]
Sizes = dict[str, int]


class Graph(NamedTuple):
    """A graph with a bug."""

    name: str
    source: str
    """The thread in which the bug was reported."""
    graph: str
    constants: Constants
    example: Sizes
    """Sizes at which the model runs, or empty if such sizes are unknown."""
    fails: Sizes


def _of(batch: int, seq: int) -> Sizes:
    return {"batch": batch, "seq": seq}


GRAPHS = [
    Graph("positions", "github.com/k2-fsa/sherpa-onnx/issues/979",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {h = Relu(x) y = Add(h, pos)}",
          {"pos": (1, 12, 8)}, _of(2, 12), _of(3, 13)),
    Graph("positions of another length, sliced", "github.com/istupakov/onnx-asr/issues/131",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {p = Slice(pos, from, to, axis) y = Add(x, p)}",
          {"pos": (1, 512, 8), "from": [0], "to": [12], "axis": [1]}, _of(2, 12), _of(3, 13)),
    Graph("a class token for the batch of the example", "github.com/open-mmlab/mmdetection/pull/5168",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {c = Expand(cls, to) y = Concat<axis = 1>(c, x)}",
          {"cls": (1, 1, 8), "to": [2, 1, 8]}, _of(2, 12), _of(3, 13)),
    Graph("queries tiled for the batch of the example", "github.com/roboflow/rf-detr/issues/949",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {q = Tile(queries, counts) m = ReduceMean<keepdims = 1>(x, axis) "
          "y = Add(q, m)}",
          {"queries": (1, 6, 8), "counts": [8, 1, 1], "axis": [1]}, _of(8, 5), _of(3, 5)),
    Graph("proposals reshaped for the batch of the example", "github.com/roboflow/rf-detr/pull/950",
          "(float[batch,2] valid, float[batch,seq,2] grid) => (float[a,b,2] y) {v = Reshape(valid, to) y = "
          "Div(grid, v)}",
          {"to": [8, 1, 2]}, _of(8, 5), _of(3, 5)),
    Graph("an initial state for the batch of the example", "github.com/microsoft/onnxruntime/issues/19270",
          "(float[seq,batch,4] x) => (float[s,1,b,6] y) {y, h = GRU<hidden_size = 6>(x, w, r, , , h0)}",
          {"w": (1, 18, 4), "r": (1, 18, 6), "h0": (1, 2, 6)}, _of(2, 12), _of(3, 13)),
    Graph("a state of zeros for the batch of the example", "github.com/onnx/onnx/issues/3182",
          "(float[batch,6] x) => (float[a,6] y) {z = ConstantOfShape(to) t = MatMul(z, w) y = Add(x, t)}",
          {"to": [2, 4], "w": (4, 6)}, {"batch": 2}, {"batch": 3}),
    Graph("attention reshaped for the batch of the example", "github.com/pytorch/pytorch/issues/99701",
          "(float[seq,batch,8] x) => (float[s,b,8] y) {h = Reshape(x, heads) t = Transpose<perm = [1,0,2]>(h) "
          "u = Transpose<perm = [1,0,2]>(t) v = Reshape(u, back) y = Add(v, x)}",
          {"heads": [0, 8, 2], "back": [-1, 2, 8]}, _of(2, 12), _of(3, 13)),
    Graph("a causal mask of the example", "github.com/pytorch/pytorch/issues/117209",
          "(float[batch,4,seq,seq] s, float zero) => (float[a,4,b,c] y) {y = Where(mask, s, zero)}",
          {"mask": (1, 1, 12, 12)}, _of(2, 12), _of(3, 13)),
    Graph("a mask of the batch where the heads are", "github.com/wangzhaode/mnn-llm/issues/90",
          "(float[batch,4,seq,seq] s, float[batch,seq,seq] m) => (float[a,4,b,c] y) {y = Add(s, m)}",
          {}, {}, _of(3, 13)),
    Graph("a padding mask with its axis in the wrong place", "github.com/pytorch/pytorch/issues/120075",
          "(float[batch,4,seq,seq] s, float[batch,seq] m) => (float[a,4,b,c] y) {u = Unsqueeze(m, axes) y = Add(s, u)}",
          {"axes": [0, 1]}, _of(12, 12), _of(3, 13)),
    Graph("a mask by positions that forgets the cache", "github.com/huggingface/transformers/issues/13175",
          "(float[batch,4,seq,8] q, float[batch,4,seq,8] k, float[batch,4,past,8] pk, float[batch,1,1,seq] m) "
          "=> (float[a,4,b,c] y) {kk = Concat<axis = 2>(pk, k) kt = Transpose<perm = [0,1,3,2]>(kk) "
          "s = MatMul(q, kt) y = Add(s, m)}",
          {}, {}, _of(3, 13) | {"past": 7}),
    Graph("the cache of the example", "github.com/huggingface/optimum/issues/552",
          "(float[batch,4,seq,8] k, float[batch,1,seq,t] m) => (float[a,4,b,c] y) {kk = Concat<axis = 2>(past, k) "
          "y = Mul(kk, k)}",
          {"past": (2, 4, 16, 8)}, {}, _of(3, 13) | {"t": 29}),
    Graph("a grid of the example", "github.com/ultralytics/yolov5/issues/2558",
          "(float[batch,3,h,w,2] xy) => (float[a,3,b,c,2] y) {s = Sigmoid(xy) y = Add(s, grid)}",
          {"grid": (1, 3, 34, 60, 2)}, {"batch": 2, "h": 34, "w": 60}, {"batch": 1, "h": 20, "w": 20}),
    Graph("anchors of the example", "github.com/open-mmlab/mmdetection/pull/4684",
          "(float[batch,4,h,w] x) => (float[a,b,4] y) {f = Reshape(x, flat) t = Transpose<perm = [0,2,1]>(f) "
          "y = Add(t, anchors)}",
          {"flat": [0, 4, -1], "anchors": (1, 400, 4)}, {"batch": 2, "h": 20, "w": 20}, {"batch": 2, "h": 13, "w": 11}),
    Graph("strides for the anchors of the example", "github.com/neuralmagic/yolov5/pull/6",
          "(float[batch,4,n] boxes) => (float[a,4,b] y) {s = Tile(stride, counts) y = Mul(boxes, s)}",
          {"stride": (1, 1, 1), "counts": [1, 1, 84]}, {"batch": 2, "n": 84}, {"batch": 2, "n": 21}),
    Graph("a position for each patch of the example", "github.com/facebookresearch/dinov2/issues/216",
          "(float[batch,3,h,w] x) => (float[a,b,8] y) {c = Conv<strides = [4,4], kernel_shape = [4,4]>(x, k) "
          "f = Reshape(c, flat) t = Transpose<perm = [0,2,1]>(f) y = Add(t, pos)}",
          {"k": (8, 3, 4, 4), "flat": [0, 8, -1], "pos": (1, 49, 8)}, {"batch": 2, "h": 28, "w": 28},
          {"batch": 2, "h": 44, "w": 52}),
    Graph("patches of the example", "github.com/open-mmlab/mmpretrain/issues/724",
          "(float[batch,3,h,w] x) => (float[a,b,8] y) {c = Conv<strides = [4,4], kernel_shape = [4,4]>(x, k) "
          "f = Reshape(c, flat) y = Transpose<perm = [0,2,1]>(f)}",
          {"k": (8, 3, 4, 4), "flat": [-1, 8, 49]}, {"batch": 2, "h": 28, "w": 28}, {"batch": 2, "h": 44, "w": 52}),
    Graph("windows of the example", "github.com/huggingface/pytorch-image-models/issues/1844",
          "(float[batch,h,w,8] x) => (float[a,b,c,d,e,8] y) {y = Reshape(x, windows)}",
          {"windows": [-1, 4, 7, 3, 7, 8]}, {"batch": 2, "h": 28, "w": 21}, {"batch": 2, "h": 44, "w": 52}),
    Graph("a mask for the windows of the example", "github.com/JingyunLiang/SwinIR/issues/145",
          "(float[batch,h,w,8] x) => (float[a,b,c,8] y) {p = Reshape(x, parts) t = Transpose<perm = [0,1,3,2,4,5]>(p) "
          "f = Reshape(t, flat) y = Add(f, mask)}",
          {"parts": [0, -1, 4, 4, 4, 8], "flat": [0, -1, 16, 8], "mask": (1, 16, 16, 1)},
          {"batch": 2, "h": 16, "w": 16}, {"batch": 2, "h": 32, "w": 16}),
    Graph("a batch divided by the windows of the example", "github.com/tinyvision/SOLIDER/issues/9",
          "(float[batch,h,w,8] x) => (float[a,b,c,8] y) {p = Reshape(x, flat) r = Reshape(p, back) y = Add(r, x)}",
          {"flat": [-1, 16, 8], "back": [2, 16, 16, 8]}, {"batch": 2, "h": 16, "w": 16}, {"batch": 3, "h": 32, "w":
          16}),
    Graph("an upsampled map of the example", "github.com/pytorch/pytorch/issues/84374",
          "(float[batch,8,h,w] x) => (float[a,8,b,c] y) {p = MaxPool<kernel_shape = [2,2], strides = [2,2]>(x) "
          "u = Resize<mode = \"nearest\">(p, , , sizes) y = Add(u, x)}",
          {"sizes": [4, 8, 48, 48]}, {"batch": 4, "h": 48, "w": 48}, {"batch": 3, "h": 16, "w": 26}),
    Graph("coordinates of the example", "github.com/pytorch/pytorch/issues/26127",
          "(float[batch,2,h,w] x) => (float[a,2,b,c] y) {i = Range(zero, width, one) f = Cast<to = 1>(i) y = Add(x, "
          "f)}",
          {"width": 48, "zero": 0, "one": 1}, {"batch": 2, "h": 5, "w": 48}, {"batch": 3, "h": 16, "w": 26}),
    Graph("lengths of the example", "github.com/idiap/coqui-ai-TTS/issues/315",
          "(float[batch,8,t] x, int64[batch,1] n) => (float[a,8,b] y) {l = Less(steps, n) f = Cast<to = 1>(l) "
          "u = Unsqueeze(f, axis) y = Mul(x, u)}",
          {"steps": [*range(20)], "axis": [1]}, {"batch": 2, "t": 20}, {"batch": 3, "t": 31}),
    Graph("a padded length of the example", "github.com/huggingface/diffusers/issues/12843",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {p = Pad(x, pads) r = Reshape(p, to) y = Sub(r, p)}",
          {"pads": [0, 0, 0, 0, 4, 0], "to": [0, 16, 8]}, _of(2, 12), _of(3, 13)),
    Graph("a downsampled length of the example", "github.com/k2-fsa/icefall/pull/1108",
          "(float[seq,batch,8] x) => (float[a,b,8] y) {r = Reshape(x, to) m = ReduceMean<keepdims = 0>(r, axis) "
          "y = Add(m, half)}",
          {"to": [6, 2, -1, 8], "axis": [1], "half": (6, 1, 8)}, _of(2, 12), _of(3, 13)),
    Graph("windows of a spectrum", "github.com/ailia-ai/ailia-models/pull/1894",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {f = Slice(x, a0, b0, axis) g = Slice(x, a1, b1, axis) "
          "y = Add(f, g)}",
          {"a0": [0], "b0": [8], "a1": [4], "b1": [12], "axis": [1]}, _of(2, 12), _of(3, 10)),
    Graph("a rotary cache of the example", "github.com/TattaBio/gLM2/pull/3",
          "(float[batch,4,seq,8] q) => (float[a,4,b,8] y) {c = Slice(cos, from, to, axis) y = Mul(q, c)}",
          {"cos": (64, 8), "from": [0], "to": [12], "axis": [0]}, _of(2, 12), _of(3, 13)),
    Graph("beams that were not repeated", "github.com/huggingface/transformers/issues/8155",
          "(float[batch,4,seq,8] k, float[beams,4,seq,8] q) => (float[a,4,b,8] y) {y = Mul(q, k)}",
          {}, {}, {"batch": 2, "beams": 3, "seq": 5}),
    Graph("text features of one image", "github.com/ultralytics/ultralytics/issues/13048",
          "(float[batch,32,n] x) => (float[a,4,b,c] y) {t = Reshape(text, to) k = Reshape(x, to) "
          "kt = Transpose<perm = [0,2,3,1]>(k) q = Transpose<perm = [0,2,1,3]>(t) y = MatMul(q, kt)}",
          {"text": (2, 80, 32), "to": [0, -1, 4, 8]}, {"batch": 2, "n": 12}, {"batch": 3, "n": 12}),
    Graph("a decoder of formulas", "github.com/onnx/tensorflow-onnx/issues/1862",
          "(float[unk__0,unk__1,8] x) => (float[a,b,8] y) {m = MatMul(x, w) y = Add(m, pos)}",
          {"w": (8, 8), "pos": (9, 8)}, {"unk__0": 2, "unk__1": 9}, {"unk__0": 2, "unk__1": 505}),
    Graph("features of one batch joined", "github.com/onnx/tensorflow-onnx/issues/784",
          "(float[unk__0,8] x) => (float[a,b] y) {t = Tile(bias, counts) y = Concat<axis = 1>(x, t)}",
          {"bias": (1, 4), "counts": [2, 1]}, {"unk__0": 2}, {"unk__0": 5}),
    Graph("height and width exchanged", "github.com/onnx/onnx/issues/5134",
          "(float[batch,8,h,w] x) => (float[a,16,b,c] y) {t = Transpose<perm = [0,1,3,2]>(x) "
          "y = Concat<axis = 1>(x, t)}",
          {}, {"batch": 1, "h": 64, "w": 64}, {"batch": 1, "h": 64, "w": 48}),
    Graph("the length where the batch is", "github.com/pytorch/pytorch/issues/153955",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {s = Shape(x) n = Gather(s, one) e = Unsqueeze(n, axis) "
          "to = Concat<axis = 0>(e, n1, eight) z = Expand(token, to) y = Add(x, z)}",
          {"one": 1, "axis": [0], "n1": [1], "eight": [8], "token": (1, 1, 8)}, _of(12, 12), _of(3, 13)),
    Graph("channels where the length is", "github.com/pytorch/pytorch/issues/61345",
          "(float[batch,3,h,w] x) => (float[a,3,b,c] y) {u = Unsqueeze(mean, axes) y = Sub(x, u)}",
          {"mean": (3,), "axes": [0, 1]}, {"batch": 1, "h": 9, "w": 3}, {"batch": 1, "h": 9, "w": 224}),
    Graph("a loop whose state is of the example", "github.com/microsoft/onnxruntime/issues/8685",
          "(float[batch,8] x, int64 n, bool go) => (float[a,8] y) {y = Loop(n, go, zeros) <body = b "
          "(int64 i, bool c, float[2,8] s) => (bool k, float[2,8] t) {k = Identity(c) t = Add(s, x)}>}",
          {"zeros": (2, 8)}, {"batch": 2}, {"batch": 3}),
    Graph("a branch for the batch of the example", "github.com/huggingface/optimum/issues/1913",
          "(float[batch,8] x, bool first) => (float[a,8] y) {y = If(first) <then_branch = t () => (float[p,8] u) "
          "{u = Add(x, state)}, else_branch = e () => (float[q,8] v) {v = Mul(x, state)}>}",
          {"state": (2, 8)}, {"batch": 2}, {"batch": 3}),
    Graph("noise of the example", "github.com/microsoft/onnxruntime/issues/12595",
          "(float[batch,frames,8] x) => (float[a,b,8] y) {n = RandomNormal<shape = [1,96,8]>() y = Add(x, n)}",
          {}, {"batch": 2, "frames": 96}, {"batch": 1, "frames": 50}),
    Graph("durations of another length", "github.com/microsoft/onnxruntime/issues/10657",
          "(float[batch,phonemes] x) => (float[a,b] y) {m = ReduceSum<keepdims = 0>(x, axis) y = Mul(x, m)}",
          {"axis": [1]}, {"batch": 5, "phonemes": 5}, {"batch": 3, "phonemes": 7}),
    Graph("a window around a token", "github.com/microsoft/onnxruntime/issues/7888",
          "(float[batch,4,seq,seq] s, float zero) => (float[a,4,b,c] y) {m = Slice(mask, from, to, axes) "
          "y = Where(m, s, zero)}",
          {"mask": (1, 1, 64, 64), "from": [0, 0], "to": [15, 15], "axes": [2, 3]}, _of(2, 15), _of(2, 64)),
    Graph("a relative shift of the example", "github.com/espnet/espnet_onnx/issues/88",
          "(float[batch,4,seq,seq] s, float[batch,4,seq,p] r) => (float[a,4,b,c] y) {q = Slice(r, from, to, axis) "
          "y = Add(s, q)}",
          {"from": [0], "to": [21], "axis": [3]}, _of(2, 21) | {"p": 41}, _of(2, 42) | {"p": 83}),
    Graph("a table of position buckets", "github.com/microsoft/onnxruntime/issues/1811",
          "(float[batch,18,w] x) => (float[a,18,b] y) {g = Gather<axis = 1>(table, index) y = Add(x, g)}",
          {"table": (18, 40), "index": [*range(17)]}, {"batch": 2, "w": 17}, {"batch": 2, "w": 18}),
    Graph("scales split for the example", "github.com/onnx/onnx/issues/5578",
          "(float[batch,n,8] x) => (float[a,b,8] y) {u, v = Split<axis = 1>(x, parts) y = Concat<axis = 1>(v, u)}",
          {"parts": [5, 7]}, {"batch": 2, "n": 12}, {"batch": 2, "n": 13}),
    Graph("heads split after the wrong axis", "github.com/NVlabs/GR00T-WholeBodyControl/issues/111",
          "(float[batch,seq,8] x) => (float[a,b,8] y) {r = Reshape(x, to) m = ReduceMax<keepdims = 0>(r, axis) "
          "f = Reshape(m, back) y = Add(x, f)}",
          {"to": [1, -1, 2, 8], "axis": [2], "back": [1, -1, 8]}, {}, _of(3, 14)),
]  # fmt: skip
"""The bugs in no particular order. Every other one was used to choose rules, and the rest are reported."""
