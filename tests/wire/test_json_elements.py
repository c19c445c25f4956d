"""Tests of all dtypes with all kinds of JSON values: the result is a tensor or a refusal."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from itertools import product
from random import Random
from typing import Any

import httpx
import msgpack
import numpy as np
import pytest
from arrays import NUMBERS, SMALL, STRINGS
from cases import cases
from short_requests import short_answer

from axiscast.wire.dates import date_count
from axiscast_service.app import create_app
from axiscast_service.settings import Settings

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
MULTIPLES = ["7Y", "7s", "7as", "999999999Y", "999999999D", "999999999as"]
DATES = [f"datetime64[{unit}]" for unit in [*UNITS, *MULTIPLES]]
TIMES = [f"timedelta64[{unit}]" for unit in [*UNITS, "7D", "7as"]]
POWERS = (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 53, 63, 64, 65, 128, 1023, 1024, 2000)
INTEGERS = [sign * 2**power + step for power in POWERS for sign in (1, -1) for step in (-1, 0, 1)] + [0, 10**400]
FLOATS = [0.0, -0.0, 0.5, 5e-324, 65504.0, 65520.0, 448.0, 449.0, 57344.0, 61440.0, 6.0, 7.0, 7.5, 28.0, 30.0]
FLOATS += [3.4028235e38, 3.4028236e38, 1e39, 1.7976931348623157e308, 2.0**127, 2.0**128, 2.0**-127, 2.0**-128]
TEXTS = ["", "NaN", "nan", "Infinity", "-Infinity", "+Infinity", "NaT", "1", "-1", "--1", "1.5", "1e5", "true", "now"]
TEXTS += ["YQ==", "YQ", "Y===", "é", "\u0000", "\ud800", "\U0001f600", "x" * 500, "9" * 20, f"-{2**63}", str(2**64)]
NESTED = [None, True, False, [], {}, [1], [1, 2], [[1]], [[1, 2]], {"re": 1, "im": 2}, [1, None], ["NaN", 10**400]]
YEARS = ["1970", "1969", "0000", "-0001", "+1970", "9999", "10000", "-9999", "2262", "1677", "300000000000"]
YEARS += ["292277026596", "-292277022657", "25252734927766555", "999999999999999999", "-999999999999999999", "20"]
RESTS = ["", "-01", "-01-01", "-01-01T00", "-01-01 00:00", "-01-01T00:00:00", "-12-31T23:59:59." + "9" * 18]
RESTS += [f"-01-01T00:00:00.{'1' * digits}" for digits in (1, 3, 6, 9, 12, 15, 19)]
RESTS += ["-02-30", "-13", "-00", "-01-00", "-01-01T24", "-01-01T23:60", "-01-01T00:00:60", "-01-01T00:00:00Z"]
RESTS += ["-01-01T00:00:00+01:00", "-1-1", "-W01"]
VALUES: list[Any] = [*INTEGERS, *FLOATS, *TEXTS, *NESTED]
ISO_DATES = [year + rest for year, rest in product(YEARS, RESTS)]


def status_of(tensor: dict[str, Any]) -> int:
    """Return the status of a broadcast of a tensor. A successful response must contain the same tensor."""
    answer = short_answer("/v1/broadcast", json.dumps({"inputs": [tensor]}).encode())
    assert answer is not None
    if answer.status == 200:
        inputs = json.loads(answer.content)["broadcast_inputs"]
        assert short_answer("/v1/broadcast", json.dumps({"inputs": inputs}).encode()) == answer
    return answer.status


@pytest.mark.parametrize("dtype", [*NUMBERS, *SMALL, *STRINGS, *DATES, *TIMES, None])
def test_every_value_is_an_element_or_is_refused(dtype: str | None) -> None:
    values = VALUES + (ISO_DATES if dtype in (None, *DATES) else [])
    statuses: Counter[int] = Counter()
    for data in [*values, *([value] for value in values)]:
        tensor = {"dtype": dtype, "shape": [1] * isinstance(data, list), "data": data}
        statuses[status_of(tensor)] += 1
    assert set(statuses) == {200, 422}


def test_every_value_is_handled_on_every_endpoint_in_both_encodings() -> None:
    random = Random(20)

    def requests_of(dtype: str) -> list[tuple[str, dict[str, Any]]]:
        elements = VALUES if "datetime" not in dtype else ISO_DATES
        tensors = [{"dtype": dtype, "shape": [1], "data": [random.choice(elements)]} for _ in range(4)]
        columns = [{"dtype": dtype, "shape": [1, 1], "data": [[random.choice(INTEGERS[:50])]]}]
        return [
            *[("/v1/broadcast", {"inputs": [tensor]}) for tensor in tensors],
            *[("/v1/backprop", {"inputs": [[1]], "gradients": [tensor]}) for tensor in tensors],
            ("/v1/check/columns", {"op": "numpy.broadcast_arrays", "inputs": columns}),
            ("/v1/check/columns", {"op": "numpy.broadcast_arrays", "inputs": tensors}),
        ]

    async def ask() -> Counter[int]:
        statuses: Counter[int] = Counter()
        transport = httpx.ASGITransport(create_app(Settings(metrics=False)))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
            for path, asked in [asked for name in [*NUMBERS, *SMALL, *STRINGS, *DATES] for asked in requests_of(name)]:
                bodies = {"application/json": json.dumps(asked).encode()}
                with suppress(OverflowError, UnicodeEncodeError):  # MessagePack has no such integer or string
                    bodies["application/vnd.msgpack"] = msgpack.packb(asked)
                for media_type, body in bodies.items():
                    response = await http.post(path, content=body, headers={"Content-Type": media_type})
                    assert response.status_code in (200, 422), (path, asked, response.text)
                    statuses[response.status_code] += 1
        return statuses

    assert min(asyncio.run(ask()).values()) > 10


@cases(
    ("text", "dtype", "count"),
    [
        ("1970-01-01", "datetime64[as]", 0),
        ("1970-01-01T00:00:09.223372036854775807", "datetime64[as]", 2**63 - 1),
        ("1970-01-01T00:00:09.223372036854775808", "datetime64[as]", None),
        ("1969-12-31T23:59:50.776627963145224193", "datetime64[as]", -(2**63) + 1),
        ("1969-12-31T23:59:50.776627963145224192", "datetime64[as]", None),  # which would be NaT
        ("1970-01-01T02:33:43.372036854775", "datetime64[fs]", 9_223_372_036_854_775_000),
        ("2020", "datetime64[fs]", None),
        ("2262-04-11T23:47:16.854775807", "datetime64[ns]", 2**63 - 1),
        ("2262-04-11T23:47:16.854775808", "datetime64[ns]", None),
        ("1970-01-08", "datetime64[W]", 1),
        ("1970-01-09", "datetime64[W]", None),
        ("1977", "datetime64[7Y]", 1),
        ("1976", "datetime64[7Y]", None),
        ("1976-12", "datetime64[Y]", None),
        ("0000-02-29", "datetime64[D]", -719_469),
        ("-0001-12-31", "datetime64[D]", -719_529),
        ("1900-02-29", "datetime64[D]", None),
        ("2000-02-29", "datetime64[D]", 11_016),
        ("999999999999999999", "datetime64[Y]", 999_999_999_999_998_029),
        ("999999999999999999", "datetime64[D]", None),
        ("1970-01-01T00:00:60", "datetime64[s]", None),
        ("1970-01-01T24:00", "datetime64[s]", None),
    ],
)
def test_a_date_is_counted_exactly_or_refused(text: str, dtype: str, count: int | None) -> None:
    assert date_count(text, *np.datetime_data(np.dtype(dtype))) == count


def test_dates_agree_with_pythons_calendar() -> None:
    random = Random(1)
    for _ in range(2000):
        day = date.fromordinal(random.randrange(1, date.max.toordinal() + 1))
        assert date_count(day.isoformat(), "D", 1) == day.toordinal() - date(1970, 1, 1).toordinal()
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=random.randrange(-(10**16), 10**17))
        since = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        assert date_count(moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "us", 1) == since
