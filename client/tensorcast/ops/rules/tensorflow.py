"""TensorFlow: tf.broadcast_to."""

from __future__ import annotations

from ...plan.alignment import Alignment, fit_right_plainly
from ...plan.plan import Shape
from .. import Op, tensorflow
from .rule import Rule


def broadcast_to(op: tensorflow.broadcast_to, shapes: tuple[Shape, ...]) -> Alignment:
    """The input aligned right, stretching into `shape`."""
    return fit_right_plainly(shapes[0], tuple(op.shape), "shape", op.name)


RULES: dict[type[Op], Rule] = {
    tensorflow.broadcast_to: Rule(
        broadcast_to,
        link="https://www.tensorflow.org/api_docs/python/tf/broadcast_to",
        reference=("tensorflow", "2.21.0"),
        example=(tensorflow.broadcast_to(shape=(2, 3)), ((3,),)),
        raise_=lambda plan: tensorflow.broadcast_to(shape=plan.outputs[0].output_shape),
    ),
}
