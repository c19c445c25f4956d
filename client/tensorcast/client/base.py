"""BaseClient: what both clients are made with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import httpx

from ..errors import ConnectionFailed, DeadlineExceeded, InvalidAnswer, TensorcastError
from .address import Address, Verify
from .retries import RetryPolicy

AnyTransport = TypeVar("AnyTransport", httpx.BaseTransport, httpx.AsyncBaseTransport)


class BaseClient(Generic[AnyTransport]):
    """The options of a client, which are those of Client, and the transport that they lead to."""

    _own_transport: ClassVar[type[Any]]
    """What carries calls, made with the SSL context of https."""
    _proxy_transport: ClassVar[type[Any]]
    """httpx's own, which carries them through a proxy."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        timeout: float | None = 60.0,
        retries: int = 2,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        verify: Verify = True,
        proxy: str | None = None,
        transport: AnyTransport | None = None,
    ) -> None:
        if transport is not None and (verify is not True or proxy is not None):
            raise ValueError("a transport of your own decides on verify and proxy: give them to it")
        self._address = Address(url, headers, api_key)
        if transport is None:
            options = self._address.through_proxy(proxy, verify)
            made = self._proxy_transport(**options) if options else self._own_transport(self._address.tls(verify))
        self._transport: AnyTransport = made if transport is None else transport
        self._timeout = timeout
        self._retries = retries

    def _policy(self, timeout: float | None) -> RetryPolicy:
        """The deadline and the retries of one call, whose own timeout goes before the client's."""
        return RetryPolicy(self._timeout if timeout is None else timeout, self._retries)


def translated(error: httpx.HTTPError, policy: RetryPolicy) -> TensorcastError:
    """What httpx raised, in this client's words."""
    if isinstance(error, httpx.TimeoutException):
        return DeadlineExceeded(f"no answer within {policy.timeout} s ({type(error).__name__})")
    if isinstance(error, httpx.RemoteProtocolError):
        return InvalidAnswer(f"the answer broke off or is no HTTP: {error}")
    cure = "is the service up at this address?"
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        cure = "SSL_CERT_FILE may name a file with the certificate that vouches for it"
    return ConnectionFailed(f"{error or type(error).__name__}: {cure}")
