"""Validation: a plain value as a typed message, or a problem in words that say where and what would be right."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..ops import ALIASES, FRAMEWORKS, OPS, op_class
from ..ops.aliases import full_name
from ..schema.faults import complaint, literals, renamed
from ..schema.names import LONGEST, counted, meant, near
from ..schema.problems import Problem
from ..schema.shapes import kind_of, parse_shape
from .advice import advice
from .forms import MOST_SIZES, Fault, is_short, rewritten, row_written

M = TypeVar("M", bound=BaseModel)


class Words:
    """How a request's places and values are written, and where the ops are listed: as JSON, and over HTTP."""

    catalogue = "GET /v1/ops lists all"
    request = "the body"

    def place(self, steps: Sequence[int | str]) -> str:
        return "/".join(map(str, steps)) or self.request

    def field(self, steps: Sequence[int | str], value: Any) -> str:
        """A field with its value, as it is to be written."""
        return f'"{steps[-1]}": {json.dumps(value)}'

    def whole(self, model: type[BaseModel], found: Any) -> str:
        """What a request is to be that is not a map."""
        examples = {name: field.examples[0] for name, field in model.model_fields.items() if field.examples}
        if "requests" in examples:
            return 'must be a map: write {"requests": [...]} around the list'
        if isinstance(found, str) and found.lstrip().startswith("{"):
            return "must be a map, not a string that holds one: encode it as JSON once, not twice"
        required = {name: example for name, example in examples.items() if model.model_fields[name].is_required()}
        is_check = "explain" in model.model_fields and isinstance(found, list)
        many = '; a list of checks goes to /v1/check/batch as {"requests": [...]}' if is_check else ""
        return f"must be a map, such as {json.dumps(required)}{many}"


def input_place(number: int | str, axes: Sequence[int | str]) -> str:
    """Return the place of an input, or of one of its axes, in words."""
    return f"input {number}" + "".join(f", axis {axis}" for axis in axes)


class RowWords(Words):
    """How a row of a batch is written, which is not a body of its own."""

    request = "the row"

    def whole(self, model: type[BaseModel], found: Any) -> str:
        written = row_written(found) or '{"inputs": [[3], [4]]}'
        return f"must be a map, not {kind_of(found)}: write {written}"


class PythonWords(Words):
    """How a Python call writes what a request holds."""

    catalogue = "`tensorcast ops` lists them"
    request = "the request"

    def place(self, steps: Sequence[int | str]) -> str:
        match list(steps):
            case ["inputs", number, *axes]:
                return input_place(number, axes)
            case ["op", name, *rest]:
                return super().place([name, *rest])
            case ["assume", name, *_]:
                return f"assume[{name!r}]"
        return super().place(steps)

    def field(self, steps: Sequence[int | str], value: Any) -> str:
        return f"{steps[-1]}={value!r}"


class MapWords(Words):
    """How a map in Python, such as a request of a batch, writes what a request holds."""

    catalogue = PythonWords.catalogue
    request = PythonWords.request

    def field(self, steps: Sequence[int | str], value: Any) -> str:
        return f'"{steps[-1]}": {value!r}'


def refusal(model: type[BaseModel], value: Any, words: Words) -> Problem | None:
    """Return the problem of a plain value that is not valid, in these words; None if it is valid."""
    try:
        validated(model, value, words)
    except Problem as problem:
        return problem
    return None


def validated(model: type[M], value: Any, words: Words | None = None) -> M:
    """A plain value as a message. Raises Problem (invalid-request, unknown-op), in these words."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise problem_of(error, model, value, words) from None


def problem_of(error: ValidationError, model: type[BaseModel], value: Any, words: Words | None = None) -> Problem:
    """A request's faults, the first of them with its pointer: where they stand and what would be right."""
    words = words or Words()
    found = error.errors(include_url=False)
    beside = [("op", name) for fault in found if fault["type"] == "extra_forbidden" for name in _names_in(fault)]
    faults = renamed([fault for fault in found if fault["type"] != "missing" or fault["loc"] not in beside])
    place = _place(faults[0])
    pointer = "".join(f"/{str(step)[:100].replace('~', '~0').replace('/', '~1')}" for step in place)
    if faults[0]["type"] == "union_tag_invalid":
        return unknown_op(str(faults[0]["ctx"]["tag"]), pointer, words)
    sentences = dict.fromkeys(_sentence(fault, model, value, words) for fault in faults[:_MOST_FAULTS])
    more = len(faults) - _MOST_FAULTS
    rest = f" ({counted(more, 'more fault')} in this request)" if more > 0 else ""
    return Problem("invalid-request", "; ".join(sentences) + rest, pointer=pointer)


def _names_in(fault: ErrorDetails) -> list[str]:
    """The attributes that an unknown field may be, or hold: a field beside the op, or a map in it."""
    if len(fault["loc"]) == 1:
        return [str(fault["loc"][0])]
    return [*fault["input"]] if fault["loc"][0] == "op" and isinstance(fault["input"], dict) else []


