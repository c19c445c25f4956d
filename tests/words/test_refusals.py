"""The table of sentences about conflicts that are not conflicts of sizes: ranks, axes, entries, equations, patterns."""

from __future__ import annotations

from typing import Any

from cases import cases

import axiscast

REFUSALS: list[tuple[str, list[tuple[Any, ...]], dict[str, Any], str]] = [
    ("paddle.broadcast_tensors", [(1, 1, 1, 1, 1, 1, 1)], {},
     "The op takes at most 6 axes, but this request needs 7."),
    ("paddle.expand", [(3,)], {"shape": (1, 1, 1, 1, 1, 1, 1, 1, 3)},
     "The op takes at most 8 axes, but this request needs 9."),
    ("tensorflow.matmul", [(2,), (2, 3)], {},
     "Input 0 of shape (2,) has 1 axis, but the op takes at least 2."),
    ("onnx.Gemm", [(2, 3, 4), (3, 4)], {},
     "Input 0 of shape (2, 3, 4) has 3 axes, but the op takes 2."),
    ("onnx.Gemm", [(2, 3), (3, 4), (1, 2, 4)], {},
     "Input 2 of shape (1, 2, 4) has 3 axes, but the op takes at most 2."),
    ("torch.masked_fill", [(2, 3), (3,), (3,)], {},
     "Input 2 of shape (3,) must be a scalar. To take values from a tensor, use torch.where."),
    ("ngraph.Broadcast", [(3,)], {"shape": (2, 3, 4), "broadcast_axes": (0,)},
     "Input 0 of shape (3,) has 1 axis and broadcast_axes=[0] adds 1, but the target (2, 3, 4) has 3. List "
     "exactly the target axes that the input lacks."),
    ("linalg.broadcast", [(3,)], {"shape": (2, 3, 4), "dimensions": (0,)},
     "Input 0 of shape (3,) has 1 axis and dimensions=[0] adds 1, but the target (2, 3, 4) has 3. List exactly "
     "the target axes that the input lacks."),
    ("openvino.Add-1", [(2, 3), (3, 4)], {"auto_broadcast": "pdpd", "axis": 1},
     "Input 1 of shape (3, 4) starts at axis 1, so it does not fit inside input 0 of shape (2, 3). The op can't"
     " add axes to input 0."),
    ("openvino.Add-1", [(2, 3), (3,)], {"auto_broadcast": "none"},
     "Input 0 of shape (2, 3) has 2 axes, but input 1 of shape (3,) has 1, and the op does not add axes. "
     "auto_broadcast='none' requires equal shapes."),
    ("openvino.Broadcast-1", [(3,)], {"mode": "pdpd", "target_shape": (2, 3, 4), "axis": 1},
     "Input 0 of shape (3,) starts at axis 1, but must reach the last axis of the target (2, 3, 4). Give it 2 "
     "axes, or write axis=-1 to align it on the right."),
    ("openvino.Broadcast-1", [(3,)], {"mode": "pdpd", "target_shape": (2, 3, 4), "axis": -2},
     "axis=-2 is not valid. Axes are numbered from 0, and -1 aligns the input on the right."),
    ("xla.Add", [(2, 3), (3,)], {},
     "Input 1 of shape (3,) has 1 axis, but input 0 of shape (2, 3) has 2, and the op does not add axes. In "
     "broadcast_dimensions, list the output axis of each axis of the smaller input."),
    ("mxnet.broadcast_like", [(2, 3), (3,)], {},
     "Input 0 of shape (2, 3) has 2 axes, but input 1 of shape (3,) has 1, and the op does not add axes. Set "
     "lhs_axes and rhs_axes, or reshape one input first."),
    ("mxnet.broadcast_to", [(3,)], {"shape": (2, 3)},
     "Input 0 of shape (3,) has 1 axis, but the target (2, 3) has 2, and the op does not add axes. Reshape the "
     "input first."),
    ("einops.repeat", [(2,)], {"pattern": "h w -> h w"},
     "Input 0 of shape (2,) has 1 axis, but the left side of 'h w -> h w' requires 2."),
    ("einops.repeat", [()], {"pattern": "h ... -> h ..."},
     "Input 0 of shape () has 0 axes, but the left side of 'h ... -> h ...' requires at least 1."),
    ("onnx.Tile", [(2, 3)], {"repeats": (2,)},
     "repeats=[2] has 1 entry, but input 0 of shape (2, 3) has 2 axes. The op needs 2 entries."),
    ("torch.repeat", [(2, 3)], {"repeats": (2,)},
     "repeats=[2] has 1 entry, but input 0 of shape (2, 3) has 2 axes. The op needs at least 2 entries."),
    ("torch.repeat", [(2,)], {"repeats": ()},
     "repeats=[] has 0 entries, but input 0 of shape (2,) has 1 axis. The op needs at least 1 entry."),
    ("stablehlo.broadcast_in_dim", [(2, 3)], {"shape": (2, 3), "broadcast_dimensions": (0,)},
     "broadcast_dimensions=[0] has 1 entry, but input 0 of shape (2, 3) has 2 axes. The op needs 2 entries."),
    ("mxnet.broadcast_axis", [(1, 3)], {"axis": (0, 1), "size": (2,)},
     "axis=[0, 1] has 2 entries, but size=[2] has 1 entry. Both must have the same number of entries."),
    ("mxnet.broadcast_like", [(1, 3), (2, 3)], {"lhs_axes": (), "rhs_axes": ()},
     "lhs_axes and rhs_axes are empty. Name an axis in each, or omit both."),
    ("mxnet.broadcast_like", [(1, 3), (2, 3)], {"lhs_axes": (2,), "rhs_axes": (0,)},
     "lhs_axes=[2] names axis 2, but input 0 of shape (1, 3) has only axes 0 and 1."),
    ("stablehlo.broadcast_in_dim", [(2, 3)], {"shape": (2, 3), "broadcast_dimensions": (0, 2)},
     "broadcast_dimensions=[0, 2] names axis 2, but the target (2, 3) has only axes 0 and 1."),
    ("stablehlo.broadcast_in_dim", [(2,)], {"shape": (), "broadcast_dimensions": (0,)},
     "broadcast_dimensions=[0] names axis 0, but the target () is a scalar, which has no axes."),
    ("stablehlo.broadcast_in_dim", [(2, 3)], {"shape": (2, 3), "broadcast_dimensions": (1, 1)},
     "broadcast_dimensions=[1, 1] names axis 1 twice. Name each axis once."),
    ("xarray.broadcast", [(2, 2)], {"dims": [["x", "x"]]},
     "dims gives two axes of input 0 of shape (2, 2) the same name: ['x', 'x']. Rename one of them."),
    ("xla.Add", [(2, 3, 4), (2, 3)], {"broadcast_dimensions": (1, 0)},
     "broadcast_dimensions=[1, 0] must be in ascending order, because the op does not transpose. Transpose the "
     "input first."),
    ("numpy.tile", [(2, 3)], {"reps": (2, -1)},
     "reps=(2, -1) has -1 for output axis 1. The number of copies must not be negative."),
    ("numpy.tile", [(2, 3)], {"reps": (4611686018427387904,)},
     "reps=(4611686018427387904,) makes 4611686018427387904 copies of size 3 on output axis 1. The axis would "
     "then have size 13835058055282163712, but the largest size is 2^63-1."),
    ("einops.repeat", [(2,)], {"pattern": "w -> w c", "axes_lengths": {"c": -1}},
     "axes_lengths gives 'c' the length -1. A length must not be negative."),
    ("numpy.einsum", [(2, 3)], {"equation": "......ij->ij"},
     "The equation '......ij->ij' has '...' twice in one operand."),
    ("opt_einsum.contract", [(2, 3)], {"equation": "i.->i"},
     "The equation 'i.->i' contains '.', which can't name an axis."),
    ("einops.repeat", [(2,)], {"pattern": "w"},
     "The pattern must contain one '->', with names on both sides, as in 'h w -> h w c'."),
    ("einops.repeat", [(2,)], {"pattern": "((w)) -> w"},
     "The pattern has parentheses inside parentheses."),
    ("einops.repeat", [(2,)], {"pattern": "w) -> w"},
     "The pattern has a ')' without a '(' before it."),
    ("einops.repeat", [(2,)], {"pattern": "(w -> w"},
     "The pattern has a '(' without a ')' after it."),
    ("einops.repeat", [(2,)], {"pattern": "... ... -> ..."},
     "The pattern has '...' twice on one side."),
    ("einops.repeat", [(2,)], {"pattern": "(...) -> ..."},
     "The pattern has '...' inside parentheses on its left side. Write names instead of '...' there."),
    ("einops.repeat", [(2,)], {"pattern": "2 w -> w"},
     "The pattern has the number 2 as an axis. Use a name: only the right side may contain numbers, and they "
     "must be positive."),
    ("einops.repeat", [(2,)], {"pattern": "w_ -> w_"},
     "The pattern contains 'w_', which is not a valid name. A name has letters, digits and underscores, but "
     "does not begin or end with an underscore."),
    ("einops.repeat", [(2,)], {"pattern": "w w -> w"},
     "The pattern has 'w' twice on one side."),
    ("einops.repeat", [(2,)], {"pattern": "w h -> w"},
     "The pattern has 'h' only on its left side, but repeat can't remove axes. Use einops.reduce."),
    ("einops.rearrange", [(2,)], {"pattern": "w -> w h"},
     "The pattern has 'h' only on its right side, but rearrange can't add axes. Use einops.repeat."),
    ("einops.repeat", [(2,)], {"pattern": "w -> w ..."},
     "The pattern has '...' only on its right side. Write it on the left side too."),
    ("einops.repeat", [(2,)], {"pattern": "w -> w h"},
     "The pattern adds the axis 'h', but axes_lengths gives no length for it."),
    ("einops.repeat", [(2,)], {"pattern": "(w h) -> w h"},
     "To split an axis into (w h), axes_lengths needs the lengths of all of these names except one."),
    ("einops.repeat", [(2,)], {"pattern": "w -> w", "axes_lengths": {"h": 2}},
     "axes_lengths has 'h', which is not in the pattern."),
    ("einops.einsum", [(2,)], {"pattern": "... ... -> i"},
     "The pattern '... ... -> i' has '...' twice in one operand."),
    ("einops.einsum", [(2,)], {"pattern": "... -> ... ..."},
     "The pattern '... -> ... ...' has '...' twice in its output."),
]  # fmt: skip


@cases(("op", "shapes", "attributes", "sentence"), REFUSALS, ids=str)
def test_a_refusal_has_its_sentence(
    op: str, shapes: list[tuple[Any, ...]], attributes: dict[str, Any], sentence: str
) -> None:
    conflict = axiscast.check(op, *shapes, **attributes).conflict
    assert conflict is not None
    assert conflict.message == sentence
