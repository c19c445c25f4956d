"""The required features of uvicorn are public, and are checked at the start."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from conftest import run
from uvicorn.server import ServerState

from axiscast_service.http import uvicorn_interface
from axiscast_service.http.uvicorn_interface import verify_connection, verify_uvicorn

SERVICE = Path(uvicorn_interface.__file__).parents[1]
OTHERS = ("uvicorn", "uvloop", "asyncio", "httptools", "h11", "starlette", "fastapi")


def test_the_installed_uvicorn_is_a_tested_release() -> None:
    verify_uvicorn()


def test_a_uvicorn_with_an_unknown_server_state_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Another(ServerState):
        def __init__(self) -> None:
            super().__init__()
            del self.tasks

    monkeypatch.setattr(uvicorn_interface, "ServerState", Another)
    with pytest.raises(ValueError, match=r"uvicorn [\d.]+ has no tasks in its server state.*from 0\.36 to 0\.54"):
        verify_uvicorn()


@cases("arguments", [{}, {"config": 1, "server_state": 2, "app_state": {}, "more": 3}])
def test_a_uvicorn_that_creates_connections_in_an_unknown_way_is_refused(arguments: dict[str, Any]) -> None:
    from axiscast_service.http.protocol import HTTPProtocol

    with pytest.raises(ValueError, match="creates connections in an unknown way"):
        verify_connection(lambda: HTTPProtocol(**arguments))


def test_private_names_of_other_libraries_are_used_only_in_one_file() -> None:
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
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
                assert path.name == "library_patches.py", f"{path.name}:{node.lineno}"


def test_serve_ends_with_the_error_message() -> None:
    program = (
        "import uvicorn.server as server; init = server.ServerState.__init__\n"
        "def without(self): init(self); del self.total_requests\n"
        "server.ServerState.__init__ = without\n"
        "from axiscast.cli import main; main(['serve', '--port', '0'])"
    )
    done = run([sys.executable, "-c", program])
    assert done.returncode == 2
    assert (
        "has no total_requests in its server state, so the service does not support it: install a release"
        in done.stderr
    )
