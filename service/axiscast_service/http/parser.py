"""An incremental parser of HTTP/1.1 requests, which does no input or output.

A request consists of a header block, which ends at the first empty line, and a body. The header block announces the
length of the body, or that the body arrives in chunks (RFC 9112, 6). If two parsers find different ends of a body, one
parser reads a part of the body as the next request. Therefore this parser accepts only requests that all parsers read
in the same way (grammar.py). It parses one request, and leaves further data unparsed until `next_request` is called.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from .grammar import CHUNK, header_fields, malformed_request, read_head, read_trailer, validate_chunk_line

SMALL_CHUNKS, SMALL_CHUNK_BYTES = 4096, 64
"""The number of chunks of any size that a body may have. A body may have more chunks if their average size is at least
SMALL_CHUNK_BYTES. While Python code parses a chunk, all other connections wait."""
CHUNKS_AT_ONCE = 256
"""The maximum number of chunks that one call of `feed` parses. This takes about 0.3 ms."""
_SMALL_CHUNKS = (
    f"the body has more than {SMALL_CHUNKS} chunks of less than {SMALL_CHUNK_BYTES} bytes on average: send larger "
    "chunks, or the whole body with a Content-Length"
)

Phase = Literal["head", "body", "chunks", "trailer", "complete"]
"""The type of a phase, which is the part of a request that is parsed next. An Enum would take a microsecond more.

A header block is followed by a body of known length, by chunks and their trailer fields, or by nothing. In the phase
"complete", nothing is parsed, because further data is part of the next request."""


class RequestHead(NamedTuple):
    """The header block of a request: a valid request line and valid header fields."""

    data: bytes
    """The bytes of the header block, with the request target in origin-form."""
    length: int | None
    """The length of the body in bytes, or None if the body is chunked."""
    is_https: bool = False
    """Whether the request target was an https URL."""

    def line(self) -> tuple[bytes, bytes, bytes]:
        """Return the method, the target and the version from the request line."""
        method, target, version = self.data[: self.data.index(b"\r")].split(b" ")
        return method, target, version

    def fields(self) -> list[tuple[bytes, bytes]]:
        """Return the lower-case names and the values of the header fields."""
        return header_fields(self.data)


class BodyData(NamedTuple):
    """The event that reports a part of a request body."""

    data: bytes


class EndOfRequest(NamedTuple):
    """The event that reports that the request is complete."""


Event = RequestHead | BodyData | EndOfRequest


class Parser:
    """The request parser of one connection."""

    def __init__(self) -> None:
        self.phase: Phase = "head"
        self.head = RequestHead(b"", 0)
        """The header block of the current request or, between requests, of the previous request."""
        self.rest = b""
        """The received bytes that are not yet parsed: a part of a line, or data after the request."""
        self.is_behind = False
        """Whether `feed` has stopped after CHUNKS_AT_ONCE chunks. If so, `feed(b"")` continues parsing."""
        self.due = 0
        """The number of bytes of the current body or chunk that have not arrived."""
        self._small_chunks = SMALL_CHUNKS  # the number of further chunks that may be small

    @property
    def is_between_requests(self) -> bool:
        """Whether no data of the next request has arrived."""
        return self.phase == "head" and not self.rest

    def feed(self, data: bytes) -> list[Event]:
        """Parse the bytes in `rest` and then `data`, and return the events.

        Parsing stops at the end of the request, or when `is_behind` becomes true. Raises Problem (malformed-request
        or head-too-large) if the request is invalid. After that, the parser can't be used again.
        """
        self.rest = data = self.rest + data if self.rest else data
        self.is_behind = False
        events: list[Event] = []
        while data and self.phase != "complete" and not self.is_behind:
            used = self._read(data, events)
            if not used:
                break
            data = data[used:]
        self.rest = data
        return events

    def hold(self, data: bytes) -> None:
        """Store these bytes until the next call of `feed`."""
        self.rest = self.rest + data if self.rest else data

    def drop(self, nbytes: int) -> None:
        """Drop the first `nbytes` unparsed bytes, which are a whole request that the fast path has parsed."""
        self.rest = self.rest[nbytes:]

    def skip(self, nbytes: int) -> None:
        """Skip `nbytes` bytes of a body of known length, because they were received directly into a buffer."""
        self.due -= nbytes
        if not self.due:
            self.phase = "complete"

    def next_request(self) -> None:
        """Start parsing the next request."""
        self.phase = "head"

    def _read(self, data: bytes, events: list[Event]) -> int:
        """Parse one part of the data. Return the number of bytes used, or 0 if more bytes are needed."""
        match self.phase:
            case "head":
                return self._read_head(data, events)
            case "body":
                return self._read_body(data, events)
            case "chunks":
                return self._read_chunks(data, events)
            case _:
                end = read_trailer(data)
                if end:
                    self._end(events)
                return end

    def _read_head(self, data: bytes, events: list[Event]) -> int:
        found = read_head(data)
        if found is None:
            return 0
        head, end, length, is_https = found
        self.head = RequestHead(head, length, is_https)
        events.append(self.head)
        self.due = length or 0
        if length is None:
            self.phase = "chunks"
            self._small_chunks = SMALL_CHUNKS
            return end - 2  # the regular expression for a chunk line also matches the line break before the line
        if length:
            self.phase = "body"
        else:
            self._end(events)
        return end

    def _read_body(self, data: bytes, events: list[Event]) -> int:
        part = data[: self.due]
        self.due -= len(part)
        events.append(BodyData(part))
        if not self.due:
            self._end(events)
        return len(part)

    def _read_chunks(self, data: bytes, events: list[Event]) -> int:
        at, parts = 0, []
        for _ in range(CHUNKS_AT_ONCE):
            part = data[at : at + self.due]
            parts.append(part)
            at += len(part)
            self.due -= len(part)
            if self.due:
                break
            line = CHUNK.match(data, at)
            if not line:
                validate_chunk_line(data, at)
                break
            at, self.due = line.end(), int(line[1], 16)
            if self.due:
                at += 2
                self._small_chunks += min(self.due // SMALL_CHUNK_BYTES, SMALL_CHUNKS) - 1
                if self._small_chunks < 0:
                    raise malformed_request(_SMALL_CHUNKS)
            else:
                self.phase = "trailer"
                break
        else:
            self.is_behind = True
        if body := b"".join(parts):
            events.append(BodyData(body))
        return at

    def _end(self, events: list[Event]) -> None:
        self.phase = "complete"
        events.append(EndOfRequest())
