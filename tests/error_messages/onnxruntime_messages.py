"""The messages of ONNX Runtime: see record.py."""

import numpy as np
import onnxruntime
from onnx import parser
from record import Recorder

onnxruntime.set_default_logger_severity(4)


def run(body, *shapes, ir=10, opset=21, **others):
    """Run a graph of these nodes on zeros of these shapes, whose sizes the model leaves open."""
    kinds = {"m": "bool", "i": "int64"}
    inputs = [("xyzuvw"[n], "float", shape) for n, shape in enumerate(shapes)]
    inputs += [(name, kinds[name[0]], np.shape(value)) for name, value in others.items()]
    declared = ", ".join(
        f"{kind}[{', '.join(f'{name}{axis}' for axis in range(len(shape)))}] {name}" for name, kind, shape in inputs
    )
    text = f'<ir_version: {ir}, opset_import: ["": {opset}]> g ({declared}) => (float[] out) {{{body}}}'
    session = onnxruntime.InferenceSession(parser.parse_model(text.replace("[]", "")).SerializeToString())
    feed = {name: np.zeros(shape, np.float32) for name, kind, shape in inputs if kind == "float"}
    session.run(None, feed | {name: np.asarray(value) for name, value in others.items()})


def load(body, *shapes, opset=21):
    """Load a graph of these nodes whose inputs have these shapes in the model."""
    declared = ", ".join(f"float[{', '.join(map(str, shape))}] {'xyzuvw'[n]}" for n, shape in enumerate(shapes))
    text = f'<ir_version: 10, opset_import: ["": {opset}]> g ({declared}) => (float out) {{{body}}}'
    onnxruntime.InferenceSession(parser.parse_model(text).SerializeToString())


def feed(declared, *shapes):
    """Run a model whose first input has a declared shape on an array of each of these shapes."""
    text = f'<ir_version: 10, opset_import: ["": 21]> g (float[{declared}] x) => (float out) {{out = Neg(x)}}'
    session = onnxruntime.InferenceSession(parser.parse_model(text).SerializeToString())
    for shape in shapes:
        session.run(None, {"x": np.zeros(shape, np.float32)})


rec = Recorder("onnxruntime", onnxruntime.__version__, {"run": run, "load": load, "feed": feed, "np": np})
case, other = rec.broadcast, rec.other

