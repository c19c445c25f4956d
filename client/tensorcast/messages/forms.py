"""Forms: how to write a field that was sent in another form which people often use."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel

from ..ops import OPS
from ..schema.names import LONGEST
from ..schema.shapes import MAX_TEXT, kind_of, parse_shape

MOST_SIZES = 64
"""Sizes that a message writes in another form: a shape has no more."""


class _Words(Protocol):
    def field(self, steps: Sequence[int | str], value: Any) -> str: ...


class Fault(NamedTuple):
    """What pydantic found wrong in a request."""

    kind: str
    found: Any
    place: tuple[int | str, ...]
    model: type[BaseModel]
    """The model of the whole request."""
    request: Any
    words: _Words


def rewritten(fault: Fault) -> str | None:
    """Return what to write in place of a usual other form; None if the form is not one of those."""
    for form in (_attributes, _op, _other_name, _inputs, _unnested, _size, _tensor, _window, _rows):
        if said := form(fault):
            return said
    return None


# --- ops -------------------------------------------------------------------------------------------


def op_in(found: Any) -> Any:
    """Return the op that is written as ``{"torch.expand": {...}}``, ``{"op": "torch.expand", ...}``,
    ``["torch.expand", {...}]`` or as JSON in a string; None if there is none."""
    if isinstance(found, str) and len(found) <= MAX_TEXT and found.lstrip().startswith("{"):
        from ..schema.codec import decode_text  # which loads msgpack

        try:
            found = decode_text(found)
        except ValueError:
            return None
    if not isinstance(found, (list, dict)) or len(found) > MOST_SIZES:
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


def _attributes(fault: Fault) -> str | None:
    """Attributes in a map of their own, beside the op's name."""
    if fault.kind not in ("extra_forbidden", "renamed") or len(fault.place) != 2 or fault.place[0] != "op":
        return None
    op, name = fault.request["op"], fault.place[1]
    if not isinstance(fault.found, dict) or not isinstance(op, dict):
        return None
    whole = _named(op["name"], {key: value for key, value in op.items() if key != "name"})
    if isinstance(whole, dict) and name not in whole and is_short(whole, 3):
        return f"attributes stand beside the op's name: move them out of {name}, and {_write(fault, ['op'], whole)}"
    if name in ("attributes", "attrs", "params", "parameters", "kwargs", "args", "arguments", "options"):
        return f"attributes stand beside the op's name: move them out of {name}"
    return None


def _op(fault: Fault) -> str | None:
    """An op without the field `name`, or in a list, or as null."""
    if fault.place[-1:] != ("op",) or fault.kind not in ("union_tag_not_found", "model_attributes_type"):
        return None
    if fault.found is None:
        return 'must be the name of an op, not null: leave it out, or write for instance "op": "numpy.broadcast_arrays"'
    op = op_in(fault.found)
    if op is None or not is_short(op, 3):
        return None
    return f"an op is a name, or a map with a name: {_write(fault, ['op'], op)}"


# --- fields under another name ---------------------------------------------------------------------


def _other_name(fault: Fault) -> str | None:
    if fault.kind not in ("extra_forbidden", "renamed") or len(fault.place) != 1:
        return None
    fields, name, found = fault.model.model_fields, fault.place[0], fault.found
    if "op" not in fields:
        if name == "op":
            return "is no field here: a comparison is of all ops, so leave it out"
        shape = _listed_sizes(found)
        if shape is not None and "shape" in fields and "shape" not in fault.request:
            return f"is no field here: {_write(fault, ['shape'], shape)}"
    op = found if isinstance(found, str) and found in OPS else op_in(found)
    if op is not None and "op" in fields and "op" not in fault.request and name != "name" and is_short(op, 3):
        return f"is no field here: {_write(fault, ['op'], op)}"
    if fault.kind == "renamed" and "inputs" in fields and "inputs" not in fault.request:
        inputs = _inputs_in(fault.model, found)
        return None if inputs is None else f"is no field here: {_write(fault, ['inputs'], inputs)}"
    return None


# --- shapes ----------------------------------------------------------------------------------------


def _inputs_in(model: type[BaseModel], found: Any) -> list[Any] | None:
    """Return what `inputs` is to be, if it stands in another form: one shape or tensor, a map of them, a text."""
    example = (model.model_fields["inputs"].examples or [[[]]])[0][0]
    if isinstance(example, dict):
        tensors = [found] if isinstance(found, dict) and "shape" in found else _values(found)
        if tensors is None or len(tensors) > MOST_SIZES:
            return None
        fits = bool(tensors) and all(isinstance(tensor, dict) and "shape" in tensor for tensor in tensors)
        return tensors if fits and is_short(tensors, 5) else None
    return _shapes_in(found)


