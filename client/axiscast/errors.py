"""The exceptions of this package.

AxiscastError
  ServiceProblem            the request was refused; .code is the reason; codes that a program can handle have a class:
    IncompatibleShapes      the shapes do not broadcast; also a ValueError, as in NumPy; has .conflict
    InvalidRequest          the request or its op is invalid, for example a negative size; also a ValueError
      InvalidType           a value has the wrong type, for example a set instead of a shape; also a TypeError
    UnknownOp               the op does not exist
    InvalidTensor           a tensor is invalid
    NotStrided              no strides can describe an output; use layout="dense"
    OutputTooLarge          the outputs exceed a limit; has .facts["limit"]
    WorkTooLarge            the request exceeds the limit of work; has .facts["limit"]
    BodyTooLarge            the request body exceeds a limit; has .facts["limit"]
    Untranslatable          the op of the other framework can't express the operation; the detail says why
    Unauthenticated         the service requires a valid api_key
    MisdirectedRequest      the service does not allow the host name in the URL
    RequestTimeout          the request arrived too slowly
    Overloaded              the service is overloaded; raised after the last retry
    ShuttingDown            the service is shutting down; raised after the last retry
    InternalError           the service failed
  UnexpectedStatus          the response has no problem document, for example from a proxy; has .status
  ConnectionFailed          the service can't be reached, or the connection broke
  DeadlineExceeded          the call took longer than its timeout; also a TimeoutError
  InvalidAnswer             the response is not from an axiscast service
  UnusableModel             the file is not a model, or axiscast can't check this kind of model

    try:
        client.broadcast_to(array, (10**9, 3))
    except axiscast.OutputTooLarge as problem:
        print(problem.facts["limit"])                            # in bytes; use layout="strided" or a window

A client retries only after a broken connection and after the statuses 408, 429, 502, 503 and 504.
If there was a response, the exception has its `request_id`, which the service also writes to its log and traces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .messages.facts import IncompatibleShapes
from .wire.errors import AxiscastError, InvalidRequest, InvalidType, ServiceProblem, UnknownOp
from .wire.problems import Problem

__all__ = [
    "AxiscastError", "BodyTooLarge", "ConnectionFailed", "DeadlineExceeded", "IncompatibleShapes", "InternalError",
    "InvalidAnswer", "InvalidRequest", "InvalidTensor", "InvalidType", "MisdirectedRequest", "NotStrided",
    "OutputTooLarge", "Overloaded", "RequestTimeout", "ServiceProblem", "ShuttingDown", "Unauthenticated",
    "UnexpectedStatus", "UnknownOp", "Untranslatable", "UnusableModel", "WorkTooLarge",
]  # fmt: skip

P = ParamSpec("P")
T = TypeVar("T")


class InvalidTensor(ServiceProblem):
    """The bytes, the shape, the strides and the dtype of a tensor contradict each other."""

    code = "invalid-tensor"


class OutputTooLarge(ServiceProblem):
    """The outputs are larger than a limit. Use layout="strided" or a window."""

    code = "output-too-large"


class WorkTooLarge(ServiceProblem):
    """The request requires more work than the limit allows."""

    code = "work-too-large"


class NotStrided(ServiceProblem):
    """No strides can describe this output as a view of its input. Use layout="dense"."""

    code = "not-strided"


class BodyTooLarge(ServiceProblem):
    """The request body is larger than the service's limit."""

    code = "body-too-large"


class Untranslatable(ServiceProblem):
    """The op of the other framework can't express this operation, even with reshapes and transpositions."""

    code = "untranslatable"


class Unauthenticated(ServiceProblem):
    """The service requires an API key, or does not know the key in the request."""

    code = "unauthenticated"


class MisdirectedRequest(ServiceProblem):
    """The service does not allow the host name in the URL. See the service's setting AXISCAST_ALLOWED_HOSTS."""

    code = "misdirected-request"


class RequestTimeout(ServiceProblem):
    """The request did not arrive within the time limit, because the network is slow or the sender paused."""

    code = "request-timeout"


class InternalError(ServiceProblem):
    """The service failed. Its log contains the cause, with the same `request_id`."""

    code = "internal"


class Overloaded(ServiceProblem):
    """The service was overloaded at every attempt."""

    code = "overloaded"


class ShuttingDown(ServiceProblem):
    """The service was shutting down at every attempt."""

    code = "shutting-down"


class UnexpectedStatus(AxiscastError):
    """The response has this `status` but no problem document.

    The response is probably from a proxy, or from a server that is not an axiscast service.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ConnectionFailed(AxiscastError):
    """The service can't be reached, or the connection broke.

    `is_permanent` is True if another attempt would also fail, for example because of an untrusted certificate or an
    unknown host name.
    """

    def __init__(self, message: str, is_permanent: bool = False) -> None:
        super().__init__(message)
        self.is_permanent = is_permanent


class DeadlineExceeded(AxiscastError, TimeoutError):
    """The call, including its retries, took longer than its timeout."""


class InvalidAnswer(AxiscastError):
    """The response is not from an axiscast service: for example, it is a web page or has an inconsistent tensor."""


class UnusableModel(AxiscastError):
    """The file is not a model, or axiscast can't check this kind of model.

    `reason` is the error message without the `path`.
    """

    def __init__(self, reason: str, path: str | None = None) -> None:
        super().__init__(reason if path is None else f"{path}: {reason}")
        self.reason = reason
        self.path = path


BY_CODE: dict[str, type[ServiceProblem]] = {problem.code: problem for problem in ServiceProblem.__subclasses__()}
"""The exception class for each problem code. For any other code, a ServiceProblem is raised."""


def problem_from(document: Mapping[str, Any], status: int) -> ServiceProblem:
    """Return the exception for a problem document and an HTTP status.

    The problem's code determines the class of the exception. If the code has no class of its own, the exception is a
    ServiceProblem.
    """
    code = document.get("code")
    return BY_CODE.get(code if isinstance(code, str) else "", ServiceProblem)({**document, "status": status})


def typed(function: Callable[P, T]) -> Callable[P, T]:
    """Return a version of a function that raises the exceptions of a Client instead of Problem."""

    @wraps(function)
    def typed(*args: P.args, **options: P.kwargs) -> T:
        try:
            return function(*args, **options)
        except Problem as problem:
            document = problem.document()
            raise problem_from(document, document["status"]) from None

    return typed
