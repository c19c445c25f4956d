"""The exceptions that every layer may raise. axiscast/errors.py has the others, and the tree of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class AxiscastError(Exception):
    """Base class of all exceptions of this package, except ValueError and TypeError for mistaken arguments."""

    request_id: str | None = None
    """The X-Request-ID of the response, which the service writes to its log and traces. None without a response."""


class ServiceProblem(AxiscastError):
    """The request was refused: `code`, `status`, `detail`, a JSON `pointer` to the invalid field, and more `facts`.

    Codes without their own class raise this class.
    """

    code: str = ""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.code = _text(document, "code") or self.code
        self.status = document.get("status")
        self.detail = _text(document, "detail") or ""
        self.pointer = _text(document, "pointer")
        attributes = ("type", "title", "status", "detail", "code", "pointer")
        self.facts: dict[str, Any] = {key: value for key, value in document.items() if key not in attributes}
        super().__init__(self.detail or self.code)


class InvalidRequest(ServiceProblem, ValueError):
    """The request or the attributes of an op are not valid.

    It is a ValueError, which NumPy also raises for a negative size.
    """

    code = "invalid-request"


class UnknownOp(ServiceProblem):
    """The op does not exist."""

    code = "unknown-op"


def _text(document: Mapping[str, Any], member: str) -> str | None:
    """Return a member of the document if it is a string, and otherwise None."""
    value = document.get(member)
    return value if isinstance(value, str) else None
