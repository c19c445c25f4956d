"""The service uses only public names of its dependencies, and changes none of them."""

from __future__ import annotations

import ast
from pathlib import Path

import axiscast_service

SERVICE = Path(axiscast_service.__file__).parent
OTHERS = ("uvicorn", "uvloop", "asyncio", "httptools", "h11", "starlette", "fastapi")


def test_the_service_uses_no_private_names_of_other_libraries() -> None:
    """Attributes with one underscore are only those of `self`, and no module of another library is changed."""
    for path in sorted(SERVICE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
                own = own or (isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "super")
                assert own, f"{path.name}:{node.lineno} {ast.unparse(node)}"
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OTHERS:
                names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                assert not [name for name in names if name.startswith("_")], path
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) != "setattr", f"{path.name}:{node.lineno}"
