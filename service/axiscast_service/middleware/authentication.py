"""Who may ask: API keys, each with a name for the log."""

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
"""Paths that need no key: the same bytes for everyone, and what a probe asks. All others need one, routes or not."""
MIN_KEY_CHARACTERS = 16
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_KEY = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class ApiKeys:
    """The names of callers by the digests of their keys: the keys themselves are not kept."""

    name: str = "the API keys"

    def __init__(self, path: str) -> None:
        """The keys of a file with a line `name:key` for each; empty lines and lines that begin with # aside.

        Raises ValueError that says what is wrong and where, never the key.
        """
        self.paths: Sequence[Path] = [Path(path)]
        self._names = self._read(path)

    def reload(self) -> None:
        """Let in whom the file names now, from the next request on. Raises ValueError, and nothing changes, where the
        file is not valid."""
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
            if wrong := _fault(name if colon else "", key, digest, names):
                raise ValueError(f"line {number} of the API keys in {path}: {wrong}")
            names[digest] = name
        if not names:
            raise ValueError(f"the API keys in {path} are none: write a line name:key for each caller")
        return names

    def name_of(self, key: bytes) -> str | None:
        """Whose key this is; None for nobody's. Takes equally long whichever it is."""
        digest, found = sha256(key).digest(), None
        for own_digest, name in self._names.items():
            if compare_digest(own_digest, digest):
                found = name
        return found

    def name_in_header(self, authorization: bytes) -> str | None:
        """Whose key an Authorization field bears; None for nobody's, or for none."""
        scheme, _, key = authorization.partition(b" ")
        return self.name_of(key.strip()) if scheme.lower() == b"bearer" else None


def _fault(name: str, key: str, digest: bytes, names: dict[bytes, str]) -> str:
    """What is wrong with a line; empty where nothing is."""
    if not _NAME.fullmatch(name):
        return "write name:key, the name of letters, digits and ._-"
    if len(key) < MIN_KEY_CHARACTERS:
        return f"the key of {name} has fewer than {MIN_KEY_CHARACTERS} characters: make one by openssl rand -hex 32"
    if not _KEY.fullmatch(key):
        return f"the key of {name} has other characters than letters, digits and ._~+/- (= at its end)"
    if digest in names or name in names.values():
        return f"the name or the key of {name} is there already"
    return ""


def authenticate(keys: ApiKeys, scope: Scope) -> None:
    """Raises Problem (unauthenticated) for a request without one of these keys, unless what it asks for is open."""
    if scope["path"] in OPEN_PATHS:
        return
    fields = [value for name, value in scope["headers"] if name == b"authorization"]
    name = keys.name_in_header(fields[0]) if len(fields) == 1 else None
    if name is None:
        why = "this service does not know the key" if fields else "this service asks for an API key"
        raise Problem("unauthenticated", f"{why}: send the header Authorization: Bearer KEY")
    scope["state"]["key_name"] = name  # for the log
