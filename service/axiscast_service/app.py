"""The ASGI application of the service, with its settings, middleware, routes and exception handlers."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from axiscast import __version__
from axiscast.wire.codec import Encoding, encode
from axiscast.wire.problems import Problem
from axiscast.wire.wording import close_matches, did_you_mean

from .endpoints import backprop, batch, broadcast, check, compare, ops, pages, translate, why
from .fastpath.fast_path import FastPath
from .http.hooks import HOOKS, Hooks
from .http.reload import ReloadableSource, reloading
from .http.tls import Certificate
from .logs import RateLimitedWarning, access_log
from .middleware.admission import AdmissionMiddleware
from .middleware.authentication import ApiKeys, authenticate
from .middleware.caching import StaticContent
from .middleware.dispatch import DispatchMiddleware
from .middleware.host_check import parse_hosts, require_allowed_host
from .middleware.problems import GuardMiddleware, problem_response, response_of
from .middleware.request_id_middleware import RequestIdMiddleware
from .middleware.telemetry import MONITORING_PATHS, TelemetryMiddleware
from .openapi import DESCRIPTION, describe
from .runtime.budget import MemoryBudget
from .runtime.drain import Drain
from .runtime.heap import unmap_freed_blocks
from .runtime.lag import measure_loop_lag
from .runtime.threads import infrequent_collections, short_switch_interval
from .settings import Settings

logger = logging.getLogger("axiscast")

_API_RESOURCES = (check, batch, broadcast, backprop, compare, translate, why)
"""The API resources that accept shapes or tensors."""
_PATHS = {getattr(route, "path", "") for resource in (*_API_RESOURCES, ops, pages) for route in resource.router.routes}


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the ASGI application. If `settings` is None, the settings are read from the environment."""
    settings = Settings.from_environment() if settings is None else settings
    drain = Drain(settings.drain_seconds, settings.finish_seconds)
    budget = MemoryBudget(settings.memory_budget_bytes, encrypted=bool(settings.tls_certificate))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        unmap_freed_blocks()
        watched = measure_loop_lag(metrics.lag) if metrics else nullcontext()
        with drain.on_sigterm(), short_switch_interval(), infrequent_collections(), watched:
            async with reloading(sources):
                hooks = Hooks(
                    problem_response=problem_response,
                    request_seconds=settings.request_seconds,
                    max_body_bytes=settings.max_body_bytes,
                    budget=budget,
                    refused=refused,
                    fast_path=app.state.fast_path,
                    certificate=certificate,
                )
                if metrics is not None:
                    hooks.problem_sent = metrics.problem
                yield {HOOKS: hooks}

    names = parse_hosts(settings.allowed_hosts)
    keys = ApiKeys(settings.api_keys_file) if settings.api_keys_file else None
    certificate = Certificate(settings.tls_certificate, settings.tls_key) if settings.tls_certificate else None
    sources: list[ReloadableSource] = [source for source in (keys, certificate) if source]
    guards = [partial(require_allowed_host, names)] if names else []
    guards += [partial(authenticate, keys)] if keys else []
    metrics = None
    if settings.metrics and find_spec("prometheus_client"):
        from .metrics import Metrics

        metrics = Metrics()
        metrics.watch_memory(lambda: budget.held, budget.limit)
    log = access_log(settings.log_format) if settings.access_log else None

    api_routes = [route for resource in _API_RESOURCES for route in resource.router.routes]
    in_flight: Counter[bool] = Counter()
    limit = settings.max_concurrent_requests
    refusals: Counter[str] = Counter()

    malformed = RateLimitedWarning("refused {count} malformed requests since the last such message")

    def refused(reason: str) -> None:
        refusals[reason] += 1
        if reason == "malformed-request":
            malformed.warn()
        if metrics is not None:
            metrics.refused(reason)

    app = FastAPI(
        title="axiscast",
        version=__version__,
        summary="Tensor broadcasting as a service, with the exact rules of all frameworks.",
        description=DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name.removeprefix(
            "post_"
        ),  # code generators use the operation id as a function name
        redirect_slashes=False,
        middleware=[
            *([Middleware(TelemetryMiddleware, metrics=metrics, log=log)] if metrics or log else []),
            Middleware(RequestIdMiddleware, drain=drain),
            *([Middleware(GuardMiddleware, guards=guards)] if guards else []),
            Middleware(AdmissionMiddleware, limit=limit, budget=budget, in_flight=in_flight),
            Middleware(DispatchMiddleware, routes=api_routes, handlers=_HANDLERS),
        ],
        # With the `otel` extra, each request creates a span. The standard OTEL_* variables configure the export.
        telemetry={
            "auto_configure": True,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "exclude": lambda scope: scope["path"] in MONITORING_PATHS,
        },
        exception_handlers=_HANDLERS,
    )
    app.state.settings = settings
    app.state.drain = drain
    app.state.metrics = metrics
    app.state.refusals = refusals
    app.state.budget = budget
    app.state.fast_path = FastPath(
        drain,
        metrics,
        log,
        names,
        keys,
        in_flight,
        limit,
        settings.max_body_bytes,
        {
            "/v1/check": check.short_check,
            "/v1/broadcast": partial(broadcast.short_broadcast, settings.max_output_bytes),
            "/v1/backprop": partial(backprop.short_backprop, settings.max_output_bytes),
        },
    )
    app.state.document = cache(lambda: StaticContent(encode(app.openapi(), Encoding.JSON), Encoding.JSON.value))
    for resource in (*_API_RESOURCES, ops, pages):
        app.include_router(resource.router, tags=["broadcasting"])
    describe(app, asks_for_keys=keys is not None, asks_for_names=bool(names))
    return app


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
