"""Tests of tensors of all dtypes and layouts, compared by bits."""

import json

import numpy as np
from arrays import LAYOUTS, NAMES, SMALL, bits, dtype_of, random_array, through_json, through_msgpack
from cases import cases

from axiscast.wire.codec import Encoding, decode
from axiscast.wire.tensors import Tensor, json_parts, msgpack_parts


@cases("strided", [False, True], ids=["dense", "strided"])
@cases("layout", LAYOUTS)
@cases("name", NAMES)
def test_every_dtype_and_layout_is_preserved_exactly(name, layout, strided):
    array = LAYOUTS[layout](random_array(name, (4, 5, 6)))
    for again in (through_msgpack(array, strided), through_json(array, strided, as_base64=True)):
        assert (again.dtype, again.shape, bits(again)) == (array.dtype, array.shape, bits(array))
        assert not again.flags.writeable


@cases("strided", [False, True], ids=["dense", "strided"])
@cases("name", [name for name in NAMES if name not in SMALL and dtype_of(name).str[0] == "<"])
def test_big_endian_arrays_are_sent_little_endian(name, strided):
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
    body = decode(b"".join(msgpack_parts(array, strided=False)), Encoding.MSGPACK)
    assert np.shares_memory(Tensor.model_validate(body).to_array("/x"), np.frombuffer(body["data"]))


@cases("dtype", ["<f8", ">f8"])
def test_a_strided_tensor_of_a_quadrillion_elements_is_small(dtype):
    array = np.broadcast_to(np.arange(3, dtype=dtype), (10**15, 3))
    assert sum(map(len, msgpack_parts(array, strided=True))) < 100
    again = through_msgpack(array, strided=True)
    assert (again.shape, again.strides) == (array.shape, (0, 8))
    assert again[10**15 - 1].tolist() == [0.0, 1.0, 2.0]
