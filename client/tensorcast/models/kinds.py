"""The kinds of suspicious broadcasts that watch and the checks of models can report."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

from ..answers.warnings import rank_promotion
from ..messages import CheckAnswer, Warned, WarningKind

SuspicionKind = Literal["square", "every-square", "mutual-stretch", "rank-promotion"]
"""A square that is not meant; every square; two inputs that stretch each other; inputs of different ranks."""


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
    codes = {"rank-promotion", *(["square"] if squares else []), *([] if is_meant else ["mutual-stretch"])}
    warnings = [warning for warning in answer.warnings if warning.code in codes]
    if answer.outputs and not warnings and "rank-promotion" in kinds:
        outputs = [{"shape": output.shape, "axes": output.axes} for output in answer.outputs]
        warnings = [Warned(**warning) for warning in rank_promotion(tuple(tuple(shape) for shape in shapes), outputs)]
    return answer.model_copy(update={"warnings": warnings})
