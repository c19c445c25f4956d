"""The server: uvicorn with this service's settings."""

from __future__ import annotations

import signal
import sys

import uvicorn

from ..settings import Settings

KEEP_ALIVE_SECONDS = 75
"""Above the idle time of common proxies (60 s), so that it is the proxy that closes an idle connection."""
FINISH_SECONDS = 10
"""After the drain, running answers have so long to finish."""


def serve(settings: Settings) -> None:
    """Serve until a signal ends it. Each worker reads its settings from the environment."""
    # As process 1 of a container a signal without a handler is ignored, and loading the rest takes a moment.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    from .protocol import Protocol

    address = f"{f'[{settings.host}]' if ':' in settings.host else settings.host}:{settings.port}"
    if settings.port:
        print(_welcome(f"http://{address.replace('0.0.0.0', '127.0.0.1')}"), file=sys.stderr, flush=True)
    uvicorn.run(
        "tensorcast_service.web.app:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        http=Protocol,
        ws="none",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=FINISH_SECONDS,
    )


def _welcome(url: str) -> str:
    return f"""tensorcast on {url} (try it in a browser), the API at {url}/docs. Try:

  curl '{url}/v1/check?input=8x1x6x1&input=7x1x5&format=text'
  curl '{url}/v1/check?op=ngraph.Broadcast&input=3&shape=2,3&broadcast_axes=0'
  curl {url}/v1/broadcast -H 'Content-Type: application/json' \\
    -d '{{"op": {{"name": "numpy.broadcast_to", "shape": [2, 3]}}, "inputs": [{{"shape": [3], "data": [1, 2, 3]}}]}}'
"""
