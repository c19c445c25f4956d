"""All patches to other libraries. Each patch changes behaviour for which the library has no public setting."""

from __future__ import annotations

import os
import signal
from asyncio.sslproto import SSLProtocol

from uvicorn.supervisors import Multiprocess

TLS_BUFFER_BYTES = 2**15


def shrink_tls_buffers() -> None:
    """Reduce the zero-filled TLS buffer that asyncio allocates per connection from 256 KiB to 32 KiB.

    asyncio has no parameter for this size. uvloop does not need the patch, because its TLS buffers grow on demand.
    """
    setattr(SSLProtocol, "max_size", TLS_BUFFER_BYTES)  # noqa: B010


def forward_sighup() -> None:
    """Make uvicorn's supervisor forward SIGHUP to its workers, which then reload their API keys and certificate.

    By default, the supervisor replaces its workers on SIGHUP, and no setting changes this behaviour.
    """
    if hasattr(signal, "SIGHUP"):
        setattr(Multiprocess, "handle_hup", _pass_on)  # noqa: B010


def _pass_on(parent: Multiprocess) -> None:
    for worker in parent.processes:
        if worker.pid is not None:
            os.kill(worker.pid, signal.SIGHUP)
