"""Generates clients from the OpenAPI document of a service, checks their types, and calls every endpoint.

Run python -m clients python, or python -m clients typescript, in tests. The clients are written to clients/built.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import httpx
from conftest import run, served

HERE = Path(__file__).parent
BUILT = HERE / "built"
DOCUMENT = BUILT / "openapi.json"
BIN = Path(sys.executable).parent
PROGRAMS = HERE / "node_modules" / ".bin"

COMMANDS: dict[str, list[list[str | Path]]] = {
    "python": [
        [
            *(BIN / "openapi-python-client", "generate", "--path", DOCUMENT, "--config", HERE / "generator.yaml"),
            *("--meta", "none", "--output-path", BUILT / "axiscast_api", "--overwrite"),
        ],
        [BIN / "mypy", "--config-file", HERE / "mypy.ini", HERE / "calls.py"],
        [sys.executable, HERE / "calls.py"],
    ],
    "typescript": [
        [PROGRAMS / "openapi-typescript", DOCUMENT, "--output", BUILT / "axiscast_api.ts"],
        [PROGRAMS / "tsc", "--project", HERE],
        [BIN / "node", HERE / "calls.ts"],
    ],
}
"""The commands that generate a client, check its types, and call every endpoint. They end with the URL."""


def main() -> None:
    *checked, calling = COMMANDS[sys.argv[1]]
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(BUILT), "MYPYPATH": str(BUILT)}
    with served() as service:
        BUILT.mkdir(exist_ok=True)
        DOCUMENT.write_bytes(httpx.get(f"{service.url}/openapi.json").content)
        for command in (*checked, [*calling, service.url]):
            done = run(command, env=environment)
            if done.returncode:
                sys.exit(f"{Path(command[0]).name} failed:\n{done.stdout}{done.stderr}")
    print(done.stdout, end="")


main()
