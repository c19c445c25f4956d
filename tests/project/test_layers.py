"""Tests of imports: modules import only lower layers, and load no unused packages."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from runpy import run_path

from cases import cases
from conftest import run

import axiscast

ROOT = Path(__file__).parents[2]
LAYERS = [
    "axiscast.wire",
    "axiscast.plan",
    "axiscast.ops",
    "axiscast.engine",
    "axiscast.messages",
    "axiscast.words",
    "axiscast.checks",
    "axiscast.catalogue",
    "axiscast.comparison",
    "axiscast.translation",
    "axiscast.explanation",
    "axiscast.drawing",
    "axiscast.errors",
    "axiscast.arrays",
    "axiscast.array_functions",
    "axiscast.library",
    "axiscast.models",
    "axiscast.training",
    "axiscast.client",
    "axiscast.cli",
    "axiscast_service.settings",
    "axiscast_service.static_files",
    "axiscast_service.log_writer",
    "axiscast_service.logs",
    "axiscast_service.metrics",
    "axiscast_service.openapi",
    "axiscast_service.runtime",
    "axiscast_service.http",
    "axiscast_service.middleware",
    "axiscast_service.endpoints",
    "axiscast_service.components",
    "axiscast_service.dispatcher",
    "axiscast_service.app",
    "axiscast_service.serve",
]
"""The layers in order. A module imports only earlier layers and its own layer."""
UPWARD = {
    ("axiscast.checks.check", "axiscast.drawing.drawing"),
    ("axiscast.checks.check", "axiscast.drawing.drawing_text"),
    ("axiscast.cli.serve", "axiscast_service.settings"),
    ("axiscast.cli.serve", "axiscast_service.serve"),
    ("axiscast.client.in_process", "axiscast_service.settings"),
    ("axiscast.client.in_process", "axiscast_service.app"),
}
"""The imports of later layers, each inside the function that needs it."""
BESIDE = ("comparison", "translation", "explanation", "drawing", "models", "training", "cli")
"""The packages of the library that the core and the service load only when a request needs them."""
CORE = ("axiscast.wire", "axiscast.plan", "axiscast.ops", "axiscast.engine", "axiscast.messages", "axiscast.words")
CORE += ("axiscast.checks", "axiscast.catalogue", "axiscast_service")
DOORS = {
    ("axiscast.checks.check", "axiscast.drawing"),
    ("axiscast_service.endpoints.check", "axiscast.drawing"),
    ("axiscast_service.endpoints.compare", "axiscast.comparison"),
    ("axiscast_service.endpoints.pages", "axiscast.drawing"),
    ("axiscast_service.endpoints.reference", "axiscast.comparison"),
    ("axiscast_service.endpoints.translate", "axiscast.translation"),
    ("axiscast_service.endpoints.why", "axiscast.drawing"),
    ("axiscast_service.endpoints.why", "axiscast.explanation"),
}
"""The modules of the core and the service that import one of these packages inside a function."""
SERVER = """
import json
import time
from threading import Thread
from urllib.request import Request, urlopen
import uvicorn
from axiscast_service.app import create_app
from axiscast_service.http.listener import Loop
from axiscast_service.http.protocol import HTTPProtocol
from axiscast_service.settings import Settings

config = uvicorn.Config(create_app(Settings()), port=0, http=HTTPProtocol, loop="axiscast_service.http.listener:Loop")
server = uvicorn.Server(config)
thread = Thread(target=server.run)
thread.start()
while not server.started:
    time.sleep(0.01)
url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1/"
for path, body in BODIES.items():
    request = Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    assert urlopen(request).status == 200, path
