"""The kinds of suspicious broadcasts that watch and the checks of models can report."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, get_args

from ..answers.intent import FindingKind
from ..answers.warnings import rank_promotion_warnings
from ..messages import CheckAnswer, Warned, WarningKind


def required(kinds: Collection[str]) -> tuple[FindingKind, ...]:
    """Return kinds as they were given. Raises ValueError if there are none, or others."""
    if isinstance(kinds, str) or not kinds or not set(kinds) <= set(get_args(FindingKind)):
        raise ValueError(f"kinds must be some of {get_args(FindingKind)}, not {kinds!r}")
    return tuple(kind for kind in get_args(FindingKind) if kind in kinds)


def to_warn(kinds: Collection[str]) -> list[WarningKind]:
    """Return what a check must be asked to warn of."""
    asked: list[WarningKind] = ["mutual-stretch", "rank-promotion"]
    return [kind for kind in asked if kind in kinds]


def narrowed(
    answer: CheckAnswer, kinds: Collection[str], shapes: Sequence[Sequence[Any]], is_meant: bool = False
) -> CheckAnswer:
    """Return an answer with the warnings of these kinds only, and without that of pairs that are meant.

    A check that warns of a square warns of nothing else, so the rank promotion in a square is added here.
    """
    squares = "every-square" in kinds or ("square" in kinds and not is_meant)
    stretches = "mutual-stretch" in kinds and not is_meant
    kept = {"square": squares, "mutual-stretch": stretches, "rank-promotion": "rank-promotion" in kinds}
    warnings = [warning for warning in answer.warnings if kept.get(warning.code, True)]
    if kept["rank-promotion"] and answer.outputs and not any(warning.code in kept for warning in warnings):
        outputs = [{"shape": output.shape, "axes": output.axes} for output in answer.outputs]
        promoted = rank_promotion_warnings(tuple(tuple(shape) for shape in shapes), outputs)
        warnings += [Warned(**warning) for warning in promoted]
    return answer.model_copy(update={"warnings": warnings})
