"""The conversion of httpx's transport exceptions into this library's exceptions."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator

import httpx

from ..errors import AxiscastError, ConnectionFailed, DeadlineExceeded, InvalidAnswer
from .response_reading import unexpected_status
from .retries import Deadline

_BROKEN_CONNECTION = re.compile("disconnected|closed connection|ConnectionTerminated|StreamReset")
"""The pattern of httpx messages about a broken connection, because httpx raises the same exception for invalid HTTP."""
_PROXY_STATUS = re.compile("([3-5][0-9][0-9])(?: |$)")
"""The pattern of the HTTP status in httpx's message about a proxy that refuses to open a tunnel."""
_UNKNOWN_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


def translate_error(error: httpx.HTTPError, deadline: Deadline) -> AxiscastError:
    """Convert an exception that an httpx transport has raised into an exception of this library."""
    if isinstance(error, httpx.TimeoutException):
        return DeadlineExceeded(f"no response within {deadline.timeout} s ({type(error).__name__})")
    if isinstance(error, httpx.ProxyError) and (refused := _PROXY_STATUS.match(str(error))):
        return unexpected_status(int(refused[1]))
    is_broken = isinstance(error, httpx.NetworkError)
    if isinstance(error, httpx.RemoteProtocolError):
        is_broken = _BROKEN_CONNECTION.search(str(error)) is not None
        if not is_broken:
            return InvalidAnswer(f"the response is not valid HTTP: {error}")
    is_refused = isinstance(error, httpx.ConnectError)
    advice = "is the service running at this address?" if is_refused else "the connection to the service broke"
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        advice = "to trust its certificate authority, set SSL_CERT_FILE to a file with its certificate"
    is_permanent = not is_broken or any(map(_is_permanent, _causes(error)))
    return ConnectionFailed(f"{error or type(error).__name__}: {advice}", is_permanent)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__  # httpcore hides the cause with "raise ... from None"


def _is_permanent(cause: BaseException) -> bool:
    """Return whether a retry would fail for the same cause, such as a TLS failure or an unknown host name."""
    if isinstance(cause, ssl.SSLError):
        return not isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError)
    if isinstance(cause, socket.gaierror):
        return cause.errno in _UNKNOWN_HOST
    return isinstance(cause, UnicodeError)
