"""The commands of docs/operations.md that answer an operator's questions, on a running service."""

from __future__ import annotations

import re
import shutil
import socket
from pathlib import Path

import httpx
import pytest
from conftest import run, served

PAGE = (Path(__file__).parents[2] / "docs/operations.md").read_text()
SECTION = PAGE.partition("## Five questions\n")[2].partition("\n## ")[0]
QUESTIONS = re.findall(r"```sh\n(.*?)\n```\n\n```text\n(.*?)```", SECTION, re.DOTALL)


def without_measured(text: str) -> list[str]:
    """Return the lines without what differs from run to run: versions, request ids, seconds and sizes."""
    text = re.sub(r"\b[0-9a-f]{32}\b", "ID", text)
    text = re.sub(r'="\d+(\.\d+)+\w*"', '="VERSION"', text)
    return sorted(re.sub(r"(?m)^\d(\.\d+)?(e-\d+)?\t(.*)\t\d+\t(?=127)", r"SECONDS\t\3\tBYTES\t", text).splitlines())


@pytest.mark.skipif(shutil.which("jq") is None or shutil.which("curl") is None, reason="jq or curl is not installed")
def test_each_question_is_answered_by_its_command_as_documented(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    with served(access_log="true", log_format="json") as service:
        with httpx.Client(base_url=service.url, headers={"User-Agent": "orders/1.4"}) as orders:
            for _ in range(40):
                assert orders.get("/v1/check?input=3,1&input=4").status_code == 200
        with httpx.Client(base_url=service.url, headers={"User-Agent": "probe/2"}) as probe:
            assert probe.get("/v1/check?input=-1").status_code == 422
            assert probe.get("/wp-login.php").status_code == 404
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(b"GET /v1/check HTTP/1.1\r\nno header\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
        answers = {
            command: run(["bash", "-c", command.replace("http://127.0.0.1:8000", service.url)], cwd=tmp_path).stdout
            for command, _ in QUESTIONS
            if "curl" in command
        }
        (tmp_path / "axiscast.log").write_text(service.end())
    for command, _ in QUESTIONS:
        if "curl" not in command:
            answers[command] = run(["bash", "-c", command], cwd=tmp_path).stdout
    assert len(QUESTIONS) == 5
    for command, shown in QUESTIONS:
        assert without_measured(answers[command]) == without_measured(shown), command
