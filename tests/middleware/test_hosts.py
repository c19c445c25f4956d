"""Allowed Host names, against DNS rebinding."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import httpx
import msgpack
import pytest
import yaml
from cases import cases
from conftest import PATIENCE, Served, run, served

from axiscast import Client, MisdirectedRequest
from axiscast_service.middleware.host_check import effective_hosts, parse_hosts
from axiscast_service.settings import Settings

DEPLOY = Path(__file__).parents[2] / "deploy"
KEY = "alice-0123456789abcdef"
LOOPBACK = ["localhost", "127.0.0.1", "[::1]", "LocalHost", "localhost.", "localhost:8000", "[::1]:8000", "127.0.0.1:1"]
OTHERS = ["rebound.example", "rebound.example:8000", "127.0.0.1.example", "localhost.example", "localhost@evil", "",
          "[::1].example", "[::2]", "::1", "0.0.0.0", "2130706433"]  # fmt: skip


def status(service: Served, host: str, path: str = "/v1/check?input=3", *fields: str) -> int:
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", *fields, "", ""]
        connection.sendall("\r\n".join(lines).encode())
        return int(connection.makefile("rb").readline().split()[1])


def test_on_loopback_without_keys_only_loopback_names_are_allowed() -> None:
    with served(allowed_hosts="") as service:
        for _ in range(4):  # the last by its bytes
            assert [status(service, host) for host in LOOPBACK] == [200] * len(LOOPBACK)
            # What can't be a name at all is refused by the gate.
            assert {status(service, host) for host in OTHERS} == {421, 400}
            assert [status(service, host) for host in OTHERS if "@" not in host] == [421] * (len(OTHERS) - 1)
        for path in ("/", "/docs", "/openapi.json", "/nothing"):
            assert status(service, "rebound.example", path) == 421
        for path in ("/livez", "/readyz", "/metrics"):
            assert status(service, "10.1.2.3", path) == 200


def test_a_url_as_the_target_overrides_the_host_field() -> None:
    """RFC 9112, 3.2.2."""
    with served(allowed_hosts="there") as service:
        for target, host, expected in [
            ("http://there", "there", 200),
            ("http://THERE:80", "elsewhere", 200),
            ("http://there.", "", 200),
            ("http://elsewhere", "there", 421),
            ("http://there.elsewhere", "there", 421),
            ("http://th%65re", "there", 421),
            ("http://[there]", "there", 421),
        ]:
            assert status(service, host, f"{target}/v1/check?input=3") == expected, (target, host)
            assert status(service, host, f"{target}/livez") == 200


def test_the_refusal_names_the_setting_and_the_host_and_reads_no_body() -> None:
    with served(allowed_hosts="") as service:
        url = f"{service.url}/v1/check"
        headers = {"Host": "rebound.example:8000", "Content-Type": "application/vnd.msgpack"}
        answer = httpx.post(url, content=msgpack.packb({"inputs": [[3]]}), headers=headers)
        document = msgpack.unpackb(answer.content)
        assert (answer.status_code, document["code"]) == (421, "misdirected-request")
        assert "AXISCAST_ALLOWED_HOSTS" in document["detail"]
        assert "'rebound.example:8000'" in document["detail"]
        assert answer.headers["connection"] == "close"
        assert answer.headers["x-request-id"]
        long = httpx.get(url, headers={"Host": "x" * 250})
        assert long.status_code == 421
        assert len(long.text) < 600
        with Client(service.url, headers={"Host": "rebound.example"}) as client, pytest.raises(MisdirectedRequest):
            client.can_broadcast((3,), (1,))
        assert "421" in httpx.get(f"{service.url}/openapi.json").json()["paths"]["/v1/check"]["post"]["responses"]


def test_other_names_are_allowed_if_listed_or_with_keys_or_a_wildcard(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"alice:{KEY}\n")
    with served(allowed_hosts="Tensors.Example, [::1]") as service:
        hosts = ["tensors.example", "TENSORS.example:80", "[::1]:9", "localhost", "127.0.0.1", "x.tensors.example"]
        assert [status(service, host) for host in hosts] == [200, 200, 200, 421, 421, 421]
    with served(allowed_hosts="*") as service:
        assert status(service, "rebound.example") == 200
    with served(allowed_hosts="", api_keys_file=tmp_path / "keys") as service:
        assert status(service, "rebound.example", "/v1/check?input=3", f"Authorization: Bearer {KEY}") == 200
        assert status(service, "rebound.example") == 401
    with served(allowed_hosts="localhost", api_keys_file=tmp_path / "keys") as service:
        assert status(service, "rebound.example") == 421
    with Client.in_process() as client:
        assert client.can_broadcast((3,), (1,))


@cases(
    ("settings", "hosts"),
    [
        ({}, "localhost,127.0.0.1,[::1],127.0.0.1"),
        ({"host": "localhost"}, "localhost,127.0.0.1,[::1],localhost"),
        ({"host": "127.0.0.2"}, "localhost,127.0.0.1,[::1],127.0.0.2"),
        ({"host": "::1"}, "localhost,127.0.0.1,[::1],[::1]"),
        ({"host": "0.0.0.0"}, "*"),
        ({"host": "::"}, "*"),
        ({"host": "10.0.0.1"}, "*"),
        ({"api_keys_file": "keys"}, "*"),
        ({"allowed_hosts": "a,b", "host": "0.0.0.0", "api_keys_file": "keys"}, "a,b"),
    ],
)
def test_the_default_hosts_depend_on_the_address_and_the_keys(settings: dict[str, str], hosts: str) -> None:
    assert effective_hosts(Settings(**settings)) == hosts


@cases("listed", ["a:8000", "http://a", "::1", "a b", "*.example", "a/"])
def test_an_invalid_allowed_host_stops_the_start(listed: str) -> None:
    with pytest.raises(ValueError, match="AXISCAST_ALLOWED_HOSTS has "):
        parse_hosts(f"localhost,{listed}")
    command = [sys.executable, "-m", "axiscast", "serve", "--allowed-hosts", listed]
    if listed == "a:8000":
        done = run(command)
        assert (done.returncode, "without a port" in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_the_compose_service_responds_to_local_requests_and_health_checks() -> None:
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["axiscast"]
    assert parse_hosts(composed["environment"]["AXISCAST_ALLOWED_HOSTS"]) == {"localhost", "127.0.0.1", "[::1]"}
    assert composed["ports"] == ["127.0.0.1:8000:8000"]
    assert "GET /livez HTTP/1.1\\r\\nHost: localhost" in (DEPLOY / "healthcheck.py").read_text()
