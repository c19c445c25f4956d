"""The straight way: a short check, broadcast or backprop that came whole is answered from its bytes, at once.

The ordinary way to an answer leads through uvicorn's parser, ASGI's events, every middleware and the router, and costs
three times what a check does. So the gate (gate.py) asks here first. An answer from here is the same to the byte,
and counts, and stands in the log, as one that took the ordinary way; tests/test_dispatch.py holds both side by side.
Whatever is not plain takes the ordinary way, from its first byte: a field of the head that asks for more than an
answer, a refusal of any kind, work that is too long for the event loop. So what an answer takes here is small, one is
made at a time, and few of them stand before they are sent: nothing is reserved for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache, partial
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from tensorcast.schema.codec import MEDIA_NAMES

from .auth import Keys
from .budget import FREE_BYTES
from .caching import kept_headers, tag_of
from .check import answer_to_query
from .drain import Drain
from .envelope import request_id_in
from .grammar import read_plain
from .hosts import is_among
from .logs import trace_id_in
from .negotiation import TEXT
from .watch import Log, facts_of

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from .metrics import Metrics


class Caller(Protocol):
    """One connection, as gate.py has it."""

    loop: AbstractEventLoop

    def answer_short(self) -> bytes | None:
        """The answer to what has come, if that is one short request that is answered straight; else None."""

    def send_short(self, answer: bytes) -> None:
        """Send what `answer_short` has made."""

    def take_rest(self) -> None:
        """What has come takes the ordinary way."""


ROUTE = "/v1/check"
"""That of a question in a URL."""
AT_ONCE = 64
"""Answers that are made before the first is sent, 4 MiB at the most. Other connections have their turn then."""
ToBody = Callable[[bytes, str, str], tuple[bytes, str, *tuple[str, ...]] | None]
"""The answer to a POST, by its body, Content-Type and Accept: the bytes, their media type, and of a broadcast the
layout; None where it is long, or takes longer than the event loop may be held. May raise Problem."""
_CONTENT_TYPES = {name: name.encode() for name in MEDIA_NAMES} | {TEXT: b"text/plain; charset=utf-8"}


def _own_fields(keyed: bool) -> bytes:
    """The fields of an answer to a question in a URL, up to its tag; `keyed` where the request bore a key."""
    fields = [f"{name.lower()}: {value}\r\n" for name, value in kept_headers(keyed).items()]
    return ("".join(fields) + "etag: ").encode()


_OWN_FIELDS = {keyed: _own_fields(keyed) for keyed in (False, True)}


class Straight:
    """What the layers of one application look at, asked in their order."""

    def __init__(
        self,
        drain: Drain,
        metrics: Metrics | None,
        log: Log | None,
        names: Collection[str],
        keys: Keys | None,
        in_work: Counter[bool],
        limit: int,
        to_bodies: Mapping[str, ToBody],
    ) -> None:
        self.drain = drain
        self.metrics = metrics
        self.log = log
        self.names = names
        self.keys = keys
        self.in_work = in_work
        self.limit = limit
        self.to_bodies = to_bodies
        """What answers to a POST, by its path."""
        self._is_host = lru_cache(16)(partial(is_among, names)) if names else None
        self._turn: list[Caller] = []
        """Callers from whom a short request has come, in their order."""
        self._first: tuple[object, bytes] = None, b""

    def answer_in_turn(self, caller: Caller) -> None:
        """Answer what has come from this caller, once the event loop has read all that is ready in its turn.

        Up to AT_ONCE answers are made before the first of them is sent. A call of the system drives what the processor
        has learned of our code out of its caches and its branch predictors; answers made one after another find it
        there. With sixteen callers an answer takes 50 microseconds of a core, where it took 72 when each was made and
        sent as soon as its request was read (benchmarks/checks.py).
        """
        if not self._turn:
            caller.loop.call_soon(self._answer_all)
        self._turn.append(caller)

    def _answer_all(self) -> None:
        turn, self._turn = self._turn[:AT_ONCE], self._turn[AT_ONCE:]
        loop = turn[0].loop
        if self._turn:
            loop.call_soon(self._answer_all)
        for caller, answer in [(caller, caller.answer_short()) for caller in turn]:
            if answer is None:
                loop.call_soon(caller.take_rest)  # by itself: where it fails, the others have their answers
            else:
                caller.send_short(answer)

    def answer(self, data: bytes, first: Iterable[tuple[bytes, bytes]]) -> bytes | None:
        """The whole answer, with the fields `first` first, to a whole request; None where it takes the ordinary
        way."""
        found = read_plain(data)
        if found is None or self.drain.begun or self.in_work[False] >= self.limit:
            return None
        start = perf_counter()
        query, path, fields, body = found
        if self._is_host is not None and not self._is_host(fields[b"host"]):
            return None
        key = None
        if self.keys is not None and (key := self.keys.name_in(fields.get(b"authorization", b""))) is None:
            return None
        route, accept = ROUTE if path is None else path.decode(), fields.get(b"accept", b"").decode("latin-1")
        try:
            written: tuple[bytes, str, *tuple[str, ...]] | None = None
            if query is None:
                written = self.to_bodies[route](body, fields.get(b"content-type", b"").decode("latin-1"), accept)
            elif not body:
                written = answer_to_query(query.decode(), accept)
        except Exception:
            return None  # the ordinary way meets the same, and says it
        if written is None or len(written[0]) > FREE_BYTES:
            return None
        content, media_type, *layout = written
        own = b"vary: Accept" if query is None else _OWN_FIELDS[key is not None] + tag_of(content).encode()
        request_id = request_id_in(fields.get(b"x-request-id"))
        if self._first[0] is not first:  # uvicorn makes new ones each second, since one of them is the date
            self._first = first, b"HTTP/1.1 200 OK\r\n" + b"".join([b"%b: %b\r\n" % field for field in first])
        whole = b"%b%b\r\ncontent-length: %d\r\ncontent-type: %b\r\nx-request-id: %b\r\n\r\n%b" % (
            self._first[1],
            own,
            len(content),
            _CONTENT_TYPES[media_type],
            request_id.encode(),
            content,
        )
        seconds = perf_counter() - start
        method = "POST" if query is None else "GET"
        if self.metrics is not None:
            self.metrics.answered(method, route, 200, seconds)
            if layout:
                self.metrics.output(layout[0], len(content))
        if self.log is not None:
            trace_id = trace_id_in(fields.get(b"traceparent", b""))
            facts = facts_of(method, route, 200, None, len(content), seconds, request_id, trace_id, key)
            self.log("INFO", "answered", facts)
        return whole
