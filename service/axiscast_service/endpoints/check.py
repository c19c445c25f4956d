"""The resource /v1/check, which takes shapes in the body of a POST request or in the URL of a GET request."""

from __future__ import annotations

from functools import partial
from gzip import compress
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends

from axiscast.checks.check import check_to_dict
from axiscast.checks.estimates import memory_estimate, parse_time_estimate, time_estimate
from axiscast.checks.limits import validate_request
from axiscast.drawing.answer_picture import Picture
from axiscast.drawing.terminal_text import check_as_text
from axiscast.messages import CheckAnswer, CheckRequest
from axiscast.wire.codec import ENCODINGS, Encoding

from ..middleware.answer import Answer
from ..middleware.negotiation import SVG, TEXT, best_offer
from ..openapi import example_queries, query_parameter
from .api_route import ApiRoute, Form, OneStep
from .parameters import check_in_query
from .plain_checks import answer_body, answer_fields, encode_check, fields_in_query
from .request_context import Context

router = APIRouter(route_class=ApiRoute)


def _milliseconds(message: CheckRequest) -> float:
    return time_estimate(validate_request(message.op, tuple(message.inputs)))


def _nbytes(message: CheckRequest) -> int:
    return memory_estimate(validate_request(message.op, tuple(message.inputs)))


def _as_text(message: CheckRequest, answer: dict[str, Any]) -> Answer:
    return Answer(check_as_text(CheckAnswer.model_validate(answer)).encode() + b"\n", TEXT)


def _as_picture(message: CheckRequest, answer: dict[str, Any]) -> Answer:
    from axiscast.drawing.svg_document import CONTENT_SECURITY_POLICY

    picture = Picture(message).svg(CheckAnswer.model_validate(answer)).encode()
    # The header prevents a picture from loading or executing anything.
    return Answer(picture, SVG, {"Vary": "Accept", "Content-Security-Policy": CONTENT_SECURITY_POLICY})


def _with_drawing(message: CheckRequest, answer: dict[str, Any]) -> Answer:
    from axiscast.drawing.pictures import drawing_for_page

    drawing = drawing_for_page(message, CheckAnswer.model_validate(answer))
    content = encode_check(answer | {"drawing": drawing}, Encoding.JSON)
    return Answer(compress(content, 6, mtime=0), DRAWING, {"Content-Encoding": "gzip"})  # every browser accepts gzip


DRAWING = "application/vnd.axiscast.drawing+json"
"""The media type of a check response with its drawing, for the web page. Its fields may change at any time."""
_PICTURE = Form(SVG, _as_picture, milliseconds=10.0)  # pictures have a limited number of inputs and cells
_FORMS = {"text": Form(TEXT, _as_text), "svg": _PICTURE, "drawing": Form(DRAWING, _with_drawing, milliseconds=10.0)}


@router.post(
    "/v1/check",
    summary="Check shapes",
    response_model=CheckAnswer,
    openapi_extra={"parameters": [query_parameter("format", {"const": "svg"}, "svg: the response is a picture.")]},
    responses={200: {"content": {SVG: {"schema": {"type": "string"}}}}},
)
@OneStep(_milliseconds, _nbytes, {"svg": _PICTURE}, answer_body)
def post_check(message: CheckRequest) -> dict[str, Any]:
    """Return the shapes of the outputs, or the reason why the inputs do not broadcast. No tensor data is sent.

    With `Accept: image/svg+xml` or the query `format=svg`, the response is a picture.
    """
    return check_to_dict(message)


async def _check_in_query(context: Context) -> CheckRequest | Answer:
    """Return the check that the query describes, or already the response to a plain check."""
    negotiated = partial(best_offer, context.fields.get(b"accept", b"").decode("latin-1"), Encoding.JSON, (TEXT, SVG))
    if (fields := fields_in_query(context.query)) is not None:
        context.media_type = negotiated()
        if (content := answer_fields(fields, ENCODINGS.get(context.media_type))) is not None:
            return Answer(content, context.media_type)
    text = context.query.decode("latin-1")
    context.milliseconds = parse_time_estimate(len(text), Encoding.JSON)
    query = await context.respond(context.milliseconds, partial(parse_qsl, text, keep_blank_values=True))
    wanted = next((form.media_type for name, form in _FORMS.items() if ("format", name) in query), None)
    context.media_type = wanted or negotiated()
    return await context.run(0, check_in_query, query, context.media_type in (TEXT, DRAWING))


@router.get(
    "/v1/check",
    summary="Check shapes, in a URL",
    response_model=CheckAnswer,
    openapi_extra=example_queries(),
    responses={200: {"content": {TEXT: {"schema": {"type": "string"}}, SVG: {"schema": {"type": "string"}}}}},
)
@router.head("/v1/check", include_in_schema=False)
@OneStep(_milliseconds, _nbytes, _FORMS)
def check_in_url(message: Annotated[CheckRequest, Depends(_check_in_query)]) -> dict[str, Any]:
    """Check shapes that are written in a URL. Repeat `input` for each shape, and write each attribute as a parameter.

    Write a shape as `8,1,6,1`, as `8x1x6x1`, or as a program prints it: `torch.Size([8, 1])`. Write a scalar as an
    empty string or `()`. Write symbolic sizes as `N`, `?` or `2..4`, and their bounds as `assume=N=2..`.
    You can also repeat `warn`: `warn=mutual-stretch&warn=rank-promotion`.
    With `Accept: text/plain` or `format=text`, the response is a drawing and a sentence. With `Accept: image/svg+xml`
    or `format=svg`, it is a picture.
    """
    return check_to_dict(message)
