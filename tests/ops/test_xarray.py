"""xarray.broadcast: names, excluded names, and names that the release accepts. Results are those of xarray 2026.9."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from axiscast import Client
from axiscast.messages import CheckAnswer
from axiscast.ops import xarray

Dims = tuple[tuple[str, ...], ...]


def codes(answer: CheckAnswer) -> list[str]:
    return [warning.code for warning in answer.warnings]


PASSING: list[tuple[Dims, list[tuple[int, ...]], Any]] = [
    ((("x", "x"),), [(2, 2)], ()),
    ((("x", "x"),), [(2, 3)], ()),
    ((("x", "x"),), [(2, 3)], ["x"]),
    ((("x", "x"), ("x", "x")), [(2, 2), (2, 2)], ()),
    ((("x", "x"), ("x",)), [(2, 2), (2,)], ()),
    ((("x", "x"), ()), [(2, 2), ()], ()),
    ((("x", "x"), ("y",)), [(2, 2), (3,)], ["y"]),
    ((("x", "x"), ("x", "x")), [(2, 2), (3, 3)], "x"),
]
RAISING: list[tuple[Dims, list[tuple[int, ...]], Any]] = [
    ((("x", "x"), ("x", "x")), [(2, 3), (2, 3)], ()),
    ((("x", "x"), ("x", "x")), [(2, 2), (3, 3)], ()),
    ((("x", "x"), ("x", "x")), [(2, 2), (3, 3)], "xz"),
    ((("x", "x"), ("x",)), [(2, 3), (3,)], ["x"]),
    ((("x", "x"), ("y",)), [(2, 2), (2,)], ()),
    ((("x", "x"), ("y",)), [(2, 2), (2,)], ["x"]),
    ((("x", "y", "x"),), [(2, 3, 2)], ()),
]


@pytest.mark.parametrize(("dims", "shapes", "exclude"), PASSING + RAISING)
def test_a_repeated_name_in_an_input_is_refused_with_a_warning_if_the_release_accepts_it(
    client: Client, dims: Dims, shapes: list[tuple[int, ...]], exclude: Any
) -> None:
    answer = client.check(xarray.broadcast(dims=dims, exclude=exclude), *shapes)
    assert answer.conflict is not None
    assert answer.conflict.code == "axis-repeated"
    assert ("release-differs" in codes(answer)) == ((dims, shapes, exclude) in PASSING)


def test_a_repeated_name_in_exclude_is_one_dimension(client: Client) -> None:
    (output,) = client.check(xarray.broadcast(dims=(("x", "y"),), exclude=("x", "x")), (2, 3)).outputs
    assert (output.shape, output.dims) == ((3, 2), ["y", "x"])


def test_a_string_excludes_its_characters_and_several_characters_cause_a_warning(client: Client) -> None:
    answer = client.check(xarray.broadcast(dims=(("x", "y", "z"), ("y",)), exclude="yx"), (2, 3, 4), (3,))
    assert [(output.shape, output.dims) for output in answer.outputs] == [
        ((4, 3, 2), ["z", "y", "x"]),
        ((4, 3), ["z", "y"]),
    ]
    assert codes(answer) == ["exclude-string"]
    assert "['y', 'x'] are not broadcast" in answer.warnings[0].message
    assert codes(client.check(xarray.broadcast(dims=(("x",),), exclude="x"), (2,))) == []
    assert codes(client.check(xarray.broadcast(dims=(("x",),), exclude=""), (2,))) == []


@pytest.mark.parametrize(("one", "other"), [((1,), (3,)), ((3,), (1,))])
def test_a_size_1_does_not_expand_and_the_conflict_names_both_inputs(
    client: Client, one: tuple[int], other: tuple[int]
) -> None:
    conflict = client.check(xarray.broadcast(dims=(("x",), ("x",))), one, other).conflict
    assert conflict is not None
    assert (conflict.code, conflict.axis) == ("size-mismatch", 0)
    assert (conflict.inputs, conflict.sizes) == ((0, 1), (*one, *other))
    assert conflict.message == (
        f"On output axis 0, input 0 of shape ({one[0]},) has size {one[0]} but input 1 of shape ({other[0]},) has size "
        f"{other[0]}: the sizes must be equal, because size 1 does not expand here."
    )


def test_a_conflict_of_many_inputs_names_the_first_input_of_each_size(client: Client) -> None:
    op = xarray.broadcast(dims=(("x",),) * 5)
    conflict = client.check(op, (1,), (1,), (3,), (2,), (3,)).conflict
    assert conflict is not None
    assert (conflict.inputs, conflict.sizes) == ((0, 2, 3), (1, 3, 2))


def test_only_a_string_of_several_characters_compares_the_excluded_sizes(client: Client) -> None:
    for exclude, compatible in (("x", True), (["x", "y"], True), ("xy", False)):
        answer = client.check(xarray.broadcast(dims=(("x",), ("x",)), exclude=exclude), (2,), (3,))
        assert answer.compatible is compatible
    assert answer.conflict is not None
    assert (answer.conflict.code, answer.conflict.axis, answer.conflict.sizes) == ("size-mismatch", 0, (2, 3))


@pytest.mark.parametrize(("name", "exclude"), [("xy", "xy"), ("xy", "zxyw"), ("", "x"), ("", "")])
def test_a_name_that_is_a_longer_substring_of_exclude_is_refused(client: Client, name: str, exclude: str) -> None:
    conflict = client.check(xarray.broadcast(dims=((name,),), exclude=exclude), (2,)).conflict
    assert conflict is not None
    assert conflict.code == "axis-out-of-range"
    assert client.check(xarray.broadcast(dims=((name,),), exclude=[exclude]), (2,)).compatible
    assert client.check(xarray.broadcast(dims=(("xz",),), exclude="xyz"), (2,)).compatible


def test_exclude_in_a_url_is_a_string_or_a_list(http: httpx.Client) -> None:
    asked = {"op": "xarray.broadcast", "dims": '[["x", "y"]]', "input": "2,3"}
    for exclude, dims in (("xy", ["x", "y"]), ('["y", "x"]', ["y", "x"]), ("", ["x", "y"]), ("x", ["y", "x"])):
        answer = http.get("/v1/check", params=asked | {"exclude": exclude}).json()
        assert answer["outputs"][0]["dims"] == dims


def test_an_invalid_exclude_is_reported_as_neither_a_string_nor_names(http: httpx.Client) -> None:
    for exclude, pointer, said in (
        (5, "/op/exclude", "must be a list"),
        ([5], "/op/exclude/0", "must be a string"),
        ("x" * 101, "/op/exclude", "at most 100 characters"),
    ):
        op = {"name": "xarray.broadcast", "dims": [["x"]], "exclude": exclude}
        answer = http.post("/v1/check", json={"op": op, "inputs": [[2]]}).json()
        assert (answer["code"], answer["pointer"]) == ("invalid-request", pointer)
        assert said in answer["detail"]
