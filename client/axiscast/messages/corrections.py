"""Corrections for fields that were sent in a common but invalid form."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel

from ..ops import OPS, op_class
from ..wire.shapes import MAX_SHAPE_CHARACTERS, json_type_name, parse_shape
from ..wire.wording import MAX_NAME_CHARACTERS
from .invalid_field import MAX_SHOWN_SIZES, InvalidField, is_short
from .tensor_corrections import COLUMNS_PATH, ROWS_PATH, has_columns, tensor, window


def correction_of(fault: InvalidField) -> str | None:
    """Return the correction for an invalid field, or None if the mistake is not a common one."""
    for form in _FORMS:
        if said := form(fault):
            return said
    return None


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
    if not isinstance(found, (list, dict)) or len(found) > MAX_SHOWN_SIZES:
        return None
    if isinstance(found, list) and found and all(isinstance(part, dict) for part in found[1:]):
        rest = {name: value for part in found[1:] for name, value in part.items()}
        return _named(found[0], rest)
    if not isinstance(found, dict):
        return None
    for key, value in found.items():
        rest = {name: other for name, other in found.items() if name != key}
        op = _named(key, value | rest) if isinstance(value, dict) else _named(value, rest)
        if op is not None:
            return op
    return None


def _named(name: Any, attributes: dict[str, Any]) -> Any:
    if not isinstance(name, str) or name not in OPS:
        return None
    fields = OPS[name].model_fields
    for key, value in [*attributes.items()]:
        if isinstance(value, dict) and key not in fields and value.keys() <= fields.keys():
            attributes = {other: kept for other, kept in attributes.items() if other != key} | value
    return {"name": name, **attributes} if attributes else name


def _attributes(fault: InvalidField) -> str | None:
    """Return the correction for attributes that were sent in a separate map beside the op's name."""
    if fault.kind not in ("extra_forbidden", "renamed") or len(fault.place) != 2 or fault.place[0] != "op":
        return None
    op, name = fault.request["op"], fault.place[1]
    if not isinstance(fault.found, dict) or not isinstance(op, dict):
        return None
    whole = _named(op["name"], {key: value for key, value in op.items() if key != "name"})
    if isinstance(whole, dict) and name not in whole and is_short(whole, 3):
        return (
            f"attributes must be next to the name of the op: move them out of {name}, and {fault.write(['op'], whole)}"
        )
    if name in ("attributes", "attrs", "params", "parameters", "kwargs", "args", "arguments", "options"):
        return f"attributes must be next to the name of the op: move them out of {name}"
    return None


def _op(fault: InvalidField) -> str | None:
    """Return the correction for an op that has no field `name`, that is inside a list, or that is null."""
    if fault.place[-1:] != ("op",) or fault.kind not in ("union_tag_not_found", "model_attributes_type"):
        return None
    if fault.found is None:
        return 'must be the name of an op, not null: omit it, or write for example "op": "numpy.broadcast_arrays"'
    op = op_in(fault.found)
    if op is None or not is_short(op, 3):
        return None
    return f"an op must be a name, or a map with a name: {fault.write(['op'], op)}"


def _beside_op(fault: InvalidField) -> str | None:
    """Return the correction for an attribute beside the op, or for a missing attribute of an op given only by name."""
    place, request = fault.place, fault.request
    if fault.kind == "extra_forbidden" and len(place) == 1 and (op := _op_with(str(place[0]), request)):
        return f'belongs inside op: write "op": {op}'
    if fault.kind == "missing" and place[0] == "op" and len(place) > 1 and isinstance(request["op"], str):
        return f'is missing: write "op": {_op_with(str(place[1]), request)}'
    return None


