"""The gate: what every request passes before uvicorn sees it, which bounds what a caller sends and how long it keeps
one waiting.

Framing: a request is a head, which ends at the first empty line, and a body, whose end the head announces: by a number
of bytes, or as chunks, each with its own (RFC 9112, 6). Where two parsers behind each other find different ends, what
is the body to one is the next request to the other. So the gate hands on one request at a time, a head that is whole
and holds to the grammar (grammar.py), and a body framed anew: the parser behind it, httptools or h11, sees nothing that
another would read in another way, and never a head in pieces. It reads what it must to know where a request ends, and
leaves it to that parser to take the head apart. What a connection waits for is its phase; TRANSITIONS has them all.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, cast

from starlette.requests import Request

from tensorcast.answers.cost import SHORT_BYTES
from tensorcast.schema.problems import Problem

from .budget import FREE_BYTES, give_back_free_pages
from .connections import CONNECTIONS
from .envelope import request_id_of
from .grammar import (
    CHUNK,
    announced_in_chunks,
    fields_of,
    is_http_1_1,
    judge_chunk_line,
    malformed,
    read_head,
    read_trailer,
)
from .intake import EXTENSION, LONG_BYTES, Intake, Reserve
from .logs import makes_spans
from .pace import CHECKS, FLOOR_BYTES, Pace
from .problems import response_of

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as Uvicorn

    from .straight import Straight
else:
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Uvicorn
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as Uvicorn

SMALL_CHUNKS, SMALL_CHUNK_BYTES = 4096, 64
"""A body may come in so many chunks of any size, and in more where all of them together have so many bytes on average.
Each chunk takes a step of Python while all other connections wait, whatever is in it."""
LINGER_SECONDS = 2
"""A connection that is closed while its caller still sends stays half open for so long. If it were closed at once, the
system would answer what still comes by a reset, and a reset makes the caller's system throw the answer away."""
LINGER_BYTES = 2**20
"""Bytes that are read and thrown away meanwhile: the rest of a body that is a little too long. More is left unread."""
SWOLLEN_BYTES = 64 * 2**10
"""The buffers of an encrypted connection on which longer bodies came have grown."""
_ANSWERED = b"-"
"""Stands for the head of a request that was answered straight."""
_SMALL_CHUNKS = (
    f"the body comes in more than {SMALL_CHUNKS} chunks of less than {SMALL_CHUNK_BYTES} bytes on average: send larger "
    "ones, or all of it with a Content-Length"
)
logger = logging.getLogger("tensorcast")

Phase = Literal["head", "body", "chunks", "trailer", "intake", "answer", "over"]
"""What a connection waits for. No Enum: its members cost a microsecond a request."""

TRANSITIONS: dict[Phase, dict[str, Phase]] = {
    # The request line and its fields. A short request may be answered at once (straight.py): then it stays.
    "head": {"a whole request": "answer", "a length": "body", "chunks": "chunks"},
    # The rest of a body of known length.
    "body": {"the end": "answer", "the application takes it": "intake"},
    # The same, received by the application into memory of its own (intake.py).
    "intake": {"the end": "answer", "the application leaves it": "body"},
    # The rest of a body in chunks.
    "chunks": {"the last chunk": "trailer"},
    # The fields after the last chunk.
    "trailer": {"the end": "answer"},
    # The application's answer to a request that has come. What comes meanwhile waits.
    "answer": {"answered": "head"},
    # Nothing: the connection is closed, or about to be. From each phase: an answer before the request has come, a
    # refusal, a caller that has gone.
    "over": {},
}
"""What happens in each phase, and which one follows."""
ARRIVING = ("body", "chunks", "trailer", "intake")
"""The phases in which a body has begun to come and has not ended."""

UVICORN = (
    # overridden
    *("connection_made", "connection_lost", "data_received", "eof_received", "resume_writing", "send_400_response"),
    *("on_response_complete", "shutdown", "timeout_keep_alive_handler"),
    # read, written or called
    *("app_state", "cycle", "flow", "loop", "scope", "server_state", "transport"),
    *("timeout_keep_alive", "timeout_keep_alive_task", "_unset_keepalive_if_required"),
)
"""All of uvicorn's protocols that the gate touches, beside `body` and `message_event` of a cycle, `write_paused` and
`resume_reading` of a flow, and `default_headers` and `total_requests` of a server_state. pyproject.toml bounds uvicorn
above, since none of it is public; a new release is admitted once the suite has passed on it."""


