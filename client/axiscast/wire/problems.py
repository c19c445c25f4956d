"""Problems: the reasons for refused requests, sent as RFC 9457 problem details."""

from __future__ import annotations

from typing import Any, NamedTuple


class ProblemKind(NamedTuple):
    """The HTTP status, the title and the remedy that all problems with the same code share."""

    status: int
    title: str
    remedy: str
    """The steps that the sender of the request can take to solve the problem."""


PROBLEM_KINDS: dict[str, ProblemKind] = {
    "malformed-body": ProblemKind(
        400,
        "The body can't be read",
        "Send JSON or MessagePack, and name the encoding in Content-Type. The `detail` field says what could not be "
        "read.",
    ),
    "unauthenticated": ProblemKind(
        401, "An API key is required", "Send Authorization: Bearer KEY, with a key that the operator gave you."
    ),
    "malformed-request": ProblemKind(
        400,
        "The request is not valid HTTP",
        "Check the client or the proxy: the request line and headers must follow HTTP/1.1 exactly and include Host.",
    ),
    "not-found": ProblemKind(
        404, "The path does not exist", "Check the path. The `detail` field suggests a similar path."
    ),
    "method-not-allowed": ProblemKind(
        405, "The method is not allowed here", "Use one of the methods in the Allow header."
    ),
    "not-acceptable": ProblemKind(406, "No acceptable encoding", "Accept application/json or application/vnd.msgpack."),
    "request-timeout": ProblemKind(
        408,
        "The request did not arrive in time",
        "Send the request faster. The time limit is AXISCAST_REQUEST_SECONDS.",
    ),
    "body-too-large": ProblemKind(
        413,
        "The body is too large",
        "Send a smaller request. Use MessagePack for tensors and stride 0 for replicated axes, or send only a part.",
    ),
    "unsupported-media-type": ProblemKind(
        415,
        "The body's encoding is not supported",
        "Send JSON or MessagePack without compression, and name the encoding in Content-Type.",
    ),
    "misdirected-request": ProblemKind(
        421,
        "The request is for another host",
        "Use an allowed host name. The operator sets the allowed names in AXISCAST_ALLOWED_HOSTS.",
    ),
    "invalid-request": ProblemKind(
        422, "The request is not valid", "Fix the field that `pointer` names. The `detail` field explains the error."
    ),
    "unknown-op": ProblemKind(
        422, "The op does not exist", "Use a similar op that the `detail` field suggests. GET /v1/ops lists all ops."
    ),
    "incompatible-shapes": ProblemKind(
        422,
        "The shapes do not broadcast",
        "Read the `conflict` field: it contains the axis and the sizes that differ on this axis. Its `hints` field "
        "contains corrected requests, if any were found.",
    ),
    "invalid-tensor": ProblemKind(
        422, "A tensor is not valid", "Make dtype, shape, strides and data match each other."
    ),
    "output-too-large": ProblemKind(
        422,
        "The output is too large",
        "Request a `window`, the `strided` layout, or MessagePack. The `limit` field contains the limit.",
    ),
    "work-too-large": ProblemKind(
        422, "The request is too much work", "Send a smaller request. The `detail` field states the limit."
    ),
    "not-strided": ProblemKind(
        422,
        "The output can't be strided",
        "Request the `dense` layout. This output can't be expressed as a strided view of its input.",
    ),
    "untranslatable": ProblemKind(
        422,
        "The other op can't express this",
        "Choose a different target op. Reshapes and transpositions around this op do not help.",
    ),
    "head-too-large": ProblemKind(
        431,
        "The request line and headers are too large",
        "Send fewer or shorter headers, or a POST instead of a long URL.",
    ),
    "internal": ProblemKind(
        500,
        "The service failed",
        "Report the `request_id`: the service logs the cause under this id. You can send the request again.",
    ),
    "overloaded": ProblemKind(
        503,
        "The service is busy",
        "Wait for the number of seconds in the Retry-After header, then send the request again.",
    ),
    "shutting-down": ProblemKind(
        503, "The service is shutting down", "Send the request again: another process will receive it."
    ),
}
"""The HTTP status, the title and the remedy for every problem code."""


class Fault(NamedTuple):
    """One fault of a request, and its location in the body or in the query."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None

    def members(self) -> dict[str, Any]:
        """Return the members that are not None, for a problem document."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Problem(Exception):
    """The exception that is raised to refuse a request.

    `code` is a key in PROBLEM_KINDS. `detail` states the error, its location and the expected value. `pointer` is a
    JSON Pointer into the request body, and `parameter` the name of a query parameter. `facts` holds additional members
    for the problem document. str() returns the details of all `errors`.
    """

    def __init__(
        self, code: str, detail: str, *, pointer: str | None = None, parameter: str | None = None, **facts: Any
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.facts = facts
        self.errors = [Fault(detail, pointer, parameter)]
        """All faults of the request. The members `detail`, `pointer` and `parameter` describe the first fault."""

    @property
    def detail(self) -> str:
        return self.errors[0].detail

    @property
    def pointer(self) -> str | None:
        return self.errors[0].pointer

    def __str__(self) -> str:
        return "; ".join(fault.detail for fault in self.errors)

    def move(self, pointer: str = "", label: str = "") -> None:
        """Add a prefix to the pointers and to the details, because the request is a part of another request."""
        self.errors = [
            Fault(f"{label}{fault.detail}", f"{pointer}{fault.pointer or ''}", fault.parameter) for fault in self.errors
        ]

    def document(self) -> dict[str, Any]:
        """Return the problem details as a dict of JSON values. `errors` is absent if no fault has a location."""
        status, title, _ = PROBLEM_KINDS[self.code]
        errors = [fault.members() for fault in self.errors]
        head = {"type": f"/problems/{self.code}", "title": title, "status": status, "detail": self.detail}
        located = {"errors": errors} if len(errors[0]) > 1 else {}
        return head | {"code": self.code} | errors[0] | located | self.facts
