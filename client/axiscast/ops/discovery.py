"""Discovery of the frameworks' files in this folder, and of their ops and aliases. No file lists them.

A file with a FRAMEWORK is that of a framework. Its ops are the classes in it, in the order of their definition.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, TypeVar

from .aliases import Alias, full_name, named
from .base import Op
from .error_messages import ErrorMessage
from .framework import Framework

T = TypeVar("T")

_NAMES = [module.name for module in iter_modules([str(Path(__file__).parent)])]


class _Files(Mapping[str, T]):
    """A mapping of what the frameworks' files define, in the order of the catalogue.

    The part of a key before the first dot is the name of the file. Loading a file takes milliseconds, so a lookup loads
    only the file of its key. Iteration loads all files.
    """

    def __init__(self, entries: Callable[[str, ModuleType], dict[str, T]]) -> None:
        self._entries = entries
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded and isinstance(name, str) and (file := name.partition(".")[0]) in _NAMES:
            self._loaded |= self._entries(file, _module(file))
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @cached_property
    def _names(self) -> list[str]:
        found = [(name, module) for name in _NAMES if hasattr(module := _module(name), "FRAMEWORK")]
        ordered = sorted(found, key=lambda entry: (entry[1].FRAMEWORK.order, entry[0]))
        return [entry for name, module in ordered for entry in self._entries(name, module)]


def _module(name: str) -> ModuleType:
    return import_module(f".{name}", __package__)


def _framework(name: str, module: ModuleType) -> dict[str, Framework]:
    return {name: module.FRAMEWORK} if hasattr(module, "FRAMEWORK") else {}


def _ops(_: str, module: ModuleType) -> dict[str, type[Op]]:
    """Return the op classes that a module defines. A class without a default `name` is a base class, not an op."""
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Op)]
    own = [op for op in classes if op.__module__ == module.__name__ and not op.model_fields["name"].is_required()]
    return {op.model_fields["name"].default: op for op in own}


def _aliases(_: str, module: ModuleType) -> dict[str, Alias]:
    return getattr(module, "ALIASES", {})


FRAMEWORKS: Mapping[str, Framework] = _Files(_framework)
"""Every framework by the name of its file, in the order of the catalogue."""
OPS: Mapping[str, type[Op]] = _Files(_ops)
"""Every op class by the name of the op, in the order of the catalogue."""
ALIASES: Mapping[str, Alias] = _Files(_aliases)
"""Every alias by its name, without the names that begin with an import name such as `np`."""
_KINDS: dict[str, type[Op]] = {}
"""The cache of `op_class`: the classes of ops and aliases by name. The number of names that exist limits its size."""


_BARE: dict[str, Op] = {}
"""Ops without attributes, by a name that `op_class` accepts. An op is immutable, so all requests share one object."""


def op_class(name: str) -> type[Op] | None:
    """Return the class of the op with this name or alias, or None if there is no such op.

    The class of an alias is a subclass of its rule: its `alias` is the name as it was given, and its `name` the rule's.
    """
    kind = _KINDS.get(name)
    if kind is None and (kind := OPS.get(name) or _by_alias(name)) is not None:
        _KINDS[name] = kind
    return kind


def _by_alias(name: str) -> type[Op] | None:
    full = full_name(name)
    rule = OPS.get(full)
    alias = ALIASES.get(full) if rule is None else Alias(rule)
    return None if alias is None else named(name, alias)


def read_op(fields: Mapping[str, Any]) -> Op | None:
    """Return the op that a mapping of its name and its attributes describes, or None if the name is unknown.

    Raises ValidationError if its attributes are not valid.
    """
    name = fields["name"]
    if len(fields) == 1 and (bare := _BARE.get(name)) is not None:
        return bare
    kind = op_class(name)
    if kind is None:
        return None
    op = kind.model_validate(fields if kind.alias is None else {**fields, "name": kind.model_fields["name"].default})
    if len(fields) == 1:
        _BARE[name] = op
    return op


def list_error_messages() -> list[ErrorMessage]:
    """Return the patterns of error messages in the MESSAGES of all files, in the order of the catalogue."""
    return [message for name in FRAMEWORKS for message in getattr(_module(name), "MESSAGES", ())]
