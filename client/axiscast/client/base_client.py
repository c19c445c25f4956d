"""BaseClient: the constructor options that Client and AsyncClient share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from numbers import Real
from typing import Any, ClassVar, Generic, Self, SupportsIndex, TypeVar

import httpx

from ..messages.value_arguments import python_type_name
from .address import ServiceAddress, Verify
from .call import ProgressCallback

AnyTransport = TypeVar("AnyTransport", httpx.BaseTransport, httpx.AsyncBaseTransport)
_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "url": (lambda x: isinstance(x, str | httpx.URL), "the address of a service, such as http://127.0.0.1:8000"),
    "timeout": (lambda x: x is None or _is_number(x, Real), "a number of seconds or None"),
    "retries": (lambda x: _is_number(x, SupportsIndex), "an integer such as 2"),
    "headers": (lambda x: x is None or _are_headers(x), 'a map of strings such as {"X-Team": "blue"}'),
    "api_key": (lambda x: x is None or isinstance(x, str), "a string"),
    "progress": (lambda x: x is None or callable(x), "a function that takes a Transfer"),
}
"""For each client option, a function that checks a value's type, and a phrase that describes the expected type."""


class BaseClient(Generic[AnyTransport]):
    """The base class of Client and AsyncClient. The docstring of Client describes the constructor's options."""

    _direct_transport: ClassVar[type[Any]]
    """This library's own transport class. Its argument is an SSL context, or None if the URL begins with http."""
    _proxy_transport: ClassVar[type[Any]]
    """The httpx transport class for clients that connect to the service through a proxy."""

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
        check_options(url=url, timeout=timeout, retries=retries, headers=headers, api_key=api_key)
        if transport is not None and (verify is not True or proxy is not None):
            raise ValueError(
                "verify and proxy have no effect together with transport: pass them to your transport instead"
            )
        self._address = ServiceAddress(url, headers, api_key)
        if transport is None:
            options = self._address.proxy_options(proxy, verify)
            if options is None:
                transport = self._direct_transport(self._address.ssl_context(verify))
            else:
                transport = self._proxy_transport(**options)
        self._transport: AnyTransport = transport
        self._timeout = timeout
        self._retries = retries
        self._progress: ProgressCallback | None = None

    def with_options(self, *, timeout: float | None = None, progress: ProgressCallback | None = None) -> Self:
        """Return a client with other options, which shares the connections of this client.

        `timeout` is the time limit for one call in seconds. By default, the limit of this client applies.
        `progress` is a function that is called with a Transfer after each part of the data is sent or received.

            client.with_options(timeout=5, progress=print).broadcast_to(array, (10**6, 3))
        """
        check_options(timeout=timeout, progress=progress)
        changed = copy(self)
        changed._timeout = self._timeout if timeout is None else timeout
        changed._progress = self._progress if progress is None else progress
        return changed


def check_options(**options: Any) -> None:
    """Raise TypeError if an option has the wrong type. The message does not contain the value, which may be secret."""
    for name, value in options.items():
        is_valid, expected = _OPTIONS[name]
        if not is_valid(value):
            raise TypeError(f"{name} must be {expected}, not {python_type_name(value)}")


def _is_number(value: Any, kind: type[Any]) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _are_headers(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(x, str | bytes) for item in value.items() for x in item)
