"""Settings and callbacks that the application passes to its connections, in the lifespan state of ASGI."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from axiscast.wire.problems import Problem

from ..runtime.budget import MemoryBudget
from ..runtime.heap import HeapTrimmer
from .scheduler import RequestScheduler
from .tls import Certificate

HOOKS = "axiscast.hooks"
"""The key of the Hooks in the lifespan state."""
READ_BYTES = 16 * 2**10
"""Bytes of one read between requests."""
BODY_READ_BYTES = 64 * 2**10
"""Bytes of one read while a body arrives."""

HeaderFields = Sequence[tuple[bytes, bytes]]
"""Names and values of header fields."""


class ShortRequestHandler(Protocol):
    """An object that answers short requests from their bytes."""

    def answer(self, data: bytes, first: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, int] | None:
        """Return the response to the request at the beginning of `data`, and how many bytes the request has.

        The response begins with the headers `first`. Return None if the application must handle the request.
        """


def _ignore(reason: str) -> None:
    """Do nothing."""


@dataclass(slots=True)
class Hooks:
    """Settings, memory and callbacks for all connections of one application."""

    problem_response: Callable[[Problem, HeaderFields], tuple[int, HeaderFields, bytes]]
    """Returns the status, headers and body of a problem response to a request with these headers."""
    request_seconds: float = 30
    max_body_bytes: int = 64 * 2**20
    budget: MemoryBudget = field(default_factory=lambda: MemoryBudget(2**27))
    refused: Callable[[str], None] = _ignore
    """Called with the reason for which a connection is refused or aborted: a problem code, or one in metrics.py."""
    problem_sent: Callable[[str], None] = _ignore
    """Called with the code of each problem that a connection sends."""
    fast_path: ShortRequestHandler | None = None
    certificate: Certificate | None = None
    """The certificate for new connections."""
    turns: RequestScheduler = field(default_factory=RequestScheduler)
    heap: HeapTrimmer = field(default_factory=HeapTrimmer)
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(BODY_READ_BYTES)))
    """The read buffer of all connections. Each read is copied out before the next one starts."""
    read_buffer: memoryview = field(init=False)
    """The part of the buffer for reads between requests."""

    def __post_init__(self) -> None:
        self.read_buffer = self.buffer[:READ_BYTES]


def hooks_of(app_state: Mapping[str, object]) -> Hooks:
    """Return the hooks in a lifespan state."""
    hooks = app_state[HOOKS]
    assert isinstance(hooks, Hooks)
    return hooks
