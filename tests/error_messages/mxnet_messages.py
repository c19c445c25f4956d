"""The messages of MXNet: see record.py."""

import mxnet as mx
from record import Recorder

rec = Recorder(
    "mxnet", mx.__version__, {"mx": mx, "nd": mx.nd, "z": mx.nd.zeros, "np": mx.np, "nz": mx.np.zeros}, mx.nd.waitall
)
case, other = rec.broadcast, rec.other

case("nd.broadcast_add(z((3, 4)), z((3, 5)))", "mxnet.broadcast_add", (3, 4), (3, 5))
case("z((2, 3)) + z((3, 2))", "mxnet.broadcast_add", (2, 3), (3, 2))
case(
    "nd.broadcast_mul(z((2, 64, 7, 7)), z((1, 32, 1, 1)))",
    "mxnet.broadcast_add",
    (2, 64, 7, 7),
    (1, 32, 1, 1),
    whole=True,
)
case("nd.broadcast_maximum(z((4, 2)), z((3, 2)))", "mxnet.broadcast_add", (4, 2), (3, 2))
other("nd.elemwise_add(z((2, 3)), z((2, 1)))")
case("nd.broadcast_to(z((3, 1)), (2, 4))", "mxnet.broadcast_to", (3, 1), shape=[2, 4])
case("nd.broadcast_to(z(3), (2, 4))", "mxnet.broadcast_to", (3,), shape=[2, 4])
case("nd.broadcast_like(z((3, 1)), z((2, 4)))", "mxnet.broadcast_to", (3, 1), shape=[2, 4])
case("nd.broadcast_axis(z((3, 2)), axis=1, size=4)", "mxnet.broadcast_axis", (3, 2), axis=[1], size=[4])
other("nd.where(z((2, 3)), z((2, 4)), z((2, 4)))")
other("nd.dot(z((2, 3)), z((4, 5)))")
other("nd.batch_dot(z((2, 3, 4)), z((2, 5, 6)))")
case("nz((3, 4)) + nz((5,))", "mxnet.broadcast_add", (3, 4), (5,))
case("np.broadcast_to(nz((3,)), (2, 4))", "mxnet.np.broadcast_to", (3,), shape=[2, 4])
case("np.where(nz((2, 3)), nz((4,)), nz((1,)))", "mxnet.np.where", (2, 3), (4,), (1,))
case("np.maximum(nz((2, 3)), nz((4, 1, 2)))", "mxnet.broadcast_add", (2, 3), (4, 1, 2))
other("nd.concat(z((2, 3)), z((2, 4)), dim=0)")
other("z(6).reshape((4, 2))")
other("nd.stack(z(3), z(4))")
other("z(3)[5]")
other("nd.transpose(z((2, 3)), (0, 1, 2))")
other("nd.sum(z((2, 3)), axis=5)")
rec.write()
