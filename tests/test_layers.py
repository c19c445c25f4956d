"""Imports run downward only, in the source; and load nothing that is not used, in a fresh interpreter."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from conftest import run

import tensorcast

ROOT = Path(__file__).parents[1]
LAYERS = [
    "tensorcast.schema",
    "tensorcast.plan",
    "tensorcast.ops",
    "tensorcast.messages",
    "tensorcast.answers",
    "tensorcast.errors",
    "tensorcast.library",
    "tensorcast.models",
    "tensorcast.training",
    "tensorcast.client",
    "tensorcast.cli",
    "tensorcast_service.engine",
    "tensorcast_service.settings",
    "tensorcast_service.static_files",
    "tensorcast_service.logs",
    "tensorcast_service.metrics",
    "tensorcast_service.openapi",
    "tensorcast_service.runtime",
    "tensorcast_service.http",
    "tensorcast_service.middleware",
    "tensorcast_service.endpoints",
    "tensorcast_service.fastpath",
    "tensorcast_service.app",
    "tensorcast_service.serve",
]
"""In order: each imports only what stands before it, or in itself."""
UPWARD = {
    ("tensorcast.cli.serve", "tensorcast_service.settings"),
    ("tensorcast.cli.serve", "tensorcast_service.serve"),
    ("tensorcast.cli.broadcast", "tensorcast_service.engine.dense"),
    ("tensorcast.cli.broadcast", "tensorcast_service.engine.views"),
    ("tensorcast.client.in_process", "tensorcast_service.settings"),
    ("tensorcast.client.in_process", "tensorcast_service.app"),
}
"""What starts the service, is the service in process, or broadcasts files here: where it is installed."""
WEB = {"fastapi", "starlette", "uvicorn"}
CASES = {
    "the package": ("import tensorcast", WEB | {"numpy", "httpx", "pydantic", "tensorcast_service"}),
    "the clients": (
        "import tensorcast; tensorcast.Client, tensorcast.AsyncClient",
        WEB | {"tensorcast_service", "tensorcast.cli"},
    ),
    "the sync client": (
        "import tensorcast; tensorcast.Client('http://127.0.0.1:1')",
        {"asyncio", "anyio", "httpcore", "opentelemetry"},
    ),
    "what is suspicious": (
        "import tensorcast.answers.suspicion",
        WEB | {"pydantic", "numpy", "httpx", "inspect"},
    ),
    "the messages": ("import tensorcast.messages", WEB | {"numpy", "httpx", "tensorcast_service", "click"}),
    "an op": ("import tensorcast.ops", WEB | {"httpx", "numpy", "click", "tensorcast.client.client"}),
    "the engine": (
        "import tensorcast_service.engine.views",
        WEB | {"httpx", "click", "tensorcast.client.client", "tensorcast.client.call"},
    ),
    "a check": (
        "import tensorcast; tensorcast.check(tensorcast.numpy.broadcast_arrays(), (2, 3), (4,), explain=True); "
        "tensorcast.check_batch([{'inputs': [('N', 3), (4,)]}]); tensorcast.compare((2,), shape=(3,)); "
        "tensorcast.translate('numpy.broadcast_arrays', 3, to='einops.repeat')",
        WEB | {"numpy", "httpx", "click", "tensorcast.client.client", "tensorcast.client.call"},
    ),
    "a report": (
        "import tensorcast; str(tensorcast.Report('model')); "
        "import tensorcast.models.sarif, tensorcast.models.annotations, tensorcast.models.judge",
        WEB | {"numpy", "httpx", "click", "rich", "onnx", "tensorcast.client.client", "tensorcast.client.call"},
    ),
    "a watch": ("import tensorcast; tensorcast.watch()", {"numpy", "pydantic", "pytest", "tensorcast.ops"}),
    "the pytest plugin": (
        "import tensorcast.training.plugin",
        {"numpy", "pydantic", "tensorcast.ops", "tensorcast.answers", "tensorcast.training.watching"},
    ),
    "the application": (
        "import tensorcast_service.app",
        {"tensorcast.client.client", "tensorcast.client.call", "tensorcast.cli"},
    ),
    "the command line": (
        "import tensorcast.cli",
        WEB | {"httpx", "onnx", "tensorcast.client.client", "tensorcast_service.app"},
    ),
}


def modules() -> dict[str, Path]:
    """Every module of the product but the package itself and `python -m tensorcast`, which may import all."""
    found = {}
    for folder in ("client", "service"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found[".".join(path.relative_to(ROOT / folder).with_suffix("").parts).removesuffix(".__init__")] = path
    return {name: path for name, path in found.items() if name not in ("tensorcast", "tensorcast.__main__")}


def imports(name: str, path: Path, everyone: set[str]) -> Iterator[str]:
    """The modules of the product that a module imports, wherever in it."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in everyone)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from {f"{source}.{alias.name}" for alias in node.names} & everyone or {source} & everyone


