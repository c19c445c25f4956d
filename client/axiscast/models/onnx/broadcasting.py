"""The ONNX ops that broadcast, and the ops in ops/onnx.py that have their rules."""

from __future__ import annotations

from functools import cache

from onnx import defs

from ...ops import Op, op_class
from ...ops.onnx import Add

_VARIADIC = frozenset(("Max", "Min", "Mean", "Sum"))
BROADCASTING_OPS = _VARIADIC.union(
    """Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Expand Gemm Greater GreaterOrEqual Less LessOrEqual
    MatMul MatMulInteger Mod Mul Or PRelu Pow StringConcat Sub Where Xor""".split()  # noqa: SIM905
)
"""The ops that broadcast at least one of their inputs."""


@cache
def follows_rule(op_type: str, opset: int) -> bool:
    """Return whether a broadcasting op is defined in an opset, and has the rule of today there."""
    return opset >= (8 if op_type in _VARIADIC else 7) and defs.has(op_type, opset, "")


@cache
def rule_of(op_type: str) -> type[Op]:
    """Return the op that has the broadcasting rule of an ONNX op."""
    return op_class(f"onnx.{op_type}") or Add
