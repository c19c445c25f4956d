"""Repairs of requests that were sent in a common but invalid form.

A table has a function for each field that returns the field in its valid form. A repair is offered only if the repaired
field is valid, so that the next try succeeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..ops import OPS, op_class
from ..wire.shapes import MAX_SHAPE_CHARACTERS, json_type_name
from ..wire.wording import MAX_NAME_CHARACTERS
from .notation import JsonNotation
from .value_repairs import MAX_SHOWN_SIZES, assumptions_in, is_short, shapes_in, sizes_in, tensors_in, window_in

ROWS_PATH = "/v1/check/batch"
COLUMNS_PATH = "/v1/check/columns"
_WRONG = {
    "not_a_list": "must be a list of integers, not {found}",
    "not_an_integer": "must be an integer, not {found}",
    "list_type": "must be a list, not {found}",
    "dict_type": "must be a map, not {found}",
    "string_type": "must be a string, not {found}",
    "tuple_type": "must be a pair, not {found}",
    "too_long": "must be a pair [start, stop], because a window has no steps",
    "model_type": "must be a tensor, not {found}",
    "model_attributes_type": "an op must be a name, or a map with a name",
    "union_tag_not_found": "an op must be a name, or a map with a name",
    "union_tag_invalid": "an op must be a name, or a map with a name",
    "missing": "is missing",
    "extra_forbidden": "is an unknown field",
    "renamed": "is an unknown field",
}
"""What is wrong with a field that has a repair, by the kind of the error."""


_NOT_REPAIRED = (ValueError, TypeError, KeyError, IndexError)
"""The errors of functions that know no valid form of a value."""


class Repair(NamedTuple):
    """The repaired fields of a request."""

    request: Mapping[str, Any]
    """The request as it was sent."""
    fields: dict[str, Any]
    moved: dict[str, str]
    """For each unknown field whose value is now in another field, the name of this other field."""
    invalid: Sequence[tuple[int | str, ...]]
    """The locations that are still invalid. No repair of them is offered."""

    def sentence(self, error: ErrorDetails, place: Sequence[int | str], notation: JsonNotation) -> str | None:
        """Return what is wrong with a field, and its repaired value to write. Return None if there is no repair."""
        name = str(place[0]) if place else ""
        field = self.moved.get(name, name)
        if field not in self.fields:
            return None
        wrong = _WRONG.get(error["type"], error["msg"]).format(found=json_type_name(error["input"]))
        if error["type"] == "not_a_size":
            wrong += f"; not {json.dumps(error['input'][:MAX_NAME_CHARACTERS])}"
        if name in self.moved:
            inside = {"op": "belongs inside op", "requests": "belongs inside each request"}
            is_value = field == "op" and self.fields[field] in (error["input"], op_in(error["input"]))
            wrong = wrong if is_value else inside.get(field, wrong)
        steps: list[int | str] = [field]
        sent: Any = self.request.get(field)
        value = self.fields[field]
        for step in place[1:] if name not in self.moved else ():
            if not _has_step(sent, value, step):
                break
            steps.append(step)
            sent, value = sent.get(step) if isinstance(sent, dict) else sent[step], value[step]
        is_invalid = any(location[: len(steps)] == tuple(steps) for location in self.invalid)
        if is_invalid or sent == value or not is_short(value, 6):
            return None
        written = json.dumps(value) if isinstance(steps[-1], int) else notation.assignment(steps, value)
        return f"{wrong}: write {written}"


def _has_step(sent: Any, value: Any, step: int | str) -> bool:
    """Return whether a step leads from a field, as it was sent and as it is repaired, to another part of it."""
    if isinstance(sent, dict) and isinstance(value, dict):
        return step in value
    return isinstance(sent, list) and isinstance(value, list) and len(sent) == len(value)


def map_fault(model: type[BaseModel], found: Any) -> str:
    """Return what is wrong with a request that is not a map, and the map to write."""
    if isinstance(found, str) and found.lstrip().startswith("{"):
        return "must be a map, not a string that contains a map: encode it as JSON only once"
    fields = model.model_fields
    if "requests" in fields:
        return 'must be a map: write {"requests": [...]} around the list'
    written = {name: field.examples[0] for name, field in fields.items() if field.is_required() and field.examples}
    is_check_list = "explain" in fields and isinstance(found, list) and dict in map(type, found[:1])
    if "inputs" in fields and is_short(found, 6):
        with suppress(*_NOT_REPAIRED):
            is_listed = isinstance(found, list) and isinstance(found[0], dict) and found[0].keys() <= fields.keys()
            repaired = found[0] if is_listed else written | {"inputs": _of_field(model, "inputs")(found)}
            model.model_validate(repaired)
            written = repaired
    many = '; send a list of checks to /v1/check/batch as {"requests": [...]}' if is_check_list else ""
    return f"must be a map, not {json_type_name(found)}: write {json.dumps(written)}{many}"


def repair(model: type[BaseModel], request: Any, errors: Sequence[ErrorDetails]) -> Repair:
    """Return the repair of an invalid request for a model."""
    if not isinstance(request, dict) or len(request) > MAX_SHOWN_SIZES:
        return Repair({}, {}, {}, ())
    fields, moved = _placed(model, request)
    wrong = {str(error["loc"][0]) for error in errors if error["loc"]} | {*moved.values()}
    repaired = {}
    for field in wrong & model.model_fields.keys():
        value = fields.get(field)
        if value is not None and is_short(value, 6):
            with suppress(*_NOT_REPAIRED):
                repaired[field] = _of_field(model, field)(value)
    invalid: list[tuple[int | str, ...]] = []
    try:
        model.model_validate({**fields, **repaired})
    except ValidationError as error:
        invalid = [(*fault["loc"], *_field_in(fault)) for fault in error.errors(include_url=False)]
    moved = {name: field for name, field in moved.items() if (field,) not in {place[:1] for place in invalid}}
    return Repair(request, repaired, moved, invalid)


def _field_in(error: ErrorDetails) -> list[str]:
    field = error.get("ctx", {}).get("field")
    return [field] if field else []


def _placed(model: type[BaseModel], request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields of a request with the values of its unknown fields, and where each of these values is."""
    known = model.model_fields.keys()
    fields = {name: value for name, value in request.items() if name in known}
    moved: dict[str, str] = {}
    for name, value in request.items():
        if name in known:
            continue
        if "requests" in known:
            rows = fields.setdefault("requests", [{}])
            is_row = isinstance(rows, list) and rows and isinstance(rows[0], dict)
            fields["requests"] = [{**rows[0], name: value}] if is_row else rows
            moved[name] = "requests"
        elif "op" in known and _is_of_op(name, value, request):
            fields["op"] = _merged(fields.get("op", request.get("name")), name, value)
            moved[name] = "op"
        elif "shape" in known and "op" not in known and "shape" not in request:
            fields["shape"], moved[name] = value, "shape"
        elif "inputs" in known and "inputs" not in request and name != "name":
            fields["inputs"] = value if "inputs" not in fields else [fields["inputs"], value]
            moved[name] = "inputs"
    return fields, moved


