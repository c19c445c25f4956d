"""BaseClient: what both clients are made with."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import httpx

from ..errors import AxiscastError, ConnectionFailed, DeadlineExceeded, InvalidAnswer
from .address import Address, Verify
from .call import Progress
from .options import require_address, require_callback, require_count, require_fields, require_key, require_seconds
from .reading import unexpected_status
from .retries import RetryPolicy

AnyTransport = TypeVar("AnyTransport", httpx.BaseTransport, httpx.AsyncBaseTransport)

_BROKEN = re.compile("disconnected|closed connection|ConnectionTerminated|StreamReset")
"""How httpx's transports describe a connection that broke, in an error that is also raised for invalid HTTP."""
_PROXY_STATUS = re.compile("([3-5][0-9][0-9])(?: |$)")
"""How httpx begins the text of an error if a proxy refused to open a tunnel."""
_UNKNOWN_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


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
        require_address(url)
        require_seconds(timeout)
        require_count(retries)
        require_fields(headers)
        require_key(api_key)
        if transport is not None and (verify is not True or proxy is not None):
            raise ValueError("a transport of your own decides on verify and proxy: give them to it")
        self._address = Address(url, headers, api_key)
        if transport is None:
            options = self._address.through_proxy(proxy, verify)
            made = self._proxy_transport(**options) if options else self._own_transport(self._address.tls(verify))
        self._transport: AnyTransport = made if transport is None else transport
        self._timeout = timeout
        self._retries = retries

    def _policy(self, timeout: float | None, progress: Progress | None = None) -> RetryPolicy:
        """Return the deadline and the retries of one call, whose own timeout goes before the client's.

        Raises TypeError for a timeout or a progress of the wrong kind.
        """
        require_seconds(timeout)
        require_callback(progress)
        return RetryPolicy(self._timeout if timeout is None else timeout, self._retries)


def translated(error: httpx.HTTPError, policy: RetryPolicy) -> AxiscastError:
    """Return the exception of this library for one that an httpx transport raised."""
    if isinstance(error, httpx.TimeoutException):
        return DeadlineExceeded(f"no answer within {policy.timeout} s ({type(error).__name__})")
    if isinstance(error, httpx.ProxyError) and (refused := _PROXY_STATUS.match(str(error))):
        return unexpected_status(int(refused[1]))
    is_broken = isinstance(error, httpx.NetworkError)
    if isinstance(error, httpx.RemoteProtocolError):
        is_broken = _BROKEN.search(str(error)) is not None
        if not is_broken:
            return InvalidAnswer(f"the response is not valid HTTP: {error}")
    is_refused = isinstance(error, httpx.ConnectError)
    advice = "is the service up at this address?" if is_refused else "the connection to the service broke"
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        advice = "SSL_CERT_FILE may name a file with the certificate that vouches for it"
    is_permanent = not is_broken or any(map(_is_permanent, _causes(error)))
    return ConnectionFailed(f"{error or type(error).__name__}: {advice}", is_permanent)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__  # httpcore raises its own error "from None"


def _is_permanent(cause: BaseException) -> bool:
    """Return whether a connection fails again for this cause: TLS that does not fit, or a host name that is unknown."""
    if isinstance(cause, ssl.SSLError):
        return not isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError)
    if isinstance(cause, socket.gaierror):
        return cause.errno in _UNKNOWN_HOST
    return isinstance(cause, UnicodeError)
