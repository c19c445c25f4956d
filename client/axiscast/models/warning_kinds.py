"""The kinds of suspicious broadcasts that a user can select with `kinds`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, get_args

from ..checks.warnings import rank_promotion_warnings
from ..messages import CheckAnswer
from ..messages.check_request import WarningKind
from ..messages.facts import Warned


def warn_field(kinds: Collection[str]) -> list[WarningKind]:
    """Return the `warn` field of a check request that reports these kinds of broadcasts."""
    return [kind for kind in get_args(WarningKind) if kind in kinds and kind != "square"]  # "square" is given always


def select_warnings(
    answer: CheckAnswer, kinds: Collection[str], shapes: Sequence[Sequence[Any]], is_meant: bool = False
) -> CheckAnswer:
    """Return a copy of the answer to a check, in which the warnings are restricted to these kinds.

    If a check reports an outer product ("square"), it reports no other warnings. This function therefore adds the
    warning about rank promotion.
    """
    is_selected = {
        "square": "every-square" in kinds or ("square" in kinds and not is_meant),
        "mutual-stretch": "mutual-stretch" in kinds and not is_meant,
        "rank-promotion": "rank-promotion" in kinds,
    }
    warnings = [warning for warning in answer.warnings if is_selected.get(warning.code, True)]
    has_suspicion = any(warning.code in is_selected for warning in warnings)
    if is_selected["rank-promotion"] and answer.broadcast_inputs and not has_suspicion:
        outputs = [{"shape": each.shape, "axes": each.axes} for each in answer.broadcast_inputs]
        promotions = rank_promotion_warnings(tuple(tuple(shape) for shape in shapes), outputs)
        warnings += [Warned(**promotion) for promotion in promotions]
    return answer.model_copy(update={"warnings": warnings})
