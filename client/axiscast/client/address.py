"""Address: where a service is, how it is reached, and the requests that are sent there."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any
from urllib.request import getproxies, proxy_bypass

import h11
import httpx

from .call import Attempt, authorization

Verify = bool | ssl.SSLContext


class Request(httpx.Request):
    """A request whose stream is an Attempt, and whose `fields` become httpx's headers only where a transport of httpx
    asks for them: that takes longer than all else of it."""

    def __init__(
        self,
        method: str,
        url: httpx.URL,
        fields: list[tuple[bytes, bytes]],
        stream: Attempt[Any],
        timeout: float | None,
    ) -> None:
        self.method, self.url, self.fields = method, url, fields
        self.attempt = self.stream = stream
        self.extensions = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout)}

    @cached_property
    def headers(self) -> httpx.Headers:  # type: ignore[override]
        return httpx.Headers(self.fields)


class Address:
    """A service's URL, and the headers that all requests to it bear.

    It makes a request in a few microseconds, where httpx.Client takes fifty.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None, api_key: str | None) -> None:
        """Raises ValueError for a URL, headers or a key that can be none."""
        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ValueError(f"{url!r} is no URL: {error}") from None
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise ValueError(f"{url!r} is no URL of a service, which begins with http:// or https:// and a host")
        fields = httpx.Headers({"User-Agent": "axiscast"})
        fields.update(headers)
        for name in ("Accept", "Accept-Encoding", "Content-Type", "Content-Length", "Transfer-Encoding"):
            fields.pop(name, None)  # each call has its own
        if self._url.userinfo:
            basic = httpx.BasicAuth(self._url.username, self._url.password)
            fields["Authorization"] = next(basic.auth_flow(httpx.Request("GET", url))).headers["Authorization"]
            self._url = self._url.copy_with(userinfo=b"")
        if api_key is not None:
            fields["Authorization"] = authorization(api_key)
        host = fields.pop("Host", self._url.netloc.decode("ascii"))
        self._headers = [(b"Host", host.encode()), *fields.raw]
        try:
            h11.Request(method="GET", target="/", headers=self._headers)
        except h11.LocalProtocolError:  # it shows the value, which may be a secret
            raise ValueError("headers: there is a line end, or another character that a header can't have") from None
        self._urls: dict[str, httpx.URL] = {}

    def through_proxy(self, proxy: str | None, verify: Verify) -> dict[str, Any] | None:
        """What httpx's own transports need to reach the service by a proxy: this one, or (None) the one that the
        environment names for it. None where there is none, or the proxy is ""."""
        host, netloc = self._url.host, self._url.netloc.decode("ascii")
        if proxy is None and not (proxy_bypass(host) or proxy_bypass(netloc)):  # an exception may name the port too
            proxies = getproxies()
            proxy = proxies.get(self._url.scheme) or proxies.get("all")
        if not proxy:
            return None
        # httpx would take bytes that follow an answer for the answer to the next call: no connection is used twice.
        once = httpx.Limits(max_keepalive_connections=0)
        return {"proxy": proxy if "://" in proxy else f"http://{proxy}", "verify": verify, "limits": once}

    def tls(self, verify: Verify) -> ssl.SSLContext | None:
        """What https needs; None for http."""
        return httpx.create_ssl_context(verify=verify) if self._url.scheme == "https" else None

    def request(self, attempt: Attempt[Any], timeout: float | None) -> Request:
        """The request of an attempt, which is its body too; `timeout` counts for the whole exchange."""
        call = attempt.call
        url = self._urls.get(call.path)
        if url is None:
            path = self._url.raw_path.partition(b"?")[0].rstrip(b"/") + call.path.encode()
            url = self._urls[call.path] = self._url.copy_with(raw_path=path)
        fields = self._headers + call.headers
        if "opentelemetry.trace" in sys.modules:  # whoever has a span has loaded it
            fields += _fields_of_span({name.lower() for name, _ in self._headers})
        return Request(call.method, url, fields, attempt, timeout)


def _fields_of_span(present: Collection[bytes]) -> list[tuple[bytes, bytes]]:
    """The fields by which the caller's span, where there is one, is the parent of the service's: `traceparent`, or what
    else OpenTelemetry is told to propagate; without those that are `present`."""
    from opentelemetry.trace import get_current_span

    if not get_current_span().get_span_context().is_valid:
        return []
    from opentelemetry.propagate import inject

    carrier: dict[str, str] = {}
    inject(carrier)
    fields = [(name.encode(), text.encode()) for name, text in carrier.items() if f"{name}{text}".isprintable()]
    return [field for field in fields if field[0].lower() not in present]
