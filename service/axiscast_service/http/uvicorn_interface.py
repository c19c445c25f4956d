"""What the service needs of uvicorn, which documents only that `http=` takes a class."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from inspect import signature
from typing import TypeVar

import uvicorn
from uvicorn.server import ServerState
from uvicorn.supervisors import Multiprocess

TESTED_RELEASES = "0.36 to 0.54"
"""The releases on which the suite has passed; others may work."""

SETTINGS = (
    *("app", "factory", "host", "port", "ssl_certfile", "ssl_keyfile", "workers", "loop", "http", "ws", "access_log"),
    *("log_config", "server_header", "headers", "proxy_headers", "timeout_keep_alive", "timeout_graceful_shutdown"),
)
"""Of `uvicorn.run`: `loop` and `http` name classes of this package."""
STATE = ("connections", "default_headers", "tasks", "total_requests")
"""Of the `server_state` that each connection is made with. uvicorn calls `shutdown()` of those in `connections` when
the process ends, waits until they have left it, and cancels what is left in `tasks`."""
CONFIG = ("loaded_app", "timeout_keep_alive")
"""Of the `config` that each connection is made with, after `load()`."""

ConnectionT = TypeVar("ConnectionT")


def unusable(what: str) -> ValueError:
    """The error that names a version which works."""
    return ValueError(
        f"uvicorn {version('uvicorn')} {what}, which the service needs: install a release from {TESTED_RELEASES}"
    )


def verify_uvicorn() -> None:
    """Raises ValueError if uvicorn lacks what the service needs. A connection is tried once the server is up
    (`verify_connection`)."""
    settings = signature(uvicorn.run).parameters
    if missing := [name for name in SETTINGS if name not in settings]:
        raise unusable(f"has no setting {' or '.join(missing)}")
    state = ServerState()
    if missing := [name for name in STATE if not hasattr(state, name)]:
        raise unusable(f"keeps no {' or '.join(missing)} in its server state")
    if not hasattr(uvicorn.Config("", log_config=None), "timeout_keep_alive"):
        raise unusable("has no timeout_keep_alive in its configuration")
    if not hasattr(Multiprocess, "handle_hup"):
        raise unusable("handles SIGHUP in another way")


def verify_connection(make: Callable[[], ConnectionT]) -> ConnectionT:
    """What `make`, uvicorn's factory of connections, makes. Raises ValueError if it makes them in another way."""
    try:
        return make()
    except (AttributeError, KeyError, TypeError) as error:
        raise unusable(f"makes connections in another way ({error})") from error
