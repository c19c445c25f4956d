"""The fast codec of plain checks gives the same bytes as the schema for any request, valid or odd."""

from __future__ import annotations

import json
import os
import random
import struct
from collections import Counter
from typing import Any

import pytest
from cases import cases
from short_requests import ShortAnswer, short_answer

from axiscast.checks.check import check_to_dict
from axiscast.messages import CheckRequest
from axiscast.messages.validation import validate
from axiscast.ops import ALIASES
from axiscast.ops import OPS as OP_NAMES
from axiscast.wire import codec
from axiscast.wire.codec import Encoding, encode
from axiscast.wire.problems import Problem
from axiscast_service.endpoints import api_route, check, plain_checks

COUNT = 100_000 if os.environ.get("AXISCAST_FULL") else 6_000
SIZES = (0, 1, 1, 1, 2, 3, 5, 8, 127, 128, 255, 256, 65535, 65536, 2**31, 2**32, 2**63 - 1)
ODD_NUMBERS = (-1, -(2**63), 2**63, 2**64 - 1, 2**64, 10**30, 10**400, 1.0, 2.5, -0.0, 1e300, True, False, None)
ODD_TEXTS = (
    "",
    "N",
    "?",
    "2..",
    "1..8",
    "8..1",
    "3",
    "é",
    "\U0001f600",
    "\ud800",
    "\x7f",
    "a:b",
    '"',
    "\\",
    "\0",
    "x" * 1001,
)
OPS: tuple[Any, ...] = (
    "numpy.broadcast_arrays",
    "torch.broadcast_tensors",
    "numpy.broadcast_to",
    "numpy.broadcast",
    {},
    {"name": "numpy.broadcast_to", "shape": [3, 5]},
    {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]},
    {"name": "torch.expand", "size": [-1, 3]},
    {"name": "xarray.broadcast", "dims": [["é", "y"], ["y"]]},
    {"name": "xarray.broadcast", "dims": [["a:b", "\x7f"], ["\ud800"]]},
    {"name": "openvino.Broadcast-3", "mode": "numpy", "target_shape": [1.0]},
    {"name": "einops.repeat", "pattern": "a b -> a b c", "axes_lengths": {"c": 2}},
    {"name": "einops.repeat", "pattern": "a b -> a b c", "axes_lengths": {"x" * 1001: 2}},
)


class Pairs(list[tuple[Any, Any]]):
    """A map as it is encoded. Its keys may be repeated, and may not be strings."""


class Raw(bytes):
    """A value that is encoded unchanged."""


def random_check(rng: random.Random) -> Any:
    """Return a request as plain values, some of which are unusual."""
    common = [rng.choice(SIZES) for _ in range(4)]
    inputs = [
        [size if rng.random() < 0.7 else 1 for size in common[rng.randrange(4) :]] for _ in range(rng.randint(1, 4))
    ]
    pairs = Pairs([("inputs", inputs)])
    if rng.random() < 0.4:
        pairs.insert(rng.randrange(2), ("op", rng.choice(OPS)))
    if rng.random() < 0.1:
        pairs.append(rng.choice([("explain", True), ("dtype", "int8"), ("assume", {}), ("warn", ["mutual-stretch"])]))
    if rng.random() < 0.02:
        pairs.append(rng.choice([("input", []), ("op", "x"), ("warn", []), ("warn", ["x"])]))
    while rng.random() < 0.35:
        _spoil(rng, pairs, inputs)
    return pairs if rng.random() < 0.99 else rng.choice([inputs, None, "inputs", 3])


def _spoil(rng: random.Random, pairs: Pairs, inputs: list[Any]) -> None:
    """Change one part of the request to an unusual value."""
    odd = rng.choice([*ODD_NUMBERS, *ODD_TEXTS, [], [[]], {}, {"a": 1}, b"\x01\x02", [1, [2]]])
    kind = rng.randrange(6)
    if kind == 0:
        inputs.insert(rng.randint(0, len(inputs)), odd)
    elif kind in (1, 2):
        shape = rng.choice([shape for shape in inputs if isinstance(shape, list)] or [inputs])
        shape.insert(rng.randint(0, len(shape)), odd)
    elif kind == 3 and pairs:
        pairs.append(rng.choice(pairs))  # twice
    elif kind == 4 and pairs:
        pairs.pop(rng.randrange(len(pairs)))
    else:
        pairs.append((rng.choice(["op", "inputs", "other", "Inputs", *ODD_TEXTS, 3, b"inputs"]), odd))


