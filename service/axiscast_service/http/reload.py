"""Reloading of API keys and certificates, when their files change or on SIGHUP."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

POLL_SECONDS = 1.0
"""Interval at which files are checked. Changed files are read once two checks find the same, because they may be
written in parts, and a certificate and its key one after the other."""

logger = logging.getLogger("axiscast")


class ReloadableSource(Protocol):
    """Data from files that can be reloaded while it is in use."""

    name: str
    paths: Sequence[Path]

    def reload(self) -> None:
        """Read the files again, on a thread. If they are invalid, raise ValueError and change nothing."""


@asynccontextmanager
async def reloading(sources: Sequence[ReloadableSource]) -> AsyncIterator[None]:
    """While inside, reload each source when its files change, and all of them on SIGHUP.

    SIGHUP does not end the process, even if there are no sources.
    """
    hangup = asyncio.Event()
    polling = asyncio.create_task(_poll(sources, hangup))
    with _on_sighup(hangup):
        try:
            yield
        finally:
            polling.cancel()
            with suppress(asyncio.CancelledError):
                await polling


async def _poll(sources: Sequence[ReloadableSource], hangup: asyncio.Event) -> None:
    seen = {source: _stamps(source) for source in sources}
    taken = dict(seen)
    while sources:
        with suppress(TimeoutError):
            await asyncio.wait_for(hangup.wait(), POLL_SECONDS)
        hung_up = hangup.is_set()
        hangup.clear()
        for source in sources:
            before, seen[source] = seen[source], _stamps(source)
            if hung_up or before == seen[source] != taken[source]:
                taken[source] = seen[source]
                await _reload(source)


async def _reload(source: ReloadableSource) -> None:
    try:
        await asyncio.to_thread(source.reload)
    except ValueError as error:
        logger.warning("%s; the previous values stay in use", error)
    else:
        logger.info("reloaded %s from %s", source.name, " and ".join(map(str, source.paths)))


def _stamps(source: ReloadableSource) -> list[tuple[int, ...]]:
    """Return values that change with the files. Links are followed, because mounted secrets change by moving a link."""
    stamps: list[tuple[int, ...]] = []
    for path in source.paths:
        try:
            found = path.stat()
        except OSError:
            stamps.append(())
        else:
            stamps.append((found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size))
    return stamps


@contextmanager
def _on_sighup(hangup: asyncio.Event) -> Iterator[None]:
    """While inside, SIGHUP sets the event.

    Does nothing outside the main thread, and in another program's process, which has no server's handler of SIGTERM.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "SIGHUP") or not callable(signal.getsignal(signal.SIGTERM)):
        yield
        return
    loop = asyncio.get_running_loop()
    previous = signal.signal(signal.SIGHUP, lambda number, frame: loop.call_soon_threadsafe(hangup.set))
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, previous)
