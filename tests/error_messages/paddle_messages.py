"""The messages of Paddle: see record.py."""

import paddle
import paddle.nn.functional as F
from record import Recorder


def z(*shape, dtype="float32"):
    return paddle.zeros(list(shape), dtype)


rec = Recorder("paddle", paddle.__version__, {"paddle": paddle, "z": z, "F": F})
case, other = rec.broadcast, rec.other

case("z(3, 4) + z(5)", "paddle.add", (3, 4), (5,))
case("x, y = z(2, 64, 7, 7), z(64)\nx * y", "paddle.add", (2, 64, 7, 7), (64,), whole=True)
case("z(8, 1, 6) > z(7, 2, 5)", "paddle.add", (8, 1, 6), (7, 2, 5))
case("paddle.maximum(z(2, 3), z(3, 2))", "paddle.add", (2, 3), (3, 2))
case("paddle.pow(z(2), z(3))", "paddle.add", (2,), (3,))
case("z(0, 3) - z(2, 3)", "paddle.add", (0, 3), (2, 3))
case("paddle.divide(z(4, 2), z(3, 2))", "paddle.add", (4, 2), (3, 2))
case("paddle.atan2(z(5), z(6))", "paddle.add", (5,), (6,))
case("paddle.where(z(2, 3) > 0, z(4), z(1))", "paddle.add", (4,), (2, 3))
case("paddle.where(z(2, 3) > 0, z(2, 4), z(2, 4))", "paddle.add", (2, 4), (2, 3))
case("paddle.expand(z(3), [2, 4])", "paddle.expand", (3,), shape=[2, 4])
case("paddle.expand(z(64, 1, 7), [2, 32, 7, 7])", "paddle.expand", (64, 1, 7), shape=[2, 32, 7, 7])
case("paddle.expand(z(2, 3), [3])", "paddle.expand", (2, 3), shape=[3])
case("paddle.broadcast_to(z(5, 3), [4, 5, 2])", "paddle.broadcast_to", (5, 3), shape=[4, 5, 2])
case("paddle.expand_as(z(4, 1), z(3, 7))", "paddle.expand_as", (4, 1), (3, 7))
case("paddle.broadcast_tensors([z(3), z(4)])", "paddle.broadcast_tensors", (3,), (4,), holds=False)
case("paddle.broadcast_tensors([z(2, 3), z(1), z(5, 1, 4)])", "paddle.broadcast_tensors", (2, 3), (1,), (5, 1, 4))
case("paddle.broadcast_shape([2, 3], [4])", "paddle.add", (2, 3), (4,))
case("z(2, 3) @ z(4, 5)", "paddle.matmul", (2, 3), (4, 5))
case("paddle.matmul(z(2, 3, 4), z(5, 4, 6))", "paddle.matmul", (2, 3, 4), (5, 4, 6))
case("paddle.matmul(z(7, 3), z(4))", "paddle.matmul", (7, 3), (4,))
other("paddle.bmm(z(2, 3, 4), z(3, 4, 5))")
case("paddle.nn.Linear(8, 2)(z(4, 7))", "paddle.matmul", (4, 7), (8, 2), whole=True)
case("x = z(2, 3)\nx[:] = z(4)", "paddle.expand", (4,), shape=[2, 3])
case("x = z(3, 1)\nx.add_(z(3, 4))", "paddle.expand", (3, 4), shape=[3, 1])
case("F.mse_loss(z(8, 3), z(8, 4))", "paddle.add", (8, 3), (8, 4))
case("paddle.logical_and(z(2, dtype='bool'), z(3, dtype='bool'))", "paddle.add", (2,), (3,))
case("paddle.equal(z(5, 5), z(5, 4))", "paddle.add", (5, 5), (5, 4))
case("paddle.masked_fill(z(2, 8, 7, 5), z(2, 7, 5) > 0, 0.0)", "paddle.add", (2, 8, 7, 5), (2, 7, 5))
case("paddle.lerp(z(2), z(3), z(1))", "paddle.add", (2,), (3,))
case("paddle.lerp(z(5, 2), z(4, 2), z(1))", "paddle.add", (5, 2), (4, 2))

other("paddle.concat([z(2, 3), z(2, 4)])")
other("paddle.stack([z(3), z(4)])")
other("paddle.reshape(z(6), [4, 2])")
other("z(2, 3).reshape([-1, 4])", whole=True)
other("paddle.gather(z(3), paddle.to_tensor([7]))")
other("z(3)[5]")
other("paddle.transpose(z(2, 3), [0, 1, 2])")
other("paddle.sum(z(2, 3), 5)")
other("F.conv2d(z(1, 3, 8, 8), z(4, 2, 3, 3))")
other("F.cross_entropy(z(8, 3), z(7, dtype='int64'))")
other("paddle.split(z(7), 3)")
other("paddle.linalg.inv(z(2, 3))")
other("paddle.einsum('ij,jk->ik', z(2, 3), z(4, 5))")
other("F.embedding(paddle.to_tensor([10]), z(10, 4))")
other("F.layer_norm(z(4, 32), [16])")
rec.write()
