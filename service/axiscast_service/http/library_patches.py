"""What the service changes of other libraries without a public hook: all of it, each with its reason."""

from __future__ import annotations

import os
import signal
from asyncio.sslproto import SSLProtocol

from uvicorn.supervisors import Multiprocess

TLS_BUFFER_BYTES = 2**15


def shrink_tls_buffers() -> None:
    """Let asyncio's TLS allocate 32 KiB for each connection, all of it zeroed, and not 256 KiB.

    No parameter sets the size. uvloop has a TLS of its own, whose buffers grow with what comes."""
    setattr(SSLProtocol, "max_size", TLS_BUFFER_BYTES)  # noqa: B010


def forward_sighup() -> None:
    """Let SIGHUP reach uvicorn's workers, each of which reads its keys and certificate again.

    uvicorn's supervisor ends its workers on SIGHUP and begins others; no setting changes that."""
    if hasattr(signal, "SIGHUP"):
        setattr(Multiprocess, "handle_hup", _pass_on)  # noqa: B010


def _pass_on(parent: Multiprocess) -> None:
    for worker in parent.processes:
        if worker.pid is not None:
            os.kill(worker.pid, signal.SIGHUP)
