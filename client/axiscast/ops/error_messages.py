"""Patterns for the error messages that frameworks raise if shapes do not broadcast.

Each framework's file has a table of its patterns in MESSAGES, and patterns that need further fields in NODE_MESSAGES.
"""

import re
from collections.abc import Mapping
from inspect import cleandoc
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
    `<?transpose_a>`: the value of this attribute, which is true or false
    `<#>`, `<#1>`: a conflicting size, or the conflicting size of input 1; `<@>`: the output axis of the conflict
    `<node>`: the framework's name for the operation, which is one word
    `<...>`: a short text up to the next words of the pattern
    """
    ops: tuple[str, ...] = ()
    """The names of the ops that raise the error. The first op that accepts the number of inputs is used.

    `{node}` is replaced by the text of `<node>`. There are no names if the message does not identify the op.
    """
    nodes: Mapping[str, str] = {}
    """The op names for certain nodes, keyed by the text of `<node>`. For all other nodes, `ops` is used."""
    attributes: Mapping[str, Any] = {}
    """The op's attributes that the message implies."""
    ranks: int | None = None
    """The maximum input rank for which the op is correct, or None if there is no limit."""
    about: str = ""
    """A sentence that explains the error, if a check of the shapes does not explain it."""


def error_messages(table: str) -> list[ErrorMessage]:
    """Return the patterns in a table, which has an entry `op, op | text` for each pattern.

    An entry continues on indented lines. `# ` begins the sentence that is `about` the error.

    >>> error_messages("numpy.matmul | shapes <0> and <1> not aligned")[0].ops
    ('numpy.matmul',)
    """
    messages = []
    for entry in re.split(r"\n(?! )", cleandoc(table)):
        pattern, _, about = entry.partition("\n    # ")
        ops, _, text = re.sub(r"\n +", " ", pattern).partition("| ")
        names = tuple(ops.strip().split(", ")) if ops else ()
        messages.append(ErrorMessage(text, names, about=re.sub(r"\n +", " ", about)))
    return messages