class Outlet(asyncio.Transport):
    """The transport as uvicorn sees it, which leaves it to the gate how to close."""

    def __init__(self, wire: asyncio.Transport, gate: Gate) -> None:
        self.gate = gate
        self.close = gate.finish  # type: ignore[method-assign]
        self.write = wire.write  # type: ignore[method-assign]
        self.get_extra_info = wire.get_extra_info  # type: ignore[method-assign]
        self.pause_reading = wire.pause_reading  # type: ignore[method-assign]
        self.resume_reading = wire.resume_reading  # type: ignore[method-assign]

    def is_closing(self) -> bool:
        # Once the connection is lost there is no gate, and uvicorn asks of a caller that waits for 100 Continue.
        return "gate" not in vars(self) or self.gate.phase == "over" or self.gate.wire.is_closing()

    async def receive_into(self, room: memoryview, start: int, reserve: Reserve) -> bool:
        """See ReceiveInto."""
        return await self.gate.receive_into(room, start, reserve)


class Gate(Uvicorn):
    """One connection. The application's lifespan state holds `request_seconds`, `refused`, which is told what
    a connection was refused or cut for: a problem code, `stalled-reader`, `silent` or `no-room`, `problem_sent`,
    which is called with the code of each problem document that the gate sends, and `straight`, which answers some
    requests at once."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.seconds: float = app_state["request_seconds"]
        self.refused: Callable[[str], None] = app_state["refused"]
        self.problem_sent: Callable[[str], None] = app_state["problem_sent"]
        self.phase: Phase = "head"
        self.straight: Straight | None = None if makes_spans() else app_state.get("straight")
        self.head = b""
        """The head of the request in work."""
        self.idle_since = 0.0
        """When the last request was answered straight, by the event loop's clock: no timer is begun anew for each."""
        self.rest = b""
        """What has come and is not whole, or belongs to the next request."""
        self.small_chunks = 0
        """How many more chunks of the body in work may be small."""
        self.reframed = False
        """Whether uvicorn is given it in chunks: also a long one, of which uvicorn sees the beginning alone."""
        self.intake: Intake | None = None
        self.due = 0
        """Bytes of the body, or of the chunk, that have not come."""
        self.answered = False
        """Whether an answer has begun before the body had come."""
        self.pace = Pace()
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
            CONNECTIONS.waiting[self] = None  # crowded or not: a handshake that never ends must make room

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.wire, self.unmade = transport, None
        encrypted = transport.get_extra_info("sslcontext") is not None
        # Where so much is unsent, no other answer is begun. By default of TLS 512 KiB may be, else 64.
        transport.set_write_buffer_limits(FREE_BYTES if encrypted else FREE_BYTES // 4)
        connection = transport.get_extra_info("socket")
        if hasattr(socket, "TCP_NOTSENT_LOWAT") and connection is not None and connection.family != socket.AF_UNIX:
            # Else the system takes up to 4 MiB for a reader that takes nothing, and a container's limit counts them.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, FREE_BYTES)
        # Whether this connection copies what can't be sent at once, and does not keep it where it lies.
        copies = encrypted or not type(transport).__module__.startswith("uvloop")
        self.app_state = {**self.app_state, "copies": copies}
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
        CONNECTIONS.total -= 1
        if self in CONNECTIONS.waiting:  # else it was cut
            CONNECTIONS.waiting.pop(self)
            self.refused("handshake")

    def give_up(self) -> None:
        """End a connection that is not made yet."""
        if self.unmade is not None:
            with suppress(OSError):  # it has ended already
                self.unmade.shutdown(socket.SHUT_RDWR)

    def _count(self) -> None:
        self.counted = True
        self.crowded = not CONNECTIONS.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        CONNECTIONS.total -= 1
        self.timer.cancel()
        self.end_intake()
        self.phase, self.rest = "over", b""
        super().connection_lost(exc)
        CONNECTIONS.waiting.pop(self, None)
        if self.swelled:
            CONNECTIONS.swollen.pop(self, None)
            self.loop.run_in_executor(None, give_back_free_pages)  # what TLS had lies between what others have
        self._unset_keepalive_if_required()  # uvicorn leaves it where the caller resets
        vars(self.transport).clear()  # else both, and what they hold, wait for the collector of cycles

    def data_received(self, data: bytes) -> None:
        if self.rest:
            data = self.rest + data
        elif len(data) <= SHORT_BYTES and self.phase == "head" and self.straight is not None:
            self.rest = data
            CONNECTIONS.waiting.pop(self, None)
            self.straight.answer_in_turn(self)
            return
        self._take_all(data)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The caller has ended its half. What came before is answered, one request in a turn of the loop, and then the
        connection is closed. What takes longer is given up: a caller who has gone for good ends in the same way.
        Returns whether the connection stays open meanwhile."""
        answer = self.answer_short()
        if answer is None:
            self.take_rest()
        else:
            self.send_short(answer)
        if self.phase != "answer" or self.wire.get_extra_info("sslcontext") is not None:  # TLS is never half open
            return False
        self.loop.call_soon(self._end, self.cycle)
        return True

    def _end(self, cycle: object) -> None:
        """Close, unless the request of this cycle was answered in the turn that has passed: then go on to the next."""
        if (self.phase == "answer" and self.cycle is cycle) or not self.eof_received():
            self.wire.close()

    def shutdown(self) -> None:
        if self.phase == "head":
            self.take_rest()  # what has come is answered before the end
        super().shutdown()

    def answer_short(self) -> bytes | None:
        """The answer to what has come, if that is one short request that is answered straight; else None."""
        if self.straight is None or self.phase != "head" or not self.rest or self.flow.write_paused:
            return None
        answer = self.straight.answer(self.rest, self.server_state.default_headers)
        if answer is not None:
            self.rest = b""
        return answer

    def send_short(self, answer: bytes) -> None:
        """Send what `answer_short` has made."""
        self.wire.write(answer)
        self.head = _ANSWERED
        self.pace.begin()
        CONNECTIONS.waiting[self] = None
        self.server_state.total_requests += 1
        self.idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:  # else it will look how long the connection has been idle
            self._await_next(self.timeout_keep_alive)

    def take_rest(self) -> None:
        """What has come takes the ordinary way, as far as it can."""
        self._take_all(self.rest)
        if self.phase == "head":
            CONNECTIONS.waiting[self] = None

    def _take_all(self, data: bytes) -> None:
        try:
            while data and (used := self._take(data)):
                data = data[used:]
            self.rest = data
        except Problem as problem:
            self.rest = data
            self._refuse(problem)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.pace.took_most()

    def send_400_response(self, msg: str) -> None:
        self._refuse(malformed())  # the parser knows more of HTTP than the gate

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.phase != "answer":
            self.finish()
            return
        self.phase, self.pace.waits = TRANSITIONS[self.phase]["answered"], 0
        CONNECTIONS.waiting[self] = None
        if self.pace.received > SWOLLEN_BYTES and self.wire.get_extra_info("sslcontext") is not None:
            self.swelled = True
            CONNECTIONS.swelled(self)
        if self.rest and not self.wire.is_closing():  # else the parser stays at the request that was answered
            rest, self.rest = self.rest, b""
            self.wire.resume_reading()
            self.data_received(rest)

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        left = self.idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._await_next(left)
        elif not self.rest:  # else a head has begun to come
            super().timeout_keep_alive_handler()

    def finish(self, linger: bool = False) -> None:
        """Close; where the caller may still be sending, or `linger` is set, not before it can have read the answer."""
        if self.phase == "over":
            return
        linger = linger or bool(self.rest) or self.phase in ARRIVING
        self.end_intake()
        self.phase, self.rest, self.pace.received = "over", b"", 0
        if not linger or self.wire.is_closing():
            if not self.wire.get_write_buffer_size():
                CONNECTIONS.waiting[self] = None  # TLS waits for the caller's goodbye
            self.wire.close()
            return
        CONNECTIONS.waiting[self] = None
        self.loop.call_later(LINGER_SECONDS, self.wire.close)
        self.wire.resume_reading()
        if self.wire.can_write_eof():
            with suppress(OSError):  # the caller has reset it
                self.wire.write_eof()

    def _take(self, data: bytes) -> int:
        """How many bytes of `data` were used up; 0 where more must come first."""
        match self.phase:
            case "head":
                return self._take_head(data)
            case "body":
                return self._take_body(data)
            case "chunks":
                return self._take_chunks(data)
            case "trailer":
                return self._take_trailer(data)
            case "answer" | "intake":
                self.wire.pause_reading()  # the next request waits here, and what follows it at the caller
                return 0
            case "over":
                self.pace.received += len(data)
                if self.pace.received > LINGER_BYTES:
                    self.wire.pause_reading()
                return len(data)

    def _await_next(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _take_head(self, data: bytes) -> int:
        found = read_head(data)
        if found is None:
            return 0
        head, end, length = found
        self.due = length or 0
        body = data[end : end + self.due]
        self.head = head
        self.pace.begin()
        CONNECTIONS.waiting.pop(self, None)
        self.reframed = length is None
        if length == len(body):
            self.phase = TRANSITIONS[self.phase]["a whole request"]
        else:
            self.phase = TRANSITIONS[self.phase]["chunks" if length is None else "a length"]
            self.answered, self.small_chunks = False, SMALL_CHUNKS
            self.transport.write = self._write_early  # type: ignore[method-assign]
            if self.due > LONG_BYTES and is_http_1_1(head):
                self.reframed = True
                self._announce_long(head)
                return end
        self.body_received(len(body))
        super().data_received(head + body)
        return end - 2 if length is None else end + len(body)  # the line of a chunk has a line break before it

    def _announce_long(self, head: bytes) -> None:
        """Give uvicorn the head of a long body, and the application the means to receive it."""
        super().data_received(announced_in_chunks(head))
        if self.phase != "body":  # the parser refused it
            return
        fields = cast(list[tuple[bytes, bytes]], self.scope["headers"])  # nobody has seen them yet
        fields[[name for name, _ in fields].index(b"transfer-encoding")] = (b"content-length", b"%d" % self.due)
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
        self.pace.received += nbytes

    async def receive_into(self, room: memoryview, start: int, reserve: Reserve) -> bool:
        """See ReceiveInto."""
        held, self.cycle.body = self.cycle.body, bytearray()  # what uvicorn has of it
        self.cycle.message_event.clear()
        reserve(len(held))
        room[start : start + len(held)] = held
        if self.phase != "body":
            return self.phase == "answer"
        self.phase = TRANSITIONS[self.phase]["the application takes it"]
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
            if self.due:
                self.phase = TRANSITIONS[self.phase]["the application leaves it"]
            else:
                self._body_came()

    def _take_chunks(self, data: bytes) -> int:
        at, parts = 0, []
        while self.phase == "chunks":
            parts.append(data[at : at + self.due])
            at += len(parts[-1])
            self.due -= len(parts[-1])
            if self.due:
                break
            line = CHUNK.match(data, at)
            if not line:
                judge_chunk_line(data, at)
                break
            at, self.due = line.end(), int(line[1], 16)
            if self.due:
                at += 2
                self.small_chunks += min(self.due // SMALL_CHUNK_BYTES, SMALL_CHUNKS) - 1
                if self.small_chunks < 0:
                    raise malformed(_SMALL_CHUNKS)
            else:
                self.phase = TRANSITIONS[self.phase]["the last chunk"]
        if body := b"".join(parts):
            self.pace.received += len(body)
            self._hand_on(body)  # one chunk, without extensions
        return at

    def _take_trailer(self, data: bytes) -> int:
        end = read_trailer(data)
        if end:
            self._body_came()
        return end

    def _body_came(self) -> None:
        self.phase = TRANSITIONS[self.phase]["the end"]
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
        """Cut what makes no progress."""
        self.timer = self.loop.call_later(self.seconds / CHECKS, self._watch)
        awaited = self.phase in ARRIVING or (self.phase == "head" and bool(self.rest or not self.head))
        self.pace.check(self.wire.get_write_buffer_size(), awaited and self.wire.is_reading())
        if self.pace.stalls > CHECKS:
            self.cut("stalled-reader")
        elif self.pace.waits <= CHECKS:
            return
        elif self.phase != "head":
            detail = (
                f"the body did not come: in each {self.seconds} seconds it must bring {FLOOR_BYTES} bytes, or end; "
                "send less at once, or raise TENSORCAST_REQUEST_SECONDS"
            )
            self._refuse(Problem("request-timeout", detail))
        elif self.rest:
            self._refuse(Problem("request-timeout", f"the head did not come in {self.seconds} seconds"))
        else:
            self.cut("silent")

    def _refuse(self, problem: Problem) -> None:
        """Answer in the application's place, and close. To the application the caller has gone."""
        if self.phase in ARRIVING and self.answered:
            self.cut(problem.code)  # too late for another answer
            return
        self.refused(problem.code)
        self.problem_sent(problem.code)
        logger.debug("refused a request: %s", problem.code)
        head = self.rest if self.phase == "head" else self.head
        self.wire.write(_answer(problem, head, self.server_state.default_headers))
        self.finish(linger=True)
        super().connection_lost(None)

    def cut(self, reason: str) -> None:
        """Close at once, whatever is unsent."""
        self.refused(reason)
        logger.debug("cut a connection: %s", reason)
        CONNECTIONS.waiting.pop(self, None)
        if self.unmade is not None:
            self.give_up()
            return
        if self.wire.get_write_buffer_size():
            # By a reset: else the system keeps up to 4 MiB that nobody reads, for minutes.
            connection = self.wire.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.wire.abort()


def _answer(problem: Problem, head: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    """A whole answer, in the encoding that the head asks for, as far as it can be read."""
    fields = fields_of(head)
    request = Request({"type": "http", "headers": fields})
    response = response_of(problem, request)
    response.headers["Connection"] = "close"
    response.headers["X-Request-ID"] = request_id_of(fields)
    status = HTTPStatus(response.status_code)
    lines = [b"HTTP/1.1 %d %b" % (status, status.phrase.encode())]
    lines += [name + b": " + value for name, value in [*headers, *response.raw_headers]]
    return b"\r\n".join([*lines, b"", b"" if head.startswith(b"HEAD ") else bytes(response.body)])
