"""A service's address: whether this library's own transports reach it, and the requests that they send there."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.request import getproxies, proxy_bypass

import h11
import httpx

from .calls import Attempt


def is_plain(url: str, options: Mapping[str, Any]) -> bool:
    """Whether HTTP/1.1 to the service itself is all that is asked for. Proxies and other options are httpx's."""
    target, proxies = httpx.URL(url), getproxies()
    return (
        target.scheme in ("http", "https")
        and bool(target.host)
        and not target.userinfo
        and options.keys() <= {"headers", "verify"}
        and (proxies.keys().isdisjoint((target.scheme, "all")) or bool(proxy_bypass(target.host)))
    )


def tls_of(url: str, options: Mapping[str, Any]) -> ssl.SSLContext | None:
    """What https needs; None for http."""
    return httpx.create_ssl_context(verify=options.get("verify", True)) if httpx.URL(url).scheme == "https" else None


def unkept(limits: httpx.Limits | None) -> httpx.Limits:
    """The limits of httpx's own connections, none of which is used twice: it would take bytes that follow an answer
    for the answer to the next call."""
    given = limits or httpx.Limits()
    return httpx.Limits(max_connections=given.max_connections, max_keepalive_connections=0)


class Address:
    """Makes requests in a few microseconds, where httpx.Client takes fifty."""

    def __init__(self, http: httpx.Client | httpx.AsyncClient) -> None:
        """`http` has the URL and the headers. Raises ValueError for headers that are none."""
        headers = http.headers.copy()
        for name in ("Accept", "Accept-Encoding", "Content-Type", "Content-Length", "Transfer-Encoding"):
            headers.pop(name, None)  # each call has its own
        host = headers.pop("Host", http.base_url.netloc.decode("ascii"))
        self._headers = [(b"Host", host.encode()), *headers.raw]
        try:
            h11.Request(method="GET", target="/", headers=self._headers)
        except h11.LocalProtocolError:  # it shows the value, which may be a secret
            raise ValueError("headers: there is a line end, or another character that a header can't have") from None
        self._base = http.base_url
        self._urls: dict[str, httpx.URL] = {}

    def request(self, attempt: Attempt[Any], timeout: float | None) -> httpx.Request:
        """The request of an attempt, which takes the answer; `timeout` is that of the whole exchange."""
        call = attempt.call
        url = self._urls.get(call.path)
        if url is None:
            path = self._base.raw_path.rstrip(b"/") + call.path.encode()
            url = self._urls[call.path] = self._base.copy_with(raw_path=path)
        return httpx.Request(
            call.method,
            url,
            headers=[*self._headers, *((name.encode(), value.encode()) for name, value in call.headers.items())],
            stream=_Body(attempt),
            extensions={"answer": attempt, "timeout": {"read": timeout}},
        )


class _Body(httpx.SyncByteStream):
    """An attempt's body, from its beginning as often as it is asked for."""

    def __init__(self, attempt: Attempt[Any]) -> None:
        self._attempt = attempt

    def __iter__(self) -> Iterator[bytes]:
        return self._attempt.body()  # type: ignore[return-value]  # buffers pass as they are
