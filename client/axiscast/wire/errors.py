"""The exceptions that every layer may raise to a caller; errors.py has the others, and all of them as a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class AxiscastError(Exception):
    """Everything that a client raises but for mistakes in its own arguments (ValueError, TypeError)."""

    request_id: str | None = None
    """The X-Request-ID of the answer, under which the service's log and span have the request; None where there was no
    answer."""


class ServiceProblem(AxiscastError):
    """The service refused: `code`, `status`, `detail`, a JSON `pointer` to what is wrong, and further `facts`.

    A code that has no class of its own raises this one.
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
    """The request does not fit the schema, or an op was made with attributes that it does not take; a ValueError, as
    NumPy raises for a negative size."""

    code = "invalid-request"


class UnknownOp(ServiceProblem):
    """There is no such op."""

    code = "unknown-op"


def _text(document: Mapping[str, Any], member: str) -> str | None:
    """A member that is a string; None where it is something else, which may be of any size and depth."""
    value = document.get(member)
    return value if isinstance(value, str) else None
