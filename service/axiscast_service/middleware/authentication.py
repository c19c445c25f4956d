"""Authentication by API keys, each with a name for the log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from starlette.types import Scope

from axiscast.wire.problems import PROBLEM_KINDS, Problem

from ..static_files import PARTS

OPEN_PATHS = {*PARTS, "/ops", "/openapi.json", "/livez", "/readyz", *(f"/problems/{code}" for code in PROBLEM_KINDS)}
"""Paths that need no key: static content and probes. All other paths need one, even if no route exists."""
MIN_KEY_CHARACTERS = 16
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_KEY = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class ApiKeys:
    """The names of clients by the digests of their keys. The keys themselves are not stored."""

    name: str = "the API keys"

    def __init__(self, path: str) -> None:
        """Read a file with one `name:key` per line. Empty lines and lines that begin with # are ignored.

        Raises ValueError with the line and what is wrong with it, never the key.
        """
        self.paths: Sequence[Path] = [Path(path)]
        self._names = self._read(path)

    def reload(self) -> None:
        """Read the file again. If it is invalid, raise ValueError and keep the current keys."""
        self._names = self._read(str(self.paths[0]))

    @staticmethod
    def _read(path: str) -> Mapping[bytes, str]:
        try:
            lines = Path(path).read_text("utf-8").splitlines()
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
        """Return the name for a key, or None if it is unknown. The time does not depend on which key it is."""
        digest, found = sha256(key).digest(), None
        for own_digest, name in self._names.items():
            if compare_digest(own_digest, digest):
                found = name
        return found

    def name_in_header(self, authorization: bytes) -> str | None:
        """Return the name for the key in an Authorization header, or None if there is no known key."""
        scheme, _, key = authorization.partition(b" ")
        return self.name_of(key.strip()) if scheme.lower() == b"bearer" else None


def _line_error(name: str, key: str, digest: bytes, names: dict[bytes, str]) -> str:
    """Return what is wrong with a line, or an empty string."""
    if not _NAME.fullmatch(name):
        return "write name:key; the name may have letters, digits and ._-"
    if len(key) < MIN_KEY_CHARACTERS:
        return f"the key of {name} has fewer than {MIN_KEY_CHARACTERS} characters: create one with openssl rand -hex 32"
    if not _KEY.fullmatch(key):
        return f"the key of {name} may have only letters, digits and ._~+/-, and = at its end"
    if digest in names or name in names.values():
        return f"the name or the key of {name} is a duplicate"
    return ""


def authenticate(keys: ApiKeys, scope: Scope) -> None:
    """Raise Problem (unauthenticated) if a request to a path that needs a key has none of these keys."""
    if scope["path"] in OPEN_PATHS:
        return
    fields = [value for name, value in scope["headers"] if name == b"authorization"]
    name = keys.name_in_header(fields[0]) if len(fields) == 1 else None
    if name is None:
        why = "the API key is unknown" if fields else "this service requires an API key"
        raise Problem("unauthenticated", f"{why}: send the header Authorization: Bearer KEY")
    scope["state"]["key_name"] = name  # for the log
