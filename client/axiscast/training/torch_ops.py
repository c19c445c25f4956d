"""What torch's functions do with axes of size 1: which broadcast operands, and which write or keep such an axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from ..answers.torch_functions import ELEMENTWISE, LISTS, LOSSES, OPERAND_COUNTS

Axis = Literal["", "always", "index", "keepdim", "range"]

_AXIS = "unsqueeze reshape reshape_as view view_as unflatten atleast_2d"
_KEEPDIM = """sum nansum mean nanmean amax amin max min norm logsumexp prod std var all any argmax argmin median
    nanmedian quantile nanquantile count_nonzero"""
_KEEP = """to type type_as float double half bfloat16 int long bool cpu cuda detach clone contiguous t transpose
    swapaxes swapdims permute movedim moveaxis neg negative pos positive exp expm1 log log1p log2 log10 sqrt rsqrt
    square reciprocal abs absolute sigmoid tanh relu sin cos erf round floor ceil sign logical_not bitwise_not invert
    squeeze flatten ravel"""
_COMPARISONS = "eq ne not_equal lt less le less_equal gt greater ge greater_equal isclose"
COMPARISONS = frozenset(f"torch.{name}" for name in _COMPARISONS.split())
"""The functions that compare, as findings call them."""
_KEEP_ATTRIBUTES = ("T", "mT", "H", "mH", "data", "real")


class Role(NamedTuple):
    """What a function does."""

    op: str
    """What findings call it, such as "torch.sub", whichever way it is written."""
    meets: bool = False
    """Whether its operands broadcast against each other."""
    keywords: tuple[str, ...] = ()
    """Those of operands that meet."""
    operand_count: int | None = None
    """How many of its first arguments are operands, if a later one can be a tensor that does not meet them."""
    lists: bool = False
    """Whether it takes lists of operands: the first of each list meet, then the second ones."""
    axis: Axis = ""
    """When its result has an axis of size 1 that is written: always, with None in the index, or with keepdim; or that
    it is a range."""
    keeps: bool = False
    """Whether such an axis of its operand is one of the result."""


@cache
def roles() -> Mapping[Any, Role]:
    """The functions, by the objects with which torch calls a function mode. Imports torch."""
    import torch

    found: dict[Any, Role] = {}
    homes = (torch, torch.Tensor, torch.special)
    axes: dict[Axis, str] = {"always": _AXIS, "keepdim": _KEEPDIM, "": _KEEP}
    for axis, names in axes.items():
        for name in names.split():
            found |= dict.fromkeys(_spellings(name, homes), Role(f"torch.{name}", axis=axis, keeps=not axis))
    parts = {"torch.special": torch.special, "torch.linalg": torch.linalg, "torch.nn.functional": torch.nn.functional}
    for name, words in ELEMENTWISE.items():
        axis = "keepdim" if name in ("max", "min") else ""
        home = (
            "torch" if hasattr(torch, name) else next((home for home in parts if hasattr(parts[home], name)), "torch")
        )
        role = Role(f"{home}.{name}", True, words, OPERAND_COUNTS.get(name), axis=axis, keeps=True)
        found |= dict.fromkeys(_spellings(name, (torch, torch.Tensor, *parts.values())), role)
    for name, words in LOSSES.items():
        role = Role(f"torch.nn.functional.{name}", True, words)
        found |= dict.fromkeys(_spellings(name, (torch, torch.nn.functional)), role)
    for name in dir(torch):
        if name.startswith(LISTS):
            found[getattr(torch, name)] = Role(f"torch.{name}", lists=True)
    found[torch.Tensor.__getitem__] = Role("torch.Tensor.__getitem__", axis="index", keeps=True)
    found[torch.arange] = Role("torch.arange", axis="range")
    for name in _KEEP_ATTRIBUTES:
        found[getattr(torch.Tensor, name).__get__] = Role(f"torch.Tensor.{name}", keeps=True)
    return found


def _spellings(name: str, homes: tuple[Any, ...]) -> Iterator[Any]:
    """The functions of a name: also in place, and as operators."""
    for home in homes:
        for spelling in (name, f"{name}_", f"__{name}__", f"__i{name}__", f"__r{name}__"):
            if callable(function := getattr(home, spelling, None)) and not isinstance(function, type):
                yield function
