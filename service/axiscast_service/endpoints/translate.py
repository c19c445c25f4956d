"""/v1/translate"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from axiscast.answers.estimates import memory_estimate, translate_time_estimate
from axiscast.answers.limits import validate_request
from axiscast.answers.translate import answer_translate
from axiscast.messages import TranslateAnswer, TranslateRequest

from ..openapi import question
from .exchange import encoded, receive

router = APIRouter()


@router.post("/v1/translate", summary="Translate an op", **question(TranslateRequest, TranslateAnswer))
async def post_translate(request: Request) -> Response:
    """The same operation in another framework's words: steps, and source text to paste."""
    exchange = await receive(request, TranslateRequest)

    def work() -> Response:
        exchange.reserve(memory_estimate(validate_request(exchange.message.op, tuple(exchange.message.inputs))))
        # Not exclude_unset: an op's name is its class's own, and is never set.
        return encoded(answer_translate(exchange.message).model_dump(exclude_none=True), exchange.media_type)

    return await exchange.run(translate_time_estimate(exchange.message.inputs), work)
