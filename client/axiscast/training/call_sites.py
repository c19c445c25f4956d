"""Generated functions that call a torch function as if the user's own line of code called the function.

Python attributes a warning to the file, module and line of a stack frame. The watch runs between the user's line and
the function that issues the warning, so Python would attribute the warning to the watch. To prevent this, the watch
calls each torch function from a generated function. The generated function has the file, line and globals of the user's
code. The `warnings` module is not changed.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any

__all__ = ["CallSites"]

Caller = Callable[[Any, Sequence[Any], Mapping[str, Any] | None], Any]
"""A function that calls the function in its first argument, with the given arguments and keyword arguments."""

_MAX_SITES = 10_000


def _without_columns(source: str) -> CodeType:
    """Return the compiled code of a lambda without column numbers, so that tracebacks mark no part of the line."""
    tree = ast.parse(source, mode="eval")
    for node in ast.walk(tree):
        if hasattr(node, "col_offset"):
            node.col_offset = node.end_col_offset = -1  # type: ignore[attr-defined]
    (code,) = (part for part in compile(tree, "", "eval").co_consts if isinstance(part, CodeType))
    return code


_CALL = _without_columns("lambda func, args, kwargs: func(*args, **kwargs) if kwargs else func(*args)")


class CallSites:
    """The cache of generated functions, with one function for each bytecode instruction that calls torch."""

    def __init__(self) -> None:
        self.callers: dict[int, Caller] = {}
        """The generated functions. The key is the address of the instruction: `id(frame.f_code) + frame.f_lasti`."""
        self._codes: list[CodeType] = []
        """The code objects whose addresses are used as keys. They must stay alive, so that no key is used twice."""

    def caller(self, frame: FrameType) -> Caller:
        """Return a function that calls a function as if the current line of this frame called it."""
        caller = self.callers.get(_address(frame))
        if caller is None:
            if len(self._codes) >= _MAX_SITES:
                self.callers.clear()
                self._codes.clear()
            self._codes.append(frame.f_code)
            caller = self.callers[_address(frame)] = _caller(frame)
        return caller


def calling_frame(func: Any) -> FrameType:
    """Return the frame that calls a torch function. Call this only from a torch function mode."""
    # If `func` is written in Python, two more frames are between its caller and the mode: `func` and torch's handler.
    own_frames = 2 if type(func) is FunctionType else 0
    try:
        return sys._getframe(2 + own_frames)
    except ValueError:  # `func` is a thread's entry point, so it has no caller
        return sys._getframe(2)


def _address(frame: FrameType) -> int:
    return id(frame.f_code) + frame.f_lasti


def _caller(frame: FrameType) -> Caller:
    """Return a generated function that has the file, line and name of a frame."""
    code = frame.f_code
    own = _CALL.replace(
        co_filename=code.co_filename, co_firstlineno=frame.f_lineno, co_name=code.co_name, co_qualname=code.co_qualname
    )
    return FunctionType(own, frame.f_globals, code.co_name)
