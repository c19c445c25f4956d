"""Tests of invalid tensors: every fault has a message, and only the data is read."""

import pytest
from arrays import EIGHT, FLOATS
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from axiscast.wire.problems import Problem
from axiscast.wire.tensors import Tensor

STRIDED = {"dtype": "uint8", "shape": [2, 3], "strides": [3, 1], "data": b"abcdef"}
FAR = 2**62


def listed(dtype, *data, **fields):
    return {"dtype": dtype, "shape": [len(data)], "data": list(data), **fields}


INVALID = {
    "short data": (FLOATS | {"data": EIGHT[1:]}, "data has 7 bytes", "(2,)", "float32 needs 8"),
    "long data": (FLOATS | {"data": EIGHT + b"\0"}, "data has 9 bytes", "(2,)", "float32 needs 8"),
    "no bytes": (FLOATS | {"data": b""}, "data has 0 bytes", "needs 8"),
    "bytes for an empty shape": (FLOATS | {"shape": [0]}, "data has 8 bytes", "(0,)", "needs 0"),
    "short list of bins": (FLOATS | {"data": [b"abc", b"defg"]}, "data has 7 bytes", "needs 8"),
    "more than 2^63-1 bytes": (FLOATS | {"shape": [FAR, 2]}, "(4611686018427387904, 2)", "exceeds 2^63-1 bytes"),
    "more than 2^63-1 bytes beside size 0": (FLOATS | {"shape": [0, FAR]}, "exceeds 2^63-1 bytes"),
    "virtual bytes beyond 2^63-1": (FLOATS | {"shape": [FAR], "strides": [0]}, "exceeds 2^63-1 bytes"),
    "too few strides": (STRIDED | {"strides": [1]}, "strides has 1 entry for 2 axes", "one for each axis"),
    "too many strides": (STRIDED | {"strides": [3, 1, 1]}, "strides has 3 entries for 2 axes", "one for each axis"),
    "strides of a scalar": (STRIDED | {"shape": []}, "strides has 2 entries for 0 axes"),
    "negative stride": (STRIDED | {"strides": [3, -1]}, "can't be negative", "reverse the axis"),
    "reach past the data by one": (STRIDED | {"strides": [4, 1]}, "6 bytes", "(2, 3) (4, 1)", "need 7"),
    "data past the reach by one": (STRIDED | {"strides": [2, 1]}, "6 bytes", "(2, 3) (2, 1)", "need 5"),
    "reach beyond 2^64": (STRIDED | {"strides": [FAR, FAR]}, "6 bytes", f"need {3 * FAR + 1}"),
    "data of an empty strided tensor": (STRIDED | {"shape": [0, 3]}, "6 bytes", "need 0"),
    "bool byte 2": ({"dtype": "bool", "shape": [2], "data": b"\1\2"}, "bool must be a byte from 0 to 1", "contains 2"),
    "uint4 16": ({"dtype": "uint4", "shape": [1], "data": b"\x10"}, "uint4 must be a byte from 0 to 15", "contains 16"),
    "int2 4": ({"dtype": "int2", "shape": [1], "data": b"\x04"}, "int2 must be a byte from 0 to 3", "contains 4"),
    "float6 64": ({"dtype": "float6_e2m3fn", "shape": [1], "data": b"@"}, "a byte from 0 to 63", "contains 64"),
    "code point above U+10FFFF": ({"dtype": "str<1>", "shape": [1], "data": b"\0\0\x11\0"}, "above U+10FFFF"),
    "object dtype": (FLOATS | {"dtype": "object"}, "the dtype is unknown", "write a name such as float32"),
    "structured dtype": (FLOATS | {"dtype": "f4,f4"}, "the dtype is structured", "send each field"),
    "unknown dtype": (FLOATS | {"dtype": "float33"}, "the dtype is unknown", "Write a name such as float32"),
    "big-endian dtype": (FLOATS | {"dtype": ">f4"}, "the dtype is big-endian", ".astype"),
    "str of 2^31 characters": (FLOATS | {"dtype": "str<2147483648>"}, "the dtype is unknown", "str<8>"),
    "str of 2 MiB": (FLOATS | {"dtype": "str<524288>"}, "an element of the dtype str<N> must have 1 to 1048576 bytes"),
    "datetime of no time": ({"dtype": "datetime64[0s]", "shape": [1], "data": EIGHT}, "the dtype is unknown"),
    "rank 65": (FLOATS | {"shape": [1] * 65}, "at most 64 axes", "65"),
    "bytes without dtype": ({"shape": [2], "data": EIGHT}, "dtype is missing", "such as float32"),
    "bytes in base64 without dtype": ({"shape": [2], "base64": "AAAAAAAAAAA="}, "dtype is missing", "such as float32"),
    "strings without dtype": (
        {"shape": [1], "data": ["a"]},
        "dtype is missing",
        "it can be omitted only for lists of booleans or numbers, so send a dtype such as float32",
    ),
    "bytes in base64 that are too short": (
        {"dtype": "int8", "shape": [4], "base64": "AAAA"},
        "base64 has 3 bytes",
        "int8 needs 4",
    ),
    "a bool byte 2 in base64": ({"dtype": "bool", "shape": [1], "base64": "Ag=="}, "bool must be a byte from 0 to 1"),
    "data and base64": (FLOATS | {"base64": "AAAAAAAAAAA="}, "data or base64, but not both"),
    "neither data nor base64": ({"dtype": "float32", "shape": [2]}, "data or base64, but not both"),
    "base64 of other characters": ({"dtype": "int8", "shape": [3], "base64": "A*AA"}, "are invalid in base64"),
    "base64 with a line end": ({"dtype": "int8", "shape": [3], "base64": "AAAA\n"}, "are invalid in base64"),
    "base64 beyond ASCII": ({"dtype": "int8", "shape": [3], "base64": "AAAé"}, "are invalid in base64"),
    "base64 cut short": ({"dtype": "int8", "shape": [3], "base64": "AAA"}, "has 3 characters, but 4 are needed for"),
    "base64 without its end": (
        {"dtype": "int8", "shape": [1], "base64": "AA"},
        "add = until the length is a multiple of 4",
    ),
    "null data": ({"dtype": "int8", "shape": [1], "data": None}, "null instead of a list of 1"),
    "a map as data": ({"dtype": "int8", "shape": [], "data": {}}, "element 0 of data must be an integer"),
    "ragged list": (
        listed("int8", [1, 2], [3], shape=[2, 2]),
        "(2, 2)",
        "on axis 1",
        "a list of 1 instead of a list of 2",
    ),
    "list too deep": (
        listed("int8", [1], [2], shape=[2]),
        "element 0 of data must be an integer that int8 can represent",
    ),
    "list of the transposed shape": (
        listed("int8", [1, 2, 3], [4, 5, 6], shape=[3, 2]),
        "axis 0",
        "instead of a list of 3",
    ),
    "flat list too short": (listed("int8", 1, 2, 3, shape=[2, 2]), "data has 3 elements", "(2, 2)", "4"),
    "strided list that is nested": (STRIDED | {"data": [[1, 2, 3], [4, 5, 6]]}, "data has 2 elements", "6"),
    "strided scalar that is no list": (STRIDED | {"shape": [], "strides": [], "data": 1}, "flat list or base64"),
    "int8 128": (listed("int8", 1, 128), "outside the range of int8"),
    "int8 -129": (listed("int8", -129), "outside the range of int8"),
    "uint8 -1": (listed("uint8", -1), "outside the range of uint8"),
    "uint64 2^64": (listed("uint64", str(2**64)), "outside the range of uint64"),
    "2^64 without dtype": (
        {"shape": [1], "data": [2**64]},
        "neither int64 nor uint64",
        "as a float",
        "a dtype such as",
    ),
    "2^64 beside a float without dtype": ({"shape": [2], "data": [1.5, 2**64]}, "neither int64 nor uint64"),
    "-2^63 - 1 without dtype": ({"shape": [1], "data": [-(2**63) - 1]}, "neither int64 nor uint64"),
    "null without dtype": ({"shape": [2], "data": [1, None]}, "dtype is missing", "lists of booleans or numbers"),
    "int4 8": (listed("int4", 8), "outside the range of int4"),
    "uint2 4": (listed("uint2", 4), "outside the range of uint2"),
    "float in an int8": (listed("int8", 1, 1.5), "element 1 of data must be an integer that int8 can represent"),
    "bool in an int8": (listed("int8", True), "element 0 of data must be an integer that int8 can represent"),
    "integer in a bool": (listed("bool", 1), "element 0 of data must be a boolean that bool can represent"),
    "bool in a float32": (listed("float32", True), "element 0 of data must be a number that float32 can represent"),
    "null in a float32": (
        listed("float32", 1.0, None),
        "element 1 of data must be a number that float32 can represent",
    ),
    "words in an int8": (listed("int8", "one"), "element 0 of data must be an integer that int8 can represent"),
    "two signs": (listed("int8", "--5"), "element 0 of data must be an integer that int8 can represent"),
    "no digits": (listed("int8", "-"), "element 0 of data must be an integer that int8 can represent"),
    "digits of another script": (listed("int8", "٣"), "element 0 of data must be an integer that int8 can represent"),
    "words in a float32": (listed("float32", "nan"), "element 0 of data must be a number that float32 can represent"),
    "1e999": (listed("float64", float("1e999")), "element 0 of data must be a number that float64 can represent"),
    "an integer of 400 digits": (
        listed("float64", 10**400),
        "element 0 of data must be a number that float64 can represent",
    ),
    "float32 1e39": (listed("float32", 1, 1e39), "outside the range of float32"),
    "float16 65520": (listed("float16", 65520), "outside the range of float16"),
    "bfloat16 1e39": (listed("bfloat16", 1e39), "outside the range of bfloat16"),
    "float8_e5m2 1e6": (listed("float8_e5m2", 1e6), "outside the range of float8_e5m2"),
    "float8_e4m3fn 1e6, which has no infinity": (listed("float8_e4m3fn", 1e6), "float8_e4m3fn"),
    "float8_e4m3fn infinity": (listed("float8_e4m3fn", "Infinity"), "float8_e4m3fn"),
    "float8_e8m0fnu -1, which has no sign": (listed("float8_e8m0fnu", -1), "float8_e8m0fnu"),
    "float4_e2m1fn 100, which saturates": (listed("float4_e2m1fn", 100), "float4_e2m1fn"),
    "float4_e2m1fn NaN": (listed("float4_e2m1fn", "NaN"), "float4_e2m1fn"),
    "complex64 1e39": (listed("complex64", [1e39, 0]), "outside the range of complex64"),
    "a complex triple": (listed("complex64", [1, 2, 3]), "element 0 of data must be a pair [re, im]"),
    "a complex pair of pairs": (listed("complex64", [[1, 2], 3]), "element 0 of data must be a pair [re, im]"),
    "a long string": (listed("str<2>", "abc"), "element 0 of data must be a string that str<2> can represent"),
    "a number for a string": (listed("str<2>", 1), "element 0 of data must be a string that str<2> can represent"),
    "long bytes": (listed("bytes<2>", "YWJj"), "element 0 of data must be a base64 string that bytes<2> can represent"),
    "bytes that are no base64": (listed("bytes<2>", "a"), "element 0 of data must be a base64 string"),
    "a date in words": (listed("datetime64[s]", "yesterday"), "must be an ISO 8601 string or an integer"),
    "a date that depends on the day": (listed("datetime64[s]", "now"), "must be an ISO 8601 string or an integer"),
    "a date that wraps around": (listed("datetime64[ns]", "9999-01-01"), "datetime64[ns]"),
    "a date whose seconds wrap around": (listed("datetime64[s]", "300000000000-01-01T00:00:00"), "datetime64[s]"),
    "a date finer than its unit": (listed("datetime64[D]", "2020-01-01T05"), "datetime64[D]"),
    "a timedelta in words": (listed("timedelta64[s]", "1 s"), "must be an integer that timedelta64[s] can represent"),
    "a date count beyond 2^63-1": (listed("datetime64[s]", 2**63), "must be an ISO 8601 string or an integer"),
}


