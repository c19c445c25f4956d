"""The torch functions that the watch checks, and the torch functions that add or keep an axis of size 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cache
from typing import Any, Literal, NamedTuple

from ..models.torch_functions import ADD_AXIS, KEEP_AXIS, KEEP_ORIGIN, LISTS, LOSSES, OPERAND_COUNTS, OPERATOR_KEYWORDS

AxisRule = Literal["", "always", "index", "keepdim", "range"]
"""The condition under which a function adds an axis of size 1 to its result.

"" means never, and "always" means always. "index" means that the index contains None, and "keepdim" means that keepdim
is true. "range" marks a function that returns a range, which contains positions.
"""

_KEEP_ATTRIBUTES = ("T", "mT", "H", "mH", "data", "real")


class FunctionRole(NamedTuple):
    """How the watch treats a torch function."""

    op: str
    """The name to show in findings, such as "torch.sub". All spellings of a function have the same name."""
    broadcasts: bool = False
    """Whether the function broadcasts its operands against each other."""
    keywords: tuple[str, ...] = ()
    """The keywords by which operands can be passed to the function."""
    operand_count: int | None = None
    """The number of operands if only the first arguments are operands, or None if all arguments are operands."""
    takes_lists: bool = False
    """Whether the arguments are lists of tensors. The first tensors of all lists broadcast, then the second ones."""
    axis: AxisRule = ""
    keeps_origin: bool = False
    """Whether the result keeps the origin of an operand, such as the code that added the operand's axis of size 1."""


@cache
def function_roles() -> Mapping[Any, FunctionRole]:
    """Return the role of each torch function. This function imports torch.

    The key is the function object that torch passes to a function mode.
    """
    import torch

    roles: dict[Any, FunctionRole] = {}
    homes = (torch, torch.Tensor, torch.special, torch.nn.functional)
    axes: dict[AxisRule, Set[str]] = {"always": ADD_AXIS, "keepdim": KEEP_AXIS, "": KEEP_ORIGIN}  # "" adds no axis
    for axis, names in axes.items():
        for name in names:
            role = FunctionRole(f"torch.{name}", axis=axis, keeps_origin=axis == "")
            roles |= dict.fromkeys(_spellings(name, homes), role)
    modules = {"torch.special": torch.special, "torch.linalg": torch.linalg, "torch.nn.functional": torch.nn.functional}
    for name, keywords in OPERATOR_KEYWORDS.items():
        axis = "keepdim" if name in ("max", "min") else ""
        home = "torch"
        if not hasattr(torch, name):
            home = next((path for path, module in modules.items() if hasattr(module, name)), "torch")
        count = OPERAND_COUNTS.get(name)
        role = FunctionRole(f"{home}.{name}", True, keywords, count, axis=axis, keeps_origin=True)
        roles |= dict.fromkeys(_spellings(name, (torch, torch.Tensor, *modules.values())), role)
    for name, keywords in LOSSES.items():
        role = FunctionRole(f"torch.nn.functional.{name}", True, keywords)
        roles |= dict.fromkeys(_spellings(name, (torch, torch.nn.functional)), role)
    for name in dir(torch):
        if name.startswith(LISTS):
            roles[getattr(torch, name)] = FunctionRole(f"torch.{name}", takes_lists=True)
    roles[torch.Tensor.__getitem__] = FunctionRole("torch.Tensor.__getitem__", axis="index", keeps_origin=True)
    roles[torch.arange] = FunctionRole("torch.arange", axis="range")
    for name in _KEEP_ATTRIBUTES:
        roles[getattr(torch.Tensor, name).__get__] = FunctionRole(f"torch.Tensor.{name}", keeps_origin=True)
    return roles


def _spellings(name: str, homes: tuple[Any, ...]) -> Iterator[Any]:
    """Yield all functions and methods that have a given name, including its in-place form and its operators."""
    for home in homes:
        for spelling in (name, f"{name}_", f"__{name}__", f"__i{name}__", f"__r{name}__"):
            if callable(function := getattr(home, spelling, None)) and not isinstance(function, type):
                yield function
