"""MessagePack for schemathesis, which supports only JSON."""

from __future__ import annotations

from typing import Any

import msgpack
import schemathesis

MEDIA = "application/vnd.msgpack"


@schemathesis.serializer(MEDIA)
def packed(context: Any, value: Any) -> Any:
    return value if isinstance(value, bytes) else msgpack.packb(value, default=str, unicode_errors="replace")


@schemathesis.deserializer(MEDIA)
def unpacked(context: Any, response: Any) -> Any:
    return msgpack.unpackb(response.content)
