"""The routes of the API. They decode requests, negotiate the media type, run the handlers and encode the answers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from axiscast.checks.estimates import body_time_estimate
from axiscast.messages import CheckRequest
from axiscast.wire.codec import ENCODINGS, SHORT_BODY_BYTES, Encoding, decode, encode, map_of_lists
from axiscast.wire.problems import Problem

from ..middleware.answer import Answer
from ..middleware.caching import cacheable
from ..middleware.negotiation import SVG, best_offer, encoding_of_type
from ..middleware.problems import problem_answer
from .plain_checks import answer_fields
from .request_context import RequestContext, read_parameters


class ApiRoute(APIRoute):
    """A route whose handler takes a message and the context of the request, or only the context.

    The message is the body. The handler reads a query itself, runs its steps with the context, and returns an Answer or
    a response that streams. The estimated time of a step decides whether it runs on the event loop or on a thread.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        bodies = self.dependant.body_params
        self.model: Any = bodies[0].field_info.annotation if bodies else None
        self._offers = tuple(self.responses.get(200, {}).get("content", ()))

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def handle(request: Request) -> Response:
            answer = await self.respond(RequestContext(request))
            return answer.as_response() if isinstance(answer, Answer) else answer

        return handle

    async def respond(self, context: RequestContext) -> Answer | Response:
        """Return the response to a request on the fast path or on the normal path."""
        is_query = self.model is None
        try:
            if is_query:
                return cacheable(await self.endpoint(context), context.fields, "key_name" in context.state)
            message = await self._read_body(context)
            answer: Answer = message if isinstance(message, Answer) else await self.endpoint(message, context)
            return answer
        except Problem as problem:
            context.state["problem"] = problem.code
            return problem_answer(problem, context.fields, is_query)

    async def _read_body(self, context: RequestContext) -> Any:
        """Return the message in the body, or already the answer to it."""
        fields = context.fields
        coding, accept = fields.get(b"content-encoding", b""), fields.get(b"accept", b"")
        media = encoding_of_type(fields.get(b"content-type", b"").decode("latin-1"), coding.decode("latin-1"))
        context.media_type = self._format(context) or best_offer(accept.decode("latin-1"), media, self._offers)
        body = await context.body(media)
        context.milliseconds = body_time_estimate(body, media)
        value = await context.respond(context.milliseconds, decode, body, media, context.reserve_values)
        if self.model is CheckRequest and len(body) <= SHORT_BODY_BYTES:  # the caches must not keep long names
            content = answer_fields(value, ENCODINGS.get(context.media_type))
            if content is not None:
                return Answer(content, context.media_type)
        if media is Encoding.JSON:  # values decoded from MessagePack may refer to the body's memory
            nbytes = len(body)
            del body
            context.release(nbytes)
        return await context.validated(self.model, value)

    def _format(self, context: RequestContext) -> str | None:
        """Return the media type that the query parameter `format` requests, or None if Accept decides."""
        if not context.query:
            return None
        formats = ("json", "svg") if SVG in self._offers else ()
        wanted = read_parameters(context.query, ("format",) if formats else (), self.path).get("format", "json")
        if formats and wanted not in formats:
            raise Problem("invalid-request", f"format: must be json or svg, not {wanted[:60]!r}", parameter="format")
        return SVG if wanted == "svg" else None


def encoded(answer: Any, media_type: str) -> Answer:
    """Return the response with this answer, which is a model or its plain values."""
    media = ENCODINGS[media_type]
    if isinstance(answer, BaseModel):  # exclude_unset would remove the name of an op, which is a default value
        answer = answer.model_dump(exclude_none=True)
    if all(type(value) is list for value in answer.values()):
        # No other thread can run during a call of the encoder. Therefore a separate call encodes each item.
        fields = {name: [encode(item, media) for item in items] for name, items in answer.items()}
        return Answer(map_of_lists(fields, media), media_type)
    return Answer(encode(answer, media), media_type)
