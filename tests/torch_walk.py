"""A search for the functions of torch that broadcast, by calling them.

A function broadcasts two arguments if its result for (3, 1) and (3,) equals that for two arguments of shape (3, 3). It
is called in a separate process, because some functions crash. tests/training/test_torch_functions.py runs the search.
"""

from __future__ import annotations

import itertools
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode, get_testing_overrides
from torch.utils._pytree import tree_leaves

N = 3
DTYPES = ["ff", "ii", "bb", "fb", "bf", "if", "cc"]
"""The dtypes of the two operands: float, integer, bool, complex."""
HOMES = {
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.special": torch.special,
    "torch.linalg": torch.linalg,
    "torch.nn.functional": torch.nn.functional,
    "torch.fft": torch.fft,
}
HARMFUL = {"set_", "resize_as_", "quantize_per_tensor", "__setstate__", "__reduce_ex__", "manual_seed", "compile"}
"""The functions that change or crash the process."""


class Call(NamedTuple):
    """A way to call a function with operands of shapes (3, 1) and (3,)."""

    arguments: tuple[Any, ...]
    """The arguments: numbers, "column", "row", "full" (shape (3, 3)), and lists of these."""
    dtypes: str
    is_in_place: bool

    def operands(self, is_expanded: bool) -> list[Any]:
        """Return the arguments; the two operands as they are, or expanded by hand."""
        column, row = _tensor(self.dtypes[0], (N, 1), 1), _tensor(self.dtypes[1], (N,), 2)
        if is_expanded:
            column, row = [each.clone() for each in torch.broadcast_tensors(column, row)]
        tensors = {"column": column, "row": row}

        def made(argument: Any) -> Any:
            if isinstance(argument, tuple):
                return [made(each) for each in argument]
            if argument == "full":
                return _tensor(self.dtypes[0], (N, N), 3)
            return tensors.get(argument, argument) if isinstance(argument, str) else argument

        return [made(argument) for argument in self.arguments]

    def result(self, function: Callable[..., Any], is_expanded: bool) -> Any:
        """Return the result of the function."""
        arguments = self.operands(is_expanded)
        torch.manual_seed(0)
        result = function(*arguments)
        if result is NotImplemented:
            raise TypeError("an operator that does not take these")
        return arguments[0] if self.is_in_place else result


class Seen(TorchFunctionMode):
    """A mode that records the functions that are called in it."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.functions.append(func)
        return func(*args, **(kwargs or {}))


def functions() -> Iterator[tuple[str, Any, tuple[int, int]]]:
    """Yield all functions by name, with the smallest and the largest number of arguments."""
    overrides = get_testing_overrides()
    met = set()
    for home, names in HOMES.items():
        for name in sorted(dir(names)):
            function = getattr(names, name)
            is_private = name.startswith("_") and not name.startswith(("__", "_foreach_"))
            if id(function) in met or name in HARMFUL or is_private or not callable(function):
                continue
            override = overrides.get(function)
            if override is None and not name.startswith("_foreach_"):
                continue
            met.add(id(function))
            yield f"{home}.{name}", function, _counts(override)


def parameters(function: Any, count: int) -> tuple[str, ...]:
    """Return the names of the first parameters of a function, or nothing if they are not known."""
    override = get_testing_overrides().get(function)
    names = override.__code__.co_varnames[: override.__code__.co_argcount] if override is not None else ()
    return names[:count] if len(names) >= count and "out" not in names[:count] else ()


def _counts(override: Any) -> tuple[int, int]:
    if override is None:
        return 1, 3
    code = override.__code__
    most = code.co_argcount if not code.co_flags & 4 else 4
    return code.co_argcount - len(override.__defaults__ or ()), most


def calls(name: str, counts: tuple[int, int]) -> Iterator[Call]:
    """Yield the ways to pass two operands to a function, with other arguments."""
    last = name.rpartition(".")[2]
    is_in_place = (last.endswith("_") and not last.endswith("__")) or last in _IN_PLACE
    for dtypes in DTYPES:
        lists = [(("column", "row"),), (("column",), ("row",)), (("row",), ("column",), ("row",))]
        for arguments in lists if "_foreach_" in name or counts[1] == 4 or counts[0] == 1 else ():
            if not is_in_place:
                yield Call(arguments, dtypes, is_in_place)
            elif len(arguments) > 1:
                yield Call((("full",), *arguments[1:]), dtypes, is_in_place)
        for count in range(max(2, counts[0]), min(4, counts[1]) + 1):
            for one, other in itertools.permutations(range(count), 2):
                for rest in (1, 0, "row", "full") if count > 2 else (1,):
                    shown = [rest] * count
                    shown[one], shown[other] = "column", "row"
                    if is_in_place:
                        shown[0] = "full"
                    yield Call(tuple(shown), dtypes, is_in_place)


_IN_PLACE = {
    *("__iadd__", "__isub__", "__imul__", "__idiv__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__"),
    *("__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__"),
}


def broadcasting(function: Any, ways: Iterator[Call]) -> Call | None:
    """Return the first way in which a function broadcasts, if there is one."""
    for way in ways:
        try:
            one, other = way.result(function, is_expanded=False), way.result(function, is_expanded=True)
            if are_equal(one, other):
                return way
        except Exception:  # the arguments are guesses: most are refused, each function in its own way
            continue
    return None


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two results are equal and contain a tensor or a truth value."""
    ones, others = tree_leaves(one), tree_leaves(other)
    if len(ones) != len(others) or not any(isinstance(each, torch.Tensor | bool) for each in ones):
        return False
    for first, second in zip(ones, others, strict=True):
        if type(first) is not type(second):
            return False
        if isinstance(first, torch.Tensor):
            if first.shape != second.shape or first.dtype != second.dtype:
                return False
            wide = torch.complex128
            if not torch.allclose(first.to(wide), second.to(wide), equal_nan=True, atol=1e-4):
                return False
        elif first != second:
            return False
    return True


