"""The resource /v1/ops, which returns the catalogue of ops."""

from __future__ import annotations

from functools import cache, partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from axiscast.answers.catalogue import list_ops
from axiscast.messages.catalogue import Catalogue, OpEntry
from axiscast.messages.validation import unknown_op_problem
from axiscast.ops import op_class
from axiscast.wire.codec import ENCODINGS, Encoding, encode
from axiscast.wire.problems import Problem

from ..middleware.caching import StaticContent
from ..middleware.negotiation import response_type
from ..openapi import responses
from .request_context import encoded, threads_of

router = APIRouter()

Name = Annotated[str, Path(description="The op's name, or an alias.", examples=["numpy.broadcast_to"])]


@router.get("/v1/ops", summary="Every op", responses=responses(Catalogue, problems=()))
@router.head("/v1/ops", include_in_schema=False)
async def get_ops(request: Request) -> Response:
    """List all ops. Each op has its attributes, a link to its definition, the tested release, and an example."""
    media_type = response_type(request, Encoding.JSON)
    content = await threads_of(request).run_aside(partial(_catalogue, media_type))
    return content.respond(request)


@cache
def _catalogue(media_type: str) -> StaticContent:
    content = encode(list_ops().model_dump(), ENCODINGS[media_type])
    return StaticContent(content, media_type, {"Vary": "Accept, Accept-Encoding"})


@router.get("/v1/ops/{name}", summary="One op", responses=responses(OpEntry, problems=("not-found",)))
@router.head("/v1/ops/{name}", include_in_schema=False)
async def get_op(request: Request, name: Name) -> Response:
    """Return one op from the catalogue."""
    kind = op_class(name)
    if kind is None:
        raise Problem("not-found", unknown_op_problem(name, "").detail)
    entry = next(entry for entry in list_ops().ops if entry.name == kind.model_fields["name"].default)
    return encoded(entry.model_dump(), response_type(request, Encoding.JSON))
