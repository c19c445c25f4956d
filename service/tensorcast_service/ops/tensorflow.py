"""TensorFlow: tf.broadcast_to."""

from __future__ import annotations

from tensorcast.schema.ops import Op, tensorflow

from ..alignment import Alignment, check_rank, check_sizes, fit_right
from ..plan import Shape
from .rule import Rule


def broadcast_to(op: tensorflow.broadcast_to, shapes: tuple[Shape, ...]) -> Alignment:
    """The input aligned right, stretching into `shape`."""
    target = tuple(op.shape)
    check_rank(shapes[0], target, op.name)
    check_sizes(target, "shape", op.name)
    return fit_right(shapes[0], target)


RULES: dict[type[Op], Rule] = {
    tensorflow.broadcast_to: Rule(
        broadcast_to,
        link="https://www.tensorflow.org/api_docs/python/tf/broadcast_to",
        reference=("tensorflow", "2.21.0"),
        example=(tensorflow.broadcast_to(shape=(2, 3)), ((3,),)),
        raise_=lambda plan: tensorflow.broadcast_to(shape=plan.outputs[0].output_shape),
    ),
}
