"""The messages of TensorFlow.js: see record.py."""

from record import CodeRecorder, javascript

rec = CodeRecorder("tfjs", javascript())
case, other = rec.broadcast, rec.other
case("tf.add(tf.zeros([3, 4]), tf.zeros([5]))", "tfjs.add", (3, 4), (5,), holds=True)
case("tf.zeros([2, 64, 7, 7]).mul(tf.zeros([64]))", "tfjs.add", (2, 64, 7, 7), (64,), holds=True)
case("tf.greater(tf.zeros([8, 1, 6]), tf.zeros([7, 2, 5]))", "tfjs.add", (8, 1, 6), (7, 2, 5), holds=True)
case("tf.maximum(tf.zeros([0]), tf.zeros([5]))", "tfjs.add", (0,), (5,), holds=True)
case("tf.where(tf.zeros([2, 3], 'bool'), tf.zeros([4]), tf.zeros([1]))", "tfjs.add", (2, 3), (4,), holds=True)
case("tf.where(tf.zeros([2, 1], 'bool'), tf.zeros([3]), tf.zeros([4]))", "tfjs.add", (2, 3), (4,), holds=True)
case("tf.prelu(tf.zeros([2, 3]), tf.zeros([4]))", "tfjs.add", (2, 3), (4,), holds=True)
case("tf.broadcastTo(tf.zeros([3]), [2, 4])", "tfjs.broadcastTo", (3,), shape=[2, 4], holds=True)
case("tf.broadcastTo(tf.zeros([2, 3]), [1, 3])", "tfjs.broadcastTo", (2, 3), shape=[1, 3], holds=True)
case("tf.broadcastTo(tf.zeros([2, 3]), [3])", "tfjs.broadcastTo", (2, 3), shape=[3], holds=False)
case("tf.matMul(tf.zeros([2, 3]), tf.zeros([4, 5]))", "tfjs.matMul", (2, 3), (4, 5), holds=True)
case("tf.matMul(tf.zeros([2, 3]), tf.zeros([3, 2]), true)", "tfjs.matMul", (2, 3), (3, 2), transposeA=True, holds=True)
case(
    "tf.matMul(tf.zeros([2, 3]), tf.zeros([3, 2]), false, true)",
    "tfjs.matMul",
    (2, 3),
    (3, 2),
    transposeB=True,
    holds=True,
)
case(
    "tf.matMul(tf.zeros([2, 3]), tf.zeros([4, 5]), true, true)",
    "tfjs.matMul",
    (2, 3),
    (4, 5),
    transposeA=True,
    transposeB=True,
    holds=True,
)
case("tf.matMul(tf.zeros([2, 3, 4]), tf.zeros([5, 4, 6]))", "tfjs.add", (2,), (5,), holds=True)
case("tf.addN([tf.zeros([2, 3]), tf.zeros([3])])", None)
case("tf.einsum('ij,jk->ik', tf.zeros([2, 3]), tf.zeros([4, 5]))", None)
other("tf.concat([tf.zeros([2, 3]), tf.zeros([2, 4])])")
other("tf.stack([tf.zeros([3]), tf.zeros([4])])")
other("tf.zeros([6]).reshape([4, 2])")
other("tf.transpose(tf.zeros([2, 3]), [0, 1, 2])")
other("tf.sum(tf.zeros([2, 3]), 5)")
other("tf.conv2d(tf.zeros([1, 8, 8, 3]), tf.zeros([3, 3, 2, 4]), 1, 'same')")
other("tf.squeeze(tf.zeros([2, 3]), [0])")
other("tf.tile(tf.zeros([2, 3]), [2])")
other("tf.split(tf.zeros([5]), 2)")
other("tf.losses.meanSquaredError(tf.zeros([2, 3]), tf.zeros([3, 2]))")
other("tf.tensor([1, 2, 3], [2, 2])")
other(
    "const layers = [tf.layers.dense({units: 1, inputShape: [4]})];\ntf.sequential({layers}).predict(tf.zeros([2, 3]))"
)
rec.write()
