"""The table of sentences about conflicts, hints and warnings. Tests of checks assert codes, sizes and requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cases import cases

import axiscast
from axiscast.messages import CheckAnswer
from axiscast.ops import FRAMEWORKS
from axiscast.words import error_advice, errors
from axiscast.words.error_topics import UNREAD
from axiscast.words.hints import reshape_code
from axiscast.words.names import Names

ADD = "numpy.add"
CONFLICTS: list[tuple[str, list[tuple[Any, ...]], dict[str, Any], str]] = [
    (ADD, [(2, 64, 7, 7), (64,)], {},
     "Input 0 of shape (2, 64, 7, 7) has size 7 on output axis 3, but input 1 of shape (64,) has size 64. The "
     "sizes must be equal, or one of them must be 1."),
    ("numpy.broadcast_to", [(3,)], {"shape": (3, 4)},
     "Input 0 of shape (3,) has size 3 on output axis 1, but the target (3, 4) has size 4. Input 0 must have "
     "size 1 or 4 on this axis."),
    ("numpy.broadcast_arrays", [(2,), (3,), (4,), (5,), (6,), (7,)], {},
     "On output axis 0, input 0 of shape (2,) has size 2, input 1 of shape (3,) has size 3, input 2 of shape "
     "(4,) has size 4, input 3 of shape (5,) has size 5 and 2 other inputs have other sizes. All sizes other "
     "than 1 must be equal."),
    ("mxnet.broadcast_axis", [(1, 3)], {"axis": (0, 0), "size": (2, 3)},
     "The attributes give output axis 0 the sizes 2 and 3. Give it one size."),
    ("mxnet.broadcast_axis", [(3, 2)], {"axis": 0, "size": 3},
     "Input 0 of shape (3, 2) has size 3 on output axis 0, but the op expands only axes of size 1."),
    (ADD, [("N", "N"), (3, 4)], {"assume": {"N": "2.."}},
     "Input 0 of shape (N, N) has size N on output axis 1, but input 1 of shape (3, 4) has size 4. The sizes "
     "must be equal, or one of them must be 1. Other axes or assumptions require N = 3."),
    ("numpy.matmul", [("N", "K"), (3, "M")], {"assume": {"K": "4.."}},
     "Axis 1 of input 0 of shape (N, K) has size K, but axis 0 of input 1 of shape (3, M) has size 3. The op "
     "sums over these axes, so their sizes must be equal. Other axes or assumptions require K >= 4."),
    ("xarray.broadcast", [(2,), (3,)], {"dims": [["x"], ["x"]]},
     "Input 0 of shape (2,) has size 2 on output axis 0, but input 1 of shape (3,) has size 3. The op requires "
     "equal sizes, even if one of them is 1."),
    ("ggml.repeat", [(2,), (3,)], {},
     "Input 0 of shape (2,) has size 2 on output axis 0, but input 1 of shape (3,) has size 3. The second size "
     "must be a multiple of the first."),
    ("torch.matmul", [(2, 3), (4, 5)], {},
     "Axis 1 of input 0 of shape (2, 3) has size 3, but axis 0 of input 1 of shape (4, 5) has size 4. The op "
     "sums over these axes, so their sizes must be equal."),
    ("numpy.broadcast_to", [(1, 3)], {"shape": (3,)},
     "Input 0 of shape (1, 3) has 2 axes, but the target (3,) has only 1. The op can add axes, but can't remove"
     " them."),
    ("numpy.broadcast_to", [(3,)], {"shape": (3, -1)},
     "shape=(3, -1) has -1 on axis 1, but the op does not accept -1 as a size."),
    ("torch.expand", [(3,)], {"size": (-1, 3)},
     "size=(-1, 3) has -1 on axis 0. -1 keeps the size of an existing axis, but input 0 of shape (3,) does not "
     "have this axis: write its size."),
    ("jax.lax.add", [(3,), (2, 1)], {},
     "Input 0 of shape (3,) has 1 axis, but input 1 of shape (2, 1) has 2, and the op does not add axes. "
     "Reshape one of them first."),
    ("numpy.einsum", [(2, 3, 4), (3, 4)], {"equation": "ij,jk->ik"},
     "Input 0 of shape (2, 3, 4) has 3 axes, but its term 'ij' in the equation 'ij,jk->ik' requires 2."),
    ("numpy.einsum", [(2, 3)], {"equation": "...i->i"},
     "The equation '...i->i' has no '...' in its output, but the op can't sum over the axes of '...'. Add '...'"
     " to the output."),
    ("numpy.einsum", [(2, 3), (4, 5)], {"equation": "ij,jk->ik"},
     "Axis 1 of input 0 of shape (2, 3) has size 3, but axis 0 of input 1 of shape (4, 5) has size 4. Both axes"
     " have the letter 'j', so their sizes must be equal, or one of them must be 1."),
    ("numpy.einsum", [(2, 3, 4)], {"equation": "iji->j"},
     "Axes 0 and 2 of input 0 of shape (2, 3, 4) have sizes 2 and 4. Both axes have the letter 'i', so their "
     "sizes must be equal."),
    ("numpy.einsum", [(5, 2, 3), (6, 3, 4)], {"equation": "...ij,...jk->...ik"},
     "Axis 0 of input 0 of shape (5, 2, 3) has size 5, but axis 0 of input 1 of shape (6, 3, 4) has size 6. "
     "Both axes belong to '...', so their sizes must be equal, or one of them must be 1."),
    ("numpy.einsum", [(2,)], {"equation": "...ij->ij"},
     "Input 0 of shape (2,) has 1 axis, but its term '...ij' in the equation '...ij->ij' requires at least 2."),
    ("numpy.einsum", [(2, 3)], {"equation": "ij->ik"},
     "The equation 'ij->ik' has the letter 'k' in its output, but no operand has this letter."),
    ("numpy.einsum", [(2, 3)], {"equation": "ij->ii"},
     "The equation 'ij->ii' has the letter 'i' twice in its output. Each letter may occur there only once."),
    ("numpy.einsum", [(2,)], {"equation": "i->i->i"},
     "The equation 'i->i->i' has '->' more than once."),
    ("numpy.einsum", [(2, 3)], {"equation": "...i..."},
     "The equation '...i...' has '...' twice in one operand."),
    ("numpy.einsum", [(2, 3)], {"equation": "...i->...i..."},
     "The equation '...i->...i...' has '...' twice in its output."),
    ("numpy.einsum", [(2, 3)], {"equation": "i1->i"},
     "The equation 'i1->i' contains '1'. Only letters (a-z, A-Z), commas, '...' and one '->' are allowed."),
    ("numpy.einsum", [(2,)], {"equation": "i\n->i"},
     "The equation 'i\\n->i' contains '\\n'. Only letters (a-z, A-Z), commas, '...' and one '->' are allowed."),
    ("tensorflow.einsum", [(2, 3), (4, 5)], {"equation": "ij,jk->ik"},
     "Axis 1 of input 0 of shape (2, 3) has size 3, but axis 0 of input 1 of shape (4, 5) has size 4. Both axes"
     " have the letter 'j', so their sizes must be equal."),
    ("einops.einsum", [(2, 3), (4, 5)], {"pattern": "i j, j k -> i k"},
     "Axis 1 of input 0 of shape (2, 3) has size 3, but axis 0 of input 1 of shape (4, 5) has size 4. Both axes"
     " have the label 'j', so their sizes must be equal, or one of them must be 1."),
    ("einops.einsum", [(2, 3)], {"pattern": "i j -> i k"},
     "The pattern 'i j -> i k' has the label 'k' in its output, but no operand has this label."),
    ("einops.einsum", [(2, 3)], {"pattern": "i j"},
     "The pattern 'i j' needs one '->', as in 'b i j, b j k -> b i k'."),
    ("einops.einsum", [(2,)], {"pattern": "(i j) -> i"},
     "The pattern '(i j) -> i' contains '(i'. Only '...' and names such as i or height_2 are allowed."),
    ("einops.einsum", [(2, 1)], {"pattern": "i 1 -> i"},
     "The pattern 'i 1 -> i' contains '1'. Only '...' and names such as i or height_2 are allowed."),
    ("einops.einsum", [(2,)], {"pattern": "i j -> j"},
     "Input 0 of shape (2,) has 1 axis, but its term 'i j' in the pattern 'i j -> j' requires 2."),
    ("einops.rearrange", [(2,)], {"pattern": "h -> h w", "axes_lengths": {"w": 2}},
     "The pattern has 'w' only on its right side, but rearrange can't add axes. Use einops.repeat."),
    ("einops.rearrange", [(2, 2)], {"pattern": "h w -> h", "axes_lengths": {"w": 2}},
     "The pattern has 'w' only on its left side, but rearrange can't remove axes. Use einops.reduce."),
    ("einops.repeat", [("4..5", 4)], {"pattern": "(a b) c -> a b c", "axes_lengths": {"b": 3}},
     "Axis 0 of input 0 of shape (4..5, 4) has size 4..5. The pattern splits this axis into (a b), so its size "
     "must be a multiple of 3."),
    ("einops.repeat", [("N",)], {"pattern": "(a b) -> a b", "axes_lengths": {"b": 3}, "assume": {"N": 7}},
     "Axis 0 of input 0 of shape (N,) has size N. The pattern splits this axis into (a b), so its size must be "
     "a multiple of 3. Other axes or assumptions require N = 7."),
    ("einops.repeat", [("N", "N")], {"pattern": "(a b) (c d) -> a b c d", "axes_lengths": {"b": 2, "d": 3},
      "assume": {"N": "1..5"}},
     "Axis 1 of input 0 of shape (N, N) has size N. The pattern splits this axis into (c d), so its size must "
     "be a multiple of 3. Other axes or assumptions require 2 <= N <= 4 and N to be a multiple of 2."),
    ("einops.repeat", [("N", "N")], {"pattern": "(a b) (c d) -> a b c d", "axes_lengths": {"b": 3, "d": 2},
      "assume": {"N": "1..5"}},
     "Axis 1 of input 0 of shape (N, N) has size N. The pattern splits this axis into (c d), so its size must "
     "be a multiple of 2. Other axes or assumptions require N = 3."),
    ("einops.repeat", [("N", "N")], {"pattern": "(a b) (c d) -> a b c d", "axes_lengths": {"b": 3, "c": 2, "d": 2}},
     "Axis 1 of input 0 of shape (N, N) has size N. In the pattern, c * d = 2 * 2, so the size of this axis "
     "must be 4. Other axes or assumptions require N to be a multiple of 3."),
    ("einops.repeat", [("N", "N")], {"pattern": "a (b c) -> a b c", "axes_lengths": {"a": 8, "b": 3}},
     "Axis 1 of input 0 of shape (N, N) has size N. The pattern splits this axis into (b c), so its size must "
     "be a multiple of 3. Other axes or assumptions require N = 8."),
    ("einops.repeat", [("N",)], {"pattern": "(a b) -> a b", "axes_lengths": {"b": 0}},
     "Axis 0 of input 0 of shape (N,) has size N. The pattern splits this axis into (a b) with a length of 0, "
     "which fits no size."),
    ("einops.repeat", [("N",)], {"pattern": "(a b c) -> a b c", "axes_lengths": {"a": 2**62, "b": 2**62, "c": 2**62}},
     "Axis 0 of input 0 of shape (N,) has size N. In the pattern, a * b * c = 4611686018427387904 * "
     "4611686018427387904 * 4611686018427387904, so the size of this axis must be "
     "98079714615416886934934209737619787751599303819750539264, but the largest size is 2^63-1."),
    ("einops.repeat", [(7,)], {"pattern": "() -> "},
     "Axis 0 of input 0 of shape (7,) has size 7. The pattern has no name for this axis, so its size must be 1."),
    ("einops.repeat", [("N",)], {"pattern": "a -> a b", "axes_lengths": {"a": 6, "b": 2}, "assume": {"N": "7.."}},
     "Axis 0 of input 0 of shape (N,) has size N. In the pattern, a = 6, so the size of this axis must be 6. "
     "Other axes or assumptions require N >= 7."),
]  # fmt: skip
CONDITIONS: list[tuple[str, list[tuple[Any, ...]], dict[str, Any], str]] = [
    (ADD, [("N",), ("M",)], {"assume": {"N": "2.."}}, "N == M or M == 1"),
    (ADD, [("?",), (5,)], {}, "inputs[0].shape[0] == 5 or inputs[0].shape[0] == 1"),
    ("numpy.broadcast_to", [("2..4",)], {"shape": ("?",)}, "inputs[0].shape[0] == shape[0]"),
    ("ggml.repeat", [("N", 3), ("M", 6)], {}, "N divides M"),
]
HINTS: list[tuple[str, list[tuple[Any, ...]], dict[str, Any], str]] = [
    (ADD, [(2, 64, 7, 7), (64,)], {},
     "write input 1 as `b[:, None, None]`, of shape (64, 1, 1): the result is (2, 64, 7, 7)"),
    (ADD, [(8, 5, 3, 7), (8, 3)], {},
     "write input 1 as `b[:, None, :, None]`, of shape (8, 1, 3, 1): the result is (8, 5, 3, 7)"),
    (ADD, [("N", "C", "W"), ("C",)], {},
     "write input 1 as `b[:, None]`, of shape (C, 1): the result is (N, C, W)"),
    ("tensorflow.add", [(2, 64, 7, 7), (64,)], {},
     "write input 1 as `b[:, tf.newaxis, tf.newaxis]`, of shape (64, 1, 1): the result is (2, 64, "
     "7, 7)"),
    ("tensorflow.broadcast_to", [(1, 3)], {"shape": (3,)},
     "write input 0 as `a[0]`, of shape (3,): the result is (3,)"),
    ("litert.ADD", [(1000, 3), (12, 3)], {},
     "to combine all pairs of rows, reshape input 0 to (1000, 1, 3): the result is (1000, 12, 3)"),
    ("litert.ADD", [(2, 3), (3, 2)], {}, "swap axes 0 and 1 of input 0: the result is (3, 2)"),
    ("litert.ADD", [(2, 64, 7, 7), (64,)], {},
     "reshape input 1 to (64, 1, 1): the result is (2, 64, 7, 7)"),
    (ADD, [(2, 3), (3, 2)], {},
     "write input 0 as `a.T`, of shape (3, 2): the result is (3, 2)"),
    (ADD, [(1000, 3), (12, 3)], {},
     "to combine all pairs of rows, write input 0 as `a[:, None]`, of shape (1000, 1, 3): the result is (1000, "
     "12, 3)"),
    ("numpy.broadcast_to", [(1, 3)], {"shape": (3,)},
     "write input 0 as `a.squeeze(0)`, of shape (3,): the result is (3,)"),
    ("openvino.Broadcast-1", [(3,)], {"mode": "numpy", "target_shape": (3, 4)},
     "use openvino.Broadcast-3 with mode='explicit', target_shape=(3, 4), axes_mapping=(0,): the result is (3, "
     "4)"),
    ("numpy.broadcast_to", [(3, 4)], {"shape": (3, -1)},
     "write shape=(3, 4): the result is (3, 4)"),
    ("torch.matmul", [(2, 3), (4, 3)], {},
     "write input 1 as `b.T`, of shape (3, 4): the result is (2, 4)"),
    ("numpy.matmul", [(3, 2), (4, 3)], {},
     "transpose input 0 to (2, 3) and input 1 to (3, 4): the result is (2, 4)"),
    ("numpy.matmul", [(3, 4), (2, 3)], {},
     "swap input 0 and input 1: the result is (2, 4)"),
    ("numpy.matmul", [(2, 1), (3,)], {},
     "write input 1 as `b[None]`, of shape (1, 3): the result is (2, 3)"),
    ("onnx.Gemm", [(3, 2), (4, 3)], {"alpha": 0.5},
     "write transA=1, transB=1: the result is (2, 4)"),
    ("numpy.einsum", [(2, 3), (4, 3)], {"equation": "ij,jk->ik"},
     "write equation='ij,kj->ik': the result is (2, 4)"),
]  # fmt: skip
WARNINGS: list[tuple[str, list[tuple[Any, ...]], str]] = [
    (ADD, [(5, 1), (5,)],
     "Input 0 of shape (5, 1) and input 1 of shape (5,) broadcast to (5, 5): every element of input 0 is "
     "combined with every element of input 1. To combine them element by element, write input 0 as "
     "`a.squeeze(-1)`, of shape (5,). If shape (5, 5) is intended, write input 1 as `b[None]`, of shape (1, 5)."),
    ("numpy.broadcast_arrays", [(5,), (5,), (5, 1)],
     "Input 0 of shape (5,) and input 2 of shape (5, 1) broadcast to (5, 5): every element of input 0 is "
     "combined with every element of input 2. To combine them element by element, write input 2 as "
     "`c.squeeze(-1)`, of shape (5,)."),
    ("numpy.broadcast_arrays", [(5,), *[(5, 1)] * 8],
     "Input 0 of shape (5,) and input 1 of shape (5, 1) broadcast to (5, 5): every element of input 0 is "
     "combined with every element of input 1. To combine them element by element, give all inputs the same "
     "shape."),
    (ADD, [(4, 4), (4, 4, 1)],
     "Input 0 of shape (4, 4) and input 1 of shape (4, 4, 1) broadcast to (4, 4, 4): input 0 is repeated along "
     "output axis 0, and input 1 along output axis 2. To combine them element by element, write input 1 as "
     "`b.squeeze(-1)`, of shape (4, 4). If shape (4, 4, 4) is intended, write input 0 as `a[None]`, of shape "
     "(1, 4, 4)."),
    ("tensorflow.subtract", [(5, 1), (5,)],
     "Input 0 of shape (5, 1) and input 1 of shape (5,) broadcast to (5, 5): every element of input 0 is "
     "combined with every element of input 1. To combine them element by element, write input 0 as `a[:, 0]`, "
     "of shape (5,). If shape (5, 5) is intended, write input 1 as `b[tf.newaxis]`, of shape (1, 5)."),
    ("julia.broadcast", [(1, 5), (5,)],
     "Input 0 of shape (1, 5) and input 1 of shape (5,) broadcast to (5, 5): every element of input 0 is "
     "combined with every element of input 1. To combine them element by element, reshape input 0 to (5,). If "
     "shape (5, 5) is intended, reshape input 1 to (5, 1)."),
    (ADD, [(8, 1, 6, 1), (7, 1, 5)],
     "Input 0 of shape (8, 1, 6, 1) and input 1 of shape (7, 1, 5) broadcast to (8, 7, 6, 5): input 0 is "
     "repeated along output axis 1, and input 1 along output axis 0. If this is not intended, check whether one"
     " of them lacks an axis."),
    (ADD, [(2, 3), (3,)],
     "Input 1 of shape (3,) gets new axes on the left to match input 0 of shape (2, 3). To put the new axes "
     "elsewhere, write them explicitly."),
    ("julia.broadcast", [(5,), (5, 2)],
     "Input 0 of shape (5,) gets new axes on the right to match input 1 of shape (5, 2). To put the new axes "
     "elsewhere, write them explicitly."),
]  # fmt: skip


def sentences(answer: CheckAnswer[Any]) -> Iterator[str]:
    """Yield all sentences of an answer."""
    facts: list[Any] = [*answer.hints, *answer.warnings, *(warning.hint for warning in answer.warnings)]
    facts += answer.conditions
    facts += [answer.conflict, *answer.conflict.hints] if answer.conflict else []
    yield from (fact.message for fact in facts if fact is not None)


ERRORS: list[tuple[str, str]] = [
    (errors.shapes_text([(3,), (4,), ()]), "(3,), (4,) and ()"),
    (errors.shapes_text([(3,)], (3, 4)), "(3,) to (3, 4)"),
    (errors.operand_list("x + f(b)", [("x", (2, 3), "float32"), ("f(b)", (4,), "")]),
     "x + f(b): x (2, 3) float32, f(b) (4,)."),
    (errors.unknown_text([(3, 4), (5,)]),
     "axiscast does not know this error. Paste the end of the traceback, starting with the name of the "
     "exception, or check the shapes directly. The text ends with the shapes (3, 4) and (5,)."),
    (errors.invalid_shapes_text("a shape has 65 axes"),
     "The shapes in this message can't be checked. A shape has 65 axes."),
    (UNREAD.text,
     "This error seems to be about sizes or axes, but axiscast does not recognize this message."),
    (errors.refused_text("numpy.add", "(3,) and (4,)"), "numpy.add can't broadcast (3,) and (4,)."),
    (errors.refused_text("numpy.matmul", "(3,) and (4,)"), "numpy.matmul can't multiply (3,) and (4,)."),
    (errors.conditional_text("numpy.add", "(N,) and (M,)", ["N == M or N == 1 or M == 1"]),
     "numpy.add broadcasts (N,) and (M,) only if N == M or N == 1 or M == 1."),
    (errors.failed_text("numpy.add"), "numpy.add failed."),
    (errors.given_shapes_text("(3,) and (4,)"), "The message contains the shapes (3,) and (4,)."),
    (errors.missing_equation_text(),
     "The message does not contain the equation, so the einsum can't be checked."),
    (errors.joined_axis_text(1, "axis=1"),
     "The shapes differ only on axis 1. To join the arrays along it, write `axis=1`."),
    (error_advice.mask_text("x", "mask", 2), "The mask fits axis 2: write `x[:, :, mask]`."),
    (errors.fitting_text("numpy.add", "(3,) and (3,)"),
     "numpy.add can broadcast (3,) and (3,), so the message does not show the cause. Perhaps another argument "
     "causes the error, or these are the shapes of other tensors."),
    (errors.in_place_text("total", "+", "x", (5,), (3, 5), "numpy"),
     "An in-place operation can't change the shape of `total`. Reduce `x` to shape (5,) first, for example "
     "`total += x.sum(axis=0)`. If `total` should become larger, write `total = total + x`."),
    (errors.in_place_text("total", "-", "x - y", (2, 1), (2, 3), "torch"),
     "An in-place operation can't change the shape of `total`. Reduce `x - y` to shape (2, 1) first, for "
     "example `total -= (x - y).sum(dim=1, keepdim=True)`. If `total` should become larger, write `total = "
     "total - (x - y)`."),
    (errors.in_place_text("rows[0]", "*", "x", (5,), (3, 5), "numpy"),
     "An in-place operation can't change the shape of `rows[0]`. Reduce `x` to shape (5,) first."),
    (errors.in_place_text("total", "+", "x", (3,), (4,), "numpy"),
     "An in-place operation can't change the shape of `total`. Reduce `x` to shape (3,) first. If `total` "
     "should become larger, write `total = total + x`."),
    (errors.index_pairs_text("a", "i", "j + 1"), "To select all index pairs, write `a[i[:, None], (j + 1)]`."),
    (errors.other_reading_text("bias", "x", 8),
     "This uses one value of `bias` for each row of `x`. If you want one value for each column, `bias` must "
     "have size 8."),
    (errors.next_operand_text((5, 1), "y", (5,)),
     "The product then has shape (5, 1), and broadcasts with `y` of shape (5,) to (5, 5). To avoid this, also "
     "append `.squeeze(-1)` to the product."),
    (errors.class_labels_text("y", 10, "jax"), "If y contains class indices, use jax.nn.one_hot(y, 10)."),
    (errors.class_labels_text("y", 10, "jaxlib"), "If y contains class indices, use jax.nn.one_hot(y, 10)."),
    (errors.class_labels_text("y", 10, "numpy"), "If y contains class indices, use numpy.eye(10)[y]."),
    (errors.class_labels_text("y", 10, "tensorflow"), "If y contains class indices, use tf.one_hot(y, 10)."),
    (errors.class_labels_text("y", 10, "torch"),
     "If y contains class indices, use torch.nn.functional.one_hot(y, 10), or torch.nn.functional.cross_entropy."),
    (errors.class_labels_text("y", 10, "mlx"),
     "If y contains class indices, convert it to one-hot vectors of length 10."),
    (errors.features_text(7, 9, "input (2, 9)", 9),
     "The layer has in_features=7, but the last axis of its input (2, 9) has size 9. Write in_features=9, or "
     "swap the two arguments, because out_features is 9."),
    (errors.missing_shapes_text(["a", "b"], "torch.add"),
     "The message does not contain the shapes. Print the shapes of `a` and `b`, and check torch.add with these "
     "shapes."),
    (errors.missing_shapes_text([], ""),
     "The message does not contain the shapes. Print the shapes of the operands, and check them."),
    (errors.summed_sizes_text(7, 3, "k"),
     "The sizes must be equal, but they are 7 and 3. If the last axis of `k` has size 7, write `k.swapaxes(-1, "
     "-2)`."),
    (errors.axis_sizes_text([5, 7], None),
     "Sizes 5 and 7 conflict on an axis. They must be equal, or one of them must be 1."),
    (errors.axis_sizes_text([5, 7], 2, ("x", "b")),
     "On axis 2 of the result, `x` has size 5, but `b` has size 7. The sizes must be equal, or one of them must"
     " be 1."),
    (errors.one_axis_text("x", "b", 1, 3), "If `b` is a vector for axis 1 of `x`, write `b[:, None, None]`."),
    (errors.first_axis_text("m == 0", 2),
     "If `m == 0` belongs to the first axis of the tensor, write `(m == 0)[:, None, None]`."),
    (errors.first_axis_text("m ==\n0", 1),
     "If `m ==\n0` belongs to the first axis of the tensor, write `(m ==\n0)[:, None]`."),
]  # fmt: skip


CHANGES: list[tuple[str, str, str, tuple[int, ...], str, str]] = [
    ("reshape", "numpy.add", "x", (4, 1), "[:, None]", "write `x[:, None]`, of shape (4, 1)"),
    ("transpose", "torch.matmul", "weight.T", (3, 4), ".T", "transpose weight: write `weight.T`"),
    ("transpose", "numpy.matmul", "x", (3, 4), ".T", "write `x.T`, of shape (3, 4)"),
    ("transpose", "array_api.matmul", "x", (3, 4), "", "transpose x to (3, 4): write `x.T`"),
    ("transpose", "array_api.matmul", "x", (5, 3, 4), "", "transpose x to (5, 3, 4)"),
    ("transpose", "tensorflow.matmul", "x", (3, 4), "",
     "transpose x to (3, 4): write `tf.linalg.matrix_transpose(x)`"),
    ("swap-axes", "litert.ADD", "x", (5, 3, 4), "", "swap axes 0 and 1 of x"),
]  # fmt: skip


@cases(("code", "op", "name", "shape", "suffix", "sentence"), CHANGES)
def test_a_change_shows_its_code(
    code: str, op: str, name: str, shape: tuple[int, ...], suffix: str, sentence: str
) -> None:
    request = {"op": {"name": op}, "inputs": [list(shape)]}
    hint = {"code": code, "input": 0, "axes": [0, 1], "shape": shape, "suffix": suffix, "request": request}
    assert errors.change_with_code(hint, Names([name])) == sentence


@cases(("text", "sentence"), ERRORS, ids=str)
def test_an_error_has_its_sentence(text: str, sentence: str) -> None:
    assert text == sentence


@cases(("op", "shapes", "attributes", "sentence"), [*CONFLICTS, *CONDITIONS, *HINTS], ids=str)
def test_a_conflict_has_its_sentence_and_hints(
    op: str, shapes: list[tuple[Any, ...]], attributes: dict[str, Any], sentence: str
) -> None:
    assert sentence in [*sentences(axiscast.check(op, *shapes, **attributes))]


@cases(("op", "shapes", "sentence"), WARNINGS, ids=str)
def test_a_warning_has_its_sentence(op: str, shapes: list[tuple[Any, ...]], sentence: str) -> None:
    assert sentence in [*sentences(axiscast.check(op, *shapes, warn=["mutual-stretch", "rank-promotion"]))]


def test_the_fix_of_an_outer_product_has_its_own_hint() -> None:
    (warning,) = axiscast.check(ADD, (5,), (5, 1)).warnings
    assert warning.hint is not None
    assert warning.hint.message == "write input 1 as `b.squeeze(-1)`, of shape (5,): the result is (5,)"


@cases(
    ("old", "new", "code"),
    [
        ("64", "64 1 1", "[:, None, None]"),
        ("9 9", "9 1 9", "[:, None]"),
        ("3", "1 3", "[None]"),
        ("1 3", "3", ".squeeze(0)"),
        ("0 1", "0", ".squeeze(-1)"),
        ("1 1 3", "3", ".squeeze((0, 1))"),
        ("3 4", "4 3", ".T"),
        ("2 3 4", "2 4 3", ".swapaxes(1, 2)"),
        ("2 3", "3", ""),
        ("2 3", "2 4", ""),
        ("2", "3 1", ""),
    ],
)
def test_a_change_of_shape_is_written_as_code(old: str, new: str, code: str) -> None:
    one, other = ([int(size) for size in shape.split()] for shape in (old, new))
    assert reshape_code(one, other, FRAMEWORKS["numpy"]) == code