FIELDS = {
    "dtype": [
        *(fault for fault in INVALID if fault.endswith(" dtype")),
        "str of 2^31 characters",
        "str of 2 MiB",
        "datetime of no time",
    ],
    "shape": [*(fault for fault in INVALID if "2^63-1 bytes" in fault), "virtual bytes beyond 2^63-1", "rank 65"],
    "strides": ["too few strides", "too many strides", "strides of a scalar", "negative stride"],
    "base64": [
        *(fault for fault in INVALID if fault.startswith("base64 ")),
        "bytes in base64 that are too short",
        "a bool byte 2 in base64",
    ],
    None: ["data and base64", "neither data nor base64"],
}
"""The invalid field, if it is not `data`."""


@cases("fault", INVALID)
def test_an_invalid_tensor_is_refused_with_a_message(fault):
    tensor, *said = INVALID[fault]
    with pytest.raises(Problem) as refused:
        Tensor.model_validate(tensor).to_array("/inputs/3")
    problem, place = refused.value.document(), "inputs/3/base64" if fault.startswith("base64 ") else "inputs/3"
    field = next((field for field, faults in FIELDS.items() if fault in faults), "data")
    pointer = "/inputs/3" if field is None else f"/inputs/3/{field}"
    assert (problem["code"], problem["status"], problem["pointer"]) == ("invalid-tensor", 422, pointer)
    assert problem["detail"].startswith(f"{place}: ")
    assert [words for words in said if words not in problem["detail"]] == []
    assert len(problem["detail"]) < 300


def test_the_stride_of_an_axis_of_size_1_is_not_used():
    tensor = Tensor.model_validate({"dtype": "int16", "shape": [1, 2], "strides": [FAR, 1], "data": b"\1\0\2\0"})
    assert tensor.to_array("/inputs/0").tolist() == [[1, 2]]


@settings(max_examples=300)
@given(
    name=st.sampled_from(["int8", "float32", "bool", "str<1>", "bytes<3>"]),
    shape=st.lists(st.sampled_from([0, 1, 2, 3, 2**40, 2**62]), max_size=4),
    data=st.data(),
)
def test_a_tensor_reads_only_its_own_data(name, shape, data):
    strides = data.draw(st.none() | st.lists(st.sampled_from([0, 1, 2, 5, 2**40, 2**62]), max_size=4))
    tensor = {"dtype": name, "shape": shape, "strides": strides, "data": data.draw(st.binary(max_size=40))}
    try:
        array = Tensor.model_validate(tensor).to_array("/inputs/0")
    except Problem as problem:
        refused = problem.code
    else:
        refused = None
        reach = sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)) + array.itemsize
        assert (reach if array.size else 0) == len(tensor["data"])
    assert refused in (None, "invalid-tensor")
