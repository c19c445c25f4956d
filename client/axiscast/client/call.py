"""A call without IO: what is sent, and an attempt that reads the response. Both clients use these."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Generic, Literal, NamedTuple, TypeVar

import httpx

from ..errors import AxiscastError, InvalidAnswer, InvalidRequest, UnknownOp
from ..plan.alignment import ShapeMismatch
from ..wire.codec import Encoding
from ..wire.problems import Problem
from .reading import Chunk, Reader, problem, unexpected_status

__all__ = ["Transfer"]

T = TypeVar("T")

MSGPACK = Encoding.MSGPACK.value
SEND_BYTES = 2**20 - 2**12
"""Pieces in which a large body is sent: a page less than what Linux takes more slowly."""


class Transfer(NamedTuple):
    """How far a call has come, for a progress callback."""

    direction: Literal["upload", "download"]
    done: int
    """Bytes so far."""
    total: int | None
    """Bytes in all, where they are known."""


Progress = Callable[[Transfer], None]


class Call(Generic[T]):
    """One call: method, path, body in parts, and what reads a good answer of `length` bytes (None: not announced)."""

    def __init__(
        self,
        method: str,
        path: str,
        parts: Sequence[bytes | memoryview],
        reader: Callable[[int | None], Reader[T]],
        refusal: Callable[[], Problem | None] = lambda: None,
    ) -> None:
        self.method = method
        self.path = path
        self.parts = parts
        self.length = sum(map(len, parts))
        self.reader = reader
        self.refusal = refusal
        """Returns what is wrong with the arguments, in Python's words; None if nothing is known here."""
        self.headers = [(b"Accept", MSGPACK.encode()), (b"Accept-Encoding", b"identity")]
        if parts:
            self.headers += [(b"Content-Type", MSGPACK.encode()), (b"Content-Length", b"%d" % self.length)]

    def read(self, status: int, headers: Mapping[str, str], length: int | None) -> Reader[T]:
        """Return the reader of a response with this status and these headers, of `length` bytes.

        Raises UnexpectedStatus for another status than 200 unless the body may be a problem document, InvalidAnswer
        for a body that this client can't read.
        """
        is_plain = headers.get("content-encoding", "identity").lower() == "identity"
        media = headers.get("content-type", "").split(";")[0].strip().lower()
        if status != 200:
            if status >= 400 and is_plain and (media == MSGPACK or media.endswith("json")):
                return problem(media, status)
            raise unexpected_status(status)
        if not is_plain:
            raise InvalidAnswer("the answer is compressed, which was not asked for: a proxy must leave it as it is")
        if media != MSGPACK:
            raise InvalidAnswer(
                f"the content type is {media[:60] or 'missing'} instead of {MSGPACK}: "
                "is the URL that of an axiscast service?"
            )
        try:
            return self.reader(length)
        except (ShapeMismatch, ValueError, TypeError, LookupError, ArithmeticError):
            raise InvalidAnswer("the service answered a question that has no answer") from None


def authorization(api_key: str) -> str:
    """Return the Authorization header of a key. Raises ValueError, whose text omits the value, if it is not a key."""
    if not (api_key.isascii() and api_key.isprintable() and api_key and " " not in api_key):
        raise ValueError("api_key must be printable ASCII without spaces or line ends: has one been read from a file?")
    return f"Bearer {api_key}"


class Attempt(httpx.SyncByteStream, httpx.AsyncByteStream, Generic[T]):
    """One attempt at a call. It is the body of its request, from the beginning as often as it is asked for, and takes
    the answer: the head by `begin`, then each byte once, by `feed` or into `buffer()`."""

    buffer: Callable[[], memoryview]
    """Where the next bytes belong (see Reader.buffer), once the head is there."""
    _reader: Reader[T]

    def __init__(self, call: Call[T], progress: Progress | None) -> None:
        self.call = call
        self._progress = progress
        self._done = 0
        self._total: int | None = None
        self.headers: Mapping[str, str] | None = None
        """The answer's, by their names in lower case, once the head is there."""

    def __iter__(self) -> Iterator[bytes]:
        """The body in pieces of at most SEND_BYTES."""
        done = 0
        for part in self.call.parts:
            for start in range(0, len(part), SEND_BYTES):
                piece = part[start : start + SEND_BYTES]
                yield piece  # type: ignore[misc]  # buffers pass as they are
                done += len(piece)
                if self._progress is not None:
                    self._progress(Transfer("upload", done, self.call.length))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head; the headers' names are in lower case. Raises InvalidAnswer."""
        self.headers = headers
        length = headers.get("content-length", "")
        self._total = int(length) if length.isdecimal() and len(length) < 20 else None
        self._reader = self.call.read(status, headers, self._total)
        self.buffer = self._reader.buffer

    def received(self, count: int) -> None:
        """Take the bytes that were written into `buffer()`."""
        self._reader.received(count)
        self._count(count)

    def feed(self, chunk: Chunk) -> None:
        """Take the next bytes."""
        self._reader.feed(chunk)
        self._count(len(chunk))

    def _count(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(Transfer("download", self._done, self._total))

    def finish(self) -> T:
        """The result, once all bytes are there. Raises InvalidAnswer, or the ServiceProblem that came."""
        return self._reader.finish()

    def tell(self, error: AxiscastError) -> str | None:
        """Let the error of this attempt say which request it is about, and whether the service is older than this
        client. Returns the answer's Retry-After."""
        if self.headers is None:
            return None
        error.request_id = self.headers.get("x-request-id", "")[:128] or None
        if isinstance(error, InvalidRequest | UnknownOp) and (own := self.call.refusal()) and own.code == error.code:
            error.detail = own.detail  # the service has said it in the words of HTTP
            error.args = (own.detail,)
        if isinstance(error, InvalidAnswer | InvalidRequest | UnknownOp) or getattr(error, "status", 0) in (404, 405):
            error.args = (f"{error}{_if_older(self.headers.get('axiscast-version', ''))}",)
        return self.headers.get("retry-after")


def _if_older(service: str) -> str:
    """What is to be said where the service has an older version than this client, which asks for what is new in its
    own; else nothing."""
    from importlib.metadata import distributions  # takes 10 ms

    client = next((found.version for found in distributions(name="axiscast")), "")
    theirs, ours = (tuple(map(int, re.findall("[0-9]{1,9}", text)[:3])) for text in (service, client))
    return f" (the service is axiscast {service[:20]}, older than this client)" if () < theirs < ours else ""
