"""The ops, one file a framework.

A module of this folder is a framework when it has a FRAMEWORK; its ops are the classes in it, in the order of their
definition. All are found here: nothing lists them. `from tensorcast.ops import ngraph` is the import that types know.
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from .base import Op
from .framework import Framework
from .lowering import align, exceeds_rank, from_plan, lower


def _frameworks() -> Iterator[tuple[str, ModuleType]]:
    """The frameworks' modules by their names, in the catalogue's order."""
    modules = {module.name: import_module(f".{module.name}", __name__) for module in iter_modules(__path__)}
    found = [(module.FRAMEWORK.order, name) for name, module in modules.items() if hasattr(module, "FRAMEWORK")]
    return ((name, modules[name]) for _, name in sorted(found))


def _ops(module: ModuleType) -> Iterator[type[Op]]:
    """The op classes that a module defines: a class without a name on the wire is a base of others."""
    for value in vars(module).values():
        is_own = isinstance(value, type) and issubclass(value, Op) and value.__module__ == module.__name__
        if is_own and not value.model_fields["name"].is_required():
            yield value


_MODULES = dict(_frameworks())
FRAMEWORKS: dict[str, Framework] = {name: module.FRAMEWORK for name, module in _MODULES.items()}
"""Every framework by the name of its file, in the catalogue's order."""
OPS: dict[str, type[Op]] = {op.model_fields["name"].default: op for module in _MODULES.values() for op in _ops(module)}
"""Every op class by its name on the wire, in the catalogue's order."""

if TYPE_CHECKING:
    AnyOp = Op
else:
    AnyOp = Annotated[Union[tuple(OPS.values())], Field(discriminator="name")]  # noqa: UP007 - of a tuple


_LONGEST = 100
"""Characters of a name that are looked at: every op's name is shorter, and an unknown one is copied several times."""


def _named(value: Any) -> Any:
    """A bare string is an op without attributes."""
    attributes = {"name": value} if isinstance(value, str) else value
    name = attributes.get("name") if isinstance(attributes, dict) else None
    if isinstance(name, str) and len(name) > _LONGEST:
        return attributes | {"name": name[:_LONGEST]}
    return attributes


OpField = Annotated[AnyOp, BeforeValidator(_named, json_schema_input_type=AnyOp | str)]
"""An op as a request says it: a map, a bare name, or an op object."""


def _in_integers(op: Op) -> Op:
    for attribute, axis, symbol in op.symbols():
        raise PydanticCustomError(
            "symbolic",
            "must hold integers here: {symbol} on axis {axis} is for check alone",
            {"field": attribute, "axis": axis, "symbol": str(symbol)},
        )
    return op


IntegerOpField = Annotated[OpField, AfterValidator(_in_integers)]
"""An op of integers alone: what tensors can be broadcast by."""

__all__ = [
    "FRAMEWORKS",
    "OPS",
    "AnyOp",
    "Framework",
    "IntegerOpField",
    "Op",
    "OpField",
    "align",
    "exceeds_rank",
    "from_plan",
    "lower",
]
