"""The ONNX ops that broadcast, and the ops in ops/onnx.py that have their rules."""

from __future__ import annotations

from functools import cache

from ...ops import Op, op_class
from ...ops.onnx import Add

FIRST_OPSET = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater", "PRelu"), 7),
    **dict.fromkeys(("Max", "Min", "Mean", "Sum"), 8),
    "Gemm": 7,
    "MatMul": 1,
    "MatMulInteger": 10,
    "Expand": 8,
    "Where": 9,
    "Mod": 10,
    "BitShift": 11,
    **dict.fromkeys(("LessOrEqual", "GreaterOrEqual"), 12),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), 18),
    "StringConcat": 20,
}
"""The ops that broadcast. The value for each op is the first opset in which it follows its current broadcasting
rule."""


@cache
def rule_of(op_type: str) -> type[Op]:
    """Return the op that has the broadcasting rule of an ONNX op."""
    return op_class(f"onnx.{op_type}") or Add
