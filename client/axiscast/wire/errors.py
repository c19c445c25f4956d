"""The exceptions that every layer may raise. `axiscast.errors` defines the others, and lists all of them."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from typing import Any


class AxiscastError(Exception):
    """Base class of all exceptions in this package, except ValueError and TypeError for invalid arguments."""

    request_id: str | None = None
    """The X-Request-ID of the response, which also appears in the service's log and traces.

    The value is None if there was no response.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, with which worker processes of multiprocessing and Dask send their exceptions."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ServiceProblem(AxiscastError):
    """The service refused the request.

    `code`, `status` and `detail` describe the problem. `pointer` is a JSON Pointer to the invalid field. `errors` lists
    all faults of the request, each with a `detail` and its `pointer` or `parameter`. str() shows the details of all
    faults. `facts` holds the additional members of the problem document. Problem codes that have no exception class of
    their own raise this class.
    """

    code: str = ""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.code = _string_member(document, "code") or self.code
        self.status = document.get("status")
        self.detail = _string_member(document, "detail") or ""
        self.pointer = _string_member(document, "pointer")
        errors = document.get("errors")
        self.errors = (
            [_fault(error) for error in errors if isinstance(error, Mapping)] if isinstance(errors, list) else []
        )
        attributes = ("type", "title", "status", "detail", "code", "pointer", "parameter", "errors")
        self.facts: dict[str, Any] = {key: value for key, value in document.items() if key not in attributes}
        super().__init__("; ".join(error["detail"] for error in self.errors) or self.detail or self.code)

    def __bool__(self) -> bool:
        return False  # in the results of a batch, only an answer whose shapes broadcast is true


class InvalidRequest(ServiceProblem, ValueError):
    """The request, or an attribute of its op, is not valid.

    This exception is also a ValueError, because NumPy raises ValueError for errors such as a negative size.
    """

    code = "invalid-request"


class InvalidType(InvalidRequest, TypeError):
    """A value in the request, or in an attribute of its op, has the wrong type.

    Python calls raise this exception. For an HTTP request, the code is that of InvalidRequest.
    """


class UnknownOp(ServiceProblem):
    """The requested op does not exist."""

    code = "unknown-op"


def _fault(error: Mapping[str, Any]) -> dict[str, str]:
    """Return the members of a fault that are strings. The `detail` is always present."""
    members = {
        name: text for name in ("detail", "pointer", "parameter") if (text := _string_member(error, name)) is not None
    }
    return {"detail": ""} | members


def _string_member(document: Mapping[str, Any], member: str) -> str | None:
    """Return a member of the problem document if the member is a string. Otherwise, return None."""
    value = document.get(member)
    return value if isinstance(value, str) else None
