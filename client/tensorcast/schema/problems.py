"""Problems: what goes wrong over the wire, as RFC 9457 problem details."""

from __future__ import annotations

from typing import Any

STATUS: dict[str, tuple[int, str]] = {
    "malformed-body": (400, "The body can't be read"),
    "unauthenticated": (401, "An API key is needed"),
    "malformed-request": (400, "The request is not HTTP as it should be"),
    "not-found": (404, "Nothing is here"),
    "method-not-allowed": (405, "The method is not allowed here"),
    "not-acceptable": (406, "No acceptable encoding"),
    "request-timeout": (408, "The request did not arrive in time"),
    "body-too-large": (413, "The body is too large"),
    "unsupported-media-type": (415, "The body's encoding is not supported"),
    "misdirected-request": (421, "The request is for another host"),
    "invalid-request": (422, "The request is not valid"),
    "unknown-op": (422, "There is no such op"),
    "incompatible-shapes": (422, "The shapes do not broadcast"),
    "invalid-tensor": (422, "A tensor is not valid"),
    "output-too-large": (422, "The output is too large"),
    "work-too-large": (422, "The request is too much work"),
    "not-strided": (422, "The output can't be strided"),
    "untranslatable": (422, "The other op can't say this"),
    "head-too-large": (431, "The head of the request is too large"),
    "internal": (500, "The service failed"),
    "overloaded": (503, "The service is busy"),
    "shutting-down": (503, "The service is shutting down"),
}
"""Every problem code with its HTTP status and title."""


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
        status, title = STATUS[self.code]
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
