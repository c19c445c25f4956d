"""A function that imports optional packages, such as onnx and torch."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_package(name: str, oldest: str, caller: str) -> Any:
    """Import a package and return it.

    Raises ImportError if the package is missing or older than `oldest`. The message says what to install.
    """
    needs = f"{caller} needs {name} {oldest} or later"
    install = f"pip install '{name}>={oldest}'"
    try:
        package = import_module(name)
    except ImportError as error:
        reason = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        raise ImportError(f"{needs}: {install}{reason}") from error
    found = package.__version__
    if [int(part) for part in found.split(".")[:2]] < [int(part) for part in oldest.split(".")]:
        raise ImportError(f"{needs}, but {found} is installed: {install}")
    return package
