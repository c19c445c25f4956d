"""The ops, one file a framework: files.py finds them. `from tensorcast.ops import ngraph` is the import that types
know."""

from .base import Op
from .fields import AnyOp, ByName, IntegerOpField, OpField
from .files import FRAMEWORKS, OPS
from .framework import Framework
from .lowering import align, exceeds_rank, from_plan, lower

__all__ = [
    "FRAMEWORKS",
    "OPS",
    "AnyOp",
    "ByName",
    "Framework",
    "IntegerOpField",
    "Op",
    "OpField",
    "align",
    "exceeds_rank",
    "from_plan",
    "lower",
]
