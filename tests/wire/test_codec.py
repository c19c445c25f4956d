"""Tests of MessagePack and JSON: exact bytes, and bodies that are refused while they are parsed."""

import json
import tracemalloc

import msgpack
import pytest
from cases import cases
from costs import taken
from hypothesis import example, given, settings
from hypothesis import strategies as st

from axiscast.wire import prescan
from axiscast.wire.codec import ENCODINGS, Encoding, decode, encode
from axiscast.wire.problems import Problem

JSON, MSGPACK = Encoding.JSON, Encoding.MSGPACK


def refusal(body, media):
    """Return the message about a malformed body."""
    with pytest.raises(Problem) as refused:
        decode(body, media)
    assert refused.value.code == "malformed-body"
    assert refused.value.document()["status"] == 400
    return refused.value.detail


def outcome(body, media):
    """Return "a value", or the code of the problem."""
    try:
        decode(body, media)
    except Problem as problem:
        return problem.code
    return "a value"


# --- golden bytes --------------------------------------------------------------------------------

MESSAGE = {"op": "numpy.broadcast_to", "inputs": [[3], []], "explain": True, "note": "né", "x": [None, -1, 2.5]}


@cases(
    ("media", "body"),
    [
        (JSON, b'{"op":"numpy.broadcast_to","inputs":[[3],[]],"explain":true,"note":"n\\u00e9","x":[null,-1,2.5]}'),
        (
            MSGPACK,
            b"\x85\xa2op\xb2numpy.broadcast_to\xa6inputs\x92\x91\x03\x90\xa7explain\xc3\xa4note\xa3n\xc3\xa9"
            b"\xa1x\x93\xc0\xff\xcb\x40\x04\x00\x00\x00\x00\x00\x00",
        ),
    ],
    ids=["JSON", "MessagePack"],
)
def test_a_message_is_encoded_as_these_bytes(media, body):
    assert encode(MESSAGE, media) == body
    for buffer in (body, bytearray(body), memoryview(body)):
        assert decode(buffer, media) == MESSAGE


def test_every_media_type_of_messagepack_is_accepted():
    names = {name: media.value for name, media in ENCODINGS.items()}
    assert names == {
        "application/json": "application/json",
        "application/vnd.msgpack": "application/vnd.msgpack",
        "application/msgpack": "application/vnd.msgpack",
        "application/x-msgpack": "application/vnd.msgpack",
    }


def test_messagepack_preserves_binary_data():
    raw = bytes(range(256))
    assert decode(b"\x81\xa4data\xc5\x01\x00" + raw, MSGPACK) == {"data": raw}


@cases(("media", "shown"), [(JSON, "\ud800"), (MSGPACK, "?")], ids=["JSON", "MessagePack"])
def test_a_response_may_contain_half_a_surrogate_pair(media, shown):
    assert decode(encode({"detail": "\ud800"}, media), media) == {"detail": shown}


# --- malformed bodies ----------------------------------------------------------------------------


