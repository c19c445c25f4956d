"""Tests of the public pages and their files, which are stored once for any number of slow readers."""

from __future__ import annotations

import asyncio
import errno
import json
import re
import shlex
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from cases import cases
from conftest import PATIENCE, served, wait_for

from axiscast_service.app import create_app
from axiscast_service.endpoints import pages
from axiscast_service.middleware.caching import StaticContent
from axiscast_service.settings import Settings

BUNDLE = "/docs/swagger-ui-bundle.js"
READERS = 24
GETS = 8
"""The number of requests that each reader sends at once. The system buffers the first few responses."""
KEY = "alice-0123456789abcdef"


@contextmanager
def slow_readers(port: int, number: int, tls: ssl.SSLContext | None) -> Iterator[list[socket.socket]]:
    """Return connections on which many requests were sent and no response is read."""
    with ExitStack() as stack:
        readers = []
        for _ in range(number):
            reader = stack.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.settimeout(PATIENCE)
            reader.connect(("127.0.0.1", port))
            if tls is not None:
                reader = stack.enter_context(tls.wrap_socket(reader, server_hostname="127.0.0.1"))
            reader.sendall(f"GET {BUNDLE} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() * GETS)
            assert reader.recv(12) == b"HTTP/1.1 200"
            readers.append(reader)
        time.sleep(1)  # whatever goes into the system's buffers is there
        yield readers


@pytest.mark.parametrize("encrypted", [False, True])
def test_slow_readers_of_the_documentation_need_no_memory_and_block_no_client(
    encrypted: bool, pem: Path, tmp_path: Path
) -> None:
    (tmp_path / "keys").write_text(f"alice:{KEY}\n")
    settings: dict[str, Any] = {"api_keys_file": tmp_path / "keys", "max_concurrent_requests": READERS}
    tls = None
    if encrypted:
        tls = ssl.create_default_context(cafile=str(pem / "certificate"))
        settings |= {"tls_certificate": pem / "certificate", "tls_key": pem / "key"}
    key = {"Authorization": f"Bearer {KEY}"}
    with served(**settings) as service, httpx.Client(base_url=service.url, verify=tls or True, headers=key) as http:
        size = len(http.get(BUNDLE).content)
        before = service.memory()
        with slow_readers(service.port, READERS, tls):
            assert service.memory() - before < READERS * size / 4
            for shape in range(50):
                assert http.get(f"/v1/check?input={shape}").status_code == 200
        assert wait_for(lambda: http.get(BUNDLE).status_code == 200)


def test_the_first_readers_of_a_file_share_one_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(StaticContent):
        def __init__(self, *arguments: Any) -> None:
            made.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(pages, "StaticContent", Counted)
    path = "/docs/swagger-ui.css?first"  # no other test has read the file under this path
    monkeypatch.setitem(pages.PARTS, path, pages.PARTS["/docs/swagger-ui.css"])

    async def read_at_once() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(Settings()))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            return await asyncio.gather(*(http.get(path.replace("?", "%3F")) for _ in range(8)))

    responses = asyncio.run(read_at_once())
    assert {response.status_code for response in responses} == {200}
    assert len(made) == 1


def test_a_slow_reader_of_the_documentation_is_disconnected() -> None:
    with served(request_seconds=1) as service, slow_readers(service.port, 1, None) as (reader,):
        # A reset is reported without reading, and a reader that reads again would be fast enough.
        assert wait_for(lambda: reader.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET)


