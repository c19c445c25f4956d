"""schemathesis against a running service, by its own OpenAPI document: python -m fuzz.documented SECONDS, in tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import served

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def main() -> None:
    with served() as service:
        done = subprocess.run(
            [
                *(Path(sys.executable).with_name("schemathesis"), "run", f"{service.url}/openapi.json"),
                *("--checks", CHECKS, "--max-time", sys.argv[1], "--max-examples", "10000"),
            ],
            env=os.environ | {"SCHEMATHESIS_HOOKS": "fuzz.encodings"},
        )
    sys.exit(done.returncode)


main()
