"""The server: uvicorn with this service's settings."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
from contextlib import ExitStack
from importlib.metadata import version

import uvicorn

from .http.tls import Certificate
from .http.uvicorn_interface import verify_uvicorn
from .middleware.host_check import effective_hosts, is_loopback, parse_hosts
from .settings import Settings, unknown_variables, variable_of

KEEP_ALIVE_SECONDS = 75
"""Above the idle time of common proxies (60 s), so that it is the proxy that closes an idle connection."""

METRICS_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""Where several workers count together: prometheus-client's own variable."""


def verify(settings: Settings) -> None:
    """Raises ValueError for what the service could not start with, here and not in each worker."""
    verify_uvicorn()
    parse_hosts(settings.allowed_hosts)
    if settings.api_keys_file:
        from .middleware.authentication import ApiKeys

        ApiKeys(settings.api_keys_file)
    if settings.tls_certificate or settings.tls_key:
        Certificate(settings.tls_certificate, settings.tls_key)
    if _counts_in_files(settings):
        try:
            tempfile.gettempdir()
        except FileNotFoundError:
            raise ValueError(
                "the metrics of several workers need a directory to count in, and none can be written to: "
                f"mount one at /tmp, name an empty one in {METRICS_DIRECTORY}, or set AXISCAST_METRICS=false"
            ) from None


def verify_address(settings: Settings) -> None:
    """Raises ValueError where nobody can listen, before anything says that somebody does."""
    where = f"{settings.host} port {settings.port} (AXISCAST_HOST, AXISCAST_PORT)"
    try:
        found = socket.getaddrinfo(
            settings.host or None, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, _, _, _, address in found:
            with socket.socket(family) as probe:
                if os.name == "posix":  # else connections of a service that has just ended are in the way
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(address)
    except OSError as error:
        raise ValueError(f"it can't listen on {where}: {error.strerror}; --port 0 takes a free one") from None


def serve(settings: Settings) -> None:
    """Serve until a signal ends it. Each worker reads its settings from the environment."""
    # As process 1 of a container a signal without a handler is ignored, and loading the rest takes a moment.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it is heard (reload.py), and in the parent of workers
    from .http.library_patches import forward_sighup
    from .logs import access_log, configuration

    forward_sighup()
    for sentence in unknown_variables():
        access_log(settings.log_format)("WARNING", sentence, {})
    if not (settings.api_keys_file or is_loopback(settings.host)):
        access_log(settings.log_format)(
            "WARNING", f"{settings.host} is no loopback address, and no key is asked for", {}
        )
    address = f"{f'[{settings.host}]' if ':' in settings.host else settings.host}:{settings.port}"
    if settings.port and settings.log_format == "text":
        scheme = "https" if settings.tls_certificate else "http"
        print(
            _welcome(f"{scheme}://{address.replace('0.0.0.0', '127.0.0.1')}", settings.docs),
            file=sys.stderr,
            flush=True,
        )
    os.environ[variable_of("allowed_hosts")] = effective_hosts(settings)
    with ExitStack() as stack:
        if _counts_in_files(settings):
            os.environ[METRICS_DIRECTORY] = stack.enter_context(tempfile.TemporaryDirectory(prefix="axiscast-metrics-"))
        uvicorn.run(
            "axiscast_service.app:create_app",
            factory=True,
            host=settings.host,
            port=settings.port,
            ssl_certfile=settings.tls_certificate or None,
            ssl_keyfile=settings.tls_key or None,
            workers=settings.workers,
            # asyncio's loop of Windows can't watch a listening socket: there it is uvicorn that listens.
            loop="auto" if sys.platform == "win32" else "axiscast_service.http.listener:Loop",
            http="axiscast_service.http.protocol:HTTPProtocol",
            ws="none",
            access_log=False,
            log_config=configuration(settings.log_format),
            server_header=False,
            # Of every response, those of http/refusals.py too. A proxy would put its own word in the place of Server.
            headers=[("X-Content-Type-Options", "nosniff"), ("Axiscast-Version", version("axiscast"))],
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=settings.finish_seconds,
        )


def _counts_in_files(settings: Settings) -> bool:
    """Whether the metrics of several workers need a directory, and nobody has given one."""
    return settings.metrics and settings.workers > 1 and METRICS_DIRECTORY not in os.environ


def _welcome(url: str, docs: bool) -> str:
    return f"""axiscast on {url} (try it in a browser){f", the API at {url}/docs" if docs else ""}. Try:

  curl '{url}/v1/check?input=8x1x6x1&input=7x1x5&format=text'
  curl '{url}/v1/check?op=ngraph.Broadcast&input=3&shape=2,3&broadcast_axes=0'
  curl {url}/v1/broadcast -H 'Content-Type: application/json' \\
    -d '{{"op": {{"name": "numpy.broadcast_to", "shape": [2, 3]}}, "inputs": [{{"shape": [3], "data": [1, 2, 3]}}]}}'
"""
