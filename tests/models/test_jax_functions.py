"""check_jax finds every function of jax.numpy, jax.scipy and jax.nn that broadcasts two arrays (`make models`).

A function broadcasts if it returns the same for (3, 1) and (3,) as for both arrays expanded to (3, 3).
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import axiscast

pytestmark = [
    pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed"),
    pytest.mark.filterwarnings("ignore"),  # jax's warnings about guessed arguments
]
NO_ARITHMETIC = "compares shapes or types, or gives the operands back: no values meet"
BY_ONES = "is missed: it chooses between the operand and ones of the shape that it gave the operand"
BY_VMAP = "is missed: it is written with jnp.vectorize, which squeezes its operands and maps over their axes"
EXEMPT = {
    "array_equal": NO_ARITHMETIC,
    "broadcast_arrays": NO_ARITHMETIC,
    "broadcast_shapes": NO_ARITHMETIC,
    "can_cast": NO_ARITHMETIC,
    "isdtype": NO_ARITHMETIC,
    "issubdtype": NO_ARITHMETIC,
    "promote_types": NO_ARITHMETIC,
    "result_type": NO_ARITHMETIC,
    "gradient": "takes the coordinates along an axis",
    "vdot": "flattens its operands",
    "poisson.entropy": "flattens the first operand, and does not use the second one",
    "boxcox": BY_ONES,
    "boxcox1p": BY_ONES,
    "expn": BY_VMAP,
    "hyp1f1": BY_VMAP,
    "hyp2f1": BY_VMAP,
}
"""The functions that seem to broadcast and are not found, with the reasons."""


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    import jax
    import jax.numpy as jnp
    import jax.scipy as jsp

    homes = {"": [jnp, jnp.linalg, jsp.special, jax.nn]}
    homes |= {f"{name}.": [module] for name, module in vars(jsp.stats).items() if inspect.ismodule(module)}
    met = set()
    for prefix, modules in homes.items():
        for module in modules:
            for name, function in sorted(vars(module).items()):
                is_new = (
                    name != "set_printoptions"
                    and callable(function)
                    and not inspect.isclass(function)
                    and id(function) not in met
                )
                if is_new and name[0] != "_":
                    met.add(id(function))
                    yield prefix + name, function


def calls(function: Callable[..., Any]) -> Iterator[tuple[Callable[..., Any], Any, Any]]:
    """Yield the ways to call a function with two arrays, with numbers for its other arguments."""
    random = np.random.default_rng(0)
    for kind, number in (("float32", 0.5), ("int32", 2), ("bool", True)):
        column, row = (random.uniform(1, 3, shape) * (0.3 if kind == "float32" else 1) for shape in ((3, 1), (3,)))
        for count in _counts(function):
            for one, other in itertools.permutations(range(count), 2):

                def call(
                    column: Any, row: Any, places: tuple[int, ...] = (count, one, other), number: Any = number
                ) -> Any:
                    arguments = [number] * places[0]
                    arguments[places[1]], arguments[places[2]] = column, row
                    return function(*arguments)

                yield call, column.astype(kind), row.astype(kind)


def _counts(function: Callable[..., Any]) -> range:
    """Return the possible numbers of positional arguments, from two to four."""
    parameters = inspect.signature(function).parameters.values()
    kinds = [parameter.kind for parameter in parameters]
    placed = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    least = sum(parameter.default is parameter.empty for parameter in placed)
    return range(max(2, least), min(4, 4 if inspect.Parameter.VAR_POSITIONAL in kinds else len(placed)) + 1)


def broadcasting(function: Callable[..., Any]) -> Any:
    """Return the trace of the first call that broadcasts, or None if jax can trace no such call."""
    import jax

    for call, column, row in calls(function):
        wide = np.broadcast_arrays(column, row)
        try:
            shapes = [jax.eval_shape(call, *operands) for operands in ((column, row), wide)]
            if shapes[0] == shapes[1] and _are_equal(call(column, row), call(*wide)):
                return jax.jit(call).trace(column, row)
        except Exception:  # most guessed arguments are refused, each function in its own way
            continue
    return None


def _are_equal(one: Any, other: Any) -> bool:
    import jax

    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.allclose(first, second, atol=1e-4, equal_nan=True) for first, second in pairs)


def test_check_jax_finds_every_function_that_broadcasts() -> None:
    found = {name: traced for name, function in functions() if (traced := broadcasting(function)) is not None}
    assert len(found) > 100
    silent = [name for name, traced in found.items() if not axiscast.check_jax(traced).findings]
    assert {*silent} - {*EXEMPT} == set()