case("run('out = Add(x, y)', (3, 4), (5,))", "onnx.Add", (3, 4), (5,))
case("run('[scale] out = Mul(x, y)', (2, 64, 7, 7), (64,))", "onnx.Add", (2, 64, 7, 7), (64,), whole=True)
case("run('out = Sub(x, y)', (2, 3), (3, 2))", "onnx.Add", (2, 3), (3, 2))
case("run('out = Div(x, y)', (8, 1, 6), (7, 2, 5))", "onnx.Add", (8, 1, 6), (7, 2, 5))
case("run('out = Pow(x, y)', (2,), (3,))", "onnx.Add", (2,), (3,))
case("run('out = Add(x, y)', (0, 3), (2, 3))", "onnx.Add", (0, 3), (2, 3))
case("run('out = Max(x, y)', (4, 3), (5, 3))", "onnx.Max", (4, 3), (5, 3))
case("run('out = Min(x, y, z)', (4,), (5,), (1,))", "onnx.Min", (4,), (5,), (1,))
case("run('out = Sum(x, y, z)', (2, 1), (3,), (4, 4))", "onnx.Sum", (2, 1), (3,), (4, 4))
case("run('out = Mean(x, y)', (6, 2), (7, 2))", "onnx.Mean", (6, 2), (7, 2))
case("run('out = PRelu(x, y)', (2, 5, 4), (5,))", "onnx.PRelu", (2, 5, 4), (5,))
case("run('out = Where(mask, x, y)', (4,), (1,), mask=np.zeros((2, 3), bool))", "onnx.Where", (2, 3), (4,), (1,))
case("run('out = Expand(x, i)', (3,), i=np.array([2, 4]))", "onnx.Expand", (3,), shape=[2, 4])
case("run('out = Expand(x, i)', (5, 3), i=np.array([4, 5, 2]))", "onnx.Expand", (5, 3), shape=[4, 5, 2])
case("run('out = MatMul(x, y)', (2, 3), (4, 5))", "onnx.MatMul", (2, 3), (4, 5))
case("run('out = MatMul(x, y)', (2, 3, 4), (5, 4, 6))", "onnx.MatMul", (2, 3, 4), (5, 4, 6))
case("run('out = MatMul(x, y)', (7, 3), (4,))", "onnx.MatMul", (7, 3), (4,))
case("run('out = Gemm(x, y, z)', (2, 3), (3, 4), (5,))", "onnx.Gemm", (2, 3), (3, 4), (5,))
case("run('out = Gemm(x, y, z)', (2, 3), (5, 4), (4,))", "onnx.Gemm", (2, 3), (5, 4), (4,))
case("run('out = Gemm<transB = 1>(x, y, z)', (8, 7), (2, 6), (2,))", "onnx.Gemm", (8, 7), (2, 6), (2,))
case("run('h = MatMul(x, y) [add_bias] out = Add(h, z)', (2, 3), (3, 4), (5,))", "onnx.Add", (2, 4), (5,))
case("run('h = Greater(x, y) out = Cast<to = 1>(h)', (4, 2), (3, 2))", "onnx.Add", (4, 2), (3, 2))
case("load('out = Add(x, y)', (3, 4), (5,))", "onnx.Add", (3, 4), (5,))
case("load('[block_bias] out = Add(x, y)', (2, 64, 7, 7), (64,))", "onnx.Add", (2, 64, 7, 7), (64,))
case("load('out = Max(x, y)', (4, 3), (5, 3))", "onnx.Max", (4, 3), (5, 3))
case("load('out = MatMul(x, y)', (2, 3), (4, 5))", "onnx.MatMul", (2, 3), (4, 5))
case("load('out = Sum(x, y, z)', (2, 1), (3,), (4, 4))", "onnx.Sum", (2, 1), (3,), (4, 4))
case("load('out = Gemm(x, y)', (2, 3), (5, 4))", "onnx.Gemm", (2, 3), (5, 4))
case("run('out = Mod<fmod = 1>(x, y)', (3,), (2,))", "onnx.Add", (3,), (2,))

other("run('out = Concat<axis = 0>(x, y)', (2, 3), (2, 4))")
other("run('out = Concat<axis = 0>(x, y)', (2, 3), (3,))")
other("run('out = Reshape(x, i)', (6,), i=np.array([4, 2]))")
other("run('out = Reshape(x, i)', (2, 3), i=np.array([-1, 4]))", whole=True)
other("run('out = Gather(x, i)', (3,), i=np.array([7]))")
other("run('out = Squeeze(x, i)', (2, 3), i=np.array([0]))")
other("run('out = Transpose<perm = [0, 2, 1]>(x)', (2, 3))")
other("run('out = Conv(x, y)', (1, 3, 8, 8), (4, 2, 3, 3))")
other("run('out = Split<num_outputs = 2, axis = 4>(x)', (2, 3))")
other("run('out = Tile(x, i)', (2, 3), i=np.array([2]))")
other("run('out = Slice(x, i, i)', (2, 3), i=np.zeros((1, 1), np.int64))")
other("load('out = Concat<axis = 0>(x, y)', (2, 3), (2, 4))")
other("load('out = Nonsense(x)', (2, 3))")
case("run('out = Div(x, y)', (7, 4), (7, 3))", "onnx.Add", (7, 4), (7, 3))
case("run('out = Mean(x, y, z)', (2,), (3,), (4,))", "onnx.Mean", (2,), (3,), (4,))
case("run('h = Less(x, y) out = Cast<to = 1>(h)', (4, 2), (3, 2))", "onnx.Add", (4, 2), (3, 2))
case("load('out = Pow(x, y)', (4, 3), (5, 3))", "onnx.Add", (4, 3), (5, 3))
case("run('out = Gemm(x, y)', (2, 3), (4, 5))", "onnx.Gemm", (2, 3), (4, 5))
other("run('out = Flatten<axis = 4>(x)', (2, 3))")
other("feed('1, 3, 224, 224', (2, 3, 224, 200))")
other("feed('batch, 3', (2, 3, 1))")
rec.write()
