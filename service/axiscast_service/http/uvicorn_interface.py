"""Checks of the uvicorn features that the service needs. uvicorn documents only that `http=` takes a class."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from inspect import signature
from typing import TypeVar

import uvicorn
from uvicorn.server import ServerState
from uvicorn.supervisors import Multiprocess

TESTED_RELEASES = "0.36 to 0.54"
"""Releases on which the test suite has passed. Other releases may work."""

SETTINGS = (
    *("app", "factory", "host", "port", "ssl_certfile", "ssl_keyfile", "workers", "loop", "http", "ws", "access_log"),
    *("log_config", "server_header", "headers", "proxy_headers", "timeout_keep_alive", "timeout_graceful_shutdown"),
)
"""Required parameters of `uvicorn.run`. `loop` and `http` name classes of this package."""
STATE = ("connections", "default_headers", "tasks", "total_requests")
"""Required attributes of `server_state`, which each connection gets. On shutdown uvicorn calls `shutdown()` of all
`connections`, waits until the set is empty, and cancels the remaining `tasks`."""
CONFIG = ("loaded_app", "timeout_keep_alive")
"""Required attributes of `config`, which each connection gets after `load()`."""

ConnectionT = TypeVar("ConnectionT")


def unusable(what: str) -> ValueError:
    """Return the error for an unusable uvicorn, with the releases that work."""
    return ValueError(
        f"uvicorn {version('uvicorn')} {what}, which the service needs: install a release from {TESTED_RELEASES}"
    )


def verify_uvicorn() -> None:
    """Raise ValueError if uvicorn lacks a required feature. `verify_connection` checks the rest after the start."""
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
    """Return a connection from `make`, uvicorn's factory. Raises ValueError if the factory is incompatible."""
    try:
        return make()
    except (AttributeError, KeyError, TypeError) as error:
        raise unusable(f"makes connections in another way ({error})") from error
