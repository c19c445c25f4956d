"""One connection's requests: in their order, each with its time, and their responses.

A connection waits for its client between two requests, while a head or a short body comes, and while a response is not
read; it makes room for new connections then (limits.py). The application has a request once all of it has come, or, if
it is long or asks for 100 Continue, once its head has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from axiscast.wire.problems import Problem

from .arrival import Arrival
from .connection import SWOLLEN_BYTES
from .cycle import Cycle
from .hooks import READ_BYTES
from .limits import ALLOWANCE_BYTES, CONNECTIONS
from .parser import Data, Event, Head
from .rates import FLOOR_BYTES
from .refusals import refusal
from .scope import closes, expects_continue, scope_of
from .upload import EXTENSION, LONG_BYTES

HELD_BYTES = 64 * 2**10
"""The largest body that is received whole before the application gets the request."""
GRACE_SECONDS = 0.1
"""On shutdown a connection waits for so long for a request that is on its way."""
HALF_SECONDS = 2
"""On shutdown the rest of a request has so long to come."""


def _not_encrypted() -> Problem:
    """The problem of a URL of https on a connection without TLS, which RFC 9110, 7.4, forbids to answer."""
    return Problem(
        "misdirected-request",
        "the target is a URL of https, and this connection has no TLS: send the path alone, or connect by TLS",
    )


class HTTPProtocol(Arrival):
    """One connection. uvicorn makes it, by its `http=` setting (runner.py); the lifespan state has its Hooks."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.app = config.loaded_app
        self.fast_path = self.hooks.fast_path
        self.parked = False
        """Whether it waits for its turn."""
        self.ended = False
        """Whether the client has ended its half."""
        self.leaving = False
        """Whether the service is shutting down."""

    def shutdown(self) -> None:
        """Answer what has come, or is on its way, and close. uvicorn calls it when the service ends."""
        self.leaving = True
        self.fast_path = None  # no response without `Connection: close`
        if self.cycle is not None and not self.cycle.started:
            self.cycle.keep_alive = False
        else:
            self._leave_soon()

    def _leave_soon(self) -> None:
        """Leave after GRACE_SECONDS."""
        self.loop.call_later(GRACE_SECONDS, self.after_reading, self._leave)

    def _leave(self) -> None:
        if self.over or self.cycle is not None:
            return  # it is closed with its response
        if self.parked:
            self._leave_soon()  # its turn shows whether the request is whole
        elif self.parser.rest or self.parser.phase != "head":
            self.loop.call_later(HALF_SECONDS, self._leave_late)
        else:
            self.close()

    def _leave_late(self) -> None:
        if not self.over and self.cycle is None and not self.parked:
            self.refuse(Problem("shutting-down", "the service ended before the request had come: send it again"))

    # --- what comes

    def get_buffer(self, sizehint: int) -> memoryview:
        if self.upload is not None:
            return self.upload.window
        if self.closing is not None:
            return self.hooks.buffer
        if self.parser.phase == "complete":
            return self.hooks.buffer[:ALLOWANCE_BYTES]
        return self.hooks.read_buffer if self.parser.phase == "head" else self.hooks.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self.upload is not None:
            self.uploaded(self.upload, nbytes)
        elif self.closing is not None:
            self.throw_away(self.closing, nbytes)
        elif not self.over:
            data = bytes(self.hooks.buffer[:nbytes])
            if self.parser.phase == "head":
                self._arrived(data)
            elif self.parser.phase == "complete" or self.parser.is_behind:  # the rest waits at the client
                self.parser.hold(data)
                self.pause_reading()
            else:
                self._feed(data)

    def eof_received(self) -> bool:
        """The client has ended its half. What came before is answered, each request in a turn of the loop, and then the
        connection is closed. What takes longer is given up: a client that has gone for good ends in the same way.
        Returns whether the connection stays open meanwhile."""
        self.ended = True
        if self.over:
            return False
        if self.is_encrypted():  # which is never half open
            if self.parked:
                response = self.answer_short()
                if response is None:
                    self.take_rest()
                else:
                    self.send_short(response)
            return False
        if self.parser.is_behind:
            return True
        if self.cycle is not None:
            self.loop.call_soon(self._end, self.cycle)
        return self.parked or self.cycle is not None or (self.write_paused and bool(self.parser.rest))

    def _end(self, cycle: Cycle) -> None:
        """Close, unless this request has been answered meanwhile."""
        if self.cycle is cycle:
            self.transport.close()

    def _arrived(self, data: bytes) -> None:
        self.parser.hold(data)
        if self.write_paused:
            self.pause_reading()
            self.account()
        elif self.parked:
            if len(self.parser.rest) >= READ_BYTES:
                self.pause_reading()
        else:
            self._park(pipelined=False)

    def _park(self, pipelined: bool) -> None:
        """Wait for a turn."""
        self.parked = True
        CONNECTIONS.waiting.pop(self, None)
        if pipelined:  # its client has had a response: it makes room for one that has had none
            CONNECTIONS.waiting[self] = None
        self.hooks.turns.enter(self, pipelined)

    def answer_short(self) -> bytes | None:
        """See turns.Waiting."""
        if self.fast_path is None or not self.parked or self.write_paused or self.over:
            return None
        found = self.fast_path.answer(self.parser.rest, self.server_state.default_headers)
        if found is None:
            return None
        self.parser.drop(found[1])
        return found[0]

    def send_short(self, response: bytes) -> None:
        """See turns.Waiting."""
        self.parked = False
        self.transport.write(response)
        self._next_request()

    def take_rest(self) -> None:
        """See turns.Waiting."""
        if not self.parked:
            return  # it was lost, or answered at the end of its TLS
        self.parked = False
        if self.over:
            return
        if self.write_paused:
            self.await_client()
            return
        self._read_rest()

    def _read_rest(self) -> None:
        """Read what has come. If the client has ended its half, close once that is answered."""
        if self.over:
            return
        self._feed(b"")
        if self.cycle is not None and not self.parser.is_behind:
            self.cycle.wake()  # it may wait for more of the body
        if self.ended and not self.over and not self.parser.is_behind:
            if self.cycle is None:
                self.transport.close()
            else:
                self.loop.call_soon(self._end, self.cycle)

    def _feed(self, data: bytes) -> None:
        """Read this, and what has come before, as far as the end of the request."""
        try:
            events = self.parser.feed(data)
        except Problem as problem:
            self.refuse(problem)
            return
        for event in events:
            if self.over:
                return
            self._take(event, late=bool(data))
        if self.parser.is_behind and not self.over:
            self.pause_reading()
            self.loop.call_soon(self._read_rest)  # other connections have their turn before
        if self.cycle is None and not self.over and not self.parked:
            self.await_client()
            self.resume_reading()

    def resume_reading(self) -> None:
        """Read again, unless what has come is still to be parsed."""
        if self.over or not self.parser.is_behind:
            super().resume_reading()

    def _take(self, event: Event, late: bool) -> None:
        if isinstance(event, Data):
            self.rates.received += len(event.data)
            if self.cycle is not None:
                if self.cycle.feed(event.data) > HELD_BYTES:
                    self.pause_reading()
                return
            self.held.append(event.data)
            self.held_bytes += len(event.data)
            if self.held_bytes > HELD_BYTES:
                self._begin(body_complete=False)
        elif isinstance(event, Head):
            self.rates.begin_request()
            self.began = self.loop.time()
            if event.is_https and not self.is_encrypted():
                self.refuse(_not_encrypted())
            elif event.length != 0 and ((event.length or 0) > HELD_BYTES or expects_continue(event)):
                self._begin(body_complete=False)
        elif self.cycle is not None:
            self.body_came(self.cycle)
        elif not (late and self._answered_late()):
            self._begin(body_complete=True)

    def _answered_late(self) -> bool:
        """Answer a request that came in pieces from its bytes, if it is short. Returns whether that was done."""
        head = self.parser.head
        if self.fast_path is None or head is None or self.write_paused:
            return False
        found = self.fast_path.answer(head.data + b"".join(self.held), self.server_state.default_headers)
        if found is None:
            return False
        self.release()
        self.parser.next_request()
        CONNECTIONS.arriving.pop(self, None)
        self.send_short(found[0])
        return True

    def _begin(self, body_complete: bool) -> None:
        """Give the request to the application."""
        head = self.parser.head
        assert head is not None
        body = b"".join(self.held)
        self.release()
        scope = scope_of(head, self.peers, {**self.state, "body_complete": body_complete})
        if not body_complete and (head.length or 0) > LONG_BYTES:
            scope["extensions"] = {EXTENSION: {"receive_into": self.receive_into}}
        is_1_1 = scope["http_version"] == "1.1"
        keep_alive = is_1_1 and not self.leaving and not closes(head)
        expects = is_1_1 and not body_complete and expects_continue(head)
        CONNECTIONS.waiting.pop(self, None)
        if body_complete:
            CONNECTIONS.arriving.pop(self, None)
        else:
            CONNECTIONS.arriving[self] = None
        self.cycle = Cycle(self, scope, body, body_complete, keep_alive, expects)
        if not body_complete:
            self.account()
            if self.over:
                return  # no memory is left for it
        task = self.loop.create_task(self.cycle.run(self.app))
        self.server_state.tasks.add(task)
        task.add_done_callback(self.server_state.tasks.discard)

    # --- after a response

    def first_fields(self) -> Iterable[tuple[bytes, bytes]]:
        """Header fields of every response."""
        fields: Iterable[tuple[bytes, bytes]] = self.server_state.default_headers
        return fields

    def responded(self, cycle: Cycle) -> None:
        """The application has responded."""
        if self.cycle is not cycle:
            return
        self.cycle = None
        if not cycle.keep_alive:
            self._finish(waits_for_body=not cycle.is_awaiting_continue)
            return
        if self.rates.of_request > SWOLLEN_BYTES and self.is_encrypted():
            self.swelled = True
            CONNECTIONS.swelled(self)
        self.parser.next_request()
        self._next_request()

    def _next_request(self) -> None:
        """A request has been answered: go on to what has come, or wait for the client."""
        self.served = True
        self.server_state.total_requests += 1
        self.rates.begin()
        if self.over:
            return
        if self.leaving:
            self._leave_soon()
        if self.parser.rest and not self.write_paused:
            self._park(pipelined=True)
            return
        self.await_client()
        if self.parser.rest:
            return
        if self.ended:
            self.close()
            return
        self.resume_reading()
        self.await_next()

    def cancelled(self) -> None:
        """The application was stopped before it had responded."""
        if self.leaving:
            self.refuse(Problem("shutting-down", "the service ended before the response was made: send it again"))
        else:
            self.refuse(Problem("internal", "the request was stopped before its response was made: send it again"))

    def give_up_response(self) -> None:
        """End a response that is not complete."""
        self.cycle = None
        self.end_upload()
        self.over = True
        self.transport.close()

    def refuse(self, problem: Problem) -> None:
        """Respond in the application's place, and close. To the application the client has gone."""
        cycle, self.cycle = self.cycle, None
        if cycle is not None:
            cycle.disconnect()
            if cycle.has_sent:  # too late for another response
                self.cut(problem.code)
                return
        self.hooks.refused(problem.code)
        self.hooks.problem_sent(problem.code)
        head = self.parser.head
        data = self.parser.rest if head is None or self.parser.phase == "head" else head.data
        self.write(refusal(problem, data, self.first_fields(), self.hooks))
        self._finish(waits_for_body=problem.code in ("overloaded", "shutting-down"), lingers=True)

    def _finish(self, waits_for_body: bool, lingers: bool = False) -> None:
        """Close; if the client may still be sending, or `lingers` is set, not before it can have read the response."""
        if self.over:
            return
        phase, due = self.parser.phase, self.parser.due
        arrives = phase in ("body", "chunks", "trailer")
        lingers = (lingers or arrives or bool(self.parser.rest)) and not self.ended
        self.end_upload()
        self.release()
        self.parser.rest = b""
        if lingers:
            self.close_gently(due if phase == "body" else None, drains=arrives and waits_for_body)
        else:
            self.close()

    def awaits_request(self) -> bool:
        if self.over or self.parked:
            return False
        if self.cycle is not None:
            return not self.cycle.body_complete
        return self.parser.phase != "head" or bool(self.parser.rest) or not self.served

    def is_idle(self) -> bool:
        return self.cycle is None and not self.parked and self.parser.phase == "head" and not self.parser.rest

    def too_slow(self) -> None:
        seconds = self.hooks.request_seconds
        if self.parser.phase != "head":
            detail = (
                f"the body did not come: in each {seconds} seconds it must bring {FLOOR_BYTES} bytes, or end; "
                "send less at once, or raise AXISCAST_REQUEST_SECONDS"
            )
            self.refuse(Problem("request-timeout", detail))
        elif self.parser.rest:
            self.refuse(Problem("request-timeout", f"the head did not come in {seconds} seconds"))
        else:
            self.cut("silent")

    def may_write(self) -> None:
        waits = self.cycle is None and not self.parked and not self.over
        if waits and self.parser.phase == "head" and self.parser.rest:
            self._park(pipelined=True)

    def lost(self) -> None:
        self.parked = False
        self.end_upload()
        self.release()
        cycle, self.cycle = self.cycle, None
        if cycle is not None:
            cycle.disconnect()
