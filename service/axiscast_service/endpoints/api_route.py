"""The routes of the API. They decode requests, negotiate the media type, run the handlers and encode the answers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from axiscast.checks.estimates import body_time_estimate
from axiscast.wire.codec import ENCODINGS, Encoding, map_of_lists
from axiscast.wire.prescan import Buffer
from axiscast.wire.problems import Problem

from ..middleware.answer import Answer
from ..middleware.caching import cacheable
from ..middleware.negotiation import best_offer, encoding_of_type
from ..middleware.problems import problem_answer
from ..openapi import PARSED, refusals
from .parameters import read_parameters
from .plain_checks import encode_check
from .request_context import RequestContext, parse_message

F = TypeVar("F", bound=Callable[..., Any])


class Form(NamedTuple):
    """A further form of an answer, such as a picture."""

    media_type: str
    write: Callable[[Any, Any], Answer]
    """A function that returns the response to a message with this answer."""
    milliseconds: float = 0.0
    """The estimated time for writing, in addition to the time that the answer itself takes."""


Quick = Callable[[Buffer, Encoding, str], bytes | None]
"""A function that returns the response to a frequent body, or None. The arguments are the body, its encoding and the
media type of the response."""


@dataclass(frozen=True)
class OneStep:
    """A decorator for a handler that computes its answer in one step. It tells the route what this step takes."""

    milliseconds: Callable[[Any], float]
    """A function that returns the estimated time for a message."""
    nbytes: Callable[[Any], int]
    """A function that returns the estimated memory for a message."""
    forms: Mapping[str, Form] = field(default_factory=dict)
    """Further forms of the answer, by the value of the query parameter `format`."""
    quick: Quick = lambda body, media, media_type: None

    def __call__(self, handler: F) -> F:
        handler.__dict__["step"] = self
        return handler


class ApiRoute(APIRoute):
    """A route whose handler takes a message and returns an answer.

    The message is the body, or it comes from a dependency that reads the query. A handler `def` computes the answer in
    one step (see OneStep), on the event loop or on a thread, depending on the estimated time. A handler `async def`
    also takes the context, runs its steps itself, and returns an Answer or a response that streams.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options["responses"] = {**refusals(*PARSED), **(options.get("responses") or {})}
        super().__init__(path, endpoint, **options)
        bodies, queries = self.dependant.body_params, self.dependant.dependencies
        self.model: Any = bodies[0].field_info.annotation if bodies else None
        self._read_query: Any = None if bodies else queries[0].call
        self._offers = tuple(options["responses"].get(200, {}).get("content", ()))
        self._step: OneStep | None = getattr(endpoint, "step", None)
        self._forms: Mapping[str, Form] = {} if self._step is None else self._step.forms

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def handle(request: Request) -> Response:
            answer = await self.respond(RequestContext(request))
            return answer.as_response() if isinstance(answer, Answer) else answer

        return handle

    async def respond(self, context: RequestContext) -> Answer | Response:
        """Return the response to a request on the fast path or on the normal path."""
        is_query = self.model is None
        try:
            found = await (self._read_query(context) if is_query else self._read_body(context))
            answer: Answer = found if isinstance(found, Answer) else await self._answer(found, context)
            return cacheable(answer, context.fields, "key_name" in context.state) if is_query else answer
        except Problem as problem:
            context.state["problem"] = problem.code
            return problem_answer(problem, context.fields, is_query)

    async def _answer(self, message: Any, context: RequestContext) -> Any:
        if self._step is None:
            return await self.endpoint(message, context)
        milliseconds = self._step.milliseconds(message)
        form = next((form for form in self._forms.values() if form.media_type == context.media_type), None)
        if form is not None:
            milliseconds = 2 * milliseconds + form.milliseconds
        return await context.run(milliseconds, self._written, context, message, self._step, form)

    async def _read_body(self, context: RequestContext) -> Any:
        """Return the message in the body, or already the answer to it."""
        fields = context.fields
        coding, accept = fields.get(b"content-encoding", b""), fields.get(b"accept", b"")
        media = encoding_of_type(fields.get(b"content-type", b"").decode("latin-1"), coding.decode("latin-1"))
        context.media_type = self._form(context) or best_offer(accept.decode("latin-1"), media, self._offers)
        body = await context.body(media)
        if self._step is not None and (content := self._step.quick(body, media, context.media_type)) is not None:
            return Answer(content, context.media_type)
        context.milliseconds = body_time_estimate(body, media)
        message = await context.respond(
            context.milliseconds, parse_message, body, media, self.model, context.reserve_values
        )
        if media is Encoding.JSON:  # values decoded from MessagePack may refer to the body's memory
            nbytes = len(body)
            del body
            context.release(nbytes)
        return message

    def _form(self, context: RequestContext) -> str | None:
        """Return the media type that the query parameter `format` requests, or None if Accept decides."""
        if not context.query:
            return None
        allowed = ("format",) if self._forms else ()
        wanted = read_parameters(context.query, allowed, self.path).get("format", "json")
        if wanted != "json" and wanted not in self._forms:
            names = " or ".join(("json", *self._forms))
            raise Problem("invalid-request", f"format: must be {names}, not {wanted[:60]!r}", parameter="format")
        return None if wanted == "json" else self._forms[wanted].media_type

    def _written(self, context: RequestContext, message: Any, step: OneStep, form: Form | None) -> Answer:
        context.reserve(step.nbytes(message))
        answer = self.endpoint(message)
        return encoded(answer, context.media_type) if form is None else form.write(message, answer)


def encoded(answer: Any, media_type: str) -> Answer:
    """Return the response with this answer, which is a model or its plain values."""
    media = ENCODINGS[media_type]
    if isinstance(answer, BaseModel):  # exclude_unset would remove the name of an op, which is a default value
        answer = answer.model_dump(exclude_none=True)
    if all(type(value) is list for value in answer.values()):
        # No other thread can run during a call of the encoder. Therefore a separate call encodes each item.
        fields = {name: [encode_check(item, media) for item in items] for name, items in answer.items()}
        return Answer(map_of_lists(fields, media), media_type)
    return Answer(encode_check(answer, media), media_type)
