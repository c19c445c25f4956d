"""Request ids: the client's own, or new ones."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

_VALID_ID = re.compile(rb"[A-Za-z0-9._~+/=:-]{1,128}")


def request_id_of(fields: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the request id in these headers if it is valid, otherwise a new one."""
    return request_id_in(next((value for name, value in fields if name == b"x-request-id"), None))


def request_id_in(field: bytes | None) -> str:
    """Return the id in an X-Request-ID header if it is valid, otherwise a new one."""
    return os.urandom(16).hex() if field is None or not _VALID_ID.fullmatch(field) else field.decode()
