"""The protocol of a connection, which receives requests and sends the responses in the same order.

A connection waits for its client in three cases: between two requests, while a header block or a short body arrives,
and while the client does not read a response. A waiting connection may be closed to make room for a new connection
(limits.py). The application receives a request when the request is complete. If the body is long or the client expects
100 Continue, the application receives the request as soon as the header block is complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from axiscast.wire.problems import Problem

from .connection import GROWN_TLS_BYTES
from .hooks import READ_BYTES
from .kernel_buffers import grow_receive_buffer, is_closed
from .limits import ALLOWANCE_BYTES
from .parser import BodyData, Event, RequestHead
from .rates import FLOOR_BYTES
from .receiving import ReceivingConnection
from .refusals import not_encrypted_problem, refusal_response
from .request_cycle import RequestCycle
from .scope import closes, expects_continue, scope_of
from .upload import EXTENSION, LONG_BYTES

MAX_BUFFERED_BODY_BYTES = 64 * 2**10
"""The maximum size, in bytes, of a body that is received completely before the application receives the request."""
GRACE_SECONDS = 0.1
"""The time, in seconds, for which an idle connection stays open on shutdown, because a request may be in transit."""
PARTIAL_REQUEST_SECONDS = 2
"""The time, in seconds, that a client has on shutdown to send the rest of a partial request."""


class HTTPProtocol(ReceivingConnection):
    """An HTTP/1.1 connection, which uvicorn creates (uvicorn_interface.py). The lifespan state contains the Hooks."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.app = config.loaded_app
        self.fast_path = self.hooks.fast_path
        self.scheduled = False
        """Whether the connection is in the queue of the scheduler."""
        self.client_half_closed = False
        """Whether the client has closed its sending side of the connection."""
        self.shutting_down = False
        """Whether the service is shutting down."""

    def shutdown(self) -> None:
        """Respond to requests that have arrived or are in transit, and then close. uvicorn calls this on shutdown."""
        self.shutting_down = True
        self.fast_path = None  # the fast path can't send `Connection: close`
        if self.cycle is not None and not self.cycle.started:
            self.cycle.keep_alive = False
        else:
            self._schedule_shutdown_close()

    def _schedule_shutdown_close(self) -> None:
        """Close the connection after GRACE_SECONDS if no request arrives."""
        self.loop.call_later(GRACE_SECONDS, self.after_reading, self._close_for_shutdown)

    def _close_for_shutdown(self) -> None:
        if self.finished or self.cycle is not None:
            return  # the connection is closed after the response
        if self.scheduled:
            self._schedule_shutdown_close()  # the scheduler finds out whether the request is complete
        elif self.parser.rest or self.parser.phase != "head":
            self.loop.call_later(PARTIAL_REQUEST_SECONDS, self._refuse_late_request)
        else:
            self.close()

    def _refuse_late_request(self) -> None:
        if not self.finished and self.cycle is None and not self.scheduled:
            self.refuse(
                Problem("shutting-down", "the service shut down before the request was complete: send it again")
            )

    # --- receiving

    def get_buffer(self, sizehint: int) -> memoryview:
        if self.upload is not None:
            return self.upload.window
        if self.closing is not None or self.drops_rest:
            return self.hooks.buffer
        if self.parser.phase == "complete":
            return self.hooks.buffer[:ALLOWANCE_BYTES]
        return self.hooks.read_buffer if self.parser.phase == "head" else self.hooks.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self.upload is not None:
            self.uploaded(self.upload, nbytes)
        elif self.closing is not None:
            self.discard(self.closing, nbytes)
        elif not (self.finished or self.drops_rest):
            data = bytes(self.hooks.buffer[:nbytes])
            if self.parser.phase == "head":
                self._receive_head(data)
            elif self.parser.phase == "complete" or self.parser.is_behind:  # this data is parsed later
                self.parser.hold(data)
                self.pause_reading()
            else:
                self._feed(data)

    def eof_received(self) -> bool:
        """Respond to the received requests and then close, because the client has closed its sending side.

        Each request has one iteration of the event loop. A request that takes longer is abandoned, because the client
        may have disconnected completely. Return whether the connection stays open for the responses.
        """
        self.client_half_closed = True
        if self.finished:
            return False
        if self.is_encrypted():  # a TLS connection can't be closed on one side only
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
        return self.scheduled or self.cycle is not None or (self.write_paused and bool(self.parser.rest))

    def _end(self, cycle: RequestCycle) -> None:
        """Close the connection, unless the response to this request has been sent in the meantime."""
        if self.cycle is cycle:
            self.transport.close()

    def _receive_head(self, data: bytes) -> None:
        self.parser.hold(data)
        if self.write_paused:
            self.pause_reading()
            self.update_reservation()
        elif not self.scheduled:
            self._schedule(pipelined=False)
        elif len(self.parser.rest) >= READ_BYTES:
            self.pause_reading()

    def _schedule(self, pipelined: bool) -> None:
        """Add the connection to the queue of the scheduler."""
        self.scheduled = True
        if pipelined:  # between pipelined requests, the connection may be closed to make room
            self.connections.enter(self, self.connections.unread)
        else:
            self.connections.leave(self)
        self.hooks.turns.enter(self, pipelined)

    def answer_fast(self) -> bytes | None:
        """Return the response of the fast path to the next request, or None (see ScheduledConnection)."""
        if self.fast_path is None or not self.scheduled or self.write_paused or self.finished:
            return None
        found = self.fast_path.answer(self.parser.rest, self.server_state.default_headers, self.peers.client)
        if found is None:
            return None
        self.parser.drop(found[1])
        return found[0]

    def send_fast(self, response: bytes) -> None:
        """Send the response of `answer_fast` (see ScheduledConnection)."""
        self.scheduled = False
        self.transport.write(response)
        self._next_request()

    def take_normal_path(self) -> None:
        """Parse the received data for the application (see ScheduledConnection)."""
        if not self.scheduled:
            return  # the connection has ended, or `eof_received` has responded
        self.scheduled = False
        if self.finished:
            return
        if self.write_paused:
            self.wait_for_client()
            return
        self._read_rest()

    def _read_rest(self) -> None:
        """Parse the received data. If the client has closed its sending side, close after the last response."""
        if self.finished:
            return
        self._feed(b"")
        if self.cycle is not None and not self.parser.is_behind:
            self.cycle.wake()  # the application may be waiting for the rest of the body
        if self.client_half_closed and not self.finished and not self.parser.is_behind:
            if self.cycle is None:
                self.transport.close()
            else:
                self.loop.call_soon(self._end, self.cycle)

    def _feed(self, data: bytes) -> None:
        """Parse unparsed data and then this data, up to the end of the current request."""
        try:
            events = self.parser.feed(data)
        except Problem as problem:
            self.refuse(problem)
            return
        for event in events:
            if self.finished:
                return
            self._handle(event, late=bool(data))
        if self.parser.is_behind and not self.finished:
            self.pause_reading()
            self.loop.call_soon(self._read_rest)  # after the events of other connections
        if self.cycle is None and not self.finished and not self.scheduled:
            self.wait_for_client()
            self.resume_reading()

    def resume_reading(self) -> None:
        """Resume reading, unless data that has already arrived must be parsed first."""
        if self.finished or not self.parser.is_behind:
            super().resume_reading()

    def _handle(self, event: Event, late: bool) -> None:
        if isinstance(event, BodyData):
            self.rates.received += len(event.data)
            if self.cycle is not None:
                if self.cycle.feed(event.data) > MAX_BUFFERED_BODY_BYTES:
                    self.pause_reading()
                return
            self.held.append(event.data)
            self.held_bytes += len(event.data)
            if self.held_bytes > MAX_BUFFERED_BODY_BYTES:
                self._start_application(body_complete=False)
        elif isinstance(event, RequestHead):
            self.rates.begin_request()
            self.request_start = self.loop.time()
            if event.is_https and not self.is_encrypted():
                self.refuse(not_encrypted_problem())
            elif event.length != 0 and ((event.length or 0) > MAX_BUFFERED_BODY_BYTES or expects_continue(event)):
                self._start_application(body_complete=False)
        elif self.cycle is not None:
            self.finish_body(self.cycle)
        elif not (late and self._answer_completed_fast()):
            self._start_application(body_complete=True)

    def _answer_completed_fast(self) -> bool:
        """Use the fast path for a short request that arrived in parts. Return whether the fast path has responded."""
        head = self.parser.head
        if self.fast_path is None or head is None or self.write_paused:
            return False
        data = head.data + b"".join(self.held)
        found = self.fast_path.answer(data, self.server_state.default_headers, self.peers.client)
        if found is None:
            return False
        self.release_body()
        self.parser.next_request()
        self.connections.leave(self)
        self.send_fast(found[0])
        return True

    def _start_application(self, body_complete: bool) -> None:
        """Pass the current request to the application."""
        head = self.parser.head
        assert head is not None
        body = b"".join(self.held)
        self.release_body()
        connection = self.transport.get_extra_info("socket")
        if is_closed(connection):
            self.cut("silent")
            return
        caller = {
            "connection": self.usage,
            "is_gone": partial(is_closed, connection),
            "is_pipelining": lambda: bool(self.parser.rest),
        }
        state = {"taken": self.taken, "cut": self.cut, "caller": caller, "body_complete": body_complete}
        scope = scope_of(head, self.peers, {**self.state, **state})
        if not body_complete and (head.length or 0) > LONG_BYTES:
            scope["extensions"] = {EXTENSION: {"receive_into": self.receive_into}}
        is_1_1 = scope["http_version"] == "1.1"
        keep_alive = is_1_1 and not self.shutting_down and not closes(head)
        expects = is_1_1 and not body_complete and expects_continue(head)
        if body_complete:
            self.connections.leave(self)
        else:
            self.connections.enter(self, self.connections.arriving)
            if head.length is None or head.length > LONG_BYTES:
                self.has_grown_window = True
                grow_receive_buffer(connection)
        self.cycle = RequestCycle(self, scope, body, body_complete, keep_alive, expects)
        if not body_complete:
            self.update_reservation()
            if self.finished:
                return  # the request was refused because not enough memory is left
        task = self.loop.create_task(self.cycle.run(self.app))
        self.server_state.tasks.add(task)
        task.add_done_callback(self.server_state.tasks.discard)

    # --- responding

    def default_fields(self) -> Iterable[tuple[bytes, bytes]]:
        """Return the header fields that every response has."""
        fields: Iterable[tuple[bytes, bytes]] = self.server_state.default_headers
        return fields

    def responded(self, cycle: RequestCycle) -> None:
        """Continue with the next request, or close, after the application has responded."""
        if self.cycle is not cycle:
            return
        self.cycle = None
        if not cycle.keep_alive:
            self._finish(waits_for_body=not cycle.is_awaiting_continue)
            return
        if self.rates.of_request > GROWN_TLS_BYTES and self.is_encrypted():
            self.has_grown_tls = True
            self.connections.tls_buffers_grew(self)
        self.parser.next_request()
        self._next_request()

    def _next_request(self) -> None:
        """Continue with the next request, or wait until the client sends a request."""
        self.has_responded = True
        self.server_state.total_requests += 1
        self.rates.begin()
        if self.finished:
            return
        if self.shutting_down:
            self._schedule_shutdown_close()
        if self.parser.rest and not self.write_paused:
            self._schedule(pipelined=True)
            return
        self.wait_for_client()
        if self.parser.rest:
            return
        if self.client_half_closed:
            self.close()
            return
        self.resume_reading()
        self.start_idle_timer()

    def cancelled(self) -> None:
        """Send a problem response after the application was cancelled."""
        if self.shutting_down:
            self.refuse(
                Problem("shutting-down", "the service shut down before the response was complete: send it again")
            )
        else:
            self.refuse(
                Problem("internal", "the request was cancelled before its response was complete: send it again")
            )

    def abandon_response(self) -> None:
        """Close the connection even though its response is incomplete."""
        self.cycle = None
        self.end_upload()
        self.finished = True
        self.transport.close()

    def refuse(self, problem: Problem) -> None:
        """Send a problem response and close the connection. For the application, the client has disconnected."""
        cycle, self.cycle = self.cycle, None
        if cycle is not None:
            cycle.refuse(problem)
            if cycle.has_sent:  # a part of another response was already sent
                self.cut(problem.code)
                return
        self.hooks.refused(problem.code)
        self.hooks.problem_sent(problem.code)
        head = self.parser.head
        data = self.parser.rest if head is None or self.parser.phase == "head" else head.data
        request_id = None if cycle is None else cycle.scope["state"].get("request_id")
        self.write(refusal_response(problem, data, self.default_fields(), self.hooks, self.peers.client, request_id))
        self._finish(waits_for_body=problem.code == "overloaded", lingers=True)

    def _finish(self, waits_for_body: bool, lingers: bool = False) -> None:
        """Close the connection. If the client may still be sending, or `lingers` is true, use a lingering close."""
        if self.finished:
            return
        phase, due = self.parser.phase, self.parser.due
        arrives = phase in ("body", "chunks", "trailer")
        lingers = (lingers or arrives or self.drops_rest or bool(self.parser.rest)) and not self.client_half_closed
        self.end_upload()
        self.release_body()
        self.parser.rest = b""
        if lingers:
            self.close_gently(due if phase == "body" else None, drains=arrives and waits_for_body)
        else:
            self.close()

    def awaits_request(self) -> bool:
        if self.finished or self.scheduled:
            return False
        if self.cycle is not None:
            return not self.cycle.body_complete
        return self.parser.phase != "head" or bool(self.parser.rest) or not self.has_responded

    def is_idle(self) -> bool:
        return self.cycle is None and not self.scheduled and self.parser.phase == "head" and not self.parser.rest

    def time_out_request(self) -> None:
        seconds = self.hooks.request_seconds
        if self.parser.phase != "head":
            detail = (
                f"the body arrives too slowly: it must end, or {FLOOR_BYTES} bytes of it must arrive, in every "
                f"{seconds} seconds; send a smaller body, or raise AXISCAST_REQUEST_SECONDS"
            )
            self.refuse(Problem("request-timeout", detail))
        elif self.parser.rest:
            self.refuse(Problem("request-timeout", f"the header block was not complete within {seconds} seconds"))
        else:
            self.cut("silent")

    def on_writable(self) -> None:
        waits = self.cycle is None and not self.scheduled and not self.finished
        if waits and self.parser.phase == "head" and self.parser.rest:
            self._schedule(pipelined=True)

    def on_lost(self) -> None:
        self.scheduled = False
        self.end_upload()
        self.release_body()
        cycle, self.cycle = self.cycle, None
        if cycle is not None:
            cycle.disconnect()
