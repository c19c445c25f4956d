"""The encoding of request bodies in MessagePack."""

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
    """Return the MessagePack encoding of a plain value.

    Raises InvalidRequest if a string can't be encoded in UTF-8.
    """
    try:
        return bytes(msgpack.packb(value))
    except UnicodeEncodeError as error:
        detail = f"{error.object[:60]!a} contains half a surrogate pair, which UTF-8 can't encode"
        raise InvalidRequest(Problem("invalid-request", detail).document()) from None
    except (TypeError, OverflowError) as error:
        raise TypeError(f"an argument contains a value that can't be sent: {error}") from None


def tensor_body(fields: Mapping[str, Any], name: str, arrays: Sequence[Array]) -> list[bytes | memoryview]:
    """Return the parts of a request body, which is a MessagePack map with the small fields and a list of tensors.

    `name` is the field that contains the list of tensors. The data of large arrays is sent without being copied.
    """
    packed = pack({**fields, name: [None] * len(arrays)})
    # The encoded None values are removed from the end, and the tensors take their place.
    parts: list[bytes | memoryview] = [packed[: len(packed) - len(arrays)]]
    for array in arrays:
        try:
            parts += msgpack_parts(array, strided=any(replicated_axes(array)))
        except UnknownDtype as error:
            raise TypeError(str(error)) from None
    if sum(map(len, parts)) <= MAX_SENT_CHUNK_BYTES:
        return [b"".join(parts)]
    return parts
