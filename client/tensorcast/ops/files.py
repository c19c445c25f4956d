"""The files of this folder: a framework each, where there is a FRAMEWORK; its ops are the classes in it, in the order
of their definition. Nothing lists them."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

from .base import Op
from .framework import Framework

T = TypeVar("T")

_NAMES = [module.name for module in iter_modules([str(Path(__file__).parent)])]


class _Files(Mapping[str, T]):
    """What frameworks' files define, by names whose part before the first dot is the file's, in the catalogue's order.
    A file takes milliseconds to load: one is when something of it is asked for, all are when they are gone through."""

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
    """The op classes that a module defines: a class without a name on the wire is a base of others."""
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Op)]
    own = [op for op in classes if op.__module__ == module.__name__ and not op.model_fields["name"].is_required()]
    return {op.model_fields["name"].default: op for op in own}


FRAMEWORKS: Mapping[str, Framework] = _Files(_framework)
"""Every framework by the name of its file, in the catalogue's order."""
OPS: Mapping[str, type[Op]] = _Files(_ops)
"""Every op class by its name on the wire, in the catalogue's order."""
