"""Tests of the names of dtypes."""

import numpy as np
import pytest
from arrays import NAMES, dtype_of

from axiscast.wire.dtypes import UnknownDtype, dtype_from_name, dtype_name
from axiscast.wire.tensors import json_parts, msgpack_parts


@pytest.mark.parametrize("name", NAMES)
def test_a_name_and_its_dtype_are_a_pair(name):
    assert dtype_from_name(name) == dtype_of(name)
    assert dtype_name(dtype_of(name)) == name
    assert dtype_name(dtype_of(name).newbyteorder(">")) == name


UNKNOWN = ["object", "O", "void8", "float128", "float", "f4", ">f4", "Float32", "", "int3", "float8", "float32\n"]
UNKNOWN += ["datetime64", "datetime64[]", "datetime64[x]", "datetime64[0s]", "datetime64[99999999999s]"]
UNKNOWN += ["timedelta64[-1s]", "str", "str<>", "str<0>", "str<-1>", "str<262145>", "str<2147483648>", "str<٣>"]
UNKNOWN += ["bytes<0>", "bytes<1048577>", "bytes<9999999999>", "\ud800"]


@pytest.mark.parametrize("name", UNKNOWN, ids=ascii)
def test_a_name_of_no_dtype_is_refused_with_examples(name):
    with pytest.raises(UnknownDtype, match=r"[Ww]rite a name such as float32, int64|must have 1 to 1048576 bytes"):
        dtype_from_name(name)


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
    with pytest.raises(UnknownDtype, match="is not supported: convert the tensor to a dtype such as float32, int64"):
        b"".join(msgpack_parts(array, strided=False))
    with pytest.raises(UnknownDtype, match="is not supported: convert the tensor to a dtype such as float32, int64"):
        b"".join(json_parts(array, strided=False, as_base64=False))
