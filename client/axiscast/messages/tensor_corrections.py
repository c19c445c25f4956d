"""Corrections for tensors and windows that were sent in a common but invalid form."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from ..wire.shapes import MAX_SHAPE_CHARACTERS, json_type_name
from .invalid_field import MAX_SHOWN_SIZES, InvalidField, is_short

ROWS_PATH = "/v1/check/batch"
COLUMNS_PATH = "/v1/check/columns"


def has_columns(model: type[BaseModel]) -> bool:
    """Return whether a model is CheckColumnsRequest, which can't be imported here because it needs NumPy."""
    return model.__name__ == "CheckColumnsRequest"


def tensor(fault: InvalidField) -> str | None:
    """Return the correction for a list instead of a tensor, or for a tensor that has no `shape` or `data`."""
    place, found = fault.place, fault.found
    if place[:1] not in (("inputs",), ("gradients",)):
        return None
    if fault.kind in ("model_type", "model_attributes_type") and len(place) == 2:
        example = json.dumps((fault.model.model_fields[str(place[0])].examples or [[{}]])[0][0])
        if has_columns(fault.model):
            return f"must be an int64 tensor of shape (n, rank), such as {example}: send single shapes to {ROWS_PATH}"
        shape = _nested_shape(found)
        if shape is None or not is_short(found, 4):
            return f"must be a tensor such as {example}"
        whole = {"dtype": "float32", "shape": shape, "data": found}
        return f"must be a tensor, not {json_type_name(found)}: write {json.dumps(whole)}"
    if len(place) != 3 or not isinstance(place[1], int):
        return None
    sent = fault.request[place[0]][place[1]]
    if fault.kind == "missing" and place[2] == "shape" and (shape := _nested_shape(sent.get("data"))) is not None:
        return f"is missing: {fault.write(place, shape)}"
    if fault.kind == "extra_forbidden" and isinstance(found, list) and not {"data", "base64"} & sent.keys():
        return f"is an unknown field: write data instead of {place[2]}"
    return None


def _nested_shape(data: Any) -> list[int] | None:
    """Return the shape of a nested list of numbers, based on its first elements. Return None for any other value."""
    shape: list[int] = []
    while isinstance(data, list) and len(shape) < MAX_SHOWN_SIZES:
        shape.append(len(data))
        data = data[0] if data else 0.0
    return shape if isinstance(data, (int, float)) else None


# --- windows ---------------------------------------------------------------------------------------

_SLICE = re.compile(r"\s*([0-9]{1,19})\s*:\s*([0-9]{1,19})\s*")


def window(fault: InvalidField) -> str | None:
    """Return the correction for a window that is a string, a flat pair or a map, or that contains steps or null."""
    if fault.place[:1] != ("window",):
        return None
    found, sent = fault.found, fault.request["window"]
    pair = "a pair [start, stop] for each output axis"
    pairs: list[Any]
    if isinstance(sent, dict):
        lists = [bounds for bounds in sent.values() if isinstance(bounds, list)]
        pairs = [list(bounds) for bounds in zip(*lists, strict=False)] if len(lists) == 2 else []
    elif isinstance(sent, str) and len(sent) <= MAX_SHAPE_CHARACTERS:
        pairs = [[int(bounds[1]), int(bounds[2])] for part in sent.split(",") if (bounds := _SLICE.fullmatch(part))]
    else:
        pairs = [sent] if isinstance(sent, list) and len(sent) == 2 and _are_integers(sent) else []
    if pairs and is_short(pairs):
        return f"must be {pair}: {fault.write(['window'], pairs)}"
    if fault.kind == "too_long" and isinstance(found, list) and len(found) == 3 and _are_integers(found):
        return f"must be a pair, not a list of 3 numbers, because a window has no steps: write {json.dumps(found[:2])}"
    if fault.kind == "not_an_integer" and found is None and len(fault.place) == 3:
        end = "0" if fault.place[2] == 0 else "the size of the axis"
        return f"must be an integer, not null: write {end}"
    if fault.kind == "list_type":
        return f"must be {pair}: [[0, 2]] for one axis, [[0, 2], [0, 3]] for two axes"
    if fault.kind in ("tuple_type", "too_long"):
        wrong = json_type_name(found) if fault.kind == "tuple_type" else f"a list of {len(found)}"
        return f"must be a pair, not {wrong}: write {_bounds_written(found)}"
    return None


def _bounds_written(found: Any) -> str:
    """Return the bounds on one axis as JSON, if they are given as a map or a string.

    Otherwise, describe the valid form.
    """
    if isinstance(found, dict) and _are_integers(bounds := [*found.values()]):
        return json.dumps(bounds)
    pair = _SLICE.fullmatch(found) if isinstance(found, str) else None
    return f"[{int(pair[1])}, {int(pair[2])}]" if pair else "[start, stop], such as [0, 2]"


def _are_integers(values: Sequence[Any]) -> bool:
    return all(type(value) is int for value in values)
