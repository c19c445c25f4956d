"""Imports run downward only, and cost nothing that is not used: each claim in a fresh interpreter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import run

import tensorcast

WEB = {"fastapi", "starlette", "uvicorn"}
CASES = {
    "the package": ("import tensorcast", WEB | {"numpy", "httpx", "pydantic", "tensorcast_service"}),
    "the clients": (
        "import tensorcast; tensorcast.Client, tensorcast.AsyncClient",
        WEB | {"tensorcast_service", "tensorcast.cli"},
    ),
    "the sync client": ("import tensorcast; tensorcast.Client('http://127.0.0.1:1')", {"asyncio", "anyio", "httpcore"}),
    "the messages": ("import tensorcast.messages", WEB | {"numpy", "httpx", "tensorcast_service", "click"}),
    "an op": ("import tensorcast.ops", WEB | {"httpx", "numpy", "click", "tensorcast.client.client"}),
    "the engine": (
        "import tensorcast_service.engine.views",
        WEB | {"httpx", "click", "tensorcast.client.client", "tensorcast.client.calls"},
    ),
    "a check": (
        "from tensorcast.answers.check import check; from tensorcast.messages import CheckRequest; "
        "check(CheckRequest(inputs=[(2, 3), (4,)], explain=True))",
        WEB | {"numpy", "httpx", "click", "tensorcast.client.client", "tensorcast.client.calls"},
    ),
    "the application": (
        "import tensorcast_service.web.app",
        {"tensorcast.client.client", "tensorcast.client.calls", "tensorcast.cli"},
    ),
    "the command line": (
        "import tensorcast.cli",
        WEB | {"httpx", "rich", "onnx", "tensorcast.client.client", "tensorcast_service.web"},
    ),
}


@pytest.mark.parametrize(("statement", "forbidden"), CASES.values(), ids=CASES)
def test_it_imports_nothing_of_the_layers_above(statement: str, forbidden: set[str]) -> None:
    report = f"{statement}; import sys; print(*sys.modules)"
    done = run([sys.executable, "-c", report])
    assert done.returncode == 0, done.stderr
    assert forbidden.isdisjoint(done.stdout.split())


def test_every_exported_name_is_there_and_documented() -> None:
    for name in tensorcast.__all__:
        assert getattr(tensorcast, name).__doc__, name


def test_the_exported_names_are_the_ones_that_are_meant() -> None:
    meant = """
        check check_batch check_columns compare translate AsyncClient Client CheckedColumns Transfer
        CheckAnswer CheckRequest Comparison ConflictAnswer OpEntry OutputShape TranslateAnswer
        TensorcastError ServiceProblem IncompatibleShapes InvalidRequest UnknownOp InvalidTensor
        NotStrided OutputTooLarge WorkTooLarge BodyTooLarge Untranslatable MisdirectedRequest Unauthenticated
        RequestTimeout Overloaded ShuttingDown InternalError ConnectionFailed DeadlineExceeded InvalidAnswer
    """
    folder = Path(tensorcast.__file__).parent / "ops"
    frameworks = [path.stem for path in folder.glob("*.py") if "\nFRAMEWORK = " in path.read_text()]
    assert {"numpy", "ngraph", "mindspore", "poputil", "openvino"} < set(frameworks)
    assert tensorcast.__all__ == dir(tensorcast) == sorted([*meant.split(), *frameworks])