def _shapes_in(found: Any) -> list[Any] | None:
    """Return the shapes in one shape, a list or a map of them, or a text; None if there are none, or too many."""
    if not isinstance(found, (str, list, dict)) or len(found) > (MAX_TEXT if isinstance(found, str) else MOST_SIZES):
        return None
    if isinstance(found, str):
        texts = re.findall(r"[(\[][^()\[\]]*[)\]]", found)
        shapes = [_parsed(text) for text in texts] if texts else [_parsed(found)]
    elif (one := _listed_sizes(found)) is not None:
        shapes = [one]
    else:
        shapes = [_parsed(item) if isinstance(item, str) else _listed_sizes(item) for item in _values(found) or [None]]
    return None if None in shapes or len(shapes) > MOST_SIZES else shapes


def _values(found: Any) -> list[Any] | None:
    return [*found.values()] if isinstance(found, dict) else found if isinstance(found, list) else None


def _parsed(text: str) -> list[int | str] | None:
    try:
        return parse_shape(text)
    except ValueError:
        return None


def _listed_sizes(found: Any) -> list[Any] | None:
    """Return a list of sizes, none of which is a list; None if the value is not one."""
    sizes = found.get("shape") if isinstance(found, dict) else found
    fits = isinstance(sizes, list) and len(sizes) <= MOST_SIZES and all(_is_size(size) for size in sizes)
    return sizes if fits else None


def _is_size(value: Any) -> bool:
    return value is None or (type(value) is int and abs(value) < 2**63) or (isinstance(value, str) and len(value) < 20)


def _inputs(fault: Fault) -> str | None:
    """Inputs as a map, as a text, or each under a name of its own."""
    if fault.place != ("inputs",) or fault.kind not in ("list_type", "missing"):
        return None
    if fault.kind == "list_type":
        inputs = _inputs_in(fault.model, fault.found)
        wrong = f"must be a list of inputs, not {kind_of(fault.found)}"
    else:
        others = {name: value for name, value in fault.request.items() if name not in fault.model.model_fields}
        inputs = _inputs_in(fault.model, others) if others else None
        wrong = "is missing"
    return None if inputs is None else f"{wrong}: {_write(fault, ['inputs'], inputs)}"


def _unnested(fault: Fault) -> str | None:
    """Shapes in one list too many."""
    if fault.kind != "not_an_integer" or not isinstance(fault.found, list) or fault.place[:1] != ("inputs",):
        return None
    inputs = fault.request["inputs"]
    if len(inputs) > MOST_SIZES or any(isinstance(shape, list) and len(shape) > MOST_SIZES for shape in inputs):
        return None
    inner = [item for shape in inputs if isinstance(shape, list) for item in shape]
    shapes = [_listed_sizes(item) for item in inner]
    if None in shapes or len(shapes) > MOST_SIZES:
        return None
    return f"must be an integer, not a list: {_write(fault, ['inputs'], shapes)}"


_UNKNOWN = ("*", "", "any", "dynamic", "-1", "none", "null")
"""What others write for a size that is not known."""


def _size(fault: Fault) -> str | None:
    """A size as a text."""
    if fault.kind not in ("not_a_size", "not_an_integer") or not isinstance(fault.found, str):
        return None
    text = fault.found[:MAX_TEXT].strip()
    if re.fullmatch("[0-9]{1,19}", text):
        return f"must be an integer, not a string: write {int(text)}"
    if re.fullmatch(r"[0-9]{1,19}\.0*", text):
        return f"must be an integer, not a string: write {int(text.partition('.')[0])}"
    if fault.kind == "not_an_integer":
        return f"must be an integer, not a string: names and ? are for check and compare ({fault.found[:LONGEST]!r})"
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:LONGEST]
    written = '"?"' if text.lower() in _UNKNOWN else f'"{name}"' if re.match("[A-Za-z_]", name) else ""
    return (
        f'must be an integer, a name such as "N", a range such as "1..8" or "2..", or "?"; not '
        f"{json.dumps(fault.found[:LONGEST])}" + (f": write {written}" if written else "")
    )


# --- tensors ---------------------------------------------------------------------------------------


