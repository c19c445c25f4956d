"""The messages of ONNX's own shape inference and reference evaluator: see record.py."""

import numpy as np
import onnx
from onnx import parser, shape_inference
from onnx.reference import ReferenceEvaluator
from record import Recorder


def model(body, *shapes, opset=21):
    declared = ", ".join(f"float[{', '.join(map(str, shape))}] {'xyzuvw'[n]}" for n, shape in enumerate(shapes))
    return parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> g ({declared}) => (float out) {{{body}}}')


def infer(body, *shapes, opset=21):
    return shape_inference.infer_shapes(model(body, *shapes, opset=opset), strict_mode=True)


def run(body, *shapes):
    names = dict(zip("xyzuvw", shapes, strict=False))
    return ReferenceEvaluator(model(body, *shapes)).run(
        None, {name: np.zeros(shape, np.float32) for name, shape in names.items()}
    )


rec = Recorder("onnx", onnx.__version__, {"infer": infer, "run": run})
case, other = rec.broadcast, rec.other
case("infer('out = Add(x, y)', (3, 4), (5,))", "onnx.Add", (3, 4), (5,))
case("infer('[block_bias] out = Mul(x, y)', (2, 64, 7, 7), (64,))", "onnx.Add", (2, 64, 7, 7), (64,), whole=True)
case("infer('out = Max(x, y)', (4, 3), (5, 3))", "onnx.Max", (4, 3), (5, 3))
case("infer('out = Sum(x, y, z)', (2, 1), (3,), (4, 4))", "onnx.Sum", (2, 1), (3,), (4, 4))
case("infer('out = MatMul(x, y)', (2, 3), (4, 5))", "onnx.MatMul", (2, 3), (4, 5))
case("infer('out = MatMul(x, y)', (2, 3, 4), (5, 4, 6))", "onnx.MatMul", (2, 3, 4), (5, 4, 6))
case("infer('out = Gemm(x, y)', (2, 3), (5, 4))", "onnx.Gemm", (2, 3), (5, 4))
case("infer('out = Where(x, y, y)', (4, 3), (5, 3))", "onnx.Where", (4, 3), (5, 3), (5, 3))
other("infer('out = PRelu(x, y)', (2, 5, 4), (5,))")
case("run('out = Add(x, y)', (3, 4), (5,))", "numpy.add", (3, 4), (5,), whole=True, holds=True)
other("run('out = Add(x, y)', (3, 4), (5,))")
case("run('out = Sum(x, y, z)', (2, 1), (3,), (4, 4))", "numpy.add", (2, 3), (4, 4))
case("run('out = MatMul(x, y)', (2, 3), (4, 5))", "numpy.matmul", (2, 3), (4, 5), whole=True, holds=True)
other("run('out = MatMul(x, y)', (2, 3), (4, 5))")
other("infer('out = Concat<axis = 0>(x, y)', (2, 3), (2, 4))")
other("infer('out = Transpose<perm = [0, 1, 2]>(x)', (2, 3))")
other("infer('out = Conv(x, y)', (1, 3, 8, 8), (4, 2))")
other("infer('out = Flatten<axis = 5>(x)', (2, 3))")
rec.write()