def _of_field(model: type[BaseModel], field: str) -> Callable[[Any], Any]:
    example: Any = (model.model_fields[field].examples or [[None]])[0]
    if field in ("inputs", "gradients") and isinstance(example[0], dict):
        return tensors_in
    return _REPAIRS[field]


# --- ops -------------------------------------------------------------------------------------------


def op_in(found: Any) -> Any:
    """Return the op in a value that has an invalid form, or None if the value contains no op.

    The recognized forms are ``{"torch.expand": {...}}``, ``{"op": "torch.expand", ...}``, ``["torch.expand", {...}]``,
    and a string that contains JSON.
    """
    if isinstance(found, str) and len(found) <= MAX_SHAPE_CHARACTERS and found.lstrip().startswith("{"):
        from ..wire.codec import parse_json  # this module imports msgpack

        try:
            found = parse_json(found)
        except ValueError:
            return None
    if isinstance(found, list) and isinstance(next(iter(found), None), str):
        name, *others = found
        if all(isinstance(part, dict) for part in others):
            found = {"name": name} | {name: value for part in others for name, value in part.items()}
    if not isinstance(found, dict) or len(found) > MAX_SHOWN_SIZES:
        return None
    for key, value in found.items():
        is_named = isinstance(value, str) and value in OPS
        if is_named or (isinstance(key, str) and key in OPS and isinstance(value, dict)):
            rest = {name: other for name, other in found.items() if name != key}
            return _unnested(value, rest) if is_named else _unnested(key, value | rest)
    return None


