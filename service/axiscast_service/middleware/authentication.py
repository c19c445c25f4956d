"""Authentication by API keys. Each key has a name, which is written to the log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest

from axiscast.wire.problems import PROBLEM_KINDS, Problem

from ..http.reload import ReloadableFiles
from ..static_files import PARTS

OPEN_PATHS = {*PARTS, "/ops", "/openapi.json", "/livez", "/readyz", *(f"/problems/{code}" for code in PROBLEM_KINDS)}
"""Paths that require no API key: static content and probes. All other paths require a key, even without a route."""
MIN_KEY_CHARACTERS = 16
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_KEY = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class ApiKeys(ReloadableFiles[Mapping[bytes, str]]):
    """The names of clients, keyed by the digests of their API keys. The API keys themselves are not stored."""

    name = "the API keys"

    def read(self) -> Mapping[bytes, str]:
        """Read a file with one `name:key` per line. Empty lines and lines that begin with # are ignored.

        Raises ValueError if a line is invalid. The message contains the line number and the reason, but never the key.
        """
        (path,) = self.paths
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ValueError(f"the API keys can't be read from {path}: {reason}") from None
        names: dict[bytes, str] = {}
        for number, line in enumerate(map(str.strip, lines), 1):
            if not line or line.startswith("#"):
                continue
            name, colon, key = line.partition(":")
            digest = sha256(key.encode()).digest()
            if fault := _line_error(name if colon else "", key, digest, names):
                raise ValueError(f"line {number} of the API keys in {path}: {fault}")
            names[digest] = name
        if not names:
            raise ValueError(f"{path} has no API keys: write a line name:key for each client")
        return names

    def name_of(self, key: bytes) -> str | None:
        """Return the name for an API key, or None if the key is unknown. The time does not depend on the key."""
        digest, found = sha256(key).digest(), None
        for own_digest, name in self.content.items():
            if compare_digest(own_digest, digest):
                found = name
        return found


def _line_error(name: str, key: str, digest: bytes, names: dict[bytes, str]) -> str:
    """Return the reason why a line of the key file is invalid, or an empty string if the line is valid."""
    if not _NAME.fullmatch(name):
        return "write name:key; the name can contain letters, digits and ._-"
    if len(key) < MIN_KEY_CHARACTERS:
        return f"the key of {name} has fewer than {MIN_KEY_CHARACTERS} characters: create one with openssl rand -hex 32"
    if not _KEY.fullmatch(key):
        return f"the key of {name} can contain only letters, digits and ._~+/-, and = at its end"
    if digest in names or name in names.values():
        return f"the name or the key of {name} is a duplicate"
    return ""


def authenticate(keys: ApiKeys, path: str, fields: Mapping[bytes, bytes]) -> str | None:
    """Return the name of the client, or None if the path requires no API key.

    Raises Problem (unauthenticated) if the path requires an API key and the request has none of these keys.
    """
    if path in OPEN_PATHS:
        return None
    authorization = fields.get(b"authorization")
    scheme, _, key = (authorization or b"").partition(b" ")
    name = keys.name_of(key.strip()) if scheme.lower() == b"bearer" else None
    if name is None:
        why = "this service requires an API key" if authorization is None else "the API key is unknown"
        raise Problem("unauthenticated", f"{why}: send the header Authorization: Bearer KEY")
    return name
