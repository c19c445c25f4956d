"""Translations of requests in which names, such as N, stand for sizes that are known only when the code runs.

A prime number stands for each name while the request is translated. In the answer, the name replaces the number. The
code reads the size from an input. A second translation, with other numbers, must give the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from math import isqrt
from typing import Any

from pydantic import ValidationError

from ..messages import TranslateAnswer, TranslateRequest
from ..ops import FRAMEWORKS
from ..ops.framework import NamedSize
from ..wire.dimensions import Symbol
from ..wire.problems import Problem

_FIRST_NUMBER = 10_007
_INTEGER = re.compile(r"(?<![\w.])\d{5,}(?![\w.])|(?<=[<x])\d{5,}(?=[x>])")
"""An integer in code, or in an MLIR type such as tensor<10007x16xf32>."""


def named_sizes(request: TranslateRequest) -> NumberedSizes | None:
    """Return the named sizes of a request, or None if all sizes are integers.

    Raises Problem (invalid-request) for a size without a name, such as 2.. or ?.
    """
    found: dict[str, tuple[int | None, int]] = {}
    places: list[tuple[int | str, int, Any]] = [
        (number, axis, size) for number, shape in enumerate(request.inputs) for axis, size in enumerate(shape)
    ]
    for number, axis, size in [*places, *request.op.symbols()]:
        if isinstance(size, Symbol):
            if size.name is None:
                detail = f"{size} is a size without a name: code needs an integer, or a name such as N"
                raise Problem(
                    "invalid-request", detail, pointer=f"/{'op' if isinstance(number, str) else 'inputs'}/{number}"
                )
            found.setdefault(size.name, (None if isinstance(number, str) else number, axis))
    return NumberedSizes(request, found) if found else None


class NumberedSizes:
    """The named sizes of a request, each with the input and the axis from which code can read it."""

    def __init__(self, request: TranslateRequest, found: Mapping[str, tuple[int | None, int]]) -> None:
        self._request, self._found = request, found

    def translated(self, translate: Callable[[TranslateRequest], TranslateAnswer]) -> TranslateAnswer:
        """Return the answer of `translate` with names. Raises Problem if no steps exist for every size."""
        answers = [self._named(numbers, translate) for numbers in self._numbers()]
        if answers[0] != answers[1]:
            raise Problem("untranslatable", "the steps depend on the sizes: translate with integers", pointer="/to")
        try:
            return TranslateAnswer.model_validate(answers[0])
        except ValidationError:
            detail = f"{self._request.to} takes only integers instead of {', '.join(self._found)}"
            raise Problem("untranslatable", detail, pointer="/to") from None

    def _numbers(self) -> Iterator[dict[str, int]]:
        """Yield two different numbers for each name. No integer of the request is a multiple of such a number."""
        others = [int(text) for text in re.findall(r"\d{5,}", self._request.model_dump_json())]
        primes: list[int] = []
        for number in count(_FIRST_NUMBER, 2):
            if len(primes) == 2 * len(self._found):
                break
            if all(number % divisor for divisor in range(3, isqrt(number) + 1, 2)):
                primes += [number] if all(other % number for other in others) else []
        yield dict(zip(self._found, primes, strict=False))
        yield dict(zip(self._found, reversed(primes), strict=False))

    def _named(
        self, numbers: Mapping[str, int], translate: Callable[[TranslateRequest], TranslateAnswer]
    ) -> dict[str, Any]:
        """Return the translation with these numbers as plain values, in which names replace the numbers."""
        names = {number: name for name, number in numbers.items()}
        try:
            answer = translate(self._numbered(numbers))
        except Problem as problem:
            raise _in_names(problem, names) from None
        plain: dict[str, Any] = answer.model_dump(exclude_none=True)
        code = plain["code"]["text"]
        named: dict[str, Any] = _replaced(plain, names)
        named["code"]["text"] = self._code(code, numbers)
        return named

    def _numbered(self, numbers: Mapping[str, int]) -> TranslateRequest:
        def numbered(shape: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(numbers[size.name or ""] if isinstance(size, Symbol) else size for size in shape)

        op = self._request.op
        changed = {name: numbered(getattr(op, name)) for name in {attribute for attribute, _, _ in op.symbols()}}
        op = type(op).model_validate(op.__dict__ | changed)
        return self._request.model_copy(update={"op": op, "inputs": [*map(numbered, self._request.inputs)]})

    def _code(self, text: str, numbers: Mapping[str, int]) -> str:
        """Return the code with an expression for each size. Its first line shows the names of the sizes."""
        head, body = text.split("\n", 1)
        names = {number: name for name, number in numbers.items()}
        words = FRAMEWORKS[self._request.to.partition(".")[0]]
        several = len(self._request.inputs) > 1
        sizes = [
            NamedSize(name, numbers[name], None if number is None else f"x{number}" if several else "x", axis)
            for name, (number, axis) in self._found.items()
        ]
        if callable(words.size):
            body = words.size(body, sizes)
        elif words.size is not None:
            expressions = {
                size.number: size.name
                if size.tensor is None
                else words.size.format(x=size.tensor, axis=size.axis, axis1=size.axis + 1)
                for size in sizes
            }
            body = _with_names(body, expressions)
        if _with_names(body, names) != body:
            sized = ", ".join(numbers)
            detail = f"code for {self._request.to} needs integers instead of {sized}"
            raise Problem("untranslatable", detail, pointer="/to")
        chosen = [size.name for size in sizes if size.tensor is None]
        note = f", and you choose {', '.join(chosen)}" if chosen else ""
        return f"{_with_names(head, names)}{note}\n{body}"


def _with_names(text: str, names: Mapping[int, str]) -> str:
    return _INTEGER.sub(lambda match: names.get(int(match[0]), match[0]), text)


def _replaced(value: Any, names: Mapping[int, str]) -> Any:
    """Return plain values with a name instead of each number."""
    if isinstance(value, dict):
        return {key: _replaced(item, names) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(item, names) for item in value]
    if isinstance(value, str):
        return _with_names(value, names)
    if type(value) is int:
        for number, name in names.items():
            if value and value != number and value % number == 0:
                detail = (
                    f"an axis of the translation has the size {value // number}*{name}, and code needs a name for it"
                )
                raise Problem("untranslatable", detail, pointer="/to")
        return names.get(value, value)
    return value


def _in_names(problem: Problem, names: Mapping[int, str]) -> Problem:
    """Return a problem with names instead of numbers in its message. A conflict depends on the sizes."""
    detail = _with_names(problem.detail, names)
    if problem.code == "incompatible-shapes":
        return Problem("untranslatable", f"the shapes do not fit for every size: {detail}", pointer="/inputs")
    return Problem(problem.code, detail, pointer=problem.pointer)
