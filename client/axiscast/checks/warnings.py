"""Warnings about shapes that broadcast, but probably by mistake, as plain values of messages.Warned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..ops import Op
from ..plan.alignment import Alignment
from ..plan.plan import Shape
from ..words.warnings import mutual_stretch_text, rank_promotion_text, square_text
from .hints.hints import Lower, is_small
from .hints.outer_products import outer_product_changes, outer_product_of, two_sided_of
from .two_sided import TwoSidedBroadcast


def input_warnings(
    op: Op,
    shapes: tuple[Shape, ...],
    alignment: Alignment,
    outputs: Sequence[dict[str, Any]],
    lower: Lower,
    warn: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the warning about an accidental outer product. If there is none, return the warnings named in `warn`.

    In `alignment`, negative integers replace the symbolic sizes (see symbolic.py). `outputs` are the plain values of
    the outputs, one for each input. `lower` returns the plan of a changed request.
    """
    if found := outer_product_of(alignment):
        return [_square_warning(op, shapes, alignment, outputs, found, lower)]
    warnings: list[dict[str, Any]] = []
    if "mutual-stretch" in warn and (found := two_sided_of(alignment)):
        warning = _places(found)
        warnings.append(warning | {"message": mutual_stretch_text(warning, shapes, _output(found, outputs))})
    if "rank-promotion" in warn:
        warnings += rank_promotion_warnings(shapes, outputs)
    return warnings


def rank_promotion_warnings(shapes: tuple[Shape, ...], outputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the warning about an input that gets new axes because the ranks differ. Scalars are ignored."""
    ranks = {*map(len, shapes)} - {0}
    if len(ranks) < 2:
        return []
    lowest, highest = (next(n for n, shape in enumerate(shapes) if len(shape) == of(ranks)) for of in (min, max))
    side = side_of_new_axes(outputs[lowest]["axes"], len(outputs[lowest]["shape"]))
    message = rank_promotion_text((lowest, shapes[lowest]), (highest, shapes[highest]), side)
    return [{"code": "rank-promotion", "inputs": [lowest, highest], "message": message}]


def side_of_new_axes(axes: Sequence[int], rank: int) -> str:
    """Return the side on which an output of this rank has new axes. `axes` are the output axes that the input has.

    If the new axes are between the axes of the input, return an empty string.
    """
    if [*axes] == [*range(rank - len(axes), rank)]:
        return "left"
    return "right" if [*axes] == [*range(len(axes))] else ""


def _square_warning(
    op: Op,
    shapes: tuple[Shape, ...],
    alignment: Alignment,
    outputs: Sequence[dict[str, Any]],
    found: TwoSidedBroadcast,
    lower: Lower,
) -> dict[str, Any]:
    """Return the warning about an accidental outer product, with a hint if changing one input fixes it."""
    changes = outer_product_changes(op, shapes, alignment, found, lower) if is_small(op, shapes) else ()
    warning = _places(found)
    pairs = zip(("hint", "all_pairs"), changes, strict=False)
    warning |= {field: change for field, change in pairs if change is not None}
    warning["message"] = square_text(warning, shapes, _output(found, outputs))
    return warning


def _places(found: TwoSidedBroadcast) -> dict[str, Any]:
    """Return the inputs that expand each other, and the axis along which each of them expands."""
    return {"code": found.kind, "inputs": list(found.inputs), "axes": list(found.axes)}


def _output(found: TwoSidedBroadcast, outputs: Sequence[dict[str, Any]]) -> Sequence[int | str]:
    shape: Sequence[int | str] = outputs[found.inputs[0]]["shape"]
    return shape
