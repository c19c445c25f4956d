"""Problems: what goes wrong over the wire, as RFC 9457 problem details."""

from __future__ import annotations

from typing import Any, NamedTuple


class ProblemKind(NamedTuple):
    """What is the same of all problems of one code."""

    status: int
    title: str
    remedy: str
    """What the client can do."""


PROBLEM_KINDS: dict[str, ProblemKind] = {
    "malformed-body": ProblemKind(
        400,
        "The body can't be read",
        "Send JSON or MessagePack as Content-Type says; the detail says what could not be read.",
    ),
    "unauthenticated": ProblemKind(
        401, "An API key is needed", "Send Authorization: Bearer KEY, with a key that the operator gave you."
    ),
    "malformed-request": ProblemKind(
        400,
        "The request is not HTTP as it should be",
        "Look at the client or the proxy: the head must be HTTP/1.1 to the letter, and a Host is needed.",
    ),
    "not-found": ProblemKind(404, "Nothing is here", "Look at the path; the detail names one that is near."),
    "method-not-allowed": ProblemKind(405, "The method is not allowed here", "Send one of the methods in Allow."),
    "not-acceptable": ProblemKind(406, "No acceptable encoding", "Accept application/json or application/vnd.msgpack."),
    "request-timeout": ProblemKind(
        408,
        "The request did not arrive in time",
        "Send the request at once, or faster: it has AXISCAST_REQUEST_SECONDS.",
    ),
    "body-too-large": ProblemKind(
        413,
        "The body is too large",
        "Send less at once: a window, replicated axes with stride 0, MessagePack for tensors.",
    ),
    "unsupported-media-type": ProblemKind(
        415,
        "The body's encoding is not supported",
        "Send JSON or MessagePack, not compressed, and say so in Content-Type.",
    ),
    "misdirected-request": ProblemKind(
        421,
        "The request is for another host",
        "Ask under a name that the service answers to; the operator sets AXISCAST_ALLOWED_HOSTS.",
    ),
    "invalid-request": ProblemKind(422, "The request is not valid", "Mend what pointer points at, as the detail says."),
    "unknown-op": ProblemKind(
        422, "There is no such op", "Take an op that is near, as the detail says; GET /v1/ops lists all."
    ),
    "incompatible-shapes": ProblemKind(
        422,
        "The shapes do not broadcast",
        "Look at conflict: which sizes do not fit on which axis, and hints, which do.",
    ),
    "invalid-tensor": ProblemKind(422, "A tensor is not valid", "Make dtype, shape, strides and data agree."),
    "output-too-large": ProblemKind(
        422,
        "The output is too large",
        "Ask for a window, for layout strided, or in MessagePack; the limit is in limit.",
    ),
    "work-too-large": ProblemKind(
        422, "The request is too much work", "Ask for less at once; the detail names the limit."
    ),
    "not-strided": ProblemKind(
        422, "The output can't be strided", "Ask for layout dense: no strides of the input say this output."
    ),
    "untranslatable": ProblemKind(
        422, "The other op can't say this", "Take another op: whatever comes before or after it, this one can't say it."
    ),
    "head-too-large": ProblemKind(
        431,
        "The head of the request is too large",
        "Send fewer or shorter header fields, or a POST in place of a long URL.",
    ),
    "internal": ProblemKind(
        500,
        "The service failed",
        "Report it, with request_id, by which the log has the cause; the request may be sent again.",
    ),
    "overloaded": ProblemKind(
        503, "The service is busy", "Send it again after Retry-After seconds; another replica may have room."
    ),
    "shutting-down": ProblemKind(503, "The service is shutting down", "Send it again: another process takes it."),
}
"""Every problem code with its HTTP status, its title and its remedy."""


class Problem(Exception):
    """A refused request. `code` is one of STATUS; `detail` says what was wrong, where, and what would be right;
    `pointer` is a JSON Pointer into the body; `facts` are further members of the document."""

    def __init__(self, code: str, detail: str, *, pointer: str | None = None, **facts: Any) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.pointer = pointer
        self.facts = facts

    def document(self) -> dict[str, Any]:
        """The problem details, ready to be encoded."""
        status, title, _ = PROBLEM_KINDS[self.code]
        document = {
            "type": f"/problems/{self.code}",
            "title": title,
            "status": status,
            "detail": self.detail,
            "code": self.code,
        }
        if self.pointer is not None:
            document["pointer"] = self.pointer
        return document | self.facts
