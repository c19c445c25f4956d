"""TLS, the listening address, the documentation pages and cache headers."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from cases import cases
from conftest import PATIENCE, Served, run, served, unhurried

from axiscast import Client, ConnectionFailed
from axiscast_service.serve import verify_settings
from axiscast_service.settings import Settings

HEALTHCHECK = Path(__file__).parents[2] / "deploy" / "healthcheck.py"


@pytest.fixture(scope="module")
def encrypted(pem: Path) -> Iterator[Served]:
    with served(tls_certificate=pem / "certificate", tls_key=pem / "key") as running:
        yield running


def test_a_client_that_trusts_the_certificate_is_answered(encrypted: Served, pem: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(pem / "certificate"))
    with Client(encrypted.url, verify=trusting) as client:
        assert client.broadcast_shapes((8, 1), (3,)) == (8, 3)
        output = client.broadcast_to(np.arange(3, dtype=np.uint8), (2**23, 3))
    assert output.shape == (2**23, 3)
    assert (output == [0, 1, 2]).all()


def test_an_untrusting_client_and_plain_http_get_no_response(encrypted: Served) -> None:
    with Client(encrypted.url, retries=0) as client, pytest.raises(ConnectionFailed, match="CERTIFICATE_VERIFY_FAILED"):
        client.can_broadcast((3,), (1,))
    with pytest.raises(httpx.TransportError):
        httpx.get(encrypted.url.replace("https", "http") + "/livez")


def test_the_certificate_file_may_contain_the_key(pem: Path) -> None:
    with served(tls_certificate=pem / "both") as running:
        greeting = running.end()
    assert f"axiscast on {running.url} " in greeting
    assert running.url.startswith("https://")


def test_the_health_check_finds_a_service_that_speaks_tls(encrypted: Served, pem: Path) -> None:
    def ran(**environment: str) -> subprocess.CompletedProcess[str]:
        port = {"AXISCAST_PORT": encrypted.url.rpartition(":")[2]}
        command = [sys.executable, "-IS", str(HEALTHCHECK)]
        return run(command, env=os.environ | port | environment)

    def ask(seconds: float) -> None:
        healthy = ran(AXISCAST_TLS_CERTIFICATE=str(pem / "certificate"))
        assert (healthy.returncode, healthy.stderr) == (0, "")

    unhurried(ask, 2)  # of its own it gives up after 2 s
    assert ran().returncode == 1


@cases(
    ("certificate", "key", "reason"),
    [
        ("absent", "key", "No such file or directory"),
        ("certificate", "absent", "No such file or directory"),
        ("", "key", "No such file or directory"),
        ("certificate", "", "PEM lib"),
        ("garbage", "key", "PEM lib"),
        ("certificate", "another", "key values mismatch"),
        ("certificate", "locked", ""),
    ],
)
def test_an_invalid_certificate_stops_the_start(pem: Path, certificate: str, key: str, reason: str) -> None:
    paths = {name: str(pem / file) for name, file in (("tls_certificate", certificate), ("tls_key", key)) if file}
    with pytest.raises(ValueError, match=r"^can't use TLS with AXISCAST_TLS_CERTIFICATE=") as caught:
        verify_settings(Settings(**paths))
    assert reason in str(caught.value)


def test_an_exposed_service_without_keys_does_not_start(pem: Path) -> None:
    arguments = ["--tls-certificate", str(pem / "certificate"), "--tls-key", str(pem / "another")]
    command = [sys.executable, "-m", "axiscast", "serve", *arguments]
    done = run(command)
    assert done.returncode == 2
    assert "key values mismatch" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_listens_on_loopback_by_default() -> None:
    assert Settings().host == "127.0.0.1"


def test_the_documentation_can_be_disabled() -> None:
    def statuses(url: str) -> dict[str, int]:
        return {path: httpx.get(url + path).status_code for path in ("/docs", "/ops", "/openapi.json", "/", "/v1/ops")}

    with served(docs="false") as running:
        assert statuses(running.url) == {"/docs": 404, "/ops": 404, "/openapi.json": 404, "/": 200, "/v1/ops": 200}
        assert 'id="docs"' not in httpx.get(running.url).text  # which links to them
        assert "AXISCAST_DOCS" in httpx.get(f"{running.url}/docs").json()["detail"]
        document: dict[str, Any] = httpx.get(f"{running.url}/openapi.json").json()
        assert (document["code"], "/docs" in document["detail"]) == ("not-found", False)


SAID = [
    "GET /livez",
    "GET /",
    "GET /docs/swagger-ui.css",
    "HEAD /v1/check?input=3",
    *["GET /v1/check?input=7"] * 4,  # the last by its bytes
    "GET /v1/ops",
    "GET /nothing",
    "PUT /v1/check",
    "POST /v1/check",
    "GET /v1/check?input=a!",
    "nonsense",
]


@pytest.mark.parametrize("keys", [False, True])
def test_every_response_has_nosniff_and_the_version(keys: bool, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("alice:0123456789abcdef\n")
    with served(**({"api_keys_file": tmp_path / "keys"} if keys else {})) as running:
        for said in SAID:
            with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
                connection.sendall(f"{said} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                head = connection.recv(2**16).partition(b"\r\n\r\n")[0].lower()
            assert head.startswith(b"http/1.1 "), said
            assert head.count(b"\r\nx-content-type-options: nosniff") == 1, said
            assert head.count(b"\r\naxiscast-version: 0.") == 1, said


def test_shared_caches_may_keep_only_responses_without_a_key(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("alice:0123456789abcdef\n")
    key = {"Authorization": "Bearer 0123456789abcdef"}
    with served(api_keys_file=tmp_path / "keys") as keyed, served() as free:
        for path in ("/v1/check?input=3", "/v1/check?input=3&format=text"):
            for _ in range(4):  # the last by its bytes
                given = httpx.get(keyed.url + path, headers=key)
                assert given.headers["cache-control"] == "private, max-age=3600"
                assert given.headers["vary"] == "Accept, Authorization"
            known = httpx.get(keyed.url + path, headers=key | {"If-None-Match": given.headers["etag"]})
            assert (known.status_code, known.headers["cache-control"]) == (304, "private, max-age=3600")
            assert httpx.get(free.url + path).headers["cache-control"] == "public, max-age=3600"
        for path in ("/v1/ops", "/v1/ops/numpy.broadcast_to", "/metrics", "/v1/compare"):
            assert "public" not in httpx.get(keyed.url + path, headers=key).headers.get("cache-control", "")