def _op_with(attribute: str, value: Any) -> str:
    """Return a request's op with all attributes that the request contains inside the op or beside the op.

    Missing required attributes get example values. If the op has no such attribute, return an empty string.
    """
    first = next((name for name, kind in OPS.items() if attribute in kind.model_fields), None)
    op = value.get("op", value.get("name", first))
    op = {"name": op} if isinstance(op, str) else op if isinstance(op, dict) else {}
    kind = op_class(op["name"]) if isinstance(op.get("name"), str) else None
    fields = kind.model_fields if kind else {}
    if attribute not in fields:
        return ""
    needs = {name: field.examples[0] for name, field in fields.items() if field.is_required() and field.examples}
    beside = {name: value[name] for name in fields if name in value}
    inside = {name: op[name] for name in fields if name in op}
    whole = {"name": ""} | needs | beside | inside
    return json.dumps(whole) if is_short(whole) else f'{{"name": ..., "{attribute}": ...}}'


# --- fields under another name ---------------------------------------------------------------------


def _other_name(fault: InvalidField) -> str | None:
    if fault.kind not in ("extra_forbidden", "renamed") or len(fault.place) != 1:
        return None
    fields, name, found = fault.model.model_fields, fault.place[0], fault.found
    if "op" not in fields:
        if name == "op":
            return "is an unknown field: a comparison checks all ops, so omit it"
        shape = _listed_sizes(found)
        if shape is not None and "shape" in fields and "shape" not in fault.request:
            return f"is an unknown field: {fault.write(['shape'], shape)}"
    op = found if isinstance(found, str) and found in OPS else op_in(found)
    if op is not None and "op" in fields and "op" not in fault.request and name != "name" and is_short(op, 3):
        return f"is an unknown field: {fault.write(['op'], op)}"
    if fault.kind == "renamed" and "inputs" in fields and "inputs" not in fault.request:
        inputs = _inputs_in(fault.model, found)
        return None if inputs is None else f"is an unknown field: {fault.write(['inputs'], inputs)}"
    return None


# --- shapes ----------------------------------------------------------------------------------------


def _inputs_in(model: type[BaseModel], found: Any) -> list[Any] | None:
    """Return the correct `inputs` for a shape, a tensor, a map of shapes or tensors, or a string.

    Return None for any other value.
    """
    example = (model.model_fields["inputs"].examples or [[[]]])[0][0]
    if isinstance(example, dict):
        tensors = [found] if isinstance(found, dict) and "shape" in found else _values(found)
        if tensors is None or len(tensors) > MAX_SHOWN_SIZES:
            return None
        fits = bool(tensors) and all(isinstance(tensor, dict) and "shape" in tensor for tensor in tensors)
        return tensors if fits and is_short(tensors, 5) else None
    return _shapes_in(found)


def _shapes_in(found: Any) -> list[Any] | None:
    """Return the shapes in a value: a single shape, a list or a map of shapes, or a string.

    Return None if the value contains no shapes, or too many.
    """
    longest = MAX_SHAPE_CHARACTERS if isinstance(found, str) else MAX_SHOWN_SIZES
    if not isinstance(found, (str, list, dict)) or len(found) > longest:
        return None
    if isinstance(found, str):
        texts = re.findall(r"[(\[][^()\[\]]*[)\]]", found)
        shapes = [_parsed(text) for text in texts] if texts else [_parsed(found)]
    elif (one := _listed_sizes(found)) is not None:
        shapes = [one]
    else:
        shapes = [_parsed(item) if isinstance(item, str) else _listed_sizes(item) for item in _values(found) or [None]]
    return None if None in shapes or len(shapes) > MAX_SHOWN_SIZES else shapes


def _values(found: Any) -> list[Any] | None:
    return [*found.values()] if isinstance(found, dict) else found if isinstance(found, list) else None


def _parsed(text: str) -> list[int | str] | None:
    try:
        return parse_shape(text)
    except ValueError:
        return None


def _listed_sizes(found: Any) -> list[Any] | None:
    """Return the sizes if the value is a list of sizes, or a map whose `shape` is such a list.

    Otherwise, return None.
    """
    sizes = found.get("shape") if isinstance(found, dict) else found
    fits = isinstance(sizes, list) and len(sizes) <= MAX_SHOWN_SIZES and all(_is_size(size) for size in sizes)
    return sizes if fits else None


def _is_size(value: Any) -> bool:
    return value is None or (type(value) is int and abs(value) < 2**63) or (isinstance(value, str) and len(value) < 20)


