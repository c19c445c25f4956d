"""Run every program, and write its result and its warnings: python -m watched WAY FILE.

WAY is `alone`, `mode` (one that does nothing) or `watch`. `plugin` is `under_pytest.py`.
"""

from __future__ import annotations

import inspect
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

MODULES = ("compiling", "gradients", "tensors", "saying")


def programs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The names of all programs, and the functions."""
    from importlib import import_module

    for name in MODULES:
        module = import_module(f"watched.{name}")
        for own, function in [*vars(module).items()]:
            if own[0] != "_" and inspect.isfunction(function) and function.__module__ == module.__name__:
                yield f"{name}.{own}", function


def facts(value: Any) -> Any:
    """Write a result in values that compare by equality, tensors bit for bit."""
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        kind = type(value).__name__, str(value.dtype), tuple(value.shape), str(value.layout), value.requires_grad
        value = value.detach()
        value = value.to_dense() if value.layout != torch.strided else value
        value = value.as_subclass(torch.Tensor).resolve_conj().resolve_neg()
        return (*kind, bytes(value.flatten().clone(memory_format=torch.contiguous_format).view(torch.uint8).tolist()))
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, dict):
        return [(key, facts(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(facts, value)]
    return repr(value)


def outcome(program: Callable[[], Any], context: Callable[[], AbstractContextManager[Any]]) -> tuple[Any, list[Any]]:
    """Return the result or the error of a program, and its warnings as (category, text, file, line)."""
    import torch

    torch.manual_seed(0)
    torch._dynamo.reset()
    result: Any
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with context():
                result = program()
        except Exception as error:
            cause = error.__cause__
            result = "raised", type(error).__qualname__, str(error), type(cause).__qualname__, str(cause)
    said = [(warning.category.__name__, str(warning.message), warning.filename, warning.lineno) for warning in caught]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # instances of the programs' own classes
        return facts(result), said


def contexts(way: str) -> Callable[[], AbstractContextManager[Any]]:
    """The context of a way to run programs."""
    from torch.overrides import TorchFunctionMode

    import axiscast

    class Nothing(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    return {"alone": nullcontext, "mode": Nothing, "watch": axiscast.watch}[way]


def run(way: str, file: str) -> None:
    """Run the programs, and write {name: (result, warnings)}."""
    import torch

    torch.set_num_threads(1)
    context = contexts(way)
    Path(file).write_bytes(pickle.dumps({name: outcome(program, context) for name, program in programs()}))


if __name__ == "__main__":
    run(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # without waiting for threads that programs left running
