"""The queue of log lines, and the thread that writes them, so that a stalled reader of the log stops nothing else."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from time import sleep

MAX_QUEUED_BYTES = 2**20
"""The maximum size, in bytes, of the lines that wait for the thread. Further lines are dropped."""
BATCH_SECONDS = 0.02
"""The time, in seconds, for which the thread collects lines before it writes them with one system call. Otherwise each
request would wait until the thread has run."""
FLUSH_SECONDS = 1.0
"""The maximum time, in seconds, for which the end of the process waits for a stalled reader."""
_STDERR = 2


class LogWriter:
    """A bounded queue of log lines, and the thread that writes these lines to a file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.on_drop: Callable[[int], object] = lambda count: None
        """A callback that receives the number of lines that were dropped."""
        self._descriptor = descriptor
        self._lines: list[bytes] = []
        self._nbytes = 0
        self._lock = threading.Lock()
        self._filled = threading.Event()
        self._written = threading.Event()  # cleared while lines are queued or being written
        self._written.set()
        self._thread: threading.Thread | None = None
        self.waits = False
        """Whether `write` waits until the line is written. A process that may end at any time needs this."""

    def write(self, line: str) -> None:
        """Queue a line, or drop and count it if the queue is full."""
        data = line.encode(errors="backslashreplace") + b"\n"
        with self._lock:
            fits = self._nbytes + len(data) <= MAX_QUEUED_BYTES
            if fits:
                self._lines.append(data)
                self._nbytes += len(data)
                self._written.clear()
        if not fits:
            self.on_drop(1)
        elif not self._filled.is_set():
            self._start()
            self._filled.set()
        if self.waits:
            self.flush()

    def flush(self) -> None:
        """Wait until all queued lines are written, at most FLUSH_SECONDS."""
        if self._thread is not None and self._thread.is_alive() and not self._written.wait(FLUSH_SECONDS):
            self.waits = False  # a stalled reader delays the end only once

    def _start(self) -> None:
        """Start the thread, unless it is running. A forked process has no threads."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="axiscast-log", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            self._filled.wait()
            if not self.waits:
                sleep(BATCH_SECONDS)
            self._filled.clear()
            with self._lock:
                lines, self._lines, self._nbytes = self._lines, [], 0
            try:
                data = memoryview(b"".join(lines))
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:  # a full disk or a closed pipe
                self.on_drop(len(lines))
            with self._lock:
                if not self._lines:
                    self._written.set()


LOG_WRITER = LogWriter(_STDERR)
"""The writer of all log lines of this process."""
atexit.register(LOG_WRITER.flush)
