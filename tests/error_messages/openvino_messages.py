"""The messages of OpenVINO: see record.py."""

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from record import Recorder


def p(*shape, kind=np.float32):
    return ops.parameter(list(shape), kind)


def run(build, *shapes):
    """Run a model whose parameters are open on zeros of these shapes."""
    parameters = [ops.parameter([-1] * len(shape), np.float32) for shape in shapes]
    compiled = ov.Core().compile_model(ov.Model([build(*parameters)], parameters), "CPU")
    compiled([np.zeros(shape, np.float32) for shape in shapes])


rec = Recorder("openvino", ov.__version__.split("-")[0], {"ops": ops, "np": np, "ov": ov, "p": p, "run": run})
case, other = rec.broadcast, rec.other

case("ops.add(p(3, 4), p(5))", "openvino.Add-1", (3, 4), (5,))
case("ops.multiply(p(2, 64, 7, 7), p(64))", "openvino.Add-1", (2, 64, 7, 7), (64,), whole=True)
case("ops.subtract(p(2, 3), p(3, 2))", "openvino.Add-1", (2, 3), (3, 2))
case("ops.greater(p(8, 1, 6), p(7, 2, 5))", "openvino.Add-1", (8, 1, 6), (7, 2, 5))
case("ops.maximum(p(2), p(3))", "openvino.Add-1", (2,), (3,))
case("ops.power(p(0, 3), p(2, 3))", "openvino.Add-1", (0, 3), (2, 3))
case("ops.divide(p(4, 2), p(3, 2))", "openvino.Add-1", (4, 2), (3, 2))
case("ops.add(p(2, 3), p(2, 1), auto_broadcast='NONE')", "openvino.Add-1", (2, 3), (2, 1), auto_broadcast="none")
case("ops.add(p(2, 3, 4), p(3, 5), auto_broadcast='PDPD')", "openvino.Add-1", (2, 3, 4), (3, 5))
case("ops.select(p(2, 3, kind=bool), p(4), p(1), 'numpy')", None, (2, 3), (4,), (1,))
case(
    "ops.broadcast(p(3), np.array([2, 4]), broadcast_spec='NUMPY')",
    "openvino.Broadcast-3",
    (3,),
    target_shape=[2, 4],
    mode="numpy",
)
case(
    "ops.broadcast(p(5, 3), np.array([4, 5, 2]), broadcast_spec='NUMPY')",
    "openvino.Broadcast-3",
    (5, 3),
    target_shape=[4, 5, 2],
    mode="numpy",
)
case(
    "ops.broadcast(p(2, 3), np.array([3]), broadcast_spec='NUMPY')",
    "openvino.Broadcast-3",
    (2, 3),
    target_shape=[3],
    mode="numpy",
)
case(
    "ops.broadcast(p(3), np.array([2, 4]), broadcast_spec='BIDIRECTIONAL')",
    "openvino.Broadcast-3",
    (3,),
    target_shape=[2, 4],
    mode="bidirectional",
)
case(
    "ops.broadcast(p(3), np.array([2, 4]), np.array([1]), broadcast_spec='EXPLICIT')",
    "openvino.Broadcast-3",
    (3,),
    target_shape=[2, 4],
    mode="explicit",
    axes_mapping=[1],
)
case("ops.matmul(p(2, 3), p(4, 5), False, False)", None, (2, 3), (4, 5))
case("ops.matmul(p(2, 3, 4), p(5, 4, 6), False, False)", None, (2, 3, 4), (5, 4, 6))
case("ops.matmul(p(7, 3), p(4), False, False)", None, (7, 3), (4,))
case("run(ops.add, (3, 4), (5,))", "openvino.Add-1", (3, 4), (5,))
case("run(ops.multiply, (2, 64, 7, 7), (64,))", "openvino.Add-1", (2, 64, 7, 7), (64,))
case("run(lambda x, y: ops.matmul(x, y, False, False), (2, 3), (4, 5))", None, (2, 3), (4, 5))
case("ops.mod(p(6), p(7))", "openvino.Add-1", (6,), (7,))
case("ops.squared_difference(p(6, 1), p(7, 2, 3))", "openvino.Add-1", (6, 1), (7, 2, 3))
case("ops.logical_and(p(2, kind=bool), p(3, kind=bool))", "openvino.Add-1", (2,), (3,))
case("ops.equal(p(5, 5), p(5, 4))", "openvino.Add-1", (5, 5), (5, 4))
case("ops.add(ops.parameter([ov.Dimension(1, 3), 4], np.float32), p(5))", "openvino.Add-1", ("1..3", 4), (5,))

other("ops.concat([p(2, 3), p(2, 4)], 0)")
other("ops.reshape(p(6), np.array([4, 2]), False)", whole=True)
other("ops.transpose(p(2, 3), np.array([0, 1, 2]))")
other("ops.convolution(p(1, 3, 8, 8), p(4, 2, 3, 3), [1, 1], [0, 0], [0, 0], [1, 1])")
other("ops.gather(p(3), np.array([1]), np.array(4))")
other("ops.add(p(3), p(3, kind=np.int32))")
other("ops.reduce_sum(p(2, 3), np.array([5]))")
other("ops.split(p(7), np.array(0), 3)")
case("ops.add(p(7, 4), p(7, 3))", "openvino.Add-1", (7, 4), (7, 3))
case("ops.less(ops.relu(p(2, 3)), p(4))", "openvino.Add-1", (2, 3), (4,))
case("ops.floor_mod(p(-1, 3), p(5, 4))", "openvino.Add-1", ("?", 3), (5, 4))
case("ops.not_equal(p(3, 4), ops.constant(np.zeros((5,), np.float32)))", "openvino.Add-1", (3, 4), (5,))
case("ops.minimum(p(3, 4), p(5), name='my_min')", "openvino.Add-1", (3, 4), (5,))
other("ops.unsqueeze(p(2, 3), np.array([7]))")
rec.write()
