"""The resource /v1/ops, which returns the catalogue of ops."""

from __future__ import annotations

from functools import cache, partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from axiscast.catalogue import list_ops
from axiscast.messages.catalogue import Catalogue, OpEntry
from axiscast.ops import op_class
from axiscast.wire.codec import ENCODINGS, Encoding, encode
from axiscast.wire.problems import Problem

from ..middleware.caching import StaticContent
from ..middleware.negotiation import best_offer
from .api_route import encoded
from .request_context import read_parameters

router = APIRouter()

Name = Annotated[str, Path(description="The op's name, or an alias.", examples=["numpy.broadcast_to"])]


@router.get("/v1/ops", summary="Every op", response_model=Catalogue)
@router.head("/v1/ops", include_in_schema=False)
async def get_ops(request: Request) -> Response:
    """List all ops. Each op has its attributes, a link to its definition, the tested release, and an example."""
    name = read_parameters(request.scope["query_string"], ("framework",), "/v1/ops").get("framework")
    media_type = _media_type(request)
    # The first call loads all ops.
    content: StaticContent = await request.app.state.threads.run_aside(partial(_listed, media_type, name))
    return content.respond(request)


def _listed(media_type: str, name: str | None) -> StaticContent:
    from axiscast.messages.validation import framework_named

    try:
        framework = None if name is None else framework_named(name)
    except ValueError as error:
        raise Problem("invalid-request", f"framework: {error}", parameter="framework") from None
    return _catalogue(media_type, framework)


def _media_type(request: Request) -> str:
    return best_offer(",".join(request.headers.getlist("accept")), Encoding.JSON)


@cache
def _catalogue(media_type: str, framework: str | None) -> StaticContent:
    """Return the catalogue, or the ops of one framework."""
    ops = [entry for entry in list_ops().ops if framework in (None, entry.name.split(".")[0])]
    content = encode(Catalogue(ops=ops).model_dump(exclude_none=True), ENCODINGS[media_type])
    return StaticContent(content, media_type, {"Vary": "Accept, Accept-Encoding"})


@router.get("/v1/ops/{name}", summary="One op", response_model=OpEntry)
@router.head("/v1/ops/{name}", include_in_schema=False)
async def get_op(request: Request, name: Name) -> Response:
    """Return one op from the catalogue."""
    read_parameters(request.scope["query_string"], (), "/v1/ops/{name}")
    entry = await request.app.state.threads.run_aside(partial(_entry, name))
    return encoded(entry, _media_type(request)).as_response()


def _entry(name: str) -> OpEntry:
    kind = op_class(name)
    if kind is None:
        from axiscast.messages.validation import unknown_op_problem

        raise Problem("not-found", unknown_op_problem(name, "").detail)
    return next(entry for entry in list_ops().ops if entry.name == kind.model_fields["name"].default)
