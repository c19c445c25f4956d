"""What can go wrong, as exceptions.

AxiscastError
  ServiceProblem            the service refused, and .code says why; a class where a caller can do something about it:
    IncompatibleShapes      also a ValueError, as NumPy raises; has .conflict
    InvalidRequest          the request, or an op, does not fit the schema: a negative size, ...; also a ValueError
    UnknownOp  InvalidTensor                                     the request is wrong
    NotStrided                                                   layout="dense" would do
    OutputTooLarge  WorkTooLarge  BodyTooLarge                   a limit; has .facts["limit"]
    Untranslatable          the other framework's op can never say it; the detail says why
    Unauthenticated         the service asks for another api_key
    MisdirectedRequest      the service does not answer under the name in the URL
    RequestTimeout          the request came too slowly
    Overloaded  ShuttingDown                                     retried before it is raised
    InternalError           the service failed
  UnexpectedStatus          a status without a problem document, of a proxy for example; has .status
  ConnectionFailed          the service can't be reached, or the connection broke, in mid-answer for example
  DeadlineExceeded          the call took longer than its timeout; also a TimeoutError
  InvalidAnswer             the response is not one of this service
  UnusableModel             a file is no model, or none that can be judged

    try:
        client.broadcast_to(array, (10**9, 3))
    except axiscast.OutputTooLarge as problem:
        print(problem.facts["limit"])                            # bytes; layout="strided" or a window would do

A broken connection and the statuses 408, 429, 502, 503 and 504 are retried before they are raised, nothing else is.
Each has the `request_id` by which the service's log and traces find the request, where there was an answer.
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
    """The shapes do not broadcast under this op. `conflict` says on which axis, with which sizes, what would fit."""

    code = "incompatible-shapes"

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.conflict = ConflictAnswer.model_validate(document.get("conflict"))

    def __str__(self) -> str:
        return " ".join([self.detail, *(f"Hint: {hint.text}." for hint in self.conflict.hints)])


class InvalidTensor(ServiceProblem):
    """A tensor's bytes, shape, strides or dtype do not agree."""

    code = "invalid-tensor"


class OutputTooLarge(ServiceProblem):
    """The outputs exceed the service's limit: layout="strided" or a window would do."""

    code = "output-too-large"


class WorkTooLarge(ServiceProblem):
    """The request is more work than the service does at once."""

    code = "work-too-large"


class NotStrided(ServiceProblem):
    """The output has no strides that read it from the input: layout="dense" would do."""

    code = "not-strided"


class BodyTooLarge(ServiceProblem):
    """The request has more bytes than the service takes."""

    code = "body-too-large"


class Untranslatable(ServiceProblem):
    """The other framework's op can't say this operation, whatever comes before or after it."""

    code = "untranslatable"


class Unauthenticated(ServiceProblem):
    """The service asks for an API key, or does not know this one."""

    code = "unauthenticated"


class MisdirectedRequest(ServiceProblem):
    """The service does not answer under the name that the URL has: see AXISCAST_ALLOWED_HOSTS."""

    code = "misdirected-request"


class RequestTimeout(ServiceProblem):
    """The request did not reach the service within its time: the network is slow, or the sender paused."""

    code = "request-timeout"


class InternalError(ServiceProblem):
    """The service failed; its log has the cause under `request_id`."""

    code = "internal"


class Overloaded(ServiceProblem):
    """The service had no room, at every attempt."""

    code = "overloaded"


class ShuttingDown(ServiceProblem):
    """The service was shutting down, at every attempt."""

    code = "shutting-down"


class UnexpectedStatus(AxiscastError):
    """The response has this `status` and no problem document: a proxy sent it, or the URL is not a service's."""

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
    """The call, retries included, took longer than its timeout."""


class InvalidAnswer(AxiscastError):
    """The response is not what this service sends: not HTTP, a web page, a tensor that contradicts itself."""


class UnusableModel(AxiscastError):
    """A file is not a model, or not one that can be checked; `reason` says why, without the `path`."""

    def __init__(self, reason: str, path: str | None = None) -> None:
        super().__init__(reason if path is None else f"{path}: {reason}")
        self.reason = reason
        self.path = path


BY_CODE: dict[str, type[ServiceProblem]] = {problem.code: problem for problem in ServiceProblem.__subclasses__()}
"""The class of each code that has one."""


def problem_from(document: Mapping[str, Any], status: int) -> ServiceProblem:
    """The exception of a problem document that came with this status: of its code's class, or a ServiceProblem."""
    code = document.get("code")
    return BY_CODE.get(code if isinstance(code, str) else "", ServiceProblem)({**document, "status": status})