server.should_exit = True
thread.join()
import sys
print(*[name for name in sys.modules if name.startswith("axiscast")])
"""
TENSOR = {"dtype": "int8", "shape": [3], "data": [1, 2, 3]}
INTO = {"name": "numpy.broadcast_to", "shape": [2, 3]}
GRADIENT = {"dtype": "float32", "shape": [2, 3], "data": [1, 2, 3, 4, 5, 6]}
BODIES = {
    "check": {"inputs": [[3, 1], [1, 4]]},
    "broadcast": {"op": INTO, "inputs": [TENSOR]},
    "backprop": {"op": INTO, "inputs": [[3]], "gradients": [GRADIENT]},
}
WEB = {"fastapi", "starlette", "uvicorn"}
CASES = {
    "the package": ("import axiscast", WEB | {"numpy", "httpx", "pydantic", "axiscast_service"}),
    "the clients": (
        "import axiscast; axiscast.Client, axiscast.AsyncClient",
        WEB | {"axiscast_service", "axiscast.cli"},
    ),
    "the sync client": (
        "import axiscast; axiscast.Client('http://127.0.0.1:1')",
        {"asyncio", "anyio", "httpcore", "opentelemetry"},
    ),
    "what is suspicious": ("import axiscast.checks.two_sided", WEB | {"pydantic", "numpy", "httpx", "inspect"}),
    "the messages": ("import axiscast.messages", WEB | {"numpy", "httpx", "axiscast_service", "click"}),
    "an op": ("import axiscast.ops", WEB | {"httpx", "numpy", "click", "axiscast.client.client"}),
    "the engine": (
        "import axiscast.engine.views",
        WEB | {"httpx", "click", "axiscast.client.client", "axiscast.client.call"},
    ),
    "a check": (
        "import axiscast; axiscast.check(axiscast.numpy.broadcast_arrays(), (2, 3), (4,), explain=True); "
        "axiscast.check_batch([{'inputs': [('N', 3), (4,)]}]); axiscast.compare((2,), shape=(3,)); "
        "axiscast.translate('numpy.broadcast_arrays', 3, to='einops.repeat')",
        WEB | {"numpy", "httpx", "click", "axiscast.client.client", "axiscast.client.call"},
    ),
    "the text of an error": (
        "import axiscast; axiscast.why('operands could not be broadcast together with shapes (3,4) (5,)'); "
        "axiscast.why('')",
        WEB | {"numpy", "httpx", "click", "axiscast.client.client", "axiscast.client.call"},
    ),
    "the functions of tensors": (
        "import axiscast; axiscast.broadcast, axiscast.backprop",
        WEB | {"numpy", "httpx", "click"},
    ),
    "a broadcast": (
        "import axiscast; axiscast.broadcast('numpy.broadcast_to', [1, 2], shape=(3, 2)); "
        "axiscast.backprop('numpy.add', [(2,), ()], [1.0, 2.0], [3.0, 4.0])",
        WEB | {"httpx", "click", "axiscast.client", "torch", "jax", "xarray"},
    ),
    "a report": (
        "import axiscast; str(axiscast.Report('model')); "
        "import axiscast.models.formats.sarif, axiscast.models.formats.github, axiscast.models.node_checks",
        WEB | {"numpy", "httpx", "click", "rich", "onnx", "axiscast.client.client", "axiscast.client.call"},
    ),
    "a watch": ("import axiscast; axiscast.watch()", {"numpy", "pydantic", "pytest", "axiscast.ops"}),
    "the pytest plugin": (
        "import axiscast.training.plugin",
        {"numpy", "pydantic", "axiscast.ops", "axiscast.checks", "axiscast.training.watching"},
    ),
    "the application": (
        "import axiscast_service.app",
        {"axiscast.client.client", "axiscast.client.call", "axiscast.cli"},
    ),
    "the command line": (
        "import axiscast.cli",
        WEB | {"httpx", "onnx", "axiscast.client.client", "axiscast_service.app"},
    ),
}


LINES = run_path(str(ROOT / "benchmarks/lines.py"))


def modules() -> dict[str, Path]:
    """Return all modules of the product, except those that may import all others."""
    found = {}
    for folder in ("client", "service"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found[".".join(path.relative_to(ROOT / folder).with_suffix("").parts).removesuffix(".__init__")] = path
    return {name: path for name, path in found.items() if name not in ("axiscast", "axiscast.__main__")}


def imports(name: str, path: Path, everyone: set[str], *, inside_functions: bool = True) -> Iterator[str]:
    """Yield the modules of the product that a module imports, for type checkers too."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree) if inside_functions else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in everyone)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from {f"{source}.{alias.name}" for alias in node.names} & everyone or {source} & everyone


@functools.cache
def all_imports() -> dict[str, set[str]]:
    """Return the modules of the product that each module imports."""
    everyone = modules()
    return {name: set(imports(name, path, {*everyone})) for name, path in everyone.items()}


def layer(name: str) -> int:
    return next((number for number, room in enumerate(LAYERS) if f"{name}.".startswith(f"{room}.")), -1)


def test_each_module_imports_only_from_its_own_layer_and_those_before_it() -> None:
    assert len(all_imports()) > 100
    assert {name for name in all_imports() if layer(name) < 0} <= {"axiscast_service"}
    upward = {
        (name, found)
        for name, imported in all_imports().items()
        for found in imported
        if layer(found) > layer(name) >= 0
    }
    assert upward == UPWARD


def test_no_modules_import_each_other() -> None:
    TopologicalSorter({name: imported - {name} for name, imported in all_imports().items()}).prepare()


@cases(("statement", "forbidden"), CASES.values(), ids=CASES)
def test_it_imports_nothing_of_the_layers_above(statement: str, forbidden: set[str]) -> None:
    report = f"{statement}; import sys; print(*sys.modules)"
    done = run([sys.executable, "-c", report])
    assert done.returncode == 0, done.stderr
    assert forbidden.isdisjoint(done.stdout.split())


