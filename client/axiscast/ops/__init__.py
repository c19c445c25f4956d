"""The ops of all frameworks, in one file per framework. discovery.py finds these files, so no list is necessary."""

from .base import Op, op_to_dict
from .discovery import ALIASES, FRAMEWORKS, OPS, are_all_loaded, list_error_messages, op_class, own_ops, read_op
from .fields import IntegerOpField, OpField, OpMapField, UnionByName
from .framework import Framework
from .lowering import align, exceeds_rank, from_plan, lower

__all__ = [
    "ALIASES", "FRAMEWORKS", "OPS", "Framework", "IntegerOpField", "Op", "OpField", "OpMapField", "UnionByName",
    "align", "are_all_loaded", "exceeds_rank", "from_plan", "list_error_messages", "lower", "op_class",
    "op_to_dict", "own_ops", "read_op",
]  # fmt: skip
