"""Tests of `make pin-base`, which writes the digest of the base image into the Dockerfile."""

from __future__ import annotations

import hashlib
import json
import os
import re
import runpy
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import free_port, run
from deployment import DEPLOY

PIN = DEPLOY / "pin_base.py"
INDEX = b'{"schemaVersion": 2, "manifests": []}'
DIGEST = f"sha256:{hashlib.sha256(INDEX).hexdigest()}"
TYPE = "application/vnd.oci.image.index.v1+json"


@contextmanager
def registry(challenge: str | None = None, content_type: str = TYPE, digest: str = DIGEST) -> Iterator[str]:
    """Return the address of a registry with the image python:3.12, which may require an anonymous token."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/token?"):
                assert self.path == "/token?service=a+registry&scope=repository%3Aa%2Fpython%3Apull"
                return self.respond(200, "application/json", json.dumps({"token": "secret"}).encode())
            if challenge and self.headers.get("Authorization") != "Bearer secret":
                return self.respond(401, "application/json", b"{}")
            assert TYPE in self.headers["Accept"]
            if self.path != "/v2/a/python/manifests/3.12":
                return self.respond(404, "application/json", b"{}")
            return self.respond(200, content_type, INDEX)

        def respond(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if challenge and status == 401:
                self.send_header("WWW-Authenticate", challenge.format(port=server.server_port))
            if status == 200 and body == INDEX:
                self.send_header("Docker-Content-Digest", digest)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "deploy").mkdir()
    shutil.copy(PIN, tmp_path / "deploy")
    (tmp_path / "Dockerfile").write_text("# a comment\nARG BASE=nothing.invalid/a/python:3.12\nFROM ${BASE}\n")
    return tmp_path


def pin(project: Path, *arguments: str) -> Any:
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return run([sys.executable, project / "deploy/pin_base.py", *arguments], env=environment)


BEARER = 'Bearer realm="http://127.0.0.1:{port}/token",service="a registry",scope="repository:a/python:pull"'


@pytest.mark.parametrize("challenge", [None, BEARER], ids=["open", "token"])
def test_the_digest_of_the_base_image_is_written_and_renewed(challenge: str | None, project: Path) -> None:
    with registry(challenge) as host:
        done = pin(project, f"{host}/a/python:3.12")
        line = f"ARG BASE={host}/a/python:3.12@{DIGEST}"
        assert (done.returncode, done.stdout, done.stderr) == (0, f"Dockerfile: {line}\n", "")
        assert (project / "Dockerfile").read_text() == f"# a comment\n{line}\nFROM ${{BASE}}\n"
        assert pin(project).stdout == f"unchanged: {line}\n"
        old = line.replace(DIGEST, "sha256:" + "0" * 64)
        (project / "Dockerfile").write_text(f"{old}\n")
        assert pin(project).stdout == f"Dockerfile: {line}\n"
        assert (project / "Dockerfile").read_text() == f"{line}\n"


FAILURES = [
    ({"content_type": "text/html"}, "a/python:3.12", "returned text/html"),
    ({"digest": "sha256:" + "1" * 64}, "a/python:3.12", "with the digest sha256:1111"),
    ({"challenge": 'Basic realm="x"'}, "a/python:3.12", "the registry requires a login"),
    ({}, "a/python:3.99", "Not Found"),
]


@pytest.mark.parametrize(("options", "image", "message"), FAILURES, ids=[failure[2] for failure in FAILURES])
def test_without_a_digest_the_dockerfile_is_unchanged(
    options: dict[str, str], image: str, message: str, project: Path
) -> None:
    before = (project / "Dockerfile").read_text()
    with registry(**options) as host:
        done = pin(project, f"{host}/{image}")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"pin-base: .*{re.escape(message)}.* The Dockerfile is unchanged\.\n", done.stderr)
    assert (project / "Dockerfile").read_text() == before


def test_without_a_registry_one_sentence_says_so(project: Path) -> None:
    image = f"127.0.0.1:{free_port()}/a/python:3.12"
    done = pin(project, image)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"pin-base: can't get the digest of {image} from its registry: [Errno 111] Connection refused. "
        "The Dockerfile is unchanged.\n"
    )


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("python:3.12-slim-bookworm", ("registry-1.docker.io", "library/python", "3.12-slim-bookworm")),
        ("python", ("registry-1.docker.io", "library/python", "latest")),
        ("docker.io/library/python:3.12", ("registry-1.docker.io", "library/python", "3.12")),
        ("someone/python:3.12@sha256:00", ("registry-1.docker.io", "someone/python", "3.12")),
        ("registry.example.org:5000/a/b/python:3", ("registry.example.org:5000", "a/b/python", "3")),
        ("localhost/python:3", ("localhost", "python", "3")),
    ],
)
def test_an_image_without_a_registry_is_on_docker_hub(image: str, expected: tuple[str, str, str]) -> None:
    assert runpy.run_path(str(PIN))["location"](image) == expected
