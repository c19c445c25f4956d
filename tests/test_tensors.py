"""Tensors on the wire: every dtype to the bit, every fault in words, answers read from whatever pieces they come in."""

import json
import math
import tracemalloc
from itertools import product
from operator import itemgetter

import ml_dtypes
import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorcast
from tensorcast.client.reading import TensorReader
from tensorcast.schema import tensors
from tensorcast.schema.codec import Media, decode
from tensorcast.schema.dtypes import UnknownDtype, dtype_named, name_of
from tensorcast.schema.problems import Problem
from tensorcast.schema.tensors import Tensor, json_parts, msgpack_parts

NUMBERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMBERS += ["float16", "float32", "float64", "complex64", "complex128"]
SMALL = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz"]
SMALL += ["float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
SMALL += ["int2", "uint2", "int4", "uint4"]
TIMES = [f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in ("Y", "D", "25s", "ms", "ns", "as")]
STRINGS = ["bytes<1>", "bytes<5>", "bytes<16>", "str<1>", "str<3>"]
NAMES = [*NUMBERS, *SMALL, *TIMES, *STRINGS]
"""Every dtype of the wire; units and lengths by example."""

BITS = {"bool": 1, "int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4} | {
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
}
"""The dtypes that do not use every bit of their byte."""


def dtype_of(name):
    """The dtype of a name, by other means than the library's."""
    if name in SMALL:
        return np.dtype(getattr(ml_dtypes, name))
    kind, _, size = name.rstrip(">").partition("<")
    return np.dtype({"bytes": "S", "str": "<U"}[kind] + size if size else name)


def random_array(name, shape):
    """Random bit patterns that the dtype has, NaNs with payloads among them."""
    dtype = dtype_of(name)
    raw = np.random.default_rng(1).bytes(int(np.prod(shape)) * dtype.itemsize)
    data = np.frombuffer(raw, np.uint8) & np.uint8(2 ** BITS.get(name, 8) - 1)
    if dtype.kind == "U":
        data = (np.frombuffer(raw, "<u4") % 0x110000).astype("<u4").view(np.uint8)
    return data.view(dtype).reshape(shape)


LAYOUTS = {
    "C": lambda array: array,
    "Fortran": lambda array: array.copy("F"),
    "transposed": lambda array: array.transpose(2, 0, 1),
    "negative strides": lambda array: array[::-1, :, ::-1],
    "every other": lambda array: array[:, ::2, ::3],
    "one axis replicated": lambda array: np.broadcast_to(array[:, :1], array.shape),
    "all axes replicated": lambda array: np.broadcast_to(array[0, 0, 0], (2, 3)),
    "size 0": lambda array: array[:, :0],
    "size 0 among replicated axes": lambda array: np.broadcast_to(array[:1, :0, :1], (5, 0, 7)),
    "scalar": lambda array: array[1, 2, 3, ...],
    "size 1": lambda array: array[:1, :1, :1],
}


def bits(array):
    return array.tobytes()  # in C order, whatever the strides


def through_msgpack(array, strided):
    body = b"".join(msgpack_parts(array, strided))
    return Tensor.model_validate(decode(body, Media.MSGPACK)).to_array("/inputs/0")


def through_json(array, strided, as_base64):
    body = b"".join(json_parts(array, strided, as_base64))
    return received(body.decode())


def received(body):
    """The array of a tensor in JSON text."""
    return Tensor.model_validate(decode(body.encode(), Media.JSON)).to_array("/inputs/0")


# --- to the bit ----------------------------------------------------------------------------------


@pytest.mark.parametrize("strided", [False, True], ids=["dense", "strided"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_and_layout_passes_to_the_bit(name, layout, strided):
    array = LAYOUTS[layout](random_array(name, (4, 5, 6)))
    for again in (through_msgpack(array, strided), through_json(array, strided, as_base64=True)):
        assert (again.dtype, again.shape, bits(again)) == (array.dtype, array.shape, bits(array))
        assert not again.flags.writeable


@pytest.mark.parametrize("strided", [False, True], ids=["dense", "strided"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in SMALL and dtype_of(name).str[0] == "<"])
def test_big_endian_arrays_arrive_little_endian(name, strided):
    little = random_array(name, (4, 5))
    big = little.byteswap().view(little.dtype.newbyteorder(">"))
    for again in (through_msgpack(big, strided), through_json(big, strided, as_base64=True)):
        assert (again.dtype, again.shape, bits(again)) == (little.dtype, little.shape, bits(little))


def test_a_nan_keeps_its_payload():
    patterns = np.array([0x7FC00001, 0x7F800001, 0xFFC12345], "<u4")  # quiet, signalling, negative
    for array in (patterns.view("<f4"), patterns.astype(">u4").view(">f4")):
        assert through_msgpack(array, False).view("<u4").tolist() == patterns.tolist()
        assert through_json(array, False, as_base64=True).view("<u4").tolist() == patterns.tolist()


def test_a_tensor_is_these_bytes():
    array = np.broadcast_to(np.array([1, 2], "<i2"), (3, 2))
    head = b"\xa5dtype\xa5int16\xa5shape\x92\x03\x02"
    assert b"".join(msgpack_parts(array, strided=False)) == (
        b"\x83" + head + b"\xa4data\xc6\x00\x00\x00\x0c" + b"\x01\x00\x02\x00" * 3
    )
    assert b"".join(msgpack_parts(array, strided=True)) == (
        b"\x84" + head + b"\xa7strides\x92\x00\x01\xa4data\xc6\x00\x00\x00\x04" + b"\x01\x00\x02\x00"
    )
    assert json.loads(b"".join(json_parts(array, strided=True, as_base64=True))) == {
        "dtype": "int16",
        "shape": [3, 2],
        "strides": [0, 1],
        "base64": "AQACAA==",
    }


def test_a_contiguous_array_is_sent_and_received_without_a_copy():
    array = np.zeros(1000)
    *_, data = msgpack_parts(array, strided=False)
    assert np.shares_memory(np.frombuffer(data), array)
    body = decode(b"".join(msgpack_parts(array, strided=False)), Media.MSGPACK)
    assert np.shares_memory(Tensor.model_validate(body).to_array("/x"), np.frombuffer(body["data"]))


@pytest.mark.parametrize("dtype", ["<f8", ">f8"])
def test_a_strided_tensor_of_a_quadrillion_elements_is_small(dtype):
    array = np.broadcast_to(np.arange(3, dtype=dtype), (10**15, 3))
    assert sum(map(len, msgpack_parts(array, strided=True))) < 100
    again = through_msgpack(array, strided=True)
    assert (again.shape, again.strides) == (array.shape, (0, 8))
    assert again[10**15 - 1].tolist() == [0.0, 1.0, 2.0]


# --- dtypes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_name_and_its_dtype_are_a_pair(name):
    assert dtype_named(name) == dtype_of(name)
    assert name_of(dtype_of(name)) == name
    assert name_of(dtype_of(name).newbyteorder(">")) == name


UNKNOWN = ["object", "O", "void8", "float128", "float", "f4", ">f4", "Float32", "", "int3", "float8", "float32\n"]
UNKNOWN += ["datetime64", "datetime64[]", "datetime64[x]", "datetime64[0s]", "datetime64[99999999999s]"]
UNKNOWN += ["timedelta64[-1s]", "str", "str<>", "str<0>", "str<-1>", "str<262145>", "str<2147483648>", "str<٣>"]
UNKNOWN += ["bytes<0>", "bytes<1048577>", "bytes<9999999999>", "\ud800"]


@pytest.mark.parametrize("name", UNKNOWN, ids=ascii)
def test_a_name_of_no_dtype_is_refused_with_examples(name):
    with pytest.raises(UnknownDtype, match=r"write one as float32, int64|takes 1 to 1048576 bytes an element"):
        dtype_named(name)


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.array([None]), id="objects"),
        pytest.param(np.zeros(2, [("a", "f4"), ("b", "i4")]), id="records"),
        pytest.param(np.zeros(2, "V8"), id="void"),
        pytest.param(np.zeros(2, "M8"), id="datetimes without a unit"),
        pytest.param(np.array(["a"], np.dtypes.StringDType()), id="strings of any length"),
    ],
)
def test_an_array_that_the_wire_does_not_hold_is_not_sent(array):
    with pytest.raises(UnknownDtype, match="can't be sent; convert it to one of float32, int64"):
        b"".join(msgpack_parts(array, strided=False))
    with pytest.raises(UnknownDtype, match="can't be sent; convert it to one of float32, int64"):
        b"".join(json_parts(array, strided=False, as_base64=False))


