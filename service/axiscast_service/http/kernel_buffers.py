"""The buffers of a connection in the kernel. The memory limit of a container includes these buffers."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress

from ..runtime.budget import FREE_BYTES

try:
    from fcntl import ioctl
    from termios import FIONREAD
except ImportError:  # on Windows
    ioctl = None  # type: ignore[assignment]

RECEIVE_BYTES = 40 * 2**10
"""The value of SO_RCVBUF between long bodies. Linux doubles this value. Without it, Linux would grow the receive buffer
to several MiB during an upload, and keep this size for requests that the service does not read yet. With 1000
connections, these buffers fit in the container of the default budget (docs/evidence/limits.md)."""
_SO_BUF_LOCK = 72  # since Linux 5.16


def _can_unlock() -> bool:
    """Return whether the system can grow the receive buffer again after its size was set."""
    with socket.socket() as probe, suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, _SO_BUF_LOCK, 0)
        return True
    return False


CAN_UNLOCK = _can_unlock()


def limit_send_buffer(connection: socket.socket) -> None:
    """Limit the unsent data in the kernel. Otherwise the kernel buffers 4 MiB for a client that reads nothing."""
    if hasattr(socket, "TCP_NOTSENT_LOWAT") and connection.family != socket.AF_UNIX:
        with suppress(OSError, ValueError):  # the system lacks this option, or the connection has ended
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, FREE_BYTES)


def limit_receive_buffer(connection: socket.socket) -> None:
    """Limit the unread data in the kernel. Further data is dropped, and the client has to send it again."""
    with suppress(OSError, ValueError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)


def grow_receive_buffer(connection: socket.socket) -> None:
    """Let the kernel grow the receive buffer, which a long body over a long distance needs."""
    with suppress(OSError, ValueError):
        connection.setsockopt(socket.SOL_SOCKET, _SO_BUF_LOCK, 0)


def unread_bytes(connection: socket.socket) -> int:
    """Return the number of received bytes that are still in the kernel, or 0 if it is unknown."""
    if ioctl is None:
        return 0
    try:
        return int.from_bytes(ioctl(connection.fileno(), FIONREAD, bytes(4)), "little")
    except (OSError, ValueError):  # the connection has ended
        return 0


def reset_on_close(connection: socket.socket) -> None:
    """Make the close discard unsent data and send a reset. Otherwise the kernel keeps up to 4 MiB for minutes."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def is_closed(connection: socket.socket) -> bool:
    """Return whether the connection has ended, or the client has reset it and the event loop has not noticed yet."""
    if connection.fileno() < 0 or not hasattr(socket, "TCP_INFO"):
        return connection.fileno() < 0
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _TCP_CLOSE
    except OSError:
        return False


_TCP_CLOSE = 7
