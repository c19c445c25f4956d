"""The dispatcher, through which every request passes. It has a fast path, and the normal path through FastAPI.

Both paths call the same functions for the host, the API key, the request id, the metrics and the log, and the same
handler (endpoints/api_route.py). On the normal path, a request passes through ASGI events, FastAPI's router and
Starlette's layers, which take several times as long as a check. Therefore a connection (http/protocol.py) passes the
bytes of a complete, short request to `answer` first. tests/service/test_dispatcher.py compares the two paths.

The fast path leaves some requests to the normal path: requests with unusual headers, requests whose host or API key is
refused, and requests that take too long for the event loop. The fast path reserves no memory for its responses, because
the responses are short, are computed one at a time, and rarely wait to be sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping
from time import perf_counter
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from axiscast.wire.problems import Problem

from .components import Components
from .endpoints.api_route import ApiRoute
from .endpoints.request_context import NotShort, ShortContext
from .http.grammar import read_short_request
from .http.request_cycle import STATUS_LINES
from .logs import is_tracing, set_span_attributes, trace_ids_of
from .middleware.admission import AdmissionMiddleware
from .middleware.answer import Answer
from .middleware.authentication import authenticate
from .middleware.client_facts import joined_fields, request_id_in
from .middleware.host_check import require_allowed_host
from .middleware.problems import response_of
from .middleware.telemetry import KNOWN_METHODS, OTHER_METHOD, Telemetry
from .runtime.budget import FREE_BYTES
from .runtime.drain import Drain

logger = logging.getLogger("axiscast")


class Dispatcher:
    """The dispatcher of one application. `around` makes it the outermost ASGI middleware."""

    app: ASGIApp

    def __init__(self, components: Components, routes: Iterable[ApiRoute]) -> None:
        self._components = components
        self._telemetry = Telemetry(components.metrics, components.log, components.client_facts)
        self._routes = {(method, route.path.encode()): route for route in routes for method in route.methods or ()}
        self._first: tuple[object, bytes] = None, b""
        self._is_tracing = False

    def around(self, app: ASGIApp) -> Dispatcher:
        """Return the dispatcher, which passes requests on the normal path to `app`."""
        components = self._components
        self.app = AdmissionMiddleware(
            app,
            limit=components.settings.max_concurrent_requests,
            budget=components.hooks.budget,
            queue=components.threads.queue,
            address_of=components.client_facts.address_of,
        )
        return self

    def _guard(self, path: str, fields: Mapping[bytes, bytes], state: dict[str, Any]) -> None:
        """Raise Problem if the host or the API key is refused. Otherwise store the name of the API key."""
        if names := self._components.host_names:
            require_allowed_host(names, path, fields)
        if (keys := self._components.keys) is not None and (name := authenticate(keys, path, fields)) is not None:
            state["key_name"] = name

    # --- the fast path

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
        if found is None or self._is_tracing or self._components.drain.begun:
            return None
        start = perf_counter()
        method, path, query, fields, body, size = found
        if (route := self._routes.get((method, path))) is None:
            return None
        state = {"request_id": request_id_in(fields.get(b"x-request-id"))}
        try:
            self._guard(route.path, fields, state)
            answer = _run(route, ShortContext(self._components.settings, fields, query, state, body))
        except (NotShort, Problem):
            return None
        if answer is None:
            return None
        status = answer.status
        request_id = state["request_id"].encode()
        head = b"%b%b%bx-request-id: %b\r\n\r\n" % (STATUS_LINES[status], self._first[1], answer.fields(), request_id)
        seconds = perf_counter() - start
        self._telemetry.record(method, route.path, status, len(answer.content), seconds, state, fields, peer)
        return b"".join((head, answer.content)), size

    # --- the normal path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(scope, send, self._components.drain)
        metrics = self._telemetry.metrics
        if metrics is not None:
            metrics.began(exchange.method)
        try:
            await self._respond(exchange, receive)
        finally:
            if metrics is not None:
                metrics.ended(exchange.method)
            if exchange.complete:
                self._record(exchange)
            else:  # wait until the connection has refused the request, if the application was cancelled
                asyncio.get_running_loop().call_soon(self._record, exchange)

    async def _respond(self, exchange: _Exchange, receive: Receive) -> None:
        """Call the application, and report a refusal or an unhandled exception as a problem."""
        scope, state = exchange.scope, exchange.state
        try:
            try:
                self._guard(scope["path"], exchange.fields, state)
            except Problem as problem:  # the body of a refused request is not read
                await response_of(problem, Request(scope))(scope, receive, exchange.send)
                return
            await self.app(scope, receive, exchange.send)
        except Exception:
            request_id = state["request_id"]
            facts = {"request_id": request_id} | trace_ids_of(exchange.fields)
            logger.exception("request %s failed", request_id, extra={"facts": facts})
            if exchange.status:
                raise  # the server then closes the connection, so that clients report an incomplete body
            detail = f"the service failed: its log has the cause under the id {request_id}"
            failure = Problem("internal", detail, request_id=request_id)
            await response_of(failure, Request(scope))(scope, receive, exchange.send)

    def _record(self, exchange: _Exchange) -> None:
        scope = exchange.scope
        self._telemetry.record(
            exchange.method,
            getattr(scope.get("route"), "path", ""),  # FastAPI's router has stored the route
            exchange.status,
            exchange.nbytes,
            perf_counter() - exchange.start,
            exchange.state,
            exchange.fields,
            scope.get("client"),
            exchange.complete,
        )


class _Exchange:
    """A request on the normal path, and the facts about its response so far."""

    def __init__(self, scope: Scope, send: Send, drain: Drain) -> None:
        self.start = perf_counter()
        self.scope = scope
        self.fields = joined_fields(scope["headers"])
        self.method = scope["method"] if scope["method"] in KNOWN_METHODS else OTHER_METHOD
        self.state: dict[str, Any] = scope.setdefault("state", {})
        self.state["request_id"] = request_id_in(self.fields.get(b"x-request-id"))
        set_span_attributes({"http.response.header.x-request-id": [self.state["request_id"]]})
        self.status = self.nbytes = 0
        self.complete = False
        self._send, self._drain = send, drain

    def send(self, message: Message) -> Awaitable[None]:
        """Send an ASGI message. Each response has X-Request-ID, and `Connection: close` during a shutdown."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            fields = [*message["headers"], (b"x-request-id", self.state["request_id"].encode())]
            if self._drain.begun:
                fields = [field for field in fields if field[0] != b"connection"] + [(b"connection", b"close")]
            message["headers"] = fields
        else:
            self.nbytes += len(message.get("body", b""))
            self.complete = not message.get("more_body", False)
        return self._send(message)


def _run(route: ApiRoute, context: ShortContext) -> Answer | None:
    """Return the response of a handler that never waits, or None if the normal path must respond."""
    steps = route.respond(context)
    try:
        steps.send(None)
    except StopIteration as end:
        answer: Answer = end.value
    except NotShort:
        return None
    except Exception:
        return None  # the normal path will also fail, and report the error
    else:
        steps.close()
        return None
    if len(answer.content) > FREE_BYTES or answer.status >= 500 or "Connection" in answer.headers:
        return None
    return answer
