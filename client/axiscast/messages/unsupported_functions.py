"""Advice about framework functions that are not ops: what each function does, and what to check instead."""

from __future__ import annotations

from ..ops import OPS, op_class
from ..ops.aliases import full_name
from ..ops.families import Multidirectional

_IN_PLACE = (
    "changes input 0 in place, which does not expand: check {into} with the shape of another input as the input and "
    "that of input 0 as the target"
)
_GROUPS = {
    "tile tinygrad.repeat": "repeats whole copies of an array along its axes: check {tile}",
    "repeat repeat_interleave": "repeats each element, also along sizes above 1: check {into} if only a size 1 is "
    "repeated",
    "cat concat concatenate stack hstack vstack dstack column_stack row_stack block": "joins arrays whose other sizes "
    "must be equal, and does not broadcast: make the sizes equal with {into} first",
    "reshape view flatten ravel squeeze unsqueeze expand_dims unflatten reshape_as view_as newaxis atleast_1d "
    "atleast_2d atleast_3d": "changes the shape of one array and does not broadcast: use the new shape as an input of "
    "a check",
    "transpose permute permute_dims swapaxes moveaxis movedim t": "reorders the axes of one array and does not "
    "broadcast: use the new shape as an input of a check",
    "gather gather_nd take take_along_axis index_select scatter scatter_nd slice gatherelements gathernd index_put "
    "put": "reads or writes elements by index, which is not a broadcast: use the result's shape as an input of a check",
    "sum mean prod any all reduce_sum reduce_mean argmax argmin": "removes axes of one array and does not broadcast: "
    "use the result's shape as an input of a check",
    "allclose array_equal array_equiv mlx.core.array_equal": "compares whole arrays and returns one bool: check "
    "{by_element}, which compares element by element",
    "mse_loss l1_loss smooth_l1_loss huber_loss": "returns one number by default: to see the shape before the "
    "reduction, check {together} with the shapes of the input and the target",
    "clip clamp clip_by_value": "keeps the shape of input 0, and each bound must broadcast to it: check {into} with "
    "the shape of a bound as the input and that of input 0 as the target",
    "bmm": "multiplies equal stacks of matrices and does not broadcast: for stacks of matrices that broadcast, check "
    "{matmul}",
    "mm": "multiplies two matrices and does not broadcast: for stacks of matrices that broadcast, check {matmul}",
    "mv": "multiplies a matrix by a vector and does not broadcast: for stacks of matrices that broadcast, check "
    "{matmul}",
    "dot": "sums products and does not broadcast stacks: for stacks of matrices that broadcast, check {matmul}",
    "vdot": "multiplies two flattened arrays to one number and does not broadcast: check {matmul} for matrices",
    "inner": "sums over the last axes and combines all others, without broadcasting: check {matmul} for matrices",
    "outer": "combines every element with every other: check {together} with the shapes (N, 1) and (M,)",
    "vecdot": "sums products over the last axes, which must be equal: check {together} with the other axes of both "
    "arrays",
    "matvec": "multiplies stacks of matrices by stacks of vectors: check {matmul}, with a 1 after the sizes of the "
    "vector",
    "vecmat": "multiplies stacks of vectors by stacks of matrices: check {matmul}, with a 1 before the last size of "
    "the vector",
    "kron": "multiplies all pairs of elements, and does not broadcast: each size of the result is the product of two "
    "sizes",
    "tensordot": "sums over axes that you name, without broadcasting: check {matmul} for stacks of matrices",
    "einsum": "sums products by an equation: check numpy.einsum, whose rule may be equivalent",
    "matmul": "multiplies stacks of matrices, but its rule is not known: {matmul} may be equivalent",
    "addmm baddbmm addmv": "adds a matrix product to input 0, and broadcasts only input 0: check {matmul} for the "
    "product",
    "linear": "multiplies input 0 by the transposed weight and adds a bias: check {matmul}, then add the bias",
    "torch.equal": "compares two whole tensors and returns one bool (False if their shapes differ): check torch.eq, "
    "which compares element by element",
    "einops.reduce": "removes axes that the right side of its pattern lacks, and does not broadcast: use the reduced "
    "shape as an input of a check",
    "jax.lax.select": "takes arrays of equal shapes, and a condition that is a scalar or has the same shape: check "
    "jax.numpy.where, which broadcasts",
    "jax.lax.clamp": "takes bounds that are scalars or have the shape of the operand: check jax.numpy.clip, which "
    "broadcasts",
    "jax.lax.dot": "multiplies vectors and matrices and does not broadcast: check jax.numpy.matmul for stacks",
    "mxnet.elemwise_add mxnet.elemwise_sub mxnet.elemwise_mul mxnet.elemwise_div": "takes two arrays of equal shapes "
    "and does not broadcast: check mxnet.broadcast_add",
    "mxnet.where": "takes two arrays of equal shapes and does not broadcast them: check mxnet.np.where",
}
ADVICE = {name: text for names, text in _GROUPS.items() for name in names.split()}
"""The effect of each function that is not an op, keyed by the last part of its name.

A whole name is a key if the last part has another meaning in one framework. _OPS lists the ops for the placeholders.
"""
_OPS = {
    "into": "broadcast_to expand Expand Broadcast-3 broadcast_in_dim repeat",
    "together": "broadcast_arrays broadcast_tensors add Add broadcast_add Add-1",
    "by_element": "add Add broadcast_add broadcast_arrays",
    "matmul": "matmul MatMul",
    "tile": "tile",
}


def advice_on(name: str, framework: str | None) -> str | None:
    """Return what a framework's function does and what to check instead, or None if the function is unknown."""
    full = full_name(name).lower()
    short = full.replace("torch.tensor.", "torch.").replace("mxnet.nd.", "mxnet.")
    tail = full.rpartition(".")[2].partition("-")[0]
    text = ADVICE.get(short) if "." in short else None
    text = text or (ADVICE.get(tail) if framework else None)
    if framework in ("torch", "paddle") and _is_in_place(full_name(name)):
        text = _IN_PLACE
    ops = {use: _first(framework or "numpy", tails.split()) for use, tails in _OPS.items()} if text else {}
    return text and f"it {text.format(**ops)}"


def _is_in_place(name: str) -> bool:
    """Return whether a name denotes an elementwise function that changes its input in place, such as torch.add_."""
    rule = op_class(name[:-1]) if name.endswith("_") else None
    return rule is not None and issubclass(rule, Multidirectional)


def _first(framework: str, tails: list[str]) -> str:
    """Return the framework's first op with one of these last parts, or NumPy's if the framework has no such op."""
    own = [name for name in OPS if name.partition(".")[0] == framework]
    found = (name for tail in tails for name in own if name.rpartition(".")[2] == tail or name == f"{framework}.{tail}")
    return next(found, None) or _first("numpy", tails)
