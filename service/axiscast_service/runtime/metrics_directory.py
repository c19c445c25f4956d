"""The temporary directory in which several workers store their metrics, with a lock that shows that it is in use."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER_PREFIX = "axiscast-metrics-"
LOCK = "lock"
"""A file in the directory. The supervisor and its workers hold a shared lock on it until they end, however they end."""


@contextmanager
def metrics_directory() -> Iterator[str]:
    """Create a directory, lock it, and finally remove it. First remove the directories of services that were killed."""
    _remove_unused()
    with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX) as path:
        new = Path(path, "new")
        new.touch(mode=0o600)
        lock = _lock(new, exclusive=False)
        new.rename(Path(path, LOCK))  # after it is locked, because another service that starts removes unlocked ones
        try:
            yield path
        finally:
            if lock is not None:
                os.close(lock)


def lock_directory(path: str) -> None:
    """Mark a directory as used until this process ends. A directory from the user has no lock file, and needs none."""
    _lock(Path(path, LOCK), exclusive=False)


def _remove_unused() -> None:
    """Remove the directories of this user that no process uses."""
    for file in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*/{LOCK}"):
        lock = _lock(file, exclusive=True)
        if lock is not None:
            shutil.rmtree(file.parent, ignore_errors=True)
            os.close(lock)


def _lock(file: Path, exclusive: bool) -> int | None:
    """Lock a file of this user. Return its descriptor, or None if that is impossible. Windows has no such locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        lock = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # no lock file, or a file of another user
        return None
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            raise BlockingIOError
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock
