"""Random arrays of all dtypes and memory layouts, and their conversion to and from bodies."""

import ml_dtypes
import numpy as np

from axiscast.wire.codec import Encoding, decode
from axiscast.wire.tensors import Tensor, json_parts, msgpack_parts

NUMBERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMBERS += ["float16", "float32", "float64", "complex64", "complex128"]
SMALL = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz"]
SMALL += ["float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
SMALL += ["int2", "uint2", "int4", "uint4"]
TIMES = [f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in ("Y", "D", "25s", "ms", "ns", "as")]
STRINGS = ["bytes<1>", "bytes<5>", "bytes<16>", "str<1>", "str<3>"]
NAMES = [*NUMBERS, *SMALL, *TIMES, *STRINGS]
"""The names of all dtypes, with examples of units and lengths."""

BITS = {"bool": 1, "int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4} | {
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
}
"""The dtypes whose elements use only some bits of a byte."""


def dtype_of(name):
    """Return the dtype with a name, without the code of the library."""
    if name in SMALL:
        return np.dtype(getattr(ml_dtypes, name))
    kind, _, size = name.rstrip(">").partition("<")
    return np.dtype({"bytes": "S", "str": "<U"}[kind] + size if size else name)


def random_array(name, shape):
    """Return random valid elements of a dtype, including NaNs with payloads."""
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
    return Tensor.model_validate(decode(body, Encoding.MSGPACK)).to_array("/inputs/0")


def through_json(array, strided, as_base64):
    body = b"".join(json_parts(array, strided, as_base64))
    return received(body.decode())


def received(body):
    """Return the array of a tensor in JSON."""
    return Tensor.model_validate(decode(body.encode(), Encoding.JSON)).to_array("/inputs/0")


EIGHT = b"\0" * 8
FLOATS = {"dtype": "float32", "shape": [2], "data": EIGHT}
