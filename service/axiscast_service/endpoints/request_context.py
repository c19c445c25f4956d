"""The context of a request: what a handler needs besides the message, and where the handler's work runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from pydantic import BaseModel, ValidationError

from axiscast.checks.estimates import loading_time_estimate
from axiscast.wire.codec import ENCODINGS, Encoding
from axiscast.wire.prescan import Buffer, check_json_bytes
from axiscast.wire.problems import Problem
from axiscast.wire.wording import close_matches, did_you_mean

from ..middleware.client_facts import joined_fields
from ..runtime.threads import LOOP_MILLISECONDS, WorkerThreads
from ..settings import Settings
from .request_body import read_body

if TYPE_CHECKING:
    from axiscast.messages.notation import JsonNotation

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

MAX_UNRESERVED_BYTES = 2**19
"""The maximum memory, in bytes, that the fast path uses for a response. This memory is not reserved, because the fast
path computes only one response at a time."""


class NotShort(Exception):
    """The exception that ends a handler on the fast path, because the normal path must respond."""


@dataclass
class RequestContext:
    """The context of a request on the normal path."""

    request: Request

    def __post_init__(self) -> None:
        scope = self.request.scope
        self.settings: Settings = self.request.app.state.settings
        self.query: bytes = scope["query_string"]
        self.fields = joined_fields(scope["headers"])
        """The header fields by lower-case name."""
        self.state: dict[str, Any] = scope["state"]
        """What the metrics and the log contain about the request. See Telemetry.record."""
        self.milliseconds = 0.0
        """The estimated time for parsing and validating the body. `run` adds it to the time of its work, because any
        other processing of all values takes about as long."""
        self.media_type = ""
        """The media type of the response."""

    @property
    def media(self) -> Encoding:
        """The encoding of the response: JSON or MessagePack."""
        return ENCODINGS[self.media_type]

    @property
    def threads(self) -> WorkerThreads:
        """The worker threads. On the fast path, there are none."""
        threads: WorkerThreads = self.request.app.state.threads
        return threads

    async def body(self, media: Encoding) -> Buffer:
        """Receive the body, and count the request as in flight. Raises Problem if the body is too long."""
        announced = self.fields.get(b"content-length", b"")
        if media is Encoding.JSON and announced.isdigit():
            check_json_bytes(int(announced))  # a JSON body that is announced as too long is refused before it arrives
        body = await read_body(self.request, self.settings.max_body_bytes, self.state["memory"])
        if not self.state.get("body_complete", True):
            # A request is in flight only after its whole body has arrived. Admission has counted it if it had arrived.
            self.state["slot"].take()
        return body

    def release(self, nbytes: int) -> None:
        """Release the memory of a body of this many bytes."""
        self.state["memory"].release(nbytes)

    def reserve_values(self, nbytes: int) -> None:
        """Reserve memory for the values of the body. Raises Problem if the memory is unavailable."""
        self.state["memory"].reserve(nbytes)

    def reserve(self, nbytes: int) -> None:
        """Reserve memory for the response before allocating it. Raises Problem if the memory is unavailable."""
        self.state["memory"].reserve_response(nbytes)

    async def respond(self, milliseconds: float, work: Callable[..., T], *arguments: Any) -> T:
        """Return the result of `work(*arguments)`, whose estimated time is `milliseconds`.

        The work must not process all values of the body. See WorkerThreads.run_python.
        """
        return await self.threads.run_python(
            milliseconds, self.request.receive, work, *arguments, caller=self.state["caller"]
        )

    async def run(self, milliseconds: float, work: Callable[..., T], *arguments: Any) -> T:
        """Like `respond`, for work that processes the values of the body."""
        return await self.respond(milliseconds + self.milliseconds, work, *arguments)

    async def validated(self, model: type[M], value: Any, notation: JsonNotation | None = None) -> M:
        """Return the message with these fields. Raises Problem if they are not valid."""
        found: M | ValidationError = await self.run(0, _validated, model, value)
        if not isinstance(found, ValidationError):
            return found
        # The explanation may suggest any op, and the first one loads them all.
        loading = loading_time_estimate("axiscast.messages.validation")
        raise await self.run(loading, _explained, found, model, value, notation)

    async def compute(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work(*arguments)` on a thread and return its result. Most of its time must be spent in NumPy."""
        return await self.threads.run_numpy(self.request.receive, work, *arguments)


class ShortContext(RequestContext):
    """The context of a request on the fast path, where all work of a handler takes at most LOOP_MILLISECONDS."""

    def __init__(
        self, settings: Settings, fields: Mapping[bytes, bytes], query: bytes, state: dict[str, Any], body: bytes
    ) -> None:
        self.settings, self.fields, self.query, self.state = settings, fields, query, state  # type: ignore[assignment]
        self.milliseconds, self.media_type = 0.0, ""
        self._body = body
        self._nbytes, self._spent = 0, 0.0

    @property
    def threads(self) -> WorkerThreads:
        raise NotShort

    async def body(self, media: Encoding) -> Buffer:
        if len(self._body) > self.settings.max_body_bytes:
            raise NotShort
        return self._body

    def release(self, nbytes: int) -> None:
        pass

    def reserve_values(self, nbytes: int) -> None:
        pass

    def reserve(self, nbytes: int) -> None:
        self._nbytes += nbytes
        if self._nbytes > MAX_UNRESERVED_BYTES:
            raise NotShort

    async def respond(self, milliseconds: float, work: Callable[..., T], *arguments: Any) -> T:
        self._spent += milliseconds
        if self._spent > LOOP_MILLISECONDS:
            raise NotShort
        return work(*arguments)

    async def run(self, milliseconds: float, work: Callable[..., T], *arguments: Any) -> T:
        return await self.respond(milliseconds, work, *arguments)  # the time for parsing is already counted


def _context_of(request: Request) -> RequestContext:
    return RequestContext(request)  # FastAPI 0.118 can't read the annotations of a dataclass


Context = Annotated[RequestContext, Depends(_context_of)]
"""The context as a parameter of a handler that streams, or whose work has several steps."""


def _validated(model: type[M], value: Any) -> M | ValidationError:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        return error


def _explained(error: ValidationError, model: type[BaseModel], value: Any, notation: JsonNotation | None) -> Problem:
    from axiscast.messages.validation import problem_from_errors

    return problem_from_errors(error, model, value, notation)


def read_parameters(query: bytes, allowed: Sequence[str], path: str) -> dict[str, str]:
    """Return the query parameters of a request to `path`. Raises Problem if one is not `allowed`, or is repeated."""
    given: dict[str, str] = {}
    for name, text in parse_qsl(query[:_MAX_QUERY].decode("latin-1"), keep_blank_values=True):
        fault = " is given twice" if name in given else ""
        if name not in allowed:
            known = f"{path} takes {' and '.join(allowed) or 'no parameters'}"
            fault = f": this parameter does not exist{did_you_mean(close_matches(name, allowed))}. {known}"
        if fault:
            raise Problem("invalid-request", f"{name[:60]}{fault}", parameter=name[:60])
        given[name] = text
    return given


_MAX_QUERY = 2000
"""The number of bytes of a query that are searched for an unknown or repeated parameter. Valid queries are shorter."""
