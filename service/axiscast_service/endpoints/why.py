"""The resource /v1/why, which explains the text of an error message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from axiscast.checks.estimates import (
    REQUEST_MS,
    loading_time_estimate,
    memory_estimate,
    time_estimate,
    why_time_estimate,
)
from axiscast.checks.limits import RequestSize, validate_request
from axiscast.messages.why import WhyAnswer, WhyRequest
from axiscast.wire.problems import Problem

from ..middleware.answer import Answer
from ..middleware.negotiation import TEXT
from .api_route import ApiRoute, encoded
from .request_context import Context

if TYPE_CHECKING:
    from axiscast.explanation.diagnosis import Diagnosis

router = APIRouter(route_class=ApiRoute)


@router.post(
    "/v1/why",
    summary="Explain an error",
    response_model=WhyAnswer,
    responses={200: {"content": {TEXT: {"schema": {"type": "string"}}}}},
)
async def post_why(message: WhyRequest, context: Context) -> Answer:
    """Return the op and shapes in an error message and the check of these shapes, or explain the error.

    With `Accept: text/plain`, the response is the explanation as text.
    """
    loading = loading_time_estimate("axiscast.explanation.diagnosis")
    diagnosis = await context.run(loading or why_time_estimate(len(message.text)), _diagnosed, message.text)
    size = _size_of_check(diagnosis)

    def work() -> Answer:
        from axiscast.explanation.answers import why_to_dict

        if size is not None:
            context.reserve(memory_estimate(size))
        answer = why_to_dict(diagnosis)
        if context.media_type == TEXT:
            from axiscast.drawing.terminal_text import why_as_text

            return Answer(why_as_text(WhyAnswer.model_validate(answer)).encode() + b"\n", TEXT)
        return encoded(answer, context.media_type)

    return await context.run(REQUEST_MS if size is None else time_estimate(size), work)


def _diagnosed(text: str) -> Diagnosis:
    from axiscast.explanation.diagnosis import diagnose

    return diagnose(text)


def _size_of_check(diagnosis: Diagnosis) -> RequestSize | None:
    """Return the size of the check in an error message, or None if the message contains no valid check."""
    try:
        check = diagnosis.request
        return None if check is None else validate_request(check.op, tuple(check.inputs))
    except Problem:
        return None
