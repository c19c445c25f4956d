"""Functions that check a model's nodes. The checks are sent in batches of limited size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import BodyTooLarge, OutputTooLarge, ServiceProblem, UnexpectedStatus, WorkTooLarge
from ..messages import CheckAnswer
from .finding import Finding, Unchecked
from .intent import FindingKind
from .warning_kinds import select_warnings, warn_field

RequestFields = dict[str, Any]
"""The fields of a check request."""
Batch = list[tuple[str, RequestFields]]
"""Requests, each with a key that equal requests share."""
CheckBatch = Callable[[Sequence[RequestFields]], Sequence[CheckAnswer[Any] | ServiceProblem]]
"""The type of the function `check_batch`, which is a function of the library or a method of a client."""
Progress = Callable[[int, int], None]
"""A callback that receives the number of finished checks and the total number of checks."""

_MAX_BATCH_SIZES = 10_000
"""The maximum number of sizes in one batch of requests, which is enough for about a thousand nodes."""
_CONTENT_TOO_LARGE = 413


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
    check_batch: CheckBatch,
    assume: Mapping[str, int | str] | None = None,
    progress: Progress | None = None,
    kinds: Sequence[FindingKind] = ("square",),
) -> list[Finding]:
    """Check several nodes, and return their findings in the same order.

    Equal requests are sent only once. `assume` contains the known values and ranges of named sizes. `kinds` selects the
    warnings. If the check of a node is refused, the error message becomes the reason in the node's finding. All other
    exceptions from `check_batch` are raised.
    """
    requests = [_request(check.request, assume or {}, warn_field(kinds)) for check in checks]
    keys = [json.dumps(request) for request in requests]
    unique = {key: request for key, request in zip(keys, requests, strict=True) if request is not None}
    responses: dict[str, CheckAnswer | ServiceProblem] = {}
    for batch in _batches(unique):
        for key, response in _responses(batch, check_batch):
            responses[key] = response
            if progress is not None:
                progress(len(responses), len(unique))
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


def _responses(batch: Batch, check_batch: CheckBatch) -> Iterator[tuple[str, CheckAnswer | ServiceProblem]]:
    """Send a batch of requests, and yield the key of each request with its response.

    If a batch is refused because it is too large, the requests are sent again in smaller batches.
    """
    waiting = [batch]
    while waiting:
        batch = waiting.pop()
        refused: Batch = []
        try:
            responses = check_batch([request for _, request in batch])
            for (key, request), response in zip(batch, responses, strict=True):
                if len(batch) > 1 and _is_too_large(response):
                    refused.append((key, request))
                else:
                    yield key, response
        except (ServiceProblem, UnexpectedStatus) as problem:
            if not _is_too_large(problem):
                raise
            if len(batch) > 1:
                refused = batch
            elif isinstance(problem, ServiceProblem):
                yield batch[0][0], problem
            else:
                raise  # a proxy has refused the request, so the node is not the cause
        half = max(1, len(batch) // 2)
        waiting += [refused[start : start + half] for start in range(0, len(refused), half)]


def _is_too_large(response: object) -> bool:
    """Return whether a batch was refused because of its size, work or memory. A smaller batch may be accepted."""
    if isinstance(response, UnexpectedStatus):
        return response.status == _CONTENT_TOO_LARGE  # a proxy has sent this response
    return isinstance(response, WorkTooLarge | BodyTooLarge | OutputTooLarge)


def _sizes(request: RequestFields) -> Iterator[Any]:
    """Yield every size in the inputs and in the op attributes of a check request."""
    for shape in (*request["inputs"], *request["op"].values()):
        if isinstance(shape, list | tuple):
            yield from shape


def _batches(requests: Mapping[str, RequestFields]) -> Iterator[Batch]:
    """Yield the requests in batches. A batch with several requests has at most _MAX_BATCH_SIZES sizes."""
    batch: Batch = []
    batch_sizes = 0
    for key, request in requests.items():
        sizes = 1 + sum(map(len, request["inputs"]))
        if batch and batch_sizes + sizes > _MAX_BATCH_SIZES:
            yield batch
            batch, batch_sizes = [], 0
        batch.append((key, request))
        batch_sizes += sizes
    if batch:
        yield batch
