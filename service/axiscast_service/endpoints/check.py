"""The resource /v1/check, which takes shapes in the body of a POST request or in the URL of a GET request."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response

from axiscast.checks.check import check_to_dict
from axiscast.checks.estimates import memory_estimate, parse_time_estimate, time_estimate
from axiscast.checks.limits import RequestSize, validate_request
from axiscast.checks.plain_check import PlainCheck
from axiscast.drawing.drawing import drawing_to_dict
from axiscast.drawing.pictures import Picture
from axiscast.drawing.terminal_text import check_as_text
from axiscast.messages import CheckAnswer, CheckRequest
from axiscast.wire.codec import ENCODINGS, Encoding
from axiscast.wire.problems import Problem

from ..middleware.caching import cacheable_response
from ..middleware.negotiation import SVG, TEXT, best_offer, encoding_of_type, request_encoding, response_type
from ..openapi import example_queries, query_parameter, request_body, responses
from ..runtime.budget import MemoryReservation
from ..runtime.threads import LOOP_MILLISECONDS
from .check_codec import check_in_body, encode_check, plain_check_in_query
from .parameters import check_in_query, read_parameters
from .request_context import receive, response_with, run_python

router = APIRouter()


@router.post(
    "/v1/check",
    summary="Check shapes",
    openapi_extra=request_body(CheckRequest)
    | {"parameters": [query_parameter("format", {"const": "svg"}, "svg: the response is a picture.")]},
    responses=responses(CheckAnswer, (SVG,)),
)
async def post_check(request: Request) -> Response:
    """Return the shapes of the outputs, or the reason why the inputs do not broadcast. No tensor data is sent.

    With `Accept: image/svg+xml` or the query `format=svg`, the response is a picture.
    """
    form = read_parameters(request.scope["query_string"], ("format",), "POST /v1/check").get("format")
    if form not in (None, "json", "svg"):
        raise Problem("invalid-request", f"format: must be json or svg, not {form[:60]!r}", parameter="format")
    media_type = SVG if form == "svg" else response_type(request, request_encoding(request), (SVG,))
    context = await receive(request, CheckRequest, media_type, ("format",))
    message = context.message
    request_size = validate_request(message.op, tuple(message.inputs))

    def work() -> Response:
        context.reserve(memory_estimate(request_size))
        response = response_with(_answer(message, request_size, media_type), media_type)
        response.headers.update(_policy(media_type))
        return response

    return await context.run(_time_estimate(request_size, media_type), work)


@router.get(
    "/v1/check",
    summary="Check shapes, in a URL",
    openapi_extra=example_queries(),
    responses=responses(CheckAnswer, (TEXT, SVG)),
)
@router.head("/v1/check", include_in_schema=False)
async def check_in_url(request: Request) -> Response:
    """Check shapes that are written in a URL. Repeat `input` for each shape, and write each attribute as a parameter.

    Write a shape as `8,1,6,1`, as `8x1x6x1`, or as a program prints it: `torch.Size([8, 1])`. Write a scalar as an
    empty string or `()`. Write symbolic sizes as `N`, `?` or `2..4`, and their bounds as `assume=N=2..`.
    You can also repeat `warn`: `warn=mutual-stretch&warn=rank-promotion`.
    With `Accept: text/plain` or `format=text`, the response is a drawing and a sentence. With `Accept: image/svg+xml`
    or `format=svg`, it is a picture.
    """
    text = request.scope["query_string"].decode("latin-1")
    milliseconds = parse_time_estimate(len(text), Encoding.JSON)
    query = await run_python(request, milliseconds, partial(parse_qsl, text, keep_blank_values=True))
    media_type = _format_in(query) or response_type(request, Encoding.JSON, (TEXT, SVG))
    memory: MemoryReservation = request.state.memory
    message = await run_python(request, milliseconds, check_in_query, query, media_type in (TEXT, DRAWING))
    request_size = validate_request(message.op, tuple(message.inputs))
    milliseconds += _time_estimate(request_size, media_type)

    def work() -> bytes:
        memory.reserve_response(memory_estimate(request_size))
        return _answer(message, request_size, media_type)

    content = await run_python(request, milliseconds, work)
    return cacheable_response(request, content, media_type, _policy(media_type))


DRAWING = "application/vnd.axiscast.drawing+json"
"""The media type of a check response that describes its drawing, for the web page. Its fields may change at any
time."""
_FORMATS = {"text": TEXT, "svg": SVG, "drawing": DRAWING}
_SVG_MS = 10.0
"""The estimated time, in milliseconds, for drawing a picture. Pictures have a limited number of inputs and cells."""


def _format_in(query: Sequence[tuple[str, str]]) -> str | None:
    """Return the media type that the query parameter `format` requests. By default, the Accept header decides."""
    return next((media_type for name, media_type in _FORMATS.items() if ("format", name) in query), None)


def _time_estimate(request_size: RequestSize, media_type: str) -> float:
    milliseconds = time_estimate(request_size)
    return (
        2 * milliseconds + _SVG_MS if media_type == SVG else 2 * milliseconds if media_type == DRAWING else milliseconds
    )


def _policy(media_type: str) -> dict[str, str]:
    """Return the header that prevents a picture from loading or executing anything."""
    if media_type != SVG:
        return {}
    from axiscast.drawing.svg_document import CONTENT_SECURITY_POLICY

    return {"Content-Security-Policy": CONTENT_SECURITY_POLICY}


def short_check(body: bytes, content_type: str, accept: str) -> tuple[bytes, str] | None:
    """Return the response to a short POST request and its media type.

    Return None if the check would take longer than LOOP_MILLISECONDS. Raises Problem if the body is not valid.
    """
    media = encoding_of_type(content_type)
    media_type = best_offer(accept, media, (SVG,))
    milliseconds = parse_time_estimate(len(body), media)
    if milliseconds > LOOP_MILLISECONDS or media_type == SVG:
        return None
    return _short_answer(check_in_body(body, media), media_type, milliseconds)


def short_check_in_url(query: str, accept: str) -> tuple[bytes, str] | None:
    """Return the response to a short GET request and the response's media type, or None if the check takes too long."""
    milliseconds = parse_time_estimate(len(query), Encoding.JSON)
    if milliseconds > LOOP_MILLISECONDS:
        return None
    message: CheckRequest | PlainCheck | None = plain_check_in_query(query)
    parameters = [] if message else parse_qsl(query, keep_blank_values=True)
    media_type = _format_in(parameters) or best_offer(accept, Encoding.JSON, (TEXT, SVG))
    if media_type in (SVG, DRAWING):
        return None
    if message is None or media_type == TEXT:
        message = check_in_query(parameters or parse_qsl(query, keep_blank_values=True), media_type == TEXT)
    return _short_answer(message, media_type, milliseconds)


def _short_answer(message: CheckRequest | PlainCheck, media_type: str, milliseconds: float) -> tuple[bytes, str] | None:
    request_size = validate_request(message.op, tuple(message.inputs), all_static=type(message) is PlainCheck)
    if milliseconds + time_estimate(request_size) > LOOP_MILLISECONDS:
        return None
    return _answer(message, request_size, media_type), media_type


def _answer(message: CheckRequest | PlainCheck, request_size: RequestSize, media_type: str) -> bytes:
    answer = check_to_dict(message, request_size)
    if media_type == TEXT:
        return check_as_text(CheckAnswer.model_validate(answer)).encode() + b"\n"
    if media_type == SVG:
        return Picture(message).svg(CheckAnswer.model_validate(answer)).encode()
    if media_type == DRAWING:
        drawing = Picture(message).drawing()
        answer["drawing"] = None if drawing is None else drawing_to_dict(drawing)
        return encode_check(answer, Encoding.JSON)
    return encode_check(answer, ENCODINGS[media_type])