# --- JSON lists ----------------------------------------------------------------------------------


def values(array):
    """The bits, with one and the same NaN for all."""
    if array.dtype.kind == "c":
        array = np.ascontiguousarray(array).view(f"<f{array.itemsize // 2}")
    patterns = np.frombuffer(array.tobytes(), f"V{array.itemsize}").tolist()
    if "float" not in array.dtype.name:
        return patterns
    with np.errstate(invalid="ignore"):  # of signalling NaNs
        nans = np.isnan(array.astype(float)).ravel().tolist()
    return ["NaN" if nan else pattern for nan, pattern in zip(nans, patterns, strict=True)]


@pytest.mark.parametrize("strided", [False, True], ids=["dense", "strided"])
@pytest.mark.parametrize("layout", ["C", "one axis replicated", "size 0", "scalar"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "datetime64[25s]"])
def test_every_dtype_passes_through_json_lists_by_value(name, layout, strided):
    array = LAYOUTS[layout](random_array(name, (4, 5, 6)))
    again = through_json(array, strided, as_base64=False)
    assert (again.dtype, again.shape, values(again)) == (array.dtype, array.shape, values(array))


@pytest.mark.parametrize("count", [-(2**63) + 1, -(10**11) - 7, 0, 10**11 + 7, 2**63 - 1])
@pytest.mark.parametrize("unit", ["W", "10D", "25s", "ns"])
def test_a_date_passes_through_json_however_far_it_is(unit, count):
    array = np.array([count]).view(f"M8[{unit}]")
    assert through_json(array, strided=False, as_base64=False).view(np.int64).tolist() == [count]


