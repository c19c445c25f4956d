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
_PAGE = dict.fromkeys(["page.js", "question.js", "answer.js", "elements.js", "docs.js"], "text/javascript")
_PAGE["page.css"] = "text/css"
_DOCS = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
PARTS: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "/": (__package__, "index.html", "text/html", {"Content-Security-Policy": _POLICY}),
    "/docs": (__package__, "docs.html", "text/html", {"Content-Security-Policy": _DOCS_POLICY}),
    **{f"/static/{name}": (__package__, name, media_type, {}) for name, media_type in _PAGE.items()},
    **{f"/docs/{name}": ("fastapi_offline", name, media_type, {}) for name, media_type in _DOCS.items()},
}
"""By path what is there: a package and the file in it, its media type, and further fields of the answer's head."""
_METHODS = ["GET", "HEAD"]
_EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


@router.api_route("/", methods=_METHODS)
@router.api_route("/static/{name}", methods=_METHODS)
@router.api_route("/docs", methods=_METHODS)
@router.api_route("/docs/{name}", methods=_METHODS)
async def get_part(request: Request) -> Response:
    """The page (type shapes, see the drawing; its link holds the question) and the OpenAPI document for people, and
    what they load: all of it comes from here, and nothing from the internet."""
    path: str = request.scope["path"]
    page = "/docs" if path.startswith("/docs") else "/"
    if page == "/docs":
        _judge_docs(request)
    if path not in PARTS:
        raise Problem("not-found", f"there is no such file here: see {page}")
    return _part(path).answer(request)


@router.api_route("/openapi.json", methods=_METHODS)
async def get_openapi(request: Request) -> Response:
    """The OpenAPI document."""
    _judge_docs(request)
    part: Part = await threads_of(request).aside(request.app.state.document)  # the first time it takes 0.3 s
    return part.answer(request)


def _judge_docs(request: Request) -> None:
    if not request.app.state.settings.docs:
        raise Problem("not-found", "the documentation is turned off here: TENSORCAST_DOCS")


@cache
def _part(path: str) -> Part:
    package, name, media_type, headers = PARTS[path]
    return Part((files(package) / "static" / name).read_bytes(), media_type, headers)


@router.api_route("/metrics", methods=_METHODS)
async def get_metrics(request: Request) -> Response:
    """What all workers have done, as Prometheus reads it."""
    metrics = request.app.state.metrics
    if metrics is None:
        why = "they take the package prometheus-client: pip install prometheus-client"
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