def _inputs(fault: InvalidField) -> str | None:
    """Return the correction for inputs that are given as a map, as a string, or as separate fields."""
    if fault.place != ("inputs",) or fault.kind not in ("list_type", "missing"):
        return None
    if fault.kind == "list_type":
        inputs = _inputs_in(fault.model, fault.found)
        wrong = f"must be a list of inputs, not {json_type_name(fault.found)}"
    else:
        others = {name: value for name, value in fault.request.items() if name not in fault.model.model_fields}
        inputs = _inputs_in(fault.model, others) if others else None
        wrong = "is missing"
    return None if inputs is None else f"{wrong}: {fault.write(['inputs'], inputs)}"


def _unnested(fault: InvalidField) -> str | None:
    """Return the correction for shapes that are nested one list too deep."""
    if fault.kind != "not_an_integer" or not isinstance(fault.found, list) or fault.place[:1] != ("inputs",):
        return None
    inputs = [shape for shape in fault.request["inputs"] if isinstance(shape, list)]
    if not inputs:
        return None  # the shape of a tensor is nested
    if max(len(fault.request["inputs"]), *map(len, inputs)) > MAX_SHOWN_SIZES:
        return None
    inner = [item for shape in inputs for item in shape]
    shapes = [_listed_sizes(item) for item in inner]
    if None in shapes or len(shapes) > MAX_SHOWN_SIZES:
        return None
    return f"must be an integer, not a list: {fault.write(['inputs'], shapes)}"


def _one_size(fault: InvalidField) -> str | None:
    """Return the correction for a shape that is given as a single size, a string or a tensor."""
    place, found = fault.place, fault.found
    if fault.kind != "not_a_list" or (shape := shape_in(found)) is None:
        return None
    sizes = fault.request["inputs"] if place[0] == "inputs" else ()
    if len(place) == 2 and isinstance(found, int) and sizes and is_short(sizes, 1):
        one, each = fault.notation.assignment(["inputs"], [sizes]), json.dumps([[size] for size in sizes])
        choice = f"{one} for one input, or {each} for {'two' if len(sizes) == 2 else len(sizes)}"
        return f"is a size, but each input must be a list of sizes: write {choice if len(sizes) > 1 else one}"
    written = f"write {json.dumps(shape)}" if isinstance(place[-1], int) else fault.write(place, shape)
    return f"must be a list of integers, not {json_type_name(found)}: {written}"


def shape_in(found: Any) -> list[int | str] | None:
    """Return the shape in a string or a tensor.

    For a number, return a shape with this one size. Otherwise, return None.
    """
    if isinstance(found, dict) and isinstance(found.get("shape"), list) and len(found["shape"]) <= MAX_SHOWN_SIZES:
        found = ",".join(map(str, found["shape"])) if all(map(is_short, found["shape"])) else None
    if isinstance(found, str):
        return _parsed(found)
    return [found] if type(found) is int and is_short(found) else None


_UNKNOWN = ("*", "", "any", "dynamic", "-1", "none", "null")
"""The notations for an unknown size in other programs."""


def _size(fault: InvalidField) -> str | None:
    """Return the correction for a size that is given as a string."""
    if fault.kind not in ("not_a_size", "not_an_integer") or not isinstance(fault.found, str):
        return None
    text = fault.found[:MAX_SHAPE_CHARACTERS].strip()
    if re.fullmatch("[0-9]{1,19}", text):
        return f"must be an integer, not a string: write {int(text)}"
    if re.fullmatch(r"[0-9]{1,19}\.0*", text):
        return f"must be an integer, not a string: write {int(text.partition('.')[0])}"
    if fault.kind == "not_a_size" and re.fullmatch(r"[0-9]+\.\.[0-9]*", text):
        return None  # the message about an invalid range needs no correction
    if fault.kind == "not_an_integer":
        shown = fault.found[:MAX_NAME_CHARACTERS]
        note = "only check, compare and translate accept names"
        return f"must be an integer, not {shown!r}: {note}, so write an example size such as 2"
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:MAX_NAME_CHARACTERS]
    written = '"?"' if text.lower() in _UNKNOWN else f'"{name}"' if re.match("[A-Za-z_]", name) else ""
    return (
        f'must be an integer, a name such as "N", a range such as "1..8" or "2..", or "?"; not '
        f"{json.dumps(fault.found[:MAX_NAME_CHARACTERS])}" + (f": write {written}" if written else "")
    )