@pytest.mark.parametrize(
    ("array", "data"),
    [
        (np.array([True, False]), [True, False]),
        (np.array([[1, 2], [3, 4]], np.int8), [[1, 2], [3, 4]]),
        (np.array(5, np.uint16), 5),
        (np.zeros((2, 0)), [[], []]),
        (np.array([2**53, 2**53 + 1, -(2**53) - 1]), [2**53, "9007199254740993", "-9007199254740993"]),
        (np.array([2**64 - 1], np.uint64), ["18446744073709551615"]),
        (np.array([-8, 7]).astype(ml_dtypes.int4), [-8, 7]),
        (np.array([0.1, 1e300, 5e-324, -0.0]), [0.1, 1e300, 5e-324, -0.0]),
        (np.array([0.1, 3.4028235e38, 1e-45, 16777216], np.float32), [0.1, 3.4028235e38, 1e-45, 16777216.0]),
        (np.array([0.1, 6e-8], np.float16), [0.1, 6e-8]),
        (np.array([1.5, -448, 0.001953125]).astype(ml_dtypes.float8_e4m3fn), [1.5, -448.0, 0.001953125]),
        (np.array([np.nan, np.inf, -np.inf, 1], np.float32), ["NaN", "Infinity", "-Infinity", 1.0]),
        (np.array([np.nan, 2]).astype(ml_dtypes.bfloat16), ["NaN", 2.0]),
        (np.array([1 + 2j, complex(np.inf, 0.1)], np.complex64), [[1.0, 2.0], ["Infinity", 0.1]]),
        (np.array(1 + 2j), [1.0, 2.0]),
        (np.array(["2020-02-29", "NaT"], "M8[D]"), ["2020-02-29", "NaT"]),
        (np.array(["2020"], "M8[Y]"), ["2020"]),
        (np.array(["1970-01-01T00:00:01.5"], "M8[ms]"), ["1970-01-01T00:00:01.500"]),
        (np.array([90, -1], "m8[s]"), [90, -1]),
        (np.array([b"ab", b"\xff\x00c"]), ["YWI=", "/wBj"]),
        (np.array(["né", ""]), ["né", ""]),
    ],
    ids=lambda value: value.dtype.name if isinstance(value, np.ndarray) else "as",
)
def test_a_json_list_is_written_so(array, data):
    written = json.loads(b"".join(json_parts(array, strided=False, as_base64=False)))["data"]
    assert repr(written) == repr(data)  # -0.0 is not 0.0, and 1 is not True


