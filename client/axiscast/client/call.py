"""Call: the request for one call of a client method, and the reader for its response. This module performs no IO."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Literal, NamedTuple, TypeVar

from ..errors import InvalidAnswer
from ..plan.alignment import ShapeMismatch
from ..wire.codec import Encoding
from ..wire.problems import Problem
from .response_reading import ResponseReader, problem_reader, unexpected_status

__all__ = ["Transfer"]

T = TypeVar("T")

MSGPACK = Encoding.MSGPACK.value


class Transfer(NamedTuple):
    """The progress of a call. The client passes it to the progress callback."""

    direction: Literal["upload", "download"]
    done: int
    """The number of bytes that have been transferred so far."""
    total: int | None
    """The total number of bytes to transfer. It is None if the service does not announce the length of its response."""


ProgressCallback = Callable[[Transfer], None]


class Call(Generic[T]):
    """The request for one call of a client method, and the reader for its response.

    `parts` are the parts of the request body. `make_reader` returns the reader for a successful response. Its argument
    is the announced length of the response in bytes, or None. If the service has rejected the request, `find_problem`
    checks the arguments again. It returns None, or a problem whose message is written for Python users.
    """

    def __init__(
        self,
        method: str,
        path: str,
        parts: Sequence[bytes | memoryview],
        make_reader: Callable[[int | None], ResponseReader[T]],
        find_problem: Callable[[], Problem | None] = lambda: None,
    ) -> None:
        self.method = method
        self.path = path
        self.parts = parts
        self.length = sum(map(len, parts))
        self.find_problem = find_problem
        self._make_reader = make_reader
        self.headers = [(b"Accept", MSGPACK.encode()), (b"Accept-Encoding", b"identity")]
        if parts:
            self.headers += [(b"Content-Type", MSGPACK.encode()), (b"Content-Length", b"%d" % self.length)]

    def response_reader(self, status: int, headers: Mapping[str, str], length: int | None) -> ResponseReader[T]:
        """Return the reader for a response. `length` is the announced length of its body in bytes, or None.

        Raises UnexpectedStatus if the status is not 200 and the body is not a problem document. Raises InvalidAnswer
        if the body has a format that this client can't read.
        """
        is_uncompressed = headers.get("content-encoding", "identity").lower() == "identity"
        media = headers.get("content-type", "").split(";")[0].strip().lower()
        if status != 200:
            if status >= 400 and is_uncompressed and (media == MSGPACK or media.endswith("json")):
                return problem_reader(media, status)
            raise unexpected_status(status)
        if not is_uncompressed:
            raise InvalidAnswer("the response is compressed, which was not requested: a proxy must not compress it")
        if media != MSGPACK:
            found = f"the content type is {media[:60] or 'missing'} instead of {MSGPACK}"
            raise InvalidAnswer(f"{found}: is this the URL of an axiscast service?")
        try:
            return self._make_reader(length)  # computes the expected tensors of the request, which may be invalid
        except (ShapeMismatch, ValueError, TypeError, LookupError, ArithmeticError):
            raise InvalidAnswer("the service accepted a request that has no valid response") from None
