"""The messages of MindSpore: see record.py."""

import mindspore
import numpy as np
from mindspore import Tensor, mint, ops
from record import Recorder

mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
mindspore.runtime.launch_blocking()


def z(*shape, dtype=np.float32):
    return Tensor(np.zeros(shape, dtype))


rec = Recorder(
    "mindspore",
    mindspore.__version__,
    {"mindspore": mindspore, "z": z, "ops": ops, "mint": mint, "np": np, "Tensor": Tensor},
    mindspore.runtime.synchronize,
)
case, other = rec.broadcast, rec.other

case("z(3, 4) + z(5)", "mindspore.add", (3, 4), (5,))
case("x, y = z(2, 64, 7, 7), z(64)\nx * y", "mindspore.add", (2, 64, 7, 7), (64,), whole=True)
case("z(8, 1, 6) > z(7, 2, 5)", "mindspore.add", (8, 1, 6), (7, 2, 5))
case("ops.maximum(z(2, 3), z(3, 2))", "mindspore.maximum", (2, 3), (3, 2))
case("ops.minimum(z(4, 3), z(3, 2))", "mindspore.maximum", (4, 3), (3, 2))
case("ops.pow(z(2), z(3))", "mindspore.add", (2,), (3,))
case("z(4, 2) - z(3, 2)", "mindspore.add", (4, 2), (3, 2))
case("ops.div(z(4, 2), z(5, 2))", "mindspore.add", (4, 2), (5, 2))
case("ops.add(z(6), z(7))", "mindspore.add", (6,), (7,))
case("ops.mul(z(6, 1), z(7, 2, 3))", "mindspore.add", (6, 1), (7, 2, 3))
case("ops.equal(z(5, 5), z(5, 4))", "mindspore.add", (5, 5), (5, 4))
case("ops.less(z(5, 2), z(5, 4))", "mindspore.add", (5, 2), (5, 4))
case("ops.where(z(2, 3) > 0, z(4), z(1))", "mindspore.add", (2, 3), (4,))
case("ops.select(z(2, 3) > 0, z(2, 4), z(2, 4))", "mindspore.add", (2, 3), (2, 4))
case("ops.broadcast_to(z(3), (2, 4))", "mindspore.broadcast_to", (3,), shape=[2, 4])
case("ops.broadcast_to(z(5, 3), (4, 5, 2))", "mindspore.broadcast_to", (5, 3), shape=[4, 5, 2])
case("ops.broadcast_to(z(2, 3), (3,))", "mindspore.broadcast_to", (2, 3), shape=[3])
case("z(64, 1, 7).expand(2, 32, 7, 7)", "mindspore.broadcast_to", (64, 1, 7), shape=[2, 32, 7, 7])
case("ops.matmul(z(2, 3), z(4, 5))", "mindspore.matmul", (2, 3), (4, 5))
case("ops.matmul(z(2, 3, 4), z(5, 4, 6))", "mindspore.matmul", (2, 3, 4), (5, 4, 6))
case("ops.matmul(z(7, 3), z(4))", "mindspore.matmul", (7, 3), (4,))
case("z(2, 3) @ z(5, 4)", "mindspore.matmul", (2, 3), (5, 4))
other("ops.bmm(z(2, 3, 4), z(3, 4, 5))")
case("mindspore.nn.Dense(8, 2)(z(4, 7))", "mindspore.matmul", (4, 7), (8, 2), whole=True)
case("ops.hypot(z(3, 2), z(2, 3))", "mindspore.add", (3, 2), (2, 3))
case("ops.logical_and(z(2, dtype=bool), z(3, dtype=bool))", "mindspore.add", (2,), (3,))
case("ops.atan2(z(2), z(3))", "mindspore.add", (2,), (3,))
case("mint.add(z(2, 3), z(4))", "mindspore.add", (2, 3), (4,))
case("x = z(2, 3)\nx[:] = z(4)", "mindspore.broadcast_to", (4,), shape=[2, 3])
case("ops.floor_div(z(2, 3), z(3, 3))", "mindspore.add", (2, 3), (3, 3))
case("ops.masked_fill(z(2, 8, 7, 5), z(2, 7, 5) > 0, 0.0)", "mindspore.add", (2, 8, 7, 5), (2, 7, 5))

other("ops.cat([z(2, 3), z(2, 4)])")
other("ops.stack([z(3), z(4)])")
other("ops.reshape(z(6), (4, 2))")
other("z(2, 3).reshape(-1, 4)", whole=True)
other("ops.gather(z(3), Tensor([7]), 4)")
other("z(3)[5]")
other("ops.transpose(z(2, 3), (0, 1, 2))")
other("ops.sum(z(2, 3), 5)")
other("ops.conv2d(z(1, 3, 8, 8), z(4, 2, 3, 3))")
case("ops.cross_entropy(z(8, 3), z(7, dtype=np.int32))", "mindspore.add", (8, 1), (7, 1))
other("ops.split(z(7), 3, 4)")
case("z(7, 4) / z(7, 3)", "mindspore.add", (7, 4), (7, 3))
case("ops.floor_mod(z(3, 1, 5), z(2, 4))", "mindspore.add", (3, 1, 5), (2, 4))
case("ops.expand(z(3, 4), Tensor([2, 3, 5]))", None)
case("ops.mse_loss(z(4, 3), z(4, 2))", "mindspore.add", (4, 3), (4, 2))
case("mint.matmul(z(2, 3), z(4, 5))", "mindspore.matmul", (2, 3), (4, 5))
case("ops.ones((3,)) + ops.ones((2, 4))", "mindspore.add", (3,), (2, 4))
rec.write()
