"""Settings and callbacks that the application passes to its connections through ASGI's lifespan state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from axiscast.wire.problems import Problem

from ..runtime.budget import MemoryBudget
from ..runtime.heap import HeapTrimmer
from .limits import Connections
from .scheduler import RequestScheduler
from .tls import Certificate

HOOKS = "axiscast.hooks"
"""The key under which the lifespan state contains the Hooks."""
READ_BYTES = 16 * 2**10
"""The maximum number of bytes that a connection reads at once between requests."""
BODY_READ_BYTES = 64 * 2**10
"""The maximum number of bytes that a connection reads at once while a body arrives."""

HeaderFields = Sequence[tuple[bytes, bytes]]
"""The type of a sequence of header fields, each with a name and a value."""
Peer = tuple[str, int] | None
"""The type of the address and port of the other end of a connection. It is None for a connection without an address."""


FastPath = Callable[[bytes, Iterable[tuple[bytes, bytes]], Peer], tuple[bytes, int] | None]
"""The type of a function that makes the response to a short request directly from its bytes: Dispatcher.answer."""


@dataclass(slots=True)
class Hooks:
    """Settings, memory and callbacks for all connections of one application."""

    refusal: Callable[[Problem, bytes, Peer, str | None], tuple[int, HeaderFields, bytes]]
    """A function that counts a refusal, and returns the status, headers and body of its problem response.

    Its arguments are the problem, the header block of the request, the other end of the connection, and the id under
    which the application logs the request. If the id is None, the application does not know the request, and the
    function logs the refusal."""
    request_seconds: float = 30
    max_body_bytes: int = 64 * 2**20
    budget: MemoryBudget = field(default_factory=lambda: MemoryBudget(2**27))
    refused: Callable[[str], None] = lambda reason: None
    """A callback for each refused or aborted connection. The argument is a problem code or a reason in metrics.py."""
    fast_path: FastPath | None = None
    certificate: Certificate | None = None
    """The TLS certificate for new connections, or None if the service does not use TLS."""
    connections: Connections = field(default_factory=Connections)
    turns: RequestScheduler = field(default_factory=RequestScheduler)
    heap: HeapTrimmer = field(default_factory=HeapTrimmer)
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(BODY_READ_BYTES)))
    """The read buffer that all connections share. Received data is copied from this buffer before the next read."""
