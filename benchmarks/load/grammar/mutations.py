"""Another request, a few changes from one that there is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from .case import HEAD_BYTES, HUGE, JSON, MSGPACK, Case, Rng, Value, of_value, repaired


def mutated(rng: Rng, case: Case, others: list[Case], most: int) -> Case:
    """Another request, a few changes from this one: of numbers, lengths, repetitions, parts of others."""
    if case.value is None:
        return _mutated_bytes(rng, case, most)
    for _ in range(20):
        value = (
            json.loads(json.dumps(case.value, default=_held), object_hook=_given) if case.nbytes < 10**6 else case.value
        )
        for _ in range(rng.choice([1, 1, 2, 4])):
            value = _changed(rng, value, others)
        value = repaired(value, most)
        media = rng.choice([case.media] * 5 + [JSON, MSGPACK])
        try:
            made = of_value(case.kind, case.path, value, media, rng.choice([case.accept] * 5 + ["", JSON, MSGPACK]))
        except (ValueError, OverflowError, TypeError, RecursionError):
            continue
        if made.nbytes <= most:
            return made
    return case


def _held(value: Value) -> Value:
    return {"<bytes>": value.hex()}


def _given(value: dict[str, Value]) -> Value:
    return bytes.fromhex(value["<bytes>"]) if "<bytes>" in value else value


def _places(value: Value, found: list[tuple[Value, Any]], most: int = 20_000) -> list[tuple[Value, Any]]:
    """Each part of a value, as what holds it and its key there."""
    parts = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, part in parts:
        if len(found) >= most:
            break
        found.append((value, key))
        _places(part, found, most)
    return found


def _changed(rng: Rng, value: Value, others: list[Case]) -> Value:
    places = _places(value, [])
    if not places:
        return value
    # By depth rather than by number: else the sizes of long lists are all that is ever changed.
    holder, key = rng.choice(places[: rng.choice([3, 12, len(places)])])
    part = holder[key]
    if rng.random() < 0.1 and others:
        strange = _places(rng.choice(others).value, [])
        same = [place for place in strange if type(place[0][place[1]]) is type(part)]
        if same:
            other = rng.choice(same)
            holder[key] = other[0][other[1]]
            return value
    if isinstance(part, bool):
        holder[key] = not part
    elif isinstance(part, int):
        holder[key] = rng.choice([part * 2, part + 1, max(part - 1, 0), 0, 1, 2, part // 2, HUGE, rng.randint(0, 100)])
    elif isinstance(part, str):
        spot = rng.randint(0, len(part))
        holder[key] = rng.choice([
            part * 2, part[:spot], part + "a", part[spot:] + part[:spot], part[:spot] * 2, "N", "?",
            f"{part}{rng.randint(0, 99)}",
        ])  # fmt: skip
    elif isinstance(part, list):
        spot = rng.randint(0, len(part))
        holder[key] = rng.choice([
            part * 2, part[:spot], part[::-1], part[spot:] + part[:spot], part + part[:spot],
            rng.sample(part, len(part)), [*part, *part[-1:]], [*part, *rng.choices(part or [1], k=rng.choice([1, 99]))],
        ])  # fmt: skip
        if isinstance(holder, dict) and key in ("shape", "strides") and "data" in holder:
            _together(rng, holder)
    elif isinstance(part, dict) and part:
        name = rng.choice(list(part))
        if rng.random() < 0.5:
            part[name + rng.choice("abc")] = part[name]
        else:
            del part[name]
    return value


def _together(rng: Rng, tensor: dict[str, Value]) -> None:
    """As many strides as sizes."""
    if isinstance(tensor.get("strides"), list) and isinstance(tensor["shape"], list):
        rank = len(tensor["shape"])
        tensor["strides"] = (tensor["strides"] + [rng.randint(0, 70) for _ in range(rank)])[:rank]


def _mutated_bytes(rng: Rng, case: Case, most: int) -> Case:
    field = "body" if case.body else "path"
    text = bytearray(case.body or case.path.encode())
    for _ in range(rng.choice([1, 2, 4])):
        start = rng.randint(0, len(text))
        stop = min(start + rng.choice([1, 4, 30, 1000]), len(text))
        piece = text[start:stop]
        pick = rng.random()
        if pick < 0.4:
            text[stop:stop] = piece * rng.choice([1, 2, 10, max((most - len(text)) // max(len(piece), 1) - 10, 1)])
        elif pick < 0.6:
            del text[start:stop]
        elif piece:
            text[start : start + 1] = bytes([rng.choice(b'0123456789,[]{}" ax.-')])
    if len(text) > most or (field == "path" and not text.startswith(b"/")):
        return case
    if field == "body":
        return replace(case, body=bytes(text))
    path = quote(text.decode("latin-1"), safe="/?&=%,.()[]+->: ").replace(" ", "%20")
    return replace(case, path=path[:HEAD_BYTES])
