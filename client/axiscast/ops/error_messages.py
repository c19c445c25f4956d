"""Patterns of the error messages that frameworks raise if shapes do not broadcast. Each file has a list, MESSAGES."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class ErrorMessage(NamedTuple):
    """The pattern of an error message, and the check that the message describes."""

    text: str
    """The message, with one blank for each run of white space. Angle brackets mark the parts that vary:

    `<0>`, `<1>`: the shape of this input
    `<*>`: the shapes of all inputs; `<*compact>`: the same without blanks inside a shape
    `<0x>`: the shape of this input, written 2x3
    `<:>`: the shapes of all inputs, each after its type, as in `Parameter_1[0]:f32[3,4]`
    `<=size>`: the value of the attribute `size`, a shape
    `<pattern>`, `<%axes_lengths>`: the value of this attribute of einops, a string or a mapping of sizes
    `<#>`, `<#1>`: a conflicting size, or that of input 1; `<@>`: the output axis of the conflict
    `<node>`: the framework's name of the operation, one word
    `<...>`: a short text up to the next words of the pattern
    """
    op: str | tuple[str, ...] | None = None
    """The name of the op, or several names, of which the first that accepts the number of inputs is used.

    `{node}` stands for the text of `<node>`. The value is None if the message does not tell the op.
    """
    nodes: Mapping[str, str] = {}
    """The ops of certain nodes by the text of `<node>`. Every other node has the op `op`."""
    attributes: Mapping[str, Any] = {}
    """The attributes of the op that the message implies."""
    ranks: int | None = None
    """The largest rank of inputs for which the op is right, or None."""
    about: str = ""
    """A sentence on what happened, if a check of the shapes does not explain it."""
