"""The quick codec of checks beside the one schema: the same bytes for any question, valid or odd."""

from __future__ import annotations

import json
import os
import random
import struct
from typing import Any

import pytest
from pydantic_core import to_json

pytest.importorskip("msgspec")

from axiscast.answers.check import PlainCheck
from axiscast.wire.codec import Encoding, encode
from axiscast.wire.dimensions import Symbol
from axiscast.wire.problems import Problem
from axiscast_service.endpoints import codec
from axiscast_service.endpoints.check import answer_to_body, answer_to_query

COUNT = 100_000 if os.environ.get("AXISCAST_FULL") else 12_000
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
    {"name": "numpy.broadcast_to", "shape": [3, 5]},
    {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]},
    {"name": "torch.expand", "size": [-1, 3]},
    {"name": "xarray.broadcast", "dims": [["é", "y"], ["y"]]},
    {"name": "xarray.broadcast", "dims": [["a:b", "\x7f"], ["\ud800"]]},
    {"name": "openvino.Broadcast-3", "mode": "numpy", "target_shape": [1.0]},
)


class Pairs(list[tuple[Any, Any]]):
    """A map as it is written: its keys may come twice, and be no strings."""


class Raw(bytes):
    """What is written as it stands."""


def question(rng: random.Random) -> Any:
    """A question as plain values, a few of them odd."""
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
    """Make one thing odd."""
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
    """Of JSON, written in one of many ways."""

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
    """Of MessagePack, written in one of many ways, few of them the shortest."""

    def counted(first: int, most: int, forms: list[tuple[int, str]], count: int) -> bytes:
        if count <= most and rng.random() < 0.9:
            return bytes([first + count])
        code, form = next((pair for pair in forms if count < 2 ** (8 * struct.calcsize(pair[1]))), forms[-1])
        return bytes([code]) + struct.pack(">" + form, count)

    def number(value: int) -> bytes:
        forms = [(0xCC, "B"), (0xCD, "H"), (0xCE, "I"), (0xCF, "Q"), (0xD0, "b"), (0xD1, "h"), (0xD2, "i"), (0xD3, "q")]
        if 0 <= value < 128 and rng.random() < 0.8:
            return bytes([value])
        rng.shuffle(forms)
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
    """A body with a byte changed, inserted, repeated or cut off here and there."""
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


def outcome(body: bytes, content_type: str, accept: str) -> Any:
    """The bytes that are answered, or the problem document."""
    try:
        return answer_to_body(body, content_type, accept)
    except Problem as problem:
        return problem.document()


@pytest.fixture
def by_the_schema(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`outcome`, without the quick codec."""

    def slow(*arguments: str | bytes) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(codec, "_READERS", {})
            patch.setattr(codec, "_WRITERS", {})
            patch.setattr(codec, "read_plain_check", lambda value: None)
            return outcome(*arguments)  # type: ignore[arg-type]

    return slow


@pytest.mark.parametrize("media", list(Encoding))
def test_odd_questions_get_the_same_bytes_with_the_quick_codec_and_without(
    media: Encoding, by_the_schema: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(20261122 + len(media.value))
    plain = refused = 0
    for _ in range(COUNT // 2):
        asked = question(rng)
        body = damaged(rng, as_json(rng, asked) if media is Encoding.JSON else as_msgpack(rng, asked))
        accept = rng.choice(["", Encoding.JSON.value, Encoding.MSGPACK.value])
        quick, slow = outcome(body, media.value, accept), by_the_schema(body, media.value, accept)
        assert quick == slow, body
        with monkeypatch.context() as patch:
            patch.setattr(codec, "_READERS", {})
            patch.setattr(codec, "_WRITERS", {Encoding.JSON: to_json})
            assert outcome(body, media.value, accept) == slow, body
        plain += isinstance(slow, tuple) and isinstance(codec.message_in_body(body, media), PlainCheck)
        refused += isinstance(slow, dict)
    assert plain > COUNT // 10
    assert refused > COUNT // 10


@pytest.mark.parametrize("media", list(Encoding))
def test_what_is_nested_too_deep_is_refused_with_the_quick_codec_and_without(
    media: Encoding, by_the_schema: Any
) -> None:
    deep = b"[" * 900 + b"]" * 900 if media is Encoding.JSON else b"\x91" * 1500 + b"\x90"
    hollow: Any = {"inputs": [[3]], "op": {"name": "numpy.broadcast_to", "shape": "deep"}}
    body = encode(hollow, media).replace(encode("deep", media), deep)
    assert "nested too deep" in outcome(body, media.value, "")["detail"]
    assert outcome(body, media.value, "") == by_the_schema(body, media.value, "")


@pytest.mark.parametrize("readers", [codec._READERS, {}], ids=["msgspec", "no msgspec"])
def test_a_query_is_the_same_question_with_the_quick_codec_and_without(
    monkeypatch: pytest.MonkeyPatch, readers: dict[Encoding, Any]
) -> None:
    monkeypatch.setattr(codec, "_READERS", readers)
    rng = random.Random(5)
    plain = 0
    for _ in range(COUNT // 20):
        shapes = [
            "".join(
                rng.choice([*"0123456789xx,," * 9, *"[]-+%i&", f"{2**63 - 1:020}"]) for _ in range(rng.randrange(12))
            )
            for _ in range(rng.randrange(4))
        ]
        query = "&".join(
            f"{'input' if rng.random() < 0.97 else rng.choice(['inputs', 'op', ''])}={shape}" for shape in shapes
        )
        said = []
        for read in (codec.question_in_query, lambda query: None):
            monkeypatch.setattr("axiscast_service.endpoints.check.question_in_query", read)
            try:
                said.append(answer_to_query(query, ""))
            except Problem as problem:
                said.append(problem.document())  # type: ignore[arg-type]
        assert said[0] == said[1], query
        plain += codec.question_in_query(query) is not None
    assert plain > COUNT // 200


@pytest.mark.parametrize("writers", [codec._WRITERS, {Encoding.JSON: to_json}], ids=["msgspec", "no msgspec"])
def test_what_is_not_plain_is_written_as_the_codec_writes_it(writers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_WRITERS", writers)
    for text in (*ODD_TEXTS, "".join(map(chr, range(127))), "\u2028", "</script>", Symbol("N"), Symbol("2..4")):
        for media in Encoding:
            answer = {"a": [text, 2**63, -1, None]}
            assert codec.answer_in_bytes(answer, media) == encode(answer, media)