_MOST_FAULTS = 8
"""Faults of one request that its problem tells."""
_MOST_CHARACTERS = 1000
"""Of what is said of one of them: it shows again what was sent."""


def _sentence(fault: ErrorDetails, model: type[BaseModel], value: Any, words: Words) -> str:
    """One fault: where it stands, and what is wrong there."""
    place = _place(fault)
    return f"{words.place(place)[:200]}: {_complaint(fault, place, model, value, words)[:_MOST_CHARACTERS]}"


def _place(fault: ErrorDetails) -> tuple[int | str, ...]:
    """Where a fault stands in the request."""
    field = fault.get("ctx", {}).get("field")
    return (*fault["loc"], *([field] if field else []))


def unknown_op(name: str, pointer: str, words: Words | None = None) -> Problem:
    """The problem of a name that no op has: what the function does, if that is known, or the names close to it."""
    known = advice(name[:LONGEST], _framework(name))
    said = f": {known};" if known else meant(near_ops(name)) or ":"
    return Problem(
        "unknown-op", f"there is no op {name[:LONGEST]!r}{said} {(words or Words()).catalogue}", pointer=pointer
    )


def _framework(name: str) -> str | None:
    """The framework whose function a name may mean."""
    return _names()[0].get(full_name(name[:LONGEST]).lower().partition(".")[0])


def near_ops(name: str) -> list[str]:
    """The ops that may be meant by a name: of its framework, if it begins with one or a usual short name of it; with
    the same last part; or else of a name like it."""
    head, _, tail = full_name(name[:LONGEST]).lower().partition(".")
    frameworks, ops = _names()
    framework = frameworks.get(head) or next(iter(near(head, frameworks.values(), 1, 0.75)), None)
    if framework is not None:
        tails = [op.removeprefix(f"{framework}.") for op in ops if op.startswith(f"{framework}.")]
        others = [alias.removeprefix(f"{framework}.") for alias in ALIASES if alias.startswith(f"{framework}.")]
        return [f"{framework}.{close}" for close in near(tail, tails) or near(tail, others, 3, 0.8) or tails[:3]]
    return [op for op in ops if op.lower().endswith(f".{head}")][:5] or near(name, ops)


@cache
def _names() -> tuple[dict[str, str], list[str]]:
    """The frameworks by their names, and by those under which their snippets import them, such as tf; and the ops'."""
    frameworks = {name: name for name in FRAMEWORKS}
    for name, framework in FRAMEWORKS.items():
        if imported := re.search(rf"^import {name}(?:\.\w+)? as (\w+)$", framework.head, re.MULTILINE):
            frameworks.setdefault(imported[1], name)
    return frameworks, list(OPS)


def _complaint(fault: ErrorDetails, place: Sequence[int | str], top: type[BaseModel], value: Any, words: Words) -> str:
    """What is wrong, and what would be right, in a request `value` of the model `top`."""
    kind, found = fault["type"], fault["input"]
    if said := rewritten(Fault(kind, found, tuple(place), top, value, words)):
        return said
    model = _model_at(top, fault["loc"], value)
    fields = model.model_fields if model else {}
    field = fields.get(str(place[-1])) if place else None
    example = field.examples[0] if field is not None and field.examples else None
    if kind == "extra_forbidden" and len(place) == 1 and (op := _op_with(str(place[0]), value)):
        return f'belongs inside op: write "op": {op}'
    if kind == "extra_forbidden" and "requests" in top.model_fields and place[0] in _OF_A_ROW:
        return _inside_each(place[0], found, value.get("requests"), words)
    if kind == "missing" and place[0] == "op" and len(place) > 1 and isinstance(value["op"], str):
        return f'is missing: write "op": {_op_with(str(place[1]), value)}'
    if kind == "bool_type" and isinstance(words, MapWords):
        return f"must be True or False, not {type(found).__name__} {found!r:.20}"
    if kind == "literal_error" and (other := _elsewhere(found, place)):
        return f"must be {literals(fault)}{other}"
    if place[:1] == ("window",) and kind == "list_type":
        return "must be a pair [start, stop] for each output axis: [[0, 2]] of one, [[0, 2], [0, 3]] of two axes"
    if place[:1] == ("window",) and kind in ("tuple_type", "too_long"):
        pair = _SLICE.fullmatch(found) if isinstance(found, str) else None
        written = f"[{int(pair[1])}, {int(pair[2])}]" if pair else "[start, stop], such as [0, 2]"
        wrong = kind_of(found) if kind == "tuple_type" else f"a list of {len(found)}"
        return f"must be a pair, not {wrong}: write {written}"
    if kind == "model_type" and not place:
        return words.whole(top, found)
    if kind in ("model_type", "model_attributes_type") and len(place) == 2 and place[0] in ("inputs", "gradients"):
        tensor = json.dumps((top.model_fields[str(place[0])].examples or [[{}]])[0][0])
        if "requests" not in top.model_fields:
            return f"must be a tensor such as {tensor}"
        rows = f'checks go into "requests": write "requests": {_rows(value)}'
        return f"{rows}; columns are int64 tensors (n, rank), such as {tensor}"
    if kind == "list_type" and example is not None:
        shape = _shape_in(found) if isinstance(example[0], list) else None
        return f"must be a list, such as {words.field(place, example if shape is None else [shape])}"
    if kind == "not_a_list" and (shape := _shape_in(found)) is not None:
        sizes = value["inputs"] if place[0] == "inputs" else ()
        if len(place) == 2 and isinstance(found, int) and sizes and is_short(sizes, 1):
            one, each = words.field(["inputs"], [sizes]), json.dumps([[size] for size in sizes])
            choice = f"{one} for one input, or {each} for {'two' if len(sizes) == 2 else len(sizes)}"
            return f"is a size, and each input is a list of them: write {choice if len(sizes) > 1 else one}"
        written = json.dumps(shape) if isinstance(place[-1], int) else words.field(place, shape)
        return f"must be a list of integers, not {fault['ctx']['found']}: write {written}"
    if kind == "string_type" and isinstance(example, str):
        noun = "a name" if " " not in example else "one"
        return f"must be a string, not {kind_of(found)}: write {noun} such as {json.dumps(example)}"
    example = None if example is None else words.field(place, example)
    plain = complaint(fault, place[-1] if place else "", fields, example)
    unknown = kind == "greater_than_equal" and found == -1 and "explain" in top.model_fields
    return f'{plain}; write "?" for one that is not known' if unknown else plain


