"""The reloading of API keys and certificates when their files change."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

POLL_SECONDS = 1.0
"""The interval, in seconds, at which files are checked for changes. A changed file is read only after two successive
checks have found the same state, because a file may be written in parts, and a certificate and its key may be written
one after the other."""

logger = logging.getLogger("axiscast")
T = TypeVar("T")


class ReloadableFiles(ABC, Generic[T]):
    """The content of files, which is read again when the files change."""

    name: ClassVar[str]

    def __init__(self, *paths: str) -> None:
        """Read the files. Raises ValueError if a file is invalid."""
        self.paths = [Path(path) for path in paths if path]
        self.content = self.read()

    @abstractmethod
    def read(self) -> T:
        """Return the content of the files. Raises ValueError if a file is invalid."""


@asynccontextmanager
async def reloading(sources: Sequence[ReloadableFiles[Any]]) -> AsyncIterator[None]:
    """While the context is open, reload each source when its files change."""
    polling = asyncio.create_task(_poll(sources))
    try:
        yield
    finally:
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling


async def _poll(sources: Sequence[ReloadableFiles[Any]]) -> None:
    seen = {source: _stamps(source) for source in sources}
    taken = dict(seen)
    while sources:
        await asyncio.sleep(POLL_SECONDS)
        for source in sources:
            before, seen[source] = seen[source], _stamps(source)
            if before == seen[source] != taken[source]:
                taken[source] = seen[source]
                await _reload(source)


async def _reload(source: ReloadableFiles[Any]) -> None:
    try:
        source.content = await asyncio.to_thread(source.read)
    except ValueError as error:
        logger.warning("%s; the previous values stay in use", error)
    else:
        logger.info("reloaded %s from %s", source.name, " and ".join(map(str, source.paths)))


def _stamps(source: ReloadableFiles[Any]) -> list[tuple[int, ...]]:
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
