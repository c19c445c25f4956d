"""JSON responses to checks with conflicts, warnings or attributes, written from templates.

The rules of most ops depend only on which sizes are equal, and on which of them are 0 or 1. Requests that agree in
this, in the op and in its other attributes have the same pattern, and their responses differ only in the sizes. When a
pattern occurs for the second time, the code for all checks writes the response once, with a placeholder for each size.
Creating a template takes longer than the check itself, so a pattern that occurs only once gets none.
tests/endpoints/test_size_patterns.py compares both responses for all ops.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from math import prod
from typing import Any

from pydantic import ValidationError

from axiscast.checks.check import check_to_dict
from axiscast.messages import CheckRequest
from axiscast.ops import align, op_class
from axiscast.plan.alignment import ShapeMismatch
from axiscast.plan.plan import Shape
from axiscast.plan.relations import Relation
from axiscast.wire.codec import Encoding, encode
from axiscast.wire.problems import Problem
from axiscast.wire.shapes import MAX_SIZE

MAX_INPUTS, MAX_RANK = 8, 16
"""The maximum number of inputs and axes in a check from a template, which limits the size of the caches."""
_MAX_ATTRIBUTES, _MAX_TEXT = 8, 64
"""The maximum number of attributes, and of characters in an attribute."""
_MAX_PATTERNS = 512
_EQUALITIES = {Relation.BROADCAST, Relation.BROADCAST_TO, Relation.EQUAL, Relation.FROM_ONE}
"""The relations that depend only on which sizes are equal, and on which of them are 0 or 1."""

_PREFIX = "190370119911073"
_PLACEHOLDERS = [int(f"{_PREFIX}{number:03}") for number in range(2 * MAX_INPUTS * MAX_RANK)]
"""The sizes that stand for the distinct sizes of a request in its pattern."""
_PLACEHOLDER = re.compile(rb"%b([0-9]{3})" % _PREFIX.encode())
_GAPS = [b"%03d" % number for number in range(len(_PLACEHOLDERS))]


def answer_by_pattern(op: dict[Any, Any], inputs: list[list[Any]]) -> bytes | None:
    """Return the JSON answer to a check from the template of its pattern, or None if it has no template."""
    kind = op_class(op.get("name"))
    if kind is None or len(op) > _MAX_ATTRIBUTES:
        return None
    for values in (*inputs, *op.values()):
        if type(values) is list and len(values) <= MAX_RANK:
            for size in values:
                if type(size) is not int or not -_PLACEHOLDERS[0] < size < _PLACEHOLDERS[0]:
                    return None
        elif type(values) is not str or len(values) > _MAX_TEXT or _PREFIX in values:
            return None
    numbers: dict[int, int] = {}

    def numbered(sizes: list[int]) -> Shape:
        return tuple([size if size < 2 else numbers.setdefault(size, _PLACEHOLDERS[len(numbers)]) for size in sizes])

    attributes = [
        (name, value if type(value) is str else numbered(value) if name == kind.target else tuple(value))
        for name, value in op.items()
    ]
    pattern = tuple(attributes), tuple([numbered(shape) for shape in inputs])
    if next(_occurrences(pattern)) == 0 or (found := _template(*pattern)) is None:
        return None
    template, shape = found
    sizes = dict(zip(numbers.values(), numbers, strict=True))
    elements = prod([sizes.get(size, size) for size in shape])
    if elements > MAX_SIZE:
        return None
    return template % (dict(zip(_GAPS, numbers, strict=False)) | {b"elements": elements})


@lru_cache(_MAX_PATTERNS)
def _occurrences(pattern: object) -> Iterator[int]:
    """Return the counter of a pattern, whose next number is 0 when the pattern occurs for the first time."""
    return count()


@lru_cache(_MAX_PATTERNS)
def _template(op: tuple[tuple[str, Any], ...], inputs: tuple[Shape, ...]) -> tuple[bytes, Shape] | None:
    """Return the template for a pattern and the shape of each output, or None if sizes may matter in another way."""
    try:
        request = CheckRequest.model_validate({"op": dict(op), "inputs": inputs})
        answer = check_to_dict(request)
        axes = align(request.op, inputs).axes
    except (ValidationError, Problem, ShapeMismatch):
        return None
    outputs = answer.get("outputs", ())
    shapes = {tuple(output["shape"]) for output in outputs} or {()}
    sizes = {term.size for axis in axes for term in axis.terms}.union(*shapes)
    is_by_equality = {axis.relation for axis in axes} <= _EQUALITIES and sizes <= {0, 1, *_PLACEHOLDERS}
    if len(shapes) > 1 or not is_by_equality or request.op.needs_integers() or request.op.compares_sizes():
        return None
    for output in outputs:
        output["elements"] = "<elements>"
    content = encode(answer, Encoding.JSON).replace(b"%", b"%%").replace(b'"<elements>"', b"%(elements)d")
    return _PLACEHOLDER.sub(rb"%(\1)d", content), shapes.pop()
