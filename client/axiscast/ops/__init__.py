"""The ops, in one file for each framework. discovery.py finds the files, so no list has to be kept."""

from .base import Op
from .discovery import ALIASES, FRAMEWORKS, OPS, list_error_messages, op_class, read_op
from .fields import IntegerOpField, OpField, OpMapField, UnionByName
from .framework import Framework
from .lowering import align, exceeds_rank, from_plan, lower

__all__ = [
    "ALIASES",
    "FRAMEWORKS",
    "OPS",
    "Framework",
    "IntegerOpField",
    "Op",
    "OpField",
    "OpMapField",
    "UnionByName",
    "align",
    "exceeds_rank",
    "from_plan",
    "list_error_messages",
    "lower",
    "op_class",
    "read_op",
]
