"""The query parameters of a check, and corrections for common mistakes in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from axiscast.messages.attribute_text import format_attribute, parse_assumptions, parse_attribute
from axiscast.messages.notation import ArgumentNotation, JsonNotation
from axiscast.messages.repairs import op_in
from axiscast.messages.value_arguments import shape_in_text
from axiscast.messages.value_repairs import SHAPE, is_short
from axiscast.ops import OPS, Op, op_class
from axiscast.wire.problems import Problem
from axiscast.wire.shapes import MAX_SHAPE_CHARACTERS, parse_shape
from axiscast.wire.wording import close_matches, did_you_mean

PARAMETERS = ("input", "op", "dtype", "explain", "format", "assume", "warn")
"""The names of the query parameters that are not attributes of an op."""
_INPUT = re.compile(r"(inputs?|shapes|in|tensors?)|(inputs?|shapes?|in|tensors?)(\[\d*\]|_?\d+)", re.IGNORECASE)
"""The parameter names that clients often use by mistake instead of `input`."""
_SEVERAL = re.compile(r"[;|]")
_POINT_ZERO = re.compile(r"(?<=\d)\.0+(?![\d.])")
_SHOWN = 60


class QueryNotation(ArgumentNotation):
    """The notation for values in the query of a URL: ``name=value``."""

    def assignment(self, steps: Sequence[int | str], value: Any) -> str:
        return f"{steps[-1]}={format_attribute(value)}"


class PageNotation(QueryNotation):
    """The notation for the page, which shows a message beside its field. A message begins with its pointer, if any."""

    catalogue = "The list has all"

    def location(self, steps: Sequence[int | str]) -> str:
        return JsonNotation.location(self, steps)


def check_fields(query: Sequence[tuple[str, str]], with_drawing: bool, notation: QueryNotation) -> dict[str, Any]:
    """Return the fields of the check that query parameters describe. Raises Problem if a parameter is not valid."""
    validate_names(query)
    given = {name: text for name, text in query if name not in ("input", "warn")}
    texts = [text for name, text in query if name == "input"]
    warn = [text for name, text in query if name == "warn"]
    inputs = [_input_from_text(text, number, notation) for number, text in enumerate(texts)]
    op = _plain_op(given)  # also without an op, because this refuses unknown parameters
    if given.get("format", "text") not in ("text", "json", "svg", "drawing"):
        raise _problem("format", f": must be text, json or svg, not {given['format'][:_SHOWN]!r}")
    request: dict[str, Any] = {"inputs": inputs}
    if with_drawing:
        request["explain"] = True  # the drawing needs the explanation
    if "op" in given or "shape" in given:
        request["op"] = op
    if warn:
        request["warn"] = warn
    if "assume" in given:
        request["assume"] = _from_text(parse_assumptions, given["assume"], "assume")
    if "dtype" in given:
        request["dtype"] = given["dtype"]
    if "explain" in given:
        if given["explain"].lower() not in ("", "1", "true", "0", "false"):
            raise _problem("explain", f": must be true or false, not {given['explain'][:_SHOWN]!r}")
        request["explain"] = with_drawing or given["explain"].lower() in ("", "1", "true")
    return request


def _plain_op(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the op as a map with its name and attributes.

    Each parameter that is not in PARAMETERS is an attribute. Raises Problem if the op does not have the attribute.
    """
    # The default name is an alias, because the response then includes the full name of the op.
    name = given.get("op", "np.broadcast_to" if "shape" in given else "numpy.broadcast_shapes")
    op: dict[str, Any] = {"name": name}
    kind = op_class(name)
    if kind is None:
        return op  # validation reports the unknown name
    for attribute, text in given.items():
        if attribute not in PARAMETERS:
            _validate_attribute(attribute, given, kind)
            op[attribute] = _from_text(partial(parse_attribute, kind, attribute), text, attribute)
    return op


def _input_from_text(text: str, number: int, notation: QueryNotation) -> Any:
    try:
        return _parse_input(text)
    except ValueError as error:
        detail = f"{notation.location(['inputs', number])}: {error}"
        raise Problem("invalid-request", detail, parameter="input", pointer=f"/inputs/{number}") from None


