"""Changes to other libraries without a public hook, each with its reason. All of them are here."""

from __future__ import annotations

import os
import signal
from asyncio.sslproto import SSLProtocol

from uvicorn.supervisors import Multiprocess

TLS_BUFFER_BYTES = 2**15


def shrink_tls_buffers() -> None:
    """Let asyncio's TLS allocate 32 KiB of zeros per connection, instead of 256 KiB.

    No parameter sets the size. uvloop has its own TLS, whose buffers grow on demand.
    """
    setattr(SSLProtocol, "max_size", TLS_BUFFER_BYTES)  # noqa: B010


def forward_sighup() -> None:
    """Forward SIGHUP to uvicorn's workers, which then reload their keys and certificate.

    By default uvicorn's supervisor replaces its workers on SIGHUP, and no setting changes that.
    """
    if hasattr(signal, "SIGHUP"):
        setattr(Multiprocess, "handle_hup", _pass_on)  # noqa: B010


def _pass_on(parent: Multiprocess) -> None:
    for worker in parent.processes:
        if worker.pid is not None:
            os.kill(worker.pid, signal.SIGHUP)
