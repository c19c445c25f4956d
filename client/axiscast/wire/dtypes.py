"""The dtype names in requests and responses, with the NumPy dtype and the valid bit patterns for each name."""

from __future__ import annotations

import re
import sys
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
"""The names of the dtypes that the ml_dtypes package defines."""
_NAMES = [*NUMPY_NAMES, *ML_NAMES]
_LARGEST_BYTE = {"bool": 1} | dict.fromkeys(["int2", "uint2"], 3)
_LARGEST_BYTE |= dict.fromkeys(["int4", "uint4", "float4_e2m1fn"], 15)
_LARGEST_BYTE |= dict.fromkeys(["float6_e2m3fn", "float6_e3m2fn"], 63)
"""The largest valid byte of an element, keyed by dtype name. These dtypes use only some bits of each byte."""
_SIZED = re.compile(r"(bytes|str)<([0-9]{1,7})>")
_TIMED = re.compile(r"(datetime64|timedelta64)\[(|[1-9][0-9]{0,8})(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]")
MAX_ITEM_BYTES = 2**20
"""The maximum size, in bytes, of one element."""

DTYPE_EXAMPLES = "float32, int64, bool, bfloat16, complex64, datetime64[ns], str<8>"


class UnknownDtype(ValueError):
    """The dtype name is unknown, or the NumPy dtype is not supported."""


def dtype_from_name(name: str) -> np.dtype[Any]:
    """Return the little-endian NumPy dtype for a name. Raises UnknownDtype if the name is unknown."""
    if name in NUMPY_NAMES:
        return np.dtype(name).newbyteorder("<")
    if name in ML_NAMES:
        import ml_dtypes  # imported here because the import takes 60 ms and few requests need ml_dtypes

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype
    if match := _SIZED.fullmatch(name):
        kind, size = match[1], int(match[2])
        dtype = np.dtype(f"S{size}" if kind == "bytes" else f"<U{size}")
        if 0 < dtype.itemsize <= MAX_ITEM_BYTES:
            return dtype
        raise UnknownDtype(f"an element of the dtype {kind}<N> must have 1 to {MAX_ITEM_BYTES} bytes")
    if _TIMED.fullmatch(name):
        try:
            return np.dtype(name).newbyteorder("<")
        except (TypeError, ValueError, OverflowError):
            pass
    raise UnknownDtype(_advice_on(quoted[1] if (quoted := _REPR.fullmatch(name)) else name))


_REPR = re.compile(r"dtype\(['\"](.*)['\"]\)")
_STRUCTURED = re.compile(r"[,{]|[<>=|]?V[0-9]*|(void|record)[0-9]*")
_FIELDS_ADVICE = 'send each field of a structured array, such as x["a"], as a tensor'
_BIG_ENDIAN = re.compile(r"^[>!]|\bbig[ _-]?endian[ _-]?|^be[_-]|(?<=[0-9])_?be$", re.IGNORECASE)
"""The marks of a big-endian dtype: > in NumPy, ! in Python's struct module, and words."""


def _advice_on(name: str) -> str:
    """Return the message about an unknown dtype name, with the name or the conversion to use."""
    if _STRUCTURED.match(name) or "," in name:
        return f"the dtype is structured or opaque: {_FIELDS_ADVICE}"
    native = f"<{name[1:]}" if name.startswith(">") else _BIG_ENDIAN.sub("", name).strip()
    close = _suggested_names(native)
    known = next((dtype_from_name(name) for name in close if name not in ML_NAMES), None)
    swapped = _BIG_ENDIAN.search(name) or (name.startswith("=") and sys.byteorder == "big")
    if swapped and close and (known is None or known.str[0] != "|"):  # elements of one byte have no byte order
        convert = ".byteswap()" if known is None else f'.astype("{known.str}")'
        what = "the dtype is big-endian, but the bytes of a tensor are little-endian"
        return f"{what}: convert the array with {convert}, then write {close[0]}"
    advice = f"{did_you_mean(close)} Write" if close else "; write"
    return f"the dtype is unknown{advice} a name such as {DTYPE_EXAMPLES}"


