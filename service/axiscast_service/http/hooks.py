"""What the application gives its connections, in the lifespan state of ASGI."""

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
"""What one read takes between requests, at most."""
BODY_READ_BYTES = 64 * 2**10
"""The same once a body is announced."""

HeaderFields = Sequence[tuple[bytes, bytes]]
"""Names and values of header fields."""


class ShortRequestHandler(Protocol):
    """An object that answers short requests from their bytes."""

    def answer(self, data: bytes, first: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, int] | None:
        """The whole response, with the fields `first` first, to the request at the beginning of `data`, and how many
        bytes that request has; None if it takes the ordinary way."""


def _ignore(reason: str) -> None:
    """Count nothing."""


@dataclass(slots=True)
class Hooks:
    """Settings, memory and callbacks of all connections of one application."""

    problem_response: Callable[[Problem, HeaderFields], tuple[int, HeaderFields, bytes]]
    """The status, header fields and body that report a problem to a client whose request has these fields."""
    request_seconds: float = 30
    max_body_bytes: int = 64 * 2**20
    budget: MemoryBudget = field(default_factory=lambda: MemoryBudget(2**27))
    refused: Callable[[str], None] = _ignore
    """Is called with the reason for which a connection is refused or cut: a problem code, or one of those in
    metrics.py."""
    problem_sent: Callable[[str], None] = _ignore
    """Is called with the code of each problem document that a connection sends."""
    fast_path: ShortRequestHandler | None = None
    certificate: Certificate | None = None
    """The one that new connections are shown."""
    turns: RequestScheduler = field(default_factory=RequestScheduler)
    heap: HeapTrimmer = field(default_factory=HeapTrimmer)
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(BODY_READ_BYTES)))
    """What every connection reads into. A read is taken out of it before the next one begins."""
    read_buffer: memoryview = field(init=False)
    """The beginning of it, which is read into between requests."""

    def __post_init__(self) -> None:
        self.read_buffer = self.buffer[:READ_BYTES]


def hooks_of(app_state: Mapping[str, object]) -> Hooks:
    """The hooks in a lifespan state."""
    hooks = app_state[HOOKS]
    assert isinstance(hooks, Hooks)
    return hooks
