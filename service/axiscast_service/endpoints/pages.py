"""The resources outside the API: the web page and its files, the documentation, metrics, problems and probes."""

from __future__ import annotations

import re
from functools import cache, partial
from importlib.resources import files

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse

from axiscast.wire.problems import PROBLEM_KINDS, Problem
from axiscast.wire.wording import close_matches, did_you_mean

from ..middleware.caching import StaticContent
from ..settings import NO_PROMETHEUS
from ..static_files import PARTS, POLICY
from .html_page import html_page

router = APIRouter(include_in_schema=False)

_METHODS = ["GET", "HEAD"]
_EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


@router.api_route("/", methods=_METHODS)
@router.api_route("/static/{name}", methods=_METHODS)
@router.api_route("/docs", methods=_METHODS)
@router.api_route("/docs/{name}", methods=_METHODS)
async def get_part(request: Request) -> Response:
    """Return the web page at /, the documentation at /docs, or a file that one of these pages loads.

    A program that prefers text gets a help text at /.
    """
    path: str = request.scope["path"]
    page = "/docs" if path.startswith("/docs") else "/"
    if page == "/docs":
        _check_docs_enabled(request)
    if path not in PARTS:
        raise Problem("not-found", f"this file does not exist: see {page}")
    # The first call reads and compresses the file. Further calls wait for it and use the same copy.
    part: StaticContent = await request.app.state.threads.run_aside(
        partial(_part, path, request.app.state.settings.docs)
    )
    if path == "/" and _prefers_text(request):
        help_text = _HELP.format(url=request.base_url)
        return PlainTextResponse(help_text, headers={"Vary": "Accept", "Cache-Control": "no-cache"})
    return part.respond(request)


@router.api_route("/ops", methods=_METHODS)
async def get_reference(request: Request) -> Response:
    """Return the HTML page with the catalogue of ops."""
    _check_docs_enabled(request)
    part: StaticContent = await request.app.state.threads.run_aside(_reference)  # the first call takes 0.3 s
    return part.respond(request)


@router.api_route("/openapi.json", methods=_METHODS)
async def get_openapi(request: Request) -> Response:
    """Return the OpenAPI document."""
    _check_docs_enabled(request)
    part: StaticContent = await request.app.state.threads.run_aside(
        request.app.state.document
    )  # the first call takes 0.3 s
    return part.respond(request)


def _prefers_text(request: Request) -> bool:
    """Return whether the Accept header names text/plain and not text/html."""
    accept = ",".join(request.headers.getlist("accept"))
    return "text/plain" in accept and "text/html" not in accept


_HELP = """\
axiscast checks whether shapes broadcast, by the rules of NumPy, PyTorch, JAX, ONNX and other frameworks.

  curl '{url}v1/check?input=8,1,6,1&input=7,1,5&format=text'
  curl '{url}v1/check?op=torch.expand&size=2,-1&input=1,3&format=text'
  curl '{url}v1/why' -H 'Accept: text/plain' \\
    --json '{{"text": "operands could not be broadcast together with shapes (3,4) (5,)"}}'

The ops are listed at {url}v1/ops.
"""


def _check_docs_enabled(request: Request) -> None:
    if not request.app.state.settings.docs:
        raise Problem("not-found", "the setting AXISCAST_DOCS disables the documentation")


@cache
def _reference() -> StaticContent:
    from .reference import reference

    return StaticContent(reference().encode(), "text/html", {"Content-Security-Policy": POLICY})


_TITLES = {
    "/": ("axiscast", "See what the broadcast of any framework does with these shapes."),
    "/docs": ("axiscast API", "The documentation of the HTTP API of axiscast, with forms to send requests."),
}


@cache
def _part(path: str, docs: bool) -> StaticContent:
    """Return a page or file. If `docs` is true, the web page links to the documentation."""
    package, name, media_type, headers = PARTS[path]
    if name == "picture.css":  # the style sheet of all pictures is defined where they are drawn
        from axiscast.drawing.svg_document import STYLE

        return StaticContent(STYLE.encode(), media_type, headers)
    content = (files(package) / "static" / name).read_bytes()
    if path in _TITLES:
        content = html_page(*_TITLES[path], content.decode()).encode()
    if path == "/" and not docs:
        content = re.sub(b'  <nav id="docs".*</nav>\n', b"", content)
    if path == "/":
        headers = headers | {"Vary": "Accept, Accept-Encoding"}  # programs get a help text instead of the web page
    return StaticContent(content, media_type, headers)


@router.api_route("/metrics", methods=_METHODS)
async def get_metrics(request: Request) -> Response:
    """Return the metrics of all workers in the Prometheus format."""
    metrics = request.app.state.metrics
    if metrics is None:
        why = NO_PROMETHEUS
        if not request.app.state.settings.metrics:
            why = "the setting AXISCAST_METRICS disables them"
        raise Problem("not-found", f"metrics are unavailable: {why}")
    exposition = await request.app.state.threads.run_aside(metrics.exposition)
    return Response(exposition, headers={"Content-Type": _EXPOSITION, "Cache-Control": "no-store"})


@router.api_route("/problems/{code}", methods=_METHODS)
async def get_problem(request: Request, code: str) -> Response:
    """Return the meaning of a problem and its fix, as HTML or text. The `type` of a problem links to this page."""
    if code not in PROBLEM_KINDS:
        raise Problem(
            "not-found", f"there is no problem with this code{did_you_mean(close_matches(code, PROBLEM_KINDS))}"
        )
    status, title, remedy = PROBLEM_KINDS[code]
    if "text/html" in request.headers.get("accept", ""):
        from .problem_page import problem_page

        headers = {"Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
        return HTMLResponse(problem_page(code, request.app.state.settings.docs), headers=headers)
    return PlainTextResponse(f"{status} {code}: {title}.\n{remedy}\n", headers={"Cache-Control": "no-cache"})


@router.api_route("/livez", methods=_METHODS)
async def get_livez() -> Response:
    """Return status 200, because a process that can respond is alive."""
    return JSONResponse({"status": "alive"}, headers={"Cache-Control": "no-store"})


@router.api_route("/readyz", methods=_METHODS)
async def get_readyz(request: Request) -> Response:
    """Return status 200 while requests are accepted, or 503 after a shutdown has begun."""
    if request.app.state.drain.begun:
        raise Problem("shutting-down", "this process is shutting down: send the request to another process")
    return JSONResponse({"status": "ready"}, headers={"Cache-Control": "no-store"})
