"""A function that makes glibc return freed memory to the system."""

from __future__ import annotations

import ctypes

_MMAP_THRESHOLD = -3  # the constant M_MMAP_THRESHOLD in malloc.h


def unmap_freed_blocks() -> None:
    """Make glibc return each block larger than 128 KiB to the system when the block is freed.

    By default, glibc begins with the same threshold, but raises the threshold up to 32 MiB for each thread.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, 128 * 2**10)
