"""The files for one machine: the systemd unit, and nginx with TLS in front of it."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from conftest import PATIENCE, free_port, run, served, started, wait_for
from deployment import DEPLOY

from axiscast_service.runtime.memory_limit import memory_warning
from axiscast_service.settings import Settings, unknown_variables

UNIT = (DEPLOY / "systemd/axiscast.service").read_text()
NGINX = (DEPLOY / "systemd/nginx.conf").read_text()
ENVIRONMENT = dict(re.findall(r"(?m)^Environment=(\w+)=(.*)$", UNIT))


def value(directive: str) -> str:
    (found,) = re.findall(rf"(?m)^{directive}=(.*)$", UNIT)
    return str(found)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "axiscast.service"
    unit.write_text(UNIT.replace("/opt/axiscast/bin/axiscast", str(Path(sys.executable).parent / "axiscast")))
    done = run(["systemd-analyze", "verify", "--man=no", str(unit)])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_settings_of_the_unit_exist_and_fit_its_memory_and_its_time() -> None:
    settings = Settings.from_environment(ENVIRONMENT)
    assert unknown_variables(ENVIRONMENT) == []
    assert value("MemoryMax") == "512M"
    assert memory_warning(settings, 512 * 2**20) is None
    assert memory_warning(settings, 512 * 2**20 - 1) is not None
    assert int(value("TimeoutStopSec")) > settings.drain_seconds + settings.finish_seconds + 2


def test_nginx_with_tls_forwards_requests_and_the_log_names_their_client(pem: Path, tmp_path: Path) -> None:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    keys, key = tmp_path / "keys", "k" * 32
    keys.write_text(f"alice:{key}\n")
    port = free_port()
    # Two workers, as in the unit, would need ten seconds to start.
    settings = {name.removeprefix("AXISCAST_").lower(): text for name, text in ENVIRONMENT.items()}
    del settings["workers"]
    with served(**settings | {"api_keys_file": keys}) as service:
        text = NGINX.replace("listen 443", f"listen 127.0.0.1:{port}").replace(":8000", f":{service.port}")
        text = text.replace("/etc/axiscast/tls/certificate.pem", str(pem / "certificate"))
        text = text.replace("/etc/axiscast/tls/key.pem", str(pem / "key"))
        file = tmp_path / "nginx.conf"
        file.write_text(f"pid {tmp_path}/pid; error_log stderr; daemon off; events {{}} http {{ {text} }}")
        checked = run(["nginx", "-t", "-q", "-p", str(tmp_path), "-c", str(file)])
        assert checked.returncode == 0, checked.stderr
        trust = ssl.create_default_context(cafile=str(pem / "certificate"))
        headers = {"Authorization": f"Bearer {key}", "X-Forwarded-For": "203.0.113.9"}
        with (
            started(["nginx", "-p", str(tmp_path), "-c", str(file)], stderr=subprocess.DEVNULL),
            httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trust, timeout=PATIENCE) as client,
        ):

            def answers() -> bool:
                with suppress(httpx.TransportError):
                    return client.get("/readyz").status_code == 200
                return False

            assert wait_for(answers)
            assert client.get("/v1/check?input=3", headers=headers).status_code == 200
            assert client.get("/v1/check?input=3").status_code == 401
            assert client.get("/metrics", headers=headers).status_code == 404
        lines = [json.loads(line) for line in service.end().splitlines() if '"answered"' in line]
    # nginx replaces the address that the client has sent.
    assert [(line["client"], line.get("key"), line["status"]) for line in lines] == [
        ("127.0.0.1", "alice", 200),
        ("127.0.0.1", None, 401),
    ]
