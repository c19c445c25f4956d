"""A pytest plugin that replaces every sentence about shapes by its code: pytest -p coded_words FILES, in tests.

Tests assert facts. If a test fails with this plugin, it asserts a sentence, which belongs to tests/words.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

MODULES = ("conditions", "conflicts", "errors", "hints", "warnings", "findings")


def code_of(name: str) -> Callable[..., str]:
    """Return a function that returns the code of a fact or the kinds of a finding. Other facts get `name`."""

    def code(fact: Any = None, *_: Any) -> str:
        found = fact.get("code") if isinstance(fact, dict) else getattr(fact, "code", None)
        return str(found or " ".join(getattr(fact, "kinds", ())) or name)

    return code


def replace_sentences(module: ModuleType) -> list[str]:
    """Replace all functions of a module that return sentences. Return their names."""
    names = [name for name, value in vars(module).items() if name.endswith("_text") and callable(value)]
    sentences = [
        name for name in names if not name.startswith("_") and vars(module)[name].__module__ == module.__name__
    ]
    for name in sentences:
        setattr(module, name, code_of(name))
    return sentences


REPLACED = [name for each in MODULES for name in replace_sentences(import_module(f"axiscast.words.{each}"))]
