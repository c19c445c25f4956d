"""The bodies of requests in MessagePack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgpack

from ..errors import InvalidRequest
from ..wire.dtypes import UnknownDtype
from ..wire.problems import Problem
from ..wire.tensors import Array, msgpack_parts, replicated_axes
from .attempt import MAX_SENT_CHUNK_BYTES


def pack(value: Any) -> bytes:
    """Return a plain value in MessagePack. Raises InvalidRequest for a string that UTF-8 can't encode."""
    try:
        return bytes(msgpack.packb(value))
    except UnicodeEncodeError as error:
        detail = f"{error.object[:60]!a} contains half a surrogate pair, which UTF-8 can't encode"
        raise InvalidRequest(Problem("invalid-request", detail).document()) from None
    except (TypeError, OverflowError) as error:
        raise TypeError(f"an argument contains a value that can't be sent: {error}") from None


def tensor_body(fields: Mapping[str, Any], name: str, arrays: Sequence[Array]) -> list[bytes | memoryview]:
    """Return a MessagePack map of small fields and a list of tensors, as the parts of a body.

    The memory of large arrays is sent without a copy.
    """
    packed = pack({**fields, name: [None] * len(arrays)})
    parts: list[bytes | memoryview] = [packed[: len(packed) - len(arrays)]]  # tensors replace the bytes of None
    for array in arrays:
        try:
            parts += msgpack_parts(array, strided=any(replicated_axes(array)))
        except UnknownDtype as error:
            raise TypeError(str(error)) from None
    if sum(map(len, parts)) <= MAX_SENT_CHUNK_BYTES:
        return [b"".join(parts)]
    return parts
