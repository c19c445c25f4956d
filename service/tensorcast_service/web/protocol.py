"""Connections: uvicorn's protocol behind a gate that bounds what a caller sends and how long it keeps one waiting.

The gate hands on one request at a time: a head that is whole and holds to the grammar, a body framed anew. So the
parser behind it, httptools or h11, sees nothing that another would read in another way, and never a head in pieces.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from starlette.requests import Request

from tensorcast.schema.problems import Problem

from .budget import FREE_BYTES, give_back_free_pages
from .envelope import request_id_of
from .intake import EXTENSION, LONG_BYTES, Intake, Reserve
from .problems import response_of

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as Uvicorn

    from .straight import Straight
else:
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Uvicorn
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as Uvicorn

FLOOR_BYTES = 256 * 2**10
"""What a body must bring in each `request_seconds`, unless it ends in them: 9 kB/s by default; and what a reader must
take, unless it takes all that waits. A floor for each window, as by a total, or a mean, who starts fast could hold the
memory for hours after."""
CHECKS = 4
"""How often this is looked at in `request_seconds`."""
HEAD_BYTES = 32 * 2**10
"""Bytes of a request line and its fields, or of the fields after a chunked body. Proxies pass on no more."""
HEAD_FIELDS = 100
"""Fields in them: each costs objects of its own, and is looked at by whoever looks for another."""
SHORT_BYTES = 4096
"""Bytes of a request that may be answered without uvicorn; longer ones are not looked at."""
SMALL_CHUNKS, SMALL_CHUNK_BYTES = 4096, 64
"""Of a body in chunks so many may be small; more only where all have so many bytes on average. Each takes a step of
Python while all others wait, whatever is in it."""
CHUNK_LINE_BYTES = 1024
"""Bytes of the line before a chunk: its size, and extensions that nobody reads."""
LINGER_SECONDS = 2
"""A connection that is closed while its caller still sends stays half open for so long. Closed at once, what comes
would be answered by a reset, and that makes the caller's system throw the answer away."""
LINGER_BYTES = 2**20
"""Bytes that are meanwhile read and thrown away: the rest of a body that is a little too long. More is left unread."""
MAX_CONNECTIONS = 1000
"""Open connections, for each worker. They cost some 15 kB each; what they ask for has limits of its own."""
FILES_SHARE = 0.75
"""Nor may connections take more of the files that the process can have open: the rest is for all else, and for those
that are accepted at one go, before others have made room."""

SWOLLEN_BYTES = 64 * 2**10
"""An encrypted connection on which longer bodies came has buffers of TLS that stay as large as they grew: some 600
kB."""
MAX_SWOLLEN = 32
"""So many of them may wait for another request; the one that has waited for longest is closed."""

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_FIELDS = rb"(?:" + _TOKEN + rb":[\t -~\x80-\xff]*+\r\n){0,%d}+" % HEAD_FIELDS
_LINE = rb"(?!CONNECT )" + _TOKEN + rb" /[!-~]*+ HTTP/1\.([01])\r\n"
_HEAD = re.compile(_LINE + _FIELDS + rb"\r\n")
_HEAD_SO_FAR = re.compile(rb"(?:\r\n)?+(?:[!-~ ]*+\r?|" + _LINE + _FIELDS + rb"[^\n]*+)")
_NAMED = re.compile(rb"\r\n(" + _TOKEN + rb"):[\t ]*+([^\r]*)")
_UPGRADE = re.compile(rb"\r\nupgrade:[^\r]*", re.IGNORECASE)
# These are looked for in a head in lower case.
_FRAMING = re.compile(rb"\n(?:content-length|transfer-encoding|upgrade):")
_HOST = re.compile(rb"\nhost:[\t ]*+[a-z0-9._~%!$&'()*+;=:\[\]-]*+[\t ]*+\r")
_LENGTH = re.compile(rb"\ncontent-length:[\t ]*+([0-9]{1,18})[\t ]*+\r")
_LENGTH_LINE = re.compile(rb"\ncontent-length:[^\r]*", re.IGNORECASE)
_CHUNKED = re.compile(rb"\ntransfer-encoding:[\t ]*+chunked[\t ]*+\r")
# A chunk's line, and the trailer, with the line break before it.
_EXTENSION = rb"(?:[\t ]*+;[\t -~\x80-\xff]*+)?+"
_CHUNK = re.compile(rb"\r\n([0-9A-Fa-f]{1,16})" + _EXTENSION + rb"(?=\r\n)")
_CHUNK_SO_FAR = re.compile(rb"\r?|\r\n[0-9A-Fa-f]{0,16}" + _EXTENSION + rb"\r?")
_TRAILER = re.compile(rb"\r\n" + _FIELDS + rb"\r\n")

