"""Alias: another name for the rule of an op. A framework's file has them as data, ALIASES."""

from types import new_class
from typing import NamedTuple, cast

from .base import Op

NICKNAMES = {"np": "numpy", "jnp": "jax.numpy", "tf": "tensorflow"}
"""The import names that stand for the first part of an op's name."""


class Alias(NamedTuple):
    """A function that broadcasts its inputs by the rule of an op."""

    rule: type[Op]
    inputs: int | None = None
    """How many inputs the function takes; None if it takes as many as the rule."""
    max_rank: int | None = None
    """The largest rank that the function takes; None if it takes the rule's."""


def aliases(rule: type[Op], functions: str, *modules: str, **limits: int) -> dict[str, Alias]:
    """Return an alias of `rule` for each of the `functions`, words in a text, in each of the `modules`."""
    alias = Alias(rule, **limits)
    return {f"{module}.{function}": alias for module in modules for function in functions.split()}


def full_name(name: str) -> str:
    """Return a name with its nickname written out: numpy.add for np.add."""
    head, dot, tail = name.partition(".")
    return f"{NICKNAMES[head]}.{tail}" if dot and head in NICKNAMES else name


def named(name: str, alias: Alias) -> type[Op]:
    """Return the rule's class as it is applied under the name of an alias."""
    own: dict[str, object] = {"__module__": alias.rule.__module__, "__doc__": alias.rule.__doc__, "alias": name}
    if alias.inputs is not None:
        own |= {"min_inputs": alias.inputs, "max_inputs": alias.inputs}
    if alias.max_rank is not None:
        own |= {"max_rank": alias.max_rank}
    return cast("type[Op]", new_class(alias.rule.__name__, (alias.rule,), {}, lambda space: space.update(own)))