@cases(
    ("body", "said"),
    [
        pytest.param(b"", "truncated", id="empty"),
        pytest.param(b"\xc1", "not MessagePack", id="0xc1, which is never used"),
        pytest.param(b"\x81\xa1a\xc1", "not MessagePack", id="0xc1 inside"),
        pytest.param(b"\x81", "truncated", id="map without its pair"),
        pytest.param(b"\x81\xa1a", "truncated", id="key without its value"),
        pytest.param(b"\x81\xa1a\xcd\x01", "truncated", id="integer cut short"),
        pytest.param(b"\xa5abc", "truncated", id="string cut short"),
        pytest.param(b"\xc4\x05abc", "truncated", id="bin cut short"),
        pytest.param(b"\x80\x80", "bytes follow", id="a second map"),
        pytest.param(b"\x80\n", "bytes follow", id="a line end"),
        pytest.param(b"\x82\xa1a\x01\xa1a\x02", "'a' occurs twice", id="duplicate key"),
        pytest.param(b"\x81\xa1a\x82\xa1b\x01\xa1b\x01", "'b' occurs twice", id="duplicate key inside"),
        pytest.param(b"\x81\x01\x02", "key of a map is not a string", id="integer key"),
        pytest.param(b"\x81\xc0\x02", "key of a map is not a string", id="nil key"),
        pytest.param(b"\x81\xc4\x01a\x02", "key of a map is not a string", id="bin key"),
        pytest.param(b"\x81\x90\x02", "key of a map is not a string", id="list key"),
        pytest.param(b"\x81\x80\x02", "key of a map is not a string", id="map key"),
        pytest.param(b"\x81\xa1a\xd4\x05\x00", "extension types are not supported (type 5)", id="fixext"),
        pytest.param(b"\x81\xa1a\xc7\x02\x05ab", "extension types are not supported (type 5)", id="ext 8"),
        pytest.param(b"\x81\xa1a\xd6\xff\0\0\0\0", "extension types are not supported (type -1)", id="timestamp"),
        pytest.param(b"\x81\xa1a\xd7\xff" + b"\0" * 8, "extension types are not supported", id="timestamp 64"),
        pytest.param(b"\x91" * 2000 + b"\x90", "too deep", id="lists nested too deep"),
        pytest.param(b"\x81\xa1a" * 2000 + b"\x80", "too deep", id="maps nested too deep"),
        pytest.param(b"\x91" * 10**5, "truncated", id="lists opened and not closed"),
        pytest.param(b"\x81\xa1a\xa1\xff", "not UTF-8", id="bad UTF-8"),
        pytest.param(b"\x81\xa1\xff\xa1a", "not UTF-8", id="bad UTF-8 in a key"),
        pytest.param(b"\x81\xa1a\xa3\xed\xa0\x80", "not UTF-8", id="surrogate in UTF-8"),
        pytest.param(b"\x81\xa1a\xa2\xc0\x80", "not UTF-8", id="overlong NUL"),
        pytest.param(b"\x81\xa1a\xdd\xff\xff\xff\xff", "more than 131072 values", id="list of 2^32 announced"),
        pytest.param(b"\x81\xa1a\xdf\xff\xff\xff\xff", "more than 131072 values", id="map of 2^32 announced"),
        pytest.param(b"\x81\xa1a\xdb\xff\xff\xff\xff", "truncated", id="string of 4 GiB announced"),
        pytest.param(b"\x81\xa1a\xc6\xff\xff\xff\xff", "truncated", id="bin of 4 GiB announced"),
        pytest.param(
            b"\x81\xa1a\xc9\xff\xff\xff\xff\x05",
            "extension types are not supported (type 5)",
            id="extension of 4 GiB announced",
        ),
        pytest.param(b'{"a":1}', "looks like JSON: set Content-Type", id="JSON"),
    ],
)
def test_malformed_messagepack_is_refused_with_a_message(body, said):
    assert said in refusal(body, MSGPACK)


@cases(
    ("body", "said"),
    [
        pytest.param(b"", "not JSON: it is empty", id="empty"),
        pytest.param(b'{"a":1', "not JSON", id="truncated"),
        pytest.param(b'{"a":[1,2', "not JSON", id="truncated list"),
        pytest.param(b'{"a":"b', "not JSON: it ends before all brackets", id="truncated string"),
        pytest.param(b"{} {}", "nothing after it (Extra data at byte 3)", id="a second map"),
        pytest.param(b"{}x", "nothing after it (Extra data at byte 2)", id="trailing bytes"),
        pytest.param(b'{"a":1 , }', ": remove the comma before }", id="trailing comma"),
        pytest.param(b'{"a":[1,\n]}', ": remove the comma before ]", id="trailing comma of a list"),
        pytest.param(b"{'a':1}", "not JSON", id="single quotes"),
        pytest.param(b"{1:2}", "not JSON", id="integer key"),
        pytest.param(b'{"a":1,"a":2}', "'a' occurs twice", id="duplicate key"),
        pytest.param(b'{"a":{"b":1,"\\u0062":1}}', "'b' occurs twice", id="duplicate key inside, escaped"),
        pytest.param(b'{"a":NaN}', 'NaN is not JSON: write "NaN" in quotes', id="NaN"),
        pytest.param(b'{"a":Infinity}', 'Infinity is not JSON: write "Infinity" in quotes', id="Infinity"),
        pytest.param(b'{"a":-Infinity}', '-Infinity is not JSON: write "-Infinity" in quotes', id="-Infinity"),
        pytest.param(b'{"a":nan}', "not JSON", id="nan"),
        pytest.param(b'{"a":%s}' % (b"9" * 5000), "too many digits", id="integer of 5000 digits"),
        pytest.param(b'{"a":-%s}' % (b"9" * 5000), "too many digits", id="negative integer of 5000 digits"),
        pytest.param(b'{"a":01}', "not JSON", id="leading zero"),
        pytest.param(b'{"a":0x1}', "not JSON", id="hexadecimal"),
        pytest.param(b'{"a":"\n"}', "not JSON", id="control character"),
        pytest.param(b'{"a":"\\x"}', "not JSON", id="bad escape"),
        pytest.param(b'{"a":"\xff"}', "not UTF-8", id="bad UTF-8"),
        pytest.param(b'{"a":"\xed\xa0\x80"}', "not UTF-8", id="surrogate in UTF-8"),
        pytest.param(b'{"a":"\xc0\x80"}', "not UTF-8", id="overlong NUL"),
        pytest.param('{"a":1}'.encode("utf-16"), "not UTF-8", id="UTF-16"),
        pytest.param(b"\xef\xbb\xbf{}", "not JSON", id="byte order mark"),
        pytest.param(b"[" * 10**5, "too deep", id="a hundred thousand lists opened"),
        pytest.param(b'{"a":' * 10**4, "too deep", id="maps nested too deep"),
        pytest.param(b"[" * 5000 + b"]" * 5000, "too deep", id="lists nested too deep"),
        pytest.param(b"\x81\xa1a\x01", "looks like MessagePack: send Content-Type", id="MessagePack"),
    ],
)
def test_malformed_json_is_refused_with_a_message(body, said):
    assert said in refusal(body, JSON)


