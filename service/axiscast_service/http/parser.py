"""Requests from bytes, without IO.

Framing: a request is a head, which ends at the first empty line, and a body, whose end the head announces: by a number
of bytes, or as chunks, each with its own (RFC 9112, 6). If two parsers find different ends, what is the body to one is
the next request to the other. This parser is the only one: it takes nothing that another would read in another way
(grammar.py), reads one request at a time, and leaves what follows unread until `next_request`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from .grammar import CHUNK, header_fields, malformed_request, read_head, read_trailer, validate_chunk_line

SMALL_CHUNKS, SMALL_CHUNK_BYTES = 4096, 64
"""A body may come in so many chunks of any size, and in more if all of them together have so many bytes on average.
Each chunk takes a step of Python while all other connections wait, whatever is in it."""
CHUNKS_AT_ONCE = 256
"""`feed` reads this many chunks at most: some 0.3 ms."""
_SMALL_CHUNKS = (
    f"the body comes in more than {SMALL_CHUNKS} chunks of less than {SMALL_CHUNK_BYTES} bytes on average: send larger "
    "ones, or all of it with a Content-Length"
)

Phase = Literal["head", "body", "chunks", "trailer", "complete"]
"""What the parser reads next. No Enum: its members cost a microsecond a request."""

TRANSITIONS: dict[Phase, dict[str, Phase]] = {
    # The request line and its fields.
    "head": {"no body": "complete", "a length": "body", "chunks": "chunks"},
    # The rest of a body of known length.
    "body": {"its last byte": "complete"},
    # The rest of a body in chunks.
    "chunks": {"the last chunk": "trailer"},
    # The fields after the last chunk.
    "trailer": {"its empty line": "complete"},
    # Nothing: what follows is another request.
    "complete": {"the next request": "head"},
}
"""What happens in each phase, and which one follows."""


class RequestHead(NamedTuple):
    """A request line and its fields, which hold to the grammar."""

    data: bytes
    """With the target in origin-form."""
    length: int | None
    """Bytes of the body; None: it comes in chunks."""
    is_https: bool = False
    """Whether the target was a URL of https."""

    def line(self) -> tuple[bytes, bytes, bytes]:
        """The method, the target and the version."""
        method, target, version = self.data[: self.data.index(b"\r")].split(b" ")
        return method, target, version

    def fields(self) -> list[tuple[bytes, bytes]]:
        """Names, in lower case, and values."""
        return header_fields(self.data)


class BodyData(NamedTuple):
    """A part of a body."""

    data: bytes


class EndOfRequest(NamedTuple):
    """The request is complete."""


Event = RequestHead | BodyData | EndOfRequest


class Parser:
    """One connection's."""

    __slots__ = ("_small_chunks", "due", "head", "is_behind", "phase", "rest")

    def __init__(self) -> None:
        self.phase: Phase = "head"
        self.head: RequestHead | None = None
        """That of the request which is being read, or was read last."""
        self.rest = b""
        """Bytes that have come and are not read: part of a line, or what follows the request."""
        self.is_behind = False
        """Whether `feed` has stopped after CHUNKS_AT_ONCE. `feed(b"")` reads on."""
        self.due = 0
        """Bytes of the body, or of the chunk, that have not come."""
        self._small_chunks = SMALL_CHUNKS  # how many more chunks of the body may be small

    def feed(self, data: bytes) -> list[Event]:
        """Read these bytes after the rest, up to the end of the request, or until `is_behind`. Raises Problem
        (malformed-request, head-too-large, method-not-allowed), after which nothing more can be read."""
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
        """Drop `nbytes` of the rest: a whole request that was read by other means."""
        self.rest = self.rest[nbytes:]

    def skip(self, nbytes: int) -> None:
        """Skip `nbytes` of a body of known length, which were received by other means."""
        self.due -= nbytes
        if not self.due:
            self.phase = TRANSITIONS["body"]["its last byte"]

    def next_request(self) -> None:
        """Go on to the next request."""
        self.phase = TRANSITIONS[self.phase]["the next request"]

    def _read(self, data: bytes, events: list[Event]) -> int:
        """Read one part; how many bytes it took, 0 if more must come first."""
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
            return end - 2  # the line of a chunk has a line break before it
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
