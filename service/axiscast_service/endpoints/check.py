"""/v1/check"""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response

from axiscast.answers.check import check_to_dict
from axiscast.answers.estimates import memory_estimate, parse_time_estimate, time_estimate
from axiscast.answers.limits import RequestSize, validate_request
from axiscast.answers.plain_check import DEFAULT_OP, PlainCheck
from axiscast.answers.terminal_text import check_as_text
from axiscast.messages import CheckAnswer, CheckRequest
from axiscast.messages.attribute_text import parse_assumptions, parse_attribute
from axiscast.messages.validation import validate
from axiscast.ops import op_class
from axiscast.wire.codec import ENCODINGS, Encoding

from ..middleware.caching import cacheable_response
from ..middleware.negotiation import TEXT, best_offer, encoding_of_type, response_type
from ..openapi import example_queries, request_body, responses
from ..runtime.budget import MemoryReservation
from ..runtime.threads import LOOP_MILLISECONDS
from .check_codec import check_in_body, encode_check, plain_check_in_query
from .parameters import PARAMETERS, QueryNotation, judge_attribute, judge_names, refused, shape_in
from .request_context import receive, response_with, threads_of

router = APIRouter()


@router.post(
    "/v1/check", summary="Check shapes", openapi_extra=request_body(CheckRequest), responses=responses(CheckAnswer)
)
async def post_check(request: Request) -> Response:
    """Which shapes come out, or why none do. No tensor data."""
    context = await receive(request, CheckRequest)
    message, media_type = context.message, context.media_type
    request_size = validate_request(message.op, tuple(message.inputs))

    def work() -> Response:
        context.reserve(memory_estimate(request_size))
        return response_with(_answer(message, request_size, media_type), media_type)

    return await context.run(time_estimate(request_size), work)


@router.get(
    "/v1/check",
    summary="Check shapes, in a URL",
    openapi_extra=example_queries(),
    responses=responses(CheckAnswer, text=True),
)
@router.head("/v1/check", include_in_schema=False)
async def check_in_url(request: Request) -> Response:
    """The same question in a URL: `input` repeats, attributes are query parameters of their own names.

    A shape is written `8,1,6,1`, `8x1x6x1`, or as a program prints it: `torch.Size([8, 1])`; a scalar is empty or
    `()`; sizes that are not known are written `N,?,2..4`, and `assume=N=2..` says what is known of them.
    `warn` repeats too: `warn=mutual-stretch&warn=rank-promotion`.
    With `Accept: text/plain` or `format=text` the answer is a drawing and a sentence.
    """
    text = request.scope["query_string"].decode("latin-1")
    threads, milliseconds = threads_of(request), parse_time_estimate(len(text), Encoding.JSON)
    query = await threads.run_python(milliseconds, request.receive, partial(parse_qsl, text, keep_blank_values=True))
    wants_text = ("format", "text") in query
    media_type = TEXT if wants_text else response_type(request, Encoding.JSON, offers_text=True)
    memory: MemoryReservation = request.state.memory
    message = await threads.run_python(milliseconds, request.receive, _message, query, media_type == TEXT)
    request_size = validate_request(message.op, tuple(message.inputs))
    milliseconds += time_estimate(request_size)

    def work() -> bytes:
        memory.reserve_response(memory_estimate(request_size))
        return _answer(message, request_size, media_type)

    content = await threads.run_python(milliseconds, request.receive, work)
    return cacheable_response(request, content, media_type)


def answer_to_body(body: bytes, content_type: str, accept: str) -> tuple[bytes, str] | None:
    """The answer to a POST, and its media type; None where it takes longer than the event loop may be held. Raises
    Problem."""
    media = encoding_of_type(content_type)
    media_type = best_offer(accept, media)
    milliseconds = parse_time_estimate(len(body), media)
    if milliseconds > LOOP_MILLISECONDS:
        return None
    return _answer_at_once(check_in_body(body, media), media_type, milliseconds)


def answer_to_query(query: str, accept: str) -> tuple[bytes, str] | None:
    """The answer to a GET, and its media type; None where it takes longer than the event loop may be held. Raises
    Problem."""
    milliseconds = parse_time_estimate(len(query), Encoding.JSON)
    if milliseconds > LOOP_MILLISECONDS:
        return None
    message: CheckRequest | PlainCheck | None = plain_check_in_query(query)
    parameters = [] if message else parse_qsl(query, keep_blank_values=True)
    media_type = TEXT if ("format", "text") in parameters else best_offer(accept, Encoding.JSON, True)
    if message is None or media_type == TEXT:
        message = _message(parameters or parse_qsl(query, keep_blank_values=True), media_type == TEXT)
    return _answer_at_once(message, media_type, milliseconds)


def _answer_at_once(
    message: CheckRequest | PlainCheck, media_type: str, milliseconds: float
) -> tuple[bytes, str] | None:
    # What codec.py reads as a PlainCheck has no other sizes than integers.
    request_size = validate_request(message.op, tuple(message.inputs), all_static=type(message) is PlainCheck)
    if milliseconds + time_estimate(request_size) > LOOP_MILLISECONDS:
        return None
    return _answer(message, request_size, media_type), media_type


def _answer(message: CheckRequest | PlainCheck, request_size: RequestSize, media_type: str) -> bytes:
    answer = check_to_dict(message, request_size)
    if media_type == TEXT:
        return check_as_text(CheckAnswer.model_validate(answer)).encode() + b"\n"
    return encode_check(answer, ENCODINGS[media_type])


def _message(query: list[tuple[str, str]], as_drawing: bool) -> CheckRequest:
    question = _question(query)
    if as_drawing:
        question["explain"] = True
    return validate(CheckRequest, question, QueryNotation())


def _question(query: list[tuple[str, str]]) -> dict[str, Any]:
    """A check request, as plain values, from query parameters."""
    judge_names(query)
    given: dict[str, str] = {}
    inputs: list[list[int | str]] = []
    warn: list[str] = []
    for name, text in query:
        if name == "input":
            inputs.append(_from_text(shape_in, text, f"input {len(inputs)}", f"inputs/{len(inputs)}"))
        elif name == "warn":
            warn.append(text)
        else:
            given[name] = text
    # An alias, so that the answer says which op was applied.
    name = given.get("op", "np.broadcast_to" if "shape" in given else DEFAULT_OP.name)
    op: dict[str, Any] = {"name": name}
    kind = op_class(name)
    for attribute, text in given.items():
        if attribute in PARAMETERS:
            continue
        if kind is not None:  # else validation says that there is no such op
            judge_attribute(attribute, given, kind)
            op[attribute] = _from_text(
                lambda text, attribute=attribute, kind=kind: parse_attribute(kind, attribute, text),
                text,
                attribute,
                attribute,
            )
    if given.get("format", "text") not in ("text", "json"):
        raise refused("format", f": must be text or json, not {given['format'][:60]!r}")
    question: dict[str, Any] = {"inputs": inputs}
    if "op" in given or "shape" in given:
        question["op"] = op
    if warn:
        question["warn"] = warn
    if "assume" in given:
        question["assume"] = _from_text(parse_assumptions, given["assume"], "assume", "assume")
    if "dtype" in given:
        question["dtype"] = given["dtype"]
    if "explain" in given:
        if given["explain"].lower() not in ("", "1", "true", "0", "false"):
            raise refused("explain", f": must be true or false, not {given['explain'][:60]!r}")
        question["explain"] = given["explain"].lower() in ("", "1", "true")
    return question


def _from_text(parse: Any, text: str, name: str, pointer: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise refused(name, f": {error}", pointer) from None
