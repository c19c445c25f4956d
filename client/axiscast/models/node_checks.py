"""The judge of a model: what to ask of each node is asked, in batches, and becomes its finding."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..answers.intent import FindingKind
from ..errors import BodyTooLarge, OutputTooLarge, ServiceProblem, UnexpectedStatus, WorkTooLarge
from ..messages import CheckAnswer
from .finding import Finding
from .warning_kinds import narrowed, to_warn

Request = dict[str, Any]
Answers = Sequence[CheckAnswer | ServiceProblem]
CheckBatch = Callable[[Sequence[Request]], Answers]
"""That of the library, or of a client."""
Progress = Callable[[int, int], None]
"""Told how many questions are answered, and of how many."""

_BATCH_SIZES = 10_000
"""Sizes in the requests of one batch: some thousand nodes."""
CONTENT_TOO_LARGE = 413


class Question(NamedTuple):
    """A node as it was found, and what to ask of it, a check request; None where its `reason` says why nothing is.

    Where there is both, the reason holds unless the answer is a conflict, which says it better.
    """

    finding: Finding
    request: Request | None
    is_meant: bool = False
    """Whether all pairs are meant where its inputs make a square, so that no warning is given."""
    number: str = ""
    """The number of the node, by which other questions of the same model find it."""


def judged(
    questions: Sequence[Question],
    check_batch: CheckBatch,
    assume: Mapping[str, int | str] | None = None,
    progress: Progress | None = None,
    kinds: Sequence[FindingKind] = ("square",),
) -> list[Finding]:
    """The findings with their answers, in order; equal questions are asked once. `assume` says what is known of a name,
    where it occurs; of warnings, findings have these `kinds`. Raises the exceptions of `check_batch`, but for those of
    single questions: their sentence is why a node is not judged."""
    keys = []
    warn = to_warn(kinds)
    for question in questions:
        request = question.request
        if request is not None and warn:
            request = {**request, "warn": warn}
        if request is not None and assume:
            names = {size for size in _sizes(request) if isinstance(size, str)}
            if here := {name: size for name, size in assume.items() if name in names}:
                request = {**request, "assume": here}
        keys.append(None if request is None else json.dumps(request))
    different = [key for key in dict.fromkeys(keys) if key is not None]
    answers: dict[str | None, CheckAnswer | ServiceProblem] = {}
    for batch in _batches(different):
        for key, answer in _asked(batch, check_batch):
            answers[key] = answer
            if progress is not None:
                progress(len(answers), len(different))
    return [_finding(question, answers.get(key), kinds) for question, key in zip(questions, keys, strict=True)]


def _finding(question: Question, answer: CheckAnswer | ServiceProblem | None, kinds: Sequence[FindingKind]) -> Finding:
    if isinstance(answer, ServiceProblem):
        return replace(question.finding, reason=answer.detail)
    if answer is None or question.request is None or (question.finding.reason and answer.conflict is None):
        return question.finding
    if answer.conflict is not None:
        # A model has the op that it has: a hint that names another one is none.
        hints = [
            hint for hint in answer.conflict.hints if hint.op is None or hint.op.name == question.request["op"]["name"]
        ]
        conflict = answer.conflict.model_copy(update={"hints": hints})
        answer = answer.model_copy(update={"conflict": conflict})
    if question.is_meant or tuple(kinds) != ("square",):
        answer = narrowed(answer, kinds, question.request["inputs"], question.is_meant)
    return replace(question.finding, answer=answer)


def _asked(batch: list[str], check_batch: CheckBatch) -> Iterator[tuple[str, CheckAnswer | ServiceProblem]]:
    """The answer to each question. What is too much at once is asked again in batches of half the size, down to one."""
    waiting = [batch]
    while waiting:
        batch = waiting.pop()
        refused: list[str] = []
        try:
            for key, answer in zip(batch, check_batch([json.loads(key) for key in batch]), strict=True):
                if len(batch) > 1 and _is_too_much(answer):
                    refused.append(key)
                else:
                    yield key, answer
        except (ServiceProblem, UnexpectedStatus) as problem:
            if not _is_too_much(problem):
                raise
            if len(batch) > 1:
                refused = batch
            elif isinstance(problem, ServiceProblem):
                yield batch[0], problem
            else:
                raise  # what a proxy says is no reason that a node has
        half = max(1, len(batch) // 2)
        waiting += [refused[start : start + half] for start in range(0, len(refused), half)]


def _is_too_much(answer: object) -> bool:
    """Return whether a smaller batch may be answered: it was too much work, too long, or took too much memory."""
    if isinstance(answer, UnexpectedStatus):
        return answer.status == CONTENT_TOO_LARGE  # of a proxy
    return isinstance(answer, WorkTooLarge | BodyTooLarge | OutputTooLarge)


def _sizes(request: Request) -> Iterator[Any]:
    for shape in (*request["inputs"], *request["op"].values()):
        if isinstance(shape, list | tuple):
            yield from shape


def _batches(keys: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    room = _BATCH_SIZES
    for key in keys:
        count = 1 + sum(map(len, json.loads(key)["inputs"]))
        if batch and count > room:
            yield batch
            batch, room = [], _BATCH_SIZES
        batch.append(key)
        room -= count
    if batch:
        yield batch
