"""Checks of the uvicorn features that the service requires. uvicorn documents only that `http=` accepts a class."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import TypeVar

import uvicorn
from uvicorn.server import ServerState
from uvicorn.supervisors import Multiprocess

TESTED_RELEASES = "0.36 to 0.54"
"""The uvicorn releases with which the test suite has passed. Other releases may work."""

STATE = ("connections", "default_headers", "tasks", "total_requests")
"""The required attributes of `server_state`, which uvicorn passes to each connection. On shutdown, uvicorn calls the
method `shutdown` of all `connections`, waits until this set is empty, and cancels the remaining `tasks`."""
ConnectionT = TypeVar("ConnectionT")


def unusable(what: str) -> ValueError:
    """Return an error that says why the installed uvicorn is unusable, and which releases work."""
    return ValueError(
        f"uvicorn {version('uvicorn')} {what}, so the service does not support it: install a release from "
        f"{TESTED_RELEASES}"
    )


def verify_uvicorn() -> None:
    """Raise ValueError if uvicorn does not support a required feature. See also `verify_connection`."""
    state = ServerState()
    if missing := [name for name in STATE if not hasattr(state, name)]:
        raise unusable(f"has no {' or '.join(missing)} in its server state")
    if not hasattr(uvicorn.Config("", log_config=None), "timeout_keep_alive"):
        raise unusable("has no timeout_keep_alive in its configuration")
    if not hasattr(Multiprocess, "handle_hup"):
        raise unusable("handles SIGHUP in an unknown way")


def verify_connection(make: Callable[[], ConnectionT]) -> ConnectionT:
    """Return a connection made by `make`, which is uvicorn's factory. Raises ValueError if `make` is incompatible."""
    try:
        return make()
    except (AttributeError, KeyError, TypeError) as error:
        raise unusable(f"creates connections in an unknown way ({error})") from error
