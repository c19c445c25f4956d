"""Each public name of the product means one thing, and so does each module name of a package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from cases import cases

from axiscast.ops import FRAMEWORKS

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("client", "service") for path in sorted((ROOT / folder).rglob("*.py"))]
FRAMEWORK_FILES = {ROOT / f"client/axiscast/ops/{name}.py" for name in FRAMEWORKS}
"""Op classes have their framework's names, so that the module is part of the name: numpy.add, torch.add."""
OPERATION_FILES = {
    ROOT / "client/axiscast/library.py",
    ROOT / "client/axiscast/array_functions.py",
    ROOT / "client/axiscast/client/request_building.py",
    *(ROOT / "client/axiscast/cli").glob("*.py"),
}
"""An operation has the same name in the library, in the clients and on the command line: check, broadcast."""
EXCEPTIONS = {"router": "each module of endpoints/ has the router that FastAPI's documentation names so"}
"""Names that several files define as different things, each with the reason."""


def public_definitions(path: Path) -> dict[str, str]:
    """Return the public names that a file defines: a class or a function with its path, another name with its value."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found[node.name] = str(path)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: ast.unparse(node.value) for target in targets if isinstance(target, ast.Name)}
    return {name: value for name, value in found.items() if not name.startswith("_")}


def collisions() -> dict[str, list[str]]:
    """Return the files that define each public name, if they define different things and not one operation."""
    files: dict[str, dict[Path, str]] = defaultdict(dict)
    for path in SOURCES:
        if path not in FRAMEWORK_FILES:
            for name, value in public_definitions(path).items():
                files[name][path] = value
    return {
        name: [str(path.relative_to(ROOT)) for path in found]
        for name, found in files.items()
        if len({*found.values()}) > 1 and not OPERATION_FILES.issuperset(found)
    }


def test_no_two_public_names_mean_different_things() -> None:
    found = collisions()
    assert {name: files for name, files in found.items() if name not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() <= found.keys()


@cases("package", sorted({path.parent for path in SOURCES}), ids=lambda path: path.name)
def test_no_two_modules_of_a_package_have_nearly_the_same_name(package: Path) -> None:
    """Two names that differ only in a plural or in an underscore are one name to a reader."""
    modules: dict[str, list[str]] = defaultdict(list)
    for path in package.iterdir():
        if path.suffix == ".py" or (path / "__init__.py").exists():
            modules[path.stem.strip("_").replace("_", "").removesuffix("s")].append(path.name)
    assert [names for names in modules.values() if len(names) > 1] == []


@cases("package", sorted({path.parent for path in SOURCES}), ids=lambda path: path.name)
def test_no_module_has_the_name_of_a_public_function_of_its_package(package: Path) -> None:
    """The import of such a module would replace the function in the package."""
    exported = {*public_definitions(package / "__init__.py")}
    if package == ROOT / "client/axiscast":
        exported |= {*public_definitions(package / "library.py")}
    assert exported.isdisjoint(path.stem for path in package.iterdir())
