"""An incremental parser of HTTP/1.1 requests, without IO.

Framing: a request has a header block, which ends at the first empty line, and a body. The header block announces the
end of the body by its length or by chunks (RFC 9112, 6). If two parsers find different ends, the body for one parser is
the next request for the other. So this parser accepts only requests that all parsers read alike (grammar.py). It reads
one request at a time, and leaves the data after it unread until `next_request`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from .grammar import CHUNK, header_fields, malformed_request, read_head, read_trailer, validate_chunk_line

SMALL_CHUNKS, SMALL_CHUNK_BYTES = 4096, 64
"""A body may have SMALL_CHUNKS chunks of any size, and more if their average size is at least SMALL_CHUNK_BYTES. Each
chunk takes a step of Python, in which all other connections wait."""
CHUNKS_AT_ONCE = 256
"""`feed` reads at most this many chunks, in about 0.3 ms."""
_SMALL_CHUNKS = (
    f"the body has more than {SMALL_CHUNKS} chunks of less than {SMALL_CHUNK_BYTES} bytes on average: send larger "
    "chunks, or the whole body with a Content-Length"
)

Phase = Literal["head", "body", "chunks", "trailer", "complete"]
"""The part of a request that is read next. An Enum would cost a microsecond per request."""

TRANSITIONS: dict[Phase, dict[str, Phase]] = {
    # The header block.
    "head": {"no body": "complete", "a length": "body", "chunks": "chunks"},
    # The rest of a body of known length.
    "body": {"its last byte": "complete"},
    # The rest of a chunked body.
    "chunks": {"the last chunk": "trailer"},
    # The trailer fields after the last chunk.
    "trailer": {"its empty line": "complete"},
    # Nothing. Further data belongs to the next request.
    "complete": {"the next request": "head"},
}
"""For each phase, its events and the phase after each."""


class RequestHead(NamedTuple):
    """A valid request line and its header fields."""

    data: bytes
    """The bytes of the header block, with the target in origin-form."""
    length: int | None
    """Bytes of the body, or None if it is chunked."""
    is_https: bool = False
    """Whether the target was an https URL."""

    def line(self) -> tuple[bytes, bytes, bytes]:
        """Return the method, the target and the version."""
        method, target, version = self.data[: self.data.index(b"\r")].split(b" ")
        return method, target, version

    def fields(self) -> list[tuple[bytes, bytes]]:
        """Return the names, in lower case, and the values of the header fields."""
        return header_fields(self.data)


class BodyData(NamedTuple):
    """A part of a body."""

    data: bytes


class EndOfRequest(NamedTuple):
    """The request is complete."""


Event = RequestHead | BodyData | EndOfRequest


class Parser:
    """The parser of one connection."""

    __slots__ = ("_small_chunks", "due", "head", "is_behind", "phase", "rest")

    def __init__(self) -> None:
        self.phase: Phase = "head"
        self.head: RequestHead | None = None
        """The header block of the current or last request."""
        self.rest = b""
        """Received bytes that are not parsed: part of a line, or data after the request."""
        self.is_behind = False
        """Whether `feed` has stopped after CHUNKS_AT_ONCE. `feed(b"")` reads on."""
        self.due = 0
        """Bytes of the body or the chunk that have not arrived."""
        self._small_chunks = SMALL_CHUNKS  # how many more chunks of the body may be small

    def feed(self, data: bytes) -> list[Event]:
        """Parse the rest and these bytes, up to the end of the request or until `is_behind`, and return the events.

        Raises Problem (malformed-request, head-too-large, method-not-allowed). Afterwards nothing more can be parsed.
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
        """Keep these bytes for the next `feed`."""
        self.rest = self.rest + data if self.rest else data

    def drop(self, nbytes: int) -> None:
        """Drop `nbytes` of the rest: a whole request that was parsed elsewhere."""
        self.rest = self.rest[nbytes:]

    def skip(self, nbytes: int) -> None:
        """Skip `nbytes` of a body of known length that were received elsewhere."""
        self.due -= nbytes
        if not self.due:
            self.phase = TRANSITIONS["body"]["its last byte"]

    def next_request(self) -> None:
        """Start with the next request."""
        self.phase = TRANSITIONS[self.phase]["the next request"]

    def _read(self, data: bytes, events: list[Event]) -> int:
        """Parse one part. Return how many bytes it took, or 0 if more bytes are needed."""
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
                    self._end("its empty line", events)
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
            self.phase = TRANSITIONS["head"]["chunks"]
            self._small_chunks = SMALL_CHUNKS
            return end - 2  # a chunk line includes the line break before it
        if length:
            self.phase = TRANSITIONS["head"]["a length"]
        else:
            self._end("no body", events)
        return end

    def _read_body(self, data: bytes, events: list[Event]) -> int:
        part = data[: self.due]
        self.due -= len(part)
        events.append(BodyData(part))
        if not self.due:
            self._end("its last byte", events)
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
                self.phase = TRANSITIONS["chunks"]["the last chunk"]
                break
        else:
            self.is_behind = True
        if body := b"".join(parts):
            events.append(BodyData(body))
        return at

    def _end(self, event: str, events: list[Event]) -> None:
        self.phase = TRANSITIONS[self.phase][event]
        events.append(EndOfRequest())