_BAD_HEAD = (
    "the head is not HTTP/1.1: a line `METHOD /path HTTP/1.1`, then fields `Name: value` and an empty line, each ended "
    "by CR LF, with no control characters, and in the path only visible ASCII (write others as %XX)"
)
_BAD_HOST = "a request has exactly one Host field: the name, and the port, that it is sent to"
_BAD_FRAMING = (
    "a body is announced by one Content-Length, a number, or by one `Transfer-Encoding: chunked`, never by both"
)
_SMALL_CHUNKS = (
    f"the body comes in more than {SMALL_CHUNKS} chunks of less than {SMALL_CHUNK_BYTES} bytes on average: send larger "
    "ones, or all of it with a Content-Length"
)
_BAD_CHUNK = "a chunk is its size in hexadecimal, CR LF, so many bytes, CR LF; one of size 0 ends the body"

logger = logging.getLogger("tensorcast")

Phase = Literal["head", "body", "trailer", "answer", "over"]
"""What a connection waits for: a head, the rest of a body, the fields after its last chunk, the answer to a request
that has come, or nothing any more. No Enum: its members cost a microsecond a request."""


class Outlet(asyncio.Transport):
    """The transport as uvicorn sees it, which leaves it to the gate how to close."""

    def __init__(self, wire: asyncio.Transport, gate: Protocol) -> None:
        self.gate = gate
        self.close = gate.finish  # type: ignore[method-assign]
        self.write = wire.write  # type: ignore[method-assign]
        self.get_extra_info = wire.get_extra_info  # type: ignore[method-assign]
        self.pause_reading = wire.pause_reading  # type: ignore[method-assign]
        self.resume_reading = wire.resume_reading  # type: ignore[method-assign]

    def is_closing(self) -> bool:
        return self.gate.phase == "over" or self.gate.wire.is_closing()

    async def receive_into(self, room: memoryview, start: int, reserve: Reserve) -> bool:
        """See ReceiveInto."""
        return await self.gate.receive_into(room, start, reserve)


