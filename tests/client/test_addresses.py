"""The requests that clients send, and the connection to a service: addresses, TLS, proxies, transports, trio."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from pathlib import Path
from typing import Any

import anyio
import httpx
import msgpack
import numpy as np
import pytest
from cases import cases
from conftest import Served, unhurried
from peer import GOOD, LARGE, MSGPACK, answering, left, peer, received_headers, refuse_and_stay, request_on, stay

import axiscast
from axiscast import AsyncClient, Client

NO_FAMILY = 99
"""An address family that the system does not support, as IPv6 on some systems."""

# --- requests ----------------------------------------------------------------------------------


def test_headers_of_the_user_are_sent_except_those_that_each_call_sets(make: Any) -> None:
    seen: list[bytes] = []

    def run(connection: socket.socket) -> None:
        seen.append(request_on(connection))
        connection.sendall(GOOD)

    headers = {"X-Team": "blue", "Accept": "text/html", "Content-Length": "7", "host": "example.org"}
    with peer(run) as url, make(f"{url}/prefix/", headers=headers) as client:
        assert client.can_broadcast((3,))
    (request,) = seen
    assert request.startswith(b"POST /prefix/v1/check HTTP/1.1\r\nHost: example.org\r\n")
    sent = httpx.Headers(received_headers(request))
    assert (sent["x-team"], sent["accept"], sent["accept-encoding"]) == ("blue", "application/vnd.msgpack", "identity")
    assert sent["content-length"] == str(len(request.split(b"\r\n\r\n", 1)[1]))


def test_a_header_with_a_line_break_raises_value_error(make: Any) -> None:
    with pytest.raises(ValueError, match="header") as caught:
        make("http://127.0.0.1:1", headers={"X-Team": "blue\r\nX-Admin: yes"})
    assert "blue" not in str(caught.value)  # the value may be secret


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_an_ipv6_address_works(make: Any) -> None:
    with peer(answering(GOOD), family=socket.AF_INET6) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))


def test_a_host_name_is_tried_at_each_of_its_addresses(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with peer(answering(GOOD)) as url, socket.create_server(("127.0.0.1", 0)) as closed:
        port, other = int(url.rsplit(":", 1)[1]), closed.getsockname()[1]
        closed.close()
        found: list[Any] = [(NO_FAMILY, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0))]
        found += [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", at)) for at in (other, port)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        with make("http://service.example", retries=0) as client:
            assert client.can_broadcast((3,))


def test_a_socket_that_can_not_be_created_raises_connection_failed(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(NO_FAMILY, socket.SOCK_STREAM, 6, "", ("::1", 80, 0, 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with make("http://service.example", retries=0) as client, pytest.raises(axiscast.ConnectionFailed, match="amily"):
        client.can_broadcast((3,))


def test_an_invalid_host_name_raises_connection_failed(make: Any) -> None:
    with make("http://a..b", retries=0) as client, pytest.raises(axiscast.ConnectionFailed, match="this address"):
        client.can_broadcast((3,))


def test_an_unknown_host_name_raises_connection_failed(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with make("http://service.example", retries=0) as client, pytest.raises(axiscast.ConnectionFailed, match="known"):
        client.can_broadcast((3,))


# --- TLS, proxies, other transports ------------------------------------------------------------
def test_tls_carries_large_arrays_both_ways_on_one_connection(
    make: Any, tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    values = np.arange(2**20, dtype=np.uint32)
    body = msgpack.packb({"broadcast_inputs": [{"dtype": "uint32", "shape": [2**20], "data": values.tobytes()}]})
    answer = b"HTTP/1.1 200 OK\r\n" + MSGPACK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    seen: list[bytes] = []

    def run(connection: socket.socket) -> None:
        for _ in range(2):
            seen.append(request_on(connection))
            connection.sendall(answer)

    with peer(run, tls=tls) as url, make(url, verify=trusting, retries=0) as client:
        for _ in range(2):
            (array,) = client.broadcast("numpy.broadcast_arrays", values)
            np.testing.assert_array_equal(array, values, strict=True)
    assert all(request.endswith(values.tobytes()) for request in seen)


def test_an_early_error_response_over_tls_is_read_during_the_upload(
    make: Any, tls: ssl.SSLContext, trusting: ssl.SSLContext
) -> None:
    with peer(refuse_and_stay, tls=tls) as url, make(url, verify=trusting, retries=0) as client:
        with pytest.raises(axiscast.BodyTooLarge):
            client.broadcast("numpy.broadcast_arrays", LARGE)
        left.release()


def test_an_untrusted_certificate_is_rejected(make: Any, tls: ssl.SSLContext) -> None:
    def run(connection: socket.socket) -> None:
        raise AssertionError("the client talked")

    with (
        pytest.raises(ssl.SSLError),
        peer(run, tls=tls) as url,
        make(url, retries=0) as client,
        pytest.raises(axiscast.ConnectionFailed, match="set SSL_CERT_FILE"),
    ):
        client.can_broadcast((3,))


def test_a_certificate_in_ssl_cert_file_is_trusted(
    make: Any, tls: ssl.SSLContext, pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(pem / "certificate"))
    with peer(answering(GOOD), tls=tls) as url, make(url, retries=0) as client:
        assert client.can_broadcast((3,))


def test_a_tls_handshake_ends_at_the_deadline(make: Any) -> None:
    def claim(seconds: float) -> None:
        with peer(stay) as url, make(url.replace("http", "https"), timeout=seconds) as client:
            start = time.monotonic()
            with pytest.raises(axiscast.DeadlineExceeded):
                client.can_broadcast((3,))
            assert time.monotonic() - start >= seconds
            left.release()

    unhurried(claim, 0.5)


def test_the_proxy_of_the_environment_is_used_unless_no_proxy_lists_the_host(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    def run(connection: socket.socket) -> None:
        seen.append(request_on(connection).split(b"\r\n")[0])
        connection.sendall(GOOD)

    with peer(run, run, run, run) as url:
        monkeypatch.setenv("http_proxy", url)
        with make("http://service.example", retries=0) as client:
            assert client.can_broadcast((3,))
        with make("http://service.example", retries=0, proxy="") as client, pytest.raises(axiscast.ConnectionFailed):
            client.can_broadcast((3,))
        for excepted in ("127.0.0.1", url.removeprefix("http://")):
            monkeypatch.setenv("no_proxy", excepted)
            with make(url, retries=0) as client:
                assert client.can_broadcast((3,))
        with make("http://service.example", retries=0, proxy=url.removeprefix("http://")) as client:
            monkeypatch.delenv("http_proxy")
            assert client.can_broadcast((3,))
    straight, by_proxy = b"POST /v1/check HTTP/1.1", b"POST http://service.example/v1/check HTTP/1.1"
    assert seen == [by_proxy, straight, straight, by_proxy]


@cases("option", ["limits", "auth", "params", "cookies", "http2", "follow_redirects", "mounts"])
def test_an_unknown_option_of_httpx_is_rejected_by_name(make: Any, option: str) -> None:
    with pytest.raises(TypeError, match=option):
        make(**{option: None})


def test_a_transport_of_httpx_has_its_own_options(make: Any, service: Served) -> None:
    kind = httpx.HTTPTransport if make is Client else httpx.AsyncHTTPTransport
    out = np.empty((2**20, 3), np.float32)
    with make(service.url, transport=kind(limits=httpx.Limits(max_connections=1)), retries=0) as client:
        for values in (np.arange(3, dtype=np.float32), np.ones(3, np.float32)):
            client.broadcast("numpy.broadcast_arrays", np.broadcast_to(values, out.shape).copy(), out=out)
            np.testing.assert_array_equal(out, np.broadcast_to(values, out.shape))
    for options in ({"proxy": "http://127.0.0.1:1"}, {"verify": False}):
        with pytest.raises(ValueError, match="pass them to your transport instead"):
            make(service.url, transport=kind(), **options)


@cases("url", ["127.0.0.1:8000", "localhost:8000", "ftp://127.0.0.1", "http://", "http://[::1", ""])
def test_an_invalid_url_raises_value_error(make: Any, url: str) -> None:
    with pytest.raises(ValueError, match=r"^url "):
        make(url)


def test_a_name_and_password_in_the_url_are_sent(make: Any) -> None:
    def run(connection: socket.socket) -> None:
        assert b"Authorization: Basic bWU6c2VjcmV0\r\n" in request_on(connection)
        connection.sendall(GOOD)

    with peer(run) as url, make(url.replace("//", "//me:secret@"), retries=0) as client:
        assert client.can_broadcast((3,))


def test_an_async_client_works_on_trio(service: Served) -> None:
    async def main() -> None:
        async with AsyncClient(service.url, retries=0) as client:
            out = np.empty((2**22, 3), np.uint8)
            values = np.arange(out.size, dtype=np.uint8).reshape(out.shape)
            for _ in range(2):
                await client.broadcast("numpy.broadcast_arrays", values, out=out)
                np.testing.assert_array_equal(out, values)
                out[:] = 0

    anyio.run(main, backend="trio")


def test_an_early_error_response_is_read_during_the_upload_on_trio() -> None:
    async def main(url: str) -> None:
        async with AsyncClient(url, retries=0) as client:
            with pytest.raises(axiscast.BodyTooLarge):
                await client.broadcast("numpy.broadcast_arrays", LARGE)
        left.release()

    with peer(refuse_and_stay) as url:
        anyio.run(main, url, backend="trio")


def test_a_deadline_ends_a_call_on_trio() -> None:
    async def main(url: str, seconds: float) -> None:
        async with AsyncClient(url, timeout=seconds) as client:
            with pytest.raises(axiscast.DeadlineExceeded, match=rf"{seconds:g} s"):
                await client.broadcast("numpy.broadcast_arrays", LARGE)
        left.release()

    def claim(seconds: float) -> None:
        with peer(stay) as url:
            anyio.run(main, url, seconds, backend="trio")

    unhurried(claim, 0.5)


def test_calls_of_one_async_client_run_concurrently(service: Served) -> None:
    async def main() -> list[bool]:
        async with AsyncClient(service.url, retries=0) as client:
            arrays = [np.full((1, 1000), number) for number in range(50)]
            outputs = await asyncio.gather(*(client.broadcast_to(array, (300, 1000)) for array in arrays))
            return [bool((output == number).all()) for number, output in enumerate(outputs)]

    assert asyncio.run(main()) == [True] * 50
