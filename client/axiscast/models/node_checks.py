"""Functions that check a model's nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import ServiceProblem
from ..library import check_batch
from ..messages import CheckAnswer
from ..messages.findings import Finding, Unchecked
from .intent import FindingKind
from .warning_kinds import select_warnings, warn_field

RequestFields = dict[str, Any]
"""The fields of a check request."""


class NodeCheck(NamedTuple):
    """A node of a model, and the check request for the node."""

    finding: Finding
    """The finding for the node, which does not yet contain the answer to the check."""
    request: RequestFields | None
    """The check request, or None if the node can't be checked for the reason in `finding.unchecked`.

    If there are both a request and a reason, the response to the request is used only if it reports a conflict.
    """
    is_meant: bool = False
    """Whether the user means to combine all pairs, so that an outer product ("square") is not reported."""
    number: str = ""
    """The integer that identifies the node in its model."""


def check_nodes(
    checks: Sequence[NodeCheck],
    assume: Mapping[str, int | str] | None = None,
    kinds: Sequence[FindingKind] = ("square",),
) -> list[Finding]:
    """Check several nodes, and return their findings in the same order.

    Equal requests are checked only once. `assume` contains the known values and ranges of named sizes. `kinds` selects
    the warnings. If the check of a node is refused, the error message becomes the reason in the node's finding.
    """
    requests = [_request(check.request, assume or {}, warn_field(kinds)) for check in checks]
    keys = [json.dumps(request) for request in requests]
    unique = {key: request for key, request in zip(keys, requests, strict=True) if request is not None}
    responses: dict[str, CheckAnswer[Any] | ServiceProblem] = {}
    for key, request in unique.items():
        (responses[key],) = check_batch([request])
    return [_finding(check, responses.get(key), kinds) for check, key in zip(checks, keys, strict=True)]


def _request(
    request: RequestFields | None, assume: Mapping[str, int | str], warn: Sequence[str]
) -> RequestFields | None:
    """Return a check request with the `warn` and `assume` options that apply to it."""
    if request is None:
        return None
    if warn:
        request = {**request, "warn": warn}
    names = {size for size in _sizes(request) if isinstance(size, str)}
    if assumed := {name: size for name, size in assume.items() if name in names}:
        request = {**request, "assume": assumed}
    return request


def _finding(check: NodeCheck, response: CheckAnswer | ServiceProblem | None, kinds: Sequence[FindingKind]) -> Finding:
    """Return the finding for a node, completed by the response to the node's check request."""
    if isinstance(response, ServiceProblem):
        return replace(check.finding, unchecked=Unchecked("limit", (response.detail,)))
    if response is None or check.request is None or (check.finding.unchecked and response.conflict is None):
        return check.finding
    if response.conflict is not None:
        op = check.request["op"]["name"]  # the op in a model is fixed, so hints about another op do not help
        hints = [hint for hint in response.conflict.hints if hint.request is None or hint.request.op.name == op]
        response = response.model_copy(update={"conflict": response.conflict.model_copy(update={"hints": hints})})
    if check.is_meant or tuple(kinds) != ("square",):
        response = select_warnings(response, kinds, check.request["inputs"], check.is_meant)
    return replace(check.finding, answer=response)


def _sizes(request: RequestFields) -> Iterator[Any]:
    """Yield every size in the inputs and in the op attributes of a check request."""
    for shape in (*request["inputs"], *request["op"].values()):
        if isinstance(shape, list | tuple):
            yield from shape
