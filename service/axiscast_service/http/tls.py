"""The TLS certificate of the service, which can be reloaded."""

from __future__ import annotations

import ssl

from .reload import ReloadableFiles


class Certificate(ReloadableFiles[ssl.SSLContext]):
    """A TLS certificate and its key, read from PEM files. New connections use the current `content`."""

    name = "the certificate"

    def __init__(self, certificate: str, key: str) -> None:
        self._certificate, self._key = certificate, key
        super().__init__(certificate, key)

    def read(self) -> ssl.SSLContext:
        # Each call creates a new context. If the key is invalid, a reused context would be left without a certificate.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            # An encrypted key is refused, because a service can't prompt for the password.
            context.load_cert_chain(self._certificate, self._key or None, password=lambda: b"")
        except OSError as error:
            raise ValueError(
                f"can't use TLS with AXISCAST_TLS_CERTIFICATE={self._certificate} and AXISCAST_TLS_KEY={self._key}: "
                f"{error.strerror}; set PEM files of a certificate and its key, without a password"
            ) from None
        return context
