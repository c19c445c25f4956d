"""Generated functions that call a torch function as if the user's own line of code called the function.

Python attributes a warning to the file, module and line of a stack frame. The watch runs between the user's line and
the function that issues the warning, so Python would attribute the warning to the watch. To prevent this, the watch
calls each torch function from a generated function. The generated function has the file, line and globals of the user's
code. The `warnings` module is not changed.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any

__all__ = ["CallSites"]

Caller = Callable[[Any, Sequence[Any], Mapping[str, Any] | None], Any]
"""A function that calls the function in its first argument, with the given arguments and keyword arguments."""

_MAX_STACK_LEVELS = 3
"""The number of stack frames above a call that are imitated for functions that issue warnings with a `stacklevel`."""
_MAX_SITES = 10_000
_METHOD_TYPES = (types.MethodDescriptorType, types.MethodWrapperType, types.WrapperDescriptorType)
_C_FUNCTION_TYPES = (types.BuiltinFunctionType, *_METHOD_TYPES)
"""The types of functions that are not written in Python. A warning from such a function is attributed to the calling
line."""


def _without_columns(source: str) -> CodeType:
    """Return the compiled code of a lambda without column numbers, so that tracebacks mark no part of the line."""
    tree = ast.parse(source, mode="eval")
    for node in ast.walk(tree):
        if hasattr(node, "col_offset"):
            node.col_offset = node.end_col_offset = -1  # type: ignore[attr-defined]
    (code,) = (part for part in compile(tree, "", "eval").co_consts if isinstance(part, CodeType))
    return code


_CALL = _without_columns("lambda func, args, kwargs: func(*args, **kwargs) if kwargs else func(*args)")
_PASS = _without_columns("lambda func, args, kwargs, call: call(func, args, kwargs)")


class CallSites:
    """The cache of generated functions, with one function for each bytecode instruction that calls torch."""

    def __init__(self) -> None:
        self.callers: dict[int, Caller] = {}
        """The generated functions. The key is the address of the instruction: `id(frame.f_code) + frame.f_lasti`."""
        self._deep_callers: dict[tuple[int, ...], Caller] = {}
        self._codes: list[CodeType] = []
        """The code objects whose addresses are used as keys. They must stay alive, so that no key is used twice."""

    def caller(self, frame: FrameType, func: Any) -> Caller:
        """Return a function that calls `func` as if the current line of this frame called it.

        If `func` may issue a warning with a `stacklevel`, the function also imitates the frames above the line. These
        can differ in each call, so they are looked up when the function is called.
        """
        caller = self.callers.get(_address(frame))
        if caller is None:
            self._keep(frame)
            caller = self._call_deep if _may_use_stacklevel(func) else _caller(frame, None)
            self.callers[_address(frame)] = caller
        return caller

    def _call_deep(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
        """Call `func` through several generated functions, which imitate the calling line and the frames above it."""
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
    """Return the frame that calls a torch function. Call this only from a torch function mode.

    `depth` is 1 if the mode calls `calling_frame` directly, and 2 if the mode calls `calling_frame` through one other
    function.
    """
    # If `func` is written in Python, two more frames are between its caller and the mode: `func` and torch's handler.
    own_frames = 2 if type(func) is FunctionType else 0
    try:
        return sys._getframe(depth + 1 + own_frames)
    except ValueError:  # `func` is a thread's entry point, so it has no caller
        return sys._getframe(depth + 1)


def _address(frame: FrameType) -> int:
    return id(frame.f_code) + frame.f_lasti


def _may_use_stacklevel(func: Any) -> bool:
    """Return whether a function, or a global function that it calls, may issue a warning with a `stacklevel`."""
    while isinstance(func, FunctionType):
        # handle_torch_function is ignored, because it issues warnings only about classes.
        names = [name for name in func.__code__.co_names if name != "handle_torch_function"]
        called = [getattr(func.__globals__.get(name), "__code__", None) for name in names]
        for code in (func.__code__, *called):
            if isinstance(code, CodeType) and "stacklevel" in str((code.co_varnames, code.co_consts)):
                return True
        func = func.__dict__.get("__wrapped__")
    return func is not None and not isinstance(func, _C_FUNCTION_TYPES)


def _caller(frame: FrameType, call: Caller | None) -> Caller:
    """Return a generated function that has the file, line and name of a frame.

    The generated function calls the torch function directly, or through `call` if `call` is not None.
    """
    code = frame.f_code
    template = _CALL if call is None else _PASS
    own = template.replace(
        co_filename=code.co_filename, co_firstlineno=frame.f_lineno, co_name=code.co_name, co_qualname=code.co_qualname
    )
    return FunctionType(own, frame.f_globals, code.co_name, call and (call,))
