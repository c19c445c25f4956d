"""dtypes: names on the wire, NumPy's dtypes, and which bit patterns each has."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from .wording import close_matches, did_you_mean

NUMPY_NAMES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
ML_NAMES = [
    "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz",
    "float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
    "int2", "uint2", "int4", "uint4",
]  # fmt: skip
"""The dtypes of ml_dtypes."""
_NAMES = [*NUMPY_NAMES, *ML_NAMES]
_LARGEST_BYTE = {"bool": 1} | dict.fromkeys(["int2", "uint2"], 3)
_LARGEST_BYTE |= dict.fromkeys(["int4", "uint4", "float4_e2m1fn"], 15)
_LARGEST_BYTE |= dict.fromkeys(["float6_e2m3fn", "float6_e3m2fn"], 63)
"""Of dtypes that do not fill their byte: the largest that an element is."""
_SIZED = re.compile(r"(bytes|str)<([0-9]{1,7})>")
_TIMED = re.compile(r"(datetime64|timedelta64)\[(|[1-9][0-9]{0,8})(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]")
MAX_ITEM_BYTES = 2**20  # a longer string is a document, not an element

DTYPE_EXAMPLES = "float32, int64, bool, bfloat16, complex64, datetime64[ns], str<8>"


class UnknownDtype(ValueError):
    """No dtype has this name."""


@lru_cache(256)
def dtype_from_name(name: str) -> np.dtype[Any]:
    """The little-endian NumPy dtype of a name on the wire. Raises UnknownDtype, with what would be right."""
    if name in NUMPY_NAMES:
        return np.dtype(name).newbyteorder("<")
    if name in ML_NAMES:
        import ml_dtypes  # imported here: it costs 60 ms, and few requests need it

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype
    if match := _SIZED.fullmatch(name):
        kind, size = match[1], int(match[2])
        dtype = np.dtype(f"S{size}" if kind == "bytes" else f"<U{size}")
        if 0 < dtype.itemsize <= MAX_ITEM_BYTES:
            return dtype
        raise UnknownDtype(f"the dtype {kind}<N> takes 1 to {MAX_ITEM_BYTES} bytes an element")
    if _TIMED.fullmatch(name):
        try:
            return np.dtype(name).newbyteorder("<")
        except (TypeError, ValueError, OverflowError):
            pass
    close = did_you_mean(_meant(name))
    raise UnknownDtype(f"there is no such dtype{f'{close} Write' if close else '; write'} one as {DTYPE_EXAMPLES}")


def _meant(name: str) -> list[str]:
    """The names on the wire of what others call so, or those that are close to it."""
    name = name.rpartition(".")[2]  # torch.float32
    if name == "float":  # Python's and NumPy's, and torch's
        return ["float32", "float64"]
    if name in _PARTIAL:
        return [_PARTIAL[name]]
    found: list[object] = [getattr(np.sctypeDict.get(name.lower()), "__name__", None)]
    if match := _SHORT.fullmatch(name.lower()):  # NumPy's own have bytes, and others' bits
        kind, number = match[1], int(match[2])
        found += [f"{_KINDS[kind]}{bits}" for bits in (8 * number, number)]
    return [close for close in dict.fromkeys(found) if close in _NAMES] or close_matches(name, _NAMES)


_PARTIAL = {"string": "str<8>", "str": "str<8>", "bytes": "bytes<8>"}
_PARTIAL |= {kind: f"{kind}[ns]" for kind in ("datetime64", "timedelta64")}
"""Names that lack a length or a unit, each with an example."""
_KINDS = {"f": "float", "fp": "float", "bf": "bfloat", "i": "int", "s": "int", "u": "uint", "c": "complex"}
_SHORT = re.compile(f"[<>=|]?({'|'.join(_KINDS)})([0-9]{{1,3}})")


@lru_cache(256)
def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name on the wire of a NumPy dtype, whatever its byte order. Raises UnknownDtype for objects and structs."""
    if dtype.kind == "S":
        return f"bytes<{dtype.itemsize}>"
    if dtype.kind == "U":
        return f"str<{dtype.itemsize // 4}>"
    name = dtype.name
    if name in NUMPY_NAMES or name in ML_NAMES or _TIMED.fullmatch(name):
        return name
    raise UnknownDtype(f"a tensor of dtype {dtype} can't be sent; convert it to one of {DTYPE_EXAMPLES}")


@lru_cache(256)
def storage_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which elements move without being looked at: unsigned integers or void of the same width."""
    return np.dtype(f"<u{dtype.itemsize}" if dtype.itemsize in (1, 2, 4, 8) else f"V{dtype.itemsize}")


def find_invalid_element(name: str, data: np.ndarray[Any, np.dtype[np.uint8]]) -> str | None:
    """What bit pattern in `data` (bytes) the dtype does not have, in words; None where there is none."""
    largest = _LARGEST_BYTE.get(name)
    if largest is not None and data.size and int(data.max()) > largest:
        return f"an element of {name} is one byte from 0 to {largest}, and data holds {int(data.max())}"
    if name.startswith("str<") and data.size:
        points = data.view("<u4")
        if int(points.max()) > 0x10FFFF:
            return "data holds a code point above U+10FFFF: str elements are UTF-32-LE"
    return None
