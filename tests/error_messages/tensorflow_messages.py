"""The messages of TensorFlow and of Keras on it: see record.py."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import tensorflow as tf
from record import Recorder

rec = Recorder("tensorflow", tf.__version__, {"tf": tf, "z": tf.zeros})
case, other = rec.broadcast, rec.other

case("z((3, 4)) + z(5)", "tensorflow.add", (3, 4), (5,))
case("x, y = z((2, 64, 7, 7)), z(64)\nx * y", "tensorflow.add", (2, 64, 7, 7), (64,), whole=True)
case("z((8, 1, 6)) > z((7, 2, 5))", "tensorflow.add", (8, 1, 6), (7, 2, 5))
case("tf.maximum(z((2, 3)), z((3, 2)))", "tensorflow.add", (2, 3), (3, 2))
case("tf.pow(z(2), z(3))", "tensorflow.add", (2,), (3,))
case("z((0, 3)) - z((2, 3))", "tensorflow.add", (0, 3), (2, 3))
case("tf.where(z((2, 3)) > 0, z(4), z(1))", "tensorflow.where", (2, 3), (4,), (1,))
case("tf.where(z((2, 3)) > 0, z((2, 4)), 0.0)", "tensorflow.where", (2, 3), (2, 4), ())
case("tf.broadcast_to(z(3), (2, 4))", "tensorflow.broadcast_to", (3,), shape=[2, 4])
case("tf.broadcast_to(z((5, 3)), (4, 5, 2))", "tensorflow.broadcast_to", (5, 3), shape=[4, 5, 2])
case("tf.broadcast_to(z((2, 3)), (3,))", "tensorflow.broadcast_to", (2, 3), shape=[3])
case(
    "tf.broadcast_static_shape(tf.TensorShape((2, 3)), tf.TensorShape((4,)))",
    "tensorflow.broadcast_static_shape",
    (2, 3),
    (4,),
)
case(
    "tf.broadcast_dynamic_shape(tf.constant([2, 3]), tf.constant([4]))",
    "tensorflow.broadcast_static_shape",
    (2, 3),
    (4,),
)
case("tf.matmul(z((2, 3)), z((4, 5)))", "tensorflow.matmul", (2, 3), (4, 5))
case("z((2, 3, 4)) @ z((5, 4, 6))", "tensorflow.matmul", (2, 3, 4), (5, 4, 6))
case("tf.matmul(z((6, 2, 3)), z((6, 4, 5)))", "tensorflow.matmul", (6, 2, 3), (6, 4, 5))
case("@tf.function\ndef f(x, y):\n    return x + y\nf(z((3, 4)), z(5))", "tensorflow.add", (3, 4), (5,))
case(
    "@tf.function\ndef step(x, bias):\n    return tf.nn.relu(x * bias)\nstep(z((2, 64, 7, 7)), z(64))",
    "tensorflow.add",
    (2, 64, 7, 7),
    (64,),
    whole=True,
)
case(
    "@tf.function\ndef f(x, y):\n    return tf.where(x > 0, y, x)\nf(z((3, 4)), z(5))",
    "tensorflow.where",
    (3, 4),
    (5,),
    (3, 4),
)
case(
    "@tf.function\ndef f(x, y):\n    return tf.matmul(x, y)\nf(z((2, 3)), z((4, 5)))",
    "tensorflow.matmul",
    (2, 3),
    (4, 5),
)
case(
    "@tf.function\ndef f(x):\n    return tf.broadcast_to(x, (2, 4))\nf(z(3))",
    "tensorflow.broadcast_to",
    (3,),
    shape=[2, 4],
)
case(
    "@tf.function(input_signature=[tf.TensorSpec((None, 4)), tf.TensorSpec([None])])\n"
    "def f(x, y):\n    return x - y\nf(z((3, 4)), z(5))",
    "tensorflow.add",
    (3, 4),
    (5,),
)
case(
    "@tf.function(jit_compile=True)\ndef f(x, y):\n    return x + y\nf(z((3, 4)), z(5))", "tensorflow.add", (3, 4), (5,)
)
other("x = tf.Variable(z((3, 4)))\nx.assign_add(z(5))")
case("x = tf.Variable(z((2, 3)))\nx[:1].assign(z(4))", "tensorflow.broadcast_to", (4,), shape=[1, 3])
other("tf.raw_ops.BiasAdd(value=z((2, 7, 7, 64)), bias=z(7))")
case("tf.math.squared_difference(z((8, 1)), z((7, 2)))", "tensorflow.add", (8, 1), (7, 2))
case("tf.keras.losses.MeanSquaredError()(z((8, 3)), z((8, 4)))", "tensorflow.add", (8, 3), (8, 4))
case("tf.clip_by_value(z((4, 2)), z(3), 1.0)", "tensorflow.add", (4, 2), (3,))
case("tf.equal(z((2, 2)), z(3))", "tensorflow.add", (2, 2), (3,))
case("tf.logical_and(z((2, 3)) > 0, z((3,  3)) > 0)", "tensorflow.add", (2, 3), (3, 3))
case("tf.raw_ops.SelectV2(condition=z(5) > 0, t=z((2, 3)), e=z((2, 3)))", "tensorflow.where", (5,), (2, 3), (2, 3))

other("tf.concat([z((2, 3)), z((2, 4))], 0)")
other("tf.stack([z(3), z(4)])")
other("tf.reshape(z(6), (4, 2))")
other("tf.reshape(z((2, 3)), (-1, 4))", whole=True)
other("tf.gather(z(3), 7)")
other("z(3)[5]")
other("tf.squeeze(z((2, 3)), 0)")
other("tf.transpose(z((2, 3)), (0, 1, 2))")
other("tf.reduce_sum(z((2, 3)), 5)")
other("z(3) + tf.zeros(3, tf.int32)")
other("tf.einsum('ij,jk->ik', z((2, 3)), z((4, 5)))")
other("tf.nn.conv2d(z((1, 8, 8, 3)), z((3, 3, 2, 4)), 1, 'SAME')")
other("tf.split(z(7), 3)")
other("tf.Variable(z(3)).assign(z(4))")
other("tf.linalg.inv(z((2, 3)))")
other("tf.constant([[1, 2], [3]])")
other("if z(3): pass")
other("tf.ensure_shape(z((2, 3)), (3, 2))")
other("tf.tile(z((2, 3)), (2,))")
other("tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2], logits=z((3, 4)))")
other("tf.boolean_mask(z(3), [True, False])")
case("z((7, 4)) / z((7, 3))", "tensorflow.add", (7, 4), (7, 3))
case("tf.math.atan2(z((3, 1, 5)), z((2, 4)))", "tensorflow.add", (3, 1, 5), (2, 4))
case(
    "@tf.function\ndef f(x, y):\n    return tf.maximum(x, y)\nf(z((2, 3)), z((4, 3)))", "tensorflow.add", (2, 3), (4, 3)
)
case(
    "@tf.function\ndef f(x, y):\n    return x @ y\nf(z((2, 3, 4)), z((5, 4, 6)))",
    "tensorflow.matmul",
    (2, 3, 4),
    (5, 4, 6),
)
case("tf.nn.l2_loss(z((2, 3)) - z((3, 3)))", "tensorflow.add", (2, 3), (3, 3))
case("tf.broadcast_to(z((3, 1)), (2, 3, 0, 4))", "tensorflow.broadcast_to", (3, 1), shape=[2, 3, 0, 4])
case("tf.linalg.matvec(z((2, 3)), z(4))", "tensorflow.matmul", (2, 3), (4, 1))
MATMUL = "@tf.function\ndef f(x, y):\n    return tf.matmul(x, y, transpose_a=%r, transpose_b=%r)\nf(z(%r), z(%r))"
for a in (False, True):
    for b in (False, True):
        for shapes in (((2, 3), (5, 4)), ((6, 2, 3), (6, 5, 4))):
            case(MATMUL % (a, b, *shapes), "tensorflow.matmul", *shapes, transpose_a=a, transpose_b=b)
other("tf.nn.bias_add(z((2, 4)), z(5))")
other("tf.nn.sigmoid_cross_entropy_with_logits(labels=z((32, 1)), logits=z((32, 10)))")
other("tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=z((32, 10)), labels=tf.zeros(320, tf.int64))")
case(
    "tf.nn.softmax_cross_entropy_with_logits(labels=z((16, 10)), logits=z((32, 10)))",
    "tensorflow.add",
    (32, 10),
    (16, 10),
)
case("z((6, 2, 3)) @ z((6, 4, 5))", "tensorflow.matmul", (6, 2, 3), (6, 4, 5))
other("@tf.function\ndef f(x, y):\n    return tf.linalg.matmul(x, y)\nf(z((2, 3)), z(3))")
other("tf.matmul(z((2, 3)), z(3))")
case("tf.linalg.matvec(z((2, 3)), z((2, 3, 4)))", "tensorflow.matmul", (2, 3), (2, 3, 4, 1))
other("tf.compat.v1.losses.mean_squared_error(z((8, 1)), z(8))")
other("tf.slice(z(3), [0], [9])")
rec.write()

rec = Recorder("keras", keras.__version__, {"keras": keras, "ops": keras.ops, "z": keras.ops.zeros, "tf": tf})
case, other = rec.broadcast, rec.other
K = "K = keras.KerasTensor\n"
case("ops.add(z((3, 4)), z((5,)))", "tensorflow.add", (3, 4), (5,))
case(K + "ops.add(K((3, 4)), K((5,)))", "keras.ops.add", (3, 4), (5,))
case(K + "ops.multiply(K((2, 64, 7, 7)), K((64,)))", "keras.ops.add", (2, 64, 7, 7), (64,))
case(K + "ops.where(K((2, 3)), K((4,)), K((1,)))", "keras.ops.add", (2, 3), (4,))
case(K + "ops.maximum(K((8, 1, 6)), K((7, 2, 5)))", "keras.ops.add", (8, 1, 6), (7, 2, 5))
case(K + "K((2, 3)) - K((3, 2))", "keras.ops.add", (2, 3), (3, 2), whole=True)
case(K + "ops.matmul(K((2, 3)), K((4, 5)))", "keras.ops.matmul", (2, 3), (4, 5))
case(K + "ops.matmul(K((2, 3, 4)), K((5, 4, 6)))", "keras.ops.add", (2,), (5,))
case("ops.broadcast_to(z((3,)), (2, 4))", "tensorflow.broadcast_to", (3,), shape=[2, 4])
case(K + "ops.broadcast_to(K((3,)), (2, 4))", "keras.ops.add", (3,), (2, 4))
case("ops.where(z((2, 3)) > 0, z((4,)), z((1,)))", "tensorflow.where", (2, 3), (4,), (1,))
case("ops.matmul(z((2, 3)), z((4, 5)))", "tensorflow.matmul", (2, 3), (4, 5))
case("keras.layers.Add()([z((2, 3)), z((2, 4))])", None)
case("keras.layers.Multiply()([keras.Input((7, 7, 64)), keras.Input((64, 7, 1))])", None)
case("keras.losses.MeanSquaredError()(z((8, 3)), z((8, 4)))", "tensorflow.add", (8, 3), (8, 4))
other("ops.concatenate([z((2, 3)), z((2, 4))])")
other(K + "ops.concatenate([K((2, 3)), K((2, 4))])")
other("ops.reshape(z((6,)), (4, 2))")
other(K + "ops.reshape(K((6,)), (4, 2))")
other("keras.layers.Dense(3)(z((2,)))")
other("layer = keras.layers.Dense(3)\nlayer(z((2, 4)))\nlayer(z((2, 5)))", whole=True)
other("keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])(z((2, 4, 4))).nonsense")
other("keras.losses.CategoricalCrossentropy()(z((8, 1)), z((8, 10)))")
other("keras.losses.BinaryCrossentropy()(z((8,)), z((8, 10)))")
other("keras.losses.SparseCategoricalCrossentropy()(z((8, 2)), z((8, 10)))")
other("keras.layers.Concatenate()([z((2, 3, 4)), z((2, 5, 4))])")
other(
    "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile(loss='mse')\n"
    "model.fit(z((3, 2)), z((4, 1)), verbose=0)"
)
other("keras.layers.Dot(axes=1)([z((2, 3)), z((2, 4))])")
other("keras.layers.Conv2D(4, 3)(z((2, 8, 8)))")
rec.write()
