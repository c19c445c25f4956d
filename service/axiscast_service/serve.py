"""Functions that check the settings and then start uvicorn."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import parent_process
from types import FrameType

import uvicorn
from fastapi import FastAPI

from axiscast import __version__

from .components import Components
from .log_writer import LOG_WRITER
from .middleware.host_check import effective_hosts, is_loopback
from .runtime.memory_limit import memory_limit, memory_warning
from .settings import NO_PROMETHEUS, Settings, unknown_variables, variable_of

KEEP_ALIVE_SECONDS = 75
"""The time, in seconds, for which idle connections stay open. It is longer than the timeout of common proxies (60 s),
so that the proxy closes idle connections first."""

METRICS_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable for the directory in which prometheus-client stores the counts of several workers."""


def verify_settings(settings: Settings) -> None:
    """Raise ValueError if the service can't start with these settings. Otherwise each worker would report the error."""
    Components(replace(settings, metrics=False))  # this checks the values; each worker creates its own components
    variable = variable_of("metrics")
    if os.environ.get(variable, "").strip() and _lacks_prometheus(settings):
        raise ValueError(f"{variable} is true, but {NO_PROMETHEUS}, or set {variable}=false")
    if _needs_metrics_directory(settings):
        try:
            tempfile.gettempdir()
        except FileNotFoundError:
            raise ValueError(
                "the metrics of several workers need a writable directory, but there is no temporary directory: "
                f"mount one at /tmp, set {METRICS_DIRECTORY} to an empty directory, or set AXISCAST_METRICS=false"
            ) from None


def verify_address(settings: Settings) -> None:
    """Raise ValueError if the service can't listen on its address. Call this before printing the welcome text."""
    where = f"{settings.host} port {settings.port} (AXISCAST_HOST, AXISCAST_PORT)"
    try:
        found = socket.getaddrinfo(
            settings.host or None, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, _, _, _, address in found:
            with socket.socket(family) as probe:
                if os.name == "posix":  # otherwise connections of a stopped service would block the address
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(address)
    except OSError as error:
        raise ValueError(f"can't listen on {where}: {error.strerror}; --port 0 picks a free port") from None


def serve(settings: Settings) -> None:
    """Run the service until a signal ends it. Each worker reads its settings from the environment."""
    # In a container, process 1 ignores signals without a handler. The imports take time, so the handler is set first.
    signal.signal(signal.SIGTERM, _exit)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the end of a terminal does not end the service
    from .logs import access_log, configuration

    log = access_log(settings.log_format)
    for message in _warnings(settings):
        log("WARNING", message, {})
    address = f"{f'[{settings.host}]' if ':' in settings.host else settings.host}:{settings.port}"
    if settings.port and settings.log_format == "text":
        scheme = "https" if settings.tls_certificate else "http"
        LOG_WRITER.write(_welcome(f"{scheme}://{address.replace('0.0.0.0', '127.0.0.1')}", settings.docs))
    os.environ[variable_of("allowed_hosts")] = effective_hosts(settings)
    has_listener = find_spec("uvloop") is not None  # otherwise uvicorn's server listens, on asyncio's event loop
    if settings.workers > 1 and has_listener:
        logging.getLogger("uvicorn.error").addFilter(_is_not_too_early)
    with ExitStack() as stack:
        if _needs_metrics_directory(settings):
            os.environ[METRICS_DIRECTORY] = stack.enter_context(tempfile.TemporaryDirectory(prefix="axiscast-metrics-"))
        uvicorn.run(
            "axiscast_service.serve:create_worker_app" if settings.workers > 1 else "axiscast_service.app:create_app",
            factory=True,
            host=settings.host,
            port=settings.port,
            ssl_certfile=settings.tls_certificate or None,
            ssl_keyfile=settings.tls_key or None,
            workers=settings.workers,
            loop="axiscast_service.http.listener:Loop" if has_listener else "auto",
            http="axiscast_service.http.protocol:HTTPProtocol",
            ws="none",
            access_log=False,
            log_config=configuration(settings.log_format),
            server_header=False,
            # Every response has these headers, including the refusals of a connection. The version is not in the
            # Server header, because proxies replace this header.
            headers=[("X-Content-Type-Options", "nosniff"), ("Axiscast-Version", __version__)],
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=settings.finish_seconds,
        )


def _exit(number: int, frame: FrameType | None) -> None:
    """End the process. A second signal is ignored, because it would interrupt the end with a traceback."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


def _warnings(settings: Settings) -> Iterator[str]:
    """Yield the warnings about these settings that are logged when the service starts."""
    yield from unknown_variables()
    if not (settings.api_keys_file or is_loopback(settings.host)):
        yield f"{settings.host} is not a loopback address, and no API key is required"
    if _lacks_prometheus(settings):
        yield f"/metrics is unavailable: {NO_PROMETHEUS}"
    if message := memory_warning(settings, memory_limit()):
        yield message


def _is_not_too_early(record: logging.LogRecord) -> bool:
    """Return False for the line "Uvicorn running on", which a supervisor logs before a worker runs (listener.py)."""
    return not record.getMessage().startswith("Uvicorn running on ")


def create_worker_app() -> FastAPI:
    """Return the application of one of several workers, which shuts down after its supervisor has ended.

    Without this, the workers of a supervisor that was killed by SIGKILL would run forever.
    """
    from .app import create_app

    threading.Thread(target=_shut_down_after_supervisor, name="axiscast-supervisor", daemon=True).start()
    return create_app()


def _shut_down_after_supervisor() -> None:
    """Wait until the supervisor has ended, and then start a normal shutdown."""
    supervisor = parent_process()
    assert supervisor is not None
    supervisor.join()
    signal.raise_signal(signal.SIGTERM)


def _lacks_prometheus(settings: Settings) -> bool:
    """Return whether the settings enable metrics, but the metrics extra is not installed."""
    return settings.metrics and find_spec("prometheus_client") is None


def _needs_metrics_directory(settings: Settings) -> bool:
    """Return whether a temporary directory must be created for the metrics of several workers."""
    return settings.metrics and settings.workers > 1 and METRICS_DIRECTORY not in os.environ


def _welcome(url: str, docs: bool) -> str:
    return f"""axiscast on {url} (try it in a browser){f", the API at {url}/docs" if docs else ""}. Try:

  curl '{url}/v1/check?input=8x1x6x1&input=7x1x5&format=text'
  curl '{url}/v1/check?op=ngraph.Broadcast&input=3&shape=2,3&broadcast_axes=0'
  curl {url}/v1/broadcast -H 'Content-Type: application/json' \\
    -d '{{"op": {{"name": "numpy.broadcast_to", "shape": [2, 3]}}, "inputs": [{{"shape": [3], "data": [1, 2, 3]}}]}}'
"""
