"""Calls made from the lines of other code.

A warning is attributed to the file, the module and the line of a frame, and filtered and counted there. A function that
stands between a line and what it calls would get the warnings of that line. So the call is made by a function that has
that line's file, number and globals. Nothing in `warnings` is changed, and no other thread notices.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

__all__ = ["CallSites"]

Caller = Callable[[Any, Sequence[Any], Mapping[str, Any] | None], Any]
"""Calls a function with arguments and keyword arguments."""

_DEPTH = 3
"""The frames above a call that a function written in Python may name in a warning, by `stacklevel`."""
_MAX_SITES = 10_000
_IN_C = (BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType)
"""The types of functions that are not written in Python, and warn at the line that calls them."""


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
        self.callers: dict[int, Caller] = {}
        """By the address of the instruction that calls: `id(frame.f_code) + frame.f_lasti`, inside the code object."""
        self._deep_callers: dict[tuple[int, ...], Caller] = {}
        self._codes: list[CodeType] = []
        """Keeps the code alive whose addresses are keys."""

    def caller(self, frame: FrameType, func: Any) -> Caller:
        """Return the function that calls `func`, and others, from the line where this frame is."""
        caller = self.callers.get(_address(frame))
        if caller is None:
            self._keep(frame)
            caller = self.callers[_address(frame)] = self._call_deep if _names_levels(func) else _caller(frame, None)
        return caller

    def _call_deep(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
        """Call from the line of the caller's `place`, itself called from the lines of the frames above it."""
        frame: FrameType | None = place(func, 2)
        frames: list[FrameType] = []
        while frame is not None and len(frames) < _DEPTH:
            frames.append(frame)
            frame = frame.f_back
        key = (*map(_address, frames),)
        caller = self._deep_callers.get(key)
        if caller is None:
            for frame in frames:
                self._keep(frame)
                caller = _caller(frame, caller)
            assert caller is not None
            self._deep_callers[key] = caller
        return caller(func, args, kwargs)

    def _keep(self, frame: FrameType) -> None:
        if len(self._codes) >= _MAX_SITES:
            self.callers.clear()
            self._deep_callers.clear()
            self._codes.clear()
        self._codes.append(frame.f_code)


def place(func: Any, depth: int = 1) -> FrameType:
    """Return the frame that calls an overridable function of torch, from a mode that is called in its place.

    A function that is written in Python has called torch's handler, and that the mode. `depth` is that of the mode.
    """
    try:
        return sys._getframe(depth + 3 if type(func) is FunctionType else depth + 1)
    except ValueError:  # a thread that runs the function itself
        return sys._getframe(depth + 1)


def _address(frame: FrameType) -> int:
    return id(frame.f_code) + frame.f_lasti


def _names_levels(func: Any) -> bool:
    """Return whether a function, or one that it calls by a global name, may warn with a `stacklevel`."""
    while isinstance(func, FunctionType):
        names = [name for name in func.__code__.co_names if name != "handle_torch_function"]  # warns of classes only
        called = [getattr(func.__globals__.get(name), "__code__", None) for name in names]
        for code in (func.__code__, *called):
            if isinstance(code, CodeType) and "stacklevel" in str((code.co_varnames, code.co_consts)):
                return True
        func = func.__dict__.get("__wrapped__")
    return func is not None and not isinstance(func, _IN_C)


def _caller(frame: FrameType, call: Caller | None) -> Caller:
    """Make a function with the identity of a frame: it calls what it is given, or passes it on to `call`."""
    code = frame.f_code
    template = _CALL if call is None else _PASS
    own = template.replace(
        co_filename=code.co_filename, co_firstlineno=frame.f_lineno, co_name=code.co_name, co_qualname=code.co_qualname
    )
    return FunctionType(own, frame.f_globals, code.co_name, call and (call,))
