"""Calls made from the lines of other code.

A warning is attributed to the file, the module and the line of a frame, and filtered and counted there. A function that
stands between a line and what it calls would get the warnings of that line. So the call is made by a function that has
that line's file, number and globals. Nothing in `warnings` is changed, and no other thread notices.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any

__all__ = ["CallSites"]

Caller = Callable[[Any, Sequence[Any], Mapping[str, Any] | None], Any]
"""Calls a function with arguments and keyword arguments."""

_DEPTH = 3
"""The frames above a call that a function written in Python may name in a warning, by `stacklevel`."""
_MAX_SITES = 10_000


def _without_columns(source: str) -> CodeType:
    """Compile a lambda so that tracebacks mark no part of the line that is shown for it."""
    tree = ast.parse(source, mode="eval")
    for node in ast.walk(tree):
        if hasattr(node, "col_offset"):
            node.col_offset = node.end_col_offset = -1  # type: ignore[attr-defined]
    (code,) = (part for part in compile(tree, "", "eval").co_consts if isinstance(part, CodeType))
    return code


_CALL = _without_columns("lambda func, args, kwargs: func(*args, **kwargs) if kwargs else func(*args)")
_PASS = _without_columns("lambda func, args, kwargs, call: call(func, args, kwargs)")


class CallSites:
    """The functions that call from the lines of other code, made once for each place."""

    def __init__(self) -> None:
        self._callers: dict[tuple[int, ...], Caller] = {}
        self._codes: list[CodeType] = []
        """Keeps the code alive whose ids are in the keys."""
        self.get = self._callers.get
        """The caller for `(id(frame.f_code), frame.f_lasti)`, if it was made."""

    def add(self, frame: FrameType) -> Caller:
        """Make the function that calls from the line where this frame is."""
        return self._keep((id(frame.f_code), frame.f_lasti), [frame])

    def deep(self, frame: FrameType | None) -> Caller:
        """Return a function that calls from the line where this frame is, itself called from its callers' lines."""
        key: tuple[int, ...] = ()
        frames: list[FrameType] = []
        while frame is not None and len(frames) < _DEPTH:
            key = (*key, id(frame.f_code), frame.f_lasti)
            frames.append(frame)
            frame = frame.f_back
        # One frame has the key of `add`, and the same function.
        return self.get(key) or self._keep(key, frames)

    def _keep(self, key: tuple[int, ...], frames: Sequence[FrameType]) -> Caller:
        if len(self._callers) >= _MAX_SITES:
            self._callers.clear()
            self._codes.clear()
        caller: Caller | None = None
        for frame in frames:
            caller = _caller(frame, caller)
            self._codes.append(frame.f_code)
        assert caller is not None
        self._callers[key] = caller
        return caller


def _caller(frame: FrameType, call: Caller | None) -> Caller:
    """Make a function with the identity of a frame: it calls what it is given, or passes it on to `call`."""
    code = frame.f_code
    template = _CALL if call is None else _PASS
    own = template.replace(
        co_filename=code.co_filename, co_firstlineno=frame.f_lineno, co_name=code.co_name, co_qualname=code.co_qualname
    )
    return FunctionType(own, frame.f_globals, code.co_name, call and (call,))