class Protocol(Uvicorn):
    """One connection. The application's lifespan state holds `request_seconds`, `refused`, which is told what
    a connection was refused or cut for: a problem code, `stalled-reader`, `silent` or `no-room`, and `straight`, which
    answers some requests at once."""

    total: ClassVar[int] = 0
    """Connections of this process."""
    waiting: ClassVar[dict[Protocol, None]] = {}
    """Those in which nothing is in work, the longest-waiting first: they make room for new ones."""

    swollen: ClassVar[dict[Protocol, None]] = {}
    """Those that are encrypted and took long bodies."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.seconds: float = app_state["request_seconds"]
        self.refused: Callable[[str], None] = app_state["refused"]
        self.phase: Phase = "head"
        self.straight: Straight | None = app_state.get("straight")
        self.head = b""
        """That of the request in work."""
        self.rest = b""
        """What has come and is not whole, or belongs to the next request."""
        self.chunked = False
        """Whether the body in work comes in chunks."""
        self.chunks = 0
        """How many more of them may be small."""
        self.reframed = False
        """Whether uvicorn is given it in chunks: also a long one, of which uvicorn sees the beginning alone."""
        self.intake: Intake | None = None
        self.due = 0
        """Bytes of the body, or of the chunk, that have not come."""
        self.answered = False
        """Whether an answer has begun before the body had come."""
        self.received = 0
        """Bytes of bodies; at the end, of what is thrown away."""
        self.mark = 0
        """`received` when its window began."""
        self.waits = 0
        """Checks since then in which the caller should have been sending."""
        self.unsent = sys.maxsize
        """Bytes that the caller had not taken when its window began."""
        self.stalls = 0
        """Checks since then in which it should have taken more."""
        self.swelled = False
        """Whether its buffers of TLS have grown."""
        self.unmade: socket.socket | None = None
        """The connection, from `accepted` until it is made."""
        self.counted = False
        self.crowded = False
        """Whether there is no room for it, nor any to be made."""

    def accepted(self, connection: socket.socket, encrypted: bool) -> None:
        """The connection is accepted, and its TLS handshake, where it is encrypted, is still to come."""
        self.unmade = connection
        self._count()
        if encrypted:
            Protocol.waiting[self] = None  # crowded or not: a handshake that never ends must make room

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.wire, self.unmade = transport, None
        encrypted = transport.get_extra_info("sslcontext") is not None
        if encrypted:
            transport.set_write_buffer_limits(FREE_BYTES)  # of TLS 512 KiB are held by default
        connection = transport.get_extra_info("socket")
        if hasattr(socket, "TCP_NOTSENT_LOWAT") and connection is not None and connection.family != socket.AF_UNIX:
            # Else the system takes up to 4 MiB for a reader that takes nothing, and a container's limit counts them.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, FREE_BYTES)
        # Whether what can't be sent at once is copied, and not kept where it lies.
        self.app_state["copies"] = encrypted or not type(transport).__module__.startswith("uvloop")
        super().connection_made(Outlet(transport, self))
        self.timer = self.loop.call_later(self.seconds / CHECKS, self._watch)
        if not self.counted:
            self._count()  # accepted by uvicorn's own server
        if self.crowded:
            self._refuse(Problem("overloaded", "all connections of this worker are in work: try again shortly"))

    def ended_unmade(self) -> None:
        """Nothing more comes of `accepted`: either the connection was made, or it has ended."""
        if self.unmade is None:
            return
        self.unmade.close()
        self.unmade = None
        Protocol.total -= 1
        if self in Protocol.waiting:  # else it was cut
            Protocol.waiting.pop(self)
            self.refused("handshake")

    def give_up(self) -> None:
        """End a connection that is not made yet."""
        if self.unmade is not None:
            with suppress(OSError):  # it has ended already
                self.unmade.shutdown(socket.SHUT_RDWR)

    def _count(self) -> None:
        self.counted = True
        Protocol.total += 1
        if Protocol.total > _max_connections():
            self.crowded = not Protocol.make_room()
        if not self.crowded:
            Protocol.waiting[self] = None

    @staticmethod
    def make_room() -> bool:
        """Close the connection that has waited for longest; False where none waits."""
        longest = next(iter(Protocol.waiting), None)
        if longest is None:
            return False
        longest._cut("no-room")
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        Protocol.total -= 1
        self.timer.cancel()
        self.phase, self.rest = "over", b""
        self.end_intake()
        super().connection_lost(exc)
        Protocol.waiting.pop(self, None)
        if self.swelled:
            Protocol.swollen.pop(self, None)
            self.loop.run_in_executor(None, give_back_free_pages)  # what TLS had lies between what others have
        self._unset_keepalive_if_required()  # uvicorn leaves it where the caller resets
        vars(self.transport).clear()  # else both, and what they hold, wait for the collector of cycles

    def data_received(self, data: bytes) -> None:
        if self.rest:
            data = self.rest + data
        try:
            while data and (used := self._take(data)):
                data = data[used:]
            self.rest = data
        except Problem as problem:
            self.rest = data
            self._refuse(problem)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.unsent = sys.maxsize  # most was taken, whatever is written next

    def send_400_response(self, msg: str) -> None:
        self._refuse(Problem("malformed-request", _BAD_HEAD))  # the parser knows more of HTTP than the gate

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.phase != "answer":
            self.finish()
            return
        self.phase, self.waits = "head", 0
        Protocol.waiting[self] = None
        if self.received > SWOLLEN_BYTES and self.wire.get_extra_info("sslcontext") is not None:
            self._swell()
        if self.rest:
            rest, self.rest = self.rest, b""
            self.wire.resume_reading()
            self.data_received(rest)

    def _swell(self) -> None:
        """Count this connection as one whose buffers stay large, and close the one too many."""
        self.swelled = True
        Protocol.swollen.pop(self, None)
        Protocol.swollen[self] = None
        if len(Protocol.swollen) > MAX_SWOLLEN:
            longest = next((one for one in Protocol.swollen if one in Protocol.waiting), None)
            if longest is not None:
                Protocol.swollen.pop(longest)
                longest._cut("no-room")

    def timeout_keep_alive_handler(self) -> None:
        if not self.rest:  # else a head has begun to come
            super().timeout_keep_alive_handler()

    def finish(self, linger: bool = False) -> None:
        """Close; where the caller may still be sending, or `linger` is set, not before it can have read the answer."""
        if self.phase == "over":
            return
        linger = linger or bool(self.rest) or self.phase in ("body", "trailer")
        self.end_intake()
        self.phase, self.rest, self.received = "over", b"", 0
        if not linger or self.wire.is_closing():
            if not self.wire.get_write_buffer_size():
                Protocol.waiting[self] = None  # TLS waits for the caller's goodbye
            self.wire.close()
            return
        Protocol.waiting[self] = None
        self.loop.call_later(LINGER_SECONDS, self.wire.close)
        self.wire.resume_reading()
        if self.wire.can_write_eof():
            self.wire.write_eof()

    def _take(self, data: bytes) -> int:
        """How many bytes of `data` were used up; 0 where more must come first."""
        if self.phase == "head":
            return self._take_head(data)
        if self.phase == "body":
            return self._take_chunks(data) if self.chunked else self._take_body(data)
        if self.phase == "trailer":
            return self._take_trailer(data)
        if self.phase == "answer":
            self.wire.pause_reading()  # the next request waits here, and what follows it at the caller
            return 0
        self.received += len(data)
        if self.received > LINGER_BYTES:
            self.wire.pause_reading()
        return len(data)

    def _answer_straight(self, straight: Straight, head: bytes, body: bytes) -> bool:
        """Answer a request without uvicorn; False where it is not one of those."""
        answer = None if self.flow.write_paused else straight.answer(head, body, self.server_state.default_headers)
        if answer is None:
            return False
        self.wire.write(answer)
        self.head, self.waits, self.mark = head, 0, self.received
        Protocol.waiting.pop(self, None)
        Protocol.waiting[self] = None
        self.server_state.total_requests += 1
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        return True

    def _take_head(self, data: bytes) -> int:
        end = data.find(b"\r\n\r\n") + 4
        if end < 4:
            _judge_size(data)
            if not _HEAD_SO_FAR.fullmatch(data):
                raise Problem("malformed-request", _BAD_HEAD)
            return 0
        head = data[:end].removeprefix(b"\r\n")
        line = _HEAD.fullmatch(head)
        if not line or end > HEAD_BYTES:
            _judge_size(head)
            raise Problem("malformed-request", _BAD_HEAD)
        fields = head.lower()
        if fields.count(b"\nhost:") != 1 or not _HOST.search(fields):
            raise Problem("malformed-request", _BAD_HOST)
        self.due, self.chunked = 0, False
        if _FRAMING.search(fields):
            if b"\nupgrade:" in fields:
                head = _UPGRADE.sub(b"", head)  # the answer is HTTP/1.1, as it may be
            length = _LENGTH.search(fields)
            self.due = int(length[1]) if length else 0
            announced = fields.count(b"\ncontent-length:") + fields.count(b"\ntransfer-encoding:")
            self.chunked, self.chunks = announced == 1 and not length, SMALL_CHUNKS
            if announced > 1 or (self.chunked and (line[1] == b"0" or not _CHUNKED.search(fields))):
                raise Problem("malformed-request", _BAD_FRAMING)
        body = data[end : end + self.due]
        is_alone = end + self.due == len(data) <= SHORT_BYTES and not self.chunked  # else others wait for their turns
        if self.straight is not None and is_alone and self._answer_straight(self.straight, head, body):
            return len(data)
        self.head, self.waits, self.mark = head, 0, self.received
        Protocol.waiting.pop(self, None)
        self.reframed = self.chunked
        if self.due > len(body) or self.chunked:
            self.phase, self.answered = "body", False
            self.transport.write = self._write_early  # type: ignore[method-assign]
            if length and self.due > LONG_BYTES and line[1] == b"1":
                self.reframed = True
                self._announce_long(head, length[1])
                return end
        else:
            self.phase = "answer"
        self.body_received(len(body))
        super().data_received(head + body)
        return end - 2 if self.chunked else end + len(body)  # the line of a chunk has a line break before it

    def _announce_long(self, head: bytes, length: bytes) -> None:
        """Give uvicorn the head of a long body, and the application the means to receive it."""
        super().data_received(_LENGTH_LINE.sub(b"\nTransfer-Encoding: chunked", head))
        if self.phase != "body":  # the parser refused it
            return
        fields = cast(list[tuple[bytes, bytes]], self.scope["headers"])  # nobody has seen them yet
        fields[[name for name, _ in fields].index(b"transfer-encoding")] = (b"content-length", length)
        self.scope["extensions"] = {EXTENSION: {"receive_into": cast(Outlet, self.transport).receive_into}}

    def _take_body(self, data: bytes) -> int:
        part = data[: self.due]
        self.body_received(len(part))
        self._hand_on(part)
        if not self.due:
            self._body_came()
        return len(part)

    def _hand_on(self, part: bytes) -> None:
        """Give uvicorn a part of a body."""
        super().data_received(b"%x\r\n%b\r\n" % (len(part), part) if self.reframed and part else part)

    def body_received(self, nbytes: int) -> None:
        self.due -= nbytes
        self.received += nbytes

    async def receive_into(self, room: memoryview, start: int, reserve: Reserve) -> bool:
        """See ReceiveInto."""
        held, self.cycle.body = self.cycle.body, bytearray()  # what uvicorn has of it
        self.cycle.message_event.clear()
        reserve(len(held))
        room[start : start + len(held)] = held
        if self.phase != "body":
            return self.phase == "answer"
        intake = self.intake = Intake(self, room, start + len(held), reserve)
        done = intake.done
        self.wire.set_protocol(intake)
        self.flow.resume_reading()
        intake.open()
        try:
            outcome = await done
        finally:
            self.end_intake()
        if isinstance(outcome, bool):
            return outcome
        try:
            raise outcome
        finally:
            del outcome, done, intake  # else the problem is part of a cycle, and with it the room

    def end_intake(self) -> None:
        if self.intake is not None:
            self.wire.set_protocol(self)
            self.intake.end()
            self.intake = None
            if not self.due:
                self._body_came()

    def _take_chunks(self, data: bytes) -> int:
        at, parts = 0, []
        while self.phase == "body":
            parts.append(data[at : at + self.due])
            at += len(parts[-1])
            self.due -= len(parts[-1])
            if self.due:
                break
            line = _CHUNK.match(data, at)
            if not line:
                if len(data) - at > CHUNK_LINE_BYTES or not _CHUNK_SO_FAR.fullmatch(data, at):
                    raise Problem("malformed-request", _BAD_CHUNK)
                break
            at, self.due = line.end(), int(line[1], 16)
            if self.due:
                at += 2
                self.chunks += min(self.due // SMALL_CHUNK_BYTES, SMALL_CHUNKS) - 1
                if self.chunks < 0:
                    raise Problem("malformed-request", _SMALL_CHUNKS)
            else:
                self.phase = "trailer"
        if body := b"".join(parts):
            self.received += len(body)
            self._hand_on(body)  # one chunk, without extensions
        return at

    def _take_trailer(self, data: bytes) -> int:
        end = data.find(b"\r\n\r\n") + 4
        _judge_size(data[:end] if end > 3 else data)
        if end < 4:
            return 0
        if not _TRAILER.fullmatch(data, 0, end):
            raise Problem("malformed-request", _BAD_CHUNK)
        self._body_came()
        return end

    def _body_came(self) -> None:
        self.phase = "answer"
        self.transport.write = self.wire.write  # type: ignore[method-assign]
        if self.reframed:
            super().data_received(b"0\r\n\r\n")  # without fields, which uvicorn would put among the head's

    def _write_early(self, data: Any) -> None:
        """Write to a caller whose body has not come. An answer says that the rest won't be read."""
        if not data.startswith(b"HTTP/1.1 100 "):
            self.answered = True
            self.transport.write = self.wire.write  # type: ignore[method-assign]
            if b"\r\nconnection: close\r\n" not in data.lower():
                data = data.replace(b"\r\n", b"\r\nconnection: close\r\n", 1)
        self.wire.write(data)

    def _watch(self) -> None:
        """Cut what makes no progress. Checks are counted, not seconds: one after a time in which the event loop was
        busy says little."""
        self.timer = self.loop.call_later(self.seconds / CHECKS, self._watch)
        unsent = self.wire.get_write_buffer_size()
        if unsent and unsent > self.unsent - FLOOR_BYTES:
            self.stalls += 1
        else:
            self.stalls, self.unsent = 0, unsent or sys.maxsize
        awaited = self.phase in ("body", "trailer") or (self.phase == "head" and (self.rest or not self.head))
        if awaited and self.wire.is_reading() and self.received - self.mark < FLOOR_BYTES:
            self.waits += 1
        else:
            self.waits, self.mark = 0, self.received
        if self.stalls > CHECKS:
            self._cut("stalled-reader")
        elif self.waits > CHECKS and self.phase != "head":
            detail = (
                f"the body did not come: in each {self.seconds} seconds it must bring {FLOOR_BYTES} bytes, or end; "
                "send less at once, or raise TENSORCAST_REQUEST_SECONDS"
            )
            self._refuse(Problem("request-timeout", detail))
        elif self.waits > CHECKS and self.rest:
            self._refuse(Problem("request-timeout", f"the head did not come in {self.seconds} seconds"))
        elif self.waits > CHECKS:
            self._cut("silent")

    def _refuse(self, problem: Problem) -> None:
        """Answer in the application's place, and close. To the application the caller has gone."""
        if self.phase in ("body", "trailer") and self.answered:
            self._cut(problem.code)  # too late for another answer
            return
        self.refused(problem.code)
        logger.debug("refused a request: %s", problem.code)
        head = self.rest if self.phase == "head" else self.head
        self.wire.write(_answer(problem, head, self.server_state.default_headers))
        self.finish(linger=True)
        super().connection_lost(None)

    def _cut(self, reason: str) -> None:
        """Close at once, whatever is unsent."""
        self.refused(reason)
        logger.debug("cut a connection: %s", reason)
        Protocol.waiting.pop(self, None)
        if self.unmade is not None:
            self.give_up()
            return
        if self.wire.get_write_buffer_size():
            # By a reset: else the system keeps up to 4 MiB that nobody reads, for minutes.
            connection = self.wire.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.wire.abort()


