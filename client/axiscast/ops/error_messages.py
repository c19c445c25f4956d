"""ErrorMessage: how a framework words the error that shapes do not broadcast. Each file lists its own in MESSAGES."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class ErrorMessage(NamedTuple):
    """One wording, and the check that is in it."""

    text: str
    """The wording, with a blank for each run of white space. What changes stands between angle brackets:

    `<0>`, `<1>`: the shape of this input
    `<*>`: the shapes of all inputs; `<*compact>`: the same, with no blanks in them
    `<0x>`: the shape of this input, written 2x3
    `<:>`: the shapes of all inputs, each after its type, as in `Parameter_1[0]:f32[3,4]`
    `<=size>`: the value of the attribute `size`, a shape
    `<pattern>`, `<%axes_lengths>`: the value of the attribute einops calls so, a text or a map of sizes
    `<#>`, `<#1>`: a size that conflicts; that of input 1. `<@>`: the output axis of the conflict
    `<node>`: the framework's name of the operation, a word
    `<...>`: any text up to the next words, short
    """
    op: str | tuple[str, ...] | None = None
    """The op, or several, of which the first that takes so many inputs is meant. `{node}` in it is that word. None: the
    text does not say, or there is no such op."""
    nodes: Mapping[str, str] = {}
    """The ops of certain nodes; `op` is that of all others."""
    attributes: Mapping[str, Any] = {}
    """Attributes of the op that the wording implies."""
    ranks: int | None = None
    """The largest rank of inputs that the op is right for."""
    about: str = ""
    """What happened, as a sentence, if a check of the shapes does not say it."""
