"""Tests of the names of dtypes."""

import base64
import json
import re
import sys

import msgpack
import numpy as np
import pytest
from arrays import NAMES, dtype_of
from cases import cases

import axiscast
from axiscast.wire.dtypes import UnknownDtype, dtype_from_name, dtype_name
from axiscast.wire.tensors import json_parts, msgpack_parts


@cases("name", NAMES)
def test_a_name_and_its_dtype_are_a_pair(name):
    assert dtype_from_name(name) == dtype_of(name)
    assert dtype_name(dtype_of(name)) == name
    assert dtype_name(dtype_of(name).newbyteorder(">")) == name


UNKNOWN = ["object", "O", "float128", "float", "f4", "<f4", ">f16", "Float32", "", "int3", "float8", "float32\n"]
UNKNOWN += ["datetime64", "datetime64[]", "datetime64[x]", "datetime64[0s]", "datetime64[99999999999s]"]
UNKNOWN += ["timedelta64[-1s]", "str", "str<>", "str<0>", "str<-1>", "str<262145>", "str<2147483648>", "str<٣>"]
UNKNOWN += ["bytes<0>", "bytes<1048577>", "bytes<9999999999>", "\ud800"]


@cases("name", UNKNOWN, ids=ascii)
def test_a_name_of_no_dtype_is_refused_with_examples(name):
    with pytest.raises(UnknownDtype, match=r"[Ww]rite a name such as float32, int64|must have 1 to 1048576 bytes"):
        dtype_from_name(name)


BIG_ENDIAN = {
    ">f4": '.astype("<f4"), then write float32',
    ">i8": '.astype("<i8"), then write int64',
    ">u2": '.astype("<u2"), then write uint16',
    ">c16": '.astype("<c16"), then write complex128',
    ">e": '.astype("<f2"), then write float16',
    ">U8": '.astype("<U8"), then write str<8>',
    ">M8[us]": '.astype("<M8[us]"), then write datetime64[us]',
    "dtype('>f4')": '.astype("<f4"), then write float32',
    ">float32": '.astype("<f4"), then write float32',
    "!f4": '.astype("<f4"), then write float32',
    "float32be": '.astype("<f4"), then write float32',
    "big-endian float32": '.astype("<f4"), then write float32',
    ">bfloat16": ".byteswap(), then write bfloat16",
}
SAME_BYTES = {"<f4": "float32", "=f4": "float32", "<U8": "str<8>", "|S4": "bytes<4>", "|b1": "bool", ">i1": "int8"}
SAME_BYTES |= {"<M8[ns]": "datetime64[ns]", "=i8": "int64", "numpy.float32": "float32", ">b1": "bool"}


@cases(("name", "advice"), BIG_ENDIAN.items())
def test_a_big_endian_dtype_is_converted_and_not_renamed(name, advice):
    with pytest.raises(UnknownDtype) as refused:
        dtype_from_name(name)
    assert "the bytes of a tensor are little-endian" in str(refused.value)
    assert str(refused.value).endswith(advice)
    assert "did you mean" not in str(refused.value)


@cases(("name", "meant"), SAME_BYTES.items())
def test_the_suggested_name_keeps_the_bytes(name, meant):
    with pytest.raises(UnknownDtype, match=f"did you mean {re.escape(meant)}[?]"):
        dtype_from_name(name)


def test_a_native_dtype_is_big_endian_on_a_big_endian_machine(monkeypatch):
    monkeypatch.setattr(sys, "byteorder", "big")
    with pytest.raises(UnknownDtype, match="the dtype is big-endian"):
        dtype_from_name("=f4")


@cases("name", ["f4,i4", "[('a', '>f4')]", "{'names': ['a']}", "V8", "|V8", "void", "void8", "record"])
def test_a_structured_dtype_is_sent_as_its_fields(name):
    with pytest.raises(UnknownDtype, match=r'send each field of a structured array, such as x\["a"\], as a tensor'):
        dtype_from_name(name)


@cases("encode", [json.dumps, msgpack.packb])
@cases("data", ["data", "base64"])
def test_the_service_refuses_big_endian_bytes(http, encode, data):
    raw = np.array([0, 1, 2], ">f4").tobytes()
    value = [0, 1, 2] if data == "data" else base64.b64encode(raw).decode()
    if data == "data" and encode is msgpack.packb:
        value = raw
    body = {
        "op": {"name": "numpy.broadcast_to", "shape": [2, 3]},
        "inputs": [{"dtype": ">f4", "shape": [3], data: value}],
    }
    kind = "application/json" if encode is json.dumps else "application/vnd.msgpack"
    headers = {"Content-Type": kind, "Accept": "application/json"}
    problem = http.post("/v1/broadcast", content=encode(body), headers=headers).json()
    assert (problem["code"], problem["pointer"]) == ("invalid-tensor", "/inputs/0/dtype")
    assert problem["detail"].endswith('convert the array with .astype("<f4"), then write float32')


@cases("code", [">f4", ">i8", ">c8", ">U2", ">M8[ns]"])
def test_big_endian_arrays_keep_their_values(client, code):
    array = np.array([0, 1, 2]).astype(code)
    for way in (axiscast, client):
        (result,) = way.broadcast("numpy.broadcast_to", array, shape=(2, 3))
        assert result.tolist() == [array.tolist()] * 2


def test_an_array_of_records_is_sent_as_its_fields(client):
    array = np.zeros(3, [("a", ">f4"), ("b", "i4")])
    for way in (axiscast, client):
        with pytest.raises(TypeError, match=r'such as x\["a"\], as a tensor'):
            way.broadcast("numpy.broadcast_to", array, shape=(2, 3))
        with pytest.raises(TypeError, match=r'such as x\["a"\], as a tensor'):
            way.backprop("numpy.broadcast_to", [(3,)], array, shape=(3,))


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.array([None]), id="objects"),
        pytest.param(np.zeros(2, "V8"), id="void"),
        pytest.param(np.zeros(2, "M8"), id="datetimes without a unit"),
        pytest.param(np.array(["a"], np.dtypes.StringDType()), id="strings of any length"),
    ],
)
def test_an_array_that_the_wire_does_not_hold_is_not_sent(array):
    with pytest.raises(UnknownDtype, match="is not supported: convert the tensor to a dtype such as float32, int64"):
        b"".join(msgpack_parts(array, strided=False))
    with pytest.raises(UnknownDtype, match="is not supported: convert the tensor to a dtype such as float32, int64"):
        b"".join(json_parts(array, strided=False, as_base64=False))