def _judge_size(fields: bytes) -> None:
    """Raises Problem (head-too-large) for fields that are too long or too many, as far as they have come."""
    if len(fields) > HEAD_BYTES:
        raise Problem(
            "head-too-large",
            f"the request line and the fields have more than {HEAD_BYTES} bytes: send what is long in the body",
            limit=HEAD_BYTES,
        )
    if fields.count(b"\n") > HEAD_FIELDS + 2:
        raise Problem("head-too-large", f"there are more than {HEAD_FIELDS} fields: send fewer", limit=HEAD_FIELDS)


def _answer(problem: Problem, head: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    """A whole answer, in the encoding that the head asks for, as far as it can be read."""
    fields = [(name.lower(), value.rstrip(b"\t ")) for name, value in _NAMED.findall(head)]
    request = Request({"type": "http", "headers": fields})
    response = response_of(problem, request)
    response.headers["Connection"] = "close"
    response.headers["X-Request-ID"] = request_id_of(fields)
    status = HTTPStatus(response.status_code)
    lines = [b"HTTP/1.1 %d %b" % (status, status.phrase.encode())]
    lines += [name + b": " + value for name, value in [*headers, *response.raw_headers]]
    return b"\r\n".join([*lines, b"", b"" if head.startswith(b"HEAD ") else bytes(response.body)])


def _max_connections() -> int:
    """How many connections may be open: the process may have files for fewer than MAX_CONNECTIONS."""
    files = os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else -1  # -1: no limit, or Windows
    return MAX_CONNECTIONS if files < 0 else min(MAX_CONNECTIONS, int(files * FILES_SHARE))
