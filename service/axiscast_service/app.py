"""The ASGI application of the service, with its settings, middleware, routes and exception handlers."""

from __future__ import annotations

import logging
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from axiscast import __version__
from axiscast.wire.codec import Encoding, encode
from axiscast.wire.problems import Problem
from axiscast.wire.wording import close_matches, did_you_mean

from .components import Components
from .dispatcher import Dispatcher
from .endpoints import backprop, batch, broadcast, check, columns, compare, ops, pages, translate, why
from .endpoints.api_route import ApiRoute
from .middleware.caching import StaticContent
from .middleware.problems import response_of
from .middleware.telemetry import MONITORING_PATHS
from .settings import Settings

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

logger = logging.getLogger("axiscast")

_API_RESOURCES = (check, batch, columns, broadcast, backprop, compare, translate, why)
"""The API resources that accept shapes or tensors."""
_API_ROUTES = [route for resource in _API_RESOURCES for route in resource.router.routes if isinstance(route, ApiRoute)]
_TELEMETRY: TelemetryConfig = {
    "auto_configure": True,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "exclude": lambda scope: scope["path"] in MONITORING_PATHS,
}
"""With the `otel` extra, each request creates a span. The standard OTEL_* variables configure the export."""
_PATHS = {getattr(route, "path", "") for resource in (*_API_RESOURCES, ops, pages) for route in resource.router.routes}


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the ASGI application. If `settings` is None, the settings are read from the environment."""
    settings = Settings.from_environment() if settings is None else settings
    components = Components(settings)
    dispatcher = Dispatcher(components, _API_ROUTES)
    app = FastAPI(
        title="axiscast",
        version=__version__,
        summary="Tensor broadcasting as a service, with the exact rules of all frameworks.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=components.lifespan,
        generate_unique_id_function=_operation_id,
        redirect_slashes=False,
        middleware=[Middleware(dispatcher.around)],
        separate_input_output_schemas=False,
        telemetry=_TELEMETRY,
        exception_handlers=_HANDLERS,
    )
    hooks = components.hooks
    hooks.fast_path = dispatcher.answer
    own = {"connections": hooks.connections, "budget": hooks.budget, "dispatcher": dispatcher}
    document = cache(lambda: StaticContent(encode(app.openapi(), Encoding.JSON), Encoding.JSON.value))
    app.state = State({**vars(components), **own, "document": document})
    for resource in (*_API_RESOURCES, ops, pages):
        app.include_router(resource.router, tags=["broadcasting"])
    app.openapi = cache(partial(_openapi, app, components))  # type: ignore[method-assign]
    for route in _API_ROUTES:
        if route.model is not None:
            route.model.model_rebuild()  # otherwise the first request would be slow
    return app


def _openapi(app: FastAPI, components: Components) -> dict[str, Any]:
    """Return the OpenAPI document. The first call loads all ops and takes 0.5 s."""
    from .openapi import openapi_document

    described = [route for route in _API_ROUTES if route.include_in_schema]
    models = [model for route in described for model in (route.model, route.response_model) if model is not None]
    return openapi_document(app, models, components.keys is not None, bool(components.host_names))


def _operation_id(route: APIRoute) -> str:
    """Return the operation id of a route, which code generators use as a function name."""
    return route.name.removeprefix("post_").removeprefix("get_")


async def _problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)
    return response_of(problem, request)


async def _http_exception(request: Request, error: Exception) -> Response:
    """Return the response for an unknown path or a wrong method, for which the router has raised this exception."""
    assert isinstance(error, HTTPException)
    if error.status_code != 405:
        where = "see /docs" if request.app.state.settings.docs else "the paths of the API begin with /v1/"
        path = request.scope["path"]
        close = did_you_mean(close_matches(path, _PATHS, 1))
        advice = f"{close} {where[0].upper()}{where[1:]}" if close else f": {where}"
        return response_of(Problem("not-found", f"the path {path[:200]} does not exist{advice}"), request)
    # Starlette's own Allow header lists only the methods of the first route for this path.
    allowed = ", ".join(sorted(_methods(request)))
    detail = f"{request.scope['path'][:200]} takes {allowed}, not {request.method[:20]}"
    response = response_of(Problem("method-not-allowed", detail), request)
    response.headers["Allow"] = allowed
    return response


def _methods(request: Request) -> set[str]:
    """Return the HTTP methods that the service accepts for the request's path."""
    return {
        method
        for method in ("GET", "HEAD", "POST")
        for route in request.app.routes
        if route.matches({**request.scope, "method": method})[0] is Match.FULL
    }


async def _out_of_memory(request: Request, error: Exception) -> Response:
    """Return the response for a MemoryError, which occurs if the system has less memory than the budget."""
    logger.warning("the system is out of memory, although the memory budget is not used up: %s", error)
    return response_of(Problem("overloaded", "the server is out of memory: try again shortly"), request)


async def _client_disconnected(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # the client has disconnected, so this response is not delivered


_HANDLERS: dict[Any, Any] = {
    Problem: _problem,
    HTTPException: _http_exception,
    ClientDisconnect: _client_disconnected,
    MemoryError: _out_of_memory,
}
"""The handler for each type of exception that an endpoint may raise."""