@cases(
    ("framework", "call"),
    [
        ("numpy", "axiscast.check('numpy.broadcast_arrays', (3,), (3, 1))"),
        ("torch", "axiscast.check('torch.broadcast_tensors', (3,), (4,))"),
        ("jax", "axiscast.check_batch([{'op': 'jax.numpy.add', 'inputs': [(3,), (3, 1)]}])"),
    ],
)
def test_a_first_check_loads_few_frameworks_and_no_other_part_of_the_library(framework: str, call: str) -> None:
    done = run([sys.executable, "-c", f"import axiscast; {call}; import sys; print(*sys.modules)"])
    assert done.returncode == 0, done.stderr
    loaded = {name for name in done.stdout.split() if name.startswith("axiscast.")}
    files = {path.stem for path in (ROOT / "client/axiscast/ops").glob("*.py") if "\nFRAMEWORK = " in path.read_text()}
    assert {name for name in files if f"axiscast.ops.{name}" in loaded} == {"numpy", framework}  # the default op
    others = (
        "engine",
        "arrays",
        "client",
        *("models.check", "messages.findings", "models.report"),
        *("cli", "comparison", "translation", "explanation", "training", "drawing.pictures", "checks.symbolic"),
    )
    assert not [name for name in loaded if f"{name}.".startswith(tuple(f"axiscast.{other}." for other in others))]
    assert code_lines(loaded) <= 6_000


def code_lines(names: set[str]) -> int:
    """Return the number of lines of code in modules of the product."""
    return sum(code_lines_of(path) for name, path in modules().items() if name in names)


@functools.cache
def code_lines_of(path: Path) -> int:
    lines: Counter[str] = LINES["lines_of"](path, path.read_text())
    return lines["code"]


def test_a_server_loads_only_the_core_for_a_check_a_broadcast_and_a_gradient() -> None:
    done = run([sys.executable, "-c", f"BODIES = {BODIES}\n{SERVER}"])
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert {"axiscast.engine.sums", "axiscast_service.endpoints.backprop", "axiscast.ops.numpy"} <= loaded
    assert not [name for name in loaded if f"{name}.".startswith(tuple(f"axiscast.{other}." for other in BESIDE))]
    assert "axiscast.ops.torch" not in loaded
    assert code_lines(loaded) <= 11_000


def test_the_core_and_the_service_import_the_other_packages_only_inside_functions() -> None:
    doors = set()
    everyone = modules()
    for name, path in everyone.items():
        if f"{name}.".startswith(tuple(f"{package}." for package in CORE)):
            for found in all_imports()[name]:
                package = ".".join(found.split(".")[:2])
                if package in {f"axiscast.{other}" for other in BESIDE}:
                    doors.add((name, package))
                    top = {*imports(name, path, {*everyone}, inside_functions=False)}
                    assert found not in top, f"{name} imports {found} at the top of the file"
    assert doors == DOORS


def test_every_exported_name_is_there_and_documented() -> None:
    for name in axiscast.__all__:
        assert getattr(axiscast, name).__doc__, name


def test_type_checkers_know_every_framework_under_its_short_name() -> None:
    """Type checkers need explicit imports. At run time, the files of ops/ are discovered."""
    folder = Path(axiscast.__file__).parent
    written = (folder / "__init__.py").read_text()
    found = [path.stem for path in sorted((folder / "ops").glob("*.py")) if "\nFRAMEWORK = " in path.read_text()]
    listed = re.findall(r"^    from \.ops import (\w+) as \1$", written, re.MULTILINE)
    assert listed == found, "axiscast/__init__.py needs `from .ops import NAME as NAME` for each framework"


def test_the_exported_names_are_the_ones_that_are_meant() -> None:
    meant = """
        backprop broadcast broadcast_arrays broadcast_shapes broadcast_to can_broadcast check check_batch
            check_columns compare translate why
        AsyncClient Client CheckedColumns Transfer
        check_model Finding Operand Report UnusableModel
        BackpropRequest BroadcastInput BroadcastRequest CheckAnswer CheckRequest Comparison ConflictAnswer Hint
            OpEntry OutputShape TranslateAnswer WhyAnswer
        AxiscastError ServiceProblem IncompatibleShapes InvalidRequest InvalidType UnknownOp
        InvalidTensor NotStrided OutputTooLarge WorkTooLarge BodyTooLarge Untranslatable MisdirectedRequest
        Unauthenticated RequestTimeout Overloaded ShuttingDown InternalError UnexpectedStatus ConnectionFailed
        DeadlineExceeded InvalidAnswer
        SuspiciousBroadcast watch check_torch check_jax
    """
    folder = Path(axiscast.__file__).parent / "ops"
    frameworks = [path.stem for path in folder.glob("*.py") if "\nFRAMEWORK = " in path.read_text()]
    assert {"numpy", "ngraph", "mindspore", "poputil", "openvino"} < set(frameworks)
    assert axiscast.__all__ == dir(axiscast) == sorted([*meant.split(), *frameworks])
