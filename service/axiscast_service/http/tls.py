"""The TLS certificate of the service, which can be reloaded."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path


class Certificate:
    """A TLS certificate and its key, read from PEM files. New connections use the attribute `context`."""

    name: str = "the certificate"

    def __init__(self, certificate: str, key: str) -> None:
        self._certificate, self._key = certificate, key
        self.paths: Sequence[Path] = [Path(path) for path in (certificate, key) if path]
        self.context = self._load()

    def reload(self) -> None:
        """Read the files again for new connections. If a file is invalid, raise ValueError and use the old context."""
        self.context = self._load()

    def _load(self) -> ssl.SSLContext:
        # Each load creates a new context. If the key is invalid, a reused context would be left without a certificate.
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
