"""A fork server: a process that has imported the service and forks one for each test.

A fork takes 0.05 s of processor time, a new interpreter 0.6 s. The forked process runs the same `axiscast serve`. Only
its modules are already imported.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module

MODULES = (
    "axiscast.cli",
    "axiscast_service.app",
    "axiscast_service.http.listener",
    "axiscast_service.http.protocol",
    "axiscast_service.metrics",
    "axiscast_service.serve",
    "uvicorn.lifespan.on",
)
"""Modules that a service imports as it starts, with all that they import."""


class ForkedService:
    """A forked service, with the methods of subprocess.Popen that tests use."""

    def __init__(self, absent: str, port: int, environment: Mapping[str, str]) -> None:
        stderr, their_stderr = os.pipe()
        status, their_status = os.pipe()
        request = json.dumps({"port": port, "environment": dict(environment)}).encode()
        socket.send_fds(_server(absent), [request], [their_stderr, their_status])
        os.close(their_stderr)
        os.close(their_status)
        self.stderr = os.fdopen(stderr, errors="replace")
        self._status = os.fdopen(status, "rb", buffering=0)
        self.pid = int(self._status.readline())
        self.returncode: int | None = None
        self._log: list[bytes] = []

    def poll(self) -> int | None:
        """Return the exit status, or None while the service runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Return the exit status. If the service still runs after `timeout` seconds, raise TimeoutExpired."""
        if self.poll() is None and not select.select([self._status], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("axiscast serve", timeout)
        status = self.poll()
        assert status is not None
        return status

    def communicate(self, timeout: float) -> tuple[None, str]:
        """Return all that the service has written to stderr once it has ended."""
        end = time.monotonic() + timeout
        while not self.stderr.closed:
            if not select.select([self.stderr], [], [], max(0, end - time.monotonic()))[0]:
                raise subprocess.TimeoutExpired("axiscast serve", timeout)
            self._log.append(os.read(self.stderr.fileno(), 2**16))
            if not self._log[-1]:
                self.stderr.close()
        self.wait(max(0, end - time.monotonic()))
        return None, b"".join(self._log).decode(errors="replace")

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and its exit status is not yet reported
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@functools.cache
def _server(absent: str) -> socket.socket:
    """Return a connection to the process that forks services without these packages. It ends when this one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-P", __file__, str(theirs.fileno()), absent]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], start_new_session=True)

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# --- in the process that forks --------------------------------------------------------------------


def main() -> None:
    """Fork a service for each message on the connection, until its other end is closed."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    sys.modules |= dict.fromkeys(sys.argv[2].split())  # type: ignore[arg-type]
    for name in MODULES:
        if not (name.endswith(".listener") and "uvloop" in sys.argv[2]):  # the listener needs uvloop
            import_module(name)
    exec(os.environ.get("SERVICE_IMPORTS", ""))
    gc.collect()
    gc.freeze()  # else the first collection in each child copies every page
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, 2**20, 2)
        if not message:
            break
        if os.fork() == 0:
            connection.close()
            if _forked(*descriptors):
                return _serve(**json.loads(message))
        for descriptor in descriptors:
            os.close(descriptor)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _forked(stderr: int, status: int) -> bool:
    """Fork once more. Return True in the service. Its parent reports its process id and its exit status, and ends."""
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.dup2(stderr, sys.stderr.fileno())
        os.closerange(sys.stderr.fileno() + 1, max(stderr, status) + 1)
        return True
    try:
        os.close(stderr)
        os.setpgid(pid, pid)  # by both: whichever is first, the group exists once its number is reported
        os.write(status, b"%d\n" % pid)
        os.write(status, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    finally:
        os._exit(0)


def _serve(port: int, environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["axiscast", "serve", "--port", str(port)]
    import_module("axiscast.cli").main()


if __name__ == "__main__":
    main()