_SLICE = re.compile(r"\s*([0-9]{1,19})\s*:\s*([0-9]{1,19})\s*")
"""The bounds on one axis, as Python writes them."""


_OF_A_ROW = ("assume", "dtype", "explain", "warn")
"""The fields that each row of a batch has, and the batch has not."""


def _inside_each(field: int | str, found: Any, rows: Any, words: Words) -> str:
    """Return that a field of a batch belongs in its rows, with the first of them as it is to be written."""
    if not isinstance(rows, list):
        return "belongs inside a request, and columns do not take it: send a list of requests"
    first = {**rows[0], field: found} if rows and isinstance(rows[0], dict) else None
    written = f": write {words.field(['requests'], [first])}" if first and is_short(first, 3) else ""
    return f"belongs inside each request{written}"


def _op_with(attribute: str, value: Any) -> str:
    """The op of a request as it is to be written: what stands in it and beside it, and examples of what else it needs;
    empty where it has no such attribute."""
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


def _rows(value: Any) -> str:
    """The requests of a batch to write for its `inputs`: one check of them all, or one of each."""
    op, shapes = {"op": value["op"]} if "op" in value else {}, value["inputs"]
    if not is_short(op, 3) or not is_short(shapes) or not all(isinstance(shape, list) for shape in shapes):
        return '[{"inputs": [[3], [4]]}]'
    one, each = json.dumps([op | {"inputs": shapes}]), json.dumps([op | {"inputs": [shape]} for shape in shapes])
    return one if len(shapes) == 1 else f"{one} for one check of all, or {each} for one of each"


def _shape_in(found: Any) -> list[int | str] | None:
    """The shape that stands in a text, a tensor, or for one axis in a number; None where there is none."""
    if isinstance(found, dict) and isinstance(found.get("shape"), list) and len(found["shape"]) <= MOST_SIZES:
        found = ",".join(map(str, found["shape"])) if all(map(is_short, found["shape"])) else None
    if isinstance(found, str):
        try:
            return parse_shape(found)
        except ValueError:
            return None
    return [found] if type(found) is int and is_short(found) else None


def _elsewhere(value: Any, place: Sequence[int | str]) -> str:
    """The op that takes this value of an attribute, where another does."""
    if len(place) == 2 and place[0] == "op" and isinstance(value, str):
        for name, op in OPS.items():
            field = op.model_fields.get(str(place[1]))
            if field is not None and value in get_args(field.annotation):
                return f": {value} is one of {name}'s"
    return ""


def _model_at(model: type[BaseModel], location: Sequence[int | str], value: Any) -> type[BaseModel] | None:
    """The model of the field of `value` that a fault is about: the op's, or the message's own."""
    if len(location) == 1:
        return model
    if len(location) == 2 and location[0] == "op":
        return op_class(value["op"] if isinstance(value["op"], str) else value["op"]["name"])
    if len(location) == 3 and location[0] in ("inputs", "gradients") and isinstance(location[2], str):
        from ..schema.tensors import Tensor  # takes NumPy, which a request without tensors does not

        return Tensor
    return None
