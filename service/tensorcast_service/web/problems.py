"""Problems on their way out: validation errors in words, documents in the caller's encoding."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from tensorcast.schema.codec import MEDIA_NAMES, Media, encode
from tensorcast.schema.ops import OPS
from tensorcast.schema.problems import Problem

from .negotiation import answer_type

RETRY_SECONDS = 1
"""Retry-After of a refusal that is about this moment only."""


def response_of(problem: Problem, request: Request) -> Response:
    """The problem document, in MessagePack only where Accept or the request's body is."""
    body = MEDIA_NAMES.get(request.headers.get("content-type", "").split(";")[0].strip().lower(), Media.JSON)
    media = Media.JSON
    if problem.code != "not-acceptable":
        try:
            media = MEDIA_NAMES.get(answer_type(request, body, offers_text=True), Media.JSON)
        except Problem:
            media = Media.JSON  # what is acceptable can't be said: JSON, as for a 406
    document = problem.document()
    headers = {"Vary": "Accept", "Cache-Control": "no-store"}
    if problem.code == "unsupported-media-type":
        headers["Accept-Encoding"] = "identity"
    if problem.code in ("overloaded", "shutting-down"):
        headers["Retry-After"] = str(RETRY_SECONDS)
    if problem.code == "body-too-large":
        headers["Connection"] = "close"
    return Response(
        encode(document, media),
        status_code=document["status"],
        headers=headers,
        media_type="application/problem+json" if media is Media.JSON else media.value,
    )


def problem_of(error: ValidationError) -> Problem:
    """The first of a request's faults, where it stands and what would be right."""
    first, *others = error.errors(include_url=False, include_input=False)
    place = _place(first["loc"])
    pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in place)
    if first["type"] == "union_tag_invalid":
        return _unknown_op(str(first["ctx"]["tag"]), pointer)
    said = _say(first["type"], first.get("ctx", {}), first["msg"], place, first["loc"])
    more = f" ({len(others)} more fault{'s' if len(others) > 1 else ''} in this request)" if others else ""
    where = "/".join(map(str, place)) or "the body"
    return Problem("invalid-request", f"{where[:200]}: {said}{more}", pointer=pointer)


def _place(location: Sequence[int | str]) -> tuple[int | str, ...]:
    """Where a fault stands in the request: without the op's name, by which pydantic tells the union's members."""
    return tuple(step for number, step in enumerate(location) if not (number == 1 and location[0] == "op" and step in OPS))


def _unknown_op(name: str, pointer: str) -> Problem:
    shown = name[:60]
    close = get_close_matches(shown, OPS, n=3, cutoff=0.4)
    lowered = {known.lower(): known for known in OPS}
    if shown.lower() in lowered:
        close = [lowered[shown.lower()]]
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return Problem("unknown-op", f"there is no op {shown!r}: {meant}GET /v1/ops lists all", pointer=pointer)


_SAYINGS = {
    "union_tag_not_found": 'an op needs its name, such as {"name": "numpy.broadcast_to", "shape": [4, 3]}',
    "model_type": "must be a map of fields",
    "model_attributes_type": 'must be the name of an op, or a map such as {"name": "numpy.broadcast_to", "shape": [4, 3]}',
    "list_type": "must be a list",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "greater_than_equal": "must not be negative: a size is 0 or more",
    "less_than_equal": "must be at most 2^63-1",
    "too_long": "must be a pair [start, stop]",
    "too_short": "must be a pair [start, stop]",
    "tuple_type": "must be a pair [start, stop]",
}


def _say(kind: str, context: dict[str, Any], message: str, place: Sequence[int | str], location: Sequence[int | str]) -> str:
    if kind == "model_type" and not place:
        return 'must be a map of fields, such as {"inputs": ...}'
    if kind == "missing":
        return f"is missing{_example(location)}"
    if kind == "extra_forbidden":
        known = _known_fields(location)
        close = get_close_matches(str(place[-1]), known, n=1)
        return f"is no field here{f': did you mean {close[0]}?' if close else ''}" + (
            f" (known: {', '.join(known)})" if known else ""
        )
    if kind == "literal_error":
        return f"must be {context.get('expected', 'another value')}"
    return _SAYINGS.get(kind, message)


def _known_fields(location: Sequence[int | str]) -> list[str]:
    if len(location) == 3 and location[0] == "op":
        return list(OPS[str(location[1])].model_fields)
    return []


def _example(location: Sequence[int | str]) -> str:
    """What to write for a missing attribute of an op."""
    if len(location) == 3 and location[0] == "op":
        field = OPS[str(location[1])].model_fields.get(str(location[2]))
        if field is not None and field.examples:
            return f': write for instance "{location[2]}": {field.examples[0]}'
    return ""
