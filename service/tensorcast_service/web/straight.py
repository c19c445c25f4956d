"""The straight way: a short check, broadcast or backprop that came whole is answered from its bytes, at once.

The ordinary way to an answer leads through uvicorn's parser, ASGI's events, every middleware and the router, and costs
three times what a check does. So the gate (gate.py) asks here first. An answer from here is the same to the byte,
and counts, and stands in the log, as one that took the ordinary way; tests/test_dispatch.py holds both side by side.
Whatever is not plain takes the ordinary way, from its first byte: a field of the head that asks for more than an
answer, a refusal of any kind, work that is too long for the event loop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING

from tensorcast.schema.codec import MEDIA_NAMES

from .auth import Keys
from .budget import FREE_BYTES, Budget, Holding
from .caching import kept_headers
from .check import answer_to_query
from .drain import Drain
from .envelope import request_id_of
from .hosts import is_among
from .logs import makes_spans, trace_id_in
from .negotiation import TEXT
from .watch import Log, facts_of

if TYPE_CHECKING:
    from .metrics import Metrics

ROUTE = "/v1/check"
"""That of a question in a URL."""
ToBody = Callable[[bytes, str, str, Holding], tuple[bytes, str, *tuple[str, ...]] | None]
"""The answer to a POST, by its body, Content-Type and Accept: the bytes, their media type, and of a broadcast the
layout; None where it is long, or takes longer than the event loop may be held. May raise Problem."""
_LINE = re.compile(
    rb"(?:GET /v1/check\?([A-Za-z0-9._~!$&'()*+,;=:@/?%[\]-]*)|POST (/v1/(?:check|broadcast|backprop))) HTTP/1\.1\r\n"
)
_NOT_PLAIN = frozenset(
    [b"content-encoding", b"expect", b"if-none-match", b"te", b"trailer", b"transfer-encoding", b"upgrade"]
)
_CONTENT_TYPES = {name: name.encode() for name in MEDIA_NAMES} | {TEXT: b"text/plain; charset=utf-8"}


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
        budget: Budget,
        to_bodies: Mapping[str, ToBody],
    ) -> None:
        self.drain = drain
        self.metrics = metrics
        self.log = log
        self.names = names
        self.keys = keys
        self.in_work = in_work
        self.limit = limit
        self.budget = budget
        self.to_bodies = to_bodies
        """What answers to a POST, by its path."""

    def answer(self, head: bytes, body: bytes, first: Iterable[tuple[bytes, bytes]]) -> bytes | None:
        """The whole answer, with the fields `first` first, to a request whose head holds to the gate's grammar; None
        where it takes the ordinary way."""
        line = _LINE.match(head)
        if line is None or self.drain.begun or makes_spans():
            return None
        start = perf_counter()
        fields = _fields_of(head[line.end() : -2])
        if fields is None or self.in_work[False] >= self.limit:
            return None
        if self.names and not is_among(self.names, fields[b"host"]):
            return None
        key = None
        if self.keys is not None and (key := self.keys.name_in(fields.get(b"authorization", b""))) is None:
            return None
        route, query, accept = (
            ROUTE if line[2] is None else line[2].decode(),
            line[1],
            fields.get(b"accept", b"").decode("latin-1"),
        )
        try:
            with Holding(self.budget) as memory:
                written: tuple[bytes, str, *tuple[str, ...]] | None = None
                if query is None:
                    content_type = fields.get(b"content-type", b"").decode("latin-1")
                    written = self.to_bodies[route](body, content_type, accept, memory)
                elif not body:
                    written = answer_to_query(query.decode(), accept, memory)
        except Exception:
            return None  # the ordinary way meets the same, and says it
        if written is None or len(written[0]) > FREE_BYTES:
            return None
        content, media_type, *layout = written
        own = (
            b"vary: Accept\r\n"
            if query is None
            else b"".join(
                [
                    b"%b: %b\r\n" % (name.lower().encode(), value.encode())
                    for name, value in kept_headers(content, key is not None).items()
                ]
            )
        )
        request_id = request_id_of(fields.items())
        method = "POST" if query is None else "GET"
        whole = b"HTTP/1.1 200 OK\r\n%b%bcontent-length: %d\r\ncontent-type: %b\r\nx-request-id: %b\r\n\r\n%b" % (
            b"".join([b"%b: %b\r\n" % field for field in first]),
            own,
            len(content),
            _CONTENT_TYPES[media_type],
            request_id.encode(),
            content,
        )
        seconds = perf_counter() - start
        if self.metrics is not None:
            self.metrics.answered(method, route, 200, seconds)
            if layout:
                self.metrics.output(layout[0], len(content))
        if self.log is not None:
            trace_id = trace_id_in(fields.get(b"traceparent", b""))
            facts = facts_of(method, route, 200, None, len(content), seconds, request_id, trace_id, key)
            self.log("INFO", "answered", facts)
        return whole


def _fields_of(lines: bytes) -> dict[bytes, bytes] | None:
    """The fields of a head by their names in lower case; None where one comes twice, ends with a blank, or asks for
    more than an answer."""
    fields: dict[bytes, bytes] = {}
    if b" \r" in lines or b"\t\r" in lines:
        return None  # parsers differ on whether a blank there is part of the value
    for line in lines[:-2].split(b"\r\n"):
        name, _, value = line.partition(b":")
        name = name.lower()
        if name in fields or name in _NOT_PLAIN:
            return None
        fields[name] = value.lstrip(b"\t ")
    return fields if fields.get(b"connection", b"keep-alive").lower() == b"keep-alive" else None
