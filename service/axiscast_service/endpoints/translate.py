"""The resource /v1/translate: an op in the terms of another framework."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from axiscast.answers.estimates import memory_estimate, translate_time_estimate
from axiscast.answers.limits import validate_request
from axiscast.answers.translate import answer_translate
from axiscast.messages import TranslateAnswer, TranslateRequest

from ..openapi import request_and_response
from .request_context import encoded, receive

router = APIRouter()


@router.post("/v1/translate", summary="Translate an op", **request_and_response(TranslateRequest, TranslateAnswer))
async def post_translate(request: Request) -> Response:
    """The same operation in the terms of another framework: steps, and code to paste."""
    context = await receive(request, TranslateRequest)

    def work() -> Response:
        context.reserve(memory_estimate(validate_request(context.message.op, tuple(context.message.inputs))))
        # Not exclude_unset: an op's name is its class's own, and is never set.
        return encoded(answer_translate(context.message).model_dump(exclude_none=True), context.media_type)

    return await context.run(translate_time_estimate(context.message.inputs), work)