@cases(("opened", "closed"), [(b"[", b"]"), (b'{"[\\"{":', b"}")], ids=["lists", "maps"])
def test_five_hundred_lists_or_maps_may_be_nested(opened, closed):
    assert outcome(opened * 500 + b"0" + closed * 500, JSON) == "a value"
    assert "too deeply: the limit is 500 levels" in refusal(opened * 501 + b"0" + closed * 501, JSON)


def test_a_refusal_shows_only_the_beginning_of_a_key():
    key = "k" * 10**5
    assert len(refusal(b"\x82" + 2 * (msgpack.packb(key) + b"\x01"), MSGPACK)) < 200
    assert len(refusal(f'{{"{key}":1,"{key}":2}}'.encode(), JSON)) < 200


@settings(max_examples=300)
@given(st.binary(max_size=100), st.sampled_from(Encoding))
@example(b"\xc7\x0c\xff\xff\xff\xff\xff" + b"\0" * 8, MSGPACK)  # a timestamp of too many nanoseconds
def test_any_bytes_are_decoded_or_refused(body, media):
    assert outcome(body, media) in ("a value", "malformed-body")


@settings(max_examples=300)
@given(st.data(), st.sampled_from(Encoding))
def test_a_damaged_message_is_decoded_or_refused(data, media):
    body = bytearray(encode(MESSAGE, media))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert outcome(body, media) in ("a value", "malformed-body")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=200)
@given(VALUES, st.sampled_from(Encoding))
def test_decoding_inverts_encoding(value, media):
    assert decode(encode(value, media), media) == value


TANGLED = st.recursive(
    st.text('[]{}"\\\\', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[]{}"\\\\', max_size=4), inner, max_size=3),
)


def depth(value):
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if items is None else 1 + max(map(depth, items), default=0)


@given(TANGLED, st.text('[]{}"\\\\', max_size=4))
def test_brackets_in_strings_do_not_count_as_nesting(value, rest):
    text = json.dumps(value)
    assert prescan.json_depth(text.encode()) == depth(value)
    assert prescan.json_depth(memoryview(text.encode() + b"]" * 9 + rest.encode())) >= depth(value)


NOT_SURVEYED = {0xC1, *range(0xC7, 0xCA), *range(0xD4, 0xD9)}
"""Bodies with extension types and the unused first byte."""


def whole(body):
    """Return whether msgpack reads exactly one value from these bytes."""
    try:
        msgpack.unpackb(body, raw=True, strict_map_key=False, object_pairs_hook=lambda pairs: None)
    except ValueError:  # of which ExtraData is one
        return False
    return True


@settings(max_examples=400)
@given(st.lists(st.sampled_from([bytes([first]) for first in range(256) if first not in NOT_SURVEYED]), max_size=40))
def test_the_prescan_ends_where_msgpack_ends(pieces):
    body = b"".join(pieces)
    try:
        prescan.prescan_msgpack(body)
    except Problem:
        assert not whole(body)
    else:
        assert whole(body)


@cases("size", [prescan.MIN_VIEW_BYTES - 1, prescan.MIN_VIEW_BYTES, 70_000])
def test_a_long_bin_is_a_view_of_the_body_and_a_short_one_is_not(size):
    datas = [bytes([number]) * size for number in (1, 2)]
    body = bytearray(msgpack.packb({"a": datas[0], "b": [b"short", datas[1]], "c": "end"}))
    value = decode(body, MSGPACK)
    assert value == {"a": datas[0], "b": [b"short", datas[1]], "c": "end"}
    body[body.index(1) :] = bytes(len(body) - body.index(1)) if size < prescan.MIN_VIEW_BYTES else body[body.index(1) :]
    assert value["a"] == datas[0]
    assert isinstance(value["a"], bytes) == (size < prescan.MIN_VIEW_BYTES)


def test_a_long_bin_as_a_key_is_refused():
    assert "not a string" in refusal(b"\x81\xc6\x00\x01\x00\x00" + bytes(2**16) + b"\x01", MSGPACK)


# --- floods --------------------------------------------------------------------------------------


def list_header(count):
    return b"\xdd" + count.to_bytes(4, "big")


@cases(
    ("count", "media", "body"),
    [
        pytest.param(99, MSGPACK, lambda count: list_header(count) + b"\x01" * count, id="MessagePack list"),
        pytest.param(100, JSON, lambda count: b"[" + b"1," * (count - 1) + b"1]", id="JSON list"),
        pytest.param(49, MSGPACK, lambda count: list_header(count) + b"\x91\x01" * count, id="MessagePack lists"),
        pytest.param(50, JSON, lambda count: b"[" + b"[1]," * (count - 1) + b"[1]]", id="JSON lists"),
        pytest.param(99, MSGPACK, lambda count: list_header(count) + b"\x80" * count, id="MessagePack maps"),
        pytest.param(50, JSON, lambda count: b"[" + b"{}," * (count - 1) + b"{}]", id="JSON maps"),
        pytest.param(33, JSON, lambda count: b"[" + b'{"":1},' * (count - 1) + b'{"":1}]', id="JSON keys"),
    ],
)
def test_the_values_of_one_body_are_limited(count, media, body, monkeypatch):
    monkeypatch.setattr(prescan, "MAX_VALUES", 100)
    assert len(decode(body(count), media)) == count
    assert "more than 100 values" in refusal(body(count + 1), media)


def test_the_data_of_a_tensor_is_one_value(monkeypatch):
    monkeypatch.setattr(prescan, "MAX_VALUES", 10)
    assert len(decode(b"\xc6\x00\x01\x00\x00" + b"\x80" * 2**16, MSGPACK)) == 2**16


FLOODS = {
    "one list of 10 MB of maps": list_header(10**7) + b"\x80" * 10**7,
    "lists of 10 MB of maps": b"\x9a" + (list_header(prescan.MAX_VALUES) + b"\x80" * prescan.MAX_VALUES) * 10,
    "10 MB of small lists of maps": list_header(900_000) + (b"\x9a" + b"\x80" * 10) * 900_000,
    "lists announced inside lists": list_header(prescan.MAX_VALUES) * 1000,
    "lists that never end": (list_header(90_000) + b"\xa2ab" * 89_999) * 100,
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in FLOODS.items()])
def test_a_body_with_too_many_values_is_refused_before_it_needs_much_memory(body):
    tracemalloc.start()
    try:
        refusal(body, MSGPACK)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