@pytest.mark.parametrize(
    ("tensor", "array"),
    [
        ('{"shape": [2], "data": [true, false]}', np.array([True, False])),
        ('{"shape": [2], "data": [1, 2]}', np.array([1, 2])),
        ('{"shape": [2], "data": [1, 2.5]}', np.array([1, 2.5])),
        ('{"shape": [2], "data": [1, "NaN"]}', np.array([1, np.nan])),
        ('{"shape": [], "data": 3}', np.array(3)),
        ('{"shape": [2, 0], "data": [[], []]}', np.zeros((2, 0))),
        ('{"dtype": "int8", "shape": [2, 2], "data": [1, 2, 3, 4]}', np.array([[1, 2], [3, 4]], np.int8)),
        ('{"dtype": "int8", "shape": [2, 2], "data": [[1, 2], [3, 4]]}', np.array([[1, 2], [3, 4]], np.int8)),
        ('{"dtype": "int8", "shape": [2, 2], "strides": [0, 1], "data": [1, 2]}', np.array([[1, 2]] * 2, np.int8)),
        ('{"dtype": "int64", "shape": [1], "data": ["-9223372036854775808"]}', np.array([-(2**63)])),
        ('{"dtype": "uint64", "shape": [1], "data": ["18446744073709551615"]}', np.array([2**64 - 1], np.uint64)),
        ('{"dtype": "float32", "shape": [3], "data": [1, "Infinity", "-Infinity"]}', np.float32([1, np.inf, -np.inf])),
        ('{"dtype": "float32", "shape": [1], "base64": "AACAPw=="}', np.float32([1])),
        ('{"dtype": "float32", "shape": [0], "base64": ""}', np.float32([])),
        ('{"dtype": "complex64", "shape": [2], "data": [[1, 2], 3]}', np.complex64([1 + 2j, 3])),
        ('{"dtype": "complex64", "shape": [1, 2], "data": [[1, 2], [3, 4]]}', np.complex64([[1 + 2j, 3 + 4j]])),
        ('{"dtype": "complex64", "shape": [1, 2], "data": [[[1, 2], [3, 4]]]}', np.complex64([[1 + 2j, 3 + 4j]])),
        ('{"dtype": "complex64", "shape": [], "data": [1, 2]}', np.array(1 + 2j, np.complex64)),
        ('{"dtype": "datetime64[D]", "shape": [2], "data": ["1970-01-03", 1]}', np.array([2, 1]).view("M8[D]")),
        ('{"dtype": "datetime64[Y]", "shape": [2], "data": ["2020", 2020]}', np.array(["2020", "3990"], "M8[Y]")),
        ('{"dtype": "datetime64[D]", "shape": [1], "data": ["2020"]}', np.array(["2020-01-01"], "M8[D]")),
        ('{"dtype": "datetime64[D]", "shape": [1], "data": ["NaT"]}', np.array(["NaT"], "M8[D]")),
        ('{"dtype": "datetime64[s]", "shape": [1], "data": ["1970-01-01T01:00:00Z"]}', np.array([3600]).view("M8[s]")),
        ('{"dtype": "timedelta64[s]", "shape": [2], "data": [90, "NaT"]}', np.array([90, "NaT"], "m8[s]")),
        ('{"dtype": "timedelta64[s]", "shape": [1], "data": ["9007199254740993"]}', np.array([2**53 + 1], "m8[s]")),
        ('{"dtype": "bytes<3>", "shape": [2], "data": ["YWI=", ""]}', np.array([b"ab", b""], "S3")),
        ('{"dtype": "str<3>", "shape": [2], "data": ["né", "\\ud83d\\ude00"]}', np.array(["né", "\U0001f600"], "U3")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_json_tensor_is_read_so(tensor, array):
    read = received(tensor)
    assert (read.dtype, read.shape, values(read)) == (array.dtype, array.shape, values(array))


PLAIN = [True, False, 0, 1, -1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 0.5, -0.0, 1e300]


@pytest.mark.parametrize(
    ("data", "name", "elements"),
    [
        ([2**63], "uint64", [2**63]),
        ([2**64 - 1, 2**63], "uint64", [2**64 - 1, 2**63]),
        ([2**63 - 1, -(2**63)], "int64", [2**63 - 1, -(2**63)]),
        ([2**63, 1], "float64", [2.0**63, 1.0]),
        ([-1, 2**63], "float64", [-1.0, 2.0**63]),
        ([True, 2, False], "int64", [1, 2, 0]),
        ([2**63, True], "uint64", [2**63, 1]),
        ([True, 1.5], "float64", [1.0, 1.5]),
        ([False, "NaN"], "float64", [0.0, math.nan]),
        ([[True], [2**63]], "uint64", [[1], [2**63]]),
        (True, "bool", True),
        (2**63, "uint64", 2**63),
        ([], "float64", []),
    ],
    ids=repr,
)
def test_a_dtype_that_is_left_out_is_the_one_that_numpy_infers(data, name, elements):
    shape = list(np.shape(data))
    read = received(json.dumps({"shape": shape, "data": data}))
    assert (read.dtype, repr(read.tolist())) == (np.dtype(name), repr(elements))


def test_a_dtype_that_is_left_out_is_what_numpy_itself_makes_of_any_two_or_three_values():
    for values in [*product(PLAIN, repeat=2), *product(PLAIN, repeat=3)]:
        read, numpys = received(json.dumps({"shape": [len(values)], "data": values})), np.array(values)
        assert (read.dtype, bits(read)) == (numpys.dtype, bits(numpys)), values


# --- invalid tensors -----------------------------------------------------------------------------

EIGHT = b"\0" * 8
FLOATS = {"dtype": "float32", "shape": [2], "data": EIGHT}
STRIDED = {"dtype": "uint8", "shape": [2, 3], "strides": [3, 1], "data": b"abcdef"}
FAR = 2**62


def listed(dtype, *data, **fields):
    return {"dtype": dtype, "shape": [len(data)], "data": list(data), **fields}


INVALID = {
    "short data": (FLOATS | {"data": EIGHT[1:]}, "data has 7 bytes", "(2,)", "float32 need 8"),
    "long data": (FLOATS | {"data": EIGHT + b"\0"}, "data has 9 bytes", "(2,)", "float32 need 8"),
    "no bytes": (FLOATS | {"data": b""}, "data has 0 bytes", "need 8"),
    "bytes for an empty shape": (FLOATS | {"shape": [0]}, "data has 8 bytes", "(0,)", "need 0"),
    "short list of bins": (FLOATS | {"data": [b"abc", b"defg"]}, "data has 7 bytes", "need 8"),
    "more than 2^63-1 bytes": (FLOATS | {"shape": [FAR, 2]}, "(4611686018427387904, 2)", "exceeds 2^63-1 bytes"),
    "more than 2^63-1 bytes beside size 0": (FLOATS | {"shape": [0, FAR]}, "exceeds 2^63-1 bytes"),
    "virtual bytes beyond 2^63-1": (FLOATS | {"shape": [FAR], "strides": [0]}, "exceeds 2^63-1 bytes"),
    "too few strides": (STRIDED | {"strides": [1]}, "strides has 1 entries for 2 axes", "one for each axis"),
    "too many strides": (STRIDED | {"strides": [3, 1, 1]}, "strides has 3 entries for 2 axes", "one for each axis"),
    "strides of a scalar": (STRIDED | {"shape": []}, "strides has 2 entries for 0 axes"),
    "negative stride": (STRIDED | {"strides": [3, -1]}, "not negative", "reverse the axis"),
    "reach past the data by one": (STRIDED | {"strides": [4, 1]}, "6 bytes", "(2, 3) (4, 1)", "need 7"),
    "data past the reach by one": (STRIDED | {"strides": [2, 1]}, "6 bytes", "(2, 3) (2, 1)", "need 5"),
    "reach beyond 2^64": (STRIDED | {"strides": [FAR, FAR]}, "6 bytes", f"need {3 * FAR + 1}"),
    "data of an empty strided tensor": (STRIDED | {"shape": [0, 3]}, "6 bytes", "need 0"),
    "bool byte 2": ({"dtype": "bool", "shape": [2], "data": b"\1\2"}, "bool is one byte from 0 to 1", "holds 2"),
    "uint4 16": ({"dtype": "uint4", "shape": [1], "data": b"\x10"}, "uint4 is one byte from 0 to 15", "holds 16"),
    "int2 4": ({"dtype": "int2", "shape": [1], "data": b"\x04"}, "int2 is one byte from 0 to 3", "holds 4"),
    "float6 64": ({"dtype": "float6_e2m3fn", "shape": [1], "data": b"@"}, "one byte from 0 to 63", "holds 64"),
    "code point above U+10FFFF": ({"dtype": "str<1>", "shape": [1], "data": b"\0\0\x11\0"}, "above U+10FFFF"),
    "object dtype": (FLOATS | {"dtype": "object"}, "no such dtype", "write one as float32"),
    "structured dtype": (FLOATS | {"dtype": "f4,f4"}, "no such dtype", "write one as float32"),
    "unknown dtype": (FLOATS | {"dtype": "float33"}, "no such dtype", "write one as float32"),
    "big-endian dtype": (FLOATS | {"dtype": ">f4"}, "no such dtype", "write one as float32"),
    "str of 2^31 characters": (FLOATS | {"dtype": "str<2147483648>"}, "no such dtype", "str<8>"),
    "str of 2 MiB": (FLOATS | {"dtype": "str<524288>"}, "takes 1 to 1048576 bytes an element"),
    "datetime of no time": ({"dtype": "datetime64[0s]", "shape": [1], "data": EIGHT}, "no such dtype"),
    "rank 65": (FLOATS | {"shape": [1] * 65}, "at most 64 axes", "65"),
    "bytes without dtype": ({"shape": [2], "data": EIGHT}, "dtype is missing", "such as float32"),
    "bytes in base64 without dtype": ({"shape": [2], "base64": "AAAAAAAAAAA="}, "dtype is missing", "such as float32"),
    "strings without dtype": ({"shape": [1], "data": ["a"]}, "dtype is missing", "give one, such as float32"),
    "data and base64": (FLOATS | {"base64": "AAAAAAAAAAA="}, "either data or base64"),
    "neither data nor base64": ({"dtype": "float32", "shape": [2]}, "either data or base64"),
    "base64 of other characters": ({"dtype": "int8", "shape": [3], "base64": "A*AA"}, "base64 does not have"),
    "base64 with a line end": ({"dtype": "int8", "shape": [3], "base64": "AAAA\n"}, "base64 does not have"),
    "base64 beyond ASCII": ({"dtype": "int8", "shape": [3], "base64": "AAAé"}, "base64 does not have"),
    "base64 cut short": ({"dtype": "int8", "shape": [3], "base64": "AAA"}, "fill up a multiple of 4 with ="),
    "null data": ({"dtype": "int8", "shape": [1], "data": None}, "no list, not a list of 1"),
    "a map as data": ({"dtype": "int8", "shape": [], "data": {}}, "element 0 of data is not an integer"),
    "ragged list": (listed("int8", [1, 2], [3], shape=[2, 2]), "(2, 2)", "on axis 1", "a list of 1, not a list of 2"),
    "list too deep": (listed("int8", [1], [2], shape=[2]), "element 0 of data is not an integer that int8 holds"),
    "list of the transposed shape": (listed("int8", [1, 2, 3], [4, 5, 6], shape=[3, 2]), "axis 0", "not a list of 3"),
    "flat list too short": (listed("int8", 1, 2, 3, shape=[2, 2]), "data holds 3 elements", "(2, 2)", "4"),
    "strided list that is nested": (STRIDED | {"data": [[1, 2, 3], [4, 5, 6]]}, "data holds 2 elements", "6"),
    "strided scalar that is no list": (STRIDED | {"shape": [], "strides": [], "data": 1}, "flat list, or base64"),
    "int8 128": (listed("int8", 1, 128), "outside the range of int8"),
    "int8 -129": (listed("int8", -129), "outside the range of int8"),
    "uint8 -1": (listed("uint8", -1), "outside the range of uint8"),
    "uint64 2^64": (listed("uint64", str(2**64)), "outside the range of uint64"),
    "2^64 without dtype": (
        {"shape": [1], "data": [2**64]},
        "neither int64 nor uint64",
        "with a point",
        "a dtype such as",
    ),
    "2^64 beside a float without dtype": ({"shape": [2], "data": [1.5, 2**64]}, "neither int64 nor uint64"),
    "-2^63 - 1 without dtype": ({"shape": [1], "data": [-(2**63) - 1]}, "neither int64 nor uint64"),
    "null without dtype": ({"shape": [2], "data": [1, None]}, "dtype is missing", "lists of booleans or of numbers"),
    "int4 8": (listed("int4", 8), "outside the range of int4"),
    "uint2 4": (listed("uint2", 4), "outside the range of uint2"),
    "float in an int8": (listed("int8", 1, 1.5), "element 1 of data is not an integer that int8 holds"),
    "bool in an int8": (listed("int8", True), "element 0 of data is not an integer that int8 holds"),
    "integer in a bool": (listed("bool", 1), "element 0 of data is not a boolean that bool holds"),
    "bool in a float32": (listed("float32", True), "element 0 of data is not a number that float32 holds"),
    "null in a float32": (listed("float32", 1.0, None), "element 1 of data is not a number that float32 holds"),
    "words in an int8": (listed("int8", "one"), "element 0 of data is not an integer that int8 holds"),
    "two signs": (listed("int8", "--5"), "element 0 of data is not an integer that int8 holds"),
    "no digits": (listed("int8", "-"), "element 0 of data is not an integer that int8 holds"),
    "digits of another script": (listed("int8", "٣"), "element 0 of data is not an integer that int8 holds"),
    "words in a float32": (listed("float32", "nan"), "element 0 of data is not a number that float32 holds"),
    "1e999": (listed("float64", float("1e999")), "element 0 of data is not a number that float64 holds"),
    "an integer of 400 digits": (listed("float64", 10**400), "element 0 of data is not a number that float64 holds"),
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
    "a complex triple": (listed("complex64", [1, 2, 3]), "element 0 of data is not a pair [re, im]"),
    "a complex pair of pairs": (listed("complex64", [[1, 2], 3]), "element 0 of data is not a pair [re, im]"),
    "a long string": (listed("str<2>", "abc"), "element 0 of data is not a string that str<2> holds"),
    "a number for a string": (listed("str<2>", 1), "element 0 of data is not a string that str<2> holds"),
    "long bytes": (listed("bytes<2>", "YWJj"), "element 0 of data is not a base64 string that bytes<2> holds"),
    "bytes that are no base64": (listed("bytes<2>", "a"), "element 0 of data is not a base64 string"),
    "a date in words": (listed("datetime64[s]", "yesterday"), "not an ISO 8601 string or an integer"),
    "a date that depends on the day": (listed("datetime64[s]", "now"), "not an ISO 8601 string or an integer"),
    "a date that wraps around": (listed("datetime64[ns]", "9999-01-01"), "datetime64[ns]"),
    "a date whose seconds wrap around": (listed("datetime64[s]", "300000000000-01-01T00:00:00"), "datetime64[s]"),
    "a date finer than its unit": (listed("datetime64[D]", "2020-01-01T05"), "datetime64[D]"),
    "a timedelta in words": (listed("timedelta64[s]", "1 s"), "not an integer that timedelta64[s] holds"),
    "a date count beyond 2^63-1": (listed("datetime64[s]", 2**63), "not an ISO 8601 string or an integer"),
}


@pytest.mark.parametrize("fault", INVALID)
def test_an_invalid_tensor_is_refused_in_words(fault):
    tensor, *said = INVALID[fault]
    with pytest.raises(Problem) as refused:
        Tensor.model_validate(tensor).to_array("/inputs/3")
    problem = refused.value.document()
    assert (problem["code"], problem["status"], problem["pointer"]) == ("invalid-tensor", 422, "/inputs/3")
    assert problem["detail"].startswith("inputs/3: ")
    assert [words for words in said if words not in problem["detail"]] == []
    assert len(problem["detail"]) < 300


def test_the_stride_of_a_size_one_axis_is_never_stepped():
    tensor = Tensor.model_validate({"dtype": "int16", "shape": [1, 2], "strides": [FAR, 1], "data": b"\1\0\2\0"})
    assert tensor.to_array("/inputs/0").tolist() == [[1, 2]]


@settings(max_examples=300)
@given(
    name=st.sampled_from(["int8", "float32", "bool", "str<1>", "bytes<3>"]),
    shape=st.lists(st.sampled_from([0, 1, 2, 3, 2**40, 2**62]), max_size=4),
    data=st.data(),
)
def test_a_tensor_reads_nothing_but_its_data(name, shape, data):
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


# --- bins, and the client's reader ---------------------------------------------------------------


def answer(arrays, strided=False, bin_bytes=2**30):
    """The bytes of an answer, as the service sends them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensors, "BIN_BYTES", bin_bytes)
        parts = [part for array in arrays for part in msgpack_parts(array, strided)]
    return b"\x81\xa7outputs" + msgpack.Packer().pack_array_header(len(arrays)) + b"".join(parts)


def read(body, sizes=(2**30,), out=None, length=None):
    """What the client reads from a body that comes in pieces of these sizes, over and over."""
    reader = TensorReader({"outputs": None}, len(body) if length is None else length, itemgetter("outputs"), out)
    start, turn = 0, 0
    while start < len(body):
        size = sizes[turn % len(sizes)]
        reader.feed(body[start : start + size])
        start, turn = start + size, turn + 1
    return reader.finish()


@pytest.mark.parametrize(
    ("bin_bytes", "bins"),
    [(2**30, 1), (200, 1), (199, 2), (100, 2), (15, 14), (13, 16), (1, 200)],
)
def test_a_tensor_in_several_bins_is_one_tensor(bin_bytes, bins, monkeypatch):
    monkeypatch.setattr(tensors, "BIN_BYTES", bin_bytes)
    array = random_array("float64", (5, 5))
    body = decode(b"".join(msgpack_parts(array, strided=False)), Media.MSGPACK)
    assert (len(body["data"]) if isinstance(body["data"], list) else 1) == bins
    assert bits(Tensor.model_validate(body).to_array("/inputs/0")) == bits(array)
    assert [bits(again) for again in read(answer([array], bin_bytes=bin_bytes))] == [bits(array)]


def test_a_tensor_in_thousands_of_tiny_bins_is_refused():
    array = random_array("uint8", (70_000,))
    assert [bits(again) for again in read(answer([array], bin_bytes=70), [4096])] == [bits(array)]
    with pytest.raises(tensorcast.InvalidAnswer, match="a tensor of 70000 bytes is in 70000 pieces"):
        read(answer([array], bin_bytes=1), [4096])


def test_fields_that_are_not_known_are_passed_over():
    later = HONEST.replace(b"\x91\x83", b"\x91\x84") + b"\xa4more\x01"
    assert [bits(again) for again in read(later, [4096])] == [bits(again) for again in read(HONEST, [4096])]
    assert read(msgpack.packb({"outputs": [], "more": 1}), [4096]) == []


@settings(max_examples=300)
@given(
    shapes=st.lists(st.lists(st.integers(0, 4), max_size=3), max_size=3),
    name=st.sampled_from(["bool", "bfloat16", "float32", "complex128", "str<3>"]),
    strided=st.booleans(),
    bin_bytes=st.sampled_from([3, 8, 50, 2**30]),
    sizes=st.lists(st.sampled_from([0, 1, 2, 3, 5, 8, 40, 1000]), min_size=1, max_size=8).filter(any),
)
def test_an_answer_is_read_whatever_pieces_it_comes_in(shapes, name, strided, bin_bytes, sizes):
    arrays = [np.broadcast_to(random_array(name, shape), (2, *shape)) for shape in shapes]
    body = answer(arrays, strided, bin_bytes)
    fresh = read(body, sizes)
    assert [(array.dtype, array.shape) for array in fresh] == [(array.dtype, array.shape) for array in arrays]
    assert list(map(bits, fresh)) == list(map(bits, arrays))
    assert all(array.flags.writeable != strided for array in fresh)
    if not strided:
        out = [np.zeros(array.shape, array.dtype) for array in arrays]
        filled = read(body, sizes, out)
        assert all(one is other for one, other in zip(filled, out, strict=True))
        assert list(map(bits, out)) == list(map(bits, arrays))


@pytest.mark.parametrize("nbytes", [0, 8, 255, 256, 65_536])
def test_bins_of_every_header_are_read(nbytes):
    body = msgpack.packb({"outputs": [{"dtype": "uint8", "shape": [nbytes], "data": bytes(nbytes)}] * 2})
    for size in (1, 7, 2**20):
        assert [array.shape for array in read(body, [size])] == [(nbytes,)] * 2


@pytest.mark.parametrize(
    "out",
    [
        pytest.param([], id="none"),
        pytest.param([np.zeros(2, np.float32)] * 2, id="too many"),
        pytest.param([np.zeros(3, np.float32)], id="another shape"),
        pytest.param([np.zeros((1, 2), np.float32)], id="another rank"),
        pytest.param([np.zeros(2, np.int32)], id="another dtype"),
        pytest.param([np.zeros(2, ">f4")], id="big-endian"),
    ],
)
def test_an_out_that_does_not_fit_is_the_callers_fault(out):
    with pytest.raises(ValueError, match=r"^out "):
        read(answer([np.zeros(2, np.float32)]), out=out)


def lie(**fields):
    """An answer of one tensor that contradicts itself. The fields come in the order of the wire."""
    tensor = {key: value for key, value in (FLOATS | fields).items() if value is not ...}
    tensor["data"] = tensor.pop("data", None)
    return msgpack.packb({"outputs": [tensor]})


HONEST = lie()
OPENED = b"\x81\xa7outputs\x91\x83\xa5shape"
LIES = {
    "nothing": b"",
    "not a map": msgpack.packb(["outputs"]),
    "a number": b"\x05",
    "an empty map": b"\x80",
    "another field": msgpack.packb({"gradients": []}),
    "a problem": msgpack.packb({"code": "internal"}),
    "no list": msgpack.packb({"outputs": 5}),
    "tensors that are no maps": msgpack.packb({"outputs": [5]}),
    "0xc1": b"\xc1",
    "JSON": b'{"outputs":[]}',
    "no data": msgpack.packb({"outputs": [{"dtype": "float32", "shape": [2]}]}),
    "an empty tensor": msgpack.packb({"outputs": [{}]}),
    "data first": msgpack.packb({"outputs": [{"data": EIGHT, "dtype": "float32", "shape": [2]}]}),
    "no dtype": lie(dtype=...),
    "no shape": lie(shape=...),
    "a dtype that is no string": lie(dtype=5),
    "an unknown dtype": lie(dtype="object"),
    "a datetime of no time": lie(dtype="datetime64[0s]", shape=[1]),
    "a shape that is no list": lie(shape=2),
    "a negative size": lie(shape=[-2]),
    "a bool size": lie(shape=[True, 2]),
    "a float size": lie(shape=[2.0]),
    "rank 65": lie(shape=[1] * 64 + [2]),
    "too few strides": lie(strides=[]),
    "a negative stride": lie(strides=[-1]),
    "a reach past the data": lie(strides=[2]),
    "short data": lie(data=EIGHT[1:]),
    "long data": lie(data=EIGHT + b"\0"),
    "short bins": lie(data=[EIGHT[:4], EIGHT[:3]]),
    "long bins": lie(data=[EIGHT[:4], EIGHT[:5]]),
    "no bins": lie(data=[]),
    "bins in bins": lie(data=[EIGHT[:4], [EIGHT[:4]]]),
    "a string as data": lie(data="abcdefgh"),
    "a list of numbers as data": lie(data=[1.0, 2.0]),
    "no value as data": lie(data=None),
    "a bool byte of 2": lie(dtype="bool", data=b"\1\2"),
    "claims more than was announced": lie(shape=[10**15]),
    "claims more than 2^64 bytes": lie(shape=[2**63, 2**63]),
    "claims a size beyond 2^63": lie(shape=[0, 2**64 - 1], data=b""),
    "a list as a key": b"\x81\xa7outputs\x91\x81\x90\x01",
    "an extension": msgpack.packb({"outputs": [{"dtype": msgpack.ExtType(5, b"")}]}),
    "a timestamp of too many nanoseconds": OPENED + b"\xc7\x0c\xff\xff\xff\xff\xff" + EIGHT,
    "a shape of 2^31 sizes": OPENED + b"\xdd\x7f\xff\xff\xff",
    "shapes announced inside shapes": OPENED + b"\xdd\x7f\xff\xff\xff" * 100,
    "a string of 2 GiB": OPENED + b"\xdb\x7f\xff\xff\xff",
    "lists nested too deep": OPENED + b"\x91" * 5000,
    "bad UTF-8": b"\x81\xa7outputs\x91\x81\xa1\xff\x01",
    "2^32 tensors": b"\x81\xa7outputs\xdd\xff\xff\xff\xff",
    "a tensor too many": HONEST.replace(b"\x91\x83", b"\x92\x83"),
    "bytes after it": HONEST + b"\x00",
    "a second answer": HONEST + HONEST,
}
LIES |= {f"cut to {size} bytes": HONEST[:size] for size in range(1, len(HONEST))}


def test_an_honest_answer_is_read():
    assert read(HONEST)[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("size", [1, 2**30], ids=["byte by byte", "whole"])
@pytest.mark.parametrize("fault", LIES)
def test_a_lie_is_an_invalid_answer_and_takes_no_memory(fault, size):
    tracemalloc.start()
    try:
        with pytest.raises(tensorcast.InvalidAnswer):
            read(LIES[fault], [size])
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_a_claim_that_no_memory_holds_is_an_invalid_answer_even_where_no_length_was_announced():
    reader = TensorReader({"outputs": None}, None, itemgetter("outputs"))
    with pytest.raises(tensorcast.InvalidAnswer):
        reader.feed(lie(shape=[2**50]))


def test_an_answer_that_was_invalid_stays_invalid():
    reader = TensorReader({"outputs": None}, 100, itemgetter("outputs"))
    for _ in range(2):
        with pytest.raises(tensorcast.InvalidAnswer):
            reader.feed(b"\xc1")
    with pytest.raises(tensorcast.InvalidAnswer):
        reader.finish()


def reads(body, sizes):
    """Whether a body is read at all. Any other exception than InvalidAnswer goes through."""
    try:
        read(body, sizes)
    except tensorcast.InvalidAnswer:
        return False
    return True


@settings(max_examples=500)
@given(st.binary(max_size=60), st.booleans(), st.sampled_from([1, 1000]))
def test_random_bytes_are_an_invalid_answer(noise, opened, size):
    assert not reads((OPENED if opened else b"") + noise, [size])


@settings(max_examples=500)
@given(st.data(), st.sampled_from([1, 7, 1000]))
def test_a_damaged_answer_is_read_or_invalid(data, size):
    body = bytearray(answer([np.arange(3.0), np.zeros((2, 2), bool)], strided=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert reads(bytes(body), [size]) in (True, False)
