"""BaseClient: the constructor options that Client and AsyncClient share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import httpx

from .address import ServiceAddress, Verify
from .call import ProgressCallback
from .deadline import Deadline
from .option_checks import check_options
from .retries import RetryPolicy

AnyTransport = TypeVar("AnyTransport", httpx.BaseTransport, httpx.AsyncBaseTransport)


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

    def _retry_policy(self, timeout: float | None, progress: ProgressCallback | None = None) -> RetryPolicy:
        """Return the deadline and the retry rules for one call.

        If the call has a timeout, it replaces the client's timeout. Raises TypeError if the timeout or the progress
        callback has the wrong type.
        """
        check_options(timeout=timeout, progress=progress)
        return RetryPolicy(Deadline(self._timeout if timeout is None else timeout), self._retries)
