"""For people: the page at /, the API's documentation, and whether the service is well."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import JSONResponse

from tensorcast.schema.problems import Problem

from .caching import tagged

router = APIRouter(include_in_schema=False)

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_STATIC = files(__package__) / "static"
PARTS = {
    "page.css": "text/css",
    **dict.fromkeys(["page.js", "question.js", "answer.js", "elements.js"], "text/javascript"),
}
_NO_CACHE = {"Cache-Control": "no-cache"}
"""Callers ask each time whether a part is still the same: the parts must go together."""
_METHODS = ["GET", "HEAD"]
_EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"
ASSETS = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}


@router.api_route("/", methods=_METHODS)
async def get_page(request: Request) -> Response:
    """The page: type shapes, see the drawing; its link holds the question."""
    page = (_STATIC / "index.html").read_bytes()
    return tagged(request, page, "text/html", _NO_CACHE | {"Content-Security-Policy": _POLICY})


@router.api_route("/static/{name}", methods=_METHODS)
async def get_part_of_page(request: Request, name: str) -> Response:
    """What the page loads."""
    if name not in PARTS:
        raise Problem("not-found", "there is no such file here: see /")
    return tagged(request, (_STATIC / name).read_bytes(), PARTS[name], _NO_CACHE)


@router.api_route("/docs", methods=_METHODS)
async def get_docs(request: Request) -> Response:
    """The OpenAPI document for people. Its script and style come from here, not from the internet."""
    if not request.app.state.settings.docs:
        raise Problem("not-found", "the documentation is turned off here: TENSORCAST_DOCS")
    return get_swagger_ui_html(
        openapi_url="openapi.json",
        title="tensorcast API",
        swagger_js_url="docs/swagger-ui-bundle.js",
        swagger_css_url="docs/swagger-ui.css",
        swagger_favicon_url="data:,",
    )


@router.api_route("/docs/{name}", methods=_METHODS)
async def get_docs_asset(name: str) -> Response:
    """What the documentation page loads."""
    if name not in ASSETS:
        raise Problem("not-found", "there is no such file here: see /docs")
    content = (files("fastapi_offline") / "static" / name).read_bytes()
    return Response(content, media_type=ASSETS[name], headers={"Cache-Control": "public, max-age=86400"})


@router.api_route("/metrics", methods=_METHODS)
def get_metrics(request: Request) -> Response:
    """What all workers have done, as Prometheus reads it. On a thread: it takes some milliseconds."""
    metrics = request.app.state.metrics
    if metrics is None:
        why = "the extra is not installed: pip install 'tensorcast[metrics]'"
        if not request.app.state.settings.metrics:
            why = "they are turned off: TENSORCAST_METRICS"
        raise Problem("not-found", f"there are no metrics here: {why}")
    return Response(metrics.exposition(), headers={"Content-Type": _EXPOSITION, "Cache-Control": "no-store"})


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
