"""Settings and callbacks that the application passes to its connections through ASGI's lifespan state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from axiscast.wire.problems import Problem

from ..runtime.budget import MemoryBudget
from .grammar import ACCEPT_BYTES, header_fields
from .limits import Connections
from .scheduler import RequestScheduler
from .tls import Certificate

HOOKS = "axiscast.hooks"
"""The key under which the lifespan state contains the Hooks."""
READ_BYTES = 16 * 2**10
"""The maximum number of bytes that a connection reads at once between requests."""
MAX_REFUSED_HEADER_BYTES = 8 * 2**10
"""The maximum number of bytes of a refused header block that are searched for fields such as Accept."""
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

    problem_response: Callable[[Problem, HeaderFields], tuple[int, HeaderFields, bytes]]
    """A function that returns the status, headers and body of a problem response to a request with the given
    headers."""
    request_seconds: float = 30
    max_body_bytes: int = 64 * 2**20
    budget: MemoryBudget = field(default_factory=lambda: MemoryBudget(2**27))
    refused: Callable[[str], None] = lambda reason: None
    """A callback for each refused or aborted connection. The argument is a problem code or a reason in metrics.py."""
    problem_sent: Callable[[str], None] = lambda reason: None
    """A callback for each problem response that the connection sends, and not the application.

    The argument is the problem code.
    """
    log_refusal: Callable[[Problem, Peer, HeaderFields, HeaderFields], None] = lambda *_: None
    """A callback for each problem response to a request that the application did not receive. The arguments are the
    problem, the other end of the connection, and the headers of the request and of the response."""
    fast_path: FastPath | None = None
    certificate: Certificate | None = None
    """The TLS certificate for new connections, or None if the service does not use TLS."""
    connections: Connections = field(default_factory=Connections)
    turns: RequestScheduler = field(default_factory=RequestScheduler)
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(BODY_READ_BYTES)))
    """The read buffer that all connections share. Received data is copied from this buffer before the next read."""

    def refusal(
        self, problem: Problem, head: bytes, peer: Peer, request_id: str | None
    ) -> tuple[int, HeaderFields, bytes]:
        """Return the status, headers and body of a problem response to a request with this header block.

        The encoding is the one that the Accept field names, if it is readable. `request_id` is the id under which the
        application logs the request. If it is None, the application does not know the request, and the refusal is
        logged here.
        """
        found = header_fields(head[:MAX_REFUSED_HEADER_BYTES])
        fields = [(name, value) for name, value in found if len(value) <= ACCEPT_BYTES]
        if request_id is not None:
            fields.insert(0, (b"x-request-id", request_id.encode()))
        status, headers, body = self.problem_response(problem, fields)
        if request_id is None:
            self.log_refusal(problem, peer, fields, headers)
        return status, headers, b"" if head.startswith(b"HEAD ") else body
