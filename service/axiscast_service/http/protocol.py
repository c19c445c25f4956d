"""An HTTP connection, which reads requests and sends the responses in the same order.

A connection waits for its client in three cases: between two requests, while a header block or a short body arrives,
and while the client does not read a response. A waiting connection may be closed to make room for a new connection
(limits.py). The application receives a request when the request is complete. If the body is long or the client expects
100 Continue, the application receives the request as soon as the header block is complete.
"""

from __future__ import annotations

import asyncio

from axiscast.wire.prescan import ReserveMemory
from axiscast.wire.problems import Problem

from .closing import Closing
from .connection import Connection, address
from .flow_control import FlowControl
from .hooks import READ_BYTES
from .kernel_buffers import is_closed
from .limits import ALLOWANCE_BYTES
from .parser import BodyData, Event, RequestHead
from .receiver import Receiver
from .request_cycle import RequestCycle, expects_continue, response_head
from .timeouts import Timeouts
from .upload import MAX_BUFFERED_BODY_BYTES


class HTTPProtocol(Connection):
    """The events of an HTTP/1.1 connection, in the order in which asyncio and the application cause them."""

    cycle: RequestCycle | None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.server = address(transport.get_extra_info("sockname"))
        self.client = address(transport.get_extra_info("peername"))
        self.flow = FlowControl(transport, self.loop, self.parser)
        self.receiver = Receiver(self.parser, self.flow, self.rates, self.hooks.budget)
        self.closing = Closing(self.flow, self.place, self.rates, self.hooks)
        self.server_state.connections.add(self)
        self.timeouts = Timeouts(self)
        self.place.take(self.flow.socket, self.closing.cut)
        if self.place.is_refused:
            self.refuse(Problem("overloaded", "all connections of this worker are in use: try again shortly"))

    def connection_lost(self, exc: Exception | None) -> None:
        has_grown_tls = self.place.has_grown_tls
        self.place.give_back()
        self.server_state.connections.discard(self)
        self.closing.has_begun = True
        self.scheduled = False
        self.timeouts.end()
        del self.timeouts  # otherwise both objects would need a garbage collection
        self.receiver.end_upload()
        self.receiver.release()
        cycle, self.cycle = self.cycle, None
        if cycle is not None:
            cycle.disconnect()
        self.flow.end()
        self.hooks.heap.connection_closed(self.loop, has_grown_tls)

    def shutdown(self) -> None:
        """Respond to requests that have arrived or are in transit, and then close. uvicorn calls this on shutdown."""
        self.shutting_down = True
        self.fast_path = None  # the fast path can't send `Connection: close`
        if self.cycle is not None and not self.cycle.started:
            self.cycle.keep_alive = False
        elif not self.closing.has_begun:
            self.timeouts.close_after_grace()

    def get_buffer(self, sizehint: int) -> memoryview:
        if self.receiver.upload is not None:
            return self.receiver.upload.window
        if self.closing.lingers or self.drops_rest:
            return self.hooks.buffer
        if self.parser.phase == "complete":
            return self.hooks.buffer[:ALLOWANCE_BYTES]
        return self.hooks.buffer[:READ_BYTES] if self.parser.phase == "head" else self.hooks.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self.receiver.upload is not None:
            if self.receiver.uploaded(self.receiver.upload, nbytes) and self.cycle is not None:
                self._finish_body(self.cycle)
        elif self.closing.lingers:
            self.closing.discard(nbytes)
        elif not (self.closing.has_begun or self.drops_rest):
            data = bytes(self.hooks.buffer[:nbytes])
            if self.parser.phase == "head":
                self._receive_head(data)
            elif self.parser.phase == "complete" or self.parser.is_behind:  # this data is parsed later
                self.parser.hold(data)
                self.flow.pause_reading()
            else:
                self._feed(data)

    def eof_received(self) -> bool:
        """Respond to the received requests and then close, because the client has closed its sending side.

        Each request has one iteration of the event loop. A request that takes longer is abandoned, because the client
        may have disconnected completely. Return whether the connection stays open for the responses.
        """
        self.client_half_closed = True
        if self.closing.has_begun:
            return False
        if self.flow.is_encrypted:  # a TLS connection can't be closed on one side only
            if self.scheduled:
                if (response := self.answer_fast()) is None:
                    self.take_normal_path()
                else:
                    self.send_fast(response)
            return False
        if self.parser.is_behind:
            return True
        if self.cycle is not None:
            self.loop.call_soon(self._end, self.cycle)
        return self.scheduled or self.cycle is not None or (self.flow.is_writing_paused and bool(self.parser.rest))

    def _end(self, cycle: RequestCycle | None) -> None:
        """Close the connection, unless the response to this request has been sent in the meantime."""
        if self.cycle is cycle:
            self.flow.transport.close()

    def _receive_head(self, data: bytes) -> None:
        self.parser.hold(data)
        if self.flow.is_writing_paused:
            self.flow.pause_reading()
            self._reserve()
        elif not self.scheduled:
            self._schedule(pipelined=False)
        elif len(self.parser.rest) >= READ_BYTES:
            self.flow.pause_reading()

    def _schedule(self, pipelined: bool) -> None:
        """Add the connection to the queue of the scheduler."""
        self.scheduled = True
        if pipelined:  # between pipelined requests, the connection may be closed to make room
            self.place.wait(self.hooks.connections.unread)
        else:
            self.place.leave()
        self.hooks.turns.enter(self, pipelined)

    def answer_fast(self) -> bytes | None:
        """Return the response of the fast path to the next request, or None (see scheduler.py)."""
        if not self.scheduled or self.closing.has_begun or (found := self._find_fast(self.parser.rest)) is None:
            return None
        self.parser.drop(found[1])
        return found[0]

    def _find_fast(self, data: bytes) -> tuple[bytes, int] | None:
        if self.fast_path is None or self.flow.is_writing_paused:
            return None
        return self.fast_path(data, self.server_state.default_headers, self.client)

    def send_fast(self, response: bytes) -> None:
        """Send the response of `answer_fast` (see scheduler.py)."""
        self.scheduled = False
        self.flow.write(response)
        self._next_request()

    def take_normal_path(self) -> None:
        """Parse the received data for the application (see scheduler.py)."""
        if not self.scheduled:
            return  # the connection has ended, or `eof_received` has responded
        self.scheduled = False
        if self.closing.has_begun:
            return
        if self.flow.is_writing_paused:
            self._wait_for_client()
            return
        self._read_rest()

    def _read_rest(self) -> None:
        """Parse the received data. If the client has closed its sending side, close after the last response."""
        if self.closing.has_begun:
            return
        self._feed(b"")
        if self.cycle is not None and not self.parser.is_behind:
            self.cycle.wake()  # the application may be waiting for the rest of the body
        if self.client_half_closed and not self.closing.has_begun and not self.parser.is_behind:
            self.loop.call_soon(self._end, self.cycle)

    def _feed(self, data: bytes) -> None:
        """Parse unparsed data and then this data, up to the end of the current request."""
        try:
            events = self.parser.feed(data)
        except Problem as problem:
            self.refuse(problem)
            return
        for event in events:
            if self.closing.has_begun:
                return
            self._handle(event, late=bool(data))
        if self.parser.is_behind and not self.closing.has_begun:
            self.flow.pause_reading()
            self.loop.call_soon(self._read_rest)  # after the events of other connections
        if self.awaits_turn():
            self._wait_for_client()
            self.flow.resume_reading()

    def _handle(self, event: Event, late: bool) -> None:
        if isinstance(event, BodyData):
            self.rates.received += len(event.data)
            if self.cycle is not None:
                if self.cycle.feed(event.data) > MAX_BUFFERED_BODY_BYTES:
                    self.flow.pause_reading()
                return
            self.receiver.body += event.data
            if len(self.receiver.body) > MAX_BUFFERED_BODY_BYTES:
                self._start_application(body_complete=False)
        elif isinstance(event, RequestHead):
            self.rates.begin_request()
            if event.is_https and not self.flow.is_encrypted:
                detail = "the target is an https URL, but this connection has no TLS: send only the path"
                self.refuse(Problem("misdirected-request", detail))  # RFC 9110, 7.4 requires this
            elif event.length != 0 and ((event.length or 0) > MAX_BUFFERED_BODY_BYTES or expects_continue(event)):
                self._start_application(body_complete=False)
        elif self.cycle is not None:
            self._finish_body(self.cycle)
        elif not (late and self._answer_completed_fast()):
            self._start_application(body_complete=True)

    def _answer_completed_fast(self) -> bool:
        """Use the fast path for a short request that arrived in parts. Return whether the fast path has responded."""
        found = self._find_fast(self.parser.head.data + self.receiver.body)
        if found is None:
            return False
        self.receiver.release()
        self.parser.next_request()
        self.place.leave()
        self.send_fast(found[0])
        return True

    def _start_application(self, body_complete: bool) -> None:
        """Pass the current request to the application."""
        body = bytes(self.receiver.body)
        self.receiver.release()
        if is_closed(self.flow.socket):
            self.closing.cut("silent")
            return
        self.cycle = RequestCycle(self, self.parser.head, body, body_complete)
        if body_complete:
            self.place.leave()
        else:
            self.place.wait(self.hooks.connections.arriving)
            self.receiver.begin_long_body()
            self._reserve()
            if self.closing.has_begun:
                return  # the request was refused because not enough memory is left
        task = self.loop.create_task(self.cycle.run(self.app))
        self.server_state.tasks.add(task)
        task.add_done_callback(self.server_state.tasks.discard)

    async def receive_into(self, room: memoryview, start: int, reserve: ReserveMemory) -> bool:
        """Receive the rest of a body into a buffer. See ReceiveInto in upload.py."""
        return self.cycle is not None and await self.receiver.receive_into(self.cycle, room, start, reserve)

    def _finish_body(self, cycle: RequestCycle) -> None:
        """Mark the body of the request as complete."""
        self.place.leave()
        if not self.receiver.end_body():
            cycle.keep_alive = False
            self.drops_rest = True
        cycle.body_complete = True
        cycle.wake()

    def _wait_for_client(self) -> None:
        """Wait until the client sends data. A waiting connection may be closed to make room for a new connection."""
        connections = self.hooks.connections
        if self.has_responded and self.parser.phase == "head":
            self.place.wait(connections.unread if self.flow.is_writing_paused else connections.idle)
        else:
            self.place.stay(connections.unserved if self.parser.phase == "head" else connections.arriving)
        self._reserve()
        connections.close_excess()

    def _reserve(self) -> None:
        """Reserve memory for the received data. If no memory is available, refuse the request."""
        try:
            self.receiver.reserve(self.cycle is not None and not self.cycle.body_complete)
        except Problem as problem:
            self.refuse(problem)

    def responded(self, cycle: RequestCycle) -> None:
        """Continue with the next request, or close, after the application has responded."""
        if self.cycle is not cycle:
            return
        self.cycle = None
        if not cycle.keep_alive:
            self._finish(waits_for_body=not cycle.is_awaiting_continue)
            return
        if self.flow.is_encrypted:
            self.place.grow_tls()
        self.parser.next_request()
        self._next_request()

    def _next_request(self) -> None:
        """Continue with the next request, or wait until the client sends a request."""
        self.has_responded = True
        self.server_state.total_requests += 1
        self.rates.begin()
        if self.closing.has_begun:
            return
        if self.shutting_down:
            self.timeouts.close_after_grace()
        if self.parser.rest and not self.flow.is_writing_paused:
            self._schedule(pipelined=True)
            return
        self._wait_for_client()
        if self.parser.rest:
            return
        if self.client_half_closed:
            self.closing.close()
            return
        self.flow.resume_reading()
        self.timeouts.begin_idle()

    def pause_writing(self) -> None:
        self.flow.is_writing_paused = True

    def resume_writing(self) -> None:
        self.flow.resume_writing()
        self.rates.took_most()
        if self.awaits_turn() and self.parser.phase == "head" and self.parser.rest:
            self._schedule(pipelined=True)

    def refuse(self, problem: Problem) -> None:
        """Send a problem response and close the connection. For the application, the client has disconnected."""
        cycle, self.cycle = self.cycle, None
        if cycle is not None:
            cycle.refuse(problem)
            if cycle.has_sent:  # a part of another response was already sent
                self.closing.cut(problem.code)
                return
        self.hooks.refused(problem.code)
        data = self.parser.rest if self.parser.phase == "head" else self.parser.head.data
        request_id = None if cycle is None else cycle.scope["state"].get("request_id")
        status, fields, body = self.hooks.refusal(problem, data, self.client, request_id)
        named = [field for field in fields if field[0].lower() != b"connection"]
        first = self.server_state.default_headers
        body = b"" if data.startswith(b"HEAD ") else body
        self.flow.write(response_head(status, [*first, *named, (b"connection", b"close")]) + body)
        self._finish(waits_for_body=problem.code == "overloaded", lingers=True)

    def _finish(self, waits_for_body: bool, lingers: bool = False) -> None:
        """Close the connection. If the client may still be sending, or `lingers` is true, use a lingering close."""
        if self.closing.has_begun:
            return
        phase, due = self.parser.phase, self.parser.due
        arrives = phase in ("body", "chunks", "trailer")
        lingers = (lingers or arrives or self.drops_rest or bool(self.parser.rest)) and not self.client_half_closed
        self.receiver.end_upload()
        self.receiver.release()
        self.parser.rest, self.parser.is_behind = b"", False
        if lingers:
            self.closing.linger(due if phase == "body" else None, drains=arrives and waits_for_body)
        else:
            self.closing.close()
