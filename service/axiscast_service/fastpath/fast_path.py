"""The fast path: a short check, broadcast or backprop that has come whole is answered from its bytes.

The ordinary way to a response passes ASGI's events, every middleware and the router, and costs three times as much as a
check. So a connection (http/protocol.py) asks here first. A response from here, or a refusal, is the same to the byte,
is counted and is logged as if it had taken the ordinary way; tests/fastpath/test_dispatch.py compares the two.
All other requests take the ordinary way from their first byte: if a header field asks for more than a response, if the
host or the key is refused, or if the work is too long for the event loop. A response from here takes little memory, one
is made at a time, and few of them wait to be sent: no memory is reserved for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache, partial
from time import perf_counter
from typing import TYPE_CHECKING

from axiscast.wire.codec import ENCODINGS
from axiscast.wire.problems import Problem

from ..endpoints.check import answer_to_query
from ..http.grammar import read_short_request
from ..http.request_cycle import STATUS_LINES
from ..logs import is_tracing, trace_id_in
from ..middleware.authentication import ApiKeys
from ..middleware.caching import cache_headers, etag_of
from ..middleware.host_check import matches_host
from ..middleware.negotiation import TEXT
from ..middleware.problems import problem_parts
from ..middleware.request_ids import request_id_in
from ..middleware.telemetry import Log, facts_of
from ..runtime.budget import FREE_BYTES
from ..runtime.drain import Drain

if TYPE_CHECKING:
    from ..metrics import Metrics


ROUTE = "/v1/check"
"""That of a question in a URL."""
ToBody = Callable[[bytes, str, str], tuple[bytes, str, *tuple[str, ...]] | None]
"""Returns the response to a POST from its body, Content-Type and Accept: the bytes, their media type, and the layout of
a broadcast. Returns None if it is long, or takes longer than the event loop may be held. May raise Problem."""
_CONTENT_TYPES = {name: name.encode() for name in ENCODINGS} | {TEXT: b"text/plain; charset=utf-8"}


def _own_fields(keyed: bool) -> bytes:
    """The fields of an answer to a question in a URL, up to its tag; `keyed` where the request bore a key."""
    fields = [f"{name.lower()}: {value}\r\n" for name, value in cache_headers(keyed).items()]
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
        keys: ApiKeys | None,
        in_flight: Counter[bool],
        limit: int,
        max_body_bytes: int,
        to_bodies: Mapping[str, ToBody],
    ) -> None:
        self.drain = drain
        self.metrics = metrics
        self.log = log
        self.names = names
        self.keys = keys
        self.in_flight = in_flight
        self.limit = limit
        self.max_body_bytes = max_body_bytes
        self.to_bodies = to_bodies
        """What answers to a POST, by its path."""
        self._is_host = lru_cache(16)(partial(matches_host, names)) if names else None
        self._first: tuple[object, bytes] = None, b""
        self._makes_spans = False

    def answer(self, data: bytes, first: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, int] | None:
        """The whole answer, with the fields `first` first, to the request at the beginning of `data`, and how many
        bytes that has; None if it takes the ordinary way."""
        if self._first[0] is not first:  # uvicorn makes new ones each second, since one of them is the date
            self._makes_spans = is_tracing()
            self._first = first, b"".join([b"%b: %b\r\n" % field for field in first])
        found = read_short_request(data)
        if found is None or self._makes_spans or self.drain.begun or self.in_flight[False] >= self.limit:
            return None
        start = perf_counter()
        query, path, fields, body, size = found
        if len(body) > self.max_body_bytes:
            return None
        if self._is_host is not None and not self._is_host(fields[b"host"]):
            return None
        key = None
        if self.keys is not None and (key := self.keys.name_in_header(fields.get(b"authorization", b""))) is None:
            return None
        route = ROUTE if path is None else path.decode()
        response = self._response(route, query, fields, body, key is not None)
        if response is None:
            return None
        status, own, content, content_type, code, layout = response
        request_id = request_id_in(fields.get(b"x-request-id"))
        whole = b"%b%b%b\r\ncontent-length: %d\r\ncontent-type: %b\r\nx-request-id: %b\r\n\r\n%b" % (
            STATUS_LINES[status],
            self._first[1],
            own,
            len(content),
            content_type,
            request_id.encode(),
            content,
        )
        seconds = perf_counter() - start
        method = "POST" if query is None else "GET"
        if self.metrics is not None:
            self.metrics.answered(method, route, status, seconds)
            if layout is not None:
                self.metrics.output(layout, len(content))
            if code is not None:
                self.metrics.problem(code)
        if self.log is not None:
            trace_id = trace_id_in(fields.get(b"traceparent", b""))
            self.log(
                "INFO",
                "answered",
                facts_of(method, route, status, code, len(content), seconds, request_id, trace_id, key),
            )
        return whole, size

    def _response(
        self, route: str, query: bytes | None, fields: Mapping[bytes, bytes], body: bytes, keyed: bool
    ) -> tuple[int, bytes, bytes, bytes, str | None, str | None] | None:
        """Return the status, the header fields of its own, the body, its Content-Type, the code of a problem and the
        layout of a broadcast; None if the request takes the ordinary way."""
        content_type = fields.get(b"content-type", b"").decode("latin-1")
        accept = fields.get(b"accept", b"").decode("latin-1")
        try:
            if query is None:
                written = self.to_bodies[route](body, content_type, accept)
            else:
                written = None if body else answer_to_query(query.decode(), accept)
        except Problem as problem:
            refusal = problem_parts(problem, content_type, accept)
            if refusal.status >= 500 or "Connection" in refusal.headers:
                return None
            own = "\r\n".join([f"{name.lower()}: {value}" for name, value in refusal.headers.items()]).encode()
            return refusal.status, own, refusal.content, refusal.media_type.encode(), problem.code, None
        except Exception:
            return None  # the ordinary way meets the same, and reports it
        if written is None or len(written[0]) > FREE_BYTES:
            return None
        content, media_type, *layout = written
        own = b"vary: Accept" if query is None else _OWN_FIELDS[keyed] + etag_of(content).encode()
        return 200, own, content, _CONTENT_TYPES[media_type], None, layout[0] if layout else None