def as_json(rng: random.Random, value: Any) -> bytes:
    """Return JSON in one of many notations."""

    def blank() -> str:
        return rng.choice(" \t\r\n\v") if rng.random() < 0.02 else ""

    def text(value: str) -> str:
        if rng.random() < 0.05:
            return '"' + "".join(f"\\u{ord(character) & 0xFFFF:04x}" for character in value) + '"'
        return json.dumps(value, ensure_ascii=rng.random() < 0.5)

    def said(value: Any) -> str:
        if isinstance(value, (Pairs, dict)):
            items = value if isinstance(value, Pairs) else value.items()
            inner = [f"{blank()}{said(key)}{blank()}:{said(item)}" for key, item in items]
            return "{" + ",".join(inner) + "}"
        if isinstance(value, list):
            return "[" + ",".join(f"{blank()}{said(item)}{blank()}" for item in value) + "]"
        if isinstance(value, str):
            return text(value)
        if isinstance(value, bytes):
            return text(value.decode("latin-1"))
        if type(value) is int and rng.random() < 0.03:
            return rng.choice(
                ["-0", f"0{value}", f"+{value}", f"{value}.0", f"{value}e0", f"{value}E1", "NaN", "-Infinity"]
            )
        return json.dumps(value)

    return (blank() + said(value) + blank()).encode("utf-8", "surrogatepass")


def as_msgpack(rng: random.Random, value: Any) -> bytes:
    """Return MessagePack in one of many encodings. Half of them are the shortest encoding."""
    is_short = rng.random() < 0.5

    def counted(first: int, most: int, forms: list[tuple[int, str]], count: int) -> bytes:
        if count <= most and (is_short or rng.random() < 0.9):
            return bytes([first + count])
        code, form = next((pair for pair in forms if count < 2 ** (8 * struct.calcsize(pair[1]))), forms[-1])
        return bytes([code]) + struct.pack(">" + form, count)

    def number(value: int) -> bytes:
        forms = [(0xCC, "B"), (0xCD, "H"), (0xCE, "I"), (0xCF, "Q"), (0xD0, "b"), (0xD1, "h"), (0xD2, "i"), (0xD3, "q")]
        if 0 <= value < 128 and (is_short or rng.random() < 0.8):
            return bytes([value])
        rng.shuffle(forms)
        if is_short:
            forms.sort(key=lambda form: struct.calcsize(form[1]))
        for code, form in forms:
            try:
                return bytes([code]) + struct.pack(">" + form, value)
            except struct.error:
                continue
        return b"\xc7\x01\x00\x00"

    def said(value: Any) -> bytes:
        if isinstance(value, (Pairs, dict)):
            items = list(value if isinstance(value, Pairs) else value.items())
            head = counted(0x80, 15, [(0xDE, "H"), (0xDF, "I")], len(items))
            return head + b"".join(said(key) + said(item) for key, item in items)
        if isinstance(value, list):
            return counted(0x90, 15, [(0xDC, "H"), (0xDD, "I")], len(value)) + b"".join(map(said, value))
        if isinstance(value, str):
            encoded = value.encode("utf-8", "surrogatepass")
            return counted(0xA0, 31, [(0xD9, "B"), (0xDA, "H"), (0xDB, "I")], len(encoded)) + encoded
        if isinstance(value, bytes):
            return b"\xc4" + bytes([len(value)]) + value
        if isinstance(value, float):
            return rng.choice([b"\xcb" + struct.pack(">d", value), b"\xca\x3f\x80\x00\x00"])
        if value is None or isinstance(value, bool):
            return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
        if rng.random() < 0.01:
            return rng.choice([b"\xcb" + struct.pack(">d", 3.0), b"\xd4\x01\x02", b"\xc1", b"\xa13"])
        return number(value)

    return said(value)


def damaged(rng: random.Random, body: bytes) -> bytes:
    """Return a body in which a few bytes are changed, inserted, repeated or removed."""
    while body and rng.random() < 0.15:
        at = rng.randrange(len(body))
        piece = rng.choice(
            [
                b"",
                b"\x00",
                b"\xff",
                b"\xef\xbb\xbf",
                b"]",
                b'"',
                b":",
                b"}",
                b",",
                b"1",
                b"\x81",
                bytes([rng.randrange(256)]),
            ]
        )
        body = rng.choice(
            [body[:at] + piece + body[at + rng.randrange(2) :], body[:at], body + piece, body[at:] + body]
        )
    return body


def outcome(body: bytes, content_type: str, accept: str) -> ShortAnswer | None:
    return short_answer("/v1/check", body, content_type, accept)


