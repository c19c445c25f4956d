"""A test of many cases that runs as one test, because pytest takes 5 ms of processor time for each test."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]
Parameter = type(pytest.param())


def cases(
    names: str | Sequence[str], values: Iterable[Any], ids: Iterable[object] | Callable[[Any], object] | None = None
) -> Callable[[Test], Test]:
    """Return a decorator with the arguments of `pytest.mark.parametrize`. All cases run, and failed ones are listed.

    All cases share the test's fixtures. A test that changes a fixture, or takes long, needs parametrize instead.
    """
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    parameters = [value if isinstance(value, Parameter) else pytest.param(value) for value in values]
    rows = [each.values[0] if len(each.values) == 1 and len(fields) > 1 else each.values for each in parameters]
    assert rows
    assert not any(each.marks for each in parameters)
    labels = list(map(str, [] if ids is None or callable(ids) else ids))
    if not labels:
        written = repr if ids is None else ids
        labels = [each.id or "-".join(map(str, map(written, row))) for each, row in zip(parameters, rows, strict=True)]

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failed = []
            for label, row in zip(labels, rows, strict=True):
                try:
                    test(**fixtures, **dict(zip(fields, row, strict=True)))
                except (Exception, pytest.fail.Exception):
                    failed.append(f"--- {label[:200]}\n{traceback.format_exc()}")
            if failed:
                pytest.fail(f"{len(failed)} of {len(rows)} cases failed\n" + "\n".join(failed[:20]), pytrace=False)

        others = [parameter for name, parameter in signature.parameters.items() if name not in fields]
        assert len(others) == len(signature.parameters) - len(fields), "the test takes no such argument"
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate
