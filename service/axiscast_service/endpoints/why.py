"""The resource /v1/why, which explains the text of an error message."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from axiscast.checks.estimates import REQUEST_MS, memory_estimate, time_estimate, why_time_estimate
from axiscast.checks.limits import RequestSize, validate_request
from axiscast.explanation.diagnosis import Diagnosis, diagnose, why_as_text, why_to_dict
from axiscast.messages.why import WhyAnswer, WhyRequest
from axiscast.wire.problems import Problem

from ..middleware.answer import Answer
from ..middleware.negotiation import TEXT
from .api_route import ApiRoute, encoded
from .request_context import Context

router = APIRouter(route_class=ApiRoute)


@router.post(
    "/v1/why",
    summary="Explain an error",
    response_model=WhyAnswer,
    responses={200: {"content": {TEXT: {"schema": {"type": "string"}}}}},
)
async def post_why(message: WhyRequest, context: Context) -> Any:
    """Return the op and shapes in an error message and the check of these shapes, or explain the error.

    With `Accept: text/plain`, the response is the explanation as text.
    """
    diagnosis = await context.run(why_time_estimate(len(message.text)), diagnose, message.text)
    size = _size_of_check(diagnosis)

    def work() -> Answer:
        if size is not None:
            context.reserve(memory_estimate(size))
        answer = why_to_dict(diagnosis)
        if context.media_type == TEXT:
            return Answer(why_as_text(WhyAnswer.model_validate(answer)).encode() + b"\n", TEXT)
        return encoded(answer, context.media_type)

    return await context.run(REQUEST_MS if size is None else time_estimate(size), work)


def _size_of_check(diagnosis: Diagnosis) -> RequestSize | None:
    """Return the size of the check in an error message, or None if the message contains no valid check."""
    try:
        check = diagnosis.request
        return None if check is None else validate_request(check.op, tuple(check.inputs))
    except Problem:
        return None
