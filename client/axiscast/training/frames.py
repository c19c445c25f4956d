"""Frames: whose code calls torch, and which of it is a user's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import FrameType

__all__ = ["is_between", "is_installed", "own_frames", "user_frame"]

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_SITES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_OWN = os.path.dirname(__file__) + os.sep


def is_between(file: str) -> bool:
    """Whether code is torch's or this package's, which stands between a call and what is told of it."""
    torch = os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep
    return file.startswith((torch, _OWN, "<frozen", "<eval_with_key>"))


def is_installed(file: str) -> bool:
    return file.startswith(_LIBRARY) or any(site in file for site in _SITES)


def user_frame() -> FrameType:
    """The innermost frame of code that is not installed; where all is, of what is not torch's."""
    frame: FrameType | None = sys._getframe(2)
    nearest = None
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_between(file):
            if not is_installed(file):
                return frame
            nearest = nearest or frame
        frame = frame.f_back
    return nearest or sys._getframe(2)


def own_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames from this one to that of code that is not installed, in which an expression may call the others."""
    while frame is not None:
        yield frame
        file = frame.f_code.co_filename
        if not is_between(file) and not is_installed(file):
            return
        frame = frame.f_back
