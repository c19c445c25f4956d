"""For people: the page at /, the API's documentation, and whether the service is well."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePath

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
_FILES = {file.name: file for file in (files(__package__) / "static").iterdir()}
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_METHODS = ["GET", "HEAD"]
_ASSETS = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}


@router.api_route("/", methods=_METHODS)
async def get_page(request: Request) -> Response:
    """The page: type shapes, see the drawing; its link holds the question."""
    return _file(request, "index.html", {"Content-Security-Policy": _POLICY})


@router.api_route("/static/{name}", methods=_METHODS)
async def get_part_of_page(request: Request, name: str) -> Response:
    """What the page loads."""
    if name not in _FILES:
        raise Problem("not-found", "there is no such file here: see /")
    return _file(request, name)


@router.api_route("/docs", methods=_METHODS)
async def get_docs() -> Response:
    """The OpenAPI document for people. Its script and style come from here, not from the internet."""
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
    if name not in _ASSETS:
        raise Problem("not-found", "there is no such file here: see /docs")
    content = (files("fastapi_offline") / "static" / name).read_bytes()
    return Response(content, media_type=_ASSETS[name], headers={"Cache-Control": "public, max-age=86400"})


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


def _file(request: Request, name: str, headers: dict[str, str] | None = None) -> Response:
    """One file of the page. Callers ask each time whether it is still the same: its parts must go together."""
    media_type = _MEDIA_TYPES[PurePath(name).suffix]
    return tagged(request, _FILES[name].read_bytes(), media_type, {"Cache-Control": "no-cache", **(headers or {})})
