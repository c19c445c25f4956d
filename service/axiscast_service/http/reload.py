"""Renewal: keys and certificates are read anew, while the service goes on, when their files change or on SIGHUP."""

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
"""Files are looked at so often, and read once two looks find the same: they are written in pieces, and a certificate
and its key one after the other."""

logger = logging.getLogger("axiscast")


class ReloadableSource(Protocol):
    """What is read from files, and can be read anew while it is in use."""

    name: str
    paths: Sequence[Path]

    def reload(self) -> None:
        """Read the files anew; raises ValueError, and all stays as it was, where they are not valid. On a thread."""


@asynccontextmanager
async def reloading(sources: Sequence[ReloadableSource]) -> AsyncIterator[None]:
    """While inside, each source is read anew once its files have changed, and all of them on SIGHUP, which ends the
    process no more, whether there are sources or not."""
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
        logger.warning("%s: what was read before stays in force", error)
    else:
        logger.info("%s: read anew from %s", source.name, " and ".join(map(str, source.paths)))


def _stamps(source: ReloadableSource) -> list[tuple[int, ...]]:
    """What changes with the files, wherever links lead now: a mounted secret is changed by moving one."""
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
    """While inside, SIGHUP sets the event; not where signals can't be had, nor in a process that is another program's,
    which has no server's handler of SIGTERM."""
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
