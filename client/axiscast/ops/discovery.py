"""Discovery of the frameworks' files in this folder, and of the ops and aliases in these files.

Every file that defines FRAMEWORK is a framework's file. The framework's ops are the op classes in the file, in the
order in which they are defined.
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
from .error_messages import ErrorMessage, error_messages
from .framework import Framework

T = TypeVar("T")

_NAMES = [module.name for module in iter_modules([str(Path(__file__).parent)])]


class _Files(Mapping[str, T]):
    """A mapping from names to the objects that the frameworks' files define, in the order of the catalogue.

    The part of a key before the first dot is the name of the file. Loading a file takes milliseconds. Therefore, a
    lookup loads only the file named in its key. Iteration loads all files.
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
"""All frameworks, keyed by the names of their files, in the order of the catalogue."""
OPS: Mapping[str, type[Op]] = _Files(_ops)
"""All op classes, keyed by the names of the ops, in the order of the catalogue."""
ALIASES: Mapping[str, Alias] = _Files(_aliases)
"""All aliases, keyed by name. Names that begin with an import name such as `np` are not included."""
_KINDS: dict[str, type[Op]] = {}
"""The cache of `op_class`: op and alias classes, keyed by name.

The cache stays small because only existing names are cached.
"""


def op_class(name: object) -> type[Op] | None:
    """Return the op class for a name or an alias, or None if no such op exists. Only a string can be a name.

    The class for an alias is a subclass of the alias's rule. Its `alias` is the given name, and its `name` is the
    rule's name.
    """
    if not isinstance(name, str):
        return None
    kind = _KINDS.get(name)
    if kind is None and (kind := OPS.get(name) or _by_alias(name)) is not None:
        _KINDS[name] = kind
    return kind


def _by_alias(name: str) -> type[Op] | None:
    full = full_name(name)
    rule = OPS.get(full)
    alias = ALIASES.get(full) if rule is None else Alias(rule)
    return None if alias is None else named(name, alias)


def own_ops(framework: str) -> list[type[Op]]:
    """Return the op classes of one framework. Unlike iteration over OPS, this loads only the framework's file."""
    return list(_ops(framework, _module(framework)).values())


def are_all_loaded() -> bool:
    """Return whether all files are loaded. Otherwise iteration over OPS takes 0.2 s."""
    return "_names" in OPS.__dict__


def read_op(fields: Mapping[str, Any]) -> Op | None:
    """Return the op for a mapping that holds its name and attributes, or None if the name is unknown.

    Raises ValidationError if the attributes are not valid.
    """
    kind = op_class(fields["name"])
    if kind is None:
        return None
    return kind.model_validate(fields if kind.alias is None else {**fields, "name": kind.model_fields["name"].default})


def list_error_messages() -> list[ErrorMessage]:
    """Return the error message patterns of all frameworks, in the order of the catalogue."""
    messages: list[ErrorMessage] = []
    for module in map(_module, FRAMEWORKS):
        messages += error_messages(module.MESSAGES) if hasattr(module, "MESSAGES") else []
        messages += getattr(module, "NODE_MESSAGES", ())
    return messages
