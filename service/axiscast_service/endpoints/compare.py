"""/v1/compare"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from axiscast.answers.compare import plain_comparison
from axiscast.answers.cost import compare_milliseconds
from axiscast.answers.footprint import compared_bytes
from axiscast.messages import CompareAnswer, CompareRequest

from ..openapi import question
from .exchange import encoded, receive

router = APIRouter()


@router.post("/v1/compare", summary="Compare frameworks", **question(CompareRequest, CompareAnswer))
async def post_compare(request: Request) -> Response:
    """What every framework answers to these shapes: will it port?"""
    exchange = await receive(request, CompareRequest)

    def work() -> Response:
        exchange.reserve(compared_bytes(exchange.message.shapes))
        return encoded(plain_comparison(exchange.message), exchange.media_type)

    return await exchange.run(compare_milliseconds(exchange.message.shapes), work)