def _from_text(parse: Callable[[str], Any], text: str, name: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise _problem(name, f": {error}") from None


def _problem(name: str, detail: str) -> Problem:
    """Return the problem that reports an invalid parameter."""
    return Problem("invalid-request", f"{name[:_SHOWN]}{detail}", parameter=name[:_SHOWN])


def validate_names(query: Sequence[tuple[str, str]]) -> None:
    """Raise Problem if `input` is missing or misnamed, `op` is a map, `warn` is a list, or a name is repeated."""
    names = Counter(name for name, _ in query)
    # Without an op, `shape` is an attribute of numpy.broadcast_to, but several of them are misnamed inputs.
    attributes = _attributes_of(op_class(dict(query).get("op", "numpy.broadcast_to")))
    others = {name for name in names if name not in (*PARAMETERS, *attributes) and _INPUT.fullmatch(name)}
    if names["shape"] > 1 and "op" not in names:
        others.add("shape")
    for name, text in query:
        if name in others:
            texts = [text for other, text in query if other == "input" or other in others]
            raise _problem(name, f": write `input` once for each shape{_inputs_written(texts)}")
        if name == "op" and text.lstrip().startswith("{"):
            raise _problem(
                "op", f": must be a name{_op_written(text)}; the attributes of the op are separate parameters"
            )
        if name == "warn" and "," in text:
            written = "&".join(f"warn={word.strip()}" for word in text[:_SHOWN].split(","))
            raise _problem("warn", f": must be one warning, and can be repeated: write {written}")
        if names[name] > 1 and name not in ("input", "warn"):
            raise _problem(name, " is given twice; only input and warn can be repeated")
    if "input" not in names:
        # In ?3,1&4 each shape is the name of a parameter without a value.
        shapes = [name for name, text in query[:_SHOWN] if not text and shape_in_text(name)]
        written = f"?{'&'.join(f'input={shape}' for shape in shapes[:9])}" if shapes else "?input=8,1,6,1&input=7,1,5"
        raise Problem("invalid-request", f"input is missing: write {written}", parameter="input", pointer="/inputs")


def _validate_attribute(name: str, given: Mapping[str, str], op: type[Op]) -> None:
    """Raise Problem if the op has no attribute with this name."""
    attributes = _attributes_of(op)
    if name in attributes:
        return
    wire_name = op.model_fields["name"].default
    missing = [field for field in attributes if op.model_fields[field].is_required() and field not in given]
    listed = f" ({', '.join(attributes)})" if attributes else ", which has none"
    there = f": valid parameters are {', '.join(PARAMETERS)} and the attributes of {wire_name}{listed}"
    owner = next((op_name for op_name, kind in OPS.items() if name in _attributes_of(kind)), None)
    if not given[name] and shape_in_text(name):
        there = f": write input={name[:_SHOWN]} for another input"
    elif len(missing) == 1:
        there = f" of {wire_name}: write {missing[0]}, which is missing, instead of {name[:_SHOWN]}"
    elif close := did_you_mean(close_matches(name, [*attributes, *PARAMETERS], 1)):
        there = close
    elif "op" not in given and owner:
        there = f" without an op: write op={owner}&{name}={given[name][:_SHOWN]}"
    elif "op" not in given and name in ("target", "to", "target_shape", "output", "size"):
        there = f": write shape={given[name][:_SHOWN]}"
    raise _problem(name, f": this parameter does not exist{there}")


def _parse_input(text: str) -> list[int | str]:
    """Return the sizes of an input. If the input is invalid, raise a ValueError that contains a correction."""
    try:
        return parse_shape(text)
    except ValueError as error:
        if len(text) > MAX_SHAPE_CHARACTERS:
            raise error
        several = [part for part in SHAPE.findall(text) or _SEVERAL.split(text) if shape_in_text(part)]
        if len(several) > 1:
            raise ValueError(
                f"contains {len(several)} shapes: write one input for each{_inputs_written(several)}"
            ) from None
        whole = _POINT_ZERO.sub("", text)
        if whole != text and shape_in_text(whole):
            raise ValueError(f"sizes must be integers: write {format_attribute(parse_shape(whole))}") from None
        raise error


def _attributes_of(op: type[Op] | None) -> list[str]:
    return [] if op is None else [field for field in op.model_fields if field != "name"]


def _inputs_written(texts: Sequence[str]) -> str:
    """Return a query with these shapes, or an empty string if one of the strings is not a shape."""
    try:
        shapes = [
            parse_shape(part) for text in texts[:9] for part in SHAPE.findall(text[:MAX_SHAPE_CHARACTERS]) or [text]
        ]
    except ValueError:
        return ""
    written = [",".join(map(str, shape)) or "()" for shape in shapes]
    return f": ?{'&'.join(f'input={text}' for text in written)}"


def _op_written(text: str) -> str:
    """Return the query parameters for an op that is written in JSON, or an empty string if the JSON is not an op."""
    op = op_in(text)
    if not isinstance(op, dict) or not is_short(op, 3):
        return ""
    values = {name: value for name, value in op.items() if name != "name"}
    return f": write op={op['name']}" + "".join(f"&{name}={format_attribute(value)}" for name, value in values.items())