def _unnested(name: str, attributes: dict[str, Any]) -> Any:
    """Return an op as a map. Attributes inside another map, such as "kwargs", become attributes of the op."""
    known, op = OPS[name].model_fields, {"name": name}
    for key, value in attributes.items():
        inner = value if isinstance(value, dict) and key not in known and value.keys() <= known.keys() else {key: value}
        op |= inner
    return op if len(op) > 1 else name


def _complete_op(found: Any) -> Any:
    """Return an op with its required attributes. Missing attributes get example values."""
    op = found if isinstance(found, str) and op_class(found) else op_in(found)
    if op is None:
        op = found if isinstance(found, dict) else {}
    name, attributes = (op, {}) if isinstance(op, str) else (op["name"], {**op})
    attributes.pop("name", None)
    kind = op_class(name)
    if kind is None:
        raise ValueError(name)
    known = kind.model_fields
    missing = [attribute for attribute, field in known.items() if field.is_required() and attribute not in attributes]
    unknown = [attribute for attribute in attributes if attribute not in known]
    if len(missing) == len(unknown) == 1:
        attributes[missing.pop()] = attributes.pop(unknown.pop())
    if isinstance(found, str):
        attributes |= {attribute: known[attribute].examples[0] for attribute in missing}  # type: ignore[index]
    for attribute, value in attributes.items():
        example = (known[attribute].examples or [None])[0] if attribute in known else None
        if isinstance(example, list) and all(type(size) is int for size in example):
            attributes[attribute] = sizes_in(value)
    return {"name": name, **attributes} if attributes else name


def _is_of_op(name: str, value: Any, request: Mapping[str, Any]) -> bool:
    """Return whether an unknown field is the op of a request, an attribute of it, or a map of attributes."""
    sent = request.get("op", request.get("name"))
    if sent is None and (name == "name" or (isinstance(value, str) and value in OPS) or op_in(value)):
        return True
    own = sent if isinstance(sent, str) else sent.get("name") if isinstance(sent, dict) else None
    if not isinstance(own, str):
        return sent is None and "inputs" in request and any(name in kind.model_fields for kind in OPS.values())
    kind = op_class(own)
    known = kind.model_fields.keys() if kind else set()
    needs = any(field.is_required() for attribute, field in kind.model_fields.items()) if kind else False
    return name in known or (isinstance(value, dict) and value.keys() <= known) or (name == "shape" and needs)


def _merged(op: Any, name: str, value: Any) -> Any:
    """Return an op with the value of an unknown field beside it."""
    if op is None:
        if name == "name" or (isinstance(value, str) and value in OPS) or (op_in(value) is not None):
            return value
        op = next(op for op, kind in OPS.items() if name in kind.model_fields)
    op = op_in(op) or op
    whole = {"name": op} if isinstance(op, str) else op
    if name == "name" or not isinstance(whole, dict):
        return whole
    kind = op_class(whole.get("name"))
    is_map = isinstance(value, dict) and kind is not None and name not in kind.model_fields
    return whole | (value if is_map else {name: value})


_REPAIRS: Mapping[str, Callable[[Any], Any]] = {
    "op": _complete_op,
    "inputs": shapes_in,
    "shape": sizes_in,
    "gradients": tensors_in,
    "window": window_in,
    "assume": assumptions_in,
    "requests": lambda value: [value] if isinstance(value, dict) else value,
    "to": lambda value: value["name"],
}
"""The function that returns a field in its valid form. It raises an error if it finds no valid form."""
