"""The exceptions of this package.

AxiscastError
  ServiceProblem            the request was refused; .code is the reason. Codes that a program can handle have a class:
    IncompatibleShapes      also a ValueError, like the error of NumPy; has .conflict
    InvalidRequest          the request or an op is not valid, such as a negative size; also a ValueError
    UnknownOp  InvalidTensor                                     the op does not exist; a tensor is not valid
    NotStrided                                                   use layout="dense"
    OutputTooLarge  WorkTooLarge  BodyTooLarge                   a limit; has .facts["limit"]
    Untranslatable          the op of the other framework can't express it; the detail says why
    Unauthenticated         the service requires a valid api_key
    MisdirectedRequest      the service does not allow the host name in the URL
    RequestTimeout          the request arrived too slowly
    Overloaded  ShuttingDown                                     raised after the last retry
    InternalError           the service failed
  UnexpectedStatus          a status without a problem document, for example from a proxy; has .status
  ConnectionFailed          the service can't be reached, or the connection broke
  DeadlineExceeded          the call took longer than its timeout; also a TimeoutError
  InvalidAnswer             the response is not from an axiscast service
  UnusableModel             a file is not a model, or not one that can be checked

    try:
        client.broadcast_to(array, (10**9, 3))
    except axiscast.OutputTooLarge as problem:
        print(problem.facts["limit"])                            # in bytes; use layout="strided" or a window

A client retries after a broken connection and after the statuses 408, 429, 502, 503 and 504, and after no other error.
If there was a response, each exception has the `request_id`, which the service writes to its log and traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .messages import ConflictAnswer
from .wire.errors import AxiscastError, InvalidRequest, ServiceProblem, UnknownOp

__all__ = [
    "AxiscastError",
    "BodyTooLarge",
    "ConnectionFailed",
    "DeadlineExceeded",
    "IncompatibleShapes",
    "InternalError",
    "InvalidAnswer",
    "InvalidRequest",
    "InvalidTensor",
    "MisdirectedRequest",
    "NotStrided",
    "OutputTooLarge",
    "Overloaded",
    "RequestTimeout",
    "ServiceProblem",
    "ShuttingDown",
    "Unauthenticated",
    "UnexpectedStatus",
    "UnknownOp",
    "Untranslatable",
    "UnusableModel",
    "WorkTooLarge",
]


class IncompatibleShapes(ServiceProblem, ValueError):
    """The shapes do not broadcast with this op. `conflict` has the axis, the sizes and hints."""

    code = "incompatible-shapes"

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.conflict = ConflictAnswer.model_validate(document.get("conflict"))

    def __str__(self) -> str:
        return " ".join([self.detail, *(f"Hint: {hint.text}." for hint in self.conflict.hints)])


class InvalidTensor(ServiceProblem):
    """The bytes, the shape, the strides and the dtype of a tensor do not match."""

    code = "invalid-tensor"


class OutputTooLarge(ServiceProblem):
    """The outputs exceed a limit. Use layout="strided" or a window."""

    code = "output-too-large"


class WorkTooLarge(ServiceProblem):
    """The request exceeds the limit of work for a request."""

    code = "work-too-large"


class NotStrided(ServiceProblem):
    """The output has no strides that read it from the input. Use layout="dense"."""

    code = "not-strided"


class BodyTooLarge(ServiceProblem):
    """The body of the request is larger than the limit of the service."""

    code = "body-too-large"


class Untranslatable(ServiceProblem):
    """The op of the other framework can't express this operation, even with reshapes and transpositions."""

    code = "untranslatable"


class Unauthenticated(ServiceProblem):
    """The service requires an API key, or does not know this key."""

    code = "unauthenticated"


class MisdirectedRequest(ServiceProblem):
    """The service does not allow the host name in the URL: see AXISCAST_ALLOWED_HOSTS."""

    code = "misdirected-request"


class RequestTimeout(ServiceProblem):
    """The request did not arrive within the time limit: the network is slow, or the sender paused."""

    code = "request-timeout"


class InternalError(ServiceProblem):
    """The service failed. Its log has the cause with the `request_id`."""

    code = "internal"


class Overloaded(ServiceProblem):
    """The service was overloaded at every attempt."""

    code = "overloaded"


class ShuttingDown(ServiceProblem):
    """The service was shutting down, at every attempt."""

    code = "shutting-down"


class UnexpectedStatus(AxiscastError):
    """The response has this `status` and no problem document: it is from a proxy, or the URL is not of a service."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ConnectionFailed(AxiscastError):
    """The service can't be reached, or the connection broke.

    `is_permanent` is True if another attempt would fail as well: an untrusted certificate, an unknown host name.
    """

    def __init__(self, message: str, is_permanent: bool = False) -> None:
        super().__init__(message)
        self.is_permanent = is_permanent


class DeadlineExceeded(AxiscastError, TimeoutError):
    """The call, including retries, took longer than its timeout."""


class InvalidAnswer(AxiscastError):
    """The response is not from an axiscast service: not HTTP, a web page, or an inconsistent tensor."""


class UnusableModel(AxiscastError):
    """A file is not a model, or not one that can be checked. `reason` is the message without the `path`."""

    def __init__(self, reason: str, path: str | None = None) -> None:
        super().__init__(reason if path is None else f"{path}: {reason}")
        self.reason = reason
        self.path = path


BY_CODE: dict[str, type[ServiceProblem]] = {problem.code: problem for problem in ServiceProblem.__subclasses__()}
"""The exception classes by code. Other codes raise ServiceProblem."""


def problem_from(document: Mapping[str, Any], status: int) -> ServiceProblem:
    """Return the exception of a problem document with this status: of the class of its code, or a ServiceProblem."""
    code = document.get("code")
    return BY_CODE.get(code if isinstance(code, str) else "", ServiceProblem)({**document, "status": status})