def _tensor(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    values = torch.rand(shape, generator=generator) * 0.6 + 0.2
    match dtype:
        case "i":
            return (values * 5).long()
        case "b":
            return values > 0.5
        case "c":
            return torch.complex(values, 1 - values)
    return values


def overloads() -> Iterator[tuple[str, Any]]:
    """Yield the overloads of aten that take two or more tensors and write to none of them."""
    names = sorted({name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if "aten::" in name})
    for full in names:
        name, _, overload = full.partition(".")
        if name.startswith("_") and not name.startswith(("_foreach_", "__")):
            continue
        found = getattr(getattr(torch.ops.aten, name), overload or "default", None)
        if found is None or any(argument.is_out for argument in found._schema.arguments):
            continue
        types = [str(argument.type) for argument in found._schema.arguments]
        if sum("Tensor" in each for each in types) > 1 or any("List[" in each and "Tensor" in each for each in types):
            yield f"aten.{name}.{overload or 'default'}", found


_FILL = {
    "number": 1, "int": 1, "SymInt": 1, "float": 0.5, "bool": False, "List[int]": (0,), "List[SymInt]": (0,),
    "str": "none", "ScalarType": torch.float32,
}  # fmt: skip


def calls_of_overload(overload: Any) -> Iterator[Call]:
    """Yield the ways to pass two operands to an overload."""
    arguments = [each for each in overload._schema.arguments if not each.kwarg_only]
    types = [str(each.type) for each in arguments]
    tensors = [number for number, type_ in enumerate(types) if "Tensor" in type_]
    is_in_place = overload._schema.is_mutable
    pairs = [*itertools.permutations(tensors, 2), *((each, each) for each in tensors if "List" in types[each])]
    for dtypes, (one, other), rest in itertools.product(DTYPES, pairs, ("row", "full")):
        shown: list[Any] = []
        for number, (argument, type_) in enumerate(zip(arguments, types, strict=True)):
            operand = "column" if number == one else "row" if number == other else rest
            if number in (one, other):
                shown.append(operand if "List" not in type_ else ("column", "row") if one == other else (operand,))
            elif argument.has_default_value() or type_.startswith("Optional"):
                shown.append(argument.default_value if argument.has_default_value() else None)
            elif "Tensor" in type_:
                shown.append((rest,) if "List" in type_ else rest)
            else:
                shown.append(_FILL.get(type_))
        if is_in_place:
            shown[0] = ("full",) * len(shown[0]) if isinstance(shown[0], tuple) else "full"
        if not is_in_place or one != other:
            yield Call(tuple(shown), dtypes, is_in_place)


def walk(tried: list[tuple[str, Any, Callable[[], Iterator[Call]]]]) -> dict[str, Call]:
    """Return the ways in which functions broadcast, by name. Processes try a few functions each."""
    found: dict[str, Call] = {}
    waiting = [tried[start : start + 40] for start in range(0, len(tried), 40)]
    while waiting:
        part = waiting.pop()
        answer = _in_a_process(part)
        if answer is not None:
            found |= answer
        elif len(part) > 1:
            waiting += [part[: len(part) // 2], part[len(part) // 2 :]]
    return found


def _in_a_process(part: list[tuple[str, Any, Callable[[], Iterator[Call]]]]) -> dict[str, Call] | None:
    """Return the result of a process, or None if it crashed."""
    reader, writer = os.pipe()
    if (process := os.fork()) == 0:
        try:
            os.close(reader)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            torch.set_num_threads(1)
            warnings.simplefilter("ignore")
            found = {name: way for name, each, ways in part if (way := broadcasting(each, ways()))}
            with os.fdopen(writer, "wb") as file:
                pickle.dump({name: tuple(way) for name, way in found.items()}, file)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        data = file.read()
    _, status = os.waitpid(process, 0)
    return {name: Call(*way) for name, way in pickle.loads(data).items()} if status == 0 else None
