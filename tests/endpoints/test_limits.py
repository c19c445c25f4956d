"""Tests of the list in docs/evidence/limits.md, and of requests at and above each limit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from measures import CONSTANTS, FIXED, MODULES, SETTINGS, TO, TORCH, answered, checked, holding, refusal, with_constant

from axiscast.wire import shapes
from axiscast.wire.problems import PROBLEM_KINDS
from axiscast.wire.tensors import Tensor
from axiscast_service.runtime.budget import FREE_BYTES, MemoryReservation
from axiscast_service.settings import Settings, variable_of

ROWS = re.findall(
    r"^\| .+ \| `([^`]+)` \| `([^`]+)` \| (?:([0-9]{3}) `([a-z-]+)`|none) \|$",
    (Path(__file__).parents[2] / "docs/evidence/limits.md").read_text(),
    re.MULTILINE,
)


@cases(("value", "name", "status", "code"), ROWS, ids=[row[1] for row in ROWS])
def test_the_list_of_limits_has_the_values_in_the_code(value: str, name: str, status: str, code: str) -> None:
    if name.startswith("AXISCAST_"):
        value = value.replace("MiB", "*1048576").replace("GiB", "*1073741824")
        value = str(math.prod(map(int, value.split("*"))))
        actual = Settings.__dataclass_fields__[name.removeprefix("AXISCAST_").lower()].default
    else:
        module, constant = name.split(".")
        actual = getattr(MODULES[module], constant)
    assert int(value) == actual
    if code:
        assert PROBLEM_KINDS[code][0] == int(status)


def test_every_limit_is_on_the_list() -> None:
    named = {name.split(".")[-1] for _, name, _, _ in ROWS}
    wanted = {name for module in MODULES.values() for name in vars(module) if name.startswith("MAX_")}
    assert wanted - {"MAX_ANSWER_VALUES"} <= named  # that one limits a response, which clients read
    assert {f"AXISCAST_{name.upper()}" for name in Settings.__dataclass_fields__ if name.startswith("max_")} <= named


CODES = {name: code or "none" for _, name, _, code in ROWS}


@cases("name", CODES)
def test_each_limit_holds_on_both_sides(name: str) -> None:
    if name in FIXED:
        within, beyond = FIXED[name]
        assert (refusal(within), refusal(beyond)) == (None, CODES[name])
        return
    assert name in CONSTANTS or name in SETTINGS, "write down what measures as much as this limit"
    for measure, work in CONSTANTS.get(name, ()):
        assert with_constant(name, measure, work) is None
        assert with_constant(name, measure - 1, work) == CODES[name]
    for measure, ask in SETTINGS.get(name, ()):
        assert refusal(partial(ask, measure)) is None
        assert refusal(partial(ask, measure - 1)) == CODES[name]


def test_a_request_that_never_fits_is_too_large_by_one_byte() -> None:
    most = 3000 + FREE_BYTES
    for code, reserve in (
        ("body-too-large", MemoryReservation.reserve),
        ("output-too-large", MemoryReservation.reserve_response),
    ):
        assert refusal(partial(reserve, holding(4000), most)) is None
        assert refusal(partial(reserve, holding(4000), most + 1)) == code
        assert refusal(partial(reserve, holding(4000, other=1), most)) == "overloaded"


def test_the_budget_does_not_count_the_free_bytes_of_a_request() -> None:
    assert refusal(partial(holding(4000, other=3000).reserve, FREE_BYTES)) is None
    assert refusal(partial(holding(4000, other=3000).reserve, FREE_BYTES + 1)) == "overloaded"


VIEW: dict[str, Any] = {"dtype": "int8", "strides": [0], "data": b"a"}
EINOPS: dict[str, Any] = {"name": "einops.repeat", "pattern": "a -> a"}
XARRAY: dict[str, Any] = {"name": "xarray.broadcast"}
OTHERS: dict[str, tuple[str, Callable[[int], object], int]] = {
    "a size in an attribute": ("invalid-request", lambda size: checked(TO | {"shape": [size]}, [1]), shapes.MAX_SIZE),
    "bytes of a view": (
        "invalid-tensor",
        lambda count: answered(
            inputs=[VIEW | {"dtype": "bytes<7>", "shape": [count], "data": b"1234567"}], layout="strided"
        ),
        (2**63 - 1) // 7,  # which it divides
    ),
    "axes of a tensor": (
        "invalid-tensor",
        lambda rank: Tensor(dtype="int8", shape=(1,) * rank, data=b"a").to_array("/inputs/0"),
        64,
    ),
    "characters of a pattern": (
        "invalid-request",
        lambda count: checked(EINOPS | {"pattern": "a -> a".ljust(count)}, [1]),
        1000,
    ),
    "characters of a name": ("invalid-request", lambda count: checked(XARRAY | {"dims": [["x" * count]]}, [1]), 100),
    "names that are excluded": (
        "invalid-request",
        lambda count: checked(XARRAY | {"dims": [["x"]], "exclude": [f"a{number}" for number in range(count)]}, [1]),
        1000,
    ),
    "characters of a symbol": ("invalid-request", lambda count: checked(TORCH, ["N" * count]), 100),
    "axes of numpy.broadcast_to": ("rank-too-large", lambda rank: conflicting(TO | {"shape": [1] * rank}), 64),
    "axes of numpy.broadcast_arrays": (
        "rank-too-large",
        lambda rank: conflicting("numpy.broadcast_arrays", [1] * rank),
        32,
    ),
    "axes of paddle.expand": (
        "rank-too-large",
        lambda rank: conflicting({"name": "paddle.expand", "shape": [1] * rank}),
        8,
    ),
}
"""Other limits: the problem code, a function that makes a request of a given size, and the limit."""


def conflicting(op: Any, *shapes: list[int]) -> str | None:
    conflict = checked(op, *(shapes or [[1]])).get("conflict")
    return None if conflict is None else conflict["code"]


@cases(("code", "ask", "most"), OTHERS.values(), ids=OTHERS)
def test_other_limits_hold_at_the_documented_value(code: str, ask: Callable[[int], object], most: int) -> None:
    assert (refusal(partial(ask, most)), refusal(partial(ask, most + 1))) == (None, code)


@cases("name", [name for name, field in Settings.__dataclass_fields__.items() if field.type == "int"])
def test_each_setting_has_a_minimum(name: str) -> None:
    variable, least = variable_of(name), Settings.__dataclass_fields__[name].metadata["least"]
    assert getattr(Settings.from_environment({variable: str(least)}), name) == least
    with pytest.raises(ValueError, match=f"{variable} must be"):
        Settings.from_environment({variable: str(least - 1)})


def test_a_port_has_16_bits() -> None:
    assert Settings.from_environment({"AXISCAST_PORT": "65535"}).port == 65535
    with pytest.raises(ValueError, match="at most 65535"):
        Settings.from_environment({"AXISCAST_PORT": "65536"})
