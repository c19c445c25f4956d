"""The reloading of API keys and certificates when their files change, and on SIGHUP."""

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
"""The interval, in seconds, at which files are checked for changes. A changed file is read only after two successive
checks have found the same state, because a file may be written in parts, and a certificate and its key may be written
one after the other."""

logger = logging.getLogger("axiscast")


class ReloadableSource(Protocol):
    """The type of an object whose data comes from files and can be reloaded while the data is in use."""

    name: str
    paths: Sequence[Path]

    def reload(self) -> None:
        """Read the files again, on a thread. If a file is invalid, raise ValueError and keep the current data."""


@asynccontextmanager
async def reloading(sources: Sequence[ReloadableSource]) -> AsyncIterator[None]:
    """While the context is open, reload each source when its files change, and all sources on SIGHUP.

    While the context is open, SIGHUP does not end the process, even if there are no sources.
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
    """Return values that change if the files change. Symbolic links are followed, because mounted secrets are links."""
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
    """While the context is open, SIGHUP sets the event.

    The context does nothing outside the main thread. It also does nothing in the process of another program, which is
    detected because no server has set a handler for SIGTERM.
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