def _suggested_names(name: str) -> list[str]:
    """Return the dtype names that mean the same as a library's dtype name. If there are none, return similar names."""
    name = name.rpartition(".")[2]  # removes the module name, such as torch in torch.float32
    if code := _NUMPY_CODE.fullmatch(name):
        return [meant] if (meant := _name_of_code(code[1])) else []
    name = name.lstrip("<=|")
    if name == "float":  # "float" has 64 bits in Python and NumPy, and 32 bits in torch
        return ["float32", "float64"]
    if name in _INCOMPLETE_NAMES:
        return [_INCOMPLETE_NAMES[name]]
    found: list[object] = [getattr(np.sctypeDict.get(name.lower()), "__name__", None)]
    if match := _SHORT_NAME.fullmatch(name.lower()):  # f4 is 4 bytes in NumPy, but 4 bits elsewhere
        kind, number = match[1], int(match[2])
        found += [f"{_KIND_NAMES[kind]}{bits}" for bits in (8 * number, number)]
    return [close for close in dict.fromkeys(found) if close in _NAMES] or close_matches(name, _NAMES)


def _name_of_code(code: str) -> str | None:
    """Return the name of the dtype that has this code in NumPy, such as "f4", or None."""
    try:
        name = dtype_name(np.dtype(code))
        dtype_from_name(name)
    except (TypeError, ValueError, OverflowError):
        return None
    return name


_NUMPY_CODE = re.compile(r"[<=|](\?|[b-zA-Z][0-9]{0,7}(?:\[[0-9]{0,9}[A-Za-z]{1,2}\])?)")
_INCOMPLETE_NAMES = {"string": "str<8>", "str": "str<8>", "bytes": "bytes<8>"}
_INCOMPLETE_NAMES |= {kind: f"{kind}[ns]" for kind in ("datetime64", "timedelta64")}
"""A complete example for each dtype name that needs a length or a unit."""
_KIND_NAMES = {"f": "float", "fp": "float", "bf": "bfloat", "i": "int", "s": "int", "u": "uint", "c": "complex"}
_SHORT_NAME = re.compile(f"({'|'.join(_KIND_NAMES)})([0-9]{{1,3}})")


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name of a NumPy dtype. The name does not depend on the byte order.

    Raises UnknownDtype for object dtypes and structured dtypes.
    """
    if dtype.names is not None:
        raise UnknownDtype(f"the dtype {dtype} is not supported: {_FIELDS_ADVICE}")
    if dtype.kind == "S":
        return f"bytes<{dtype.itemsize}>"
    if dtype.kind == "U":
        return f"str<{dtype.itemsize // 4}>"
    name = dtype.name
    if name in NUMPY_NAMES or name in ML_NAMES or _TIMED.fullmatch(name):
        return name
    raise UnknownDtype(f"the dtype {dtype} is not supported: convert the tensor to a dtype such as {DTYPE_EXAMPLES}")


def storage_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the unsigned integer or void dtype of the same itemsize.

    Elements of this dtype are copied as plain bytes.
    """
    return np.dtype(f"<u{dtype.itemsize}" if dtype.itemsize in (1, 2, 4, 8) else f"V{dtype.itemsize}")


def find_invalid_element(name: str, data: np.ndarray[Any, np.dtype[np.uint8]]) -> str | None:
    """Return an error message if an element is invalid for the dtype. Otherwise, return None.

    `data` holds the bytes of all elements.
    """
    largest = _LARGEST_BYTE.get(name)
    if largest is not None and data.size and int(data.max()) > largest:
        return f"an element of {name} must be a byte from 0 to {largest}, but data contains {int(data.max())}"
    if name.startswith("str<") and data.size:
        points = data.view("<u4")
        if int(points.max()) > 0x10FFFF:
            return "data contains a code point above U+10FFFF: elements of str are UTF-32-LE"
    return None
