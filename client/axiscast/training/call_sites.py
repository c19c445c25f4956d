"""Calls that look as if another line of code made them.

Python attributes a warning to the file, module and line of a stack frame. The watch is between the user's line and the
function that warns, so the warning would be attributed to the watch. To prevent this, the watch calls each function
from a generated function with the file, line and globals of the user's code. The module `warnings` is not changed.
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
"""A function that calls another one with arguments and keyword arguments."""

_MAX_STACK_LEVELS = 3
"""The number of frames above a call to which a function may attribute a warning by `stacklevel`."""
_MAX_SITES = 10_000
_C_FUNCTION_TYPES = (BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType)
"""The types of functions that are not written in Python. Such a function warns at the line that calls it."""


def _without_columns(source: str) -> CodeType:
    """Return the compiled body of a lambda without columns, so that tracebacks mark no part of a line."""
    tree = ast.parse(source, mode="eval")
    for node in ast.walk(tree):
        if hasattr(node, "col_offset"):
            node.col_offset = node.end_col_offset = -1  # type: ignore[attr-defined]
    (code,) = (part for part in compile(tree, "", "eval").co_consts if isinstance(part, CodeType))
    return code


_CALL = _without_columns("lambda func, args, kwargs: func(*args, **kwargs) if kwargs else func(*args)")
_PASS = _without_columns("lambda func, args, kwargs, call: call(func, args, kwargs)")


class CallSites:
    """The generated functions, one for each instruction that calls torch."""

    def __init__(self) -> None:
        self.callers: dict[int, Caller] = {}
        """The functions by the address of the calling instruction, which is `id(frame.f_code) + frame.f_lasti`."""
        self._deep_callers: dict[tuple[int, ...], Caller] = {}
        self._codes: list[CodeType] = []
        """The code objects whose addresses are keys. They must stay alive while their keys are in use."""

    def caller(self, frame: FrameType, func: Any) -> Caller:
        """Return the function that calls `func` as if from the line of this frame."""
        caller = self.callers.get(_address(frame))
        if caller is None:
            self._keep(frame)
            caller = self.callers[_address(frame)] = (
                self._call_deep if _may_use_stacklevel(func) else _caller(frame, None)
            )
        return caller

    def _call_deep(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
        """Call `func` as if from the line that calls it, with the lines of the frames above it on the stack too."""
        frame: FrameType | None = calling_frame(func, 2)
        frames: list[FrameType] = []
        while frame is not None and len(frames) < _MAX_STACK_LEVELS:
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


def calling_frame(func: Any, depth: int = 1) -> FrameType:
    """Return the frame that calls a function of torch, if this is called by a mode in place of that function.

    A function written in Python calls torch's handler, which calls the mode. `depth` is 1 if the mode calls
    `calling_frame` directly, and 2 if one other function is between them.
    """
    try:
        return sys._getframe(depth + 3 if type(func) is FunctionType else depth + 1)
    except ValueError:  # the thread runs the function itself, so nothing calls it
        return sys._getframe(depth + 1)


def _address(frame: FrameType) -> int:
    return id(frame.f_code) + frame.f_lasti


def _may_use_stacklevel(func: Any) -> bool:
    """Return whether a function may warn with a `stacklevel`, itself or in a global function that it calls."""
    while isinstance(func, FunctionType):
        # handle_torch_function warns about classes only.
        names = [name for name in func.__code__.co_names if name != "handle_torch_function"]
        called = [getattr(func.__globals__.get(name), "__code__", None) for name in names]
        for code in (func.__code__, *called):
            if isinstance(code, CodeType) and "stacklevel" in str((code.co_varnames, code.co_consts)):
                return True
        func = func.__dict__.get("__wrapped__")
    return func is not None and not isinstance(func, _C_FUNCTION_TYPES)


def _caller(frame: FrameType, call: Caller | None) -> Caller:
    """Return a function with the file, line and name of a frame, which calls a function itself or through `call`."""
    code = frame.f_code
    template = _CALL if call is None else _PASS
    own = template.replace(
        co_filename=code.co_filename, co_firstlineno=frame.f_lineno, co_name=code.co_name, co_qualname=code.co_qualname
    )
    return FunctionType(own, frame.f_globals, code.co_name, call and (call,))
