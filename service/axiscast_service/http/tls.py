"""TLS: the certificate that callers are shown."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path


class Certificate:
    """A certificate and its key, of PEM files; raises ValueError where they can't be had. `context` is what new
    connections are wrapped in."""

    name: str = "the certificate"

    def __init__(self, certificate: str, key: str) -> None:
        self._certificate, self._key = certificate, key
        self.paths: Sequence[Path] = [Path(path) for path in (certificate, key) if path]
        self.context = self._load()

    def reload(self) -> None:
        """Show new connections what the files hold now, those that are there what they were shown. Raises ValueError,
        and nothing changes, where the files are not valid."""
        self.context = self._load()

    def _load(self) -> ssl.SSLContext:
        # Each time another: a context that takes a certificate and then refuses its key would be left without one.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            # A key under a password is refused: a service that starts by itself has nobody to ask for it.
            context.load_cert_chain(self._certificate, self._key or None, password=lambda: b"")
        except OSError as error:
            raise ValueError(
                f"TLS can't be had with AXISCAST_TLS_CERTIFICATE={self._certificate} and "
                f"AXISCAST_TLS_KEY={self._key}: {error.strerror}; they are PEM files that belong together, "
                "the key without a password"
            ) from None
        return context
