"""Tests of tensors as JSON lists."""

import json
import math
from itertools import product

import ml_dtypes
import numpy as np
from arrays import LAYOUTS, NAMES, bits, random_array, received, through_json
from cases import cases

from axiscast.wire.tensors import json_parts


def values(array):
    """Return the bits of an array, with the same NaN for all NaNs."""
    if array.dtype.kind == "c":
        array = np.ascontiguousarray(array).view(f"<f{array.itemsize // 2}")
    patterns = np.frombuffer(array.tobytes(), f"V{array.itemsize}").tolist()
    if "float" not in array.dtype.name:
        return patterns
    with np.errstate(invalid="ignore"):  # of signalling NaNs
        nans = np.isnan(array.astype(float)).ravel().tolist()
    return ["NaN" if nan else pattern for nan, pattern in zip(nans, patterns, strict=True)]


def written(array):
    """Return the elements of an array as they are written in JSON."""
    return json.loads(b"".join(json_parts(array, strided=False, as_base64=False)))["data"]


@cases("strided", [False, True], ids=["dense", "strided"])
@cases("layout", ["C", "one axis replicated", "size 0", "scalar"])
@cases("name", [name for name in NAMES if name != "datetime64[25s]"])
def test_json_lists_preserve_the_values_of_every_dtype(name, layout, strided):
    array = LAYOUTS[layout](random_array(name, (4, 5, 6)))
    again = through_json(array, strided, as_base64=False)
    assert (again.dtype, again.shape, values(again)) == (array.dtype, array.shape, values(array))


@cases("count", [-(2**63) + 1, -(10**11) - 7, 0, 10**11 + 7, 2**63 - 1])
@cases("unit", ["W", "10D", "25s", "ns"])
def test_json_preserves_dates_of_any_year(unit, count):
    array = np.array([count]).view(f"M8[{unit}]")
    assert through_json(array, strided=False, as_base64=False).view(np.int64).tolist() == [count]


@cases(
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
def test_an_array_is_written_as_this_json_list(array, data):
    assert repr(written(array)) == repr(data)  # -0.0 is not 0.0, and 1 is not True


@cases(
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
def test_a_json_tensor_is_read_as_this_array(tensor, array):
    read = received(tensor)
    assert (read.dtype, read.shape, values(read)) == (array.dtype, array.shape, values(array))


PLAIN = [True, False, 0, 1, -1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 0.5, -0.0, 1e300]


@cases(
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
def test_an_omitted_dtype_is_inferred_as_in_numpy(data, name, elements):
    shape = list(np.shape(data))
    read = received(json.dumps({"shape": shape, "data": data}))
    assert (read.dtype, repr(read.tolist())) == (np.dtype(name), repr(elements))


def test_an_omitted_dtype_equals_numpys_dtype_for_any_two_or_three_values():
    for values in [*product(PLAIN, repeat=2), *product(PLAIN, repeat=3)]:
        read, numpys = received(json.dumps({"shape": [len(values)], "data": values})), np.array(values)
        assert (read.dtype, bits(read)) == (numpys.dtype, bits(numpys)), values


def test_complex_numbers_of_the_highest_rank_are_written():
    array = np.array([1 + 2j, 3 - 4j]).reshape([1] * 63 + [2])
    nested = [[1.0, 2.0], [3.0, -4.0]]
    for _ in range(63):
        nested = [nested]
    assert written(array) == nested
    assert written(np.empty([0] + [1] * 63, np.complex64)) == []


@cases(
    ("array", "text"),
    [
        (np.float32([[1.5], [2]]), "[[1.5,1.5,1.5],[2.0,2.0,2.0]]"),
        (np.float32([[1, 2, 3]]), "[[1.0,2.0,3.0],[1.0,2.0,3.0]]"),
        (np.array(["a,b"]), '[["a,b","a,b","a,b"],["a,b","a,b","a,b"]]'),
        (np.complex64([1j]), "[[[0.0,1.0],[0.0,1.0],[0.0,1.0]],[[0.0,1.0],[0.0,1.0],[0.0,1.0]]]"),
        (np.array([[7], [8]]), "[[7,7,7],[8,8,8]]"),
        (np.array([["2020"]], "M8[Y]"), '[["2020","2020","2020"],["2020","2020","2020"]]'),
    ],
    ids=["columns", "rows", "text with commas", "complex", "integers", "dates"],
)
def test_repeated_elements_are_written_at_each_place(array, text):
    view = np.broadcast_to(array, (2, 3))
    assert b"".join(json_parts(view, strided=False, as_base64=False)).decode().partition('"data":')[2] == text + "}"


@cases("order", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)])
@cases("shape", [(2, 3, 4, 5), (2, 1, 4, 1), (1, 3, 1, 5), (1, 1, 1, 1), (2, 0, 4, 1)], ids=str)
def test_any_mix_of_repeated_and_transposed_axes_is_nested_like_the_shape(shape, order):
    elements = np.arange(np.prod(shape), dtype=np.int16).reshape(shape)
    view = np.broadcast_to(elements, [size if size != 1 else 3 for size in shape]).transpose(order)[:, ::-1]
    assert written(view) == view.tolist()


def test_a_float_is_written_as_the_shortest_decimal_that_numpy_prints():
    rng = np.random.default_rng(5)
    bits32 = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    usual = (rng.random(20_000) * 10.0 ** rng.integers(-5, 9, 20_000)).astype(np.float32)
    bounds = np.float32([1e-4, 9.999999e-5, 2**24 - 1, 2**24, 2**24 + 2, 1e16, 9.99999e15, 0.0, -0.0, 2097152.2, 0.3])
    powers = (2.0 ** np.arange(-149, 128)).astype(np.float32)
    for array in (bits32, usual, bounds, -bounds, powers, np.arange(2**16, dtype=np.uint16).view(np.float16)):
        finite = array[np.isfinite(array)]
        text = b"".join(json_parts(finite, strided=False, as_base64=False)).decode().partition('"data":')[2]
        expected = [float(str(value)) for value in finite]
        assert list(map(repr, json.loads(text.removesuffix("}")))) == list(map(repr, expected))
        by_python = json.dumps(expected, separators=(",", ":")) + "}"
        assert len(text) <= len(by_python) + 2 * len(expected)  # exponents may differ, as in 1e-7 and 0.00001
