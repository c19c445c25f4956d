"""Stack frames: which belong to torch, to installed packages, and to the user."""

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
    """Return whether code belongs to torch or to the watch, which are between the user's line and the operation."""
    torch = os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep
    return file.startswith((torch, _THIS_FOLDER, "<frozen", "<eval_with_key>"))


def is_installed(file: str) -> bool:
    """Return whether code belongs to the standard library or to an installed package."""
    return file.startswith(_STANDARD_LIBRARY) or any(folder in file for folder in _PACKAGE_FOLDERS)


def user_frame() -> FrameType:
    """Return the innermost frame of code that is not installed, or else of code that is not torch's."""
    frame: FrameType | None = sys._getframe(2)
    nearest = None
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_internal(file):
            if not is_installed(file):
                return frame
            nearest = nearest or frame
        frame = frame.f_back
    return nearest or sys._getframe(2)


def operation_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames from this one up to the user's code, where one expression may call all the others."""
    while frame is not None:
        yield frame
        file = frame.f_code.co_filename
        if not is_internal(file) and not is_installed(file):
            return
        frame = frame.f_back
