"""Aliases, which are common functions that follow an op's rule.

Each framework's module lists its aliases in ALIASES.
"""

from types import new_class
from typing import Any, NamedTuple, cast

from .base import Op

IMPORT_NAMES = {
    "np": "numpy",
    "jnp": "jax.numpy",
    "tf": "tensorflow",
    "xp": "array_api",
    "array_api_strict": "array_api",
    "matlab": "octave",
}
"""The full module name for each common import name, such as "numpy" for "np"."""

ORDERINGS = "not_equal less less_equal greater greater_equal"
LOGICAL = "logical_and logical_or logical_xor"
BITWISE = "bitwise_and bitwise_or bitwise_xor"
SHIFTS = "bitwise_left_shift bitwise_right_shift"
ELEMENTWISE = f"subtract multiply divide maximum minimum equal {ORDERINGS} {LOGICAL} {BITWISE}"
"""The elementwise functions that most frameworks have, with these names."""
FLOAT_FUNCTIONS = "fmod fmax fmin arctan2 hypot copysign nextafter ldexp logaddexp logaddexp2"
UFUNCS = f"""{ELEMENTWISE} {FLOAT_FUNCTIONS} true_divide floor_divide remainder mod power float_power left_shift
    right_shift isclose"""
"""The functions of NumPy that most of its followers have."""
SHORT_COMPARISONS = "eq ne lt le gt ge"


class Alias(NamedTuple):
    """A function that broadcasts its inputs by an op's rule."""

    rule: type[Op]
    inputs: int | None = None
    """The number of inputs of the function, or None if the function has as many inputs as the rule."""
    max_rank: int | None = None
    """The maximum rank that the function accepts, or None if the rule's limit applies."""
    outputs: str | None = None
    """The number of arrays that the function returns, or None if it returns as many as the rule's function."""


def aliases(rule: type[Op], functions: str, *modules: str, **differences: Any) -> dict[str, Alias]:
    """Return an alias of `rule` for each function in each module.

    `functions` is a string of names separated by spaces. `differences` are the fields in which the aliases differ from
    the rule.
    """
    alias = Alias(rule, **differences)
    return {f"{module}.{function}": alias for module in modules for function in functions.split()}


def same_names(module: str, *rules: type[Op]) -> dict[str, Alias]:
    """Return an alias for the function in another module that has the same name as each rule's op."""
    return {f"{module}.{rule.model_fields['name'].default.rpartition('.')[2]}": Alias(rule) for rule in rules}


def full_name(name: str) -> str:
    """Return a function's name with the module's full name instead of its import name: numpy.add for np.add."""
    head, dot, tail = name.partition(".")
    return f"{IMPORT_NAMES[head]}.{tail}" if dot and head in IMPORT_NAMES else name


def named(name: str, alias: Alias) -> type[Op]:
    """Return the class for an alias: a subclass of the alias's rule that has the alias's name and limits."""
    own: dict[str, object] = {"__module__": alias.rule.__module__, "alias": name}
    if alias.inputs is not None:
        own |= {"min_inputs": alias.inputs, "max_inputs": alias.inputs}
    if alias.max_rank is not None:
        own |= {"max_rank": alias.max_rank}
    if alias.outputs is not None:
        own |= {"outputs": alias.outputs}
    return cast("type[Op]", new_class(alias.rule.__name__, (alias.rule,), {}, lambda space: space.update(own)))
