"""TensorReader reads responses in any chunks, and rejects invalid ones."""

import tracemalloc
from operator import itemgetter

import msgpack
import numpy as np
import pytest
from arrays import EIGHT, FLOATS, bits, random_array
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

import axiscast
from axiscast.client.tensor_reader import TensorReader
from axiscast.wire import tensors
from axiscast.wire.codec import Encoding, decode
from axiscast.wire.tensors import Tensor, msgpack_parts


def answer(arrays, strided=False, bin_bytes=2**30):
    """Return the bytes of a response, as the service sends them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensors, "BIN_BYTES", bin_bytes)
        parts = [part for array in arrays for part in msgpack_parts(array, strided)]
    return b"\x81\xb0broadcast_inputs" + msgpack.Packer().pack_array_header(len(arrays)) + b"".join(parts)


def read(body, sizes=(2**30,), out=None, length=None):
    """Return the arrays that are read from a body. It arrives in chunks of these sizes, which repeat."""
    reader = TensorReader(
        {"broadcast_inputs": None}, len(body) if length is None else length, itemgetter("broadcast_inputs"), out
    )
    start, turn = 0, 0
    while start < len(body):
        size = sizes[turn % len(sizes)]
        reader.feed(body[start : start + size])
        start, turn = start + size, turn + 1
    return reader.finish()


@pytest.mark.parametrize(
    ("bin_bytes", "bins"), [(2**30, 1), (200, 1), (199, 2), (100, 2), (15, 14), (13, 16), (1, 200)]
)
def test_a_tensor_in_several_bins_is_one_tensor(bin_bytes, bins, monkeypatch):
    monkeypatch.setattr(tensors, "BIN_BYTES", bin_bytes)
    array = random_array("float64", (5, 5))
    body = decode(b"".join(msgpack_parts(array, strided=False)), Encoding.MSGPACK)
    assert (len(body["data"]) if isinstance(body["data"], list) else 1) == bins
    assert bits(Tensor.model_validate(body).to_array("/inputs/0")) == bits(array)
    assert [bits(again) for again in read(answer([array], bin_bytes=bin_bytes))] == [bits(array)]


def test_a_tensor_in_thousands_of_tiny_bins_is_rejected():
    array = random_array("uint8", (70_000,))
    assert [bits(again) for again in read(answer([array], bin_bytes=70), [4096])] == [bits(array)]
    with pytest.raises(axiscast.InvalidAnswer, match="a tensor of 70000 bytes is in 70000 pieces"):
        read(answer([array], bin_bytes=1), [4096])


def test_unknown_fields_are_skipped():
    later = VALID.replace(b"\x91\x83", b"\x91\x84") + b"\xa4more\x01"
    assert [bits(again) for again in read(later, [4096])] == [bits(again) for again in read(VALID, [4096])]
    assert read(msgpack.packb({"broadcast_inputs": [], "more": 1}), [4096]) == []


@settings(max_examples=300)
@given(
    shapes=st.lists(st.lists(st.integers(0, 4), max_size=3), max_size=3),
    name=st.sampled_from(["bool", "bfloat16", "float32", "complex128", "str<3>"]),
    strided=st.booleans(),
    bin_bytes=st.sampled_from([3, 8, 50, 2**30]),
    sizes=st.lists(st.sampled_from([0, 1, 2, 3, 5, 8, 40, 1000]), min_size=1, max_size=8).filter(any),
)
def test_a_response_in_any_chunks_is_read(shapes, name, strided, bin_bytes, sizes):
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


@cases("nbytes", [0, 8, 255, 256, 65_536])
def test_bins_with_each_header_are_read(nbytes):
    body = msgpack.packb({"broadcast_inputs": [{"dtype": "uint8", "shape": [nbytes], "data": bytes(nbytes)}] * 2})
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
def test_an_out_that_does_not_fit_raises_value_error(out):
    with pytest.raises(ValueError, match=r"^out "):
        read(answer([np.zeros(2, np.float32)]), out=out)


def inconsistent(**fields):
    """Return an inconsistent response of one tensor. Its fields have the usual order."""
    tensor = {key: value for key, value in (FLOATS | fields).items() if value is not ...}
    tensor["data"] = tensor.pop("data", None)
    return msgpack.packb({"broadcast_inputs": [tensor]})


VALID = inconsistent()
OPENED = b"\x81\xb0broadcast_inputs\x91\x83\xa5shape"
INVALID = {
    "nothing": b"",
    "not a map": msgpack.packb(["broadcast_inputs"]),
    "a number": b"\x05",
    "an empty map": b"\x80",
    "another field": msgpack.packb({"gradients": []}),
    "a problem": msgpack.packb({"code": "internal"}),
    "no list": msgpack.packb({"broadcast_inputs": 5}),
    "tensors that are no maps": msgpack.packb({"broadcast_inputs": [5]}),
    "0xc1": b"\xc1",
    "JSON": b'{"broadcast_inputs":[]}',
    "no data": msgpack.packb({"broadcast_inputs": [{"dtype": "float32", "shape": [2]}]}),
    "an empty tensor": msgpack.packb({"broadcast_inputs": [{}]}),
    "data first": msgpack.packb({"broadcast_inputs": [{"data": EIGHT, "dtype": "float32", "shape": [2]}]}),
    "no dtype": inconsistent(dtype=...),
    "no shape": inconsistent(shape=...),
    "a dtype that is not a string": inconsistent(dtype=5),
    "an unknown dtype": inconsistent(dtype="object"),
    "a datetime of no time": inconsistent(dtype="datetime64[0s]", shape=[1]),
    "a shape that is not a list": inconsistent(shape=2),
    "a negative size": inconsistent(shape=[-2]),
    "a bool size": inconsistent(shape=[True, 2]),
    "a float size": inconsistent(shape=[2.0]),
    "rank 65": inconsistent(shape=[1] * 64 + [2]),
    "too few strides": inconsistent(strides=[]),
    "a negative stride": inconsistent(strides=[-1]),
    "a reach past the data": inconsistent(strides=[2]),
    "short data": inconsistent(data=EIGHT[1:]),
    "long data": inconsistent(data=EIGHT + b"\0"),
    "short bins": inconsistent(data=[EIGHT[:4], EIGHT[:3]]),
    "long bins": inconsistent(data=[EIGHT[:4], EIGHT[:5]]),
    "no bins": inconsistent(data=[]),
    "bins in bins": inconsistent(data=[EIGHT[:4], [EIGHT[:4]]]),
    "a string as data": inconsistent(data="abcdefgh"),
    "a list of numbers as data": inconsistent(data=[1.0, 2.0]),
    "no value as data": inconsistent(data=None),
    "a bool byte of 2": inconsistent(dtype="bool", data=b"\1\2"),
    "claims more than was announced": inconsistent(shape=[10**15]),
    "claims more than 2^64 bytes": inconsistent(shape=[2**63, 2**63]),
    "claims a size beyond 2^63": inconsistent(shape=[0, 2**64 - 1], data=b""),
    "a list as a key": b"\x81\xb0broadcast_inputs\x91\x81\x90\x01",
    "an extension": msgpack.packb({"broadcast_inputs": [{"dtype": msgpack.ExtType(5, b"")}]}),
    "a timestamp of too many nanoseconds": OPENED + b"\xc7\x0c\xff\xff\xff\xff\xff" + EIGHT,
    "a shape of 2^31 sizes": OPENED + b"\xdd\x7f\xff\xff\xff",
    "shapes announced inside shapes": OPENED + b"\xdd\x7f\xff\xff\xff" * 100,
    "a string of 2 GiB": OPENED + b"\xdb\x7f\xff\xff\xff",
    "lists nested too deep": OPENED + b"\x91" * 5000,
    "bad UTF-8": b"\x81\xb0broadcast_inputs\x91\x81\xa1\xff\x01",
    "2^32 tensors": b"\x81\xb0broadcast_inputs\xdd\xff\xff\xff\xff",
    "a tensor too many": VALID.replace(b"\x91\x83", b"\x92\x83"),
    "bytes after it": VALID + b"\x00",
    "a second answer": VALID + VALID,
}
INVALID |= {f"cut to {size} bytes": VALID[:size] for size in range(1, len(VALID))}


def test_a_valid_response_is_read():
    assert read(VALID)[0].tolist() == [0.0, 0.0]


@cases("size", [1, 2**30], ids=["byte by byte", "whole"])
@cases("fault", INVALID)
def test_an_inconsistent_response_raises_invalid_answer_and_uses_no_memory(fault, size):
    tracemalloc.start()
    try:
        with pytest.raises(axiscast.InvalidAnswer):
            read(INVALID[fault], [size])
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_a_tensor_beyond_the_memory_raises_invalid_answer_without_an_announced_length():
    reader = TensorReader({"broadcast_inputs": None}, None, itemgetter("broadcast_inputs"))
    with pytest.raises(axiscast.InvalidAnswer):
        reader.feed(inconsistent(shape=[2**50]))


def test_an_invalid_response_stays_invalid():
    reader = TensorReader({"broadcast_inputs": None}, 100, itemgetter("broadcast_inputs"))
    for _ in range(2):
        with pytest.raises(axiscast.InvalidAnswer):
            reader.feed(b"\xc1")
    with pytest.raises(axiscast.InvalidAnswer):
        reader.finish()


def reads(body, sizes):
    """Return whether a body is accepted. Exceptions other than InvalidAnswer are raised."""
    try:
        read(body, sizes)
    except axiscast.InvalidAnswer:
        return False
    return True


@settings(max_examples=500)
@given(st.binary(max_size=60), st.booleans(), st.sampled_from([1, 1000]))
def test_random_bytes_raise_invalid_answer(noise, opened, size):
    assert not reads((OPENED if opened else b"") + noise, [size])


@settings(max_examples=500)
@given(st.data(), st.sampled_from([1, 7, 1000]))
def test_a_damaged_response_is_read_or_raises_invalid_answer(data, size):
    body = bytearray(answer([np.arange(3.0), np.zeros((2, 2), bool)], strided=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert reads(bytes(body), [size]) in (True, False)
