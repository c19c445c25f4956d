"""Functions that determine whether a stack frame is from torch, an installed package or the user's code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import FrameType

__all__ = ["is_installed", "is_internal", "operation_frames", "user_frame"]

_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGE_FOLDERS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_THIS_FOLDER = os.path.dirname(__file__) + os.sep


def is_internal(file: str) -> bool:
    """Return whether a file is part of torch or the watch. Their frames are skipped to find the user's line."""
    torch = os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep
    return file.startswith((torch, _THIS_FOLDER, "<frozen", "<eval_with_key>"))


def is_installed(file: str) -> bool:
    """Return whether a file is part of the standard library or of an installed package."""
    return file.startswith(_STANDARD_LIBRARY) or any(folder in file for folder in _PACKAGE_FOLDERS)


def user_frame() -> FrameType:
    """Return the innermost stack frame of the user's code.

    If all code is installed, return the innermost frame that is not from torch or the watch.
    """
    frames = [*operation_frames(sys._getframe(2))]
    outside = [frame for frame in frames if not is_internal(frame.f_code.co_filename)] or frames
    return outside[0] if is_installed(outside[-1].f_code.co_filename) else outside[-1]


def operation_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield this frame and its callers, up to and including the first frame of the user's code.

    A single expression in the user's code may have called all the other yielded frames.
    """
    while frame is not None:
        yield frame
        file = frame.f_code.co_filename
        if not is_internal(file) and not is_installed(file):
            return
        frame = frame.f_back
