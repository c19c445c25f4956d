"""Translations of requests in which names, such as N, stand for sizes that are known only when the code runs.

A prime number stands for each name while the request is translated. In the answer, the name replaces the number. The
code reads the size from an input. A second translation, with other numbers, must give the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
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


Translate = Callable[[TranslateRequest], TranslateAnswer]
FoundSizes = dict[str, tuple[int | None, int]]
"""The named sizes of a request, each with the input and the axis from which code can read it."""


def translate_by_name(request: TranslateRequest, translate: Translate) -> TranslateAnswer:
    """Return the answer of `translate`, which accepts only integers, with the names of the request's sizes.

    Raises Problem (invalid-request) for a size without a name, such as 2.. or ?, and Problem (untranslatable) if no
    steps exist for every size.
    """
    found = _find_names(request)
    if not found:
        return translate(request)
    answers = [_named(request, found, numbers, translate) for numbers in _numbers(request, found)]
    if answers[0] != answers[1]:
        raise Problem("untranslatable", "the steps depend on the sizes: translate with integers", pointer="/to")
    try:
        return TranslateAnswer.model_validate(answers[0])
    except ValidationError:
        detail = f"{request.to} takes only integers instead of {', '.join(found)}"
        raise Problem("untranslatable", detail, pointer="/to") from None


def _find_names(request: TranslateRequest) -> FoundSizes:
    found: FoundSizes = {}
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
    return found


def _numbers(request: TranslateRequest, found: FoundSizes) -> Iterator[dict[str, int]]:
    """Yield two different numbers for each name. No integer of the request is a multiple of such a number."""
    others = [int(text) for text in re.findall(r"\d{5,}", request.model_dump_json())]
    odd = count(_FIRST_NUMBER, 2)
    primes = (number for number in odd if all(number % divisor for divisor in range(3, isqrt(number) + 1, 2)))
    chosen = [*islice((prime for prime in primes if all(other % prime for other in others)), 2 * len(found))]
    yield dict(zip(found, chosen, strict=False))
    yield dict(zip(found, reversed(chosen), strict=False))


def _named(
    request: TranslateRequest, found: FoundSizes, numbers: Mapping[str, int], translate: Translate
) -> dict[str, Any]:
    """Return the translation with these numbers as plain values, in which names replace the numbers."""
    names = {number: name for name, number in numbers.items()}
    try:
        answer = translate(_numbered(request, numbers))
    except Problem as problem:
        raise _in_names(problem, names) from None
    plain: dict[str, Any] = answer.model_dump(exclude_none=True)
    named: dict[str, Any] = _replaced(plain, names)
    named["code"]["text"] = _code(request, found, plain["code"]["text"], numbers)
    return named


def _numbered(request: TranslateRequest, numbers: Mapping[str, int]) -> TranslateRequest:
    def numbered(shape: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(numbers[size.name or ""] if isinstance(size, Symbol) else size for size in shape)

    changed = {attribute: numbered(getattr(request.op, attribute)) for attribute, _, _ in request.op.symbols()}
    op = type(request.op).model_validate(request.op.__dict__ | changed)
    return request.model_copy(update={"op": op, "inputs": [*map(numbered, request.inputs)]})


def _code(request: TranslateRequest, found: FoundSizes, text: str, numbers: Mapping[str, int]) -> str:
    """Return the code with an expression for each size. Its first line shows the names of the sizes."""
    head, body = text.split("\n", 1)
    names = {number: name for name, number in numbers.items()}
    template = FRAMEWORKS[request.to.partition(".")[0]].size
    inputs = ["x"] if len(request.inputs) == 1 else [f"x{number}" for number in range(len(request.inputs))]
    sizes = [
        NamedSize(name, numbers[name], None if number is None else inputs[number], axis)
        for name, (number, axis) in found.items()
    ]
    if callable(template):
        body = template(body, sizes)
    elif template is not None:
        body = _with_names(body, {size.number: _expression(template, size) for size in sizes})
    if _with_names(body, names) != body:
        detail = f"code for {request.to} needs integers instead of {', '.join(numbers)}"
        raise Problem("untranslatable", detail, pointer="/to")
    chosen = [size.name for size in sizes if size.tensor is None]
    note = f", and you choose {', '.join(chosen)}" if chosen else ""
    return f"{_with_names(head, names)}{note}\n{body}"


def _expression(template: str, size: NamedSize) -> str:
    return size.name if size.tensor is None else template.format(x=size.tensor, axis=size.axis, axis1=size.axis + 1)


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