def layer(name: str) -> int:
    return next((number for number, room in enumerate(LAYERS) if f"{name}.".startswith(f"{room}.")), -1)


def test_each_module_imports_only_from_its_own_layer_and_those_before_it() -> None:
    everyone = modules()
    assert len(everyone) > 100
    assert {name for name in everyone if layer(name) < 0} <= {"tensorcast_service"}
    upward = {
        (name, found)
        for name, path in everyone.items()
        for found in imports(name, path, {*everyone})
        if layer(found) > layer(name) >= 0
    }
    assert upward == UPWARD


def test_no_modules_import_each_other() -> None:
    everyone = modules()
    graph = {name: set(imports(name, path, {*everyone})) - {name} for name, path in everyone.items()}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(("statement", "forbidden"), CASES.values(), ids=CASES)
def test_it_imports_nothing_of_the_layers_above(statement: str, forbidden: set[str]) -> None:
    report = f"{statement}; import sys; print(*sys.modules)"
    done = run([sys.executable, "-c", report])
    assert done.returncode == 0, done.stderr
    assert forbidden.isdisjoint(done.stdout.split())


def test_every_exported_name_is_there_and_documented() -> None:
    for name in tensorcast.__all__:
        assert getattr(tensorcast, name).__doc__, name


def test_type_checkers_know_every_framework_under_its_short_name() -> None:
    """Type checkers need each import written out; at run time the files of ops/ are found."""
    folder = Path(tensorcast.__file__).parent
    written = (folder / "__init__.py").read_text()
    found = [path.stem for path in sorted((folder / "ops").glob("*.py")) if "\nFRAMEWORK = " in path.read_text()]
    listed = re.findall(r"^    from \.ops import (\w+) as \1$", written, re.MULTILINE)
    assert listed == found, "tensorcast/__init__.py needs `from .ops import NAME as NAME` for each framework"


def test_the_exported_names_are_the_ones_that_are_meant() -> None:
    meant = """
        check check_batch check_columns compare translate AsyncClient Client CheckedColumns Transfer
        check_model Finding Operand Report UnusableModel
        CheckAnswer CheckRequest Comparison ConflictAnswer Hint OpEntry OutputShape ResultShape TranslateAnswer
        TensorcastError ServiceProblem IncompatibleShapes InvalidRequest UnknownOp InvalidTensor
        NotStrided OutputTooLarge WorkTooLarge BodyTooLarge Untranslatable MisdirectedRequest Unauthenticated
        RequestTimeout Overloaded ShuttingDown InternalError UnexpectedStatus ConnectionFailed
        DeadlineExceeded InvalidAnswer
        SuspiciousBroadcast watch check_torch check_jax
    """
    folder = Path(tensorcast.__file__).parent / "ops"
    frameworks = [path.stem for path in folder.glob("*.py") if "\nFRAMEWORK = " in path.read_text()]
    assert {"numpy", "ngraph", "mindspore", "poputil", "openvino"} < set(frameworks)
    assert tensorcast.__all__ == dir(tensorcast) == sorted([*meant.split(), *frameworks])