def test_all_bytes_arrive_through_tls(pem: Path) -> None:
    """Read a response in one piece, and a streamed response whose pieces are longer than a part."""
    tls = ssl.create_default_context(cafile=str(pem / "certificate"))
    with served() as plain, served(tls_certificate=pem / "certificate", tls_key=pem / "key") as encrypted:
        assert httpx.get(encrypted.url + BUNDLE, verify=tls).content == httpx.get(plain.url + BUNDLE).content
        body = {
            "op": {"name": "numpy.broadcast_to", "shape": [30_000, 3]},
            "inputs": [{"dtype": "int16", "shape": [3], "data": [1, 2, 3]}],
        }
        for accept in ("application/json", "application/vnd.msgpack"):
            headers = {"Accept": accept}
            url = "/v1/broadcast"
            given = httpx.post(encrypted.url + url, json=body, headers=headers, verify=tls).content
            assert given == httpx.post(plain.url + url, json=body, headers=headers).content
            assert len(given) > 2 * 2**16


@cases("path", ["/", "/static/page.css", "/static/page.js", "/docs", BUNDLE, "/ops", "/openapi.json", "/v1/ops"])
def test_pages_and_scripts_are_compressed_if_the_client_accepts_gzip(http: httpx.Client, path: str) -> None:
    plain = http.get(path, headers={"Accept-Encoding": "identity"})
    packed = http.get(path, headers={"Accept-Encoding": "br, gzip;q=0.5"})
    assert ("content-encoding" in plain.headers, packed.headers["content-encoding"]) == (False, "gzip")
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content)
    assert packed.headers["etag"] != plain.headers["etag"]
    negotiated = path in ("/", "/v1/ops")  # a program gets a help text instead of the page, or MessagePack
    vary = "Accept, Accept-Encoding" if negotiated else "Accept-Encoding"
    assert packed.headers["vary"] == plain.headers["vary"] == vary
    known = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["etag"]}
    assert http.get(path, headers=known).status_code == 304
    for refused in ("gzip;q=0", "gzip; q=0.000", "br", ""):
        assert "content-encoding" not in http.get(path, headers={"Accept-Encoding": refused}).headers, refused


def test_the_first_answer_of_the_page_takes_less_than_45_kb(http: httpx.Client) -> None:
    parts, loaded = {"/", *re.findall(r"static/[\w.]+", http.get("/").text)}, set()
    while parts - loaded:
        path = (parts - loaded).pop()
        loaded.add(path)
        parts |= {f"static/{name}" for name in re.findall(r'from "\./([\w.]+)"', http.get(path).text)}
    assert len(loaded) == 9
    loaded |= {"/v1/ops", "/v1/check?input=3,1&input=1,4&format=drawing"}  # the list of ops, and the first answer
    sizes = [int(http.get(path, headers={"Accept-Encoding": "gzip"}).headers["content-length"]) for path in loaded]
    assert sum(sizes) < 45_000


def test_a_browser_gets_a_page_about_a_problem_and_a_program_gets_text(http: httpx.Client) -> None:
    page = http.get("/problems/unknown-op", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<h2>Fix</h2>" in page.text
    assert "`" not in page.text
    assert '<a href="incompatible-shapes">' in page.text
    text = http.get("/problems/unknown-op")
    assert text.headers["content-type"].startswith("text/plain")
    assert text.text.startswith("422 unknown-op: ")


def test_a_program_that_accepts_plain_text_gets_help_with_working_commands(http: httpx.Client) -> None:
    text = http.get("/", headers={"Accept": "text/plain"})
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    commands = [shlex.split(line) for line in text.text.replace("\\\n", "").splitlines() if "curl" in line]
    assert len(commands) == 3
    check, expand = (http.get(command[1]).text for command in commands[:2])
    assert check.splitlines()[-1] == "compatible: (8, 7, 6, 5)"
    assert expand.splitlines()[-1] == "compatible: (2, 3)"
    _, url, _, header, option, body = commands[2]
    assert (header, option) == ("Accept: text/plain", "--json")
    request = json.loads(body)
    why = http.post(url, json=request, headers={"Accept": "text/plain"}).text
    assert why.startswith(http.post(url, json=request).json()["message"])
    for accept in ("*/*", "text/html,text/plain;q=0.9", ""):
        page = http.get("/", headers={"Accept": accept})
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers["vary"] == "Accept, Accept-Encoding"
