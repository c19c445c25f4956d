"""Memory: asked for before it is taken."""

from __future__ import annotations

from collections.abc import Callable

Reserve = Callable[[int], object]
"""Called with a number of bytes before so much is allocated; raises Problem where it is not to be had."""


def unlimited(nbytes: int) -> None:
    """Reserves whatever is asked for."""