# --- batches ---------------------------------------------------------------------------------------


def _rows(fault: InvalidField) -> str | None:
    """Return the correction for a batch that is a single request, or for a `to` field that is an op."""
    if not isinstance(fault.found, dict):
        return None
    if fault.place == ("requests",) and is_short(fault.found, 3):
        return f"must be a list, not a map: {fault.write(['requests'], [fault.found])}"
    if fault.place == ("to",) and isinstance(name := fault.found.get("name"), str) and name in OPS:
        return f"must be a string, not a map: {fault.write(['to'], name)}"
    return None


_OF_A_ROW = ("assume", "dtype", "explain", "warn")
"""The fields that must be inside each row of a batch, not beside `requests`."""


def _inside_each(fault: InvalidField) -> str | None:
    """Return the correction for a field beside `requests` that must be inside each row."""
    field = fault.place[0] if fault.place else None
    if fault.kind != "extra_forbidden" or field not in _OF_A_ROW:
        return None
    if has_columns(fault.model):
        return f"is not supported for columns: send a list of requests to {ROWS_PATH}, with the field inside a request"
    rows = fault.request.get("requests")
    if "requests" not in fault.model.model_fields or not isinstance(rows, list):
        return None
    first = {**rows[0], field: fault.found} if rows and isinstance(rows[0], dict) else None
    written = f": {fault.write(['requests'], [first])}" if first and is_short(first, 3) else ""
    return f"belongs inside each request{written}"


def corrected_row(found: Any) -> str | None:
    """Return the check request for a shape, a list of shapes or a string of shapes. Return None for any other value."""
    inputs = _shapes_in(found)
    return None if inputs is None else json.dumps({"inputs": inputs})


def _other_batch(fault: InvalidField) -> str | None:
    """Return the correction for a request to /v1/check/batch or /v1/check/columns that has the form of the other."""
    request = fault.request
    if fault.place == ("requests",) and has_columns(fault.model):
        return f"is an unknown field: send a list of requests to {ROWS_PATH}"
    if not fault.place or "requests" not in fault.model.model_fields:
        return None
    if "requests" in request or "inputs" not in request:
        return None
    if fault.place == ("requests",):
        return f'is missing: write "requests": {_rows_written(request)}'
    if fault.place != ("inputs",):
        return "belongs inside each request" if fault.kind == "extra_forbidden" else None
    tensors = request["inputs"] if isinstance(request["inputs"], list) else []
    if any(isinstance(tensor, dict) for tensor in tensors):
        return f"is an unknown field: send columns of shapes to {COLUMNS_PATH}"
    return f'checks belong in "requests": write "requests": {_rows_written(request)}'


def _rows_written(request: Any) -> str:
    """Return the `requests` that replace the `inputs` of a batch: one check of all inputs, or one check per input."""
    op, shapes = {"op": request["op"]} if "op" in request else {}, request["inputs"]
    if not is_short(op, 3) or not is_short(shapes) or not isinstance(shapes, list):
        return '[{"inputs": [[3], [4]]}]'
    if not all(isinstance(shape, list) for shape in shapes):
        return '[{"inputs": [[3], [4]]}]'
    one, each = json.dumps([op | {"inputs": shapes}]), json.dumps([op | {"inputs": [shape]} for shape in shapes])
    return (
        one if len(shapes) == 1 else f"{one} for one check of all shapes, or {each} for a separate check of each shape"
    )


_FORMS = (
    *(_other_batch, _attributes, _op, _other_name, _inputs, _unnested, _size, tensor, window, _rows),
    *(_beside_op, _inside_each, _one_size),
)
"""The functions that return corrections. The first function that finds a correction is used."""
