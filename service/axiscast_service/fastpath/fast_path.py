"""The fast path, which responds to short check, broadcast and backprop requests directly from the bytes of the request.

On the normal path, a request passes through ASGI events, every middleware and the router. This processing takes three
times as long as a check. Therefore a connection (http/protocol.py) tries the fast path first. The bytes of the
response, its metrics and its log line are the same on both paths; tests/fastpath/test_dispatch.py compares the two
paths.

The fast path leaves some requests to the normal path: requests with unusual headers, requests whose host or API key is
refused, and requests that take too long for the event loop. The fast path reserves no memory for its responses, because
the responses are short, are computed one at a time, and rarely wait to be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from time import perf_counter
from typing import TYPE_CHECKING

from axiscast.wire.codec import ENCODINGS
from axiscast.wire.problems import Problem

from ..endpoints.check import short_check_in_url
from ..http.grammar import read_short_request
from ..http.request_cycle import STATUS_LINES
from ..logs import is_tracing, trace_id_in
from ..middleware.authentication import ApiKeys
from ..middleware.caching import cache_headers, etag_of
from ..middleware.client_facts import ClientFacts
from ..middleware.host_check import matches_host
from ..middleware.negotiation import TEXT
from ..middleware.problems import problem_parts
from ..middleware.request_ids import request_id_in
from ..middleware.telemetry import Log
from ..runtime.budget import FREE_BYTES
from ..runtime.drain import Drain

if TYPE_CHECKING:
    from ..metrics import Metrics


CHECK_ROUTE = "/v1/check"
"""The path of the only route that accepts GET requests on the fast path."""
Responder = Callable[[bytes, str, str], tuple[bytes, str, *tuple[str, ...]] | None]
"""A function that takes the body, Content-Type and Accept header of a POST request. It returns the body of the
response, its media type and, for a broadcast, the layout. It returns None if the request needs the normal path. It may
raise Problem."""
_CONTENT_TYPES = {name: name.encode() for name in ENCODINGS} | {TEXT: b"text/plain; charset=utf-8"}


_GET_FIELDS = {
    has_key: b"".join(f"{name.lower()}: {value}\r\n".encode() for name, value in cache_headers(has_key).items())
    + b"etag: "
    for has_key in (False, True)
}
"""The header fields of a response to a GET request, up to the value of ETag. The key is whether the request has an API
key."""
_POST_FIELDS = b"vary: Accept"


ShortResponse = tuple[int, bytes, bytes, bytes, str | None, str | None]
"""A response of the fast path: its status, the header fields that only some responses have, the body, the Content-Type,
the code of a problem, and the layout of a broadcast. The type is a tuple, because creating a class instance takes 0.7
us."""


@dataclass(eq=False)
class FastPath:
    """The fast path of one application. It performs the same checks as the middleware, in the same order."""

    drain: Drain
    metrics: Metrics | None
    log: Log | None
    client_facts: ClientFacts
    host_names: Collection[str]
    keys: ApiKeys | None
    max_body_bytes: int
    responders: Mapping[str, Responder]
    """The responder for each path of a POST request."""

    def __post_init__(self) -> None:
        self._is_host = lru_cache(16)(partial(matches_host, self.host_names)) if self.host_names else None
        self._first: tuple[object, bytes] = None, b""
        self._is_tracing = False

    def answer(
        self, data: bytes, first: Iterable[tuple[bytes, bytes]], peer: tuple[str, int] | None
    ) -> tuple[bytes, int] | None:
        """Return the complete response to the request at the beginning of `data`, and the length of the request.

        `first` contains the header fields of every response. Return None if the request needs the normal path.
        """
        if self._first[0] is not first:  # each second, uvicorn creates new fields with a new date
            self._is_tracing = is_tracing()
            self._first = first, b"".join([b"%b: %b\r\n" % field for field in first])
        found = read_short_request(data)
        if found is None or self._is_tracing or self.drain.begun:
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
        method, route = ("GET", CHECK_ROUTE) if path is None else ("POST", path.decode())
        response = self._respond(route, query, fields, body, key is not None)
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
        if self.metrics is not None:
            self.metrics.answered(method, route, status, seconds)
            if layout is not None:
                self.metrics.output(layout, len(content))
            if code is not None:
                self.metrics.problem(code)
        if self.log is not None:
            facts = {"method": method, "route": route, "status": status, "code": code, "bytes": len(content)}
            facts |= {"seconds": round(seconds, 6), "request_id": request_id}
            facts |= {"trace_id": trace_id_in(fields.get(b"traceparent", b"")), "key": key}
            facts |= self.client_facts(peer, fields)
            self.log("INFO", "answered", facts)
        return whole, size

    def _respond(
        self, route: str, query: bytes | None, fields: Mapping[bytes, bytes], body: bytes, has_key: bool
    ) -> ShortResponse | None:
        """Return the response to a GET or POST request, or None if the request needs the normal path.

        `query` is None for a POST request.
        """
        content_type = fields.get(b"content-type", b"").decode("latin-1")
        accept = fields.get(b"accept", b"").decode("latin-1")
        try:
            if query is None:
                written = self.responders[route](body, content_type, accept)
            else:
                written = None if body else short_check_in_url(query.decode(), accept)
        except Problem as problem:
            return _refuse(problem, content_type, accept, query is not None)
        except Exception:
            return None  # the normal path will also fail, and report the error
        if written is None or len(written[0]) > FREE_BYTES:
            return None
        content, media_type, *layout = written
        own = _POST_FIELDS if query is None else _GET_FIELDS[has_key] + etag_of(content).encode()
        return 200, own, content, _CONTENT_TYPES[media_type], None, layout[0] if layout else None


def _refuse(problem: Problem, content_type: str, accept: str, in_query: bool) -> ShortResponse | None:
    """Return the response that reports a problem, or None if the problem is a server error or closes the connection."""
    refusal = problem_parts(problem, content_type, accept, in_query)
    if refusal.status >= 500 or "Connection" in refusal.headers:
        return None
    fields = "\r\n".join([f"{name.lower()}: {value}" for name, value in refusal.headers.items()]).encode()
    return refusal.status, fields, refusal.content, refusal.media_type.encode(), problem.code, None