def _tensor(fault: Fault) -> str | None:
    """A bare list for a tensor, a tensor whose shape was left out, or whose elements have another name."""
    place, found = fault.place, fault.found
    if place[:1] not in (("inputs",), ("gradients",)):
        return None
    if fault.kind in ("model_type", "model_attributes_type") and len(place) == 2:
        if "requests" in fault.model.model_fields:
            return None
        shape = _nested_shape(found)
        if shape is None or not is_short(found, 4):
            return None
        tensor = {"dtype": "float32", "shape": shape, "data": found}
        return f"must be a tensor, not {kind_of(found)}: write {json.dumps(tensor)}"
    if len(place) != 3 or not isinstance(place[1], int):
        return None
    tensor = fault.request[place[0]][place[1]]
    if fault.kind == "missing" and place[2] == "shape" and (shape := _nested_shape(tensor.get("data"))) is not None:
        return f"is missing: {_write(fault, place, shape)}"
    if fault.kind == "extra_forbidden" and isinstance(found, list) and not {"data", "base64"} & tensor.keys():
        return f"is no field here: write data in place of {place[2]}"
    return None


def _nested_shape(data: Any) -> list[int] | None:
    """Return the shape of a nested list of numbers, by its first elements; None if it is not one."""
    shape: list[int] = []
    while isinstance(data, list) and len(shape) < MOST_SIZES:
        shape.append(len(data))
        data = data[0] if data else 0.0
    return shape if isinstance(data, (int, float)) else None


# --- windows ---------------------------------------------------------------------------------------

_SLICE = re.compile(r"\s*([0-9]{1,19})\s*:\s*([0-9]{1,19})\s*")


def _window(fault: Fault) -> str | None:
    """A window as slices in a text, as one flat pair, as a map of starts and stops, or with steps or null."""
    if fault.place[:1] != ("window",):
        return None
    found, window = fault.found, fault.request["window"]
    pair = "a pair [start, stop] for each output axis"
    pairs: list[Any]
    if isinstance(window, dict):
        lists = [bounds for bounds in window.values() if isinstance(bounds, list)]
        pairs = [list(bounds) for bounds in zip(*lists, strict=False)] if len(lists) == 2 else []
    elif isinstance(window, str) and len(window) <= MAX_TEXT:
        pairs = [[int(slice[1]), int(slice[2])] for part in window.split(",") if (slice := _SLICE.fullmatch(part))]
    else:
        pairs = [window] if isinstance(window, list) and len(window) == 2 and _are_integers(window) else []
    if pairs and is_short(pairs):
        return f"must be {pair}: {_write(fault, ['window'], pairs)}"
    if fault.kind == "too_long" and isinstance(found, list) and len(found) == 3 and _are_integers(found):
        return f"must be a pair, not a list of 3, as a window has no steps: write {json.dumps(found[:2])}"
    if fault.kind == "not_an_integer" and found is None and len(fault.place) == 3:
        end = "0" if fault.place[2] == 0 else "the size of the axis"
        return f"must be an integer, not null: write {end}"
    if fault.kind == "tuple_type" and isinstance(found, dict) and _are_integers(bounds := [*found.values()]):
        return f"must be a pair, not a map: write {json.dumps(bounds)}"
    return None


def _are_integers(values: Sequence[Any]) -> bool:
    return all(type(value) is int for value in values)


# --- batches ---------------------------------------------------------------------------------------


def _rows(fault: Fault) -> str | None:
    """A batch of one request without a list around it; an op where its name is due."""
    if not isinstance(fault.found, dict):
        return None
    if fault.place == ("requests",) and is_short(fault.found, 3):
        return f"must be a list, not a map: {_write(fault, ['requests'], [fault.found])}"
    if fault.place == ("to",) and isinstance(name := fault.found.get("name"), str) and name in OPS:
        return f"must be a string, not a map: {_write(fault, ['to'], name)}"
    return None


def row_written(found: Any) -> str | None:
    """Return how to write a check that came as a shape, a list of shapes or a text; None if it is none of these."""
    inputs = _shapes_in(found)
    return None if inputs is None else json.dumps({"inputs": inputs})


def _write(fault: Fault, steps: Sequence[int | str], value: Any) -> str:
    return f"write {fault.words.field(steps, value)}"


def is_short(value: Any, depth: int = 2) -> bool:
    """Whether a message can show a value: a text or a number, or a list or a map of some, nested `depth` deep."""
    if isinstance(value, (list, tuple, dict)):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return depth > 0 and len(value) <= MOST_SIZES and all(is_short(item, depth - 1) for item in items)
    if isinstance(value, str):
        return len(value) <= LONGEST
    return value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**64)