SMALLEST = {
    "nils": b"\xc0",
    "empty strings": b"\xa0",
    "strings of two": b"\xa2ab",
    "wide characters": b"\xa4\xf0\x9f\x98\x80",
    "16-bit integers": b"\xcd\x03\xe8",
    "empty lists": b"\x90",
    "lists of one": b"\x91\xc0",
    "empty maps": b"\x80",
    "maps of one": b"\x81\xa0\xc0",
    "maps of six": b"\x86" + b"".join(b"\xa1%c\xc0" % key for key in b"abcdef"),
    "bins of two": b"\xc4\x02ab",
    "bins that are not copied": b"\xc5\x04\x00" + bytes(1024),
}


@cases("item", SMALLEST.values(), ids=SMALLEST)
def test_values_need_at_most_the_reserved_memory_and_80_times_the_body(item):
    body, reserved = list_header(4000) + item * 4000, []
    peak = taken(lambda: decode(body, MSGPACK, reserved.append))
    assert peak <= sum(reserved)
    assert peak <= 80 * len(body)


@cases("media", [JSON, MSGPACK])
def test_the_problem_of_too_many_values_states_the_limit_and_what_to_send(media):
    # A batch has a map, the key "requests", a list, and for each row a map, the key "inputs", 3 lists and 9 sizes.
    batch = {"requests": [{"inputs": [[1] * 5, [1] * 4]}] * 10_000}
    body = json.dumps(batch).encode() if media is JSON else msgpack.packb(batch)
    with pytest.raises(Problem) as refused:
        decode(body, media)
    problem = refused.value.document()
    assert (problem["code"], problem["status"], problem["limit"]) == ("malformed-body", 400, 131_072)
    found = " (about 140003)" if media is JSON else ""
    assert problem["detail"] == (
        f"the body has more than 131072 values{found}: send a batch of shapes in several requests, or as columns. "
        f"Send tensors in MessagePack, or as base64"
    )


@cases("item", [b"[],", b"{},", b"1,", b"[", b'{"":'], ids=bytes.decode)
def test_json_with_too_many_values_is_refused_before_it_is_parsed(item):
    body = b"[" + item * (prescan.MAX_VALUES + 1)
    tracemalloc.start()
    try:
        assert f"more than {prescan.MAX_VALUES} values" in refusal(body, JSON)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
