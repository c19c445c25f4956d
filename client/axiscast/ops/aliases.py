"""Aliases: everyday functions that follow the rule of an op. Each framework's module lists its own in ALIASES."""

from types import new_class
from typing import NamedTuple, cast

from .base import Op

IMPORT_NAMES = {"np": "numpy", "jnp": "jax.numpy", "tf": "tensorflow"}
"""Common import names, with the start of an op's name that they replace."""


class Alias(NamedTuple):
    """A function that broadcasts its inputs by the rule of an op."""

    rule: type[Op]
    inputs: int | None = None
    """The number of inputs of the function, or None if it is that of the rule."""
    max_rank: int | None = None
    """The largest rank that the function takes, or None if it is that of the rule."""


def aliases(rule: type[Op], functions: str, *modules: str, **limits: int) -> dict[str, Alias]:
    """Return an alias of `rule` for each function in each module. `functions` is a string of names and spaces."""
    alias = Alias(rule, **limits)
    return {f"{module}.{function}": alias for module in modules for function in functions.split()}


def full_name(name: str) -> str:
    """Return a name with the module's full name instead of its import name: numpy.add for np.add."""
    head, dot, tail = name.partition(".")
    return f"{IMPORT_NAMES[head]}.{tail}" if dot and head in IMPORT_NAMES else name


def named(name: str, alias: Alias) -> type[Op]:
    """Return the class of an alias: a subclass of its rule with the name and the limits of the alias."""
    own: dict[str, object] = {"__module__": alias.rule.__module__, "__doc__": alias.rule.__doc__, "alias": name}
    if alias.inputs is not None:
        own |= {"min_inputs": alias.inputs, "max_inputs": alias.inputs}
    if alias.max_rank is not None:
        own |= {"max_rank": alias.max_rank}
    return cast("type[Op]", new_class(alias.rule.__name__, (alias.rule,), {}, lambda space: space.update(own)))
