"""For people: the page at /, the API's documentation, and whether the service is well."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from tensorcast.schema.problems import Problem

from .caching import Part
from .exchange import threads_of

router = APIRouter(include_in_schema=False)

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_DOCS_POLICY = _POLICY.partition("; require-trusted")[0]
"""Swagger UI writes HTML of its own."""
PARTS = {
    "page.css": "text/css",
    **dict.fromkeys(["page.js", "question.js", "answer.js", "elements.js", "docs.js"], "text/javascript"),
}
_METHODS = ["GET", "HEAD"]
_EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"
ASSETS = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}


@router.api_route("/", methods=_METHODS)
async def get_page(request: Request) -> Response:
    """The page: type shapes, see the drawing; its link holds the question."""
    return _page("index.html", _POLICY).answer(request)


@router.api_route("/static/{name}", methods=_METHODS)
async def get_part_of_page(request: Request, name: str) -> Response:
    """What the page loads."""
    if name not in PARTS:
        raise Problem("not-found", "there is no such file here: see /")
    return _part(__package__, name, PARTS[name]).answer(request)


@router.api_route("/docs", methods=_METHODS)
async def get_docs(request: Request) -> Response:
    """The OpenAPI document for people. Its script and style come from here, not from the internet."""
    _judge_docs(request)
    return _page("docs.html", _DOCS_POLICY).answer(request)


@router.api_route("/openapi.json", methods=_METHODS)
async def get_openapi(request: Request) -> Response:
    """The OpenAPI document."""
    _judge_docs(request)
    part: Part = await threads_of(request).aside(request.app.state.document)  # the first time it takes 0.3 s
    return part.answer(request)


@router.api_route("/docs/{name}", methods=_METHODS)
async def get_docs_asset(request: Request, name: str) -> Response:
    """What the documentation page loads."""
    _judge_docs(request)
    if name not in ASSETS:
        raise Problem("not-found", "there is no such file here: see /docs")
    return _part("fastapi_offline", name, ASSETS[name]).answer(request)


def _judge_docs(request: Request) -> None:
    if not request.app.state.settings.docs:
        raise Problem("not-found", "the documentation is turned off here: TENSORCAST_DOCS")


@cache
def _page(name: str, policy: str) -> Part:
    return Part(_read(__package__, name), "text/html", {"Content-Security-Policy": policy})


@cache
def _part(package: str, name: str, media_type: str) -> Part:
    return Part(_read(package, name), media_type)


def _read(package: str, name: str) -> bytes:
    return (files(package) / "static" / name).read_bytes()


@router.api_route("/metrics", methods=_METHODS)
async def get_metrics(request: Request) -> Response:
    """What all workers have done, as Prometheus reads it."""
    metrics = request.app.state.metrics
    if metrics is None:
        why = "the extra is not installed: pip install 'tensorcast[metrics]'"
        if not request.app.state.settings.metrics:
            why = "they are turned off: TENSORCAST_METRICS"
        raise Problem("not-found", f"there are no metrics here: {why}")
    exposition = await threads_of(request).aside(metrics.exposition)
    return Response(exposition, headers={"Content-Type": _EXPOSITION, "Cache-Control": "no-store"})


@router.api_route("/livez", methods=_METHODS)
async def get_livez() -> Response:
    """200 while the process answers."""
    return JSONResponse({"status": "alive"}, headers={"Cache-Control": "no-store"})


@router.api_route("/readyz", methods=_METHODS)
async def get_readyz(request: Request) -> Response:
    """200 while requests are welcome; 503 from the moment that a shutdown begins."""
    if request.app.state.drain.begun:
        raise Problem("shutting-down", "this process is shutting down: ask another one")
    return JSONResponse({"status": "ready"}, headers={"Cache-Control": "no-store"})
