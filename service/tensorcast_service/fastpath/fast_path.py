"""The fast path: a short check, broadcast or backprop that came whole is answered from its bytes.

The ordinary way to a response leads through ASGI's events, every middleware and the router, and costs three times what
a check does. So a connection (http/protocol.py) asks here first. A response from here is the same to the byte, and
counts, and is logged, as one that took the ordinary way; tests/test_dispatch.py compares the two.
Whatever is not plain takes the ordinary way, from its first byte: a header field that asks for more than a response, a
refusal of any kind, work that is too long for the event loop. What a response takes here is small, one is made at a
time, and few of them wait to be sent: no memory is reserved for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache, partial
from time import perf_counter
from typing import TYPE_CHECKING

from tensorcast.schema.codec import MEDIA_NAMES

from ..endpoints.check import answer_to_query
from ..http.grammar import read_plain
from ..logs import makes_spans, trace_id_in
from ..middleware.authentication import Keys
from ..middleware.caching import kept_headers, tag_of
from ..middleware.host_check import is_among
from ..middleware.negotiation import TEXT
from ..middleware.request_ids import request_id_in
from ..middleware.telemetry import Log, facts_of
from ..runtime.budget import FREE_BYTES
from ..runtime.drain import Drain

if TYPE_CHECKING:
    from ..metrics import Metrics


ROUTE = "/v1/check"
"""That of a question in a URL."""
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
        self._first: tuple[object, bytes] = None, b""
        self._makes_spans = False

    def answer(self, data: bytes, first: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, int] | None:
        """The whole answer, with the fields `first` first, to the request at the beginning of `data`, and how many
        bytes that has; None if it takes the ordinary way."""
        if self._first[0] is not first:  # uvicorn makes new ones each second, since one of them is the date
            self._makes_spans = makes_spans()
            self._first = first, b"HTTP/1.1 200 OK\r\n" + b"".join([b"%b: %b\r\n" % field for field in first])
        found = read_plain(data)
        if found is None or self._makes_spans or self.drain.begun or self.in_work[False] >= self.limit:
            return None
        start = perf_counter()
        query, path, fields, body, size = found
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
        return whole, size
