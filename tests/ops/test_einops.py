"""einops.repeat over HTTP: patterns, split axes and merged axes."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import numpy as np
import pytest
from cases import cases

import axiscast
from axiscast import Client, NotStrided
from axiscast.ops import Op, align, einops
from axiscast.plan.alignment import Count, Input, ShapeMismatch


def repeat(pattern: str, **lengths: int) -> einops.repeat:
    return einops.repeat(pattern=pattern, axes_lengths=lengths)


def test_a_merge_reports_the_shape_before_it_as_factors(client: Client) -> None:
    (output,) = client.check(repeat("(h k) w -> w (h c)  k", k=2, c=3), (8, 5)).broadcast_inputs
    assert (output.shape, output.factors) == ((5, 12, 2), (5, 4, 3, 2))
    assert (output.axes, output.broadcast_axes) == ((1, 3, 0), (2,))


def test_without_parentheses_there_are_no_factors(client: Client) -> None:
    (output,) = client.check(repeat("h w -> h w c", c=3), (2, 5)).broadcast_inputs
    assert (output.shape, output.factors, output.axes) == ((2, 5, 3), None, (0, 1))


def test_merged_axes_are_strided_if_strides_can_describe_them(client: Client) -> None:
    x = np.arange(6).reshape(2, 3)
    (joined,) = client.broadcast(repeat("h w -> c (h w)", c=10**9), x, layout="strided")
    assert (joined.shape, joined.strides, joined[-1].tolist()) == ((10**9, 6), (0, 8), [0, 1, 2, 3, 4, 5])
    with pytest.raises(NotStrided, match='"layout": "dense"'):
        client.broadcast(repeat("h w -> (h c) w", c=2), x, layout="strided")
    (dense,) = client.broadcast(repeat("h w -> (h c) w", c=2), x)
    assert dense.tolist() == [[0, 1, 2], [0, 1, 2], [3, 4, 5], [3, 4, 5]]


def test_the_gradient_of_a_split_input_has_its_shape(client: Client) -> None:
    (gradient,) = client.backprop(repeat("(a b) -> b a c", a=2, c=3), [(6,)], np.arange(18.0).reshape(3, 2, 3))
    assert gradient.tolist() == [3, 21, 39, 12, 30, 48]
    replicated = np.broadcast_to(np.float64(1), (3, 2, 10**12))
    (gradient,) = client.backprop(repeat("(a b) -> b a c", a=2, c=10**12), [(6,)], replicated)
    assert gradient.tolist() == [1e12] * 6


def test_merged_axes_are_merged_in_json_too(http: httpx.Client) -> None:
    request = {
        "op": {"name": "einops.repeat", "pattern": "h w -> (w c h)", "axes_lengths": {"c": 2}},
        "inputs": [{"shape": [2, 2], "data": [[1, 2], [3, 4]]}],
    }
    (output,) = http.post("/v1/broadcast", json=request).json()["broadcast_inputs"]
    assert (output["shape"], output["data"]) == ([8], [1, 3, 1, 3, 2, 4, 2, 4])
    (window,) = http.post("/v1/broadcast", json=request | {"window": [[1, 6]]}).json()["broadcast_inputs"]
    assert (window["shape"], window["data"]) == ([5], [3, 1, 3, 2, 4])
    (window,) = http.post("/v1/broadcast", json=request | {"window": [[1, 6]], "json_data": "base64"}).json()[
        "broadcast_inputs"
    ]
    assert window["base64"] == base64.b64encode(np.array([3, 1, 3, 2, 4], "<i8")).decode()
    refused = http.post("/v1/broadcast", json=request | {"window": [[0, 9]]}).json()
    assert (refused["code"], refused["pointer"]) == ("invalid-request", "/window/0")
    assert "0 <= start <= stop <= 8" in refused["detail"]
    refused = http.post("/v1/broadcast", json=request | {"window": [[0, 2], [0, 2], [0, 2]]}).json()
    assert (refused["code"], refused["pointer"]) == ("invalid-request", "/window")


WINDOWS: dict[str, tuple[einops.repeat, list[tuple[int, int]], bool]] = {
    "joined axes": (repeat("a b c -> (a b) c"), [(1, 5), (2, 4)], True),
    "all axes joined": (repeat("a b c -> (a b c)"), [(3, 23)], True),
    "each element repeated": (repeat("a b c -> a b (c r)", r=3), [(0, 2), (1, 3), (2, 10)], False),
    "one element's repeats": (repeat("a b c -> a b (c r)", r=3), [(0, 2), (1, 3), (3, 6)], True),
    "the end of one and the next": (repeat("a b c -> a b (c r)", r=3), [(0, 2), (1, 3), (5, 7)], True),
    "tiled": (repeat("a b c -> (r a) b c", r=3), [(1, 5), (0, 3), (0, 4)], False),
    "one tile": (repeat("a b c -> (r a) b c", r=3), [(2, 4), (0, 3), (0, 4)], True),
    "transposed": (repeat("a b c -> (c a) b"), [(0, 8), (0, 3)], False),
    "backwards": (repeat("a b c -> (c a) b"), [(1, 3), (0, 3)], True),
    "upsampled": (repeat("a b c -> (b 2) (c r) a", r=2), [(1, 6), (1, 7), (1, 2)], False),
    "split and merged": (repeat("a b (c d) -> (d a) (c 2) b", c=2), [(1, 4), (0, 4), (1, 3)], False),
    "nothing": (repeat("a b c -> (r a) b c", r=3), [(1, 1), (0, 3), (0, 4)], True),
}


@cases("dtype", ["int8", "float32", "complex128", "U3"])
@cases(("op", "window", "strided"), WINDOWS.values(), ids=WINDOWS)
def test_a_window_of_merged_axes_equals_the_slice_of_the_whole_output(
    client: Client, op: einops.repeat, window: list[tuple[int, int]], strided: bool, dtype: str
) -> None:
    x = np.arange(24).reshape(2, 3, 4).astype(dtype)
    (whole,) = client.broadcast(op, x)
    expected = whole[tuple(slice(start, stop) for start, stop in window)]
    (dense,) = client.broadcast(op, x, window=window)
    assert (dense.dtype, dense.shape, dense.tolist()) == (whole.dtype, expected.shape, expected.tolist())
    if strided:
        (view,) = client.broadcast(op, x, window=window, layout="strided")
        assert (view.dtype, view.shape, view.tolist()) == (whole.dtype, expected.shape, expected.tolist())
    else:
        with pytest.raises(NotStrided, match='"layout": "dense"'):
            client.broadcast(op, x, window=window, layout="strided")


def test_a_window_of_merged_axes_streams_from_an_output_larger_than_memory(client: Client) -> None:
    op = repeat("a b -> (a r) (b s)", r=10**9, s=10**9)
    x = np.arange(12, dtype=np.int16).reshape(3, 4)
    (box,) = client.broadcast(op, x, window=[(10**9 - 2, 10**9 + 1), (10**9 - 10**6, 10**9 + 2 * 10**6 + 1)])
    assert box.shape == (3, 3 * 10**6 + 1)
    for row, first in enumerate((0, 0, 4)):
        assert (box[row, : 10**6] == first).all()
        assert (box[row, 10**6 :] == first + 1).all()


def test_a_window_with_too_many_lookups_is_refused_before_work_begins(client: Client) -> None:
    op, x = repeat("a -> (a r)", r=2**40), np.arange(3, dtype=np.int8)
    window = [(2**40 - 2**33, 2**40 + 2**33)]
    with pytest.raises(axiscast.WorkTooLarge, match="request smaller windows"):
        client.broadcast(op, x, window=window)


def test_a_merged_axis_beyond_64_bits_is_a_decimal_string(client: Client, http: httpx.Client) -> None:
    op = repeat("a b -> a (b c)", c=2**62)
    assert client.check(op, (2, 4)).outputs[0].shape == (2, "18446744073709551616")
    answer = http.post("/v1/check", json={"op": op.model_dump(), "inputs": [[2, 4]]}).json()
    assert (answer["shape"], answer["broadcast_inputs"][0]["factors"]) == ([2, str(2**64)], [2, 4, 2**62])
    assert client.check(op, (2, 1)).outputs[0].shape == (2, 2**62)
    assert client.check(op, ("N", "4..5")).outputs[0].shape == ("N", f"{2**64}..")


CONFLICTS: list[tuple[str, dict[str, int], tuple[int, ...], str, tuple[Any, ...]]] = [
    ("(a b) -> a b", {"a": 4}, (6,), "size-mismatch", ("split", "a b", 4)),
    ("(a b) -> a b", {"a": 0}, (6,), "size-mismatch", ("split by 0", "a b")),
    ("(a b) -> a b", {"a": 2, "b": 2}, (6,), "size-mismatch", ("product", ("a", 2), ("b", 2))),
    ("1 w -> w", {}, (2, 3), "size-mismatch", ("product",)),
    ("h w -> h w", {}, (2,), "rank-mismatch", ("left-rank", Input(0, (2,)), "h w -> h w", Count(2, 2))),
    ("h ... -> h ...", {}, (), "rank-mismatch", ("left-rank", Input(0, ()), "h ... -> h ...", Count(1, None))),
    ("w -> w c", {"c": -1}, (2,), "invalid-dimension", ("negative-length", "axes_lengths", "c", -1)),
]


def reason_of(op: Op, shape: tuple[int, ...]) -> tuple[Any, ...]:
    with pytest.raises(ShapeMismatch) as caught:
        align(op, (shape,))
    return caught.value.conflict.reason


@cases(("pattern", "lengths", "shape", "code", "reason"), CONFLICTS, ids=str)
def test_shapes_that_do_not_fit_the_pattern_are_a_conflict(
    client: Client, pattern: str, lengths: dict[str, int], shape: tuple[int, ...], code: str, reason: tuple[Any, ...]
) -> None:
    conflict = client.check(repeat(pattern, **lengths), shape).conflict
    assert conflict is not None
    assert conflict.code == code
    assert reason_of(repeat(pattern, **lengths), shape) == reason


# The patterns as einops 0.8.2 parses them.
READ: list[tuple[str, tuple[int, ...], list[int]]] = [
    ("01 h -> h 02", (1, 4), [4, 2]),
    ("h -> \uff13 h (\uff12 \uff11)", (4,), [3, 4, 2]),
    ("é 中 -> 中 é", (2, 3), [3, 2]),
    ("for axis -> axis for", (2, 3), [3, 2]),
    ("a_1 -> (a_1)", (4,), [4]),
    ("… w -> w …", (2, 3), [3, 2]),
    ("(h …) -> … h", (6,), [3, 2]),
    ("a(b)(1)() -> b()a", (2, 3, 1, 1), [3, 1, 2]),
    ("->", (), []),
]


@cases(("pattern", "shape", "reached"), READ, ids=[pattern for pattern, *_ in READ])
def test_a_pattern_is_parsed_as_einops_parses_it(
    client: Client, pattern: str, shape: tuple[int, ...], reached: list[int]
) -> None:
    lengths = {"h": 2} if "(h" in pattern else {}
    assert client.check(repeat(pattern, **lengths), shape).shape == tuple(reached)


def test_the_ellipsis_character_is_the_name_of_one_axis(client: Client) -> None:
    conflict = client.check(repeat("… w -> w …"), (2, 3, 4)).conflict
    assert conflict is not None
    assert conflict.code == "rank-mismatch"


BAD_PATTERNS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("h w", {}, ("pattern-arrows",)),
    ("h -> w -> h", {}, ("pattern-arrows",)),
    ("h w -> h", {}, ("left-only-name", "w", "repeat")),
    ("h -> h c", {}, ("missing-length", "c")),
    ("h -> h", {"c": 2}, ("unknown-name", "c")),
    ("h h -> h", {}, ("side-name-twice", "h")),
    ("((h)) -> h", {}, ("nested-parentheses",)),
    ("h -> h)", {}, ("unopened-parenthesis",)),
    ("h -> (h", {}, ("unclosed-parenthesis",)),
    ("(... h) -> h ...", {}, ("merged-ellipsis",)),
    ("h -> h ...", {}, ("right-only-ellipsis",)),
    ("... ... -> ...", {}, ("side-ellipses",)),
    ("2 h -> h", {}, ("number-as-axis", "2")),
    ("h -> h 0", {}, ("number-as-axis", "0")),
    ("h _w -> h _w", {}, ("not-name", "_w")),
    ("h\tw -> h w", {}, ("not-name", "h\tw")),
    ("h w ->\nh w", {}, ("not-name", "\nh")),
    ("h\u00a0w -> h w", {}, ("not-name", "h\u00a0w")),
    ("h... -> h...", {}, ("not-name", "h...")),
    ("h ..... -> h .....", {}, ("not-name", ".....")),
    ("… ... -> … ...", {}, ("side-ellipses",)),
    ("h… -> h…", {}, ("not-name", "h…")),
    ("a\u0301 -> a\u0301", {}, ("not-name", "a\u0301")),
    ("a·b -> a·b", {}, ("not-name", "a·b")),
    ("h² -> h²", {}, ("not-name", "h²")),
    ("h -> h 2", {"2": 2}, ("unknown-name", "2")),
    ("... -> ... 2", {"...": 2}, ("unknown-name", "...")),
    ("… -> …", {"…": 2}, ("unknown-name", "…")),
    ("03 h -> h", {}, ("number-as-axis", "03")),
    ("(a b) -> a b", {}, ("missing-lengths", "a b")),
]


@cases(("pattern", "lengths", "reason"), BAD_PATTERNS, ids=[pattern for pattern, *_ in BAD_PATTERNS])
def test_a_pattern_that_einops_refuses_is_a_conflict_with_the_reason(
    http: httpx.Client, pattern: str, lengths: dict[str, Any], reason: tuple[str, ...]
) -> None:
    op = {"name": "einops.repeat", "pattern": pattern, "axes_lengths": lengths}
    assert reason_of(repeat(pattern, **lengths), (2,)) == reason
    response = http.post("/v1/check", json={"op": op, "inputs": [[2]]})
    assert (response.status_code, response.json()["compatible"]) == (200, False), response.text
    conflict = response.json()["conflict"]
    assert (conflict["code"], "axis" in conflict, conflict["inputs"]) == ("invalid-attribute", False, [])
    tensor = {"dtype": "int8", "shape": [2], "data": [1, 2]}
    refused = http.post("/v1/broadcast", json={"op": op, "inputs": [tensor]})
    assert (refused.status_code, refused.json()["code"]) == (422, "incompatible-shapes")


@cases(
    ("pattern", "lengths", "pointer", "said"),
    [
        ("h -> h c", {"c": "3"}, "/op/axes_lengths/c", "must be an integer, not a string"),
        ("h" * 1001, {}, "/op/pattern", "at most 1000"),
        (3, {}, "/op/pattern", "must be a string"),
    ],
)
def test_an_attribute_of_the_wrong_type_is_an_invalid_request(
    http: httpx.Client, pattern: Any, lengths: dict[str, Any], pointer: str, said: str
) -> None:
    op = {"name": "einops.repeat", "pattern": pattern, "axes_lengths": lengths}
    answer = http.post("/v1/check", json={"op": op, "inputs": [[2]]})
    assert (answer.status_code, answer.json()["code"], answer.json()["pointer"]) == (422, "invalid-request", pointer)
    assert said in answer.json()["detail"]


def test_columns_and_symbolic_sizes_with_a_refused_pattern_are_a_conflict() -> None:
    op = repeat("a b -> a")
    assert axiscast.check(op, ("N", 3)).compatible is False
    assert axiscast.check_columns(op, [[2, 3], [4, 5]]).compatible.tolist() == [False, False]
    with pytest.raises(axiscast.IncompatibleShapes, match="b"):
        axiscast.translate(op, (2, 3), to="torch.expand")


def test_a_pattern_in_a_url(http: httpx.Client) -> None:
    params = {"op": "einops.repeat", "pattern": "h w -> (2 h) w c", "axes_lengths": '{"c": 3}', "input": "4,5"}
    assert http.get("/v1/check", params=params).json()["outputs"][0]["shape"] == [8, 5, 3]
