"""Patterns for the error messages that frameworks raise if shapes do not broadcast.

Each framework's file lists its patterns in MESSAGES.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class ErrorMessage(NamedTuple):
    """The pattern of an error message, and the check that the message describes."""

    text: str
    """The error message, in which each run of white space is written as one space.

    Angle brackets mark the parts that vary:

    `<0>`, `<1>`: the shape of this input
    `<*>`: the shapes of all inputs; `<*compact>`: the same without spaces inside a shape
    `<0x>`, `<0,>`: the shape of this input, written as 2x3 or as 2,3
    `<:>`: the shapes of all inputs, each after its type, as in `Parameter_1[0]:f32[3,4]`
    `<=size>`: the value of the attribute `size`, which is a shape
    `<pattern>`, `<%axes_lengths>`: the value of this einops attribute, a string or a mapping of sizes
    `<#>`, `<#1>`: a conflicting size, or the conflicting size of input 1; `<@>`: the output axis of the conflict
    `<node>`: the framework's name for the operation, which is one word
    `<...>`: a short text up to the next words of the pattern
    """
    op: str | tuple[str, ...] | None = None
    """The name of the op, or several names. If there are several, the first op that accepts the input count is used.

    `{node}` is replaced by the text of `<node>`. The value is None if the message does not identify the op.
    """
    nodes: Mapping[str, str] = {}
    """The op names for certain nodes, keyed by the text of `<node>`. For all other nodes, `op` is used."""
    attributes: Mapping[str, Any] = {}
    """The op's attributes that the message implies."""
    ranks: int | None = None
    """The maximum input rank for which the op is correct, or None if there is no limit."""
    about: str = ""
    """A sentence that explains the error, if a check of the shapes does not explain it."""
