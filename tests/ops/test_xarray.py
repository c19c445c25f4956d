"""xarray.broadcast: names, excluded names, and names that the release accepts. Results are those of xarray 2026.9."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from cases import cases

from axiscast import Client
from axiscast.messages import CheckAnswer
from axiscast.ops import xarray

Dims = tuple[tuple[str, ...], ...]


def codes(answer: CheckAnswer) -> list[str]:
    return [warning.code for warning in answer.warnings]


REPEATED: list[tuple[Dims, list[tuple[int, ...]], Any]] = [
    ((("x", "x"),), [(2, 2)], ()),
    ((("x", "x"),), [(2, 3)], ["x"]),
    ((("x", "x"), ("x",)), [(2, 2), (2,)], ()),
    ((("x", "x"), ("x", "x")), [(2, 2), (3, 3)], "x"),
    ((("x", "x"), ("x", "x")), [(2, 3), (2, 3)], ()),
    ((("x", "x"), ("y",)), [(2, 2), (2,)], ["x"]),
    ((("x", "y", "x"),), [(2, 3, 2)], ()),
]


@pytest.mark.parametrize(("dims", "shapes", "exclude"), REPEATED)
def test_a_repeated_name_in_an_input_is_refused_with_a_warning_that_the_release_may_accept_it(
    client: Client, dims: Dims, shapes: list[tuple[int, ...]], exclude: Any
) -> None:
    answer = client.check(xarray.broadcast(dims=dims, exclude=exclude), *shapes)
    assert answer.conflict is not None
    assert answer.conflict.code == "axis-repeated"
    assert codes(answer) == ["release-differs"]


def test_a_repeated_name_in_exclude_is_one_dimension(client: Client) -> None:
    (output,) = client.check(xarray.broadcast(dims=(("x", "y"),), exclude=("x", "x")), (2, 3)).outputs
    assert (output.shape, output.dims) == ((3, 2), ["y", "x"])


def test_a_string_of_one_character_is_a_name(client: Client) -> None:
    (output,) = client.check(xarray.broadcast(dims=(("x", "y"),), exclude="x"), (2, 3)).outputs
    assert (output.shape, output.dims) == ((3, 2), ["y", "x"])
    assert client.check(xarray.broadcast(dims=(("x",),), exclude=""), (2,)).compatible


def test_a_longer_string_is_refused_because_xarray_reads_its_characters() -> None:
    with pytest.raises(ValueError, match="exclude: must be a list of names: xarray reads a string character by"):
        xarray.broadcast(dims=(("x",),), exclude="xy")


@cases(("one", "other"), [((1,), (3,)), ((3,), (1,))])
def test_a_size_1_does_not_expand_and_the_conflict_names_both_inputs(
    client: Client, one: tuple[int], other: tuple[int]
) -> None:
    conflict = client.check(xarray.broadcast(dims=(("x",), ("x",))), one, other).conflict
    assert conflict is not None
    assert (conflict.code, conflict.axis) == ("size-mismatch", 0)
    assert (conflict.inputs, conflict.sizes) == ((0, 1), (*one, *other))


def test_a_conflict_of_many_inputs_names_the_first_input_of_each_size(client: Client) -> None:
    op = xarray.broadcast(dims=(("x",),) * 5)
    conflict = client.check(op, (1,), (1,), (3,), (2,), (3,)).conflict
    assert conflict is not None
    assert (conflict.inputs, conflict.sizes) == ((0, 2, 3), (1, 3, 2))


def test_excluded_sizes_are_not_compared(client: Client) -> None:
    assert client.check(xarray.broadcast(dims=(("x",), ("x",)), exclude=["x", "y"]), (2,), (3,)).compatible


def test_exclude_in_a_url_is_a_name_or_a_list(http: httpx.Client) -> None:
    asked = {"op": "xarray.broadcast", "dims": '[["x", "y"]]', "input": "2,3"}
    for exclude, dims in (('["y", "x"]', ["y", "x"]), ("", ["x", "y"]), ("x", ["y", "x"])):
        answer = http.get("/v1/check", params=asked | {"exclude": exclude}).json()
        assert answer["outputs"][0]["dims"] == dims


def test_an_invalid_exclude_is_reported(http: httpx.Client) -> None:
    for exclude, pointer, said in (
        (5, "/op/exclude", "must be a list"),
        ([5], "/op/exclude/0", "must be a string"),
        ("xy", "/op/exclude", "character by character"),
        (["x" * 101], "/op/exclude/0", "at most 100 characters"),
    ):
        op = {"name": "xarray.broadcast", "dims": [["x"]], "exclude": exclude}
        answer = http.post("/v1/check", json={"op": op, "inputs": [[2]]}).json()
        assert (answer["code"], answer["pointer"]) == ("invalid-request", pointer)
        assert said in answer["detail"]