def plain_answer(body: bytes, media: Encoding) -> bytes | None:
    try:
        return plain_checks.answer_fields(codec.decode(body, media), Encoding.JSON)
    except Problem:
        return None


@pytest.fixture
def outcome_of_schema(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return `outcome` without the responses to plain checks, and without their decoder."""

    def slow(*arguments: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(codec, "short_fields", lambda body, media: None)
            patch.setattr(api_route, "answer_fields", lambda fields, encoding: None)
            return outcome(*arguments)

    return slow


@cases("media", list(Encoding))
def test_odd_requests_get_the_same_bytes_as_by_the_general_way(media: Encoding, outcome_of_schema: Any) -> None:
    rng = random.Random(20261122 + len(media.value))
    plain = refused = 0
    for _ in range(COUNT // 2):
        value = random_check(rng)
        body = damaged(rng, as_json(rng, value) if media is Encoding.JSON else as_msgpack(rng, value))
        accept = rng.choice(["", Encoding.JSON.value, Encoding.MSGPACK.value])
        slow = outcome_of_schema(body, media.value, accept)
        assert outcome(body, media.value, accept) == slow, body
        plain += plain_answer(body, media) is not None
        refused += slow is not None and slow.status >= 400
    assert plain > COUNT // 20
    assert refused > COUNT // 10


@cases("encoding", list(Encoding))
def test_a_plain_check_of_any_op_has_the_bytes_of_the_general_way(encoding: Encoding) -> None:
    rng = random.Random(36)
    plain: Counter[str] = Counter()
    for name in [*OP_NAMES, *ALIASES] * (COUNT // 2000):
        common = [rng.choice(SIZES[:10]) for _ in range(rng.randrange(5))]
        inputs = [
            [size if rng.random() < 0.6 else 1 for size in common[rng.randrange(len(common) + 1) :]]
            for _ in range(rng.randint(1, 4))
        ]
        fields: dict[str, Any] = {"op": name, "inputs": inputs}
        content = plain_checks.answer_fields(fields, encoding)
        if content is not None:
            assert content == encode(check_to_dict(validate(CheckRequest, fields)), encoding), fields
            plain[name] += 1
    assert len(plain) > 200
    assert {"numpy.broadcast_shapes", "numpy.add", "torch.broadcast_tensors", "onnx.Max"} <= plain.keys()


@cases("media", list(Encoding))
def test_a_field_that_is_repeated_is_refused(media: Encoding) -> None:
    rng = random.Random(1)
    lengths = Pairs([("b", 2), ("b", 2)])
    op = Pairs([("name", "einops.repeat"), ("pattern", "a -> a b"), ("axes_lengths", lengths)])
    twice = [
        Pairs([("inputs", [[3]]), ("op", op)]),
        Pairs([("inputs", [[3]]), ("op", Pairs([("name", "numpy.add"), ("name", "numpy.add")]))]),
        Pairs([("inputs", [[3]]), ("inputs", [[3]])]),
    ]
    for value in twice:
        body = as_json(rng, value) if media is Encoding.JSON else as_msgpack(rng, value)
        assert plain_answer(body, media) is None
        answer = outcome(body, media.value, "")
        assert answer is not None
        assert answer.status == 400


@cases("media", list(Encoding))
def test_a_value_that_is_nested_too_deeply_is_refused(media: Encoding) -> None:
    deep = b"[" * 900 + b"]" * 900 if media is Encoding.JSON else b"\x91" * 1500 + b"\x90"
    hollow: Any = {"inputs": [[3]], "op": {"name": "numpy.broadcast_to", "shape": "deep"}}
    body = encode(hollow, media).replace(encode("deep", media), deep)
    answer = outcome(body, media.value, Encoding.JSON.value)
    assert answer is not None
    assert b"nested too deep" in answer.content


def test_a_query_has_the_same_response_as_by_the_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    plain = 0
    for _ in range(COUNT // 20):
        shapes = [
            "".join(rng.choice([*"0123456789xx,," * 9, *"[]-+i", f"{2**63 - 1:020}"]) for _ in range(rng.randrange(12)))
            for _ in range(rng.randrange(4))
        ]
        names = ["input" if rng.random() < 0.97 else rng.choice(["inputs", "op", ""]) for _ in shapes]
        query = "&".join(f"{name}={shape}" for name, shape in zip(names, shapes, strict=True))
        found = short_answer(f"/v1/check?{query}")
        with monkeypatch.context() as patch:
            patch.setattr(check, "fields_in_query", lambda query: None)
            assert short_answer(f"/v1/check?{query}") == found, query
        plain += plain_checks.fields_in_query(query.encode()) is not None
    assert plain > COUNT // 200
