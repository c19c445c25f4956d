"""API keys: accepted and refused keys, invalid files, and the key of a client."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgpack
import numpy as np
import pytest
from cases import cases
from conftest import PATIENCE, Served, run, served

from axiscast import AsyncClient, Client, Unauthenticated, UnexpectedStatus
from axiscast_service.middleware import authentication as auth
from axiscast_service.middleware.authentication import ApiKeys

ALICE = "alice-0123456789abcdef"
BOB = "b0b/0123456789+abcdef=="
CHECK = "/v1/check?input=3&input=1"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "keys"
    path.write_text(f"# who may ask\nalice:{ALICE}\r\n\n  bob:{BOB}  \n")
    return path


@pytest.fixture(scope="module")
def guarded(keys: Path) -> Iterator[Served]:
    with served(api_keys_file=keys) as running:
        yield running


def bearer(key: str, scheme: str = "Bearer") -> dict[str, str]:
    return {"Authorization": f"{scheme} {key}"}


# --- the service ----------------------------------------------------------------------------------


@cases("headers", [bearer(ALICE), bearer(BOB), bearer(BOB, "bearer"), bearer(f" {ALICE}")])
def test_every_key_in_the_file_is_accepted(guarded: Served, headers: dict[str, str]) -> None:
    assert httpx.get(guarded.url + CHECK, headers=headers).json()["compatible"] is True


REFUSED: dict[str, list[tuple[str, str]]] = {
    "no header": [],
    "another key": [("Authorization", "Bearer alice-0123456789abcdeF")],
    "a part of a key": [("Authorization", f"Bearer {ALICE[:-1]}")],
    "a key and more": [("Authorization", f"Bearer {ALICE}x")],
    "a name": [("Authorization", "Bearer alice")],
    "a name and its key": [("Authorization", f"Bearer alice:{ALICE}")],
    "no key": [("Authorization", "Bearer")],
    "no scheme": [("Authorization", ALICE)],
    "another scheme": [("Authorization", f"Basic {ALICE}")],
    "two headers": [("Authorization", f"Bearer {ALICE}"), ("Authorization", f"Bearer {ALICE}")],
    "another header": [("X-API-Key", ALICE)],
    "in the query": [("Cookie", f"api_key={ALICE}")],
}


@cases("headers", REFUSED.values(), ids=REFUSED)
def test_any_other_key_is_refused_with_401_and_the_fix(guarded: Served, headers: list[tuple[str, str]]) -> None:
    answer = httpx.get(guarded.url + CHECK, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "send the header Authorization: Bearer KEY" in answer.json()["detail"]
    assert answer.headers["x-request-id"]


@cases(
    "path",
    [
        "/v1/ops",
        "/metrics",
        "/nothing",
        "/docs/../v1/ops",
        "/docs/other",
        "/static/other",
        "//livez",
        "/livez/",
        "/LIVEZ",
        "/v1",
    ],
)
def test_every_private_path_requires_a_key(guarded: Served, path: str) -> None:
    with socket.create_connection(("127.0.0.1", int(guarded.url.rpartition(":")[2])), timeout=PATIENCE) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())  # httpx would tidy the path up
        assert connection.makefile("rb").readline().split()[1] == b"401"


OPEN = [
    "/",
    "/docs",
    "/ops",
    "/openapi.json",
    "/livez",
    "/readyz",
    "/problems/unauthenticated",
    "/static/page.js",
    "/static/page.css",
    "/docs/swagger-ui.css",
]


@cases("path", OPEN)
def test_probes_and_pages_need_no_key(guarded: Served, path: str) -> None:
    assert httpx.get(guarded.url + path).status_code == 200


def test_files_that_the_pages_load_need_no_key(guarded: Served) -> None:
    files = [
        file
        for path in ("/", "/docs", "/ops")
        for file in re.findall(r'(?:src|href)="/?([^":]+\.(?:js|css))"', httpx.get(guarded.url + path).text)
    ]
    assert len(files) >= 4
    for file in files:
        answer = httpx.get(f"{guarded.url}/{file}")
        assert answer.status_code == 200, file
        files += [
            f"static/{name}" for name in re.findall(r'from "\./(\w+\.js)"', answer.text) if file.startswith("static/")
        ]
    assert {"static/page.js", "static/elements.js"} <= set(files)


def test_the_openapi_document_requires_the_key(guarded: Served, http: httpx.Client) -> None:
    document = httpx.get(f"{guarded.url}/openapi.json").json()
    assert document["security"] == [{"key": []}]
    assert document["components"]["securitySchemes"]["key"] == {"type": "http", "scheme": "bearer"}
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert all("401" in operation["responses"] for operation in operations)
    assert len(operations) >= 8
    assert "security" not in http.get("/openapi.json").json()


def test_a_messagepack_request_is_refused_in_messagepack(guarded: Served) -> None:
    headers = {"Content-Type": "application/vnd.msgpack"}
    answer = httpx.post(f"{guarded.url}/v1/check", content=msgpack.packb({}), headers=headers)
    assert msgpack.unpackb(answer.content)["code"] == "unauthenticated"


def test_a_request_is_refused_before_its_body_is_read(guarded: Served) -> None:
    with socket.create_connection(("127.0.0.1", int(guarded.url.rpartition(":")[2])), timeout=PATIENCE) as connection:
        head = "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
        connection.sendall(head.encode())
        answer = connection.makefile("rb").read()  # to the end: the connection closes
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b'"unauthenticated"' in answer


def test_all_keys_are_compared_for_any_key(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def compare(known: bytes, given: bytes) -> bool:
        compared.append(given)
        return known == given

    monkeypatch.setattr(auth, "compare_digest", compare)
    names = [ApiKeys(str(keys)).name_of(key.encode()) for key in (ALICE, BOB, "nobody's")]
    assert names == ["alice", "bob", None]
    assert len(compared) == 6
    assert {len(given) for given in compared} == {32}


# --- what refuses to start ------------------------------------------------------------------------

WEAK = {
    "": "has no API keys: write a line name:key for each client",
    "# nothing\n\n": "has no API keys: write a line name:key for each client",
    "a:\n": "line 1 of the API keys in {path}: the key of a has fewer than 16 characters",
    f"a:{ALICE}\nb:secret-890123456\nc:secret-89012345\n": "line 3 of the API keys in {path}: the key of c has fewer",
    "secret-0123456789abcdef\n": "line 1 of the API keys in {path}: write name:key",
    f":{ALICE}\n": "line 1 of the API keys in {path}: write name:key",
    f"a b:{ALICE}\n": "line 1 of the API keys in {path}: write name:key",
    "a:secret-0123456789 abcdef\n": "line 1 of the API keys in {path}: the key of a can contain only letters",
    "a:secret-0123456789ä\n": "line 1 of the API keys in {path}: the key of a can contain only letters",
    f"a:{ALICE}\nb:{ALICE}\n": "line 2 of the API keys in {path}: the name or the key of b is a duplicate",
    f"a:{ALICE}\na:{BOB}\n": "line 2 of the API keys in {path}: the name or the key of a is a duplicate",
    "\udcff": "the API keys can't be read from {path}: it is not UTF-8",
}


@pytest.mark.parametrize(("text", "said"), WEAK.items())
def test_the_message_about_a_weak_key_does_not_contain_the_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "keys"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match="API keys") as caught:
        ApiKeys(str(path))
    assert said.format(path=path) in str(caught.value)
    assert "secret" not in str(caught.value)
    assert ALICE not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "said"), [("absent", "No such file or directory"), (".", "Is a directory"), ("weak", "has fewer than 16")]
)
def test_the_service_does_not_start_without_its_key_file(tmp_path: Path, file: str, said: str) -> None:
    (tmp_path / "weak").write_text("a:1234\n")
    command = [sys.executable, "-m", "axiscast", "serve", "--api-keys-file", str(tmp_path / file)]
    done = run(command)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "Started server" not in done.stderr


# --- the clients ----------------------------------------------------------------------------------


def test_the_clients_send_the_api_key(guarded: Served) -> None:
    with Client(guarded.url, api_key=ALICE) as client:
        assert client.broadcast_to(np.array([1, 2]), (2, 2)).tolist() == [[1, 2], [1, 2]]

    async def ask() -> bool:
        async with AsyncClient(guarded.url, api_key=BOB) as client:
            return await client.can_broadcast((3,), (1,))

    assert asyncio.run(ask())


@cases("key", [None, "secret-0123456789abcdef"])
def test_a_refused_key_raises_its_own_exception_without_the_key(guarded: Served, key: str | None) -> None:
    with Client(guarded.url, api_key=key) as client, pytest.raises(Unauthenticated) as caught:
        client.can_broadcast((3,), (1,))
    assert (caught.value.status, caught.value.code) == (401, "unauthenticated")
    assert "secret" not in f"{caught.value!r} {caught.value} {caught.value.facts} {client!r} {vars(client)}"


def test_a_large_upload_with_a_wrong_key_gets_the_reason(guarded: Served) -> None:
    with Client(guarded.url, api_key="secret-0123456789abcdef", retries=0) as client, pytest.raises(Unauthenticated):
        client.broadcast_to(np.zeros(2**22), (2, 2**22))


@cases("key", ["", "secret-with-a-line-end\n", "secret with spaces", "secret-ä"])
def test_an_invalid_key_is_refused_before_it_is_sent(key: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match="api_key must be printable ASCII") as caught:
            kind(api_key=key)
        assert "secret" not in str(caught.value)


def test_a_redirect_is_not_followed_with_the_key() -> None:
    seen: list[tuple[str, str | None]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.url.host, request.headers.get("authorization")))
        return httpx.Response(307, headers={"Location": "http://elsewhere/v1/check"})

    client = Client("http://here", api_key=ALICE, transport=httpx.MockTransport(answer), retries=0)
    with client, pytest.raises(UnexpectedStatus, match="status 307"):
        client.can_broadcast((3,), (1,))
    assert seen == [("here", f"Bearer {ALICE}")]
