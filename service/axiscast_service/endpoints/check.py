"""The resource /v1/check, which takes shapes in the body of a POST request or in the URL of a GET request."""

from __future__ import annotations

from functools import partial
from gzip import compress
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter

from axiscast.checks.check import check_to_dict
from axiscast.checks.estimates import memory_estimate, parse_time_estimate, time_estimate
from axiscast.checks.limits import validate_request
from axiscast.messages import CheckAnswer, CheckRequest
from axiscast.wire.codec import ENCODINGS, Encoding, encode

from ..middleware.answer import Answer
from ..middleware.negotiation import SVG, TEXT, best_offer
from .api_route import ApiRoute
from .plain_checks import answer_fields, fields_in_query
from .request_context import Context

router = APIRouter(route_class=ApiRoute)

PICTURE_MS = 10.0
"""The estimated time, in milliseconds, for drawing a picture, whose number of inputs and cells is limited."""
DRAWING = "application/vnd.axiscast.drawing+json"
"""The media type of a check response with its drawing, for the web page. Its fields may change at any time."""
_FORMATS = {"text": TEXT, "svg": SVG, "drawing": DRAWING}
"""The media type for each value of the query parameter `format`, except json."""


@router.post(
    "/v1/check",
    summary="Check shapes",
    response_model=CheckAnswer,
    responses={200: {"content": {SVG: {"schema": {"type": "string"}}}}},
)
async def post_check(message: CheckRequest, context: Context) -> Answer:
    """Return the shapes of the outputs, or the reason why the inputs do not broadcast. No tensor data is sent.

    With `Accept: image/svg+xml` or the query `format=svg`, the response is a picture.
    """
    size = validate_request(message.op, tuple(message.inputs))
    milliseconds = time_estimate(size)
    if context.media_type not in ENCODINGS:
        milliseconds = 2 * milliseconds + (0 if context.media_type == TEXT else PICTURE_MS)

    def work() -> Answer:
        context.reserve(memory_estimate(size))
        return _written(message, check_to_dict(message, size), context.media_type)

    return await context.run(milliseconds, work)


def _written(message: CheckRequest, answer: dict[str, Any], media_type: str) -> Answer:
    """Return the response with an answer, which is plain values, text, a picture or the description of a drawing."""
    if (encoding := ENCODINGS.get(media_type)) is not None:
        return Answer(encode(answer, encoding), media_type)
    if media_type == TEXT:
        from axiscast.drawing.terminal_text import check_as_text

        return Answer(check_as_text(CheckAnswer.model_validate(answer)).encode() + b"\n", TEXT)
    if media_type == SVG:
        from axiscast.drawing.pictures import answer_as_svg
        from axiscast.drawing.svg_document import CONTENT_SECURITY_POLICY

        picture = answer_as_svg(message, CheckAnswer.model_validate(answer)).encode()
        # The header prevents a picture from loading or executing anything.
        return Answer(picture, SVG, {"Vary": "Accept", "Content-Security-Policy": CONTENT_SECURITY_POLICY})
    from axiscast.drawing.pictures import drawing_for_page

    drawing = drawing_for_page(message, CheckAnswer.model_validate(answer))
    content = encode(answer | {"drawing": drawing}, Encoding.JSON)
    return Answer(compress(content, 6, mtime=0), DRAWING, {"Content-Encoding": "gzip"})  # every browser accepts gzip


@router.get(
    "/v1/check",
    summary="Check shapes, in a URL",
    response_model=CheckAnswer,
    responses={200: {"content": {TEXT: {"schema": {"type": "string"}}, SVG: {"schema": {"type": "string"}}}}},
)
@router.head("/v1/check", include_in_schema=False, response_model=None)
async def check_in_url(context: Context) -> Answer:
    """Check shapes that are written in a URL. Repeat `input` for each shape, and write each attribute as a parameter.

    Write a shape as `8,1,6,1`, as `8x1x6x1`, or as a program prints it: `torch.Size([8, 1])`. Write a scalar as an
    empty string or `()`. Write symbolic sizes as `N`, `?` or `2..4`, and their bounds as `assume=N=2..`.
    You can also repeat `warn`: `warn=mutual-stretch&warn=rank-promotion`.
    With `Accept: text/plain` or `format=text`, the response is a drawing and a sentence. With `Accept: image/svg+xml`
    or `format=svg`, it is a picture.
    """
    offer = partial(best_offer, context.fields.get(b"accept", b"").decode("latin-1"), Encoding.JSON, (TEXT, SVG))
    if (fields := fields_in_query(context.query)) is not None:
        context.media_type = offer()
        if (content := answer_fields(fields, ENCODINGS.get(context.media_type))) is not None:
            return Answer(content, context.media_type)
    from .parameters import PageNotation, QueryNotation, check_fields

    text = context.query.decode("latin-1")
    context.milliseconds = parse_time_estimate(len(text), Encoding.JSON)
    query = await context.respond(context.milliseconds, partial(parse_qsl, text, keep_blank_values=True))
    wanted = next((media_type for name, media_type in _FORMATS.items() if ("format", name) in query), None)
    context.media_type = wanted or offer()
    notation = PageNotation() if context.media_type == DRAWING else QueryNotation()
    fields = await context.run(0, check_fields, query, context.media_type in (TEXT, DRAWING), notation)
    return await post_check(await context.validated(CheckRequest, fields, notation), context)
