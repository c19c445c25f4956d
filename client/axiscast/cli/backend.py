"""The backend of a command, which is either the library in this process or a client of a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ..messages import CheckAnswer, CheckRequest
from .arguments import client_for


@contextmanager
def backend_for(url: str | None) -> Iterator[Any]:
    """Yield an object with the functions check, check_batch, compare, translate and why.

    If `url` is None, the object is the library. Otherwise the object is a client of the service at this URL.
    """
    if url is None:
        # `from .. import library` would search all public names, and so load every module of the package.
        yield import_module("axiscast.library")
    else:
        with client_for(url) as client:
            yield client


def run_check(request: CheckRequest, url: str | None) -> CheckAnswer:
    """Perform a check with the library or with the service, and return the answer."""
    with backend_for(url) as backend:
        options = request.model_dump(include={"dtype", "explain", "warn"}) | {"assume": request.assume}
        answer: CheckAnswer = backend.check(request.op, *request.inputs, **options)
        return answer
