"""/v1/compare"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from tensorcast.answers.compare import compare
from tensorcast.answers.cost import compare_milliseconds
from tensorcast.answers.footprint import compared_bytes
from tensorcast.messages import CompareAnswer, CompareRequest

from .exchange import receive
from .openapi import question

router = APIRouter()


@router.post("/v1/compare", summary="Compare frameworks", **question(CompareRequest, CompareAnswer))
async def post_compare(request: Request) -> Response:
    """What every framework answers to these shapes: will it port?"""
    exchange = await receive(request, CompareRequest)
    exchange.reserve(compared_bytes(exchange.message.shapes))
    return await exchange.answer(compare_milliseconds(exchange.message.shapes), compare)
