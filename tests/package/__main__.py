"""Install the built wheel and source distribution in bare environments, and run the smoke test in each.

    python -m package [--pythons python3.11 ...] [--quick]     (in tests; `make package`, `make smoke`)

Each extra is installed in its own environment, on each Python, from the wheel. The source distribution, uv and pipx
follow. The PATH of each installation contains only the environment, so no installation can use a compiler. `--quick`
installs the wheel once, without extras. A Python that does not exist is reported as not run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
EXTRAS = [[], ["service"], ["service", "metrics"], ["service", "otel"], ["metrics"], ["otel"], ["onnx"]]
PACKED = {
    *("client", "service", "pyproject.toml", "hatch_build.py", "PKG-INFO"),
    *("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "NOTICE"),
}
"""The files and folders at the top of the source distribution."""


def run(*command: str | Path, path: Path | None = None, **variables: str) -> str:
    """Run a command without a compiler, and return its output. With `path`, PATH contains only this folder."""
    environment = os.environ | {"CC": "false", "CXX": "false"} | variables
    environment.pop("PYTHONPATH", None)
    if path is not None:
        environment["PATH"] = str(path)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def requirement(file: Path, extras: list[str]) -> str:
    return f"axiscast[{','.join(extras)}] @ {file.as_uri()}"


def install_with_pip(python: str, folder: Path, file: Path, extras: list[str]) -> str:
    run(python, "-m", "venv", "--without-pip", folder)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder)]
    wheels = ["--only-binary=:all:"] if file.suffix == ".whl" else []
    run(*pip, "install", "--quiet", *wheels, requirement(file, extras), path=folder / "bin")
    run(*pip, "check", path=folder / "bin")
    return run(folder / "bin/python", "-I", SMOKE, *extras, path=folder / "bin")


def install_with_uv(python: str, folder: Path, file: Path, extras: list[str]) -> str:
    uv = shutil.which("uv", path=Path(sys.executable).parent) or "uv"
    run(uv, "venv", "--quiet", "--python", python, folder)
    run(uv, "pip", "install", "--quiet", "--python", folder, requirement(file, extras))
    return run(folder / "bin/python", "-I", SMOKE, *extras, path=folder / "bin")


def install_with_pipx(python: str, folder: Path, file: Path, extras: list[str]) -> str:
    home = {"PIPX_HOME": str(folder / "home"), "PIPX_BIN_DIR": str(folder / "bin")}
    run(sys.executable, "-m", "pipx", "install", "--quiet", "--python", python, requirement(file, extras), **home)
    version = re.search(r"[\d.]+", run(folder / "bin/axiscast", "--version"))
    assert version, "the command has no version"
    return run(folder / "home/venvs/axiscast/bin/python", "-I", SMOKE, *extras)


def packed(file: Path) -> set[str]:
    """Return the files and folders at the top of a source distribution."""
    with tarfile.open(file) as archive:
        return {member.name.split("/")[1] for member in archive.getmembers()}


def installations(pythons: list[str], wheel: Path, sdist: Path, folder: Path) -> Iterator[str]:
    for number, python in enumerate(pythons):
        if shutil.which(python) is None or subprocess.run([python, "--version"], capture_output=True).returncode:
            yield f"{python} does not exist here: not run\n"
            continue
        for extras in EXTRAS:
            yield install_with_pip(python, folder / f"{number}-{'-'.join(extras)}", wheel, extras)
        yield "from the source distribution: " + install_with_pip(python, folder / f"{number}-sdist", sdist, [])
        yield "by uv: " + install_with_uv(python, folder / f"{number}-uv", wheel, ["service", "onnx"])
        yield "by pipx: " + install_with_pipx(python, folder / f"{number}-pipx", wheel, ["onnx"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pythons", nargs="+", default=["python3.11", "python3.12", "python3.13", "python3.14"])
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    (wheel,) = (ROOT / "dist").glob("*.whl")
    with tempfile.TemporaryDirectory() as name:
        if options.quick:
            print(install_with_pip(sys.executable, Path(name, "quick"), wheel, []), end="")
            return
        (sdist,) = (ROOT / "dist").glob("*.tar.gz")
        if packed(sdist) != PACKED:
            sys.exit(f"the source distribution contains {sorted(packed(sdist) ^ PACKED)}, which is not expected")
        for line in installations(options.pythons, wheel, sdist, Path(name)):
            print(line, end="", flush=True)


if __name__ == "__main__":
    main()
